//! What Tokio says: exactly what its own tests compare.

mod errors;

pub(crate) use errors::*;

/// Something needs a runtime, and none was entered.
pub(crate) const NO_RUNTIME: &str =
    "there is no reactor running, must be called from the context of a Tokio 1.x runtime";

/// A timer in a runtime without timers.
pub(crate) const NO_TIMERS: &str = "A Tokio 1.x context was found, but timers are disabled. Call \
     `enable_time` on the runtime builder to enable timers.";

/// I/O in a runtime without it.
#[cfg(feature = "driver")]
pub(crate) const NO_IO: &str = "A Tokio 1.x context was found, but IO is disabled. Call `enable_io` on the runtime builder to enable \
     IO.";

/// A timer whose runtime is gone. A whole sentence.
pub(crate) const SHUT_DOWN: &str = "A Tokio 1.x context was found, but it is being shutdown.";

/// `block_on` on a thread that is in one. A whole sentence.
pub(crate) const NESTED: &str = "Cannot start a runtime from within a runtime. This happens because \
     a function (like `block_on`) attempted to block the current thread while the thread is being \
     used to drive asynchronous tasks. If you are in an async function, use `.await` on the future \
     instead of blocking on it.";

/// A blocking variant of an asynchronous function on a thread that drives tasks.
pub(crate) const BLOCKING: &str = "Cannot block the current thread from within a runtime";

/// `block_on` of a runtime that a panic of a task has ended.
pub(crate) const UNHANDLED_PANIC: &str =
    "a spawned task panicked and the runtime is configured to shut down on unhandled panic";

/// A `LocalSet` that a panic of a task has ended is driven.
pub(crate) const UNHANDLED_LOCAL_PANIC: &str =
    "a spawned task panicked and the LocalSet is configured to shutdown on unhandled panic";

/// `block_in_place` where there is no other thread.
pub(crate) const IN_PLACE: &str =
    "can call blocking only when running on the multi-threaded runtime";

/// A runtime dropped on a thread that drives tasks. The panic's payload as it is.
pub(crate) const DROPPED: &str = "Cannot drop a runtime in asynchronous code: that would block the \
     thread. Use `shutdown_background`, or drop it in `spawn_blocking` or on a plain thread";

/// A closure came after the blocking pool was shut down.
pub(crate) const POOL_SHUT_DOWN: &str = "background task failed";

/// The operating system refused a thread to the workers.
pub(crate) const NO_WORKER_THREAD: &str = "OS can't spawn worker thread";

/// The operating system refused a thread to the blocking pool.
pub(crate) const NO_THREAD: &str = NO_WORKER_THREAD;

/// `spawn_local` without a place for local tasks.
pub(crate) const NOT_LOCAL: &str =
    "`spawn_local` called from outside of a `task::LocalSet` or `runtime::LocalRuntime`";

/// `spawn_local` on a local runtime that lives on another thread.
pub(crate) const OTHER_THREAD: &str = "Local tasks can only be spawned on a LocalRuntime from the \
     thread the runtime was created on";

/// A task-local value that is not set.
pub(crate) const UNSET_LOCAL: &str =
    "cannot access a task-local storage value without setting it first";

/// A lock that nobody could read.
pub(crate) const NO_READERS: &str = "a RwLock may not be created with 0 readers";

/// More permits than a semaphore can count.
pub(crate) const TOO_MANY_PERMITS: &str = "a semaphore may not have more than MAX_PERMITS permits";

/// How a file shows itself.
#[cfg(feature = "fs")]
pub(crate) const FILE: &str = "tokio::fs::File";

/// A file that may not have a buffer.
#[cfg(feature = "fs")]
pub(crate) const NO_BUFFER: &str = "`max_buf_size` must be greater than 0";

/// Listening with a Unix socket of the wrong kind: an error's text.
#[cfg(all(unix, feature = "net"))]
pub(crate) const LISTEN: &str = "listen cannot be called on a datagram socket";

/// Connecting, as a stream, a Unix socket of the wrong kind: an error's text.
#[cfg(all(unix, feature = "net"))]
pub(crate) const CONNECT: &str = "connect cannot be called on a datagram socket";

/// Datagrams of a Unix socket of the wrong kind: an error's text.
#[cfg(all(unix, feature = "net"))]
pub(crate) const DATAGRAM: &str = "datagram cannot be called on a stream socket";
