use super::{AsyncBufRead, AsyncWrite, check_written, is_interrupted};
use crate::task::coop;
use crate::words;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Copies all bytes of `reader` to `writer`, and returns how many they were.
///
/// It writes from the reader's own buffer, unlike [`copy`](super::copy()), which has one of 8 KiB. The
/// writer is flushed at the end, and whenever the reader has nothing more for the moment.
///
/// # Errors
/// - Any error of either, except [`Interrupted`](io::ErrorKind::Interrupted), after which it tries again.
/// - [`WriteZero`](io::ErrorKind::WriteZero) if the writer takes no more bytes.
///
/// # Cancel safety
/// This function is cancel safe: if it is dropped, bytes that were not written are still in the reader, and
/// another call goes on from there, counting from 0.
///
/// # Examples
/// ```
/// use tress::io::BufReader;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mut reader = BufReader::with_capacity(64 * 1024, &b"hello"[..]);
/// let mut writer = Vec::new();
/// assert_eq!(tress::io::copy_buf(&mut reader, &mut writer).await?, 5);
/// assert_eq!(writer, b"hello");
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub async fn copy_buf<R, W>(reader: &mut R, writer: &mut W) -> io::Result<u64>
where
    R: AsyncBufRead + Unpin + ?Sized,
    W: AsyncWrite + Unpin + ?Sized,
{
    let mut copied = Copied::default();
    poll_fn(|cx| copied.poll(cx, Pin::new(&mut *reader), Pin::new(&mut *writer))).await
}

#[derive(Default)]
struct Copied {
    written: u64,
    /// Something was written since the last flush.
    unflushed: bool,
}

impl Copied {
    fn poll<R, W>(
        &mut self,
        cx: &mut Context<'_>,
        mut reader: Pin<&mut R>,
        mut writer: Pin<&mut W>,
    ) -> Poll<io::Result<u64>>
    where
        R: AsyncBufRead + ?Sized,
        W: AsyncWrite + ?Sized,
    {
        loop {
            // Reader and writer need not take part in cooperative scheduling themselves.
            let budget = ready!(coop::poll_proceed(cx));
            match self.poll_some(cx, reader.as_mut(), writer.as_mut()) {
                Poll::Ready(Ok(0)) => {
                    ready!(writer.poll_flush(cx))?;
                    budget.made_progress();
                    return Poll::Ready(Ok(self.written));
                }
                Poll::Ready(Ok(n)) => self.written += n as u64,
                Poll::Ready(Err(error)) if is_interrupted(&error) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            }
            budget.made_progress();
        }
    }

    /// Writes some of the bytes in the reader's buffer. Returns 0 at the end.
    fn poll_some<R, W>(
        &mut self,
        cx: &mut Context<'_>,
        mut reader: Pin<&mut R>,
        mut writer: Pin<&mut W>,
    ) -> Poll<io::Result<usize>>
    where
        R: AsyncBufRead + ?Sized,
        W: AsyncWrite + ?Sized,
    {
        let Poll::Ready(bytes) = reader.as_mut().poll_fill_buf(cx) else {
            // What was written must not be delayed until the reader has more.
            if self.unflushed {
                ready!(writer.poll_flush(cx))?;
                self.unflushed = false;
            }
            return Poll::Pending;
        };
        let bytes = bytes?;
        if bytes.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let n = ready!(writer.as_mut().poll_write(cx, bytes))?;
        if n == 0 {
            return Poll::Ready(Err(words::write_zero()));
        }
        check_written(n, bytes.len());
        self.unflushed = true;
        reader.consume(n);
        Poll::Ready(Ok(n))
    }
}
