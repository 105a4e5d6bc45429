//! The parking word: one thread sleeps, in one of three places, and any thread ends its sleep.
//!
//! | word | the thread | an unpark leaves a token, and |
//! |---|---|---|
//! | EMPTY | is awake; there is no token | nothing more |
//! | FUTEX | sleeps on the word, and has no I/O to look after | rouses it there |
//! | SELECTOR | waits in its driver | has its caller ring the driver's bell |
//! | AWAY | sleeps on the word, and another thread looks after its driver | rouses it there |
//! | NOTIFIED | is awake or was roused; there is a token | nothing more |
//!
//! ```text
//!              begin                              end
//!   EMPTY ──────────────> FUTEX, SELECTOR, AWAY ──────> EMPTY
//!     │ unpark                     │ unpark
//!     └─────────> NOTIFIED <───────┘
//!                     └──── begin or end, which take the token ────> EMPTY
//! ```
//!
//! A sleep names its place, and an unpark is one exchange whose old value says where the thread has to be roused. So a
//! thread may sleep in another place each time, and whoever unparks it need not know which. A thread leaves a place only by
//! itself: what an unpark puts over a place says that it is about to.
//!
//! # Memory ordering
//! Each step is a read-modify-write with acquire and release ordering. What was done before an unpark is seen after the
//! `begin` or `end` that takes its token, also if others have left one before or after it. What the thread had seen
//! when it began to sleep, such as the driver that it waits in, is seen by an unpark that finds it there.

#[cfg(all(any(target_os = "linux", target_os = "android"), not(loom), not(miri)))]
#[path = "futex.rs"]
mod bed;
#[cfg(any(not(any(target_os = "linux", target_os = "android")), loom, miri))]
#[path = "condvar.rs"]
mod bed;

#[cfg(all(test, loom))]
mod model;

use crate::atomic::{AtomicU32, Ordering};
use bed::Bed;
use std::time::Duration;

const EMPTY: u32 = 0;
const NOTIFIED: u32 = 1;

/// Where a thread sleeps.
// Numbers that no lock of the standard library waits with: a simulation tells a sleep from a wait for a lock by them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Asleep {
    /// On its parking word; it has no I/O to look after.
    Futex = 0x10,
    /// In its driver.
    Selector = 0x11,
    /// On its parking word, while another thread looks after its driver.
    Away = 0x12,
}

/// What [`Parker::begin`] has found.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Begin {
    /// No token: sleep, then call [`Parker::end`].
    Wait,
    /// A token, which is now taken: do not sleep, and do not call [`Parker::end`].
    Notified,
}

/// A parking word: one thread waits, any thread wakes it; a wake-up before the wait is kept.
#[derive(Debug)]
pub struct Parker {
    word: AtomicU32,
    bed: Bed,
}

impl Parker {
    /// Creates a parker without a token.
    pub fn new() -> Self {
        Parker {
            word: AtomicU32::new(EMPTY),
            bed: Bed::new(),
        }
    }

    /// Waits on the word for a token, at most `timeout`. Returns whether a token was taken. May return false early.
    #[inline]
    pub fn park(&self, timeout: Option<Duration>) -> bool {
        if timeout == Some(Duration::ZERO) {
            return self.is_notified() && self.end();
        }
        match self.begin(Asleep::Futex) {
            Begin::Notified => true,
            Begin::Wait => {
                self.sleep(Asleep::Futex, timeout);
                self.end()
            }
        }
    }

    /// Leaves a token, and rouses the thread if it sleeps. For a thread that never waits in a driver.
    #[inline]
    pub fn unpark(&self) {
        let is_in_driver = self.notify();
        debug_assert!(
            !is_in_driver,
            "the bell of the driver would have to be rung"
        );
    }

    /// Returns whether there is a token, so that `park` would return at once.
    #[inline]
    pub fn is_notified(&self) -> bool {
        self.word.load(Ordering::Relaxed) == NOTIFIED
    }

    /// Leaves a token, and rouses the thread if it sleeps on the word. Returns whether it waits in its driver: then
    /// the caller has to ring the driver's bell.
    #[inline]
    #[must_use]
    pub fn notify(&self) -> bool {
        // The exchange must happen even if there is a token already: it publishes what the caller did before.
        let found = self.word.swap(NOTIFIED, Ordering::AcqRel);
        if found == Asleep::Futex as u32 || found == Asleep::Away as u32 {
            self.bed.rouse(&self.word);
        }
        found == Asleep::Selector as u32
    }

    /// Says where the thread is about to sleep, unless there is a token. For the thread itself.
    #[inline]
    pub fn begin(&self, place: Asleep) -> Begin {
        let began =
            self.word
                .compare_exchange(EMPTY, place as u32, Ordering::AcqRel, Ordering::Relaxed);
        match began {
            Ok(_) => Begin::Wait,
            Err(_) => {
                let found = self.word.swap(EMPTY, Ordering::AcqRel);
                debug_assert_eq!(found, NOTIFIED, "two threads sleep on one word");
                Begin::Notified
            }
        }
    }

    /// Sleeps on the word, in the place in which it began to, until it is roused; at most `timeout`. May return early.
    #[inline]
    pub fn sleep(&self, place: Asleep, timeout: Option<Duration>) {
        self.bed.sleep(&self.word, place as u32, timeout);
    }

    /// The thread is awake again. Returns whether there was a token, which is now taken.
    #[inline]
    pub fn end(&self) -> bool {
        self.word.swap(EMPTY, Ordering::AcqRel) == NOTIFIED
    }

    /// Returns where the thread sleeps, or is about to, unless there is a token.
    #[inline]
    pub fn asleep(&self) -> Option<Asleep> {
        let found = self.word.load(Ordering::Acquire);
        [Asleep::Futex, Asleep::Selector, Asleep::Away]
            .into_iter()
            .find(|&place| place as u32 == found)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Asleep, Begin, Parker};
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    #[test]
    fn token_is_kept_until_parked() {
        let parker = Parker::new();
        parker.unpark();
        parker.unpark();
        assert!(parker.park(None));
        // Two unparks left one token.
        assert!(!parker.park(Some(Duration::ZERO)));
    }

    #[test]
    fn timeout_ends_the_wait_and_not_before() {
        let parker = Parker::new();
        let start = Instant::now();
        let wait = Duration::from_millis(5);
        while start.elapsed() < wait {
            assert!(!parker.park(Some(wait - start.elapsed().min(wait))));
        }
    }

    #[test]
    fn ping_pong_loses_no_token() {
        let pair = Arc::new((Parker::new(), Parker::new()));
        let other = pair.clone();
        let rounds = if cfg!(miri) { 50 } else { 20_000 };
        let thread = std::thread::spawn(move || {
            for _ in 0..rounds {
                while !other.0.park(None) {}
                other.1.unpark();
            }
        });
        for _ in 0..rounds {
            pair.0.unpark();
            while !pair.1.park(None) {}
        }
        thread.join().unwrap();
    }

    #[test]
    fn only_a_thread_in_its_driver_costs_a_bell_and_only_one() {
        let parker = Parker::new();
        assert!(!parker.notify() && !parker.notify());
        assert_eq!(parker.begin(Asleep::Selector), Begin::Notified);
        assert_eq!(parker.begin(Asleep::Selector), Begin::Wait);
        assert_eq!(parker.asleep(), Some(Asleep::Selector));
        assert!(parker.notify() && !parker.notify());
        assert!(parker.is_notified() && parker.asleep().is_none());
        assert!(parker.end());
        assert_eq!(parker.begin(Asleep::Away), Begin::Wait);
        assert!(!parker.notify());
        // The word is not what the sleep expects.
        parker.sleep(Asleep::Away, None);
        assert!(parker.end() && !parker.end());
    }
}
