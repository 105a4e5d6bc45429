//! Pipes: streams of bytes in one direction, within a program, to other programs, or named in the file
//! system.
//!
//! - [`pipe`](pipe()) creates a pipe, and returns its two ends.
//! - [`Sender`] is the end to write to, [`Receiver`] the end to read from. Both can also be created from
//!   files and descriptors.
//! - [`OpenOptions`] opens the ends of a named pipe (FIFO).
//!
//! For pipes to the standard streams of a child process see [`process`](crate::process). Within a program,
//! [`simplex`](crate::io::simplex()) needs no descriptors.
//!
//! # Examples
//! ```
//! use tress::io::{AsyncReadExt, AsyncWriteExt};
//! use tress::net::unix::pipe;
//!
//! # tress::runtime::Runtime::new().unwrap().block_on(async {
//! let (mut sender, mut receiver) = pipe::pipe()?;
//! sender.write_all(b"hello").await?;
//! drop(sender);
//! let mut text = String::new();
//! receiver.read_to_string(&mut text).await?;
//! assert_eq!(text, "hello");
//! # Ok::<(), std::io::Error>(()) }).unwrap();
//! ```

mod open;
mod receiver;
mod sender;

use crate::words;
pub use open::OpenOptions;
pub use receiver::Receiver;
pub use sender::Sender;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;

/// Creates a pipe, and returns its two ends.
///
/// # Errors
/// Any error of `pipe(2)`, or that the runtime has shut down.
///
/// # Panics
/// Panics if there is no current runtime, or it was built without I/O.
///
/// # Examples
/// ```
/// use tress::io::{AsyncReadExt, AsyncWriteExt};
/// use tress::net::unix::pipe;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (mut sender, mut receiver) = pipe::pipe()?;
/// sender.write_u8(7).await?;
/// assert_eq!(receiver.read_u8().await?, 7);
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
#[track_caller]
pub fn pipe() -> io::Result<(Sender, Receiver)> {
    let (sender, receiver) = mio::unix::pipe::new()?;
    Ok((
        Sender::new(sender, "unix::pipe::pipe")?,
        Receiver::new(receiver, "unix::pipe::pipe")?,
    ))
}

/// The end of a pipe that a descriptor must be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Read,
    Write,
}

/// Rejects descriptors that are not a pipe, or are the other end of one.
fn check(fd: OwnedFd, end: End) -> io::Result<OwnedFd> {
    let file = File::from(fd);
    if !file.metadata()?.file_type().is_fifo() {
        return Err(invalid(words::NO_PIPE));
    }
    let mode = flags(&file)? & libc::O_ACCMODE;
    let (only, otherwise) = match end {
        End::Read => (libc::O_RDONLY, words::NO_READER),
        End::Write => (libc::O_WRONLY, words::NO_WRITER),
    };
    if mode != only && mode != libc::O_RDWR {
        return Err(invalid(otherwise));
    }
    Ok(file.into())
}

fn invalid(message: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

fn flags(fd: &impl AsFd) -> io::Result<libc::c_int> {
    // SAFETY: the descriptor is borrowed and so is open; the call touches no memory.
    match unsafe { libc::fcntl(fd.as_fd().as_raw_fd(), libc::F_GETFL) } {
        -1 => Err(io::Error::last_os_error()),
        flags => Ok(flags),
    }
}

/// Sets or clears the non-blocking mode of a descriptor.
fn set_nonblocking(fd: &impl AsFd, nonblocking: bool) -> io::Result<()> {
    let old = flags(fd)?;
    let new = match nonblocking {
        true => old | libc::O_NONBLOCK,
        false => old & !libc::O_NONBLOCK,
    };
    if new == old {
        return Ok(());
    }
    // SAFETY: as above.
    match unsafe { libc::fcntl(fd.as_fd().as_raw_fd(), libc::F_SETFL, new) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Implements what both ends have, besides reading or writing.
macro_rules! end {
    ($End:ident, $Inner:ty, $end:expr, $interest:expr) => {
        impl $End {
            #[track_caller]
            pub(super) fn new(inner: $Inner, what: &str) -> std::io::Result<$End> {
                let io = $crate::io::source::Source::with_interest(inner, $interest, what)?;
                // It is registered before the first attempt: a named pipe whose first sender has not
                // arrived yet would otherwise seem to have ended.
                io.registration()?;
                Ok($End { io })
            }

            /// Creates this end of a pipe from an open file.
            ///
            /// It is put into non-blocking mode.
            ///
            /// # Errors
            /// [`InvalidInput`](std::io::ErrorKind::InvalidInput) if the file is not a pipe, or is the
            /// other end of one; any error of `fstat(2)` or `fcntl(2)`; or that the runtime has shut down.
            ///
            /// # Panics
            /// Panics if there is no current runtime, or it was built without I/O.
            ///
            /// # Examples
            /// With the receiving end:
            /// ```
            /// use std::fs::File;
            /// use tress::net::unix::pipe;
            ///
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            /// let (_sender, receiver) = pipe::pipe()?;
            /// let file = File::from(receiver.into_blocking_fd()?);
            /// let receiver = pipe::Receiver::from_file(file)?;
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            #[track_caller]
            pub fn from_file(file: std::fs::File) -> std::io::Result<$End> {
                $End::from_owned_fd(file.into())
            }

            /// Creates this end of a pipe from a file descriptor.
            ///
            /// It is put into non-blocking mode.
            ///
            /// # Errors
            /// See [`from_file`](Self::from_file).
            ///
            /// # Panics
            /// See [`from_file`](Self::from_file).
            ///
            /// # Examples
            /// With the sending end:
            /// ```
            /// use std::os::fd::OwnedFd;
            /// use tress::net::unix::pipe;
            ///
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            /// let (sender, _receiver) = pipe::pipe()?;
            /// let descriptor: OwnedFd = sender.into_blocking_fd()?;
            /// let sender = pipe::Sender::from_owned_fd(descriptor)?;
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            #[track_caller]
            pub fn from_owned_fd(owned_fd: std::os::fd::OwnedFd) -> std::io::Result<$End> {
                let fd = super::check(owned_fd, $end)?;
                super::set_nonblocking(&fd, true)?;
                $End::from_owned_fd_unchecked(fd)
            }

            /// Creates this end of a pipe from an open file, without checking it or changing its mode.
            ///
            /// The file must be this end of a pipe, in non-blocking mode; otherwise operations fail, or
            /// block the thread.
            ///
            /// # Errors
            /// The file cannot be registered with the system's selector, or the runtime has shut down.
            ///
            /// # Panics
            /// See [`from_file`](Self::from_file).
            ///
            /// # Examples
            /// With the receiving end:
            /// ```
            /// use std::fs::File;
            /// use tress::net::unix::pipe;
            ///
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            /// let (_sender, receiver) = pipe::pipe()?;
            /// let file = File::from(receiver.into_nonblocking_fd()?);
            /// let receiver = pipe::Receiver::from_file_unchecked(file)?;
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            #[track_caller]
            pub fn from_file_unchecked(file: std::fs::File) -> std::io::Result<$End> {
                $End::from_owned_fd_unchecked(file.into())
            }

            /// Creates this end of a pipe from a file descriptor, without checking it or changing its mode.
            ///
            /// The descriptor must be this end of a pipe, in non-blocking mode; otherwise operations fail,
            /// or block the thread.
            ///
            /// # Errors
            /// The descriptor cannot be registered with the system's selector, or the runtime has shut
            /// down.
            ///
            /// # Panics
            /// See [`from_file`](Self::from_file).
            ///
            /// # Examples
            /// With the receiving end:
            /// ```
            /// use tress::net::unix::pipe;
            ///
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            /// let (_sender, receiver) = pipe::pipe()?;
            /// let descriptor = receiver.into_nonblocking_fd()?;
            /// let receiver = pipe::Receiver::from_owned_fd_unchecked(descriptor)?;
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            #[track_caller]
            pub fn from_owned_fd_unchecked(
                owned_fd: std::os::fd::OwnedFd,
            ) -> std::io::Result<$End> {
                $End::new(owned_fd.into(), "the end of a pipe")
            }

            /// Waits until the pipe is ready for any of `interest`, and returns for what.
            ///
            /// Any number of tasks may wait at the same time.
            ///
            /// # Errors
            /// The runtime has shut down.
            ///
            /// # Cancel safety
            /// This method is cancel safe: the next wait finds the same readiness.
            ///
            /// # Examples
            /// With the sending end:
            /// ```
            /// use tress::io::Interest;
            /// use tress::net::unix::pipe;
            ///
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            /// let (sender, _receiver) = pipe::pipe()?;
            /// assert!(sender.ready(Interest::WRITABLE).await?.is_writable());
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            pub async fn ready(
                &self,
                interest: $crate::io::Interest,
            ) -> std::io::Result<$crate::io::Ready> {
                self.io.ready(interest).await
            }

            /// Performs a non-blocking operation of the caller on this pipe, unless the pipe is known not
            /// to be ready.
            ///
            /// If `f` returns [`WouldBlock`](std::io::ErrorKind::WouldBlock), the readiness is cleared: it
            /// must return that error only if the pipe did.
            ///
            /// # Errors
            /// `WouldBlock`, without a call of `f`, if the pipe is not ready; otherwise the error of `f`.
            /// Also if a dropped [owned](crate::io::AsyncReadOwned) read has received bytes that have not
            /// been read since.
            ///
            /// # Examples
            /// With the sending end:
            /// ```
            /// use std::fs::File;
            /// use std::io::Write;
            /// use std::os::fd::AsFd;
            /// use tress::net::unix::pipe;
            ///
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            /// let (sender, _receiver) = pipe::pipe()?;
            /// let mut file = File::from(sender.as_fd().try_clone_to_owned()?);
            /// sender.writable().await?;
            /// assert_eq!(sender.try_io(|| file.write(b"hello"))?, 5);
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            pub fn try_io<R>(&self, f: impl FnOnce() -> std::io::Result<R>) -> std::io::Result<R> {
                self.io.try_io($interest, |_| f())
            }

            /// Converts the end to its file descriptor, in blocking mode.
            ///
            /// # Errors
            /// Any error of `fcntl(2)`, or of [`into_nonblocking_fd`](Self::into_nonblocking_fd).
            ///
            /// # Examples
            /// With the sending end:
            /// ```
            /// use std::fs::File;
            /// use std::io::Write;
            /// use tress::net::unix::pipe;
            ///
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            /// let (sender, _receiver) = pipe::pipe()?;
            /// let mut file = File::from(sender.into_blocking_fd()?);
            /// file.write_all(b"hello")?;
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            pub fn into_blocking_fd(self) -> std::io::Result<std::os::fd::OwnedFd> {
                let fd = self.into_nonblocking_fd()?;
                super::set_nonblocking(&fd, false)?;
                Ok(fd)
            }

            /// Converts the end to its file descriptor, in non-blocking mode.
            ///
            /// # Errors
            /// - A dropped [owned](crate::io::AsyncReadOwned) read has received bytes that have not been
            ///   read since.
            /// - A dropped owned operation still uses the descriptor, and it cannot be duplicated.
            ///
            /// # Examples
            /// With the sending end:
            /// ```
            /// use std::os::fd::OwnedFd;
            /// use tress::net::unix::pipe;
            ///
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            /// let (sender, _receiver) = pipe::pipe()?;
            /// let descriptor: OwnedFd = sender.into_nonblocking_fd()?;
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            pub fn into_nonblocking_fd(self) -> std::io::Result<std::os::fd::OwnedFd> {
                self.io.reclaim().map(Into::into)
            }
        }

        impl std::os::fd::AsRawFd for $End {
            fn as_raw_fd(&self) -> std::os::fd::RawFd {
                self.io.get_ref().as_raw_fd()
            }
        }

        impl std::os::fd::AsFd for $End {
            fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
                self.io.get_ref().as_fd()
            }
        }
    };
}

use end;
