//! What tress says.

mod errors;

pub(crate) use errors::*;

/// Something needs a runtime, and none was entered.
pub(crate) const NO_RUNTIME: &str = "there is no tress runtime on this thread";

/// A timer in a runtime without timers.
pub(crate) const NO_TIMERS: &str =
    "timers are disabled on this runtime: build it with `enable_time` or `enable_all`";

/// I/O in a runtime without it.
#[cfg(feature = "driver")]
pub(crate) const NO_IO: &str =
    "I/O is disabled on this runtime: build it with `enable_io` or `enable_all`";

/// A timer whose runtime is gone. A whole sentence.
pub(crate) const SHUT_DOWN: &str = "the runtime of this timer has shut down.";

/// `block_on` on a thread that is in one. A whole sentence.
pub(crate) const NESTED: &str = "cannot block this thread on a runtime: it is driving asynchronous \
     tasks already. Use `.await` instead of `block_on`.";

/// A blocking variant of an asynchronous function on a thread that drives tasks.
pub(crate) const BLOCKING: &str = "this would block a thread that drives asynchronous tasks";

/// `block_on` of a runtime that a panic of a task has ended.
pub(crate) const UNHANDLED_PANIC: &str = "a task has panicked, and the runtime was built to shut down \
     when that happens (`Builder::unhandled_panic`)";

/// A `LocalSet` that a panic of a task has ended is driven.
pub(crate) const UNHANDLED_LOCAL_PANIC: &str = "a task has panicked, and its LocalSet was told to end \
     when that happens (`LocalSet::unhandled_panic`)";

/// `block_in_place` where there is no other thread.
pub(crate) const IN_PLACE: &str = "block_in_place needs a multi-thread runtime";

/// A runtime dropped on a thread that drives tasks. The panic's payload as it is.
pub(crate) const DROPPED: &str = "a Runtime was dropped where blocking is not allowed: in \
     asynchronous code. Use `shutdown_background`, or drop it in `spawn_blocking` or on a plain \
     thread";

/// A closure came after the blocking pool was shut down.
pub(crate) const POOL_SHUT_DOWN: &str = "the runtime has shut down";

/// The operating system refused a thread to the workers.
pub(crate) const NO_WORKER_THREAD: &str = "no worker thread could be started";

/// The operating system refused a thread to the blocking pool.
pub(crate) const NO_THREAD: &str = "no thread could be started for the blocking pool";

/// `spawn_local` without a place for local tasks.
pub(crate) const NOT_LOCAL: &str = "`spawn_local` needs a LocalSet or a LocalRuntime around it";

/// `spawn_local` on a local runtime that lives on another thread.
pub(crate) const OTHER_THREAD: &str =
    "a LocalRuntime takes local tasks only on the thread that built it";

/// A task-local value that is not set.
pub(crate) const UNSET_LOCAL: &str = "this task-local value is not set here";

/// A lock that nobody could read.
pub(crate) const NO_READERS: &str = "an RwLock must admit at least one reader";

/// More permits than a semaphore can count.
pub(crate) const TOO_MANY_PERMITS: &str =
    "a semaphore can hold or give out no more than MAX_PERMITS permits";

/// How a file shows itself.
#[cfg(feature = "fs")]
pub(crate) const FILE: &str = "File";

/// A file that may not have a buffer.
#[cfg(feature = "fs")]
pub(crate) const NO_BUFFER: &str = "a file needs a `max_buf_size` of at least one byte";

/// Listening with a Unix socket of the wrong kind: an error's text.
#[cfg(all(unix, feature = "net"))]
pub(crate) const LISTEN: &str = "a socket for datagrams cannot listen: make it with `new_stream`";

/// Connecting, as a stream, a Unix socket of the wrong kind: an error's text.
#[cfg(all(unix, feature = "net"))]
pub(crate) const CONNECT: &str =
    "a socket for datagrams cannot connect as a stream: make it with `new_stream`";

/// Datagrams of a Unix socket of the wrong kind: an error's text.
#[cfg(all(unix, feature = "net"))]
pub(crate) const DATAGRAM: &str =
    "a socket for streams has no datagrams: make it with `new_datagram`";
