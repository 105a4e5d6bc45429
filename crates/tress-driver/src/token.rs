//! The unpark token: who has to ring the bell, and when.
//!
//! The owner of a driver *parks*: `begin`, wait in the kernel, `end`. Others `notify` it. A
//! notification is a token, kept until the next park and coalesced with others, and only the one that
//! finds the owner between `begin` and `end` has to ring the bell, which is what costs a system call.
//!
//! # Memory ordering
//! Every step is a read-modify-write with acquire and release ordering: what was done before a
//! `notify` is visible after the `begin` or `end` that takes the token.

use crate::sys::atomic::{AtomicU32, Ordering};

/// The owner is not in the kernel and has no token.
const EMPTY: u32 = 0;
/// The owner waits in the kernel, or is on its way there or back.
const PARKED: u32 = 1;
/// There is a token.
const NOTIFIED: u32 = 2;

#[derive(Debug)]
pub(crate) struct Token(AtomicU32);

/// What `begin` found.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Begin {
    /// No token: wait, then call `end`.
    Wait,
    /// There was a token, which is now taken: do not wait, do not call `end`.
    Notified,
}

impl Token {
    pub(crate) fn new() -> Self {
        Token(AtomicU32::new(EMPTY))
    }

    pub(crate) fn begin(&self) -> Begin {
        match self
            .0
            .compare_exchange(EMPTY, PARKED, Ordering::AcqRel, Ordering::Acquire)
        {
            Ok(_) => Begin::Wait,
            Err(_) => {
                let found = self.0.swap(EMPTY, Ordering::AcqRel);
                debug_assert_eq!(found, NOTIFIED, "two threads park in one driver");
                Begin::Notified
            }
        }
    }

    /// Returns whether there was a token, which is now taken.
    #[must_use]
    pub(crate) fn end(&self) -> bool {
        self.0.swap(EMPTY, Ordering::AcqRel) == NOTIFIED
    }

    /// Leaves a token. Returns whether the caller has to ring the bell.
    #[must_use]
    pub(crate) fn notify(&self) -> bool {
        // The exchange must happen even if there is a token already: it publishes what the caller
        // did before.
        self.0.swap(NOTIFIED, Ordering::AcqRel) == PARKED
    }

    /// Is the owner between `begin` and `end`?
    #[allow(dead_code, reason = "used where there is a ring")]
    pub(crate) fn is_parked(&self) -> bool {
        self.0.load(Ordering::Acquire) == PARKED
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::atomic::AtomicBool;
    use loom::sync::{Arc, Condvar, Mutex};
    use loom::thread;

    /// A bell that stays rung until it is heard, as an eventfd in the selector does.
    struct Bell(Mutex<bool>, Condvar);

    impl Bell {
        fn ring(&self) {
            *self.0.lock().unwrap() = true;
            self.1.notify_one();
        }

        fn hear(&self) {
            let mut rung = self.0.lock().unwrap();
            while !*rung {
                rung = self.1.wait(rung).unwrap();
            }
            *rung = false;
        }
    }

    /// The owner looks for work, parks if there is none, and looks again. Two others bring work and
    /// unpark it. No order loses the wake-up (it would hang here) or the work.
    #[test]
    fn model_unpark_against_park() {
        loom::model(|| {
            let shared = Arc::new((
                Token::new(),
                Bell(Mutex::new(false), Condvar::new()),
                [AtomicBool::new(false), AtomicBool::new(false)],
            ));
            let others: Vec<_> = (0..2)
                .map(|n| {
                    let shared = shared.clone();
                    thread::spawn(move || {
                        shared.2[n].store(true, Ordering::Relaxed);
                        if shared.0.notify() {
                            shared.1.ring();
                        }
                    })
                })
                .collect();
            let (token, bell, work) = &*shared;
            while !work.iter().all(|work| work.load(Ordering::Relaxed)) {
                match token.begin() {
                    Begin::Notified => {}
                    Begin::Wait => {
                        bell.hear();
                        let _ = token.end();
                    }
                }
            }
            for other in others {
                other.join().unwrap();
            }
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn tokens_coalesce_and_only_a_parked_owner_costs_a_bell() {
        let token = Token::new();
        assert!(!token.notify());
        assert!(!token.notify());
        assert_eq!(token.begin(), Begin::Notified);
        assert_eq!(token.begin(), Begin::Wait);
        assert!(token.is_parked());
        assert!(token.notify());
        assert!(!token.notify());
        assert!(token.end());
        assert_eq!(token.begin(), Begin::Wait);
        assert!(!token.end());
    }
}
