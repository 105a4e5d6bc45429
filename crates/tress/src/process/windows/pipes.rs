//! The parent's ends of the pipes to the standard streams of a child.
//!
//! Whether the standard library opens them for overlapped operations is not documented. Its own blocking
//! reads and writes are therefore used, on the blocking pool, one at a time.

use crate::io::offload::{Input, Output};
use crate::io::{AsyncRead, AsyncWrite, ReadBuf};
use crate::runtime::driver::IoHandle;
use crate::sys::plain::Mutex;
use std::io::{self, Read, Write};
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, OwnedHandle, RawHandle};
use std::pin::Pin;
use std::process::Stdio;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A pipe of the standard library, shared with jobs of the blocking pool.
#[derive(Debug)]
struct Shared<T> {
    pipe: Arc<Mutex<T>>,
    /// The handle of the pipe, readable while a job has locked it.
    handle: Handle,
}

#[derive(Clone, Copy, Debug)]
struct Handle(RawHandle);

// SAFETY: a handle is a number that any thread may pass to the system.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl<T: AsRawHandle> Shared<T> {
    fn new(pipe: T) -> Shared<T> {
        let handle = Handle(pipe.as_raw_handle());
        Shared {
            pipe: Arc::new(Mutex::new(pipe)),
            handle,
        }
    }

    fn borrow(&self) -> BorrowedHandle<'_> {
        // SAFETY: the handle is closed with the pipe, which lives as long as `self`.
        unsafe { BorrowedHandle::borrow_raw(self.handle.0) }
    }

    fn into_std(self) -> io::Result<T> {
        let pipe = Arc::try_unwrap(self.pipe).map_err(|_| {
            io::Error::new(
                io::ErrorKind::ResourceBusy,
                "the pipe is in use: await its last read, or flush it, first",
            )
        })?;
        Ok(pipe.into_inner())
    }
}

/// A pipe on a thread of the blocking pool.
struct Lent<T>(Arc<Mutex<T>>);

impl<T: Read> Read for Lent<T> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let mut pipe = self.0.lock();
        pipe.read(buf)
    }
}

impl<T: Write> Write for Lent<T> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let mut pipe = self.0.lock();
        pipe.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut pipe = self.0.lock();
        pipe.flush()
    }
}

macro_rules! pipe {
    ($(#[$doc:meta])* $name:ident, $side:ident: $Side:ty) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name {
            shared: Shared<std::process::$name>,
            $side: $Side,
        }

        impl $name {
            /// Converts a pipe of the standard library.
            ///
            /// # Errors
            ///
            /// None at present.
            ///
            /// # Panics
            ///
            /// If called outside of a runtime, or in a runtime that was built without
            /// [`enable_io`](crate::runtime::Builder::enable_io).
            #[track_caller]
            pub fn from_std(inner: std::process::$name) -> io::Result<$name> {
                IoHandle::current("a pipe to a child process");
                Ok($name {
                    shared: Shared::new(inner),
                    $side: <$Side>::default(),
                })
            }

            /// Returns a duplicate of the handle.
            ///
            /// The original is closed when the last operation that was started has ended. Bytes that were read
            /// ahead are lost.
            ///
            /// # Errors
            ///
            /// Any error of `DuplicateHandle`.
            pub fn into_owned_handle(self) -> io::Result<OwnedHandle> {
                self.shared.borrow().try_clone_to_owned()
            }
        }

        /// Converts the pipe into a standard stream of another child.
        ///
        /// Fails with `ResourceBusy` while an operation is in progress.
        impl TryFrom<$name> for Stdio {
            type Error = io::Error;

            fn try_from(pipe: $name) -> io::Result<Stdio> {
                pipe.shared.into_std().map(Stdio::from)
            }
        }

        impl AsHandle for $name {
            fn as_handle(&self) -> BorrowedHandle<'_> {
                self.shared.borrow()
            }
        }

        impl AsRawHandle for $name {
            fn as_raw_handle(&self) -> RawHandle {
                self.shared.handle.0
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
                let this = self.get_mut();
                let lent = Lent(this.shared.pipe.clone());
                this.input.poll_read(cx, buf, move || lent)
            }
        }
    };
}

pipe! {
    /// A pipe to the standard input of a child.
    ///
    /// Dropping it closes the pipe, and so ends the input of the child.
    ///
    /// A write completes when its bytes have been handed to the blocking pool, which writes them even if
    /// the pipe is dropped. Its error is returned by the next operation.
    ///
    /// # Cancel safety
    ///
    /// A dropped write has written nothing.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use std::process::Stdio;
    /// use tress::io::AsyncWriteExt;
    /// use tress::process::Command;
    ///
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut sort = Command::new("sort").stdin(Stdio::piped()).spawn()?;
    /// let mut stdin = sort.stdin.take().unwrap();
    /// stdin.write_all(b"two\r\none\r\n").await?;
    /// drop(stdin);
    /// sort.wait().await?;
    /// # Ok(())
    /// # }
    /// ```
    ChildStdin, output: Output
}

impl AsyncWrite for ChildStdin {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let lent = Lent(this.shared.pipe.clone());
        this.output.poll_write(cx, buf, move || lent)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let lent = Lent(this.shared.pipe.clone());
        this.output.poll_flush(cx, move || lent)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}

pipe! {
    /// A pipe from the standard output of a child.
    ///
    /// # Cancel safety
    ///
    /// Dropping a read loses no bytes: the next read returns them.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use std::process::Stdio;
    /// use tress::io::AsyncReadExt;
    /// use tress::process::Command;
    ///
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut hostname = Command::new("hostname").stdout(Stdio::piped()).spawn()?;
    /// let mut text = String::new();
    /// hostname.stdout.take().unwrap().read_to_string(&mut text).await?;
    /// hostname.wait().await?;
    /// # Ok(())
    /// # }
    /// ```
    ChildStdout, input: Input
}

reader!(ChildStdout);

pipe! {
    /// A pipe from the standard error of a child.
    ///
    /// It behaves as [`ChildStdout`] does.
    ChildStderr, input: Input
}

reader!(ChildStderr);
