//! What Tokio's errors say, and of which kind they are.

use std::fmt;
use std::io::{self, ErrorKind};

/// A source that ends before a buffer is full.
pub(crate) fn early_end() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "early eof")
}

/// A source that ends inside of a number.
pub(crate) fn cut_number() -> io::Error {
    ErrorKind::UnexpectedEof.into()
}

/// A sink that takes no more bytes although all must be written.
pub(crate) fn write_zero() -> io::Error {
    ErrorKind::WriteZero.into()
}

/// The same for what a buffer holds.
pub(crate) fn buffer_not_written() -> io::Error {
    io::Error::new(ErrorKind::WriteZero, "failed to write the buffered data")
}

/// The same for what is copied.
pub(crate) fn copy_not_written() -> io::Error {
    io::Error::new(ErrorKind::WriteZero, "write zero byte into writer")
}

/// A semaphore that was closed.
pub(crate) const SEMAPHORE_CLOSED: &str = "semaphore closed";

/// A semaphore with too few permits.
pub(crate) const NO_PERMITS: &str = "no permits available";

/// A lock that is held.
pub(crate) const LOCKED: &str = "operation would block";

/// A cell that has a value.
pub(crate) const CELL_SET: &str = "AlreadyInitializedError";

/// A cell whose value is being made.
pub(crate) const CELL_BUSY: &str = "InitializingError";

/// A value that can be set once, and was.
pub(crate) const SET_ONCE: &str = "SetOnceError";

/// Sending to a queue whose receiver is gone.
pub(crate) const QUEUE_CLOSED: &str = "channel closed";

/// Sending to a queue without a place.
pub(crate) const QUEUE_FULL: &str = "no available capacity";

/// Sending to a queue in which no place became free.
pub(crate) const QUEUE_TIMEOUT: &str = "timed out waiting on send operation";

/// Receiving from an empty queue.
pub(crate) const QUEUE_EMPTY: &str = "receiving on an empty channel";

/// Receiving from a queue whose senders are gone.
pub(crate) const QUEUE_ENDED: &str = "receiving on a closed channel";

/// Writes the variant of an error that holds a message, without the message.
pub(crate) fn variant(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    fmt::Debug::fmt(name, f)
}

/// Sending to nobody.
pub(crate) const BROADCAST_NO_RECEIVER: &str = "channel closed";

/// Receiving from a channel whose senders are gone.
pub(crate) const BROADCAST_CLOSED: &str = "channel closed";

/// Receiving from an empty channel.
pub(crate) const BROADCAST_EMPTY: &str = "channel empty";

/// A receiver that missed messages.
pub(crate) fn lagged(f: &mut fmt::Formatter<'_>, missed: u64) -> fmt::Result {
    write!(f, "channel lagged by {missed}")
}

/// A value that does not come.
pub(crate) const ONESHOT_CLOSED: &str = "channel closed";

/// A value that has not come.
pub(crate) const ONESHOT_EMPTY: &str = "channel empty";

/// A value that nobody watches.
pub(crate) const WATCH_NO_RECEIVER: &str = "channel closed";

/// A value that nobody changes.
pub(crate) const WATCH_NO_SENDER: &str = "channel closed";

/// A task-local value that is not set.
pub(crate) const NO_LOCAL_VALUE: &str = "task-local value not set";

/// The advice that follows the words of an error: none.
pub(crate) const fn advice(_: &'static str) -> &'static str {
    ""
}

/// A timer whose runtime is gone.
pub(crate) const TIMER_SHUT_DOWN: &str =
    "the timer is shutdown, must be called from the context of Tokio runtime";

/// A timer for which there is no room.
pub(crate) const TIMER_NO_ROOM: &str = "timer is at capacity and cannot create a new entry";

/// A timer too far away.
pub(crate) const TIMER_TOO_FAR: &str = "timer duration exceeds maximum duration";

/// Halves of different streams.
#[cfg(feature = "net")]
pub(crate) const OTHER_HALF: &str = "tried to reunite halves that are not from the same socket";

/// A name or a list without an address.
#[cfg(feature = "net")]
pub(crate) const NO_ADDRESS: &str = "could not resolve to any address";

/// The same for a datagram.
#[cfg(feature = "net")]
pub(crate) const NO_TARGET: &str = "no addresses to send data to";

/// A socket with an address of another family.
#[cfg(feature = "net")]
pub(crate) const OTHER_FAMILY: &str = "invalid address family (not IPv4 or IPv6)";

/// A file that is no pipe.
#[cfg(all(unix, feature = "net"))]
pub(crate) const NO_PIPE: &str = "not a pipe";

/// The wrong end of a pipe, for reading.
#[cfg(all(unix, feature = "net"))]
pub(crate) const NO_READER: &str = "not in O_RDONLY or O_RDWR access mode";

/// The wrong end of a pipe, for writing.
#[cfg(all(unix, feature = "net"))]
pub(crate) const NO_WRITER: &str = "not in O_WRONLY or O_RDWR access mode";

/// A descriptor that cannot be watched.
#[cfg(all(unix, feature = "driver"))]
pub(crate) fn not_watched(f: &mut fmt::Formatter<'_>, cause: &io::Error) -> fmt::Result {
    fmt::Display::fmt(cause, f)
}

/// The same for debugging.
#[cfg(all(unix, feature = "driver"))]
pub(crate) fn show_not_watched(f: &mut fmt::Formatter<'_>, cause: &io::Error) -> fmt::Result {
    fmt::Debug::fmt(cause, f)
}

/// A file that is busy.
#[cfg(feature = "fs")]
pub(crate) const FILE_BUSY: &str =
    "other file operation is pending, call poll_complete before start_seek";

/// A signal that cannot be listened for.
#[cfg(all(unix, feature = "signal"))]
pub(crate) fn refused_signal(signal: i32) -> io::Error {
    io::Error::other(format!("Refusing to register signal {signal}"))
}
