use super::transfer::{DEFAULT_BUF_SIZE, Transfer};
use super::{AsyncRead, AsyncWrite};
use std::future::poll_fn;
use std::io;
use std::pin::Pin;

/// Copies all bytes of `reader` to `writer`, and returns how many they were.
///
/// It reads and writes through a buffer of 8 KiB. The writer is flushed at the end, and whenever the reader
/// has nothing more for the moment. A reader with a buffer of its own is copied without this one by
/// [`copy_buf`](super::copy_buf()).
///
/// # Errors
/// - Any error of either, except [`Interrupted`](io::ErrorKind::Interrupted), after which it tries again.
///   Bytes that were read before an error of the reader have been written.
/// - [`WriteZero`](io::ErrorKind::WriteZero) if the writer takes no more bytes.
///
/// # Cancel safety
/// This function is not cancel safe: if it is dropped, bytes in the buffer are lost.
/// [`copy_buf`](super::copy_buf()) leaves them in the reader.
///
/// # Examples
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mut reader: &[u8] = b"hello";
/// let mut writer = Vec::new();
/// assert_eq!(tress::io::copy(&mut reader, &mut writer).await?, 5);
/// assert_eq!(writer, b"hello");
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
///
/// To report progress, copy a part at a time:
/// ```
/// use tress::io::{AsyncReadExt, copy};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// # let (mut reader, mut writer) = (&[0_u8; 1000][..], Vec::new());
/// let mut done = 0;
/// loop {
///     let part = copy(&mut (&mut reader).take(256), &mut writer).await?;
///     if part == 0 {
///         break;
///     }
///     done += part;
///     println!("{done} bytes");
/// }
/// # assert_eq!(done, 1000);
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub async fn copy<R, W>(reader: &mut R, writer: &mut W) -> io::Result<u64>
where
    R: AsyncRead + Unpin + ?Sized,
    W: AsyncWrite + Unpin + ?Sized,
{
    let mut transfer = Transfer::new(DEFAULT_BUF_SIZE);
    poll_fn(|cx| transfer.poll(cx, Pin::new(&mut *reader), Pin::new(&mut *writer))).await
}
