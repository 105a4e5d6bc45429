use std::io::{self, Cursor, Seek, SeekFrom};
use std::ops::DerefMut;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Something with a position that can be moved.
///
/// ```
/// use std::io::{Cursor, SeekFrom};
/// use std::pin::Pin;
/// use std::future::poll_fn;
/// use tress::io::AsyncSeek;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mut cursor = Cursor::new([0; 10]);
/// Pin::new(&mut cursor).start_seek(SeekFrom::End(-3))?;
/// let at = poll_fn(|cx| Pin::new(&mut cursor).poll_complete(cx)).await?;
/// assert_eq!(at, 7);
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub trait AsyncSeek {
    /// Begins to move the position; [`poll_complete`](AsyncSeek::poll_complete) tells when it has
    /// moved.
    ///
    /// # Errors
    /// The position is out of range, or another seek has begun and not completed.
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()>;

    /// The position, once the seek that has begun is complete. Without one: where it is.
    ///
    /// # Errors
    /// That of the seek that has begun.
    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>>;

    /// Waits until a seek may begin: for one that has begun and that nobody waits for any more. Its position, or
    /// none if it has failed, which nobody is to hear of. Other errors are not its own.
    #[doc(hidden)]
    fn poll_settled(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<Option<u64>>> {
        self.poll_complete(cx).map_ok(Some)
    }
}

impl<T: AsyncSeek + Unpin + ?Sized> AsyncSeek for Box<T> {
    fn start_seek(mut self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        Pin::new(&mut **self).start_seek(position)
    }

    fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        Pin::new(&mut **self).poll_complete(cx)
    }

    fn poll_settled(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Option<u64>>> {
        Pin::new(&mut **self).poll_settled(cx)
    }
}

impl<T: AsyncSeek + Unpin + ?Sized> AsyncSeek for &mut T {
    fn start_seek(mut self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        Pin::new(&mut **self).start_seek(position)
    }

    fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        Pin::new(&mut **self).poll_complete(cx)
    }

    fn poll_settled(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Option<u64>>> {
        Pin::new(&mut **self).poll_settled(cx)
    }
}

impl<P> AsyncSeek for Pin<P>
where
    P: DerefMut,
    P::Target: AsyncSeek,
{
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        self.as_deref_mut().start_seek(position)
    }

    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        self.as_deref_mut().poll_complete(cx)
    }

    fn poll_settled(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<Option<u64>>> {
        self.as_deref_mut().poll_settled(cx)
    }
}

impl<T: AsRef<[u8]> + Unpin> AsyncSeek for Cursor<T> {
    fn start_seek(mut self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        self.seek(position).map(drop)
    }

    fn poll_complete(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        Poll::Ready(Ok(self.position()))
    }
}
