use super::end;
use crate::io::Interest;
use crate::io::source::Source;
use std::io;

/// The server's end of one instance of a named pipe; made by
/// [`ServerOptions::create`](super::ServerOptions::create).
///
/// It reads and writes through [`AsyncRead`](crate::io::AsyncRead) and
/// [`AsyncWrite`](crate::io::AsyncWrite), once a client has [connected](NamedPipeServer::connect).
///
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
///     // Before the client is served: there is never no instance to connect to.
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

end!(NamedPipeServer);

impl NamedPipeServer {
    /// Waits until a client has connected to this instance. One that has connected, and perhaps gone again,
    /// since the instance was made, counts.
    ///
    /// # Errors
    /// What the system says; if the runtime has shut down.
    ///
    /// # Cancel safety
    /// Cancel safe: a client that connects after the future was dropped is found by the next call.
    pub async fn connect(&self) -> io::Result<()> {
        // It has to be asked for before there can be news of it.
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

    /// Throws the client out: what it has not read yet is lost, and its operations fail. After this the
    /// instance can be [connected](NamedPipeServer::connect) again.
    ///
    /// # Errors
    /// What the system says.
    pub fn disconnect(&self) -> io::Result<()> {
        self.io.get_ref().disconnect()
    }
}
