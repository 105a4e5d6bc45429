//! Whether it pays to look at a taken lock a little longer before getting in line.
//!
//! A lock that is held for some ten nanoseconds by a thread on another core is free again before a
//! waiter is linked, and much sooner than a task is parked and run again. But if its holder keeps
//! it over an await, or runs on the thread that would spin, spinning is lost time. Each lock
//! therefore keeps a score: what spinning brought lately. It is spun on while the score is positive,
//! and once in a while after that to see whether times have changed.

use crate::sys::atomic::{AtomicU32, Ordering};

/// Looks at a taken lock before giving up.
const LOOKS: u32 = 24;
/// The best score.
const BEST: u32 = 8;
/// The score of a lock that nobody has waited for yet.
const START: u32 = 2;
/// Waits without a spin, after the score reached zero, until it is tried again.
const REST: u32 = 64;

/// What spinning on a lock brought lately.
///
/// Accesses are relaxed, and updates may get lost when threads race: it is a hint.
#[derive(Debug)]
pub(crate) struct SpinScore {
    /// `0..=BEST` is the score; above it, the waits left until the next try.
    score: AtomicU32,
}

impl SpinScore {
    const_fn! {
        pub(crate) fn new() -> Self {
            SpinScore {
                score: AtomicU32::new(START),
            }
        }
    }

    /// Calls `look` until it says yes (`Some(true)`), says that waiting is in vain (`None`), or has
    /// been called often enough. True if it said yes.
    pub(crate) fn spin(&self, mut look: impl FnMut() -> Option<bool>) -> bool {
        if cfg!(loom) || !several_cores() {
            return false;
        }
        let score = self.score.load(Ordering::Relaxed);
        if score == 0 {
            self.score.store(BEST + REST, Ordering::Relaxed);
            return false;
        }
        if score > BEST {
            let rested = score - 1;
            let next = if rested == BEST { 1 } else { rested };
            self.score.store(next, Ordering::Relaxed);
            return false;
        }
        for _ in 0..LOOKS {
            std::hint::spin_loop();
            match look() {
                Some(true) => {
                    if score < BEST {
                        self.score.store(score + 1, Ordering::Relaxed);
                    }
                    return true;
                }
                Some(false) => {}
                None => return false,
            }
        }
        self.score.store(score - 1, Ordering::Relaxed);
        false
    }
}

/// Can the holder of a lock be running while this thread is?
fn several_cores() -> bool {
    const UNKNOWN: u32 = 0;
    const ONE: u32 = 1;
    const SEVERAL: u32 = 2;
    // Not the facade's: a cache of a constant takes no part in any protocol.
    static CORES: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(UNKNOWN);
    match CORES.load(std::sync::atomic::Ordering::Relaxed) {
        UNKNOWN => {
            let several = std::thread::available_parallelism().is_ok_and(|n| n.get() > 1);
            let known = if several { SEVERAL } else { ONE };
            CORES.store(known, std::sync::atomic::Ordering::Relaxed);
            several
        }
        known => known == SEVERAL,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn stops_when_it_has_not_paid_and_tries_again_later() {
        if !several_cores() {
            return;
        }
        let score = SpinScore::new();
        let mut looks = 0;
        for _ in 0..START {
            assert!(!score.spin(|| {
                looks += 1;
                Some(false)
            }));
        }
        assert_eq!(looks, START * LOOKS);
        for _ in 0..REST {
            assert!(!score.spin(|| panic!("looked")));
        }
        assert!(score.spin(|| Some(true)));
        assert!(score.spin(|| Some(true)));
    }

    #[test]
    fn a_queue_ends_the_spin_without_a_verdict() {
        let score = SpinScore::new();
        for _ in 0..100 {
            assert!(!score.spin(|| None));
        }
        assert_eq!(score.score.load(Ordering::Relaxed), START);
    }
}
