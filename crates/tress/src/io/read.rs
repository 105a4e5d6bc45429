use super::ReadBuf;
use std::io::{self, Cursor};
use std::ops::DerefMut;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A source of bytes that may have to be waited for.
///
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
    /// Appends what can be read to `buf`.
    ///
    /// - `Ready(Ok(()))`: the bytes are in the filled part of `buf`. If it has not grown although
    ///   there was room, the source is at its end.
    /// - `Ready(Err(_))`: nothing was read.
    /// - `Pending`: nothing was read; the task will be woken when another attempt makes sense.
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

/// Reading moves the start of the slice forward.
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

/// What lies behind a cursor's position, which may be past the end.
pub(super) fn rest_of<T: AsRef<[u8]>>(cursor: &Cursor<T>) -> &[u8] {
    let all = cursor.get_ref().as_ref();
    usize::try_from(cursor.position())
        .ok()
        .and_then(|at| all.get(at..))
        .unwrap_or_default()
}
