//! What happens to operations whose futures are dropped.

use super::ring::Ring;
use super::table::Key;
use crate::driver::{By, Driver};
use crate::sys::clock;
use std::time::Duration;

/// Maximum time that dropping an operation waits for the kernel to let go of it, where no other thread would
/// see it do so. Usually it takes microseconds: until the thread that handed the operation over enters the
/// kernel.
const PATIENCE: Duration = Duration::from_millis(200);
/// Time between two looks at the result, which another thread may have taken meanwhile.
const SLICE: Duration = Duration::from_millis(2);

impl Driver {
    /// Asks the kernel to stop operations whose futures are dropped. When this returns the kernel has been
    /// told, and the operations take nothing from then on. (If the kernel is out of memory, the owner tries
    /// again later.) On the thread that handed them over, they have ended.
    pub(super) fn cancel(&self, ring: &Ring, keys: [Option<Key>; 2]) {
        let keys = || keys.into_iter().flatten();
        // Queued operations of other threads are better handed over by the thread that drives them.
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

    /// Takes results until `is_over`, for at most `PATIENCE`. Returns whether it is. The caller must hold no
    /// lock.
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
