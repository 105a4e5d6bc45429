use std::io::{self, Cursor, Seek, SeekFrom};
use std::ops::DerefMut;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A stream with a position that can be moved.
///
/// This is the asynchronous counterpart of [`std::io::Seek`]. A seek has two steps:
/// [`start_seek`](AsyncSeek::start_seek) begins it, and [`poll_complete`](AsyncSeek::poll_complete) waits
/// until it is done.
///
/// Implement this trait for a stream of your own. To seek, use the methods of
/// [`AsyncSeekExt`](super::AsyncSeekExt), which every `AsyncSeek` has.
///
/// # Examples
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
    /// Begins to move the position.
    ///
    /// The seek is done when [`poll_complete`](AsyncSeek::poll_complete) returns `Ready`. Until then no
    /// other operation should begin. A position past the end is allowed; what it means is up to the
    /// implementation.
    ///
    /// # Errors
    /// The position is out of range, or another operation is not complete. An implementation may report
    /// either in [`poll_complete`](AsyncSeek::poll_complete) instead.
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()>;

    /// Waits until a seek is complete, and returns the position, counted from the start.
    ///
    /// If no seek has begun, it returns the current position. After `Pending` the current task is woken
    /// when another attempt may succeed.
    ///
    /// # Errors
    /// The error of the seek.
    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>>;

    /// Waits until a seek may begin, that is, for an earlier one whose future was dropped.
    ///
    /// Returns its position, or `None` if it failed: its error is discarded. Errors of other operations are
    /// returned.
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
