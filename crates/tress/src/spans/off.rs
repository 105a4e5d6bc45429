//! The twins of what there is with the feature `tracing`.

use super::WakerOp;
use std::future::Future;
use std::panic::Location;

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
