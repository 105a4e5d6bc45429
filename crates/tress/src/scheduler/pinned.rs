//! Tasks that only one worker may run: those that have a stack of their own.
//!
//! A started coroutine must not change threads: what it has read from thread-local storage is cached on its stack. So
//! its task is *pinned*, and its state word says so from then on; when it is ready it goes to its worker's own queue
//! of such tasks, or into the worker's mail if another thread made it ready. While a worker has such tasks it keeps
//! its thread (`block_in_place` does not hand over its core), and when the runtime closes it drops them itself.

use super::multi::current_worker;
use super::worker::{Core, Worker};
use crate::runtime::Shared;
use crate::task::{Header, Ready};
use std::ptr::NonNull;

/// One count in a worker's number of pinned tasks. As long as it lives the worker keeps its thread, and a runtime
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

    /// Pins a task to the worker that runs it. Returns `None` if that thread is not a worker of the task's runtime.
    ///
    /// # Safety
    /// The caller runs the task, which is one of the runtime's.
    pub(crate) unsafe fn running(task: NonNull<Header>, shared: *const Shared) -> Option<Pinned> {
        // A worker may run another runtime's tasks, inside of `block_in_place`; and the runtime entered on its thread
        // need not be the task's.
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

/// A worker with this many more pinned tasks than another has a reason not to pin the next one at once.
const UNEVEN: usize = 4;

/// Whether a task that is about to be pinned to this worker should wait a little longer, so that a worker with far
/// fewer of them can steal it. It stays where it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spread {
    /// This worker has no more of them than others.
    Even,
    /// Another worker has fewer, but is busy.
    Uneven,
    /// Another worker has fewer, and a thread is on its way to take some.
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

    /// Binds a task that was made here to this worker, and queues it. Its future owns a [`Pinned`], so that the
    /// worker drops it when the runtime closes.
    pub(super) fn schedule_bound(&self, worker: &Worker, task: Ready) {
        // SAFETY: it has just been made and has not been queued.
        unsafe { task.header().pin(self.index()) };
        self.schedule_pinned(&worker.multi().remotes[self.index()], task);
    }
}
