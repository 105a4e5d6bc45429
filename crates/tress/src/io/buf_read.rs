use super::AsyncRead;
use super::read::rest_of;
use std::io::{self, Cursor};
use std::ops::DerefMut;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A source of bytes with a buffer that can be looked into.
///
/// This is the asynchronous counterpart of [`std::io::BufRead`]. [`BufReader`](super::BufReader) makes one
/// of any [`AsyncRead`].
///
/// Implement this trait for a reader of your own. To read, use the methods of
/// [`AsyncBufReadExt`](super::AsyncBufReadExt), such as [`lines`](super::AsyncBufReadExt::lines).
///
/// # Examples
/// ```
/// use std::pin::Pin;
/// use std::future::poll_fn;
/// use tress::io::AsyncBufRead;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mut source: &[u8] = b"hello world";
/// let space = poll_fn(|cx| {
///     let filled = Pin::new(&mut source).poll_fill_buf(cx);
///     filled.map_ok(|buf| buf.iter().position(|&b| b == b' '))
/// })
/// .await?;
/// Pin::new(&mut source).consume(space.map_or(0, |at| at + 1));
/// assert_eq!(source, b"world");
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub trait AsyncBufRead: AsyncRead {
    /// Returns the bytes in the buffer, and fills it first if it is empty.
    ///
    /// An empty slice means that the source is at its end. The bytes stay in the buffer, and the next call
    /// returns them again, until [`consume`](AsyncBufRead::consume) takes them out. After `Pending` the
    /// current task is woken when another attempt may succeed.
    ///
    /// # Errors
    /// Any error of the source.
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>>;

    /// Takes `amt` bytes out of the buffer, so that they are not returned again.
    ///
    /// `amt` must not be larger than the number of bytes that
    /// [`poll_fill_buf`](AsyncBufRead::poll_fill_buf) has returned; what happens otherwise is up to the
    /// implementation.
    fn consume(self: Pin<&mut Self>, amt: usize);
}

impl<T: AsyncBufRead + Unpin + ?Sized> AsyncBufRead for Box<T> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        Pin::new(&mut **self.get_mut()).poll_fill_buf(cx)
    }

    fn consume(mut self: Pin<&mut Self>, amt: usize) {
        Pin::new(&mut **self).consume(amt);
    }
}

impl<T: AsyncBufRead + Unpin + ?Sized> AsyncBufRead for &mut T {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        Pin::new(&mut **self.get_mut()).poll_fill_buf(cx)
    }

    fn consume(mut self: Pin<&mut Self>, amt: usize) {
        Pin::new(&mut **self).consume(amt);
    }
}

impl<P> AsyncBufRead for Pin<P>
where
    P: DerefMut,
    P::Target: AsyncBufRead,
{
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        self.as_deref_mut().poll_fill_buf(cx)
    }

    fn consume(self: Pin<&mut Self>, amt: usize) {
        self.as_deref_mut().consume(amt);
    }
}

impl AsyncBufRead for &[u8] {
    fn poll_fill_buf(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        Poll::Ready(Ok(*self))
    }

    fn consume(mut self: Pin<&mut Self>, amt: usize) {
        *self = &self[amt..];
    }
}

impl<T: AsRef<[u8]> + Unpin> AsyncBufRead for Cursor<T> {
    fn poll_fill_buf(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        Poll::Ready(Ok(rest_of(self.get_mut())))
    }

    fn consume(mut self: Pin<&mut Self>, amt: usize) {
        let position = self.position() + amt as u64;
        self.set_position(position);
    }
}
