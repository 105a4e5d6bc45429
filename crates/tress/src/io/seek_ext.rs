use super::AsyncSeek;
use super::operation::{Operation, Step};
use std::io::{self, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Methods for seeking, available on every [`AsyncSeek`].
///
/// Bring the trait into scope to call them. They return futures that do nothing unless awaited.
///
/// # Examples
/// ```
/// use std::io::{Cursor, SeekFrom};
/// use tress::io::{AsyncReadExt, AsyncSeekExt};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mut cursor = Cursor::new(b"hello world");
/// assert_eq!(cursor.seek(SeekFrom::End(-5)).await?, 6);
/// let mut text = String::new();
/// cursor.read_to_string(&mut text).await?;
/// assert_eq!(text, "world");
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub trait AsyncSeekExt: AsyncSeek {
    /// Moves the position, and returns the new one, counted from the start.
    ///
    /// It waits first for an earlier operation that has not finished, such as a write of a file or a seek
    /// that was dropped.
    ///
    /// # Errors
    /// The position is before the start or out of range, or any error of the stream. Files and the types of
    /// this module discard the error of an earlier seek that was dropped.
    ///
    /// # Cancel safety
    /// If it is dropped, the position may or may not have moved, or may move later. Another seek waits for
    /// that, and then moves the position to where it should be.
    ///
    /// # Examples
    /// ```
    /// use std::io::{Cursor, SeekFrom};
    /// use tress::io::AsyncSeekExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut cursor = Cursor::new([0; 10]);
    /// assert_eq!(cursor.seek(SeekFrom::Start(4)).await?, 4);
    /// assert_eq!(cursor.seek(SeekFrom::Current(-1)).await?, 3);
    /// assert!(cursor.seek(SeekFrom::Current(-4)).await.is_err());
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    fn seek(&mut self, position: SeekFrom) -> Operation<'_, Self, Seek>
    where
        Self: Unpin,
    {
        Operation::new(self, Seek(Some(position)))
    }

    /// Moves the position to the start.
    ///
    /// It is short for `seek(SeekFrom::Start(0))`.
    ///
    /// # Errors
    /// See [`seek`](AsyncSeekExt::seek).
    ///
    /// # Cancel safety
    /// See [`seek`](AsyncSeekExt::seek).
    ///
    /// # Examples
    /// ```
    /// use std::io::Cursor;
    /// use tress::io::{AsyncReadExt, AsyncSeekExt};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut cursor = Cursor::new([1, 2, 3]);
    /// assert_eq!(cursor.read_u8().await?, 1);
    /// cursor.rewind().await?;
    /// assert_eq!(cursor.read_u8().await?, 1);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    fn rewind(&mut self) -> Operation<'_, Self, Seek>
    where
        Self: Unpin,
    {
        self.seek(SeekFrom::Start(0))
    }

    /// Returns the current position, counted from the start.
    ///
    /// It is short for `seek(SeekFrom::Current(0))`.
    ///
    /// # Errors
    /// See [`seek`](AsyncSeekExt::seek).
    ///
    /// # Cancel safety
    /// This method is cancel safe: it does not move the position.
    ///
    /// # Examples
    /// ```
    /// use std::io::Cursor;
    /// use tress::io::{AsyncReadExt, AsyncSeekExt};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut cursor = Cursor::new([0; 10]);
    /// cursor.read_u32().await?;
    /// assert_eq!(cursor.stream_position().await?, 4);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    fn stream_position(&mut self) -> Operation<'_, Self, Seek>
    where
        Self: Unpin,
    {
        self.seek(SeekFrom::Current(0))
    }
}

impl<S: AsyncSeek + ?Sized> AsyncSeekExt for S {}

/// The operation of [`AsyncSeekExt::seek`], [`rewind`](AsyncSeekExt::rewind) and
/// [`stream_position`](AsyncSeekExt::stream_position).
#[derive(Debug)]
pub struct Seek(Option<SeekFrom>);

impl<S: AsyncSeek + ?Sized> Step<S> for Seek {
    type Output = u64;

    fn poll(&mut self, mut io: Pin<&mut S>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        if let Some(position) = self.0 {
            // An earlier operation must finish first.
            ready!(io.as_mut().poll_settled(cx))?;
            io.as_mut().start_seek(position)?;
            self.0 = None;
        }
        io.poll_complete(cx)
    }
}
