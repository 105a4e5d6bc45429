//! Sockets and pipes of this machine: the halves of a stream, addresses, credentials, pipes.

mod addr;
pub mod datagram;
mod listener;
pub mod pipe;
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
mod seqpacket;
mod socket;
mod split;
mod stream;
mod ucred;

pub use addr::SocketAddr;
pub use datagram::UnixDatagram;
pub use listener::UnixListener;
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
pub use seqpacket::{UnixSeqpacket, UnixSeqpacketListener};
pub use socket::UnixSocket;
pub use split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
pub use stream::UnixStream;
pub use ucred::UCred;

/// The id of a user.
#[allow(non_camel_case_types)]
pub type uid_t = u32;

/// The id of a group.
#[allow(non_camel_case_types)]
pub type gid_t = u32;

/// The id of a process.
#[allow(non_camel_case_types)]
pub type pid_t = i32;
