use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::task::Waker;

/// Wakers collected under a lock, to be woken without it.
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

    /// Wakes all. A waker that panics (foreign ones may) does not keep the others from being woken:
    /// the panic goes on when all are.
    pub(crate) fn wake_all(&mut self) {
        let mut first_panic = None;
        for waker in self.0.drain(..) {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
                first_panic.get_or_insert(panic);
            }
        }
        if let Some(panic) = first_panic {
            resume_unwind(panic);
        }
    }
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

    struct Panics;

    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a waker's own trouble");
        }
    }

    #[test]
    fn a_panicking_waker_does_not_hold_the_others() {
        let counts = Arc::new(Counts(AtomicUsize::new(0)));
        let mut wakers = Wakers::default();
        wakers.push(Some(counts.clone().into()));
        wakers.push(Some(Arc::new(Panics).into()));
        wakers.push(None);
        wakers.push(Some(counts.clone().into()));
        assert!(catch_unwind(AssertUnwindSafe(|| wakers.wake_all())).is_err());
        assert_eq!(counts.0.load(Ordering::Relaxed), 2);
        wakers.wake_all();
        assert_eq!(counts.0.load(Ordering::Relaxed), 2);
    }
}
