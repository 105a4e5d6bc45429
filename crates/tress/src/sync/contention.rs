//! Whether it pays to look at a taken lock a little longer before getting in line.
//!
//! A lock that is held for some ten nanoseconds by a thread on another core is free again before a
//! waiter is linked, and much sooner than a task is parked and run again. More than that: as long as
//! somebody is in line, each unlock hands the lock over to a task that has to be scheduled first, and
//! whoever unlocks and locks again gets in line as well. Such a convoy, once there, goes on until the
//! tasks find something else to do. It is better not to let it form.
//!
//! But if the holder keeps the lock over an await, or is a task that waits for the very thread that
//! would spin, spinning is lost time. Each lock therefore keeps the number of looks that it is worth
//! according to what spinning brought lately: it grows with each success, is halved by each failure,
//! and when it gets too small the lock is not spun on for a while.

use crate::sys::atomic::{AtomicU32, Ordering};
use crate::sys::{cpus, plain};
use crate::wait::Backoff;
use std::cell::Cell;

/// Looks at a lock that nobody has spun on yet, or not for a while: about half a microsecond, at
/// 40 ns for a pause of the processor.
const FIRST: u32 = 4;
/// Most looks: about thirteen microseconds, longer than an interrupt keeps a holder from going on.
const MOST: u32 = 24;
/// Most pauses before a look. They double from look to look, so that the holder is not slowed down
/// by others who want to see what it writes.
const MOST_PAUSES: u32 = 16;
/// Waits without a spin after spinning did not pay.
const REST: u32 = 64;

/// How long a lock is worth spinning on.
///
/// Accesses are relaxed, and updates may get lost when threads race: it is a hint.
#[derive(Debug)]
pub(crate) struct SpinWorth {
    /// `FIRST..=MOST`: looks. Above: `MOST` and the waits left until the next spin.
    looks: AtomicU32,
}

thread_local! {
    /// The lock that this thread has handed over last. A hint as well, of no interest to the model.
    static HANDED_OVER: Cell<*const SpinWorth> = const { Cell::new(std::ptr::null()) };
}

impl SpinWorth {
    const_fn! {
        pub(crate) fn new() -> Self {
            SpinWorth {
                looks: AtomicU32::new(FIRST),
            }
        }
    }

    /// This thread has handed the lock to a task, and woken it.
    ///
    /// That task most likely waits for this thread now: spinning would keep both waiting.
    pub(crate) fn handed_over(&self) {
        HANDED_OVER.set(self);
    }

    /// Calls `look` until it says yes (`Some(true)`), says that waiting is in vain (`None`), or has
    /// been called often enough. True if it said yes.
    pub(crate) fn spin(&self, mut look: impl FnMut() -> Option<bool>) -> bool {
        if cfg!(loom) || !several_cores() {
            return false;
        }
        if HANDED_OVER.replace(std::ptr::null()) == self {
            return false;
        }
        let looks = self.looks.load(Ordering::Relaxed);
        if looks > MOST {
            let left = looks - 1;
            let next = if left == MOST { FIRST } else { left };
            self.looks.store(next, Ordering::Relaxed);
            return false;
        }
        let mut pauses = 1;
        for _ in 0..looks {
            Backoff::give_way(pauses);
            pauses = (pauses * 2).min(MOST_PAUSES);
            match look() {
                Some(true) => {
                    if looks < MOST {
                        self.looks.store(looks + 1, Ordering::Relaxed);
                    }
                    return true;
                }
                Some(false) => {}
                None => return false,
            }
        }
        let halved = looks / 2;
        let next = if halved < FIRST { MOST + REST } else { halved };
        self.looks.store(next, Ordering::Relaxed);
        false
    }
}

/// Can the holder of a lock be running while this thread is?
fn several_cores() -> bool {
    const UNKNOWN: u32 = 0;
    const ONE: u32 = 1;
    const SEVERAL: u32 = 2;
    static CORES: plain::AtomicU32 = plain::AtomicU32::new(UNKNOWN);
    match CORES.load(Ordering::Relaxed) {
        UNKNOWN => {
            let several = cpus() > 1;
            let known = if several { SEVERAL } else { ONE };
            CORES.store(known, Ordering::Relaxed);
            several
        }
        known => known == SEVERAL,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// How often a spin that does not succeed looks.
    fn looks(worth: &SpinWorth) -> u32 {
        let mut looks = 0;
        assert!(!worth.spin(|| {
            looks += 1;
            Some(false)
        }));
        looks
    }

    #[test]
    fn grows_with_success_and_rests_after_failure() {
        if !several_cores() {
            return;
        }
        let worth = SpinWorth::new();
        for _ in 0..2 * MOST {
            assert!(worth.spin(|| Some(true)));
        }
        assert_eq!(looks(&worth), MOST);
        assert_eq!(looks(&worth), MOST / 2);
        assert_eq!(looks(&worth), MOST / 4);
        for _ in 0..REST {
            assert_eq!(looks(&worth), 0);
        }
        assert_eq!(looks(&worth), FIRST);
        assert_eq!(looks(&worth), 0);
    }

    #[test]
    fn a_queue_ends_the_spin_without_a_verdict() {
        let worth = SpinWorth::new();
        for _ in 0..100 {
            assert!(!worth.spin(|| None));
        }
        assert_eq!(worth.looks.load(Ordering::Relaxed), FIRST);
    }

    #[test]
    fn who_handed_it_over_does_not_spin_for_it() {
        if !several_cores() {
            return;
        }
        let (worth, other) = (SpinWorth::new(), SpinWorth::new());
        worth.handed_over();
        assert_eq!(looks(&worth), 0);
        assert_eq!(looks(&worth), FIRST);
        worth.handed_over();
        assert_eq!(looks(&other), FIRST);
    }
}
