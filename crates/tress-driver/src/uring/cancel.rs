//! Operations whose futures go.

use super::ring::Ring;
use super::table::Key;
use crate::driver::{By, Driver};
use crate::sys::clock;
use std::time::Duration;

/// How long who drops an operation waits for the kernel to let go of it, where nobody else would see it do so.
/// It takes microseconds, as long as the thread that has handed the operation over takes to enter the kernel.
const PATIENCE: Duration = Duration::from_millis(200);
/// Another thread may have taken the result meanwhile: how often to look.
const SLICE: Duration = Duration::from_millis(2);

impl Driver {
    /// Asks the kernel to stop operations whose futures go. It has heard of it when this returns (unless it is
    /// short of memory: then the owner tries again): from then on they take nothing. If this is the thread that
    /// has handed them over, they are over.
    pub(super) fn cancel(&self, ring: &Ring, keys: [Option<Key>; 2]) {
        let keys = || keys.into_iter().flatten();
        // Operations of others should be handed over by whoever looks after them.
        let is_elsewhere = self.attendance.by() == By::Helper;
        if !is_elsewhere || !keys().all(|key| ring.cancel_at_once(key)) {
            let mut is_asleep = false;
            ring.cancel(keys(), || is_asleep = self.is_asleep());
            self.hand_over(ring, is_asleep);
        }
        if self.attendance.is_departed() {
            self.hurry(ring, || !ring.has_any(keys()));
        }
    }

    /// Takes results until something is over, for a while. Returns whether it is. No lock may be held.
    pub(super) fn hurry(&self, ring: &Ring, is_over: impl Fn() -> bool) -> bool {
        let begin = clock::now();
        while !is_over() {
            let left = PATIENCE.saturating_sub(clock::elapsed(begin));
            if left.is_zero() {
                return false;
            }
            ring.wait(left.min(SLICE));
            self.hand_over(ring, false);
        }
        true
    }
}
