//! TCP, UDP and Unix sockets, and named pipes; see [`tress::net`].

pub use tress::net::{TcpListener, TcpSocket, TcpStream, ToSocketAddrs, UdpSocket, lookup_host};

pub mod tcp {
    //! Halves of a TCP stream.

    pub use tress::net::tcp::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
}

#[cfg(unix)]
pub use tress::net::{UnixDatagram, UnixListener, UnixSocket, UnixStream};

#[cfg(unix)]
pub mod unix {
    //! Halves of a Unix stream, socket addresses, credentials and pipes.

    pub use tress::net::unix::{
        OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, SocketAddr, UCred, WriteHalf,
        datagram, gid_t, pid_t, pipe, uid_t,
    };
}

#[cfg(windows)]
pub mod windows {
    //! Types that exist on Windows only.

    pub mod named_pipe {
        //! Named pipes.

        pub use tress::net::windows::named_pipe::{
            ClientOptions, NamedPipeClient, NamedPipeServer, PipeEnd, PipeInfo, PipeMode,
            ServerOptions,
        };
    }
}
