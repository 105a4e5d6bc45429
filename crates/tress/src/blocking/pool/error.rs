use std::fmt;
use std::io;

/// Why a job was not accepted. The job comes back, untouched.
pub(crate) enum SpawnError<J> {
    ShutDown(J),
    Full(J),
    /// No thread is alive, and none could be started for this reason.
    NoThread(J, io::Error),
}

#[cfg(all(test, not(loom)))]
impl<J> SpawnError<J> {
    /// The job that was refused.
    pub(crate) fn into_job(self) -> J {
        match self {
            SpawnError::ShutDown(job) | SpawnError::Full(job) | SpawnError::NoThread(job, _) => job,
        }
    }
}

impl<J> fmt::Display for SpawnError<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpawnError::ShutDown(_) => f.write_str(
                "the blocking pool takes no more jobs because its runtime is shutting down: \
                 spawn before the shutdown, or on a runtime that is up",
            ),
            SpawnError::Full(_) => f.write_str(
                "every thread of the blocking pool is busy and its queue is full: wait for \
                 earlier jobs and try again, or raise the queue bound or the thread limit",
            ),
            SpawnError::NoThread(_, error) => write!(
                f,
                "the blocking pool has no thread and could not start one ({error}): try again \
                 later, raise the limit on threads (ulimit -u, pids.max) or memory, or lower \
                 the stack size",
            ),
        }
    }
}

impl<J> fmt::Debug for SpawnError<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpawnError::ShutDown(_) => f.write_str("ShutDown"),
            SpawnError::Full(_) => f.write_str("Full"),
            SpawnError::NoThread(_, error) => f.debug_tuple("NoThread").field(error).finish(),
        }
    }
}

impl<J> std::error::Error for SpawnError<J> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            SpawnError::NoThread(_, error) => Some(error),
            _ => None,
        }
    }
}
