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
    schedstat("/proc/thread-self/schedstat").map(|[_, waited]| waited)
}

/// Returns the times on a core and in line for one.
#[cfg(target_os = "linux")]
fn schedstat(path: &str) -> Option<[Duration; 2]> {
    use std::io::Read;
    let mut text = [0; 64];
    let mut file = std::fs::File::open(path).ok()?;
    let length = file.read(&mut text).ok()?;
    let text = std::str::from_utf8(&text[..length]).ok()?;
    let mut numbers = text.split_ascii_whitespace();
    let mut time = || Some(Duration::from_nanos(numbers.next()?.parse().ok()?));
    Some([time()?, time()?])
}

#[cfg(not(target_os = "linux"))]
fn waited() -> Option<Duration> {
    None
}

/// Returns what the thread of this process with the kernel's id `thread` had of the cores, `None` if it cannot be known.
///
/// The time on a core is only as new as the scheduler's last look at the thread.
#[cfg(target_os = "linux")]
pub fn thread_times_of(thread: u64) -> Option<ThreadTimes> {
    let [cpu, waited] = schedstat(&format!("/proc/self/task/{thread}/schedstat"))?;
    Some(ThreadTimes {
        cpu,
        waited: Some(waited),
    })
}

/// Returns `None`: what another thread had of the cores cannot be known.
#[cfg(not(target_os = "linux"))]
pub fn thread_times_of(_: u64) -> Option<ThreadTimes> {
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
