use super::header::Header;
use crate::runtime::context;
use crate::sys::atomic::Ordering;
use crate::sys::plain::AtomicU64;
use std::fmt;
use std::num::NonZeroU64;

/// A number that no other task of this process has had or will have.
///
/// ```
/// let rt = tress::runtime::Runtime::new()?;
/// rt.block_on(async {
///     let handle = tress::spawn(async { tress::task::id() });
///     let id = handle.id();
///     assert_eq!(handle.await.unwrap(), id);
/// });
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(NonZeroU64);

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
            Id(NonZeroU64::new(next).expect("2^64 tasks cannot have been spawned"))
        })
    }
}

impl Id {
    pub(crate) fn get(self) -> u64 {
        self.0.get()
    }

    pub(crate) fn from_raw(number: u64) -> Option<Id> {
        NonZeroU64::new(number).map(Id)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({})", self.0)
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
