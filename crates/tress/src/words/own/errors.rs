//! What tress's errors say: the reason, and where there is one the way out.

use std::fmt;
use std::io::{self, ErrorKind};

/// A source that ends before a buffer is full.
pub(crate) fn early_end() -> io::Error {
    io::Error::new(
        ErrorKind::UnexpectedEof,
        "the source has ended before the buffer was full",
    )
}

/// A source that ends inside of a number.
pub(crate) fn cut_number() -> io::Error {
    early_end()
}

/// A sink that takes no more bytes although all must be written.
pub(crate) fn write_zero() -> io::Error {
    io::Error::new(
        ErrorKind::WriteZero,
        "the sink takes no more bytes, and there are some left to write",
    )
}

/// The same for what a buffer holds.
pub(crate) fn buffer_not_written() -> io::Error {
    write_zero()
}

/// The same for what is copied.
pub(crate) fn copy_not_written() -> io::Error {
    write_zero()
}

/// A semaphore that was closed.
pub(crate) const SEMAPHORE_CLOSED: &str =
    "the semaphore is closed and gives out no permits any more";

/// A semaphore with too few permits.
pub(crate) const NO_PERMITS: &str =
    "too few permits are available right now; wait for them with `acquire`";

/// A lock that is held.
pub(crate) const LOCKED: &str =
    "the lock is taken; wait for it with the asynchronous variant, or try again";

/// A cell that has a value.
pub(crate) const CELL_SET: &str = "the cell has a value already; read it with `get`";

/// A cell whose value is being made.
pub(crate) const CELL_BUSY: &str =
    "somebody is making the cell's value; wait for it with `get_or_init`";

/// A value that can be set once, and was.
pub(crate) const SET_ONCE: &str = "there is a value already; read it with `get`";

/// Sending to a queue whose receiver is gone.
pub(crate) const QUEUE_CLOSED: &str = "the channel is closed: its receiver was dropped or has closed it, and nobody will get the message";

/// Sending to a queue without a place.
pub(crate) const QUEUE_FULL: &str = "the channel has no free place: use `send` to wait for one";

/// Sending to a queue in which no place became free.
pub(crate) const QUEUE_TIMEOUT: &str =
    "no place in the channel became free in time: the receiver is too slow or stuck";

/// Receiving from an empty queue.
pub(crate) const QUEUE_EMPTY: &str = "the channel is empty: use `recv` to wait for a message";

/// Receiving from a queue whose senders are gone.
pub(crate) const QUEUE_ENDED: &str =
    "the channel is empty and closed: no message will come any more";

/// Writes the variant of an error that holds a message, without the message.
pub(crate) fn variant(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    f.write_str(name)
}

/// Sending to nobody.
pub(crate) const BROADCAST_NO_RECEIVER: &str =
    "the broadcast channel has no receiver: call `subscribe` before sending";

/// Receiving from a channel whose senders are gone.
pub(crate) const BROADCAST_CLOSED: &str =
    "the broadcast channel is closed: all its senders are gone";

/// Receiving from an empty channel.
pub(crate) const BROADCAST_EMPTY: &str =
    "the broadcast channel is empty: use `recv` to wait for a message";

/// A receiver that missed messages.
pub(crate) fn lagged(f: &mut fmt::Formatter<'_>, missed: u64) -> fmt::Result {
    write!(
        f,
        "the receiver lagged behind and missed {missed} messages: receive faster, or give the \
         channel a larger capacity"
    )
}

/// A value that does not come.
pub(crate) const ONESHOT_CLOSED: &str =
    "the oneshot channel is closed: no value was or will be sent on it";

/// A value that has not come.
pub(crate) const ONESHOT_EMPTY: &str =
    "the oneshot channel is empty: await the receiver to wait for the value";

/// A value that nobody watches.
pub(crate) const WATCH_NO_RECEIVER: &str =
    "the watch channel has no receiver: use `send_replace` to change the value all the same";

/// A value that nobody changes.
pub(crate) const WATCH_NO_SENDER: &str =
    "all senders of the watch channel are gone: its value will not change any more";

/// A task-local value that is not set.
pub(crate) const NO_LOCAL_VALUE: &str = "this task-local value is not set here: wrap the future in \
     `LocalKey::scope`, also when it is spawned from a task that has the value";

/// The advice that follows the words of an error.
pub(crate) const fn advice(advice: &'static str) -> &'static str {
    advice
}

/// A timer whose runtime is gone.
pub(crate) const TIMER_SHUT_DOWN: &str = "the timer's runtime has shut down";

/// A timer for which there is no room.
pub(crate) const TIMER_NO_ROOM: &str = "there are too many timers; try again later";

/// A timer too far away.
pub(crate) const TIMER_TOO_FAR: &str = "the timer's deadline is out of range";

/// Halves of different streams.
#[cfg(feature = "net")]
pub(crate) const OTHER_HALF: &str =
    "the halves are of different streams: reunite those of the same `into_split`";

/// A name or a list without an address.
#[cfg(feature = "net")]
pub(crate) const NO_ADDRESS: &str = "no address: the name or the list given means none";

/// The same for a datagram.
#[cfg(feature = "net")]
pub(crate) const NO_TARGET: &str = NO_ADDRESS;

/// A socket with an address of another family.
#[cfg(feature = "net")]
pub(crate) const OTHER_FAMILY: &str = "the socket is not one of the Internet protocols";

/// A file that is no pipe.
#[cfg(all(unix, feature = "net"))]
pub(crate) const NO_PIPE: &str = "this is not a pipe";

/// The wrong end of a pipe, for reading.
#[cfg(all(unix, feature = "net"))]
pub(crate) const NO_READER: &str = "this is the other end of the pipe";

/// The wrong end of a pipe, for writing.
#[cfg(all(unix, feature = "net"))]
pub(crate) const NO_WRITER: &str = NO_READER;

/// A descriptor that cannot be watched.
#[cfg(all(unix, feature = "driver"))]
pub(crate) fn not_watched(f: &mut fmt::Formatter<'_>, cause: &io::Error) -> fmt::Result {
    write!(f, "the descriptor cannot be watched: {cause}")
}

/// The same for debugging.
#[cfg(all(unix, feature = "driver"))]
pub(crate) fn show_not_watched(f: &mut fmt::Formatter<'_>, cause: &io::Error) -> fmt::Result {
    f.debug_struct("AsyncFdRegisterError")
        .field("cause", cause)
        .finish_non_exhaustive()
}

/// A file that is busy.
#[cfg(feature = "fs")]
pub(crate) const FILE_BUSY: &str = "the file is still busy with an operation: wait for it with `poll_complete` before \
     `start_seek`";

/// A signal that cannot be listened for.
#[cfg(all(unix, feature = "signal"))]
pub(crate) fn refused_signal(signal: i32) -> io::Error {
    io::Error::new(
        ErrorKind::InvalidInput,
        format!("signal {signal} cannot be listened for"),
    )
}
