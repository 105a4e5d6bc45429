//! How long the calling thread has had a core, and how long it had to wait for one.

#[cfg(all(unix, not(loom), not(miri)))]
mod unix;
#[cfg(all(unix, not(loom), not(miri)))]
pub use unix::{preemptions, thread_times, thread_times_of};

#[cfg(any(not(unix), loom, miri))]
mod unknown;
#[cfg(any(not(unix), loom, miri))]
pub use unknown::{preemptions, thread_times, thread_times_of};

use std::time::Duration;

/// How long a thread was on a core and waited for one, since it began.
#[derive(Debug, Clone, Copy)]
pub struct ThreadTimes {
    /// The time on a core.
    pub cpu: Duration,
    /// The time in which it was ready to run, but without a core. `None`: that cannot be known.
    pub waited: Option<Duration>,
}

#[cfg(all(test, unix, not(loom), not(miri)))]
mod tests {
    use super::thread_times;
    use std::time::{Duration, Instant};

    #[test]
    fn goes_on_while_the_thread_runs() {
        let before = thread_times().unwrap();
        let start = Instant::now();
        while thread_times().unwrap().cpu < before.cpu + Duration::from_millis(2) {}
        // It never goes faster than time; clocks differ by a little.
        assert!(start.elapsed() >= Duration::from_millis(1));
        assert!(thread_times().unwrap().waited >= before.waited);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn those_of_another_thread_can_be_asked_for() {
        use super::thread_times_of;
        // SAFETY: it only reads the id.
        let thread = unsafe { libc::syscall(libc::SYS_gettid) } as u64;
        let seen = std::thread::spawn(move || thread_times_of(thread));
        let seen = seen.join().unwrap().unwrap();
        let own = thread_times().unwrap();
        assert!(seen.cpu <= own.cpu);
        assert!(seen.waited <= own.waited);
        assert!(thread_times_of(u64::MAX).is_none());
    }
}
