//! Reads and writes at a given offset, with owned buffers.

use super::{File, nowait};
use crate::io::owned::room;
use crate::io::{Buffer, BufferMut};
use crate::task::coop;
use std::io;

impl File {
    /// Reads from the given offset into a buffer, and returns the buffer with the number of bytes read.
    ///
    /// The bytes are placed at the start of the buffer. Fewer may be read than there is room for; 0 means
    /// the end of the file.
    ///
    /// The position of the file is neither used nor moved, and any number of such operations may be in
    /// progress at once. Bytes written at the position of the file are visible here once they have been
    /// [flushed](crate::io::AsyncWriteExt::flush).
    ///
    /// # Errors
    ///
    /// Any error of `pread(2)`; [`InvalidInput`](io::ErrorKind::InvalidInput) if `offset` is 2⁶³ or more.
    ///
    /// # Cancel safety
    ///
    /// No data of the file is lost, but the buffer is dropped with the future. Its memory is kept until the
    /// kernel is done with it.
    ///
    /// # Examples
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
                    // SAFETY: that many bytes were written, from the start of the room.
                    unsafe { buffer.set_filled(n) };
                }
                (result, buffer)
            }
            Err(refusal) => self.read_waiting(buffer, Some(offset), Some(refusal)).await,
        }
    }

    /// Writes the contents of a buffer at the given offset, and returns the buffer with the number of bytes
    /// written, which may be less than its length.
    ///
    /// The position of the file is neither used nor moved, and any number of such operations may be in
    /// progress at once. On Linux a file that was opened for
    /// [appending](super::super::OpenOptions::append) is written at its end, whatever the offset.
    ///
    /// # Errors
    ///
    /// Any error of `pwrite(2)`; [`InvalidInput`](io::ErrorKind::InvalidInput) if `offset` is 2⁶³ or more.
    ///
    /// # Cancel safety
    ///
    /// This method is not cancel safe: if the future is dropped, all of the bytes, some or none may have
    /// been written. The buffer is dropped with the future; its memory is kept until the kernel is done with
    /// it.
    ///
    /// # Examples
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

/// Refuses offsets that the kernel would take for negative: its offsets are signed, and -1 means none.
fn check(offset: u64) -> io::Result<()> {
    match i64::try_from(offset) {
        Ok(_) => Ok(()),
        Err(_) => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "a file has no such position: the largest is 2^63 - 1",
        )),
    }
}
