//! Sockets and pipes between processes of one machine.
//!
//! | to … | use |
//! |---|---|
//! | have a stream of bytes in both directions | [`UnixStream`], accepted by a [`UnixListener`] |
//! | bind a socket before it connects or listens | [`UnixSocket`] |
//! | send datagrams | [`UnixDatagram`] |
//! | have a connection that keeps messages apart | `UnixSeqpacket`, accepted by a `UnixSeqpacketListener` (Linux, Android, FreeBSD) |
//! | have a stream of bytes in one direction, also through a named pipe | the module [`pipe`] |
//! | use the two directions of a stream separately | [`ReadHalf`] and [`WriteHalf`] in one task, [`OwnedReadHalf`] and [`OwnedWriteHalf`] in two |
//! | know an address, or the user of the peer | [`SocketAddr`], [`UCred`] |
//!
//! The sockets are also in [`net`](crate::net). Their addresses are paths in the file system. On Linux and
//! Android, a path that begins with a zero byte is a name in the abstract namespace, which has no file.
//!
//! [`uid_t`], [`gid_t`] and [`pid_t`] are the types of the numbers that a [`UCred`] holds.

mod addr;
pub mod datagram;
mod listener;
pub mod pipe;
#[cfg(all(
    feature = "extra",
    any(target_os = "linux", target_os = "android", target_os = "freebsd")
))]
mod seqpacket;
mod socket;
mod split;
mod stream;
mod ucred;

pub use addr::SocketAddr;
pub use datagram::UnixDatagram;
pub use listener::UnixListener;
#[cfg(all(
    feature = "extra",
    any(target_os = "linux", target_os = "android", target_os = "freebsd")
))]
pub use seqpacket::{UnixSeqpacket, UnixSeqpacketListener};
pub use socket::UnixSocket;
pub use split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
pub use stream::UnixStream;
pub use ucred::UCred;

/// Identifier of a user.
#[allow(non_camel_case_types)]
pub type uid_t = u32;

/// Identifier of a group.
#[allow(non_camel_case_types)]
pub type gid_t = u32;

/// Identifier of a process.
#[allow(non_camel_case_types)]
pub type pid_t = i32;
