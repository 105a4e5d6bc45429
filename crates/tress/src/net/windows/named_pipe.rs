//! Named pipes: connections between processes, made through a name.
//!
//! - [`ServerOptions`] creates a [`NamedPipeServer`], the server's end of an instance of a pipe.
//! - [`ClientOptions`] opens a [`NamedPipeClient`], the client's end.
//! - [`PipeInfo`], [`PipeMode`] and [`PipeEnd`] describe a pipe.
//!
//! A server creates an *instance* of the pipe and waits until a client has connected to it. An instance
//! serves one client at a time, so a server for several clients creates the next instance before it serves
//! the client that has connected. A client that finds all instances in use gets `ERROR_PIPE_BUSY`.
//!
//! Reads go through a buffer of the I/O driver, which reads ahead. Writes are copied, and are under way
//! when they return. Dropping an end does not revoke what was written.
//!
//! # Examples
//! ```no_run
//! use tress::io::{AsyncReadExt, AsyncWriteExt};
//! use tress::net::windows::named_pipe::{ClientOptions, ServerOptions};
//!
//! # #[tress::main]
//! # async fn main() -> std::io::Result<()> {
//! let name = r"\\.\pipe\greetings";
//! let mut server = ServerOptions::new().first_pipe_instance(true).create(name)?;
//! let client = tress::spawn(async move {
//!     let mut client = ClientOptions::new().open(name)?;
//!     let mut text = String::new();
//!     client.read_to_string(&mut text).await?;
//!     Ok::<_, std::io::Error>(text)
//! });
//!
//! server.connect().await?;
//! server.write_all(b"hello").await?;
//! drop(server);
//! assert_eq!(client.await.unwrap()?, "hello");
//! # Ok(())
//! # }
//! ```

mod client;
mod client_options;
mod server;
mod server_options;

pub use client::NamedPipeClient;
pub use client_options::ClientOptions;
pub use server::NamedPipeServer;
pub use server_options::ServerOptions;

use std::ffi::OsStr;
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::io::{AsRawHandle, BorrowedHandle, HandleOrInvalid, OwnedHandle};
use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::System::Pipes::{GetNamedPipeInfo, PIPE_SERVER_END, PIPE_TYPE_MESSAGE};

/// What a pipe carries.
///
/// # Examples
/// ```no_run
/// use tress::net::windows::named_pipe::{PipeMode, ServerOptions};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let server = ServerOptions::new()
///     .pipe_mode(PipeMode::Message)
///     .create(r"\\.\pipe\greetings")?;
/// assert_eq!(server.info()?.mode, PipeMode::Message);
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum PipeMode {
    /// A stream of bytes, regardless of how they were written.
    Byte,
    /// Messages: the bytes of each write are kept apart from others.
    Message,
}

/// One of the two ends of a pipe.
///
/// # Examples
/// ```no_run
/// use tress::net::windows::named_pipe::{PipeEnd, ServerOptions};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let server = ServerOptions::new().create(r"\\.\pipe\greetings")?;
/// assert_eq!(server.info()?.end, PipeEnd::Server);
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum PipeEnd {
    /// The end that was opened by its name.
    Client,
    /// The end that was created with the instance.
    Server,
}

/// Properties of a pipe, returned by [`NamedPipeServer::info`] and [`NamedPipeClient::info`].
///
/// # Examples
/// ```no_run
/// use tress::net::windows::named_pipe::{PipeInfo, ServerOptions};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let server = ServerOptions::new().max_instances(4).create(r"\\.\pipe\greetings")?;
/// let info: PipeInfo = server.info()?;
/// assert_eq!(info.max_instances, 4);
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PipeInfo {
    /// What the pipe carries.
    pub mode: PipeMode,
    /// The end that was asked.
    pub end: PipeEnd,
    /// Maximum number of instances; 255 stands for any number.
    pub max_instances: u32,
    /// Size of the buffer for bytes that the server writes.
    pub out_buffer_size: u32,
    /// Size of the buffer for bytes that the server reads.
    pub in_buffer_size: u32,
}

fn info(pipe: BorrowedHandle<'_>) -> io::Result<PipeInfo> {
    let (mut flags, mut out, mut into, mut instances) = (0, 0, 0, 0);
    // SAFETY: an open handle, and room for four numbers.
    let done = unsafe {
        GetNamedPipeInfo(
            pipe.as_raw_handle(),
            &raw mut flags,
            &raw mut out,
            &raw mut into,
            &raw mut instances,
        )
    };
    if done == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(PipeInfo {
        mode: match flags & PIPE_TYPE_MESSAGE {
            0 => PipeMode::Byte,
            _ => PipeMode::Message,
        },
        end: match flags & PIPE_SERVER_END {
            0 => PipeEnd::Client,
            _ => PipeEnd::Server,
        },
        max_instances: instances,
        out_buffer_size: out,
        in_buffer_size: into,
    })
}

/// Converts a name to the system's form.
fn name(addr: &OsStr) -> io::Result<Vec<u16>> {
    let mut name: Vec<u16> = addr.encode_wide().collect();
    if name.contains(&0) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the name of a pipe has no NUL in it",
        ));
    }
    name.push(0);
    Ok(name)
}

/// Converts the return value of a function that creates handles.
///
/// # Safety
/// If it is a handle, it is open and has no other owner.
unsafe fn made(handle: HANDLE) -> io::Result<OwnedHandle> {
    // The error is read first, before any other call can change it.
    let error = io::Error::last_os_error();
    // SAFETY: by the caller's promise.
    let handle = unsafe { HandleOrInvalid::from_raw_handle(handle) };
    OwnedHandle::try_from(handle).map_err(|_| error)
}

/// Implements what both ends have.
macro_rules! end {
    ($End:ident) => {
        impl $End {
            /// Creates this end of a pipe from a handle that was opened for overlapped operations.
            ///
            /// # Errors
            /// Any error of registering the handle, for example that it is not such a handle or is in use
            /// elsewhere; or that the runtime has shut down.
            ///
            /// # Panics
            /// Panics if there is no current runtime, or it was built without I/O.
            ///
            /// # Safety
            /// The handle must be an open handle to a pipe, and nothing else may close it.
            ///
            /// # Examples
            /// With the client's end:
            /// ```no_run
            /// use std::fs::OpenOptions;
            /// use std::os::windows::fs::OpenOptionsExt;
            /// use std::os::windows::io::IntoRawHandle;
            /// use tress::net::windows::named_pipe::NamedPipeClient;
            ///
            /// const FILE_FLAG_OVERLAPPED: u32 = 0x4000_0000;
            ///
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            /// let file = OpenOptions::new()
            ///     .read(true)
            ///     .write(true)
            ///     .custom_flags(FILE_FLAG_OVERLAPPED)
            ///     .open(r"\\.\pipe\greetings")?;
            /// // SAFETY: the handle of an open pipe, which the file has given away.
            /// let client = unsafe { NamedPipeClient::from_raw_handle(file.into_raw_handle()) }?;
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            #[track_caller]
            pub unsafe fn from_raw_handle(
                handle: std::os::windows::io::RawHandle,
            ) -> std::io::Result<$End> {
                // SAFETY: by the caller's promise.
                let pipe = unsafe {
                    <mio::windows::NamedPipe as std::os::windows::io::FromRawHandle>::from_raw_handle(
                        handle,
                    )
                };
                let io = $crate::io::source::Source::new(pipe, stringify!($End))?;
                Ok($End { io })
            }

            #[track_caller]
            pub(super) fn new(handle: std::os::windows::io::OwnedHandle) -> std::io::Result<$End> {
                // SAFETY: it is ours to give away.
                unsafe {
                    $End::from_raw_handle(std::os::windows::io::IntoRawHandle::into_raw_handle(
                        handle,
                    ))
                }
            }

            /// Returns properties of the pipe.
            ///
            /// # Errors
            /// Any error of `GetNamedPipeInfo`.
            ///
            /// # Examples
            /// ```no_run
            /// use tress::net::windows::named_pipe::ClientOptions;
            ///
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            /// let client = ClientOptions::new().open(r"\\.\pipe\greetings")?;
            /// println!("{:?}", client.info()?.mode);
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            pub fn info(&self) -> std::io::Result<super::PipeInfo> {
                super::info(std::os::windows::io::AsHandle::as_handle(self))
            }

            $crate::net::readiness::waiting_methods!();
            $crate::net::readiness::polling_methods!();

            /// Attempts to read into `buf`, without waiting, and returns how many bytes were read.
            ///
            /// A return value of 0 means that the pipe is at its end, or that `buf` is empty.
            ///
            /// # Errors
            /// [`WouldBlock`](std::io::ErrorKind::WouldBlock) if there is nothing to read; otherwise any
            /// error of `ReadFile`.
            ///
            /// # Examples
            /// ```no_run
            /// use tress::io::ErrorKind;
            /// use tress::net::windows::named_pipe::ClientOptions;
            ///
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            /// let client = ClientOptions::new().open(r"\\.\pipe\greetings")?;
            /// let mut buf = [0; 64];
            /// client.readable().await?;
            /// match client.try_read(&mut buf) {
            ///     Ok(n) => println!("{n} bytes"),
            ///     Err(error) if error.kind() == ErrorKind::WouldBlock => println!("not yet"),
            ///     Err(error) => return Err(error),
            /// }
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            pub fn try_read(&self, buf: &mut [u8]) -> std::io::Result<usize> {
                self.io.try_io($crate::io::Interest::READABLE, |mut pipe| {
                    std::io::Read::read(&mut pipe, buf)
                })
            }

            /// Attempts to read into the first of several buffers that has room, without waiting.
            ///
            /// # Errors
            /// See [`try_read`](Self::try_read).
            ///
            /// # Examples
            /// ```no_run
            /// use std::io::IoSliceMut;
            /// use tress::net::windows::named_pipe::ClientOptions;
            ///
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            /// let client = ClientOptions::new().open(r"\\.\pipe\greetings")?;
            /// let mut buf = [0; 64];
            /// client.readable().await?;
            /// let n = client.try_read_vectored(&mut [IoSliceMut::new(&mut buf)])?;
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            pub fn try_read_vectored(
                &self,
                bufs: &mut [std::io::IoSliceMut<'_>],
            ) -> std::io::Result<usize> {
                self.io.try_io($crate::io::Interest::READABLE, |mut pipe| {
                    std::io::Read::read_vectored(&mut pipe, bufs)
                })
            }

            /// Attempts to read into `buf`, behind what is in it, without waiting, and returns how many
            /// bytes were read.
            ///
            /// # Errors
            /// See [`try_read`](Self::try_read).
            ///
            /// # Examples
            /// ```no_run
            /// use tress::net::windows::named_pipe::ClientOptions;
            ///
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            /// let client = ClientOptions::new().open(r"\\.\pipe\greetings")?;
            /// let mut buf = Vec::with_capacity(64);
            /// client.readable().await?;
            /// client.try_read_buf(&mut buf)?;
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            #[cfg(feature = "bytes")]
            pub fn try_read_buf<B: bytes::BufMut>(&self, buf: &mut B) -> std::io::Result<usize> {
                self.io.try_io($crate::io::Interest::READABLE, |mut pipe| {
                    let read = |room: &mut [std::mem::MaybeUninit<u8>]| {
                        room.fill(std::mem::MaybeUninit::new(0));
                        // SAFETY: it is initialized, now.
                        let room = unsafe { &mut *(&raw mut *room as *mut [u8]) };
                        std::io::Read::read(&mut pipe, room)
                    };
                    // SAFETY: all of the room was initialized.
                    unsafe { $crate::net::transfer::fill(buf, read) }
                })
            }

            /// Attempts to write from `buf`, without waiting, and returns how many bytes were written.
            ///
            /// # Errors
            /// [`WouldBlock`](std::io::ErrorKind::WouldBlock) if the write before is still under way;
            /// otherwise any error of `WriteFile`, which may be that of the write before.
            ///
            /// # Examples
            /// ```no_run
            /// use tress::io::ErrorKind;
            /// use tress::net::windows::named_pipe::ClientOptions;
            ///
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            /// let client = ClientOptions::new().open(r"\\.\pipe\greetings")?;
            /// client.writable().await?;
            /// match client.try_write(b"hello") {
            ///     Ok(n) => println!("{n} bytes"),
            ///     Err(error) if error.kind() == ErrorKind::WouldBlock => println!("not yet"),
            ///     Err(error) => return Err(error),
            /// }
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            pub fn try_write(&self, buf: &[u8]) -> std::io::Result<usize> {
                self.io.try_io($crate::io::Interest::WRITABLE, |mut pipe| {
                    std::io::Write::write(&mut pipe, buf)
                })
            }

            /// Attempts to write the first of several buffers that is not empty, without waiting.
            ///
            /// # Errors
            /// See [`try_write`](Self::try_write).
            ///
            /// # Examples
            /// ```no_run
            /// use std::io::IoSlice;
            /// use tress::net::windows::named_pipe::ClientOptions;
            ///
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            /// let client = ClientOptions::new().open(r"\\.\pipe\greetings")?;
            /// client.writable().await?;
            /// let n = client.try_write_vectored(&[IoSlice::new(b"hello")])?;
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            pub fn try_write_vectored(&self, buf: &[std::io::IoSlice<'_>]) -> std::io::Result<usize> {
                self.io.try_io($crate::io::Interest::WRITABLE, |mut pipe| {
                    std::io::Write::write_vectored(&mut pipe, buf)
                })
            }

            /// Performs a non-blocking operation of the caller on this pipe, unless the pipe is known not
            /// to be ready for it.
            ///
            /// If `f` returns [`WouldBlock`](std::io::ErrorKind::WouldBlock), the readiness is cleared: it
            /// must return that error only if the pipe did.
            ///
            /// # Errors
            /// `WouldBlock`, without a call of `f`, if the pipe is not ready; otherwise the error of `f`.
            ///
            /// # Examples
            /// ```no_run
            /// use tress::io::Interest;
            /// use tress::net::windows::named_pipe::ClientOptions;
            ///
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            /// let client = ClientOptions::new().open(r"\\.\pipe\greetings")?;
            /// client.writable().await?;
            /// // Any operation on the handle that does not block.
            /// let end = client.try_io(Interest::WRITABLE, || client.info())?.end;
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            pub fn try_io<R>(
                &self,
                interest: $crate::io::Interest,
                f: impl FnOnce() -> std::io::Result<R>,
            ) -> std::io::Result<R> {
                self.io.try_io(interest, |_| f())
            }

            /// Performs a non-blocking operation of the caller on this pipe, and waits for `interest`
            /// whenever it would block.
            ///
            /// # Errors
            /// The error of `f`, or an error of [`ready`](Self::ready).
            ///
            /// # Cancel safety
            /// This method is cancel safe: a result of `f` other than `WouldBlock` is returned by the same
            /// poll, so dropping the future loses none.
            ///
            /// # Examples
            /// ```no_run
            /// use tress::io::Interest;
            /// use tress::net::windows::named_pipe::ClientOptions;
            ///
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            /// let client = ClientOptions::new().open(r"\\.\pipe\greetings")?;
            /// // Any operation on the handle that does not block.
            /// let end = client.async_io(Interest::WRITABLE, || client.info()).await?.end;
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            pub async fn async_io<R>(
                &self,
                interest: $crate::io::Interest,
                mut f: impl FnMut() -> std::io::Result<R>,
            ) -> std::io::Result<R> {
                self.io.io(interest, |_| f()).await
            }
        }

        impl $crate::io::AsyncRead for $End {
            fn poll_read(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                buf: &mut $crate::io::ReadBuf<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                let room = buf.initialize_unfilled();
                let read = tress_driver::Direction::Read;
                let n = std::task::ready!(self.io.poll_io(cx, read, |mut pipe| {
                    std::io::Read::read(&mut pipe, room)
                }))?;
                buf.advance(n);
                std::task::Poll::Ready(Ok(()))
            }
        }

        impl $crate::io::AsyncWrite for $End {
            fn poll_write(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                buf: &[u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                let write = tress_driver::Direction::Write;
                self.io.poll_io(cx, write, |mut pipe| {
                    std::io::Write::write(&mut pipe, buf)
                })
            }

            /// Does nothing, because what was written is under way.
            fn poll_flush(
                self: std::pin::Pin<&mut Self>,
                _: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                std::task::Poll::Ready(Ok(()))
            }

            /// Does nothing, because a pipe cannot be shut down in one direction: the peer sees the end
            /// when this end is dropped.
            fn poll_shutdown(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                self.poll_flush(cx)
            }
        }

        impl std::os::windows::io::AsRawHandle for $End {
            fn as_raw_handle(&self) -> std::os::windows::io::RawHandle {
                self.io.get_ref().as_raw_handle()
            }
        }

        impl std::os::windows::io::AsHandle for $End {
            fn as_handle(&self) -> std::os::windows::io::BorrowedHandle<'_> {
                // SAFETY: it is open for as long as `self` is there.
                unsafe {
                    std::os::windows::io::BorrowedHandle::borrow_raw(
                        std::os::windows::io::AsRawHandle::as_raw_handle(self),
                    )
                }
            }
        }
    };
}

use end;
