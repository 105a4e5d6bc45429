//! TCP: listeners, streams and their halves, and sockets that are not connected yet.
//!
//! - [`TcpListener`] accepts connections.
//! - [`TcpStream`] is a connection. It is connected by [`TcpStream::connect`] or accepted by a listener.
//! - [`TcpSocket`] is a socket that is neither yet, for options that have to be set before.
//! - [`ReadHalf`] and [`WriteHalf`] are the two directions of a stream that is borrowed by
//!   [`TcpStream::split`], for one task.
//! - [`OwnedReadHalf`] and [`OwnedWriteHalf`] are the two directions of a stream that is consumed by
//!   [`TcpStream::into_split`], for two tasks. [`ReuniteError`] is the error of putting two that do not
//!   match together.
//!
//! The first three are also in [`net`](crate::net).

mod listener;
mod socket;
mod split;
mod stream;

pub use listener::TcpListener;
pub use socket::TcpSocket;
pub use split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
pub use stream::TcpStream;
