mod shared;

use super::{AsyncRead, AsyncWrite, ReadBuf};
use shared::{Half, Shared};
use std::fmt;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Splits a stream into a reader and a writer, which can be used by different tasks.
///
/// The halves share the stream behind a lock, which each takes while it is polled. Sockets have methods
/// `split` and `into_split` of their own, which need no lock: prefer those. [`unsplit`](ReadHalf::unsplit)
/// puts the halves together again; [`join`](super::join()) makes a stream of any reader and writer.
///
/// The stream is closed when both halves have been dropped. A half that is polled from within a poll of the
/// other one, by the stream itself or by a waker that polls where it is woken, is pending until that poll
/// is over.
///
/// # Examples
/// ```
/// use tress::io::{AsyncReadExt, AsyncWriteExt};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (here, mut there) = tress::io::duplex(64);
/// let (mut reader, mut writer) = tress::io::split(here);
/// let echo = tress::spawn(async move { there.write_u8(7).await.map(|()| there) });
/// assert_eq!(reader.read_u8().await?, 7);
/// writer.write_u8(8).await?;
/// assert_eq!(echo.await.unwrap()?.read_u8().await?, 8);
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub fn split<T>(stream: T) -> (ReadHalf<T>, WriteHalf<T>)
where
    T: AsyncRead + AsyncWrite,
{
    let is_write_vectored = stream.is_write_vectored();
    let stream = Arc::new(Shared::new(stream));
    let reader = ReadHalf {
        stream: stream.clone(),
    };
    let writer = WriteHalf {
        stream,
        is_write_vectored,
    };
    (reader, writer)
}

/// The reading half of a stream, created by [`split`].
///
/// # Examples
/// ```
/// use tress::io::{AsyncReadExt, DuplexStream, ReadHalf};
///
/// async fn count(mut reader: ReadHalf<DuplexStream>) -> std::io::Result<usize> {
///     reader.read_to_end(&mut Vec::new()).await
/// }
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (near, far) = tress::io::duplex(64);
/// let (reader, _writer) = tress::io::split(near);
/// drop(far);
/// assert_eq!(count(reader).await?, 0);
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub struct ReadHalf<T> {
    stream: Arc<Shared<T>>,
}

/// The writing half of a stream, created by [`split`].
///
/// Dropping it does not shut the stream down: call [`shutdown`](super::AsyncWriteExt::shutdown) to let the
/// peer see the end.
///
/// # Examples
/// ```
/// use tress::io::{AsyncReadExt, AsyncWriteExt};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (near, mut far) = tress::io::duplex(64);
/// let (_reader, mut writer) = tress::io::split(near);
/// writer.write_all(b"hello").await?;
/// writer.shutdown().await?;
/// let mut text = String::new();
/// far.read_to_string(&mut text).await?;
/// assert_eq!(text, "hello");
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub struct WriteHalf<T> {
    stream: Arc<Shared<T>>,
    /// Asked once, at the beginning, because asking takes the lock.
    is_write_vectored: bool,
}

// SAFETY: a shared half gives no access to the stream: polling takes `&mut`, and what `&` offers compares
// pointers, or reads a field of the half itself.
unsafe impl<T> Sync for ReadHalf<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for WriteHalf<T> {}

impl<T> ReadHalf<T> {
    /// Returns whether the two halves belong to the same stream.
    ///
    /// # Examples
    /// ```
    /// let (reader, writer) = tress::io::split(tress::io::duplex(64).0);
    /// assert!(reader.is_pair_of(&writer));
    /// ```
    pub fn is_pair_of(&self, other: &WriteHalf<T>) -> bool {
        Arc::ptr_eq(&self.stream, &other.stream)
    }

    /// Puts the two halves together, and returns the stream.
    ///
    /// # Panics
    /// Panics if the halves belong to different streams: see [`is_pair_of`](ReadHalf::is_pair_of).
    ///
    /// # Examples
    /// ```
    /// let (reader, writer) = tress::io::split(tress::io::duplex(64).0);
    /// let stream: tress::io::DuplexStream = reader.unsplit(writer);
    /// ```
    #[track_caller]
    pub fn unsplit(self, writer: WriteHalf<T>) -> T
    where
        T: Unpin,
    {
        assert!(
            self.is_pair_of(&writer),
            "the halves are of different streams: unsplit those that came from the same `split`"
        );
        drop(writer);
        let stream = Arc::into_inner(self.stream).expect("there are but two halves");
        stream.into_inner()
    }
}

impl<T> WriteHalf<T> {
    /// Returns whether the two halves belong to the same stream.
    ///
    /// # Examples
    /// ```
    /// let (reader, writer) = tress::io::split(tress::io::duplex(64).0);
    /// let (other, _) = tress::io::split(tress::io::duplex(64).0);
    /// assert!(writer.is_pair_of(&reader));
    /// assert!(!writer.is_pair_of(&other));
    /// ```
    pub fn is_pair_of(&self, other: &ReadHalf<T>) -> bool {
        other.is_pair_of(self)
    }
}

impl<T: AsyncRead> AsyncRead for ReadHalf<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream
            .poll(Half::Read, cx, |stream, cx| stream.poll_read(cx, buf))
    }
}

impl<T: AsyncWrite> AsyncWrite for WriteHalf<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.stream
            .poll(Half::Write, cx, |stream, cx| stream.poll_write(cx, buf))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream
            .poll(Half::Write, cx, |stream, cx| stream.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream
            .poll(Half::Write, cx, |stream, cx| stream.poll_shutdown(cx))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream.poll(Half::Write, cx, |stream, cx| {
            stream.poll_write_vectored(cx, bufs)
        })
    }

    fn is_write_vectored(&self) -> bool {
        self.is_write_vectored
    }
}

impl<T> fmt::Debug for ReadHalf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadHalf").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for WriteHalf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteHalf").finish_non_exhaustive()
    }
}
