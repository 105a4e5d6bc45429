//! Code that is not ours: hooks, callbacks, wakers and the destructors of what others left with us.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Panics of payloads' destructors that are followed before the last of them is left alone.
const PAYLOADS: usize = 4;

/// Runs foreign code. A panic has been reported by the panic hook and ends here; then there is no result.
pub fn guarded<R>(foreign: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(foreign)) {
        Ok(value) => Some(value),
        Err(payload) => {
            bury(payload);
            None
        }
    }
}

/// Drops a payload, whose destructor may panic too, and so on. At some point we give up on the memory.
#[cold]
fn bury(mut payload: Box<dyn Any + Send>) {
    for _ in 0..PAYLOADS {
        match catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            Ok(()) => return,
            Err(next) => payload = next,
        }
    }
    std::mem::forget(payload);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::panic::panic_any;

    /// A payload that panics with the next one when it is dropped.
    struct Bomb(usize);

    impl Drop for Bomb {
        fn drop(&mut self) {
            if self.0 > 0 {
                panic_any(Bomb(self.0 - 1));
            }
        }
    }

    #[test]
    fn a_panic_ends_here_whatever_its_payload_does() {
        assert_eq!(guarded(|| 7), Some(7));
        for bombs in [0, 1, PAYLOADS, PAYLOADS + 3] {
            assert!(guarded(|| panic_any(Bomb(bombs))).is_none());
        }
    }
}
