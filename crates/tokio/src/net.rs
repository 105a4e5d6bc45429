//! Sockets.

pub use tress::net::{TcpListener, TcpSocket, TcpStream, ToSocketAddrs, UdpSocket, lookup_host};

pub mod tcp {
    //! The halves of a TCP stream.

    pub use tress::net::tcp::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
}

#[cfg(unix)]
pub use tress::net::{UnixDatagram, UnixListener, UnixSocket, UnixStream};

#[cfg(unix)]
pub mod unix {
    //! The halves of a Unix stream, addresses, credentials, pipes.

    pub use tress::net::unix::{
        OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, SocketAddr, UCred, WriteHalf,
        datagram, gid_t, pid_t, pipe, uid_t,
    };
}

#[cfg(windows)]
pub mod windows {
    //! What only Windows has.

    pub mod named_pipe {
        //! Named pipes.

        pub use tress::net::windows::named_pipe::{
            ClientOptions, NamedPipeClient, NamedPipeServer, PipeEnd, PipeInfo, PipeMode,
            ServerOptions,
        };
    }
}
