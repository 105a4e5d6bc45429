//! The entry of a run queue: a task that is READY, and its one holder.
//!
//! From the step that makes a task READY (its creation, a wake-up, an abort) to the end of the run that follows,
//! exactly one holder has it: the thread that made that step, then a queue, then the thread that took it out.
//! [`Ready`] is that hold as a value. It cannot be copied, and it is given up in three ways only:
//! [`run`](Ready::run), [`refuse`](Ready::refuse), or by handing it on.
//!
//! Tasks whose futures are not `Send` have a twin that stays on its thread, [`LocalReady`].

use super::header::Header;
use super::run::Ran;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// A task that is READY and belongs to the holder, which may run it on the thread that it is on.
#[repr(transparent)]
#[must_use = "a task that is READY has to be run, refused or queued: no other wake-up will come"]
pub(crate) struct Ready(NonNull<Header>);

// SAFETY: a `Ready` is made from a task whose future is `Send`, or by a caller that answers for the threads that it
// gets to (`task::new`).
unsafe impl Send for Ready {}

impl Ready {
    /// # Safety
    /// The task is READY, and nothing else holds it, neither a queue nor a thread. The thread that gets the result
    /// may run the task, or only queues it.
    #[inline(always)]
    pub(crate) unsafe fn from_raw(task: NonNull<Header>) -> Ready {
        Ready(task)
    }

    /// Gives the task to a queue that stores it raw.
    #[inline(always)]
    pub(crate) fn into_raw(self) -> NonNull<Header> {
        ManuallyDrop::new(self).0
    }

    #[inline(always)]
    pub(crate) fn header(&self) -> &Header {
        // SAFETY: a READY task is not COMPLETE, so its own reference keeps it alive; and only we can run it to its
        // end.
        unsafe { self.0.as_ref() }
    }
}

/// Losing one is a bug: the task would never run again, and its runtime would wait for it when it closes.
impl Drop for Ready {
    #[cold]
    #[inline(never)]
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!(
                "a bug in tress: a task that is ready was neither run nor queued, task {}",
                self.header().id()
            );
        }
    }
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ready").field(&self.0).finish()
    }
}

/// As [`Ready`], for a task that stays on this thread.
#[must_use = "a task that is READY has to be run, refused or queued: no other wake-up will come"]
pub(crate) struct LocalReady {
    task: Ready,
    _not_send: PhantomData<*const ()>,
}

impl From<Ready> for LocalReady {
    fn from(task: Ready) -> LocalReady {
        LocalReady {
            task,
            _not_send: PhantomData,
        }
    }
}

impl LocalReady {
    pub(super) fn header(&self) -> &Header {
        self.task.header()
    }

    /// Runs the task once.
    #[inline(always)]
    pub(super) fn run(self) -> Ran<LocalReady> {
        match self.task.run() {
            Ran::Idle => Ran::Idle,
            Ran::Requeue(task) => Ran::Requeue(task.into()),
            Ran::Complete => Ran::Complete,
        }
    }

    /// Cancels the task instead of running it.
    pub(super) fn refuse(self) {
        self.task.refuse();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::runtime::Builder;
    use crate::spans::What;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn a_ready_task() -> (Ready, super::super::JoinHandle<()>, crate::runtime::Runtime) {
        let runtime = Builder::new_current_thread().build().unwrap();
        let shared = &runtime.handle().shared;
        let (at, what) = (std::panic::Location::caller(), What::task::<()>());
        let (task, handle) = shared.new_blocking(async {}, at, what);
        (task, handle, runtime)
    }

    #[test]
    fn one_that_is_lost_says_so() {
        let (task, _handle, runtime) = a_ready_task();
        let raw = task.into_raw();
        // SAFETY: ours since it was made.
        let lost = unsafe { Ready::from_raw(raw) };
        let panicked = catch_unwind(AssertUnwindSafe(|| drop(lost))).unwrap_err();
        let text = panicked.downcast::<String>().unwrap();
        assert!(text.contains("neither run nor queued"), "{text}");
        // SAFETY: nothing but the panic has come of it.
        unsafe { Ready::from_raw(raw) }.refuse();
        drop(runtime);
    }

    #[test]
    fn one_that_is_refused_is_cancelled() {
        let (task, handle, _runtime) = a_ready_task();
        task.refuse();
        assert!(handle.is_finished());
    }

    #[test]
    fn one_that_runs_to_its_end_is_complete() {
        let (task, handle, _runtime) = a_ready_task();
        assert!(matches!(task.run(), Ran::Complete));
        assert!(handle.is_finished());
    }
}
