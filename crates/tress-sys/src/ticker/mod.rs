//! The monitor's alarm.
//!
//! The monitor sleeps here. On Linux setting the alarm costs the worker a fraction of
//! a microsecond and wakes nobody until it goes off, so that a worker leaving its idle
//! state does not pay for a thread wake-up it most likely does not need.

#[cfg(all(any(target_os = "linux", target_os = "android"), not(loom), not(miri)))]
mod timerfd;
#[cfg(all(any(target_os = "linux", target_os = "android"), not(loom), not(miri)))]
pub use timerfd::Ticker;

#[cfg(any(not(any(target_os = "linux", target_os = "android")), loom, miri))]
mod condvar;
#[cfg(any(not(any(target_os = "linux", target_os = "android")), loom, miri))]
pub use condvar::Ticker;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Ticker;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    #[test]
    fn goes_off_once_per_setting_and_not_early() {
        let ticker = Ticker::new().unwrap();
        let start = Instant::now();
        ticker.arm(Duration::from_millis(3));
        ticker.wait();
        assert!(start.elapsed() >= Duration::from_millis(3));
    }

    #[test]
    fn can_be_set_from_another_thread() {
        let ticker = Arc::new(Ticker::new().unwrap());
        let other = ticker.clone();
        let waiter = std::thread::spawn(move || other.wait());
        ticker.arm(Duration::from_millis(1));
        waiter.join().unwrap();
    }
}
