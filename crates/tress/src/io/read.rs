use super::ReadBuf;
use std::io::{self, Cursor};
use std::ops::DerefMut;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A source of bytes that can be read without blocking the thread.
///
/// This is the asynchronous counterpart of [`std::io::Read`]. Where `read` would block,
/// [`poll_read`](AsyncRead::poll_read) returns `Pending` and has the task woken later.
///
/// Implement this trait for a reader of your own. To read, use the methods of
/// [`AsyncReadExt`](super::AsyncReadExt), which every `AsyncRead` has.
///
/// # Examples
/// ```
/// use std::pin::Pin;
/// use std::future::poll_fn;
/// use tress::io::{AsyncRead, ReadBuf};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mut source: &[u8] = b"hello";
/// let mut space = [0; 3];
/// let mut buf = ReadBuf::new(&mut space);
/// poll_fn(|cx| Pin::new(&mut source).poll_read(cx, &mut buf)).await?;
/// assert_eq!(buf.filled(), b"hel");
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub trait AsyncRead {
    /// Attempts to read bytes into the unfilled part of `buf`.
    ///
    /// - `Ready(Ok(()))`: the bytes that were read have been appended to the filled part of `buf`. If it
    ///   has not grown although there was room, the source is at its end.
    /// - `Ready(Err(_))`: the read failed, and `buf` is as it was.
    /// - `Pending`: nothing was read. The current task is woken when another attempt may succeed.
    ///
    /// An implementation must not exchange `buf` for another buffer, nor make its filled part shorter: the
    /// methods of this module panic if one does.
    ///
    /// # Errors
    /// Any error of the source. [`Interrupted`](io::ErrorKind::Interrupted) means that the read may be
    /// tried again at once.
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>>;
}

impl<T: AsyncRead + Unpin + ?Sized> AsyncRead for Box<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut **self).poll_read(cx, buf)
    }
}

impl<T: AsyncRead + Unpin + ?Sized> AsyncRead for &mut T {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut **self).poll_read(cx, buf)
    }
}

impl<P> AsyncRead for Pin<P>
where
    P: DerefMut,
    P::Target: AsyncRead,
{
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.as_deref_mut().poll_read(cx, buf)
    }
}

/// Reads from the front of the slice, and moves its start forward by what was read.
impl AsyncRead for &[u8] {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let (read, rest) = self.split_at(self.len().min(buf.remaining()));
        buf.put_slice(read);
        *self = rest;
        Poll::Ready(Ok(()))
    }
}

impl<T: AsRef<[u8]> + Unpin> AsyncRead for Cursor<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let rest = rest_of(&self);
        let n = rest.len().min(buf.remaining());
        buf.put_slice(&rest[..n]);
        let position = self.position() + n as u64;
        self.set_position(position);
        Poll::Ready(Ok(()))
    }
}

/// Returns the bytes behind a cursor's position: none if it is past the end.
pub(super) fn rest_of<T: AsRef<[u8]>>(cursor: &Cursor<T>) -> &[u8] {
    let all = cursor.get_ref().as_ref();
    usize::try_from(cursor.position())
        .ok()
        .and_then(|at| all.get(at..))
        .unwrap_or_default()
}
