use super::uninit::poll_read_uninit;
use super::{AsyncBufRead, AsyncRead, ReadBuf};
use pin_project_lite::pin_project;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// The first so many bytes of a source; made by
    /// [`AsyncReadExt::take`](super::AsyncReadExt::take).
    ///
    /// ```
    /// use tress::io::AsyncReadExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut head = (&b"hello world"[..]).take(5);
    /// let mut text = String::new();
    /// head.read_to_string(&mut text).await?;
    /// assert_eq!((text.as_str(), head.limit()), ("hello", 0));
    /// head.set_limit(6);
    /// head.read_to_string(&mut text).await?;
    /// assert_eq!(text, "hello world");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[derive(Debug)]
    #[must_use = "it reads nothing unless asked to"]
    pub struct Take<R> {
        #[pin]
        inner: R,
        // So many more.
        limit: u64,
    }
}

impl<R> Take<R> {
    pub(super) fn new(inner: R, limit: u64) -> Self {
        Take { inner, limit }
    }

    /// How many bytes it will still read, if the source has as many.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Makes it read `limit` more bytes, whatever it has read before.
    pub fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// The source.
    pub fn get_ref(&self) -> &R {
        &self.inner
    }

    /// The source. What is read from it directly does not count.
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.inner
    }

    /// The source. What is read from it directly does not count.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut R> {
        self.project().inner
    }

    /// The source.
    pub fn into_inner(self) -> R {
        self.inner
    }
}

/// As much of `len` as there is of the limit.
fn within(len: usize, limit: u64) -> usize {
    usize::try_from(limit).map_or(len, |limit| len.min(limit))
}

impl<R: AsyncRead> AsyncRead for Take<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.project();
        // At the limit the source is not asked: it might wait.
        if *this.limit == 0 {
            return Poll::Ready(Ok(()));
        }
        let n = within(buf.remaining(), *this.limit);
        let initialized = n.min(buf.initialized().len() - buf.filled().len());
        // SAFETY: what reads write is initialised.
        let part = unsafe { &mut buf.unfilled_mut()[..n] };
        // SAFETY: so many were behind the filled ones.
        let filled = ready!(unsafe { poll_read_uninit(this.inner, cx, part, initialized) })?;
        *this.limit -= filled.len as u64;
        // SAFETY: the part begins where the filled bytes end.
        unsafe { buf.assume_init(filled.initialized) };
        buf.advance(filled.len);
        Poll::Ready(Ok(()))
    }
}

impl<R: AsyncBufRead> AsyncBufRead for Take<R> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let this = self.project();
        if *this.limit == 0 {
            return Poll::Ready(Ok(&[]));
        }
        let bytes = ready!(this.inner.poll_fill_buf(cx))?;
        Poll::Ready(Ok(&bytes[..within(bytes.len(), *this.limit)]))
    }

    fn consume(self: Pin<&mut Self>, amt: usize) {
        let this = self.project();
        // Not more than was shown.
        let amt = within(amt, *this.limit);
        *this.limit -= amt as u64;
        this.inner.consume(amt);
    }
}
