//! hyper on whatever can be read from and written to.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_lite::{AsyncRead as FuturesRead, AsyncWrite as FuturesWrite};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::service::service_fn;
use hyper::{Request, Response};
use tokio::io::{AsyncRead as TokioRead, AsyncWrite as TokioWrite, ReadBuf};

use crate::load::HTTP_BODY;

async fn hello(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::new(Bytes::from_static(HTTP_BODY))))
}

/// Serves one connection until the peer closes it.
pub async fn serve(io: impl Read + Write + Unpin) {
    let connection = hyper::server::conn::http1::Builder::new();
    // What goes wrong with a connection the client tells.
    let _ = connection.serve_connection(io, service_fn(hello)).await;
}

/// What has Tokio's traits, for hyper.
pub struct TokioIo<T>(T);

impl<T> TokioIo<T> {
    pub fn new(inner: T) -> Self {
        TokioIo(inner)
    }
}

impl<T: TokioRead + Unpin> Read for TokioIo<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut cursor: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let n = {
            // SAFETY: a `ReadBuf` de-initialises nothing.
            let mut buf = ReadBuf::uninit(unsafe { cursor.as_mut() });
            ready!(Pin::new(&mut self.0).poll_read(cx, &mut buf))?;
            buf.filled().len()
        };
        // SAFETY: so many bytes have just been filled.
        unsafe { cursor.advance(n) };
        Poll::Ready(Ok(()))
    }
}

impl<T: TokioWrite + Unpin> Write for TokioIo<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }
}

/// What has the traits of the futures crates, for hyper.
pub struct FuturesIo<T>(pub T);

impl<T: FuturesRead + Unpin> Read for FuturesIo<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut cursor: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        // SAFETY: all of it is initialised in the next line, and stays so.
        let room = unsafe { cursor.as_mut() };
        room.fill(std::mem::MaybeUninit::zeroed());
        // SAFETY: zeroed just now; bytes have no other invalid values.
        let room = unsafe { &mut *(std::ptr::from_mut(room) as *mut [u8]) };
        let n = ready!(Pin::new(&mut self.0).poll_read(cx, room))?;
        // SAFETY: initialised above.
        unsafe { cursor.advance(n) };
        Poll::Ready(Ok(()))
    }
}

impl<T: FuturesWrite + Unpin> Write for FuturesIo<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_close(cx)
    }
}
