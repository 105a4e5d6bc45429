//! The set of conditions that a source is ready for.

use std::fmt;
use std::ops::{BitAnd, BitOr, BitOrAssign, Sub};

const READABLE: u8 = 1;
const WRITABLE: u8 = 1 << 1;
const READ_CLOSED: u8 = 1 << 2;
const WRITE_CLOSED: u8 = 1 << 3;
#[cfg(any(target_os = "linux", target_os = "android"))]
const PRIORITY: u8 = 1 << 4;
const ERROR: u8 = 1 << 5;

/// The set of conditions that a source is known to be ready for.
///
/// A closed side counts as ready, because a read or a write on it returns at once. What a wait *asks* for is an
/// [`Interest`](crate::Interest).
///
/// # Examples
/// ```
/// use tress_driver::Ready;
///
/// let ready = Ready::READABLE | Ready::READ_CLOSED;
/// assert!(ready.is_readable() && ready.is_read_closed());
/// assert!((ready - Ready::READABLE).is_readable()); // the end can be read as well
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ready(u8);

impl Ready {
    /// The empty set: nothing is known.
    pub const EMPTY: Ready = Ready(0);
    /// There is something to read.
    pub const READABLE: Ready = Ready(READABLE);
    /// There is room to write.
    pub const WRITABLE: Ready = Ready(WRITABLE);
    /// The peer has stopped writing: a read finds the end of the stream once the bytes are used up.
    pub const READ_CLOSED: Ready = Ready(READ_CLOSED);
    /// The peer has stopped reading: a write fails.
    pub const WRITE_CLOSED: Ready = Ready(WRITE_CLOSED);
    /// There is out-of-band data.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub const PRIORITY: Ready = Ready(PRIORITY);
    /// The source has an error, which the next read or write reports. `READABLE` and `WRITABLE` are set
    /// together with it.
    pub const ERROR: Ready = Ready(ERROR);
    /// The set of all conditions.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub const ALL: Ready =
        Ready(READABLE | WRITABLE | READ_CLOSED | WRITE_CLOSED | PRIORITY | ERROR);
    /// The set of all conditions.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub const ALL: Ready = Ready(READABLE | WRITABLE | READ_CLOSED | WRITE_CLOSED | ERROR);

    /// The states that using a source does not end. A FIFO that gets another writer does leave them, and no
    /// event reports that.
    pub(crate) const CLOSED: Ready = Ready(READ_CLOSED | WRITE_CLOSED);

    /// Returns `true` if the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns `true` if a read would return at once, with bytes or with the end of the stream.
    pub const fn is_readable(self) -> bool {
        self.0 & (READABLE | READ_CLOSED) != 0
    }

    /// Returns `true` if a write would return at once, perhaps with an error.
    pub const fn is_writable(self) -> bool {
        self.0 & (WRITABLE | WRITE_CLOSED) != 0
    }

    /// Returns `true` if the peer has stopped writing.
    pub const fn is_read_closed(self) -> bool {
        self.0 & READ_CLOSED != 0
    }

    /// Returns `true` if the peer has stopped reading.
    pub const fn is_write_closed(self) -> bool {
        self.0 & WRITE_CLOSED != 0
    }

    /// Returns `true` if there is out-of-band data.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub const fn is_priority(self) -> bool {
        self.0 & PRIORITY != 0
    }

    /// Returns `true` if the source has an error that the next read or write reports.
    pub const fn is_error(self) -> bool {
        self.0 & ERROR != 0
    }

    pub(crate) const fn union(self, other: Ready) -> Ready {
        Ready(self.0 | other.0)
    }

    pub(crate) const fn bits(self) -> u8 {
        self.0
    }

    pub(crate) const fn from_bits(bits: u8) -> Ready {
        Ready(bits & Ready::ALL.0)
    }

    pub(crate) fn from_mio(event: &mio::event::Event) -> Ready {
        let mut bits = 0;
        let mut set = |is: bool, bit| bits |= if is { bit } else { 0 };
        set(event.is_readable(), READABLE);
        set(event.is_writable(), WRITABLE);
        set(event.is_read_closed(), READ_CLOSED);
        set(event.is_write_closed(), WRITE_CLOSED);
        #[cfg(any(target_os = "linux", target_os = "android"))]
        set(event.is_priority(), PRIORITY);
        // The next read or write fetches the error. The system may name one side only: an ICMP answer that the
        // port is closed makes a UDP socket writable, and a task that waits to receive would wait for ever.
        set(event.is_error(), ERROR | READABLE | WRITABLE);
        Ready(bits)
    }
}

impl BitOr for Ready {
    type Output = Ready;

    fn bitor(self, other: Ready) -> Ready {
        self.union(other)
    }
}

impl BitOrAssign for Ready {
    fn bitor_assign(&mut self, other: Ready) {
        self.0 |= other.0;
    }
}

impl BitAnd for Ready {
    type Output = Ready;

    fn bitand(self, other: Ready) -> Ready {
        Ready(self.0 & other.0)
    }
}

impl Sub for Ready {
    type Output = Ready;

    fn sub(self, other: Ready) -> Ready {
        Ready(self.0 & !other.0)
    }
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (READABLE, "READABLE"),
            (WRITABLE, "WRITABLE"),
            (READ_CLOSED, "READ_CLOSED"),
            (WRITE_CLOSED, "WRITE_CLOSED"),
            #[cfg(any(target_os = "linux", target_os = "android"))]
            (PRIORITY, "PRIORITY"),
            (ERROR, "ERROR"),
        ];
        write_flags(f, self.0, &names)
    }
}

/// Writes the names of the set bits with bars between them.
pub(crate) fn write_flags(
    f: &mut fmt::Formatter<'_>,
    bits: u8,
    names: &[(u8, &str)],
) -> fmt::Result {
    if bits == 0 {
        return f.write_str("EMPTY");
    }
    let mut separator = "";
    for (_, name) in names.iter().filter(|(bit, _)| bits & bit != 0) {
        write!(f, "{separator}{name}")?;
        separator = " | ";
    }
    Ok(())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn closed_counts_as_ready() {
        assert!(Ready::READ_CLOSED.is_readable());
        assert!(Ready::WRITE_CLOSED.is_writable());
        assert!(!Ready::READ_CLOSED.is_writable());
        assert!(Ready::EMPTY.is_empty() && !Ready::ALL.is_empty());
    }

    #[test]
    fn set_operations() {
        let mut ready = Ready::READABLE;
        ready |= Ready::ERROR;
        assert_eq!(ready & Ready::ERROR, Ready::ERROR);
        assert_eq!(ready - Ready::ERROR, Ready::READABLE);
        assert_eq!(format!("{ready:?}"), "READABLE | ERROR");
        assert_eq!(format!("{:?}", Ready::EMPTY), "EMPTY");
    }
}
