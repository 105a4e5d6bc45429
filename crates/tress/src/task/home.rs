//! The thread that something lives on which must not leave it.

use crate::sys::atomic::Ordering;
use crate::sys::plain::AtomicU64;
use crate::sys::thread_local;
use std::num::NonZeroU64;

/// A thread. Its number is never used again, so a thread that has ended is nobody's home.
///
/// Why not `ThreadId`: asking for the current one takes a counted handle out of a thread-local with
/// a destructor, and a waker may ask at any time, the end of the thread included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Home(NonZeroU64);

thread_local! {
    static HERE: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

impl Home {
    /// This thread.
    pub(crate) fn here() -> Home {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        HERE.with(|here| {
            if here.get() == 0 {
                here.set(NEXT.fetch_add(1, Ordering::Relaxed));
            }
            Home(NonZeroU64::new(here.get()).expect("2^64 threads cannot have been started"))
        })
    }

    /// Its number: not 0, and far from the largest there is.
    pub(crate) fn number(self) -> u64 {
        self.0.get()
    }

    /// Is this that thread?
    #[inline]
    pub(crate) fn is_here(self) -> bool {
        HERE.with(|here| here.get() == self.0.get())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Home;

    #[test]
    fn every_thread_has_its_own() {
        let home = Home::here();
        assert!(home.is_here());
        assert_eq!(home, Home::here());
        let other = std::thread::spawn(move || {
            assert!(!home.is_here(), "before it has a number of its own");
            assert_ne!(home, Home::here());
            assert!(!home.is_here());
            Home::here()
        });
        assert!(!other.join().unwrap().is_here());
    }
}
