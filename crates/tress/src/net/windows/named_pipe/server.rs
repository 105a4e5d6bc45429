use super::end;
use crate::io::Interest;
use crate::io::source::Source;
use std::io;

/// The server's end of one instance of a named pipe, created by
/// [`ServerOptions::create`](super::ServerOptions::create).
///
/// Once a client has [connected](NamedPipeServer::connect), it is read and written through
/// [`AsyncRead`](crate::io::AsyncRead) and [`AsyncWrite`](crate::io::AsyncWrite).
///
/// # Examples
/// ```no_run
/// use tress::net::windows::named_pipe::ServerOptions;
///
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// let name = r"\\.\pipe\echo";
/// let mut server = ServerOptions::new().first_pipe_instance(true).create(name)?;
/// loop {
///     server.connect().await?;
///     let client = server;
///     // Before the client is served, so that there is always an instance to connect to.
///     server = ServerOptions::new().create(name)?;
///     tress::spawn(async move {
///         let (mut reader, mut writer) = tress::io::split(client);
///         tress::io::copy(&mut reader, &mut writer).await
///     });
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct NamedPipeServer {
    io: Source<mio::windows::NamedPipe>,
}

// As sockets are: a panic leaves nothing behind in a pipe but what was written.
impl std::panic::UnwindSafe for NamedPipeServer {}
impl std::panic::RefUnwindSafe for NamedPipeServer {}

end!(NamedPipeServer);

impl NamedPipeServer {
    /// Waits until a client has connected to this instance.
    ///
    /// A client that has connected since the instance was created counts, even if it has gone again.
    ///
    /// # Errors
    /// Any error of `ConnectNamedPipe`, or that the runtime has shut down.
    ///
    /// # Cancel safety
    /// This method is cancel safe: a client that connects after the future was dropped is found by the next
    /// call.
    ///
    /// # Examples
    /// ```no_run
    /// use tress::net::windows::named_pipe::ServerOptions;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let server = ServerOptions::new().create(r"\\.\pipe\greetings")?;
    /// server.connect().await?;
    /// println!("a client has come");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn connect(&self) -> io::Result<()> {
        // The system reports a connection only after it has been asked for one.
        match self.io.get_ref().connect() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            result => return result,
        }
        self.io
            .io(Interest::WRITABLE, |pipe| match pipe.take_error()? {
                Some(error) => Err(error),
                None => pipe.connect(),
            })
            .await
    }

    /// Disconnects the client.
    ///
    /// Bytes that the client has not read yet are lost, and its operations fail. After this a client can
    /// [connect](NamedPipeServer::connect) again.
    ///
    /// # Errors
    /// Any error of `DisconnectNamedPipe`.
    ///
    /// # Examples
    /// ```no_run
    /// use tress::net::windows::named_pipe::ServerOptions;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let server = ServerOptions::new().create(r"\\.\pipe\greetings")?;
    /// loop {
    ///     // One client after the other, in the same instance.
    ///     server.connect().await?;
    ///     server.disconnect()?;
    /// }
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn disconnect(&self) -> io::Result<()> {
        self.io.get_ref().disconnect()
    }
}
