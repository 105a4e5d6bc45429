//! How long the calling thread has had a core.

#[cfg(all(unix, not(loom), not(miri)))]
mod unix;
#[cfg(all(unix, not(loom), not(miri)))]
pub(crate) use unix::thread_cpu_time;

#[cfg(any(not(unix), loom, miri))]
mod unknown;
#[cfg(any(not(unix), loom, miri))]
pub(crate) use unknown::thread_cpu_time;

#[cfg(all(test, unix, not(loom), not(miri)))]
mod tests {
    use super::thread_cpu_time;
    use std::time::{Duration, Instant};

    #[test]
    fn goes_on_while_the_thread_runs() {
        let before = thread_cpu_time().unwrap();
        let start = Instant::now();
        while thread_cpu_time().unwrap() < before + Duration::from_millis(2) {}
        // It never goes faster than time; clocks differ by a little.
        assert!(start.elapsed() >= Duration::from_millis(1));
    }
}
