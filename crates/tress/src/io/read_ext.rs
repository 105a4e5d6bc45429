use super::operation::Operation;
use super::{AsyncRead, Chain, Take};

#[cfg(feature = "bytes")]
mod buf;
mod exact;
mod number;
mod some;
mod to_end;
mod to_string;

#[cfg(feature = "bytes")]
pub use buf::ReadInto;
pub use exact::ReadExact;
pub use number::ReadNumber;
pub use some::Read;
pub use to_end::ReadToEnd;
pub use to_string::ReadToString;

/// Defines the methods that read numbers, by name, type, conversion from bytes, and words for the summary
/// line.
macro_rules! numbers {
    ($($name:ident: $type:ident, $from:ident, $words:literal, $example:literal => $value:literal;)*) => {
        $(
            #[doc = concat!("Reads ", $words, ".")]
            ///
            /// # Errors
            /// - [`UnexpectedEof`](std::io::ErrorKind::UnexpectedEof) if the reader ends before the last byte.
            /// - Any error of the reader except [`Interrupted`](std::io::ErrorKind::Interrupted), after which it
            ///   tries again.
            ///
            /// # Cancel safety
            /// This method is not cancel safe: if it is dropped, bytes of the number that were read are lost.
            ///
            /// # Examples
            /// ```
            /// use tress::io::AsyncReadExt;
            ///
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            #[doc = concat!("let mut source: &[u8] = &", $example, ";")]
            #[doc = concat!("assert_eq!(source.", stringify!($name), "().await?, ", $value, ");")]
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            fn $name(&mut self) -> Operation<'_, Self, ReadNumber<$type, { size_of::<$type>() }>>
            where
                Self: Unpin,
            {
                Operation::new(self, ReadNumber::new($type::$from))
            }
        )*
    };
}

/// Methods for reading, available on every [`AsyncRead`].
///
/// Bring the trait into scope to call them. All but [`chain`](AsyncReadExt::chain) and
/// [`take`](AsyncReadExt::take) return futures that do nothing unless awaited.
///
/// | method | reads | when it is dropped |
/// |---|---|---|
/// | [`read`](AsyncReadExt::read), `read_buf` | what is there, at least one byte | nothing is lost |
/// | [`read_exact`](AsyncReadExt::read_exact), [`read_u8`](AsyncReadExt::read_u8) … | a fixed number of bytes | bytes may be lost |
/// | [`read_to_end`](AsyncReadExt::read_to_end) | everything, into a `Vec<u8>` | nothing is lost |
/// | [`read_to_string`](AsyncReadExt::read_to_string) | everything, into a `String` | bytes may be lost |
///
/// # Examples
/// ```
/// use tress::io::AsyncReadExt;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mut source: &[u8] = b"\x00\x05hello, world";
/// let len = source.read_u16().await?;
/// let mut greeting = vec![0; len.into()];
/// source.read_exact(&mut greeting).await?;
/// assert_eq!(greeting, b"hello");
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub trait AsyncReadExt: AsyncRead {
    /// Creates a reader that reads all of this one, and then all of `next`.
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncReadExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut both = (&b"hello "[..]).chain(&b"world"[..]);
    /// let mut text = String::new();
    /// both.read_to_string(&mut text).await?;
    /// assert_eq!(text, "hello world");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    fn chain<R>(self, next: R) -> Chain<Self, R>
    where
        Self: Sized,
        R: AsyncRead,
    {
        Chain::new(self, next)
    }

    /// Creates a reader that reads at most `limit` bytes of this one and is then at its end.
    ///
    /// Take it of a mutable reference to go on with the rest afterwards.
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncReadExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut source: &[u8] = b"hello world";
    /// let mut text = String::new();
    /// (&mut source).take(5).read_to_string(&mut text).await?;
    /// assert_eq!(text, "hello");
    /// assert_eq!(source, b" world");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    fn take(self, limit: u64) -> Take<Self>
    where
        Self: Sized,
    {
        Take::new(self, limit)
    }

    /// Reads bytes into `buf`, and returns how many were read.
    ///
    /// It waits until there is at least one byte, and returns with what is there then. A return value of 0
    /// means that the reader is at its end, or that `buf` is empty. Fewer bytes than fit do not mean the
    /// end; to fill all of `buf`, use [`read_exact`](AsyncReadExt::read_exact).
    ///
    /// # Errors
    /// Any error of the reader, [`Interrupted`](std::io::ErrorKind::Interrupted) included. No bytes were
    /// read then.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if it is dropped before it is ready, no bytes were read.
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncReadExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut source: &[u8] = b"hello";
    /// let mut buf = [0; 8];
    /// let n = source.read(&mut buf).await?;
    /// assert_eq!(&buf[..n], b"hello");
    /// assert_eq!(source.read(&mut buf).await?, 0);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> Operation<'a, Self, Read<'a>>
    where
        Self: Unpin,
    {
        Operation::new(self, Read::new(buf))
    }

    /// Reads bytes into `buf`, behind what is in it, and returns how many were read.
    ///
    /// The buffer is advanced by the bytes that were read. A return value of 0 means that the reader is at
    /// its end, or that `buf` has no room left. A buffer that grows, such as a `Vec<u8>` or a `BytesMut`,
    /// always has room.
    ///
    /// # Errors
    /// Any error of the reader, [`Interrupted`](std::io::ErrorKind::Interrupted) included. No bytes were
    /// read then.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if it is dropped before it is ready, no bytes were read.
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncReadExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut source: &[u8] = b"hello";
    /// let mut buf = bytes::BytesMut::with_capacity(64);
    /// while source.read_buf(&mut buf).await? != 0 {}
    /// assert_eq!(&buf[..], b"hello");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[cfg(feature = "bytes")]
    fn read_buf<'a, B>(&'a mut self, buf: &'a mut B) -> Operation<'a, Self, ReadInto<'a, B>>
    where
        Self: Unpin,
        B: bytes::BufMut + ?Sized,
    {
        Operation::new(self, ReadInto::new(buf))
    }

    /// Reads until `buf` is full, and returns its length.
    ///
    /// # Errors
    /// - [`UnexpectedEof`](std::io::ErrorKind::UnexpectedEof) if the reader ends before `buf` is full.
    /// - Any error of the reader except [`Interrupted`](std::io::ErrorKind::Interrupted), after which it
    ///   tries again.
    ///
    /// After an error the contents of `buf` are unspecified, and it is unknown how many bytes were read.
    ///
    /// # Cancel safety
    /// This method is not cancel safe: if it is dropped, the bytes that it has read are in `buf`, but it is
    /// unknown how many they are.
    ///
    /// # Examples
    /// ```
    /// use std::io::ErrorKind;
    /// use tress::io::AsyncReadExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut source: &[u8] = b"hello";
    /// let mut buf = [0; 4];
    /// source.read_exact(&mut buf).await?;
    /// assert_eq!(&buf, b"hell");
    /// let error = source.read_exact(&mut buf).await.unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    fn read_exact<'a>(&'a mut self, buf: &'a mut [u8]) -> Operation<'a, Self, ReadExact<'a>>
    where
        Self: Unpin,
    {
        Operation::new(self, ReadExact::new(buf))
    }

    /// Reads to the end, appends all bytes to `buf`, and returns how many were read.
    ///
    /// A `buf` whose capacity is exactly enough does not grow.
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
    /// use tress::io::AsyncReadExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut source: &[u8] = b"world";
    /// let mut buf = b"hello ".to_vec();
    /// assert_eq!(source.read_to_end(&mut buf).await?, 5);
    /// assert_eq!(buf, b"hello world");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    fn read_to_end<'a>(&'a mut self, buf: &'a mut Vec<u8>) -> Operation<'a, Self, ReadToEnd<'a>>
    where
        Self: Unpin,
    {
        Operation::new(self, ReadToEnd::new(buf))
    }

    /// Reads to the end, appends all bytes to `text`, and returns how many were read.
    ///
    /// # Errors
    /// - [`InvalidData`](std::io::ErrorKind::InvalidData) if the bytes are not UTF-8.
    /// - Any error of the reader except [`Interrupted`](std::io::ErrorKind::Interrupted), after which it
    ///   tries again.
    ///
    /// After an error `text` is as it was before the call; bytes that were read are lost.
    ///
    /// # Cancel safety
    /// This method is not cancel safe: if it is dropped, `text` is as it was before the call, and bytes
    /// that were read are lost. Use [`read_to_end`](AsyncReadExt::read_to_end) and convert the bytes to
    /// avoid that.
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncReadExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut source: &[u8] = "grün".as_bytes();
    /// let mut text = String::from("Laub: ");
    /// assert_eq!(source.read_to_string(&mut text).await?, 5);
    /// assert_eq!(text, "Laub: grün");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    fn read_to_string<'a>(
        &'a mut self,
        text: &'a mut String,
    ) -> Operation<'a, Self, ReadToString<'a>>
    where
        Self: Unpin,
    {
        Operation::new(self, ReadToString::new(text))
    }

    numbers! {
        read_u8: u8, from_be_bytes, "an unsigned 8-bit integer", "[200, 1]" => "200";
        read_i8: i8, from_be_bytes, "a signed 8-bit integer", "[200, 1]" => "-56";
        read_u16: u16, from_be_bytes, "an unsigned 16-bit integer, big-endian", "[1, 2]" => "0x0102";
        read_i16: i16, from_be_bytes, "a signed 16-bit integer, big-endian", "[255, 254]" => "-2";
        read_u32: u32, from_be_bytes, "an unsigned 32-bit integer, big-endian", "[1, 2, 3, 4]" => "0x0102_0304";
        read_i32: i32, from_be_bytes, "a signed 32-bit integer, big-endian", "[255, 255, 255, 254]" => "-2";
        read_u64: u64, from_be_bytes, "an unsigned 64-bit integer, big-endian", "[0, 0, 0, 0, 0, 0, 1, 2]" => "258";
        read_i64: i64, from_be_bytes, "a signed 64-bit integer, big-endian", "[255, 255, 255, 255, 255, 255, 255, 254]" => "-2";
        read_u128: u128, from_be_bytes, "an unsigned 128-bit integer, big-endian", "258_u128.to_be_bytes()" => "258";
        read_i128: i128, from_be_bytes, "a signed 128-bit integer, big-endian", "(-2_i128).to_be_bytes()" => "-2";
        read_f32: f32, from_be_bytes, "a 32-bit floating-point number, big-endian", "[0x3F, 0xC0, 0, 0]" => "1.5";
        read_f64: f64, from_be_bytes, "a 64-bit floating-point number, big-endian", "[0x3F, 0xF8, 0, 0, 0, 0, 0, 0]" => "1.5";
        read_u16_le: u16, from_le_bytes, "an unsigned 16-bit integer, little-endian", "[1, 2]" => "0x0201";
        read_i16_le: i16, from_le_bytes, "a signed 16-bit integer, little-endian", "[254, 255]" => "-2";
        read_u32_le: u32, from_le_bytes, "an unsigned 32-bit integer, little-endian", "[1, 2, 3, 4]" => "0x0403_0201";
        read_i32_le: i32, from_le_bytes, "a signed 32-bit integer, little-endian", "[254, 255, 255, 255]" => "-2";
        read_u64_le: u64, from_le_bytes, "an unsigned 64-bit integer, little-endian", "[2, 1, 0, 0, 0, 0, 0, 0]" => "258";
        read_i64_le: i64, from_le_bytes, "a signed 64-bit integer, little-endian", "[254, 255, 255, 255, 255, 255, 255, 255]" => "-2";
        read_u128_le: u128, from_le_bytes, "an unsigned 128-bit integer, little-endian", "258_u128.to_le_bytes()" => "258";
        read_i128_le: i128, from_le_bytes, "a signed 128-bit integer, little-endian", "(-2_i128).to_le_bytes()" => "-2";
        read_f32_le: f32, from_le_bytes, "a 32-bit floating-point number, little-endian", "[0, 0, 0xC0, 0x3F]" => "1.5";
        read_f64_le: f64, from_le_bytes, "a 64-bit floating-point number, little-endian", "[0, 0, 0, 0, 0, 0, 0xF8, 0x3F]" => "1.5";
    }
}

impl<R: AsyncRead + ?Sized> AsyncReadExt for R {}
