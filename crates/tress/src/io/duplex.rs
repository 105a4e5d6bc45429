use super::pipe::{self, Pipe};
use super::wake::wake_all;
use super::{AsyncRead, AsyncWrite, ReadBuf};
use crate::sight::{self, WaitKind};
use crate::sys::Mutex;
use std::fmt;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Creates a connection in memory, and returns its two ends.
///
/// What is written to one end is read from the other. At most `max_buf_size` bytes are under way in each
/// direction; a write waits while there is no room.
///
/// After [`shutdown`](super::AsyncWriteExt::shutdown) of one end, or when it is dropped, the other end
/// reads what is left and then sees the end of the stream. Writes to an end that has been dropped, and
/// writes after `shutdown`, fail with [`BrokenPipe`](io::ErrorKind::BrokenPipe).
///
/// It is useful for tests of code that otherwise has a socket. For one direction only there is
/// [`simplex`](super::simplex()).
///
/// # Panics
/// Panics if `max_buf_size` is 0.
///
/// # Examples
/// ```
/// use tress::io::{AsyncReadExt, AsyncWriteExt};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (mut client, mut server) = tress::io::duplex(64);
/// client.write_all(b"ping").await?;
/// let mut buf = [0; 4];
/// server.read_exact(&mut buf).await?;
/// assert_eq!(&buf, b"ping");
/// server.write_all(b"pong").await?;
/// client.read_exact(&mut buf).await?;
/// assert_eq!(&buf, b"pong");
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
#[track_caller]
pub fn duplex(max_buf_size: usize) -> (DuplexStream, DuplexStream) {
    let there = Arc::new(Mutex::new(Pipe::new(max_buf_size)));
    let back = Arc::new(Mutex::new(Pipe::new(max_buf_size)));
    let one = DuplexStream {
        incoming: there.clone(),
        outgoing: back.clone(),
    };
    let other = DuplexStream {
        incoming: back,
        outgoing: there,
    };
    (one, other)
}

/// One end of a connection in memory, created by [`duplex`].
///
/// # Examples
/// ```
/// use tress::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
///
/// async fn greet(mut stream: DuplexStream) -> std::io::Result<()> {
///     stream.write_all(b"hello").await
/// }
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (near, mut far) = duplex(64);
/// greet(near).await?;
/// let mut text = String::new();
/// far.read_to_string(&mut text).await?;
/// assert_eq!(text, "hello");
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub struct DuplexStream {
    incoming: Arc<Mutex<Pipe>>,
    outgoing: Arc<Mutex<Pipe>>,
}

impl AsyncRead for DuplexStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let pipe = sight::address(&*self.incoming);
        pipe::poll(cx, WaitKind::Read, pipe, |looker| {
            self.incoming.lock().read(looker, buf)
        })
    }
}

impl AsyncWrite for DuplexStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let woken = self.outgoing.lock().close();
        wake_all(woken);
        Poll::Ready(Ok(()))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let pipe = sight::address(&*self.outgoing);
        pipe::poll(cx, WaitKind::Write, pipe, |looker| {
            self.outgoing.lock().write(looker, bufs)
        })
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}

impl Drop for DuplexStream {
    fn drop(&mut self) {
        // Close both before any waker runs, because wakers may panic.
        let outgoing = self.outgoing.lock().close();
        let incoming = self.incoming.lock().close();
        wake_all(outgoing.into_iter().chain(incoming));
    }
}

impl fmt::Debug for DuplexStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DuplexStream").finish_non_exhaustive()
    }
}
