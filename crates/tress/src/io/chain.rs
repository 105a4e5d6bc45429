use super::{AsyncBufRead, AsyncRead, ReadBuf};
use pin_project_lite::pin_project;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// One reader after the other, created by [`AsyncReadExt::chain`](super::AsyncReadExt::chain).
    ///
    /// # Examples
    /// ```
    /// use tress::io::{AsyncBufReadExt, AsyncReadExt};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut both = (&b"one\ntw"[..]).chain(&b"o\n"[..]);
    /// let mut line = String::new();
    /// both.read_line(&mut line).await?;
    /// both.read_line(&mut line).await?;
    /// assert_eq!(line, "one\ntwo\n");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[derive(Debug)]
    #[must_use = "it reads nothing unless asked to"]
    pub struct Chain<T, U> {
        #[pin]
        first: T,
        #[pin]
        second: U,
        // Whether the first reader has ended.
        in_second: bool,
    }
}

impl<T, U> Chain<T, U> {
    pub(super) fn new(first: T, second: U) -> Self {
        Chain {
            first,
            second,
            in_second: false,
        }
    }

    /// Returns references to both readers.
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncReadExt;
    ///
    /// let both = (&b"one"[..]).chain(&b"two"[..]);
    /// assert_eq!(both.get_ref(), (&&b"one"[..], &&b"two"[..]));
    /// ```
    pub fn get_ref(&self) -> (&T, &U) {
        (&self.first, &self.second)
    }

    /// Returns mutable references to both readers.
    ///
    /// Bytes that are read from them directly are missing from this reader.
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncReadExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut both = (&b"one"[..]).chain(&b"two"[..]);
    /// let (first, _second) = both.get_mut();
    /// assert_eq!(first.read_u8().await?, b'o');
    /// assert_eq!(both.read_u8().await?, b'n');
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn get_mut(&mut self) -> (&mut T, &mut U) {
        (&mut self.first, &mut self.second)
    }

    /// Returns pinned mutable references to both readers.
    ///
    /// # Examples
    /// ```
    /// use std::pin::pin;
    /// use tress::io::AsyncReadExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let both = pin!((&b"one"[..]).chain(&b"two"[..]));
    /// let (_first, mut second) = both.get_pin_mut();
    /// assert_eq!(second.read_u8().await?, b't');
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn get_pin_mut(self: Pin<&mut Self>) -> (Pin<&mut T>, Pin<&mut U>) {
        let this = self.project();
        (this.first, this.second)
    }

    /// Returns both readers.
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncReadExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut both = (&b"one"[..]).chain(&b"two"[..]);
    /// both.read_u8().await?;
    /// assert_eq!(both.into_inner(), (&b"ne"[..], &b"two"[..]));
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn into_inner(self) -> (T, U) {
        (self.first, self.second)
    }
}

impl<T: AsyncRead, U: AsyncRead> AsyncRead for Chain<T, U> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.project();
        if !*this.in_second {
            let room = buf.remaining();
            ready!(this.first.poll_read(cx, buf))?;
            // A read into a full buffer does not show whether the reader has ended.
            if buf.remaining() < room || room == 0 {
                return Poll::Ready(Ok(()));
            }
            *this.in_second = true;
        }
        this.second.poll_read(cx, buf)
    }
}

impl<T: AsyncBufRead, U: AsyncBufRead> AsyncBufRead for Chain<T, U> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let this = self.project();
        if !*this.in_second {
            let bytes = ready!(this.first.poll_fill_buf(cx))?;
            if !bytes.is_empty() {
                return Poll::Ready(Ok(bytes));
            }
            *this.in_second = true;
        }
        this.second.poll_fill_buf(cx)
    }

    fn consume(self: Pin<&mut Self>, amt: usize) {
        let this = self.project();
        if *this.in_second {
            this.second.consume(amt);
        } else {
            this.first.consume(amt);
        }
    }
}
