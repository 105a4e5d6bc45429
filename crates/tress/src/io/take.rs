use super::uninit::poll_read_uninit;
use super::{AsyncBufRead, AsyncRead, ReadBuf};
use pin_project_lite::pin_project;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// The first bytes of a reader, up to a limit, created by
    /// [`AsyncReadExt::take`](super::AsyncReadExt::take).
    ///
    /// # Examples
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
        // Number of bytes that may still be read.
        limit: u64,
    }
}

impl<R> Take<R> {
    pub(super) fn new(inner: R, limit: u64) -> Self {
        Take { inner, limit }
    }

    /// Returns how many bytes may still be read.
    ///
    /// The reader may end before.
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncReadExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut head = (&b"hello"[..]).take(3);
    /// head.read_u8().await?;
    /// assert_eq!(head.limit(), 2);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Sets the number of bytes that may be read from now on, regardless of what was read before.
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncReadExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut head = (&b"hello"[..]).take(1);
    /// head.read_u8().await?;
    /// head.set_limit(2);
    /// let mut text = String::new();
    /// head.read_to_string(&mut text).await?;
    /// assert_eq!(text, "el");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// Returns a reference to the inner reader.
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncReadExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut head = (&b"hello"[..]).take(3);
    /// head.read_u8().await?;
    /// assert_eq!(head.get_ref(), b"ello");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn get_ref(&self) -> &R {
        &self.inner
    }

    /// Returns a mutable reference to the inner reader.
    ///
    /// Bytes that are read from it directly do not count towards the limit.
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncReadExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut head = (&b"hello"[..]).take(3);
    /// head.get_mut().read_u8().await?;
    /// assert_eq!(head.limit(), 3);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.inner
    }

    /// Returns a pinned mutable reference to the inner reader.
    ///
    /// Bytes that are read from it directly do not count towards the limit.
    ///
    /// # Examples
    /// ```
    /// use std::pin::pin;
    /// use tress::io::AsyncReadExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut head = pin!((&b"hello"[..]).take(3));
    /// head.as_mut().get_pin_mut().read_u8().await?;
    /// assert_eq!(head.limit(), 3);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut R> {
        self.project().inner
    }

    /// Returns the inner reader.
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncReadExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut head = (&b"hello"[..]).take(3);
    /// head.read_to_end(&mut Vec::new()).await?;
    /// assert_eq!(head.into_inner(), b"lo");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn into_inner(self) -> R {
        self.inner
    }
}

/// Returns `len`, or the limit if that is smaller.
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
        // At the limit the inner reader is not polled, because it might wait.
        if *this.limit == 0 {
            return Poll::Ready(Ok(()));
        }
        let n = within(buf.remaining(), *this.limit);
        let initialized = n.min(buf.initialized().len() - buf.filled().len());
        // SAFETY: what reads write is initialized.
        let part = unsafe { &mut buf.unfilled_mut()[..n] };
        // SAFETY: as many bytes behind the filled ones were initialized.
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
        // No more than `poll_fill_buf` has returned.
        let amt = within(amt, *this.limit);
        *this.limit -= amt as u64;
        this.inner.consume(amt);
    }
}
