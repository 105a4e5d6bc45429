//! Whether anything is noted.

use super::waits;
use crate::sys::atomic::Ordering;
use crate::sys::plain::AtomicUsize;

/// How many want sight to be on.
static WANTED: AtomicUsize = AtomicUsize::new(0);

/// Returns whether sight is on.
#[inline(always)]
pub(crate) fn is_on() -> bool {
    WANTED.load(Ordering::Relaxed) != 0
}

/// Keeps sight on until it is dropped.
#[derive(Debug)]
pub(crate) struct Switch(());

impl Switch {
    pub(crate) fn on() -> Switch {
        WANTED.fetch_add(1, Ordering::Relaxed);
        Switch(())
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        if WANTED.fetch_sub(1, Ordering::Relaxed) == 1 {
            // What was noted would be wrong when it is switched on again. A poll that is under way may still add to it:
            // its task's next poll replaces that.
            waits::forget_all();
            super::holders::forget_all();
            super::queues::forget_all();
        }
    }
}

/// How a poll of a task has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The task is going to be polled again.
    Pending,
    /// It is finished.
    Finished,
}
