use super::end;
use crate::io::source::Source;

/// The client's end of a named pipe, opened by [`ClientOptions::open`](super::ClientOptions::open).
///
/// It is read and written through [`AsyncRead`](crate::io::AsyncRead) and
/// [`AsyncWrite`](crate::io::AsyncWrite). Reads see the end when the server has dropped its end, and get an
/// error when it has disconnected the client.
///
/// # Examples
/// ```no_run
/// use std::time::Duration;
/// use tress::net::windows::named_pipe::ClientOptions;
///
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// const ERROR_PIPE_BUSY: i32 = 231;
///
/// let client = loop {
///     match ClientOptions::new().open(r"\\.\pipe\greetings") {
///         // All instances have their client.
///         Err(error) if error.raw_os_error() == Some(ERROR_PIPE_BUSY) => {}
///         opened => break opened?,
///     }
///     tress::time::sleep(Duration::from_millis(50)).await;
/// };
/// # drop(client);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct NamedPipeClient {
    io: Source<mio::windows::NamedPipe>,
}

// As sockets are: a panic leaves nothing behind in a pipe but what was written.
impl std::panic::UnwindSafe for NamedPipeClient {}
impl std::panic::RefUnwindSafe for NamedPipeClient {}

end!(NamedPipeClient);
