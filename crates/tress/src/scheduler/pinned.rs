//! Tasks that one worker alone may run: those that have a stack of their own.
//!
//! A started coroutine must not change threads: what it has read of thread-local storage is cached on
//! its stack. So its task is *pinned*, which the state word says from then on; when it is ready it goes
//! to its worker's own queue of such tasks, or into its mail if somebody else made it ready. While a
//! worker has such tasks it keeps its thread (`block_in_place` does not hand its core over), and when the
//! runtime closes it drops them itself.

use super::multi::current_worker;
use super::worker::{Core, Worker};
use crate::runtime::Shared;
use crate::task::{Header, Ready};
use std::ptr::NonNull;

/// A pin's place in its worker's count. As long as it lives the worker keeps its thread, and a runtime
/// that closes waits for it. Owned by the pinned task's future, and dropped with it.
#[derive(Debug)]
pub(crate) struct Pinned {
    shared: *const Shared,
    /// It does not leave its thread.
    _not_send: std::marker::PhantomData<*const ()>,
}

impl Pinned {
    pub(super) fn to(worker: &Worker, core: &Core) -> Pinned {
        core.count_pinned(worker, core.pinned.get() + 1);
        Pinned {
            shared: worker.shared(),
            _not_send: std::marker::PhantomData,
        }
    }

    /// Pins a task to the worker that runs it. None if that is no worker: the task's runtime has none.
    ///
    /// # Safety
    /// The caller runs the task, which is one of the runtime's.
    pub(crate) unsafe fn running(task: NonNull<Header>, shared: *const Shared) -> Option<Pinned> {
        // A worker may run another runtime's tasks, inside of `block_in_place`; and what is entered on its
        // thread says nothing of whose the task is.
        let worker = current_worker(shared)?;
        let core = worker.core()?;
        // SAFETY: by the caller's promise.
        unsafe {
            if task.as_ref().pinned().is_none() {
                task.as_ref().pin(core.index());
            }
        }
        Some(Pinned::to(worker, core))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let worker = current_worker(self.shared);
        if let Some((worker, core)) = worker.and_then(|worker| Some((worker, worker.core()?))) {
            core.count_pinned(worker, core.pinned.get() - 1);
        }
    }
}

/// So many more pinned tasks than another has are a reason not to pin the next one at once.
const UNEVEN: usize = 4;

/// Whether a task that is about to be pinned to this worker should wait a little longer, so that one with
/// far fewer of them can steal it. Where it starts it stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spread {
    /// There are no more here than elsewhere.
    Even,
    /// Another one has fewer, but is busy.
    Uneven,
    /// And somebody is on the way to take some.
    Awaited,
}

pub(crate) fn spread() -> Spread {
    let pinned = Header::with_running(|task| task.pinned().is_some());
    let Some(worker) = Worker::here().filter(|_| pinned == Some(false)) else {
        return Spread::Even;
    };
    let multi = worker.multi();
    let uneven = match worker.core() {
        Some(core) if core.pinned.get() > UNEVEN && multi.config.stealing => {
            let other = core.another_worker(multi.remotes.len());
            let other = other.map(|other| multi.remotes[other].pinned.get() as usize);
            other.is_some_and(|other| core.pinned.get() > other + UNEVEN)
        }
        _ => false,
    };
    match uneven {
        false => Spread::Even,
        true if multi.idle.is_searching() => Spread::Awaited,
        true => Spread::Uneven,
    }
}

impl Core {
    fn count_pinned(&self, worker: &Worker, pinned: usize) {
        self.pinned.set(pinned);
        worker.multi().remotes[self.index()]
            .pinned
            .set(pinned as u64);
    }

    /// Binds a task that was made here to this worker, and queues it. Its future owns a [`Pinned`], so that while the
    /// runtime closes the worker drops it.
    pub(super) fn schedule_bound(&self, worker: &Worker, task: Ready) {
        // SAFETY: it has been made just now and not been queued.
        unsafe { task.header().pin(self.index()) };
        self.schedule_pinned(&worker.multi().remotes[self.index()], task);
    }
}
