use super::AsyncWrite;
use super::operation::Operation;
use std::io::IoSlice;

mod all;
#[cfg(feature = "bytes")]
mod buf;
mod finish;
mod number;
mod some;

pub use all::WriteAll;
#[cfg(feature = "bytes")]
pub use buf::{WriteAllFrom, WriteFrom};
pub use finish::{Flush, Shutdown};
pub use number::WriteNumber;
pub use some::{Write, WriteVectored};

/// Defines the methods that write numbers, by name, type, conversion to bytes, and words for the summary
/// line.
macro_rules! numbers {
    ($($name:ident: $type:ident, $to:ident, $words:literal, $value:literal => $example:literal;)*) => {
        $(
            #[doc = concat!("Writes ", $words, ".")]
            ///
            /// # Errors
            /// - [`WriteZero`](std::io::ErrorKind::WriteZero) if the writer takes no more bytes.
            /// - Any error of the writer except [`Interrupted`](std::io::ErrorKind::Interrupted), after which it
            ///   tries again.
            ///
            /// # Cancel safety
            /// This method is not cancel safe: if it is dropped, a part of the number may have been written.
            ///
            /// # Examples
            /// ```
            /// use tress::io::AsyncWriteExt;
            ///
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            /// let mut sink = Vec::new();
            #[doc = concat!("sink.", stringify!($name), "(", $value, ").await?;")]
            #[doc = concat!("assert_eq!(sink, ", $example, ");")]
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            fn $name(&mut self, n: $type) -> Operation<'_, Self, WriteNumber<{ size_of::<$type>() }>>
            where
                Self: Unpin,
            {
                Operation::new(self, WriteNumber::new(n.$to()))
            }
        )*
    };
}

/// Methods for writing, available on every [`AsyncWrite`].
///
/// Bring the trait into scope to call them. They return futures that do nothing unless awaited.
///
/// | method | writes | when it is dropped |
/// |---|---|---|
/// | [`write`](AsyncWriteExt::write), [`write_vectored`](AsyncWriteExt::write_vectored) | what the writer takes at once | nothing was written |
/// | [`write_all`](AsyncWriteExt::write_all), [`write_u8`](AsyncWriteExt::write_u8) … | everything | a part may have been written |
/// | `write_buf`, `write_all_buf` | from a `Buf`, which it advances | the buffer shows how much was written |
/// | [`flush`](AsyncWriteExt::flush), [`shutdown`](AsyncWriteExt::shutdown) | what is in buffers | another call goes on |
///
/// # Examples
/// ```
/// use tress::io::{AsyncWriteExt, BufWriter};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mut sink = BufWriter::new(Vec::new());
/// sink.write_u16(5).await?;
/// sink.write_all(b"hello").await?;
/// sink.flush().await?;
/// assert_eq!(sink.into_inner(), b"\x00\x05hello");
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub trait AsyncWriteExt: AsyncWrite {
    /// Writes bytes from `buf`, and returns how many were written.
    ///
    /// It waits until the writer takes at least one byte. A return value of 0 means that the writer takes
    /// no more bytes, or that `buf` is empty. To write all of `buf`, use
    /// [`write_all`](AsyncWriteExt::write_all).
    ///
    /// # Errors
    /// Any error of the writer, [`Interrupted`](std::io::ErrorKind::Interrupted) included. No bytes were
    /// written then.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if it is dropped before it is ready, no bytes were written.
    ///
    /// # Examples
    /// ```
    /// use std::io::Cursor;
    /// use tress::io::AsyncWriteExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut space = [0; 3];
    /// let mut sink = Cursor::new(&mut space[..]);
    /// assert_eq!(sink.write(b"hello").await?, 3);
    /// assert_eq!(sink.write(b"lo").await?, 0);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    fn write<'a>(&'a mut self, buf: &'a [u8]) -> Operation<'a, Self, Write<'a>>
    where
        Self: Unpin,
    {
        Operation::new(self, Write::new(buf))
    }

    /// Writes bytes from several buffers in order, and returns how many were written.
    ///
    /// The last buffer that is used may be written only in part. A writer that cannot write from several
    /// buffers at once writes from the first one that is not empty: see
    /// [`is_write_vectored`](AsyncWrite::is_write_vectored).
    ///
    /// # Errors
    /// Any error of the writer, [`Interrupted`](std::io::ErrorKind::Interrupted) included. No bytes were
    /// written then.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if it is dropped before it is ready, no bytes were written.
    ///
    /// # Examples
    /// ```
    /// use std::io::IoSlice;
    /// use tress::io::AsyncWriteExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut sink = Vec::new();
    /// let n = sink.write_vectored(&[IoSlice::new(b"hello"), IoSlice::new(b" world")]).await?;
    /// assert_eq!(n, 11);
    /// assert_eq!(sink, b"hello world");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    fn write_vectored<'a, 'b>(
        &'a mut self,
        bufs: &'a [IoSlice<'b>],
    ) -> Operation<'a, Self, WriteVectored<'a, 'b>>
    where
        Self: Unpin,
    {
        Operation::new(self, WriteVectored::new(bufs))
    }

    /// Writes bytes from `buf`, advances it by them, and returns how many they were.
    ///
    /// If `buf` consists of several pieces, and the writer can write from several buffers at once, up to 64
    /// of them are written together. A return value of 0 means that the writer takes no more bytes, or that
    /// `buf` is empty.
    ///
    /// # Errors
    /// Any error of the writer, [`Interrupted`](std::io::ErrorKind::Interrupted) included. No bytes were
    /// written then.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if it is dropped before it is ready, no bytes were written, and `buf`
    /// has not moved.
    ///
    /// # Examples
    /// ```
    /// use std::io::Cursor;
    /// use tress::io::AsyncWriteExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut space = [0; 3];
    /// let mut sink = Cursor::new(&mut space[..]);
    /// let mut buf = bytes::Bytes::from("hello");
    /// assert_eq!(sink.write_buf(&mut buf).await?, 3);
    /// assert_eq!(buf, "lo");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[cfg(feature = "bytes")]
    fn write_buf<'a, B>(&'a mut self, buf: &'a mut B) -> Operation<'a, Self, WriteFrom<'a, B>>
    where
        Self: Sized + Unpin,
        B: bytes::Buf,
    {
        Operation::new(self, WriteFrom::new(buf))
    }

    /// Writes all of `buf`, and advances it on the way.
    ///
    /// If `buf` consists of several pieces, and the writer can write from several buffers at once, up to 64
    /// of them are written together.
    ///
    /// # Errors
    /// - [`WriteZero`](std::io::ErrorKind::WriteZero) if the writer takes no more bytes.
    /// - Any error of the writer except [`Interrupted`](std::io::ErrorKind::Interrupted), after which it
    ///   tries again.
    ///
    /// After an error `buf` holds what remains to be written.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if it is dropped, `buf` holds what remains to be written, and another
    /// call goes on from there.
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncWriteExt;
    /// use bytes::{Buf, Bytes};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut sink = Vec::new();
    /// let mut buf = Bytes::from("hello ").chain(Bytes::from("world"));
    /// sink.write_all_buf(&mut buf).await?;
    /// assert_eq!(sink, b"hello world");
    /// assert!(!buf.has_remaining());
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[cfg(feature = "bytes")]
    fn write_all_buf<'a, B>(
        &'a mut self,
        buf: &'a mut B,
    ) -> Operation<'a, Self, WriteAllFrom<'a, B>>
    where
        Self: Sized + Unpin,
        B: bytes::Buf,
    {
        Operation::new(self, WriteAllFrom::new(buf))
    }

    /// Writes all of `buf`.
    ///
    /// # Errors
    /// - [`WriteZero`](std::io::ErrorKind::WriteZero) if the writer takes no more bytes.
    /// - Any error of the writer except [`Interrupted`](std::io::ErrorKind::Interrupted), after which it
    ///   tries again.
    ///
    /// After an error it is unknown how many bytes were written.
    ///
    /// # Cancel safety
    /// This method is not cancel safe: if it is dropped, a part of `buf` may have been written, and it is
    /// unknown how long that is. With `write_all_buf` (feature `bytes`) the buffer shows it.
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncWriteExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut sink = Vec::new();
    /// sink.write_all(b"hello").await?;
    /// assert_eq!(sink, b"hello");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    fn write_all<'a>(&'a mut self, buf: &'a [u8]) -> Operation<'a, Self, WriteAll<'a>>
    where
        Self: Unpin,
    {
        Operation::new(self, WriteAll::new(buf))
    }

    /// Brings everything that was written to its destination, out of any buffer on the way.
    ///
    /// A [`BufWriter`](super::BufWriter) needs it before it is dropped. For a file it waits until earlier
    /// writes are done. For sockets, which have no buffer of their own in the process, it does nothing.
    ///
    /// # Errors
    /// Any error of the writer, including errors of earlier writes that it could not report before.
    ///
    /// # Cancel safety
    /// This method is cancel safe: what was not flushed stays in the buffer, and another call goes on from
    /// there.
    ///
    /// # Examples
    /// ```
    /// use tress::io::{AsyncWriteExt, BufWriter};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut sink = BufWriter::new(Vec::new());
    /// sink.write_all(b"hello").await?;
    /// assert_eq!(sink.get_ref(), b"");
    /// sink.flush().await?;
    /// assert_eq!(sink.get_ref(), b"hello");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    fn flush(&mut self) -> Operation<'_, Self, Flush>
    where
        Self: Unpin,
    {
        Operation::new(self, Flush)
    }

    /// Flushes, and shuts down the writing side in an orderly way.
    ///
    /// A peer that reads sees the end of the stream. Writing afterwards is an error for most writers.
    ///
    /// # Errors
    /// Any error of the writer, including those of the flush.
    ///
    /// # Cancel safety
    /// This method is cancel safe: another call goes on with it. Write nothing in between.
    ///
    /// # Examples
    /// ```
    /// use tress::io::{AsyncReadExt, AsyncWriteExt};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (mut here, mut there) = tress::io::duplex(64);
    /// here.write_all(b"goodbye").await?;
    /// here.shutdown().await?;
    /// let mut text = String::new();
    /// there.read_to_string(&mut text).await?;
    /// assert_eq!(text, "goodbye");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    fn shutdown(&mut self) -> Operation<'_, Self, Shutdown>
    where
        Self: Unpin,
    {
        Operation::new(self, Shutdown)
    }

    numbers! {
        write_u8: u8, to_be_bytes, "an unsigned 8-bit integer", "200" => "[200]";
        write_i8: i8, to_be_bytes, "a signed 8-bit integer", "-56" => "[200]";
        write_u16: u16, to_be_bytes, "an unsigned 16-bit integer, big-endian", "0x0102" => "[1, 2]";
        write_i16: i16, to_be_bytes, "a signed 16-bit integer, big-endian", "-2" => "[255, 254]";
        write_u32: u32, to_be_bytes, "an unsigned 32-bit integer, big-endian", "0x0102_0304" => "[1, 2, 3, 4]";
        write_i32: i32, to_be_bytes, "a signed 32-bit integer, big-endian", "-2" => "[255, 255, 255, 254]";
        write_u64: u64, to_be_bytes, "an unsigned 64-bit integer, big-endian", "258" => "[0, 0, 0, 0, 0, 0, 1, 2]";
        write_i64: i64, to_be_bytes, "a signed 64-bit integer, big-endian", "-2" => "[255, 255, 255, 255, 255, 255, 255, 254]";
        write_u128: u128, to_be_bytes, "an unsigned 128-bit integer, big-endian", "258" => "258_u128.to_be_bytes()";
        write_i128: i128, to_be_bytes, "a signed 128-bit integer, big-endian", "-2" => "(-2_i128).to_be_bytes()";
        write_f32: f32, to_be_bytes, "a 32-bit floating-point number, big-endian", "1.5" => "[0x3F, 0xC0, 0, 0]";
        write_f64: f64, to_be_bytes, "a 64-bit floating-point number, big-endian", "1.5" => "[0x3F, 0xF8, 0, 0, 0, 0, 0, 0]";
        write_u16_le: u16, to_le_bytes, "an unsigned 16-bit integer, little-endian", "0x0201" => "[1, 2]";
        write_i16_le: i16, to_le_bytes, "a signed 16-bit integer, little-endian", "-2" => "[254, 255]";
        write_u32_le: u32, to_le_bytes, "an unsigned 32-bit integer, little-endian", "0x0403_0201" => "[1, 2, 3, 4]";
        write_i32_le: i32, to_le_bytes, "a signed 32-bit integer, little-endian", "-2" => "[254, 255, 255, 255]";
        write_u64_le: u64, to_le_bytes, "an unsigned 64-bit integer, little-endian", "258" => "[2, 1, 0, 0, 0, 0, 0, 0]";
        write_i64_le: i64, to_le_bytes, "a signed 64-bit integer, little-endian", "-2" => "[254, 255, 255, 255, 255, 255, 255, 255]";
        write_u128_le: u128, to_le_bytes, "an unsigned 128-bit integer, little-endian", "258" => "258_u128.to_le_bytes()";
        write_i128_le: i128, to_le_bytes, "a signed 128-bit integer, little-endian", "-2" => "(-2_i128).to_le_bytes()";
        write_f32_le: f32, to_le_bytes, "a 32-bit floating-point number, little-endian", "1.5" => "[0, 0, 0xC0, 0x3F]";
        write_f64_le: f64, to_le_bytes, "a 64-bit floating-point number, little-endian", "1.5" => "[0, 0, 0, 0, 0, 0, 0xF8, 0x3F]";
    }
}

impl<W: AsyncWrite + ?Sized> AsyncWriteExt for W {}
