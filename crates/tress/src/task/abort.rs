use super::run::TaskRef;
use crate::identity::Id;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// The right to cancel a task, without the right to its result.
///
/// Made by [`JoinHandle::abort_handle`](super::JoinHandle::abort_handle) and by
/// [`JoinSet`](super::JoinSet). Dropping it does nothing to the task.
///
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let handle = tress::spawn(std::future::pending::<()>());
/// let abort = handle.abort_handle();
/// abort.abort();
/// assert!(handle.await.unwrap_err().is_cancelled());
/// assert!(abort.is_finished());
/// # });
/// ```
#[derive(Clone)]
pub struct AbortHandle {
    task: TaskRef,
}

impl UnwindSafe for AbortHandle {}
impl RefUnwindSafe for AbortHandle {}

impl AbortHandle {
    pub(super) fn new(task: TaskRef) -> AbortHandle {
        AbortHandle { task }
    }

    /// Cancels the task; see [`JoinHandle::abort`](super::JoinHandle::abort).
    pub fn abort(&self) {
        self.task.cancel();
    }

    /// True once the task has finished, panicked, or been dropped after a cancellation.
    pub fn is_finished(&self) -> bool {
        self.task.is_complete()
    }

    /// The task's id.
    pub fn id(&self) -> Id {
        self.task.header().id()
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortHandle")
            .field("id", &self.id())
            .finish_non_exhaustive()
    }
}
