//! What happens between taking a task out of a queue and giving it up.

use super::header::Header;
use super::leaf;
use super::owner::AnyOwner;
use super::ready::Ready;
use super::state::{Complete, Park, ShutDown, Start, Wake};
use super::waker;
use crate::context;
use crate::sight::{self, Stage};
use crate::sys::atomic::Ordering;
use crate::sys::guarded;
use std::ptr::NonNull;
use std::task::Context;

/// How a run ended.
#[must_use]
#[derive(Debug)]
pub(crate) enum Ran<R = Ready> {
    /// The task waits for a wake-up.
    Idle,
    /// It was woken meanwhile or yielded: the caller must queue it, at the tail.
    Requeue(R),
    /// It finished, panicked or was cancelled.
    Complete,
}

impl Ready {
    /// Runs the task once.
    #[inline(always)]
    pub(crate) fn run(self) -> Ran {
        let task = self.into_raw();
        // SAFETY: not COMPLETE, so the task's own reference keeps it alive; its holder has the stage until `park` or
        // `complete`.
        unsafe {
            let header = task.as_ref();
            match header.state.start() {
                Start::Cancel => {
                    tear_down(task);
                    Ran::Complete
                }
                Start::Poll => {
                    let _entered = context::enter_task(task);
                    let waker = waker::borrowed(task);
                    let mut cx = Context::from_waker(&waker);
                    header.polling.store(true, Ordering::Relaxed);
                    let (ready, traced) = match sight::is_on() {
                        false => {
                            let poll = || (header.vtable.poll)(task, &mut cx);
                            leaf::poll_task(header.id(), poll)
                        }
                        true => poll_watched(task),
                    };
                    // Known to the compiler where there is no trace.
                    let traced = traced && leaf::MAY_TRACE;
                    header.polling.store(false, Ordering::Relaxed);
                    if ready {
                        complete(task);
                        return Ran::Complete;
                    }
                    let yielded = context::with(|cx| cx.yielded.get());
                    match header.state.park(yielded || traced) {
                        Park::Idle => Ran::Idle,
                        Park::Requeue => Ran::Requeue(Ready::from_raw(task)),
                        Park::Cancel => {
                            sight::ended(header.id().get());
                            (header.vtable.cancel)(task);
                            complete(task);
                            Ran::Complete
                        }
                    }
                }
            }
        }
    }

    /// Cancels the task instead of running it.
    pub(crate) fn refuse(self) {
        // The task is ours, so no other thread has to be told. A shield that was up is gone afterwards.
        let _ = self.header().state.shut_down();
        let ran = self.run();
        assert!(matches!(ran, Ran::Complete), "a refused task has run");
    }
}

/// Polls a task, and notes what it waits for. Apart from `run`, which stays as lean as it is without.
///
/// # Safety
/// The caller runs the task, and has entered it.
#[cold]
#[inline(never)]
unsafe fn poll_watched(task: NonNull<Header>) -> (bool, bool) {
    // SAFETY: by the caller's promise it is alive, and its stage is the caller's.
    unsafe {
        let header = task.as_ref();
        let waker = waker::borrowed(task);
        let mut cx = Context::from_waker(&waker);
        sight::watch(header.id().get(), || {
            let polled = leaf::poll_task(header.id(), || (header.vtable.poll)(task, &mut cx));
            let stage = match polled {
                (true, _) => Stage::Finished,
                (false, true) => Stage::Traced,
                (false, false) if context::with(|cx| cx.yielded.get()) => Stage::Yielded,
                (false, false) => Stage::Pending,
            };
            (polled, stage)
        })
    }
}

/// Drops the future of a task that will not be polled again, and completes it.
///
/// # Safety
/// The caller took the task out of its queue, or moved it on from IDLE.
unsafe fn tear_down(task: NonNull<Header>) {
    // SAFETY: by the caller's promise.
    unsafe {
        sight::ended(task.as_ref().id().get());
        let _entered = context::enter_task(task);
        (task.as_ref().vtable.cancel)(task);
        complete(task);
    }
}

/// # Safety
/// The caller runs the task, and its output is in place.
#[inline]
unsafe fn complete(task: NonNull<Header>) {
    // SAFETY: ours until the transition; after it the cell is only touched if the transition
    // kept the task's own reference for us.
    unsafe {
        let header = task.as_ptr();
        let id = (*header).id;
        let mut owed = (*header).state.complete(false);
        if owed == Complete::DropOutput {
            ((*header).vtable.drop_output)(task);
            owed = (*header).state.complete(true);
        }
        leaf::finished(id);
        match owed {
            Complete::Done => {}
            Complete::Free => super::free(task),
            Complete::WakeJoiner => {
                let waker = (*header).join_waker.with_mut(|slot| (*slot).take());
                if let Some(waker) = waker {
                    // A foreign waker may panic; the task is complete whatever it does.
                    guarded(|| waker.wake());
                }
                super::drop_ref(task);
            }
            Complete::DropOutput => unreachable!("the output was dropped"),
        }
    }
}

/// A counted reference to a task.
pub(crate) struct TaskRef(NonNull<Header>);

// SAFETY: through a reference only the state word and the immutable fields can be reached, and callers of `shut_down`
// promise to be on the right thread.
unsafe impl Send for TaskRef {}
// SAFETY: as above.
unsafe impl Sync for TaskRef {}

impl TaskRef {
    /// # Safety
    /// The caller owns a reference, which moves into the result.
    pub(crate) unsafe fn from_raw(task: NonNull<Header>) -> TaskRef {
        TaskRef(task)
    }

    pub(crate) fn header(&self) -> &Header {
        // SAFETY: alive by our reference, and only shared access is given out.
        unsafe { self.0.as_ref() }
    }

    /// Asks for cancellation.
    pub(super) fn cancel(&self) {
        if self.header().state.cancel() == Wake::Submit {
            // SAFETY: the transition made it READY, in no queue; we only queue it.
            AnyOwner::schedule(unsafe { Ready::from_raw(self.0) });
        }
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.header().state.load().is_complete()
    }

    pub(crate) fn is_running(&self) -> bool {
        self.header().polling.load(Ordering::Relaxed)
    }

    /// Cancels the task for good. Returns true if it was idle and has been torn down here and now; otherwise the
    /// thread that runs or dequeues it will do that. A pinned one is left to its worker.
    ///
    /// # Safety
    /// The task's future may be dropped on this thread.
    pub(crate) unsafe fn shut_down(&self) -> bool {
        // SAFETY: the transition hands us the task.
        unsafe {
            match self.header().state.shut_down() {
                ShutDown::Mine => {
                    tear_down(self.0);
                    true
                }
                ShutDown::Submit => {
                    AnyOwner::schedule(Ready::from_raw(self.0));
                    false
                }
                ShutDown::Nothing => false,
            }
        }
    }

    /// Returns the task itself: a pointer to the whole cell, where `header` only borrows its first part.
    pub(super) fn as_raw(&self) -> NonNull<Header> {
        self.0
    }
}

impl Clone for TaskRef {
    fn clone(&self) -> TaskRef {
        self.header().state.ref_inc();
        TaskRef(self.0)
    }
}

impl Drop for TaskRef {
    fn drop(&mut self) {
        // SAFETY: the reference is ours.
        unsafe { super::drop_ref(self.0) }
    }
}
