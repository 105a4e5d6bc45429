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

/// What can be done with everything that is [`AsyncBufRead`].
///
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
    /// Reads up to and including the next `byte`, or up to the end; appends it to `buf` and returns
    /// how much it was.
    ///
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
    ///
    /// # Errors
    /// Those of the source, except `Interrupted`, after which it tries again. What was read before
    /// is in `buf`.
    ///
    /// # Cancel safety
    /// If it is dropped, what was read is in `buf`, and another call goes on from there, counting
    /// from zero.
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

    /// Reads up to and including the next newline (the byte `0x0A`), or up to the end; appends it to
    /// `line` and returns how many bytes it was.
    ///
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
    ///
    /// # Errors
    /// - [`InvalidData`](std::io::ErrorKind::InvalidData) if the line is not UTF-8: `line` is then
    ///   as it was, and the next call reads the next line. [`read_until`](AsyncBufReadExt::read_until)
    ///   reads any bytes.
    /// - Those of the source, except `Interrupted`. What was read before is in `line`, if it is UTF-8.
    ///
    /// # Cancel safety
    /// Not cancel safe: if it is dropped, what was read is in `line`, except if it ends in the middle
    /// of a character; then it is lost. [`lines`](AsyncBufReadExt::lines) loses nothing.
    fn read_line<'a>(&'a mut self, line: &'a mut String) -> Operation<'a, Self, ReadLine<'a>>
    where
        Self: Unpin,
    {
        Operation::new(self, ReadLine::new(line))
    }

    /// What lies between one `byte` and the next, piece by piece.
    ///
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

    /// The bytes in the buffer, after filling it if it was empty. No bytes: the source is at its end.
    ///
    /// They are read, and not seen again, when [`consume`](AsyncBufReadExt::consume) says so.
    ///
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
    ///
    /// # Cancel safety
    /// Cancel safe: what was read is in the buffer.
    fn fill_buf(&mut self) -> FillBuf<'_, Self>
    where
        Self: Unpin,
    {
        FillBuf::new(self)
    }

    /// Takes `amt` bytes out of the buffer: no more than the last
    /// [`fill_buf`](AsyncBufReadExt::fill_buf) returned.
    fn consume(&mut self, amt: usize)
    where
        Self: Unpin,
    {
        Pin::new(self).consume(amt);
    }

    /// The lines, one by one, without their line breaks.
    ///
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
