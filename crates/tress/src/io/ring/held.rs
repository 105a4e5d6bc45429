use std::fmt;
use std::io;
use std::mem::{self, ManuallyDrop};
use std::ops::{Deref, DerefMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::{Arc, OnceLock};
use tress_driver::Leftover;

/// An object with a descriptor that operations of a ring can share, so that it is closed when the last of
/// them is done with it. Until the first operation asks, sharing costs nothing.
// D-NET-05
pub(crate) struct Held<T> {
    inner: ManuallyDrop<T>,
    /// Owns the descriptor once it is lent. From then on `inner` only names it.
    loan: Loan,
}

/// What a driver knows an object by.
pub(crate) type Name = RawFd;

/// The part of a `Held` that does not depend on its object.
pub(crate) struct Loan(OnceLock<Arc<Lent>>);

impl Loan {
    /// Returns what dropped reads have received, if there is anything to read or to wait for.
    #[inline]
    pub(crate) fn leftover(&self) -> Option<&Leftover> {
        let leftover = self.0.get()?.leftover();
        (!leftover.is_empty()).then_some(leftover)
    }
}

/// A descriptor that operations share, with the bytes that dropped reads have received from it.
#[derive(Debug)]
pub(crate) struct Lent {
    fd: OwnedFd,
    leftover: Leftover,
}

impl Lent {
    pub(crate) fn leftover(&self) -> &Leftover {
        &self.leftover
    }
}

impl AsFd for Lent {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// An object that is a descriptor and nothing else.
///
/// # Safety
/// `as_raw_fd` always returns the same open descriptor, which dropping the value closes; dropping has no
/// other effect that matters.
pub(crate) unsafe trait Descriptor: AsRawFd + From<OwnedFd> {}

// SAFETY: an `OwnedFd` is a descriptor and nothing else.
unsafe impl Descriptor for OwnedFd {}
#[cfg(feature = "net")]
mod sockets {
    use super::Descriptor;

    // SAFETY: mio's types are wrappers of the standard library's, which are wrappers of a descriptor.
    unsafe impl Descriptor for mio::net::TcpStream {}
    // SAFETY: as above.
    unsafe impl Descriptor for mio::net::UnixStream {}
    // SAFETY: as above.
    unsafe impl Descriptor for mio::unix::pipe::Sender {}
    // SAFETY: as above.
    unsafe impl Descriptor for mio::unix::pipe::Receiver {}
}

impl<T> Held<T> {
    pub(crate) fn new(inner: T) -> Held<T> {
        Held {
            inner: ManuallyDrop::new(inner),
            loan: Loan(OnceLock::new()),
        }
    }

    #[inline]
    pub(crate) fn loan(&self) -> &Loan {
        &self.loan
    }

    /// Returns the object.
    ///
    /// # Panics
    /// Panics if it was lent: see `reclaim`.
    pub(crate) fn into_inner(mut self) -> T {
        assert!(self.loan.0.get().is_none(), "it is lent");
        // SAFETY: it is not used again, and not dropped: `self` is forgotten and has nothing else to drop.
        let inner = unsafe { ManuallyDrop::take(&mut self.inner) };
        mem::forget(self);
        inner
    }
}

impl<T: AsRawFd> Held<T> {
    #[inline]
    pub(crate) fn name(&self) -> Name {
        self.inner.as_raw_fd()
    }
}

impl<T: Descriptor> Held<T> {
    /// Returns the descriptor, for an operation to keep open.
    pub(crate) fn lend(&self) -> Arc<Lent> {
        let lent = self.loan.0.get_or_init(|| {
            Arc::new(Lent {
                // SAFETY: the descriptor is open, and owned by this from now on: `inner` is not dropped any
                // more.
                fd: unsafe { OwnedFd::from_raw_fd(self.inner.as_raw_fd()) },
                leftover: Leftover::new(),
            })
        });
        Arc::clone(lent)
    }

    /// Returns the object, or a duplicate if a dropped operation still has it.
    ///
    /// # Errors
    /// No duplicate can be made, or a dropped read has received bytes that have not been read.
    pub(crate) fn reclaim(mut self) -> io::Result<T> {
        if let Some(lent) = self.loan.0.get() {
            lent.leftover.conclude()?;
        }
        match self.loan.0.take().map(Arc::try_unwrap) {
            None => {}
            // `inner` is the owner again.
            Some(Ok(only)) => drop(only.fd.into_raw_fd()),
            Some(Err(shared)) => {
                // The operation closes the descriptor.
                mem::forget(self);
                return shared.fd.try_clone().map(T::from);
            }
        }
        Ok(self.into_inner())
    }
}

impl<T> Deref for Held<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T> DerefMut for Held<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

impl<T> Drop for Held<T> {
    fn drop(&mut self) {
        if self.loan.0.get().is_none() {
            // SAFETY: it is dropped only here, and owns its descriptor.
            unsafe { ManuallyDrop::drop(&mut self.inner) };
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Held<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
