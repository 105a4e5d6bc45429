use super::ThreadTimes;

/// Returns `None`: what the calling thread had of the cores cannot be known.
pub fn thread_times() -> Option<ThreadTimes> {
    None
}

/// Returns `None`: how often the calling thread has lost its core cannot be known.
pub fn preemptions() -> Option<u64> {
    None
}

/// Returns `None`: what another thread had of the cores cannot be known.
pub fn thread_times_of(_: u64) -> Option<ThreadTimes> {
    None
}
