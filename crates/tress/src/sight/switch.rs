//! Whether anything is noted.
//!
//! # Why nothing stale stays
//! The tables are cleared, part by part under the parts' locks, after the count has gone to zero. An entry is made under
//! the same lock, and only if sight is on there: before the clearing, which removes it, or after it, when the count is
//! seen to be zero, or to have been raised again. In the last case what is noted is true at that moment: a task notes
//! what it holds before it can release it, and what it waits for before it can be polled again.

use crate::sys::Mutex;
use crate::sys::atomic::Ordering;
use crate::sys::plain::AtomicUsize;

/// How many want sight to be on.
static WANTED: AtomicUsize = AtomicUsize::new(0);

/// Held while sight is switched on or off, so that nothing is cleared that was noted after it was switched on again.
static SWITCHING: Mutex<()> = Mutex::new(());

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
        let _switching = SWITCHING.lock();
        WANTED.fetch_add(1, Ordering::Relaxed);
        Switch(())
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        let _switching = SWITCHING.lock();
        if WANTED.fetch_sub(1, Ordering::Relaxed) == 1 {
            super::waits::forget_all();
            super::holders::forget_all();
            super::queues::forget_all();
            super::roots::forget_all();
        }
    }
}

/// How a poll of a task has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The task is going to be polled again.
    Pending,
    /// It has asked to be polled again at once.
    Yielded,
    /// It is finished.
    Finished,
    /// The poll only looked where the task waits: what an earlier one has noted stays.
    Traced,
}
