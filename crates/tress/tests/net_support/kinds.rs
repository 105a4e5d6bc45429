//! TCP and Unix streams by the same names, for tests that hold for both.

use super::Name;
use std::future::Future;
use std::io::{self, Read, Write};
use tress::io::{AsyncRead, AsyncWrite};
use tress::net::{TcpListener, TcpStream, UnixListener, UnixStream};

pub trait Kind: 'static {
    const NAME: &'static str;
    type Listener: Send + Sync + 'static;
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + Sync + 'static;

    /// A listener where nobody else is.
    fn bind() -> impl Future<Output = Self::Listener> + Send;

    /// Where it listens, for `connect` and `connect_blocking`.
    fn address(listener: &Self::Listener) -> String;

    fn accept(listener: &Self::Listener) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    fn connect(address: &str) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// A stream of the standard library, for another thread or process.
    fn connect_blocking(address: &str) -> io::Result<Self::Blocking>;

    type Blocking: Read + Write + Send;

    /// Closes it in such a way that nothing of it lingers in the system.
    fn discard(stream: Self::Stream);

    /// Two streams that are connected.
    fn pair() -> impl Future<Output = (Self::Stream, Self::Stream)> + Send {
        async {
            let listener = Self::bind().await;
            let address = Self::address(&listener);
            let (near, far) = tress::join!(Self::connect(&address), Self::accept(&listener));
            (near.unwrap(), far.unwrap())
        }
    }
}

pub struct Tcp;

impl Kind for Tcp {
    const NAME: &'static str = "TCP";
    type Listener = TcpListener;
    type Stream = TcpStream;
    type Blocking = std::net::TcpStream;

    async fn bind() -> TcpListener {
        TcpListener::bind("127.0.0.1:0").await.unwrap()
    }

    fn address(listener: &TcpListener) -> String {
        listener.local_addr().unwrap().to_string()
    }

    async fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
        Ok(listener.accept().await?.0)
    }

    async fn connect(address: &str) -> io::Result<TcpStream> {
        TcpStream::connect(address).await
    }

    fn connect_blocking(address: &str) -> io::Result<std::net::TcpStream> {
        std::net::TcpStream::connect(address)
    }

    fn discard(stream: TcpStream) {
        stream.set_zero_linger().unwrap();
    }
}

pub struct Unix;

impl Kind for Unix {
    const NAME: &'static str = "Unix";
    type Listener = (UnixListener, Name);
    type Stream = UnixStream;
    type Blocking = std::os::unix::net::UnixStream;

    async fn bind() -> (UnixListener, Name) {
        let name = Name::new();
        (UnixListener::bind(&name.0).unwrap(), name)
    }

    fn address((_, name): &(UnixListener, Name)) -> String {
        name.0.to_str().unwrap().to_owned()
    }

    async fn accept((listener, _): &(UnixListener, Name)) -> io::Result<UnixStream> {
        Ok(listener.accept().await?.0)
    }

    async fn connect(address: &str) -> io::Result<UnixStream> {
        UnixStream::connect(address).await
    }

    fn connect_blocking(address: &str) -> io::Result<std::os::unix::net::UnixStream> {
        std::os::unix::net::UnixStream::connect(address)
    }

    fn discard(_: UnixStream) {}
}
