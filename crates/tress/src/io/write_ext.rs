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

/// The methods that write numbers: name, type, how bytes are made from it, and the words for it.
macro_rules! numbers {
    ($($name:ident: $type:ident, $to:ident, $words:literal, $value:literal => $example:literal;)*) => {
        $(
            #[doc = concat!("Writes ", $words, ".")]
            ///
            /// ```
            /// use tress::io::AsyncWriteExt;
            ///
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            /// let mut sink = Vec::new();
            #[doc = concat!("sink.", stringify!($name), "(", $value, ").await?;")]
            #[doc = concat!("assert_eq!(sink, ", $example, ");")]
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            ///
            /// # Errors
            /// As [`write_all`](AsyncWriteExt::write_all).
            ///
            /// # Cancel safety
            /// Not cancel safe: some of its bytes may have been written.
            fn $name(&mut self, n: $type) -> Operation<'_, Self, WriteNumber<{ size_of::<$type>() }>>
            where
                Self: Unpin,
            {
                Operation::new(self, WriteNumber::new(n.$to()))
            }
        )*
    };
}

/// What can be done with everything that is [`AsyncWrite`].
///
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
    /// Writes some of `buf` and returns how much.
    ///
    /// Nothing means that the sink takes no more bytes, or that `buf` is empty. If all must be
    /// written, [`write_all`](AsyncWriteExt::write_all) does that.
    ///
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
    ///
    /// # Errors
    /// Those of the sink. Nothing was written then.
    ///
    /// # Cancel safety
    /// Cancel safe: if it is dropped before it is ready, nothing was written.
    fn write<'a>(&'a mut self, buf: &'a [u8]) -> Operation<'a, Self, Write<'a>>
    where
        Self: Unpin,
    {
        Operation::new(self, Write::new(buf))
    }

    /// As [`write`](AsyncWriteExt::write), from several buffers in order.
    ///
    /// A sink that cannot do that writes from the first one that is not empty;
    /// [`is_write_vectored`](AsyncWrite::is_write_vectored) tells.
    ///
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
    ///
    /// # Errors
    /// Those of the sink. Nothing was written then.
    ///
    /// # Cancel safety
    /// Cancel safe: if it is dropped before it is ready, nothing was written.
    fn write_vectored<'a, 'b>(
        &'a mut self,
        bufs: &'a [IoSlice<'b>],
    ) -> Operation<'a, Self, WriteVectored<'a, 'b>>
    where
        Self: Unpin,
    {
        Operation::new(self, WriteVectored::new(bufs))
    }

    /// Writes some of `buf`, advances it by that, and returns how much it was.
    ///
    /// If the sink can write from several buffers at once, and `buf` consists of several, it does.
    ///
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
    ///
    /// # Errors
    /// Those of the sink. Nothing was written then.
    ///
    /// # Cancel safety
    /// Cancel safe: `buf` tells what was written.
    #[cfg(feature = "bytes")]
    fn write_buf<'a, B>(&'a mut self, buf: &'a mut B) -> Operation<'a, Self, WriteFrom<'a, B>>
    where
        Self: Sized + Unpin,
        B: bytes::Buf,
    {
        Operation::new(self, WriteFrom::new(buf))
    }

    /// Writes all of `buf`, advancing it on the way.
    ///
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
    ///
    /// # Errors
    /// As [`write_all`](AsyncWriteExt::write_all); `buf` is what remains to be written.
    ///
    /// # Cancel safety
    /// Cancel safe: `buf` is what remains to be written, and another call goes on from there.
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
    /// ```
    /// use tress::io::AsyncWriteExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut sink = Vec::new();
    /// sink.write_all(b"hello").await?;
    /// assert_eq!(sink, b"hello");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`WriteZero`](std::io::ErrorKind::WriteZero) if the sink takes no more bytes, or an error of
    /// the sink other than `Interrupted`, after which it tries again. How much was written is not
    /// told.
    ///
    /// # Cancel safety
    /// Not cancel safe: some of `buf` may have been written, and it does not tell how much. With
    /// `write_all_buf` (feature `bytes`) the buffer tells.
    fn write_all<'a>(&'a mut self, buf: &'a [u8]) -> Operation<'a, Self, WriteAll<'a>>
    where
        Self: Unpin,
    {
        Operation::new(self, WriteAll::new(buf))
    }

    /// Brings everything that was written to where it belongs, if it is still in a buffer.
    ///
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
    ///
    /// # Cancel safety
    /// Cancel safe: what was not flushed stays in the buffer, and another call goes on from there.
    fn flush(&mut self) -> Operation<'_, Self, Flush>
    where
        Self: Unpin,
    {
        Operation::new(self, Flush)
    }

    /// Flushes, and ends the writing side in an orderly way.
    ///
    /// A peer that reads sees the end of the stream.
    ///
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
    ///
    /// # Cancel safety
    /// Cancel safe: another call goes on with it. Nothing should be written in between.
    fn shutdown(&mut self) -> Operation<'_, Self, Shutdown>
    where
        Self: Unpin,
    {
        Operation::new(self, Shutdown)
    }

    numbers! {
        write_u8: u8, to_be_bytes, "an unsigned byte", "200" => "[200]";
        write_i8: i8, to_be_bytes, "a signed byte", "-56" => "[200]";
        write_u16: u16, to_be_bytes, "an unsigned number of 16 bits, big-endian", "0x0102" => "[1, 2]";
        write_i16: i16, to_be_bytes, "a signed number of 16 bits, big-endian", "-2" => "[255, 254]";
        write_u32: u32, to_be_bytes, "an unsigned number of 32 bits, big-endian", "0x0102_0304" => "[1, 2, 3, 4]";
        write_i32: i32, to_be_bytes, "a signed number of 32 bits, big-endian", "-2" => "[255, 255, 255, 254]";
        write_u64: u64, to_be_bytes, "an unsigned number of 64 bits, big-endian", "258" => "[0, 0, 0, 0, 0, 0, 1, 2]";
        write_i64: i64, to_be_bytes, "a signed number of 64 bits, big-endian", "-2" => "[255, 255, 255, 255, 255, 255, 255, 254]";
        write_u128: u128, to_be_bytes, "an unsigned number of 128 bits, big-endian", "258" => "258_u128.to_be_bytes()";
        write_i128: i128, to_be_bytes, "a signed number of 128 bits, big-endian", "-2" => "(-2_i128).to_be_bytes()";
        write_f32: f32, to_be_bytes, "a floating point number of 32 bits, big-endian", "1.5" => "[0x3F, 0xC0, 0, 0]";
        write_f64: f64, to_be_bytes, "a floating point number of 64 bits, big-endian", "1.5" => "[0x3F, 0xF8, 0, 0, 0, 0, 0, 0]";
        write_u16_le: u16, to_le_bytes, "an unsigned number of 16 bits, little-endian", "0x0201" => "[1, 2]";
        write_i16_le: i16, to_le_bytes, "a signed number of 16 bits, little-endian", "-2" => "[254, 255]";
        write_u32_le: u32, to_le_bytes, "an unsigned number of 32 bits, little-endian", "0x0403_0201" => "[1, 2, 3, 4]";
        write_i32_le: i32, to_le_bytes, "a signed number of 32 bits, little-endian", "-2" => "[254, 255, 255, 255]";
        write_u64_le: u64, to_le_bytes, "an unsigned number of 64 bits, little-endian", "258" => "[2, 1, 0, 0, 0, 0, 0, 0]";
        write_i64_le: i64, to_le_bytes, "a signed number of 64 bits, little-endian", "-2" => "[254, 255, 255, 255, 255, 255, 255, 255]";
        write_u128_le: u128, to_le_bytes, "an unsigned number of 128 bits, little-endian", "258" => "258_u128.to_le_bytes()";
        write_i128_le: i128, to_le_bytes, "a signed number of 128 bits, little-endian", "-2" => "(-2_i128).to_le_bytes()";
        write_f32_le: f32, to_le_bytes, "a floating point number of 32 bits, little-endian", "1.5" => "[0, 0, 0xC0, 0x3F]";
        write_f64_le: f64, to_le_bytes, "a floating point number of 64 bits, little-endian", "1.5" => "[0, 0, 0, 0, 0, 0, 0xF8, 0x3F]";
    }
}

impl<W: AsyncWrite + ?Sized> AsyncWriteExt for W {}
