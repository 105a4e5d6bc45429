//! Wakers that are collected under a lock and woken after it is released.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// Wakers collected under a lock, to be woken after it is released.
#[derive(Debug, Default)]
pub(crate) struct Wakers(Vec<Waker>);

impl Wakers {
    pub(crate) fn push(&mut self, waker: Option<Waker>) {
        self.0.extend(waker);
    }

    #[allow(dead_code, reason = "used where there is a ring")]
    pub(crate) fn extend(&mut self, wakers: impl IntoIterator<Item = Waker>) {
        self.0.extend(wakers);
    }

    /// Wakes all of them. If one panics (it may be foreign code), the others are woken all the same, and the
    /// caller, which is in the middle of a transition, goes on.
    pub(crate) fn wake_all(&mut self) {
        let mut wakers = self.0.drain(..);
        // Each panic has used up one waker, so the loop ends.
        while !ends(|| wakers.by_ref().for_each(Waker::wake)) {}
    }
}

/// Runs code that may be foreign. Returns `false` if it panicked; the panic hook has reported that.
pub(crate) fn ends(foreign: impl FnOnce()) -> bool {
    let Err(payload) = catch_unwind(AssertUnwindSafe(foreign)) else {
        return true;
    };
    // The payload's destructor may panic too. The payload of that second panic is leaked.
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(second);
    }
    false
}

impl FromIterator<Waker> for Wakers {
    fn from_iter<I: IntoIterator<Item = Waker>>(wakers: I) -> Wakers {
        Wakers(Vec::from_iter(wakers))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    struct Counts(AtomicUsize);

    impl Wake for Counts {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A payload whose destructor panics as well.
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("a payload's own trouble");
        }
    }

    struct Panics;

    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            std::panic::panic_any(Bomb);
        }
    }

    #[test]
    fn a_panicking_waker_does_not_hold_the_others() {
        let counts = Arc::new(Counts(AtomicUsize::new(0)));
        let mut wakers = Wakers::default();
        wakers.push(Some(counts.clone().into()));
        wakers.push(Some(Arc::new(Panics).into()));
        wakers.push(None);
        wakers.push(Some(Arc::new(Panics).into()));
        wakers.push(Some(counts.clone().into()));
        wakers.wake_all();
        assert_eq!(counts.0.load(Ordering::Relaxed), 2);
        wakers.wake_all();
        assert_eq!(counts.0.load(Ordering::Relaxed), 2);
    }
}
