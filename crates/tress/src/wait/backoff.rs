//! Waiting on the processor, for another thread that is a few instructions from being done.

use crate::sys::thread;
use std::hint;

/// The number of waits for which a [`Backoff`] spins. The next ones yield the thread: the other one has
/// most likely lost its core.
const SPINS: u32 = 63;

/// Waits for another thread that needs a handful of instructions, unless it has lost its core: the first
/// waits pause the processor, later ones yield the thread.
///
/// Under the model, which has no time, a wait always yields.
#[derive(Debug)]
pub(crate) struct Backoff {
    spins_left: u32,
}

impl Backoff {
    #[inline]
    pub(crate) fn new() -> Backoff {
        Backoff::with_spins(SPINS)
    }

    /// Creates a backoff that pauses the processor at most `spins` times.
    #[inline]
    pub(crate) fn with_spins(spins: u32) -> Backoff {
        Backoff {
            spins_left: if cfg!(loom) { 0 } else { spins },
        }
    }

    /// Pauses the processor once. Returns false, without a pause, if that has been done often enough.
    #[inline]
    #[must_use]
    pub(crate) fn spin(&mut self) -> bool {
        if self.spins_left == 0 {
            return false;
        }
        self.spins_left -= 1;
        hint::spin_loop();
        true
    }

    /// Pauses the processor, or yields the thread if that has been done often enough.
    #[inline]
    pub(crate) fn wait(&mut self) {
        if !self.spin() {
            thread::yield_now();
        }
    }

    /// Pauses the processor `pauses` times in a row, to leave a word that another core writes alone.
    #[inline]
    pub(crate) fn give_way(pauses: u32) {
        if cfg!(loom) {
            return;
        }
        for _ in 0..pauses {
            hint::spin_loop();
        }
    }
}
