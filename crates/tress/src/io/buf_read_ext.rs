use super::operation::Operation;
use super::{AsyncBufRead, Lines, Split};
use std::pin::Pin;

mod fill_buf;
mod line;
mod until;

pub use fill_buf::FillBuf;
pub use line::ReadLine;
pub use until::ReadUntil;

pub(super) use until::poll_read_until;

/// Methods for reading from a buffer, available on every [`AsyncBufRead`].
///
/// Bring the trait into scope to call them. To have them on any [`AsyncRead`](super::AsyncRead), wrap it in
/// a [`BufReader`](super::BufReader).
///
/// # Examples
/// ```
/// use tress::io::{AsyncBufReadExt, BufReader};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let source: &[u8] = b"one\ntwo\nthree";
/// let mut lines = BufReader::new(source).lines();
/// let mut count = 0;
/// while let Some(line) = lines.next_line().await? {
///     count += line.len();
/// }
/// assert_eq!(count, 11);
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub trait AsyncBufReadExt: AsyncBufRead {
    /// Reads up to and including the next `byte`, or up to the end, and appends that to `buf`.
    ///
    /// Returns how many bytes were read: 0 at the end. If they do not end with `byte`, the reader has
    /// ended.
    ///
    /// # Errors
    /// Any error of the reader except [`Interrupted`](std::io::ErrorKind::Interrupted), after which it
    /// tries again. Bytes that were read before the error are in `buf`.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if it is dropped, all bytes that were read are in `buf`, and another
    /// call goes on from there, counting from 0.
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncBufReadExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut source: &[u8] = b"hello world";
    /// let mut buf = Vec::new();
    /// assert_eq!(source.read_until(b' ', &mut buf).await?, 6);
    /// assert_eq!(source.read_until(b' ', &mut buf).await?, 5);
    /// assert_eq!(source.read_until(b' ', &mut buf).await?, 0);
    /// assert_eq!(buf, b"hello world");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    fn read_until<'a>(
        &'a mut self,
        byte: u8,
        buf: &'a mut Vec<u8>,
    ) -> Operation<'a, Self, ReadUntil<'a>>
    where
        Self: Unpin,
    {
        Operation::new(self, ReadUntil::new(byte, buf))
    }

    /// Reads up to and including the next newline (the byte `0x0A`), or up to the end, and appends that to
    /// `line`.
    ///
    /// Returns how many bytes were read: 0 at the end. `line` is not cleared first. To read all lines, use
    /// [`lines`](AsyncBufReadExt::lines).
    ///
    /// # Errors
    /// - [`InvalidData`](std::io::ErrorKind::InvalidData) if the line is not UTF-8. `line` is then as it
    ///   was, and the next call reads the next line. [`read_until`](AsyncBufReadExt::read_until) reads any
    ///   bytes.
    /// - Any error of the reader except [`Interrupted`](std::io::ErrorKind::Interrupted), after which it
    ///   tries again. What was read before the error is in `line` if it is UTF-8, and is lost otherwise.
    ///
    /// # Cancel safety
    /// This method is not cancel safe: if it is dropped, what was read is in `line`, unless it is not
    /// UTF-8, for example because it ends in the middle of a character; then it is lost.
    /// [`next_line`](Lines::next_line) loses nothing.
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncBufReadExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut source: &[u8] = b"hello\nworld";
    /// let mut line = String::new();
    /// assert_eq!(source.read_line(&mut line).await?, 6);
    /// assert_eq!(line, "hello\n");
    /// line.clear();
    /// assert_eq!(source.read_line(&mut line).await?, 5);
    /// assert_eq!(line, "world");
    /// assert_eq!(source.read_line(&mut line).await?, 0);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    fn read_line<'a>(&'a mut self, line: &'a mut String) -> Operation<'a, Self, ReadLine<'a>>
    where
        Self: Unpin,
    {
        Operation::new(self, ReadLine::new(line))
    }

    /// Splits the bytes of this reader at each `byte`.
    ///
    /// The segments do not contain `byte`. Read them with [`next_segment`](Split::next_segment).
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncBufReadExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let source: &[u8] = b"a,b,,c";
    /// let mut pieces = AsyncBufReadExt::split(source, b',');
    /// let mut all = Vec::new();
    /// while let Some(piece) = pieces.next_segment().await? {
    ///     all.push(piece);
    /// }
    /// assert_eq!(all, [&b"a"[..], b"b", b"", b"c"]);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    fn split(self, byte: u8) -> Split<Self>
    where
        Self: Sized + Unpin,
    {
        Split::new(self, byte)
    }

    /// Returns the bytes in the buffer, and fills it first if it is empty.
    ///
    /// An empty slice means that the reader is at its end. The bytes stay in the buffer until
    /// [`consume`](AsyncBufReadExt::consume) takes them out.
    ///
    /// # Errors
    /// Any error of the reader, [`Interrupted`](std::io::ErrorKind::Interrupted) included.
    ///
    /// # Panics
    /// The future panics if it is polled again after it has returned a result.
    ///
    /// # Cancel safety
    /// This method is cancel safe: what was read is in the buffer.
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncBufReadExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut source: &[u8] = b"hello";
    /// let n = source.fill_buf().await?.len();
    /// assert_eq!(n, 5);
    /// source.consume(n);
    /// assert_eq!(source.fill_buf().await?, b"");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    fn fill_buf(&mut self) -> FillBuf<'_, Self>
    where
        Self: Unpin,
    {
        FillBuf::new(self)
    }

    /// Takes `amt` bytes out of the buffer, so that they are not read again.
    ///
    /// `amt` must not be larger than the number of bytes that the last
    /// [`fill_buf`](AsyncBufReadExt::fill_buf) has returned; what happens otherwise is up to the reader.
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncBufReadExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut source: &[u8] = b"hello world";
    /// assert!(source.fill_buf().await?.starts_with(b"hello "));
    /// source.consume(6);
    /// assert_eq!(source.fill_buf().await?, b"world");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    fn consume(&mut self, amt: usize)
    where
        Self: Unpin,
    {
        Pin::new(self).consume(amt);
    }

    /// Splits the bytes of this reader into lines.
    ///
    /// The lines do not contain their line breaks, `\n` or `\r\n`. Read them with
    /// [`next_line`](Lines::next_line).
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncBufReadExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let source: &[u8] = b"hello\r\nworld\n";
    /// let mut lines = source.lines();
    /// assert_eq!(lines.next_line().await?.as_deref(), Some("hello"));
    /// assert_eq!(lines.next_line().await?.as_deref(), Some("world"));
    /// assert_eq!(lines.next_line().await?, None);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    fn lines(self) -> Lines<Self>
    where
        Self: Sized,
    {
        Lines::new(self)
    }
}

impl<R: AsyncBufRead + ?Sized> AsyncBufReadExt for R {}
