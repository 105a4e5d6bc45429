//! Named pipes: connections between processes, made through a name.
//!
//! A server makes an *instance* of the pipe and waits until a client has connected to it. An instance
//! serves one client at a time, so a server that wants several makes the next instance before it turns to
//! the client it has; a client that finds all instances taken is told `ERROR_PIPE_BUSY`.
//!
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
//!
//! What is read comes through a buffer of the I/O driver, which reads ahead; what is written is copied, and
//! is on its way when the write returns. Dropping an end does not take back what was written.

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum PipeMode {
    /// Bytes, one after the other, however they were written.
    Byte,
    /// What each write has written, apart from what others have.
    Message,
}

/// One of the two ends of a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum PipeEnd {
    /// The one that was opened by its name.
    Client,
    /// The one that was made with the instance.
    Server,
}

/// What the system knows about a pipe; see [`NamedPipeServer::info`] and [`NamedPipeClient::info`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PipeInfo {
    /// What it carries.
    pub mode: PipeMode,
    /// Which end was asked.
    pub end: PipeEnd,
    /// How many instances there may be; 255 stands for any number.
    pub max_instances: u32,
    /// The size of the buffer for what the server writes.
    pub out_buffer_size: u32,
    /// The size of the buffer for what the server reads.
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

/// A name as the system wants it.
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

/// What a function that makes handles has returned.
///
/// # Safety
/// If it is a handle, it is open and nobody else's.
unsafe fn made(handle: HANDLE) -> io::Result<OwnedHandle> {
    // The error first: nothing may come in between.
    let error = io::Error::last_os_error();
    // SAFETY: by the caller's promise.
    let handle = unsafe { HandleOrInvalid::from_raw_handle(handle) };
    OwnedHandle::try_from(handle).map_err(|_| error)
}

/// What both ends have.
macro_rules! end {
    ($End:ident) => {
        impl $End {
            /// Takes over a handle of this end of a pipe, which was opened for overlapped operations.
            ///
            /// # Errors
            /// If it is no such handle, or is in use elsewhere: what the system says.
            ///
            /// # Panics
            /// If there is no current runtime, or it was built without I/O.
            ///
            /// # Safety
            /// The handle is open, of a pipe, and nobody else closes it.
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

            /// What the system knows about the pipe.
            ///
            /// # Errors
            /// What the system says.
            pub fn info(&self) -> std::io::Result<super::PipeInfo> {
                super::info(std::os::windows::io::AsHandle::as_handle(self))
            }

            $crate::net::readiness::waiting_methods!();
            $crate::net::readiness::polling_methods!();

            /// Reads what there is, without waiting. 0 is the end, or an empty buffer.
            ///
            /// # Errors
            /// `WouldBlock` if there is nothing; else what the system says.
            pub fn try_read(&self, buf: &mut [u8]) -> std::io::Result<usize> {
                self.io.try_io($crate::io::Interest::READABLE, |mut pipe| {
                    std::io::Read::read(&mut pipe, buf)
                })
            }

            /// Reads what there is into the first of several buffers that has room.
            ///
            /// # Errors
            /// As for [`try_read`](Self::try_read).
            pub fn try_read_vectored(
                &self,
                bufs: &mut [std::io::IoSliceMut<'_>],
            ) -> std::io::Result<usize> {
                self.io.try_io($crate::io::Interest::READABLE, |mut pipe| {
                    std::io::Read::read_vectored(&mut pipe, bufs)
                })
            }

            /// Reads what there is into a buffer that grows or keeps its place by itself.
            ///
            /// # Errors
            /// As for [`try_read`](Self::try_read).
            #[cfg(feature = "bytes")]
            pub fn try_read_buf<B: bytes::BufMut>(&self, buf: &mut B) -> std::io::Result<usize> {
                self.io.try_io($crate::io::Interest::READABLE, |mut pipe| {
                    let read = |room: &mut [std::mem::MaybeUninit<u8>]| {
                        room.fill(std::mem::MaybeUninit::new(0));
                        // SAFETY: it is initialised, now.
                        let room = unsafe { &mut *(&raw mut *room as *mut [u8]) };
                        std::io::Read::read(&mut pipe, room)
                    };
                    // SAFETY: all of the room was initialised.
                    unsafe { $crate::net::readiness::fill(buf, read) }
                })
            }

            /// Writes, without waiting, and says how much that was.
            ///
            /// # Errors
            /// `WouldBlock` if the write before is still under way; else what the system says, which may
            /// be about that write.
            pub fn try_write(&self, buf: &[u8]) -> std::io::Result<usize> {
                self.io.try_io($crate::io::Interest::WRITABLE, |mut pipe| {
                    std::io::Write::write(&mut pipe, buf)
                })
            }

            /// Writes the first of several buffers that has something in it.
            ///
            /// # Errors
            /// As for [`try_write`](Self::try_write).
            pub fn try_write_vectored(&self, buf: &[std::io::IoSlice<'_>]) -> std::io::Result<usize> {
                self.io.try_io($crate::io::Interest::WRITABLE, |mut pipe| {
                    std::io::Write::write_vectored(&mut pipe, buf)
                })
            }

            /// Does `f`, a non-blocking operation on this pipe of the user's own, unless the pipe is
            /// known not to be ready for it. `f` must return `WouldBlock` only if the pipe did.
            ///
            /// # Errors
            /// `WouldBlock` without a call of `f` if the pipe is not ready; else what `f` returns.
            pub fn try_io<R>(
                &self,
                interest: $crate::io::Interest,
                f: impl FnOnce() -> std::io::Result<R>,
            ) -> std::io::Result<R> {
                self.io.try_io(interest, |_| f())
            }

            /// Does `f`, a non-blocking operation on this pipe of the user's own, until it would not
            /// block, and waits for `interest` in between.
            ///
            /// # Errors
            /// As for [`ready`](Self::ready); else what `f` returns.
            ///
            /// # Cancel safety
            /// The result of `f`, unless it would have blocked, is returned by the same poll: dropping
            /// the future loses nothing.
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

            /// Nothing is kept back.
            fn poll_flush(
                self: std::pin::Pin<&mut Self>,
                _: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                std::task::Poll::Ready(Ok(()))
            }

            /// A pipe has no end of one side: the other finds it when this one is dropped.
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
