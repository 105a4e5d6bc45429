//! Sockets: TCP, UDP, Unix domain; pipes; names.
//!
//! | to … | use |
//! |---|---|
//! | serve or make TCP connections | [`TcpListener`], [`TcpStream`]; with options set before, [`TcpSocket`] |
//! | send and receive datagrams | [`UdpSocket`] |
//! | talk to another process on this machine | `UnixListener`, `UnixStream`, `UnixDatagram`, `UnixSeqpacket`, `unix::pipe`; on Windows `windows::named_pipe` |
//! | read streams without asking the kernel each time | [`Pooled`] |
//! | turn a name into addresses | [`lookup_host`] |
//!
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
//!
//! # How it works
//! Every operation is tried at once. Only one that would block registers its socket with the I/O driver
//! of the worker it is on, and waits there; a signal that interrupts a system call is not noticed
//! outside. What a socket is made in, it belongs to: when that runtime shuts down, those who wait get an
//! error.

mod addr;
mod halves;
mod messages;
mod options;
mod patience;
pub(crate) mod pooled;
mod readiness;
pub mod tcp;
pub mod udp;
#[cfg(unix)]
pub mod unix;
#[cfg(windows)]
pub mod windows;

pub use addr::{ToSocketAddrs, lookup_host};
pub use pooled::{Pooled, PooledBuf, PooledSource};
#[doc(inline)]
pub use tcp::{TcpListener, TcpSocket, TcpStream};
#[doc(inline)]
pub use udp::UdpSocket;
#[cfg(unix)]
#[doc(inline)]
pub use unix::{UnixDatagram, UnixListener, UnixSocket, UnixStream};
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
#[doc(inline)]
pub use unix::{UnixSeqpacket, UnixSeqpacketListener};
