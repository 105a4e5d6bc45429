//! Sockets.

pub use tress::net::{TcpListener, TcpSocket, TcpStream, ToSocketAddrs, UdpSocket, lookup_host};

pub mod tcp {
    //! The halves of a TCP stream.

    pub use tress::net::tcp::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
}
