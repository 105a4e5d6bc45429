//! Streams whose bytes arrive in buffers of a pool.

mod buf;
mod pool;
mod shelf;
mod source;

pub use buf::PooledBuf;
pub(crate) use pool::{Pool, Sizes};
pub use source::PooledSource;

use crate::io::source::Source;
use crate::io::{AsyncBufRead, AsyncRead, AsyncWrite, ReadBuf, ring};
use crate::net::readiness::{Socket, receive};
use crate::task::coop;
use shelf::{Shelf, ShelfBuffer};
use source::Kind;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tress_driver::Direction;

/// A stream that is read into buffers of a pool, which each worker has one of.
///
/// With io_uring (Linux 6.0) the kernel is asked once and then puts whatever arrives into buffers by
/// itself: a read costs no system call, and none to find out that there is nothing. A connection that
/// waits owns no buffer, so many can share few. Elsewhere the buffers are ordinary memory that is taken when
/// there is something to read.
///
/// [`read_pooled`](Pooled::read_pooled) returns the buffers themselves. It is also an
/// [`AsyncBufRead`], which shows them, and an [`AsyncRead`], which copies out of them; and an
/// [`AsyncWrite`] if the stream is.
///
/// Bytes arrive before they are asked for, a bounded number of buffers of them. They cannot be given back to
/// the socket, so a pooled stream is a type of its own, without `peek`, `try_io` or `into_std`:
/// [`into_parts`](Pooled::into_parts) returns the stream with what has arrived. Nobody else should read from
/// the stream meanwhile (the writing half of one that was split has no reason to).
///
/// How many buffers there are, and how large, says
/// [`Builder::io_pool`](crate::runtime::Builder::io_pool). While all are in users' hands nothing arrives; readers
/// wait until one is dropped. Connections that are not read from take nothing from others: what has arrived for
/// one is up to 16 buffers, and the fewer the fewer are free; the rest stays with the system. When others need
/// those buffers, what is in them is copied elsewhere. Dropping the stream drops what has arrived.
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
    /// Arrived, and read in part.
    rest: Option<PooledBuf>,
    stream: S,
}

/// How the bytes come.
#[derive(Debug)]
enum Receive {
    /// Nobody has asked yet.
    Idle,
    Ring(ring::Receive),
    Shelf(Waiter),
}

/// One who takes buffers off a shelf.
#[derive(Debug)]
struct Waiter(Box<Shelf>);

impl Waiter {
    /// Tells it from others: the box stays where it is.
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
    /// Nothing is received before somebody asks.
    pub fn new(stream: S) -> Pooled<S> {
        Pooled {
            receive: Receive::Idle,
            rest: None,
            stream,
        }
    }

    /// The stream: to write to it, or to ask for its addresses. Not to read from it.
    pub fn get_ref(&self) -> &S {
        &self.stream
    }

    /// As [`get_ref`](Self::get_ref).
    pub fn get_mut(&mut self) -> &mut S {
        &mut self.stream
    }

    /// The next bytes, as many as have arrived in one buffer; never none of them. `None` is the end.
    ///
    /// # Errors
    /// What the system says; that the runtime has shut down.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing: the next read returns what arrives meanwhile.
    pub async fn read_pooled(&mut self) -> io::Result<Option<PooledBuf>> {
        poll_fn(|cx| self.poll_read_pooled(cx)).await
    }

    /// As [`read_pooled`](Self::read_pooled), by poll. The waker of the last poll is woken.
    ///
    /// # Errors
    /// As for [`read_pooled`](Self::read_pooled).
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
            // A short read of such a stream may have ended with a message, not with what there is.
            Kind::Unix(source) => self.receive.poll(cx, source, false),
        }
    }

    /// Has nothing more received, and returns the stream with what has arrived, in order. An error, if
    /// there was one, is the last of that.
    ///
    /// # Cancel safety
    /// Dropping the future drops the stream, and what has arrived.
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
    /// The next bytes. `short_is_all`: a read that does not fill its buffer has taken all there is.
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
            // Begun, or begun again, with the pool of the worker that this is.
            None => {
                if let Some(leftover) = source.leftover() {
                    // Of an owned read before the stream was pooled.
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

    /// Begins, or begins again, with a pool. None if it is a shelf, which is asked elsewhere.
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
            // Mostly the same: it has what it needs.
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
    /// There is something to read, and nothing to read it into.
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
    // No transfer is shorter than nothing.
    let wanted = if short_is_all { shelf.size() } else { 0 };
    let received = ready!(source.poll_transfer(cx, Direction::Read, wanted, |socket| {
        let Some(mut buffer) = shelf.take() else {
            // Not empty, as far as readiness is concerned.
            return Ok(0);
        };
        // SAFETY: receiving initialises as many bytes as it says.
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
                // It may be long before somebody comes for it.
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
