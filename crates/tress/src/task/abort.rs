use super::run::TaskRef;
use crate::identity::Id;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// Cancels a task, without a right to its result.
///
/// It is returned by [`JoinHandle::abort_handle`](super::JoinHandle::abort_handle) and by the `spawn`
/// methods of [`JoinSet`](super::JoinSet). Dropping it does nothing to the task.
///
/// # Examples
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

    /// Cancels the task.
    ///
    /// Does the same as [`JoinHandle::abort`](super::JoinHandle::abort).
    ///
    /// # Examples
    /// ```
    /// use tress::task::JoinSet;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut set = JoinSet::new();
    /// let slow = set.spawn(std::future::pending());
    /// set.spawn(async { "fast" });
    /// slow.abort();
    ///
    /// let results: Vec<_> = [set.join_next().await.unwrap(), set.join_next().await.unwrap()].into();
    /// assert!(results.iter().any(|result| matches!(result, Ok("fast"))));
    /// assert!(results.iter().any(|result| result.is_err()));
    /// # });
    /// ```
    pub fn abort(&self) {
        self.task.cancel();
    }

    /// Returns true if the task has finished, has panicked, or has been dropped after a cancellation.
    ///
    /// Shortly after [`abort`](AbortHandle::abort) it may still return false: the task is dropped by the
    /// runtime, not by the caller.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let handle = tress::spawn(async {});
    /// let abort = handle.abort_handle();
    /// handle.await.unwrap();
    /// assert!(abort.is_finished());
    /// # });
    /// ```
    pub fn is_finished(&self) -> bool {
        self.task.is_complete()
    }

    /// Returns the id of the task.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let handle = tress::spawn(async {});
    /// assert_eq!(handle.abort_handle().id(), handle.id());
    /// # });
    /// ```
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
