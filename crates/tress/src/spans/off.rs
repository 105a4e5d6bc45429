//! The twins of what there is with the feature `tracing`.

use super::WakerOp;
use std::future::Future;
use std::panic::Location;
use std::time::Duration;

#[derive(Clone, Copy)]
pub(crate) struct What;

#[allow(clippy::extra_unused_type_parameters, reason = "the twin uses them")]
impl What {
    #[inline(always)]
    pub(crate) fn task<F>() -> What {
        What
    }

    #[inline(always)]
    pub(crate) fn local<F>() -> What {
        What
    }

    #[inline(always)]
    pub(crate) fn blocking<F>() -> What {
        What
    }

    #[inline(always)]
    pub(crate) fn may_be_told() -> bool {
        false
    }

    #[inline(always)]
    pub(crate) fn span(
        self,
        _: u64,
        _: Option<&str>,
        _: &'static Location<'static>,
    ) -> Option<TaskSpan> {
        None
    }
}

/// There is none.
pub(crate) enum TaskSpan {}

impl TaskSpan {
    /// # Safety
    /// None is needed.
    pub(crate) unsafe fn enter(&self) -> Option<TaskSpan> {
        match *self {}
    }

    /// # Safety
    /// None is needed.
    pub(crate) unsafe fn enter_guarded(&self) -> Option<TaskSpan> {
        match *self {}
    }

    /// # Safety
    /// None is needed.
    pub(crate) unsafe fn close(&self) {
        match *self {}
    }

    pub(crate) fn tell(&self, _: WakerOp) {
        match *self {}
    }
}

#[inline(always)]
pub(crate) fn in_block_on<F: Future>(
    future: F,
    _: impl FnOnce() -> u64,
    _: &'static Location<'static>,
) -> F {
    future
}

pub(crate) struct Op;

/// Stands for spans that were entered.
pub(crate) struct Nothing;

impl Op {
    #[inline(always)]
    pub(crate) fn enter(&self) -> Nothing {
        Nothing
    }

    #[inline(always)]
    pub(crate) fn tell_poll(&self, _: &'static str, _: bool) {}

    #[inline(always)]
    pub(crate) fn obtained(&self, _: usize, _: impl FnOnce(), _: impl FnOnce()) {}

    #[inline(always)]
    pub(crate) fn acquired(&self, _: impl FnOnce()) {}

    #[inline(always)]
    pub(crate) fn waits(&self) {}

    #[inline(always)]
    pub(crate) fn sleep() -> Op {
        Op
    }

    #[inline(always)]
    pub(crate) fn armed(&self, _: impl FnOnce() -> Duration) {}

    #[inline(always)]
    pub(crate) fn reset(&mut self, _: impl FnOnce() -> Duration) {}
}

pub(crate) struct Lock;

#[derive(Default)]
pub(crate) struct Tally(());

impl Tally {
    #[inline(always)]
    pub(crate) fn add(&mut self, _: usize) {}
}

impl Lock {
    #[inline(always)]
    pub(crate) const fn unseen() -> Lock {
        Lock
    }

    #[inline(always)]
    pub(crate) fn mutex() -> Lock {
        Lock
    }

    #[inline(always)]
    pub(crate) fn rwlock(_: u32) -> Lock {
        Lock
    }

    #[inline(always)]
    pub(crate) fn semaphore(_: usize) -> Lock {
        Lock
    }

    #[inline(always)]
    pub(crate) fn run<F: Future>(&self, _: &'static str, _: bool, make: impl FnOnce() -> F) -> F {
        make()
    }

    #[inline(always)]
    pub(crate) fn acquire(&self, _: usize) -> Op {
        Op
    }

    #[inline(always)]
    pub(crate) fn left(&self, _: usize) {}

    #[inline(always)]
    pub(crate) fn came(&self, _: usize) {}

    #[inline(always)]
    pub(crate) fn came_in_all(&self, _: Tally) {}

    #[inline(always)]
    pub(crate) fn locked(&self) {}

    #[inline(always)]
    pub(crate) fn unlocked(&self) {}

    #[inline(always)]
    pub(crate) fn read_locked(&self) {}

    #[inline(always)]
    pub(crate) fn read_unlocked(&self) {}

    #[inline(always)]
    pub(crate) fn write_locked(&self) {}

    #[inline(always)]
    pub(crate) fn write_unlocked(&self) {}
}

#[derive(Clone)]
pub(crate) struct Resource;

#[derive(Clone, Copy)]
pub(crate) enum Oneshot {
    SenderDropped,
    ReceiverDropped,
    Sent,
    Received,
}

impl Resource {
    #[inline(always)]
    pub(crate) fn barrier(_: usize) -> Resource {
        Resource
    }

    #[inline(always)]
    pub(crate) fn interval() -> Resource {
        Resource
    }

    #[inline(always)]
    pub(crate) fn oneshot() -> (Resource, Op) {
        (Resource, Op)
    }

    #[inline(always)]
    pub(crate) fn enter(&self) -> Nothing {
        Nothing
    }

    #[inline(always)]
    pub(crate) fn take(&mut self) -> Resource {
        Resource
    }

    #[inline(always)]
    pub(crate) fn run<F: Future>(
        &self,
        _: &'static str,
        _: &'static str,
        make: impl FnOnce() -> F,
    ) -> F {
        make()
    }

    #[inline(always)]
    pub(crate) fn happened(&self, _: Oneshot) {}

    #[inline(always)]
    pub(crate) fn arrived(&self, _: bool) {}
}
