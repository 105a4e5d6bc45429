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

/// The id of the task that is running.
///
/// # Panics
/// Outside of a task: in a plain thread, in `block_on`, in a blocking closure's thread-local
/// destructors. [`try_id`] does not panic.
#[track_caller]
pub fn id() -> Id {
    try_id().expect("task::id() needs a running task; call it from inside a spawned task")
}

/// The id of the task that is running, if one is.
pub fn try_id() -> Option<Id> {
    Header::with_running(Header::id)
}
