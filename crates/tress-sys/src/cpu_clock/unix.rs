use super::ThreadTimes;
use std::time::Duration;

/// Returns what the calling thread had of the cores, `None` if it cannot be known.
pub fn thread_times() -> Option<ThreadTimes> {
    Some(ThreadTimes {
        cpu: cpu_time()?,
        waited: waited(),
    })
}

fn cpu_time() -> Option<Duration> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a timespec of ours.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    (result == 0).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

/// The second number of what Linux says: nanoseconds in line for a core. (The first, those on a core, is
/// only as new as the scheduler's last look at the thread.)
#[cfg(target_os = "linux")]
fn waited() -> Option<Duration> {
    use std::io::Read;
    let mut text = [0; 64];
    let mut file = std::fs::File::open("/proc/thread-self/schedstat").ok()?;
    let length = file.read(&mut text).ok()?;
    let text = std::str::from_utf8(&text[..length]).ok()?;
    let waited = text.split_ascii_whitespace().nth(1)?;
    Some(Duration::from_nanos(waited.parse().ok()?))
}

#[cfg(not(target_os = "linux"))]
fn waited() -> Option<Duration> {
    None
}

/// Returns how often the calling thread has lost its core to another one, `None` if it cannot be known.
#[cfg(target_os = "linux")]
pub fn preemptions() -> Option<u64> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the pointer is to a place of ours, which is filled if the call says so.
    unsafe {
        let result = libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        (result == 0).then(|| usage.assume_init().ru_nivcsw as u64)
    }
}

#[cfg(not(target_os = "linux"))]
/// Returns `None`: how often the calling thread has lost its core cannot be known.
pub fn preemptions() -> Option<u64> {
    None
}
