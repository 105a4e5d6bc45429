//! Streams whose bytes arrive in buffers of a pool.

mod buf;
mod source;

pub use buf::PooledBuf;
pub use source::PooledSource;

use crate::buffers::{Pool, Shelf, ShelfBuffer};
use crate::io::source::Source;
use crate::io::{AsyncBufRead, AsyncRead, AsyncWrite, ReadBuf, ring};
use crate::net::transfer::{Socket, receive};
use crate::task::coop;
use source::Kind;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tress_driver::Direction;

/// A stream that is read into buffers of a pool, of which each worker has one.
///
/// With io_uring (Linux 6.0 or newer) the kernel is asked once and then puts everything that arrives into
/// buffers by itself: a read needs no system call, nor does finding out that there is nothing. A connection
/// that waits owns no buffer: a few are enough for many connections. Elsewhere the buffers are ordinary memory, which
/// is taken when there is something to read.
///
/// [`read_pooled`](Pooled::read_pooled) returns the buffers themselves. A pooled stream is also an
/// [`AsyncBufRead`], which shows them, and an [`AsyncRead`], which copies out of them; and an
/// [`AsyncWrite`] if the stream is.
///
/// Bytes arrive before they are asked for, up to a bounded number of buffers. They cannot be given back to
/// the socket. Therefore a pooled stream is a type of its own, without `peek`, `try_io` or `into_std`;
/// [`into_parts`](Pooled::into_parts) returns the stream together with what has arrived. Nothing else
/// should read from the stream meanwhile.
///
/// # Limits
/// [`Builder::io_pool`](crate::runtime::Builder::io_pool) sets the number and the size of the buffers.
/// While the program holds all of them, nothing arrives, and reads wait until one is dropped.
///
/// Connections that are not read from do not starve others: at most 16 buffers are used for one, and fewer
/// as fewer are free. The rest of its bytes stays with the system. When other connections need those
/// buffers, the bytes are copied elsewhere. Dropping the stream drops what has arrived.
///
/// # Examples
/// An echo that copies nothing:
/// ```
/// use tress::io::{AsyncReadExt, AsyncWriteExt, AsyncWriteOwned};
/// use tress::net::{Pooled, TcpListener, TcpStream};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let address = listener.local_addr()?;
/// tress::spawn(async move {
///     let (stream, _) = listener.accept().await?;
///     let (reader, mut writer) = stream.into_split();
///     let mut reader = Pooled::new(reader);
///     while let Some(bytes) = reader.read_pooled().await? {
///         writer.write_all_owned(bytes).await.0?;
///     }
///     Ok::<(), std::io::Error>(())
/// });
/// let mut client = TcpStream::connect(address).await?;
/// client.write_all(b"ping").await?;
/// client.shutdown().await?;
/// let mut echo = String::new();
/// client.read_to_string(&mut echo).await?;
/// assert_eq!(echo, "ping");
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
// D-NET-04
#[derive(Debug)]
pub struct Pooled<S> {
    receive: Receive,
    /// A buffer that has arrived and was read in part.
    rest: Option<PooledBuf>,
    stream: S,
}

/// The way in which bytes arrive.
#[derive(Debug)]
enum Receive {
    /// Nothing was requested yet.
    Idle,
    Ring(ring::Receive),
    Shelf(Waiter),
}

/// A stream that takes buffers off a shelf.
#[derive(Debug)]
struct Waiter(Box<Shelf>);

impl Waiter {
    /// Returns a number that tells it from others. The box does not move.
    fn who(&self) -> usize {
        std::ptr::from_ref(&*self.0).addr()
    }

    fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        source: &Source<T>,
        short_is_all: bool,
    ) -> Poll<io::Result<Option<PooledBuf>>>
    where
        T: tress_driver::Source + Socket,
    {
        loop {
            match ready!(poll_take(cx, source, &self.0, short_is_all)) {
                Took::Bytes(bytes) if bytes.is_empty() => return Poll::Ready(Ok(None)),
                Took::Bytes(bytes) => return Poll::Ready(Ok(Some(PooledBuf::of_shelf(bytes)))),
                Took::Failed(error) => return Poll::Ready(Err(error)),
                Took::NoBuffer => ready!(self.0.poll_available(self.who(), cx)),
            }
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.0.leave(self.who());
    }
}

impl<S: PooledSource> Pooled<S> {
    /// Wraps a stream.
    ///
    /// Nothing is received before the first read.
    ///
    /// # Examples
    /// ```
    /// use tress::net::Pooled;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
    /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
    /// # let (mut peer, _) = listener.accept().await?;
    /// let stream = Pooled::new(stream);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn new(stream: S) -> Pooled<S> {
        Pooled {
            receive: Receive::Idle,
            rest: None,
            stream,
        }
    }

    /// Returns a reference to the stream, to write to it or to ask for its addresses.
    ///
    /// Do not read from it.
    ///
    /// # Examples
    /// ```
    /// use tress::net::Pooled;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
    /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
    /// # let (mut peer, _) = listener.accept().await?;
    /// let stream = Pooled::new(stream);
    /// assert_eq!(stream.get_ref().peer_addr()?, listener.local_addr()?);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn get_ref(&self) -> &S {
        &self.stream
    }

    /// Returns a mutable reference to the stream, to write to it.
    ///
    /// Do not read from it.
    ///
    /// # Examples
    /// ```
    /// use tress::io::{AsyncReadExt, AsyncWriteExt};
    /// use tress::net::Pooled;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
    /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
    /// # let (mut peer, _) = listener.accept().await?;
    /// let mut stream = Pooled::new(stream);
    /// stream.get_mut().write_u8(7).await?;
    /// assert_eq!(peer.read_u8().await?, 7);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn get_mut(&mut self) -> &mut S {
        &mut self.stream
    }

    /// Returns the next bytes, as many as have arrived in one buffer, or `None` at the end.
    ///
    /// The buffer is never empty.
    ///
    /// # Errors
    /// Any error of `recv(2)`, or that the runtime has shut down.
    ///
    /// # Cancel safety
    /// This method is cancel safe: dropping the future loses nothing. The next read returns what arrives
    /// meanwhile.
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncWriteExt;
    /// use tress::net::Pooled;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
    /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
    /// # let (mut peer, _) = listener.accept().await?;
    /// peer.write_all(b"hello").await?;
    /// drop(peer);
    /// let mut stream = Pooled::new(stream);
    /// while let Some(bytes) = stream.read_pooled().await? {
    ///     println!("{} bytes", bytes.len());
    /// }
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn read_pooled(&mut self) -> io::Result<Option<PooledBuf>> {
        poll_fn(|cx| self.poll_read_pooled(cx)).await
    }

    /// Polls for the next bytes, like [`read_pooled`](Self::read_pooled).
    ///
    /// After `Pending` the current task is woken when there may be some. Only the waker of the last poll is
    /// kept.
    ///
    /// # Errors
    /// See [`read_pooled`](Self::read_pooled).
    ///
    /// # Examples
    /// ```
    /// use std::future::poll_fn;
    /// use tress::io::AsyncWriteExt;
    /// use tress::net::Pooled;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
    /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
    /// # let (mut peer, _) = listener.accept().await?;
    /// peer.write_all(b"hello").await?;
    /// let mut stream = Pooled::new(stream);
    /// let bytes = poll_fn(|cx| stream.poll_read_pooled(cx)).await?;
    /// assert!(bytes.is_some());
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn poll_read_pooled(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Option<PooledBuf>>> {
        if let Some(rest) = self.rest.take() {
            return Poll::Ready(Ok(Some(rest)));
        }
        match self.stream.source().0 {
            Kind::Tcp(source) => self.receive.poll(cx, source, true),
            #[cfg(unix)]
            // A short read of such a stream may have ended with a message, although there is more.
            Kind::Unix(source) => self.receive.poll(cx, source, false),
        }
    }

    /// Stops receiving, and returns the stream with the buffers that have arrived and were not read, in
    /// order.
    ///
    /// If there was an error, it is the last element.
    ///
    /// # Cancel safety
    /// This method is not cancel safe: dropping the future drops the stream and what has arrived.
    ///
    /// # Examples
    /// ```
    /// use tress::io::{AsyncBufReadExt, AsyncWriteExt};
    /// use tress::net::Pooled;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
    /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
    /// # let (mut peer, _) = listener.accept().await?;
    /// peer.write_all(b"first line\nsecond line").await?;
    /// let mut stream = Pooled::new(stream);
    /// let mut line = String::new();
    /// stream.read_line(&mut line).await?;
    /// // Go on with the plain stream, after what has been received ahead.
    /// let (stream, arrived) = stream.into_parts().await;
    /// for part in arrived {
    ///     println!("received ahead: {:?}", part?);
    /// }
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn into_parts(mut self) -> (S, Vec<io::Result<PooledBuf>>) {
        let mut arrived: Vec<_> = self.rest.take().map(Ok).into_iter().collect();
        if let Receive::Ring(receive) = &mut self.receive {
            let rest = receive.stop().await;
            arrived.extend(rest.into_iter().map(|part| part.map(PooledBuf::of_ring)));
        }
        (self.stream, arrived)
    }
}

impl Receive {
    /// Polls for the next bytes. `short_is_all` says that a read that does not fill its buffer has taken
    /// everything.
    fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        source: &Source<T>,
        short_is_all: bool,
    ) -> Poll<io::Result<Option<PooledBuf>>>
    where
        T: tress_driver::Source + ring::Descriptor + Socket,
    {
        if let Receive::Shelf(waiter) = self {
            return waiter.poll(cx, source, short_is_all);
        }
        let progress = ready!(coop::poll_proceed(cx));
        let polled = match self {
            Receive::Ring(receive) => receive.poll_next(cx),
            _ => None,
        };
        let next = match polled {
            Some(next) => ready!(next),
            // It is begun, or begun again, with the pool of the current worker.
            None => {
                if let Some(leftover) = source.leftover() {
                    // These are from an owned read before the stream was pooled.
                    if ready!(leftover.poll(cx)) {
                        if let Some(bytes) = leftover.take() {
                            progress.made_progress();
                            return Poll::Ready(bytes.map(PooledBuf::of_own).map(Some));
                        }
                    }
                }
                let next = source
                    .runtime()
                    .with_pool(|pool| self.begin(pool, source, cx))?;
                match next {
                    Some(next) => ready!(next),
                    None => return self.poll(cx, source, short_is_all),
                }
            }
        };
        progress.made_progress();
        Poll::Ready(next.transpose().map(|next| next.map(PooledBuf::of_ring)))
    }

    /// Begins, or begins again, with a pool. Returns `None` if the pool is a shelf, which is polled
    /// elsewhere.
    fn begin<T>(
        &mut self,
        pool: &Pool,
        source: &Source<T>,
        cx: &mut Context<'_>,
    ) -> Option<ring::Next>
    where
        T: tress_driver::Source + ring::Descriptor,
    {
        let pool = match pool {
            Pool::Ring(pool) => pool,
            Pool::Shelf(shelf) => {
                *self = Receive::Shelf(Waiter(Box::new(shelf.clone())));
                return None;
            }
        };
        if let Receive::Ring(receive) = self {
            // Usually it is the same pool, and the receive can go on.
            if let Some(next) = pool.resume(receive, cx) {
                return Some(next);
            }
        }
        let (receive, next) = pool.begin(source, cx);
        *self = Receive::Ring(receive);
        Some(next)
    }
}

enum Took {
    Bytes(ShelfBuffer),
    Failed(io::Error),
    /// There is something to read, and no buffer to read it into.
    NoBuffer,
}

/// Takes a buffer when there is something to put into it.
fn poll_take<T>(
    cx: &mut Context<'_>,
    source: &Source<T>,
    shelf: &Shelf,
    short_is_all: bool,
) -> Poll<Took>
where
    T: tress_driver::Source + Socket,
{
    let mut taken = None;
    // No transfer is shorter than 0 bytes.
    let wanted = if short_is_all { shelf.size() } else { 0 };
    let received = ready!(source.poll_transfer(cx, Direction::Read, wanted, |socket| {
        let Some(mut buffer) = shelf.take() else {
            // The readiness is not used up.
            return Ok(0);
        };
        // SAFETY: receiving initializes as many bytes as it returns.
        let n = unsafe { buffer.fill(|room| receive(socket, room)) }?;
        taken = Some(buffer);
        Ok(n)
    }));
    Poll::Ready(match (received, taken) {
        (Err(error), _) => Took::Failed(error),
        (Ok(_), Some(buffer)) => Took::Bytes(buffer),
        (Ok(_), None) => Took::NoBuffer,
    })
}

impl<S: PooledSource + Unpin> AsyncRead for Pooled<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if buf.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        let bytes = ready!(self.as_mut().poll_fill_buf(cx))?;
        let n = bytes.len().min(buf.remaining());
        buf.put_slice(&bytes[..n]);
        self.consume(n);
        Poll::Ready(Ok(()))
    }
}

impl<S: PooledSource + Unpin> AsyncBufRead for Pooled<S> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let this = self.get_mut();
        if this.rest.is_none() {
            this.rest = ready!(this.poll_read_pooled(cx))?;
        }
        Poll::Ready(Ok(this.rest.as_deref().unwrap_or_default()))
    }

    fn consume(mut self: Pin<&mut Self>, amt: usize) {
        if let Some(rest) = &mut self.rest {
            rest.advance(amt);
            if rest.is_empty() {
                self.rest = None;
            } else if amt > 0 {
                // It may take long until the rest is read.
                rest.make_way();
            }
        } else {
            assert_eq!(amt, 0, "consumed more than there was");
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Pooled<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
