//! TCP, UDP and Unix sockets, pipes, and the lookup of host names.
//!
//! This module is the asynchronous counterpart of [`std::net`] and of `std::os::unix::net`. The types have
//! the names and methods of Tokio's.
//!
//! # What is here
//! | to … | use |
//! |---|---|
//! | accept TCP connections | [`TcpListener`] |
//! | connect by TCP | [`TcpStream`] |
//! | set options before a TCP socket connects or listens | [`TcpSocket`] |
//! | send and receive datagrams | [`UdpSocket`] |
//! | connect processes of one machine (Unix) | `UnixListener`, `UnixStream`; `UnixSocket` to bind first |
//! | send datagrams on one machine (Unix) | `UnixDatagram` |
//! | exchange messages on one machine, in order (Linux, Android, FreeBSD) | `UnixSeqpacket`, `UnixSeqpacketListener` |
//! | use pipes and named pipes (Unix) | the module `unix::pipe` |
//! | use named pipes (Windows) | the module `windows::named_pipe` |
//! | receive into a pool of buffers that all connections share | [`Pooled`] |
//! | look up the addresses of a host | [`lookup_host`], [`ToSocketAddrs`] |
//!
//! # How to choose
//! - Streams are read and written by the methods of [`AsyncReadExt`](crate::io::AsyncReadExt) and
//!   [`AsyncWriteExt`](crate::io::AsyncWriteExt).
//! - To read and write one stream at the same time, use its method `split` within one task, or `into_split`
//!   for two tasks.
//! - Programs with many connections that are idle most of the time save memory by [`Pooled`]: a connection
//!   that waits has no buffer.
//! - The methods `readable`, `writable` and `try_…` are for code that has to manage readiness itself. Most
//!   programs do not need them.
//!
//! # Runtime
//! A socket belongs to the runtime in which it was created or accepted, which must have I/O enabled. When
//! that runtime shuts down, operations that wait end with an error.
//!
//! Every operation is tried at once. If it would block, its socket is registered with the I/O driver of the
//! worker that runs the task, and the task waits. A system call that is interrupted by a signal is made
//! again.
//!
//! # Examples
//! An echo server and its client:
//! ```
//! use tress::io::{AsyncReadExt, AsyncWriteExt};
//! use tress::net::{TcpListener, TcpStream};
//!
//! # tress::runtime::Runtime::new().unwrap().block_on(async {
//! let listener = TcpListener::bind("127.0.0.1:0").await?;
//! let address = listener.local_addr()?;
//! let server = tress::spawn(async move {
//!     let (mut stream, _peer) = listener.accept().await?;
//!     let (mut reader, mut writer) = stream.split();
//!     tress::io::copy(&mut reader, &mut writer).await
//! });
//!
//! let mut stream = TcpStream::connect(address).await?;
//! stream.write_all(b"hello").await?;
//! stream.shutdown().await?;
//! let mut echo = String::new();
//! stream.read_to_string(&mut echo).await?;
//! assert_eq!(echo, "hello");
//! assert_eq!(server.await.unwrap()?, 5);
//! # Ok::<(), std::io::Error>(()) }).unwrap();
//! ```

mod addr;
mod conversion;
mod halves;
mod messages;
mod options;
mod patience;
#[cfg(feature = "pooled")]
pub(crate) mod pooled;
mod readiness;
pub mod tcp;
mod transfer;
pub mod udp;
#[cfg(unix)]
pub mod unix;
#[cfg(windows)]
pub mod windows;

pub use addr::{ToSocketAddrs, lookup_host};
#[cfg(feature = "pooled")]
pub use pooled::{Pooled, PooledBuf, PooledSource};
#[doc(inline)]
pub use tcp::{TcpListener, TcpSocket, TcpStream};
#[doc(inline)]
pub use udp::UdpSocket;
#[cfg(unix)]
#[doc(inline)]
pub use unix::{UnixDatagram, UnixListener, UnixSocket, UnixStream};
#[cfg(all(
    feature = "extra",
    any(target_os = "linux", target_os = "android", target_os = "freebsd")
))]
#[doc(inline)]
pub use unix::{UnixSeqpacket, UnixSeqpacketListener};
