use super::header::Header;
use crate::context;
use crate::identity::Id;
use crate::sys::atomic::Ordering;
use crate::sys::plain::AtomicU64;

/// Numbers a thread takes from the common counter at a time, so that spawning workers do not
/// fight over it.
// D-TASK-03
const BLOCK: u64 = 1024;

impl Id {
    #[inline]
    pub(crate) fn next() -> Id {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        context::with(|cx| {
            let (mut next, mut end) = cx.ids.get();
            if next == end {
                next = NEXT.fetch_add(BLOCK, Ordering::Relaxed);
                end = next + BLOCK;
            }
            cx.ids.set((next + 1, end));
            Id::from_raw(next).expect("2^64 tasks cannot have been spawned")
        })
    }
}

/// Returns the id of the running task.
///
/// # Panics
/// Panics if called outside of a task: in a plain thread, in `block_on`, or in thread-local destructors
/// that run after a blocking closure. [`try_id`] does not panic.
///
/// # Examples
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let task = tress::spawn(async { tress::task::id() });
/// let id = task.id();
/// assert_eq!(task.await.unwrap(), id);
/// # });
/// ```
#[track_caller]
pub fn id() -> Id {
    try_id().expect("task::id() needs a running task; call it from inside a spawned task")
}

/// Returns the id of the running task, or `None` outside of a task.
///
/// # Examples
/// ```
/// use tress::task::try_id;
///
/// assert_eq!(try_id(), None);
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// assert!(tress::spawn(async { try_id().is_some() }).await.unwrap());
/// # });
/// ```
pub fn try_id() -> Option<Id> {
    Header::with_running(Header::id)
}
