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

/// The methods that read numbers: name, type, how it is made from bytes, and the words for it.
macro_rules! numbers {
    ($($name:ident: $type:ident, $from:ident, $words:literal, $example:literal => $value:literal;)*) => {
        $(
            #[doc = concat!("Reads ", $words, ".")]
            ///
            /// ```
            /// use tress::io::AsyncReadExt;
            ///
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            #[doc = concat!("let mut source: &[u8] = &", $example, ";")]
            #[doc = concat!("assert_eq!(source.", stringify!($name), "().await?, ", $value, ");")]
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            ///
            /// # Errors
            /// As [`read_exact`](AsyncReadExt::read_exact).
            ///
            /// # Cancel safety
            /// Not cancel safe: bytes that it has read already are lost.
            fn $name(&mut self) -> Operation<'_, Self, ReadNumber<$type, { size_of::<$type>() }>>
            where
                Self: Unpin,
            {
                Operation::new(self, ReadNumber::new($type::$from))
            }
        )*
    };
}

/// What can be done with everything that is [`AsyncRead`].
///
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
    /// Reads all of this, then all of `next`.
    ///
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

    /// Reads at most `limit` bytes, then is at its end.
    ///
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

    /// Reads some bytes into `buf` and returns how many.
    ///
    /// None means that the source is at its end, or that `buf` is empty. Fewer than fit do not mean
    /// the end.
    ///
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
    ///
    /// # Errors
    /// Those of the source. Nothing was read then.
    ///
    /// # Cancel safety
    /// Cancel safe: if it is dropped before it is ready, nothing was read.
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> Operation<'a, Self, Read<'a>>
    where
        Self: Unpin,
    {
        Operation::new(self, Read::new(buf))
    }

    /// Reads some bytes into `buf`, behind what is in it, and returns how many.
    ///
    /// None means that the source is at its end, or that `buf` cannot take any more. A buffer that
    /// grows, such as a `Vec`, can always take more.
    ///
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
    ///
    /// # Errors
    /// Those of the source. Nothing was read then.
    ///
    /// # Cancel safety
    /// Cancel safe: if it is dropped before it is ready, nothing was read.
    #[cfg(feature = "bytes")]
    fn read_buf<'a, B>(&'a mut self, buf: &'a mut B) -> Operation<'a, Self, ReadInto<'a, B>>
    where
        Self: Unpin,
        B: bytes::BufMut + ?Sized,
    {
        Operation::new(self, ReadInto::new(buf))
    }

    /// Fills all of `buf`, and returns its length.
    ///
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
    ///
    /// # Errors
    /// [`UnexpectedEof`](std::io::ErrorKind::UnexpectedEof) if the source ends before that, or an
    /// error of the source other than `Interrupted`, after which it tries again. How much was read
    /// into `buf` is not told.
    ///
    /// # Cancel safety
    /// Not cancel safe: what it has read is in `buf`, but not how much that is.
    fn read_exact<'a>(&'a mut self, buf: &'a mut [u8]) -> Operation<'a, Self, ReadExact<'a>>
    where
        Self: Unpin,
    {
        Operation::new(self, ReadExact::new(buf))
    }

    /// Reads all there is, appends it to `buf`, and returns how much it was.
    ///
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
    ///
    /// # Errors
    /// Those of the source, except `Interrupted`, after which it tries again. What was read before
    /// is in `buf`.
    ///
    /// # Cancel safety
    /// If it is dropped, what was read is in `buf`, and another call goes on from there.
    fn read_to_end<'a>(&'a mut self, buf: &'a mut Vec<u8>) -> Operation<'a, Self, ReadToEnd<'a>>
    where
        Self: Unpin,
    {
        Operation::new(self, ReadToEnd::new(buf))
    }

    /// Reads all there is, appends it to `text`, and returns how many bytes it was.
    ///
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
    ///
    /// # Errors
    /// [`InvalidData`](std::io::ErrorKind::InvalidData) if it is not UTF-8, or an error of the source
    /// other than `Interrupted`. `text` is then as it was.
    ///
    /// # Cancel safety
    /// Not cancel safe: if it is dropped, `text` is as it was, and what was read is lost.
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
        read_u8: u8, from_be_bytes, "an unsigned byte", "[200, 1]" => "200";
        read_i8: i8, from_be_bytes, "a signed byte", "[200, 1]" => "-56";
        read_u16: u16, from_be_bytes, "an unsigned number of 16 bits, big-endian", "[1, 2]" => "0x0102";
        read_i16: i16, from_be_bytes, "a signed number of 16 bits, big-endian", "[255, 254]" => "-2";
        read_u32: u32, from_be_bytes, "an unsigned number of 32 bits, big-endian", "[1, 2, 3, 4]" => "0x0102_0304";
        read_i32: i32, from_be_bytes, "a signed number of 32 bits, big-endian", "[255, 255, 255, 254]" => "-2";
        read_u64: u64, from_be_bytes, "an unsigned number of 64 bits, big-endian", "[0, 0, 0, 0, 0, 0, 1, 2]" => "258";
        read_i64: i64, from_be_bytes, "a signed number of 64 bits, big-endian", "[255, 255, 255, 255, 255, 255, 255, 254]" => "-2";
        read_u128: u128, from_be_bytes, "an unsigned number of 128 bits, big-endian", "258_u128.to_be_bytes()" => "258";
        read_i128: i128, from_be_bytes, "a signed number of 128 bits, big-endian", "(-2_i128).to_be_bytes()" => "-2";
        read_f32: f32, from_be_bytes, "a floating point number of 32 bits, big-endian", "[0x3F, 0xC0, 0, 0]" => "1.5";
        read_f64: f64, from_be_bytes, "a floating point number of 64 bits, big-endian", "[0x3F, 0xF8, 0, 0, 0, 0, 0, 0]" => "1.5";
        read_u16_le: u16, from_le_bytes, "an unsigned number of 16 bits, little-endian", "[1, 2]" => "0x0201";
        read_i16_le: i16, from_le_bytes, "a signed number of 16 bits, little-endian", "[254, 255]" => "-2";
        read_u32_le: u32, from_le_bytes, "an unsigned number of 32 bits, little-endian", "[1, 2, 3, 4]" => "0x0403_0201";
        read_i32_le: i32, from_le_bytes, "a signed number of 32 bits, little-endian", "[254, 255, 255, 255]" => "-2";
        read_u64_le: u64, from_le_bytes, "an unsigned number of 64 bits, little-endian", "[2, 1, 0, 0, 0, 0, 0, 0]" => "258";
        read_i64_le: i64, from_le_bytes, "a signed number of 64 bits, little-endian", "[254, 255, 255, 255, 255, 255, 255, 255]" => "-2";
        read_u128_le: u128, from_le_bytes, "an unsigned number of 128 bits, little-endian", "258_u128.to_le_bytes()" => "258";
        read_i128_le: i128, from_le_bytes, "a signed number of 128 bits, little-endian", "(-2_i128).to_le_bytes()" => "-2";
        read_f32_le: f32, from_le_bytes, "a floating point number of 32 bits, little-endian", "[0, 0, 0xC0, 0x3F]" => "1.5";
        read_f64_le: f64, from_le_bytes, "a floating point number of 64 bits, little-endian", "[0, 0, 0, 0, 0, 0, 0xF8, 0x3F]" => "1.5";
    }
}

impl<R: AsyncRead + ?Sized> AsyncReadExt for R {}
