use super::AsyncSeek;
use super::operation::{Operation, Step};
use std::io::{self, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// What can be done with everything that is [`AsyncSeek`].
///
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
    /// Moves the position and returns where it is then, counted from the start.
    ///
    /// An operation that is still going on is waited for.
    ///
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
    ///
    /// # Errors
    /// The position is before the start or out of range, or the object has an error of its own. That of an
    /// earlier seek, which was dropped, is discarded by files and by buffers around them.
    ///
    /// # Cancel safety
    /// If it is dropped, the position may move or not. Another seek waits for that and then moves it
    /// to where it should be.
    fn seek(&mut self, position: SeekFrom) -> Operation<'_, Self, Seek>
    where
        Self: Unpin,
    {
        Operation::new(self, Seek(Some(position)))
    }

    /// Moves the position to the start.
    ///
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
    ///
    /// # Cancel safety
    /// That of [`seek`](AsyncSeekExt::seek).
    fn rewind(&mut self) -> Operation<'_, Self, Seek>
    where
        Self: Unpin,
    {
        self.seek(SeekFrom::Start(0))
    }

    /// The position, counted from the start.
    ///
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
    ///
    /// # Cancel safety
    /// Cancel safe: it moves nothing.
    fn stream_position(&mut self) -> Operation<'_, Self, Seek>
    where
        Self: Unpin,
    {
        self.seek(SeekFrom::Current(0))
    }
}

impl<S: AsyncSeek + ?Sized> AsyncSeekExt for S {}

/// [`AsyncSeekExt::seek`], [`rewind`](AsyncSeekExt::rewind) and
/// [`stream_position`](AsyncSeekExt::stream_position). Where to, as long as it has not begun.
#[derive(Debug)]
pub struct Seek(Option<SeekFrom>);

impl<S: AsyncSeek + ?Sized> Step<S> for Seek {
    type Output = u64;

    fn poll(&mut self, mut io: Pin<&mut S>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        if let Some(position) = self.0 {
            // There may be another operation, which must not be disturbed.
            ready!(io.as_mut().poll_settled(cx))?;
            io.as_mut().start_seek(position)?;
            self.0 = None;
        }
        io.poll_complete(cx)
    }
}
