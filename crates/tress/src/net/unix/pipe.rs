//! Pipes: between the parts of a program, to other programs, and named ones in the file system.
//!
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

pub use open::OpenOptions;
pub use receiver::Receiver;
pub use sender::Sender;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;

/// A pipe: what goes in here comes out there.
///
/// # Errors
/// What the system says.
///
/// # Panics
/// If there is no current runtime, or it was built without I/O.
#[track_caller]
pub fn pipe() -> io::Result<(Sender, Receiver)> {
    let (sender, receiver) = mio::unix::pipe::new()?;
    Ok((
        Sender::new(sender, "unix::pipe::pipe")?,
        Receiver::new(receiver, "unix::pipe::pipe")?,
    ))
}

/// Which ends a descriptor of a pipe has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Read,
    Write,
}

/// Refuses what is not a pipe, or the other end of one.
fn check(fd: OwnedFd, end: End) -> io::Result<OwnedFd> {
    let file = File::from(fd);
    if !file.metadata()?.file_type().is_fifo() {
        return Err(invalid("this is not a pipe"));
    }
    let mode = flags(&file)? & libc::O_ACCMODE;
    let fits = match end {
        End::Read => mode == libc::O_RDONLY || mode == libc::O_RDWR,
        End::Write => mode == libc::O_WRONLY || mode == libc::O_RDWR,
    };
    if !fits {
        return Err(invalid("this is the other end of the pipe"));
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

/// Puts a descriptor into blocking or non-blocking mode.
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

/// What both ends have, besides the way to read or write.
macro_rules! end {
    ($End:ident, $Inner:ty, $end:expr, $interest:expr) => {
        impl $End {
            #[track_caller]
            pub(super) fn new(inner: $Inner, what: &str) -> std::io::Result<$End> {
                let io = $crate::io::source::Source::with_interest(inner, $interest, what)?;
                // Nothing is tried before the first event: a named pipe whose first sender is still
                // to come would say that it has ended.
                io.registration()?;
                Ok($End { io })
            }

            /// Makes it of an open file, which is put into non-blocking mode.
            ///
            /// # Errors
            /// `InvalidInput` if it is not a pipe, or the other end of one; what the system says.
            ///
            /// # Panics
            /// If there is no current runtime, or it was built without I/O.
            #[track_caller]
            pub fn from_file(file: std::fs::File) -> std::io::Result<$End> {
                $End::from_owned_fd(file.into())
            }

            /// Makes it of a descriptor, which is put into non-blocking mode.
            ///
            /// # Errors
            /// As for [`from_file`](Self::from_file).
            ///
            /// # Panics
            /// As for [`from_file`](Self::from_file).
            #[track_caller]
            pub fn from_owned_fd(owned_fd: std::os::fd::OwnedFd) -> std::io::Result<$End> {
                let fd = super::check(owned_fd, $end)?;
                super::set_nonblocking(&fd, true)?;
                $End::from_owned_fd_unchecked(fd)
            }

            /// Makes it of an open file as it is: the right end of a pipe, in non-blocking mode.
            ///
            /// # Errors
            /// None at present.
            ///
            /// # Panics
            /// As for [`from_file`](Self::from_file).
            #[track_caller]
            pub fn from_file_unchecked(file: std::fs::File) -> std::io::Result<$End> {
                $End::from_owned_fd_unchecked(file.into())
            }

            /// Makes it of a descriptor as it is: the right end of a pipe, in non-blocking mode.
            ///
            /// # Errors
            /// None at present.
            ///
            /// # Panics
            /// As for [`from_file`](Self::from_file).
            #[track_caller]
            pub fn from_owned_fd_unchecked(
                owned_fd: std::os::fd::OwnedFd,
            ) -> std::io::Result<$End> {
                $End::new(owned_fd.into(), "the end of a pipe")
            }

            /// Waits until the pipe is ready for any of `interest`, and says for what.
            ///
            /// # Errors
            /// If the runtime has shut down, or the pipe cannot be registered.
            ///
            /// # Cancel safety
            /// Waiting takes nothing.
            pub async fn ready(
                &self,
                interest: $crate::io::Interest,
            ) -> std::io::Result<$crate::io::Ready> {
                self.io.ready(interest).await
            }

            /// Does `f`, a non-blocking operation on this pipe of the user's own, unless the pipe is
            /// known not to be ready. `f` must return `WouldBlock` only if the pipe did.
            ///
            /// # Errors
            /// `WouldBlock` without a call of `f` if the pipe is not ready; else what `f` returns.
            pub fn try_io<R>(&self, f: impl FnOnce() -> std::io::Result<R>) -> std::io::Result<R> {
                self.io.try_io($interest, |_| f())
            }

            /// Takes the descriptor out, in blocking mode.
            ///
            /// # Errors
            /// What the system says.
            pub fn into_blocking_fd(self) -> std::io::Result<std::os::fd::OwnedFd> {
                let fd = self.into_nonblocking_fd()?;
                super::set_nonblocking(&fd, false)?;
                Ok(fd)
            }

            /// Takes the descriptor out, in non-blocking mode.
            ///
            /// # Errors
            /// If an [owned](crate::io::AsyncReadOwned) read that was dropped has received bytes that
            /// nobody has read since; if an owned operation that was dropped still has the descriptor,
            /// and it cannot be duplicated.
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
