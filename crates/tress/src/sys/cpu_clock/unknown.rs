use super::ThreadTimes;

/// What the calling thread had of the cores. `None`: it cannot be known.
pub(crate) fn thread_times() -> Option<ThreadTimes> {
    None
}

/// How often it has lost its core to another one. `None`: as above.
pub(crate) fn preemptions() -> Option<u64> {
    None
}
