//! Conversion between tress's I/O traits and those of the crate `futures-io`.
//!
//! Wrap a type of another crate in [`Compat`] to use it with this crate, or a type of this crate to use it
//! with another one.
//!
//! # Examples
//! ```
//! use futures_io::AsyncRead as _;
//! use tress::io::AsyncReadExt;
//! use tress::io::compat::Compat;
//!
//! # tress::runtime::Runtime::new().unwrap().block_on(async {
//! // `&[u8]` is a reader for both. As one of theirs that is used as one of ours:
//! let mut reader = Compat::new(futures_io_reader());
//! let mut text = String::new();
//! reader.read_to_string(&mut text).await?;
//! assert_eq!(text, "hello");
//!
//! fn futures_io_reader() -> impl futures_io::AsyncRead {
//!     &b"hello"[..]
//! }
//! # Ok::<(), std::io::Error>(()) }).unwrap();
//! ```

use super::uninit::poll_read_behind;
use super::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};
use pin_project_lite::pin_project;
use std::io::{self, IoSlice, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// Wraps a reader, a writer or a stream to convert between tress's and `futures-io`'s traits.
    ///
    /// It implements the traits of `futures-io` where `T` has those of [`tress::io`](crate::io), and the
    /// other way round. `close` there corresponds to [`shutdown`](super::AsyncWriteExt::shutdown) here.
    ///
    /// # Examples
    /// ```
    /// use std::pin::Pin;
    /// use tress::io::compat::Compat;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// // Ours, for a function that wants one of theirs.
    /// let (stream, _peer) = tress::io::duplex(64);
    /// write_greeting(&mut Compat::new(stream)).await?;
    ///
    /// async fn write_greeting(to: &mut (impl futures_io::AsyncWrite + Unpin)) -> std::io::Result<usize> {
    ///     std::future::poll_fn(|cx| Pin::new(&mut *to).poll_write(cx, b"hello")).await
    /// }
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[derive(Debug)]
    pub struct Compat<T> {
        #[pin]
        inner: T,
        // A seek that was requested and is not complete.
        seek: Option<SeekFrom>,
    }
}

impl<T> Compat<T> {
    /// Wraps `inner`.
    ///
    /// # Examples
    /// ```
    /// use tress::io::compat::Compat;
    ///
    /// let theirs = Compat::new(&b"hello"[..]);
    /// # drop(theirs);
    /// ```
    pub fn new(inner: T) -> Self {
        Compat { inner, seek: None }
    }

    /// Returns a reference to the inner value.
    ///
    /// # Examples
    /// ```
    /// use tress::io::compat::Compat;
    ///
    /// let reader = Compat::new(&b"hello"[..]);
    /// assert_eq!(reader.get_ref().len(), 5);
    /// ```
    pub fn get_ref(&self) -> &T {
        &self.inner
    }

    /// Returns a mutable reference to the inner value.
    ///
    /// # Examples
    /// ```
    /// use tress::io::compat::Compat;
    ///
    /// let mut writer = Compat::new(Vec::new());
    /// writer.get_mut().push(1);
    /// assert_eq!(writer.into_inner(), [1]);
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.inner
    }

    /// Returns a pinned mutable reference to the inner value.
    ///
    /// # Examples
    /// ```
    /// use std::pin::pin;
    /// use tress::io::compat::Compat;
    ///
    /// let mut writer = pin!(Compat::new(Vec::new()));
    /// writer.as_mut().get_pin_mut().push(1);
    /// assert_eq!(writer.get_ref(), &[1]);
    /// ```
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut T> {
        self.project().inner
    }

    /// Returns the inner value.
    ///
    /// # Examples
    /// ```
    /// use tress::io::compat::Compat;
    ///
    /// assert_eq!(Compat::new(&b"hello"[..]).into_inner(), b"hello");
    /// ```
    pub fn into_inner(self) -> T {
        self.inner
    }
}

impl<T: AsyncRead> futures_io::AsyncRead for Compat<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        poll_read_behind(self.project().inner, cx, buf, 0)
    }
}

impl<T: AsyncBufRead> futures_io::AsyncBufRead for Compat<T> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        self.project().inner.poll_fill_buf(cx)
    }

    fn consume(self: Pin<&mut Self>, amt: usize) {
        self.project().inner.consume(amt);
    }
}

impl<T: AsyncWrite> futures_io::AsyncWrite for Compat<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.project().inner.poll_write(cx, buf)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.project().inner.poll_write_vectored(cx, bufs)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().inner.poll_flush(cx)
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().inner.poll_shutdown(cx)
    }
}

impl<T: AsyncSeek> futures_io::AsyncSeek for Compat<T> {
    fn poll_seek(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        position: SeekFrom,
    ) -> Poll<io::Result<u64>> {
        let mut this = self.project();
        if *this.seek != Some(position) {
            // Another seek, which was given up, must finish first.
            ready!(this.inner.as_mut().poll_settled(cx))?;
            *this.seek = None;
            this.inner.as_mut().start_seek(position)?;
            *this.seek = Some(position);
        }
        let at = ready!(this.inner.poll_complete(cx));
        *this.seek = None;
        Poll::Ready(at)
    }
}

impl<T: futures_io::AsyncRead> AsyncRead for Compat<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let n = ready!(
            self.project()
                .inner
                .poll_read(cx, buf.initialize_unfilled())
        )?;
        buf.advance(n);
        Poll::Ready(Ok(()))
    }
}

impl<T: futures_io::AsyncBufRead> AsyncBufRead for Compat<T> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        self.project().inner.poll_fill_buf(cx)
    }

    fn consume(self: Pin<&mut Self>, amt: usize) {
        self.project().inner.consume(amt);
    }
}

impl<T: futures_io::AsyncWrite> AsyncWrite for Compat<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.project().inner.poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().inner.poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().inner.poll_close(cx)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.project().inner.poll_write_vectored(cx, bufs)
    }
}

impl<T: futures_io::AsyncSeek> AsyncSeek for Compat<T> {
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        let this = self.project();
        if this.seek.is_some() {
            return Err(io::Error::other(
                "another seek is not complete: call `poll_complete` until it is ready",
            ));
        }
        *this.seek = Some(position);
        Ok(())
    }

    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        let this = self.project();
        let position = this.seek.unwrap_or(SeekFrom::Current(0));
        let at = ready!(this.inner.poll_seek(cx, position));
        *this.seek = None;
        Poll::Ready(at)
    }

    fn poll_settled(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<Option<u64>>> {
        let this = self.project();
        let Some(position) = *this.seek else {
            return Poll::Ready(Ok(None));
        };
        let at = ready!(this.inner.poll_seek(cx, position));
        *this.seek = None;
        Poll::Ready(Ok(at.ok()))
    }
}
