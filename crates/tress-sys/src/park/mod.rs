//! Blocking one thread until another one says so.

#[cfg(all(any(target_os = "linux", target_os = "android"), not(loom), not(miri)))]
mod futex;
#[cfg(all(any(target_os = "linux", target_os = "android"), not(loom), not(miri)))]
pub use futex::Parker;

#[cfg(any(not(any(target_os = "linux", target_os = "android")), loom, miri))]
mod condvar;
#[cfg(any(not(any(target_os = "linux", target_os = "android")), loom, miri))]
pub use condvar::Parker;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Parker;
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
}
