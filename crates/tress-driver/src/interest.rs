//! The set of conditions that a registration or a wait asks for.

use crate::ready::Ready;
use std::fmt;
use std::ops::{BitOr, BitOrAssign};

const READABLE: u8 = 1;
const WRITABLE: u8 = 1 << 1;
#[cfg(any(target_os = "linux", target_os = "android"))]
const PRIORITY: u8 = 1 << 2;
const ERROR: u8 = 1 << 3;

/// The set of conditions that a [registration](crate::Driver::register) or a
/// [wait](crate::Registration::readiness) asks for. It is never empty.
///
/// What a source *is* ready for is a [`Ready`](crate::Ready).
///
/// # Examples
/// ```
/// use tress_driver::Interest;
///
/// let both = Interest::READABLE | Interest::WRITABLE;
/// assert!(both.is_readable() && both.is_writable());
/// assert_eq!(both.remove(Interest::READABLE), Some(Interest::WRITABLE));
/// assert_eq!(Interest::READABLE.remove(Interest::READABLE), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Interest(u8);

impl Interest {
    /// Interest in bytes to read, connections to accept, and the end of the stream.
    pub const READABLE: Interest = Interest(READABLE);
    /// Interest in room to write, and in the end of the peer's reading side.
    pub const WRITABLE: Interest = Interest(WRITABLE);
    /// Interest in out-of-band data.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub const PRIORITY: Interest = Interest(PRIORITY);
    /// Interest in errors only.
    ///
    /// The selector reports errors without being asked, and they end waits for reading and writing too.
    pub const ERROR: Interest = Interest(ERROR);

    /// Returns `true` if the interest includes [`READABLE`](Self::READABLE).
    pub const fn is_readable(self) -> bool {
        self.0 & READABLE != 0
    }

    /// Returns `true` if the interest includes [`WRITABLE`](Self::WRITABLE).
    pub const fn is_writable(self) -> bool {
        self.0 & WRITABLE != 0
    }

    /// Returns `true` if the interest includes [`PRIORITY`](Self::PRIORITY).
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub const fn is_priority(self) -> bool {
        self.0 & PRIORITY != 0
    }

    /// Returns `true` if the interest includes [`ERROR`](Self::ERROR).
    pub const fn is_error(self) -> bool {
        self.0 & ERROR != 0
    }

    /// Returns the union of two interests; the operator `|` does the same.
    #[must_use]
    pub const fn add(self, other: Interest) -> Interest {
        Interest(self.0 | other.0)
    }

    /// Returns the interest without those of `other`, or `None` if nothing remains.
    #[must_use]
    pub const fn remove(self, other: Interest) -> Option<Interest> {
        match self.0 & !other.0 {
            0 => None,
            rest => Some(Interest(rest)),
        }
    }

    /// The readiness that ends a wait for this interest.
    pub(crate) const fn mask(self) -> Ready {
        let mut mask = Ready::EMPTY;
        if self.is_readable() {
            mask = mask.union(Ready::READABLE.union(Ready::READ_CLOSED));
        }
        if self.is_writable() {
            mask = mask.union(Ready::WRITABLE.union(Ready::WRITE_CLOSED));
        }
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if self.is_priority() {
            mask = mask.union(Ready::PRIORITY.union(Ready::READ_CLOSED));
        }
        if self.is_error() {
            mask = mask.union(Ready::ERROR);
        }
        mask
    }

    /// What the system's selector is asked for.
    pub(crate) fn to_mio(self) -> mio::Interest {
        let mut wanted: Option<mio::Interest> = None;
        let mut add = |interest| wanted = Some(wanted.map_or(interest, |w| w.add(interest)));
        if self.is_readable() {
            add(mio::Interest::READABLE);
        }
        if self.is_writable() {
            add(mio::Interest::WRITABLE);
        }
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if self.is_priority() {
            add(mio::Interest::PRIORITY);
        }
        // Errors are always reported, but a selector must be asked for something.
        wanted.unwrap_or(mio::Interest::READABLE)
    }
}

impl BitOr for Interest {
    type Output = Interest;

    fn bitor(self, other: Interest) -> Interest {
        self.add(other)
    }
}

impl BitOrAssign for Interest {
    fn bitor_assign(&mut self, other: Interest) {
        *self = self.add(other);
    }
}

impl fmt::Debug for Interest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (READABLE, "READABLE"),
            (WRITABLE, "WRITABLE"),
            #[cfg(any(target_os = "linux", target_os = "android"))]
            (PRIORITY, "PRIORITY"),
            (ERROR, "ERROR"),
        ];
        crate::ready::write_flags(f, self.0, &names)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn masks_include_the_closed_states() {
        assert_eq!(
            Interest::READABLE.mask(),
            Ready::READABLE | Ready::READ_CLOSED
        );
        assert_eq!(
            Interest::WRITABLE.mask(),
            Ready::WRITABLE | Ready::WRITE_CLOSED
        );
        assert_eq!(Interest::ERROR.mask(), Ready::ERROR);
    }

    #[test]
    fn prints_its_names() {
        let mut interest = Interest::READABLE;
        interest |= Interest::ERROR;
        assert_eq!(format!("{interest:?}"), "READABLE | ERROR");
    }

    #[test]
    fn errors_alone_can_be_asked_for() {
        assert!(Interest::ERROR.to_mio().is_readable());
    }
}
