use super::transfer::{DEFAULT_BUF_SIZE, Transfer};
use super::{AsyncRead, AsyncWrite};
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Connects two streams: copies from each to the other until both are at their end.
///
/// When one stream is at its end, the other is shut down, while the other direction goes on. Returns the
/// number of bytes that were copied from `a` to `b` and from `b` to `a`. Each direction has a buffer of 8
/// KiB.
///
/// # Errors
/// The first error of either stream, except [`Interrupted`](io::ErrorKind::Interrupted), after which it
/// tries again. Both directions stop then, and bytes in their buffers are lost.
///
/// # Cancel safety
/// This function is not cancel safe: if it is dropped, bytes in the buffers are lost.
///
/// # Examples
/// ```
/// use tress::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional, duplex};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (mut client, mut a) = duplex(64);
/// let (mut b, mut server) = duplex(64);
/// let proxy = tress::spawn(async move { copy_bidirectional(&mut a, &mut b).await });
///
/// client.write_all(b"question").await?;
/// client.shutdown().await?;
/// let mut text = String::new();
/// server.read_to_string(&mut text).await?;
/// assert_eq!(text, "question");
/// server.write_all(b"answer").await?;
/// drop(server);
/// client.read_to_string(&mut text).await?;
/// assert_eq!(text, "questionanswer");
/// assert_eq!(proxy.await.unwrap()?, (8, 6));
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub async fn copy_bidirectional<A, B>(a: &mut A, b: &mut B) -> io::Result<(u64, u64)>
where
    A: AsyncRead + AsyncWrite + Unpin + ?Sized,
    B: AsyncRead + AsyncWrite + Unpin + ?Sized,
{
    connect(a, b, DEFAULT_BUF_SIZE, DEFAULT_BUF_SIZE).await
}

/// Connects two streams like [`copy_bidirectional`], with buffers of the given sizes.
///
/// # Errors
/// See [`copy_bidirectional`].
///
/// # Panics
/// Panics if one of the sizes is 0.
///
/// # Cancel safety
/// This function is not cancel safe: if it is dropped, bytes in the buffers are lost.
///
/// # Examples
/// ```
/// use tress::io::{copy_bidirectional_with_sizes, join};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mut a = join(&b"to b"[..], Vec::new());
/// let mut b = join(&b"to a"[..], Vec::new());
/// let sizes = (64 * 1024, 1);
/// copy_bidirectional_with_sizes(&mut a, &mut b, sizes.0, sizes.1).await?;
/// assert_eq!(a.writer(), b"to a");
/// assert_eq!(b.writer(), b"to b");
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub async fn copy_bidirectional_with_sizes<A, B>(
    a: &mut A,
    b: &mut B,
    a_to_b_buf_size: usize,
    b_to_a_buf_size: usize,
) -> io::Result<(u64, u64)>
where
    A: AsyncRead + AsyncWrite + Unpin + ?Sized,
    B: AsyncRead + AsyncWrite + Unpin + ?Sized,
{
    assert!(
        a_to_b_buf_size > 0,
        "`a_to_b_buf_size` must be greater than 0"
    );
    assert!(
        b_to_a_buf_size > 0,
        "`b_to_a_buf_size` must be greater than 0"
    );
    connect(a, b, a_to_b_buf_size, b_to_a_buf_size).await
}

async fn connect<A, B>(
    a: &mut A,
    b: &mut B,
    a_to_b_buf_size: usize,
    b_to_a_buf_size: usize,
) -> io::Result<(u64, u64)>
where
    A: AsyncRead + AsyncWrite + Unpin + ?Sized,
    B: AsyncRead + AsyncWrite + Unpin + ?Sized,
{
    let mut a_to_b = Direction::Running(Transfer::new(a_to_b_buf_size));
    let mut b_to_a = Direction::Running(Transfer::new(b_to_a_buf_size));
    poll_fn(|cx| {
        // Poll both directions before returning `Pending` for either.
        let a_to_b = a_to_b.poll(cx, Pin::new(&mut *a), Pin::new(&mut *b))?;
        let b_to_a = b_to_a.poll(cx, Pin::new(&mut *b), Pin::new(&mut *a))?;
        Poll::Ready(Ok((ready!(a_to_b), ready!(b_to_a))))
    })
    .await
}

/// One direction of a connection.
enum Direction {
    Running(Transfer),
    /// The writer is being shut down, after this number of bytes.
    ShuttingDown(u64),
    Done(u64),
}

impl Direction {
    fn poll<R, W>(
        &mut self,
        cx: &mut Context<'_>,
        mut reader: Pin<&mut R>,
        mut writer: Pin<&mut W>,
    ) -> Poll<io::Result<u64>>
    where
        R: AsyncRead + ?Sized,
        W: AsyncWrite + ?Sized,
    {
        loop {
            *self = match self {
                Direction::Running(transfer) => {
                    let written = ready!(transfer.poll(cx, reader.as_mut(), writer.as_mut()))?;
                    Direction::ShuttingDown(written)
                }
                Direction::ShuttingDown(written) => {
                    ready!(writer.as_mut().poll_shutdown(cx))?;
                    Direction::Done(*written)
                }
                Direction::Done(written) => return Poll::Ready(Ok(*written)),
            };
        }
    }
}
