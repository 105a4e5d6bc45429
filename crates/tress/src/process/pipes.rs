//! The parent's ends of the pipes to the standard streams of a child.

use crate::io::source::Source;
use crate::io::{
    AsyncRead, AsyncReadOwned, AsyncWrite, AsyncWriteOwned, Buffer, BufferMut, MOST_BUFFERS,
    ReadBuf, owned, ring,
};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::pin::Pin;
use std::process::Stdio;
use std::task::{Context, Poll};
use tress_driver::{Direction, Interest};

/// Converts the return value of a system call.
fn result(n: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(n).map_err(|_| io::Error::last_os_error())
}

/// Repeats a call for as long as signals interrupt it.
fn again(mut f: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match f() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Reads into memory that need not be initialised, and returns the number of bytes that then are.
fn read(fd: &OwnedFd, room: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
    again(|| {
        let pointer = room.as_mut_ptr().cast();
        // SAFETY: the kernel writes no more than there is room for.
        result(unsafe { libc::read(fd.as_raw_fd(), pointer, room.len()) })
    })
}

fn write(fd: &OwnedFd, bytes: &[u8]) -> io::Result<usize> {
    again(|| {
        // SAFETY: the pointer and the length are those of a slice.
        result(unsafe { libc::write(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) })
    })
}

fn set_nonblocking(fd: &OwnedFd, nonblocking: bool) -> io::Result<()> {
    // SAFETY: an open descriptor and plain flags.
    let done = unsafe {
        let flags = libc::fcntl(fd.as_raw_fd(), libc::F_GETFL);
        let wanted = if nonblocking {
            flags | libc::O_NONBLOCK
        } else {
            flags & !libc::O_NONBLOCK
        };
        flags >= 0 && (wanted == flags || libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, wanted) >= 0)
    };
    if done {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

macro_rules! pipe {
    ($(#[$doc:meta])* $name:ident, $interest:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name(Source<OwnedFd>);

        impl $name {
            /// Converts a pipe of the standard library.
            ///
            /// The pipe is put into non-blocking mode.
            ///
            /// # Errors
            ///
            /// Any error of `fcntl(2)`, and of registering the pipe with the I/O driver.
            ///
            /// # Panics
            ///
            /// If called outside of a runtime, or in a runtime that was built without
            /// [`enable_io`](crate::runtime::Builder::enable_io).
            #[track_caller]
            pub fn from_std(inner: std::process::$name) -> io::Result<$name> {
                let fd = OwnedFd::from(inner);
                set_nonblocking(&fd, true)?;
                let what = "a pipe to a child process";
                Source::with_interest(fd, Interest::$interest, what).map($name)
            }

            /// Converts the pipe into its file descriptor, in blocking mode.
            ///
            /// # Errors
            ///
            /// - Any error of `fcntl(2)`.
            /// - A dropped [owned](crate::io::AsyncReadOwned) read has received bytes that were not read since.
            /// - A dropped owned operation still holds the descriptor, and it cannot be duplicated.
            pub fn into_owned_fd(self) -> io::Result<OwnedFd> {
                let fd = self.0.reclaim()?;
                set_nonblocking(&fd, false)?;
                Ok(fd)
            }
        }

        impl TryFrom<$name> for Stdio {
            type Error = io::Error;

            fn try_from(pipe: $name) -> io::Result<Stdio> {
                pipe.into_owned_fd().map(Stdio::from)
            }
        }

        impl AsFd for $name {
            fn as_fd(&self) -> BorrowedFd<'_> {
                self.0.get_ref().as_fd()
            }
        }

        impl AsRawFd for $name {
            fn as_raw_fd(&self) -> RawFd {
                self.0.get_ref().as_raw_fd()
            }
        }
    };
}

macro_rules! reader {
    ($name:ident) => {
        impl AsyncRead for $name {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                // SAFETY: reading initialises as many bytes as it says.
                unsafe { self.0.poll_read(cx, buf, read) }
            }
        }

        impl AsyncReadOwned for $name {
            async fn read_owned<B: BufferMut>(&mut self, buffer: B) -> (io::Result<usize>, B) {
                // SAFETY: reading initialises as many bytes as it says.
                unsafe { owned::fill(&self.0, buffer, ring::read, read) }.await
            }
        }
    };
}

pipe! {
    /// A pipe to the standard input of a child.
    ///
    /// Dropping it closes the pipe, and so ends the input of the child. `shutdown` does not close it.
    ///
    /// # Cancel safety
    ///
    /// A dropped [`write`](crate::io::AsyncWriteExt::write) has written nothing. A dropped
    /// [`write_owned`](AsyncWriteOwned::write_owned) may have written all of its bytes, some or none.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::process::Stdio;
    /// use tress::io::AsyncWriteExt;
    /// use tress::process::Command;
    ///
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut cat = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    /// let mut stdin = cat.stdin.take().unwrap();
    /// stdin.write_all(b"through the cat").await?;
    /// drop(stdin);
    /// assert_eq!(cat.wait_with_output().await?.stdout, b"through the cat");
    /// # Ok(())
    /// # }
    /// ```
    ChildStdin, WRITABLE
}

impl AsyncWrite for ChildStdin {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        // `from_std` accepts any descriptor: a write to a terminal is short also if a signal arrives.
        self.0.poll_io(cx, Direction::Write, |fd| write(fd, buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let count = bufs.len().min(MOST_BUFFERS) as libc::c_int;
        self.0.poll_io(cx, Direction::Write, |fd| {
            again(|| {
                // SAFETY: an `IoSlice` has the layout of an `iovec`, and `count` of them exist.
                result(unsafe { libc::writev(fd.as_raw_fd(), bufs.as_ptr().cast(), count) })
            })
        })
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl AsyncWriteOwned for ChildStdin {
    async fn write_owned<B: Buffer>(&mut self, buffer: B) -> (io::Result<usize>, B) {
        owned::empty(&self.0, buffer, ring::write, write).await
    }
}

pipe! {
    /// A pipe from the standard output of a child.
    ///
    /// Reads return 0 bytes once the child, and every process that inherited the other end, has closed it.
    ///
    /// # Cancel safety
    ///
    /// Dropping a read loses no bytes: the next read returns them.
    ///
    /// # Examples
    ///
    /// Connecting the output of one child to the input of another:
    ///
    /// ```
    /// use std::process::Stdio;
    /// use tress::process::Command;
    ///
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut echo = Command::new("echo").arg("hello").stdout(Stdio::piped()).spawn()?;
    /// let pipe: Stdio = echo.stdout.take().unwrap().try_into()?;
    /// let output = Command::new("cat").stdin(pipe).output().await?;
    /// assert_eq!(output.stdout, b"hello\n");
    /// echo.wait().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Reading the output of a child:
    ///
    /// ```
    /// use std::process::Stdio;
    /// use tress::io::AsyncReadExt;
    /// use tress::process::Command;
    ///
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut echo = Command::new("echo").arg("hello").stdout(Stdio::piped()).spawn()?;
    /// let mut text = String::new();
    /// echo.stdout.take().unwrap().read_to_string(&mut text).await?;
    /// assert_eq!(text, "hello\n");
    /// echo.wait().await?;
    /// # Ok(())
    /// # }
    /// ```
    ChildStdout, READABLE
}

reader!(ChildStdout);

pipe! {
    /// A pipe from the standard error of a child.
    ///
    /// It behaves as [`ChildStdout`] does.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::process::Stdio;
    /// use tress::io::AsyncReadExt;
    /// use tress::process::Command;
    ///
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut command = Command::new("sh");
    /// let mut child = command.args(["-c", "echo oh >&2"]).stderr(Stdio::piped()).spawn()?;
    /// let mut text = String::new();
    /// child.stderr.take().unwrap().read_to_string(&mut text).await?;
    /// assert_eq!(text, "oh\n");
    /// child.wait().await?;
    /// # Ok(())
    /// # }
    /// ```
    ChildStderr, READABLE
}

reader!(ChildStderr);
