use super::header::Header;
use super::id::Id;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;

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
pub struct AbortHandle {
    task: NonNull<Header>,
}

// SAFETY: only the atomic state word and immutable fields are reached through the handle.
unsafe impl Send for AbortHandle {}
// SAFETY: as above.
unsafe impl Sync for AbortHandle {}

impl UnwindSafe for AbortHandle {}
impl RefUnwindSafe for AbortHandle {}

impl AbortHandle {
    /// # Safety
    /// The caller gives up a reference.
    pub(super) unsafe fn from_raw(task: NonNull<Header>) -> AbortHandle {
        AbortHandle { task }
    }

    fn header(&self) -> &Header {
        // SAFETY: the handle holds a reference.
        unsafe { self.task.as_ref() }
    }

    /// Cancels the task; see [`JoinHandle::abort`](super::JoinHandle::abort).
    pub fn abort(&self) {
        // SAFETY: the handle holds a reference.
        unsafe { super::cancel(self.task) }
    }

    /// True once the task has finished, panicked, or been dropped after a cancellation.
    pub fn is_finished(&self) -> bool {
        self.header().state.load().is_complete()
    }

    /// The task's id.
    pub fn id(&self) -> Id {
        self.header().id
    }
}

impl Clone for AbortHandle {
    fn clone(&self) -> Self {
        self.header().state.ref_inc();
        AbortHandle { task: self.task }
    }
}

impl Drop for AbortHandle {
    fn drop(&mut self) {
        // SAFETY: the reference is the handle's.
        unsafe { super::drop_ref(self.task) }
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortHandle")
            .field("id", &self.id())
            .finish_non_exhaustive()
    }
}
