//! Reads and writes at a given position, with buffers that are owned.

use super::{File, nowait};
use crate::io::owned::room;
use crate::io::{Buffer, BufferMut};
use crate::task::coop;
use std::io;

impl File {
    /// Reads at a position into a buffer, from its start, and gives it back with how much was read.
    /// Less than there is room for is no error; nothing means the end.
    ///
    /// Neither moves nor minds the position of the other reads and writes, and any number may go on
    /// at a time. It sees what was written before if that was [flushed](crate::io::AsyncWriteExt::flush).
    ///
    /// ```
    /// use tress::fs::{self, File};
    ///
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-read-at-{}", std::process::id()));
    /// fs::write(&path, "0123456789").await?;
    /// let file = File::open(&path).await?;
    /// let (result, buffer) = file.read_at(Vec::with_capacity(4), 2).await;
    /// assert_eq!(buffer[..result?], *b"2345");
    /// # fs::remove_file(path).await
    /// # }
    /// ```
    ///
    /// # Errors
    /// What the system says; `InvalidInput` for an offset of `2^63` or more.
    ///
    /// # Cancel safety
    /// The buffer is lost with the future. It lives until the kernel is done with it.
    pub async fn read_at<B: BufferMut>(
        &self,
        mut buffer: B,
        offset: u64,
    ) -> (io::Result<usize>, B) {
        if let Err(error) = check(offset) {
            return (Err(error), buffer);
        }
        coop::consume_budget().await;
        match nowait::read(&self.std, room(&mut buffer), Some(offset)) {
            Ok(result) => {
                if let Ok(n) = result {
                    // SAFETY: so many were written, from the start of the room.
                    unsafe { buffer.set_filled(n) };
                }
                (result, buffer)
            }
            Err(refusal) => self.read_waiting(buffer, Some(offset), Some(refusal)).await,
        }
    }

    /// Writes what a buffer is filled with at a position, and gives it back with how much was written,
    /// which may be less.
    ///
    /// Otherwise as [`read_at`](File::read_at). A file that is open for
    /// [appending](super::super::OpenOptions::append) is written to at its end on Linux, wherever the
    /// offset is.
    ///
    /// ```
    /// use tress::fs::{self, File};
    ///
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-write-at-{}", std::process::id()));
    /// let file = File::create(&path).await?;
    /// for (offset, word) in [(6, "world"), (0, "hello ")] {
    ///     let (result, word) = file.write_at(word, offset).await;
    ///     assert_eq!(result?, word.len());
    /// }
    /// assert_eq!(fs::read(&path).await?, b"hello world");
    /// # fs::remove_file(path).await
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`read_at`](File::read_at).
    ///
    /// # Cancel safety
    /// The buffer is lost with the future, and nothing, some or all of it may be written. It lives until
    /// the kernel is done with it.
    pub async fn write_at<B: Buffer>(&self, buffer: B, offset: u64) -> (io::Result<usize>, B) {
        if let Err(error) = check(offset) {
            return (Err(error), buffer);
        }
        coop::consume_budget().await;
        match nowait::write(&self.std, buffer.bytes(), Some(offset)) {
            Ok(result) => (result, buffer),
            Err(refusal) => {
                self.write_waiting(buffer, Some(offset), Some(refusal))
                    .await
            }
        }
    }
}

/// The kernel takes offsets for signed, and -1 for none.
fn check(offset: u64) -> io::Result<()> {
    match i64::try_from(offset) {
        Ok(_) => Ok(()),
        Err(_) => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "a file has no such position: the largest is 2^63 - 1",
        )),
    }
}
