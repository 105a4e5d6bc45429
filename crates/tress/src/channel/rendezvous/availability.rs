//! Whether a select that waits at several places may still be met.

use crate::sys::atomic::{AtomicU32, Ordering};
use crate::wait::Backoff;
use std::cmp;
use std::ptr;

/// The state of a select, as seen by those that could meet it. See the documentation of the folder.
#[derive(Debug)]
pub struct Availability(AtomicU32);

/// The select waits, and may be picked.
const FREE: u32 = 0;
/// The select looks around itself.
const BUSY: u32 = 1;
/// A thread has picked the select and meets it. It stays so.
const PICKED: u32 = 2;
/// A thread has picked the select and tries to pick another one too: free or picked in a moment.
const PAIRING: u32 = 3;

impl Availability {
    /// Creates the availability of a select that looks around.
    pub(in crate::channel) fn busy() -> Availability {
        Availability(AtomicU32::new(BUSY))
    }

    /// Makes the select, which is busy, free.
    pub(in crate::channel) fn become_free(&self) {
        self.0.store(FREE, Ordering::Release);
    }

    /// Makes the select busy. Returns false if it was picked.
    pub(in crate::channel) fn become_busy(&self) -> bool {
        self.leave_free(BUSY) || self.0.load(Ordering::Acquire) == BUSY
    }

    /// Picks the select for good. Returns whether that worked; the caller must meet the select then.
    pub(super) fn pick(&self) -> bool {
        self.leave_free(PICKED)
    }

    fn leave_free(&self, state: u32) -> bool {
        let mut backoff = Backoff::new();
        loop {
            match self
                .0
                .compare_exchange(FREE, state, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => return true,
                Err(PAIRING) => backoff.wait(),
                Err(_) => return false,
            }
        }
    }

    /// Picks both selects, or none: see the documentation of the folder.
    pub(super) fn pick_both(&self, other: &Availability) -> bool {
        let (low, high) = match ptr::from_ref(self).cmp(&ptr::from_ref(other)) {
            cmp::Ordering::Less => (self, other),
            cmp::Ordering::Equal => return false,
            cmp::Ordering::Greater => (other, self),
        };
        if !low.leave_free(PAIRING) {
            return false;
        }
        let both = high.leave_free(PICKED);
        let state = if both { PICKED } else { FREE };
        low.0.store(state, Ordering::Release);
        both
    }

    /// Returns whether the select may be picked, perhaps after a short wait.
    pub(super) fn is_free(&self) -> bool {
        matches!(self.0.load(Ordering::Acquire), FREE | PAIRING)
    }
}
