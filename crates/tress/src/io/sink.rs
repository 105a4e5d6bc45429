use super::AsyncWrite;
use crate::task::coop;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Creates a writer that accepts all bytes and discards them.
///
/// # Examples
/// ```
/// use tress::io::AsyncWriteExt;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// assert_eq!(tress::io::sink().write(b"hello").await?, 5);
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub fn sink() -> Sink {
    Sink { _private: () }
}

/// A writer that accepts all bytes and discards them, created by [`sink`].
///
/// # Examples
/// ```
/// use tress::io::{AsyncWriteExt, Sink};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mut writer: Sink = tress::io::sink();
/// assert_eq!(writer.write(b"hello").await?, 5);
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct Sink {
    _private: (),
}

impl AsyncWrite for Sink {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(coop::poll_proceed(cx)).made_progress();
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(coop::poll_proceed(cx)).made_progress();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(coop::poll_proceed(cx)).made_progress();
        Poll::Ready(Ok(()))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(coop::poll_proceed(cx)).made_progress();
        Poll::Ready(Ok(bufs.iter().map(|buf| buf.len()).sum()))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}
