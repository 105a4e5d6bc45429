//! Adapters that let `hyper` run on tress: streams, an executor and a timer.
//!
//! - [`TressIo`] wraps a stream, such as a [`TcpStream`](tress::net::TcpStream), for hyper's connections.
//! - [`TressExecutor`] spawns hyper's background tasks, which HTTP/2 needs.
//! - [`TressTimer`] is for time limits, such as the header timeout of a server.
//!
//! hyper depends on the package `tokio` for its channels. That is why these adapters are a crate of their own: an
//! application that replaces that package by tress's facade would otherwise make tress depend on itself. Such an
//! application does not need them, since hyper's adapters for Tokio work there, but it may use them.
//!
//! # Examples
//! ```
//! # // The body is written out by hand: it needs no other crate that way.
//! # use std::convert::Infallible;
//! # use std::pin::Pin;
//! # use std::task::{Context, Poll};
//! # struct NoBody;
//! # impl hyper::body::Body for NoBody {
//! #     type Data = &'static [u8];
//! #     type Error = Infallible;
//! #     fn poll_frame(
//! #         self: Pin<&mut Self>,
//! #         _: &mut Context<'_>,
//! #     ) -> Poll<Option<Result<hyper::body::Frame<&'static [u8]>, Infallible>>> {
//! #         Poll::Ready(None)
//! #     }
//! # }
//! use hyper::{Request, Response, client, server, service::service_fn};
//! use tress_hyper::{TressIo, TressTimer};
//!
//! # tress::runtime::Runtime::new().unwrap().block_on(async {
//! let (here, there) = tress::io::duplex(4096);
//!
//! tress::spawn(
//!     server::conn::http1::Builder::new()
//!         .timer(TressTimer)
//!         .serve_connection(
//!             TressIo::new(there),
//!             service_fn(async |_| Ok::<_, Infallible>(Response::new(NoBody))),
//!         ),
//! );
//!
//! let (mut sender, connection) = client::conn::http1::handshake(TressIo::new(here)).await?;
//! tress::spawn(connection);
//! let response = sender.send_request(Request::new(NoBody)).await?;
//! assert_eq!(response.status(), 200);
//! # Ok::<(), hyper::Error>(()) }).unwrap();
//! ```

#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]
#![warn(missing_docs, missing_debug_implementations, rust_2018_idioms)]

use hyper::rt;
use pin_project_lite::pin_project;
use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll, ready};
use tress::io::{AsyncRead, AsyncWrite, ReadBuf};
use tress::time::{self, Duration, Instant};

pin_project! {
    /// Wraps a stream to convert between tress's and hyper's I/O traits.
    ///
    /// It implements `hyper::rt::Read` and `Write` where `T` has [`AsyncRead`] and [`AsyncWrite`], and the
    /// other way round.
    ///
    /// # Examples
    /// ```
    /// use tress_hyper::TressIo;
    ///
    /// fn for_hyper(stream: impl hyper::rt::Read + hyper::rt::Write) {}
    /// for_hyper(TressIo::new(tress::io::duplex(64).0));
    /// ```
    #[derive(Debug)]
    pub struct TressIo<T> {
        #[pin]
        inner: T,
    }
}

impl<T> TressIo<T> {
    /// Wraps `inner`.
    pub fn new(inner: T) -> Self {
        TressIo { inner }
    }

    /// Returns a reference to the inner stream.
    pub fn get_ref(&self) -> &T {
        &self.inner
    }

    /// Returns a mutable reference to the inner stream.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.inner
    }

    /// Returns the inner stream.
    pub fn into_inner(self) -> T {
        self.inner
    }
}

impl<T: AsyncRead> rt::Read for TressIo<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buf: rt::ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        // SAFETY: what reads write is initialized.
        let memory = unsafe { buf.as_mut() };
        let start = memory.as_ptr().cast::<u8>();
        let mut ours = ReadBuf::uninit(memory);
        ready!(self.project().inner.poll_read(cx, &mut ours))?;
        let filled = ours.filled();
        assert!(
            ptr::eq(filled.as_ptr(), start),
            "a reader has put another buffer in the place of the one that it was given"
        );
        let n = filled.len();
        // SAFETY: the first `n` bytes of the memory are filled, and so initialized.
        unsafe { buf.advance(n) };
        Poll::Ready(Ok(()))
    }
}

impl<T: rt::Read> AsyncRead for TressIo<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let n = {
            // SAFETY: nothing but initialized bytes is written through hyper's buffer either.
            let mut theirs = rt::ReadBuf::uninit(unsafe { buf.unfilled_mut() });
            ready!(self.project().inner.poll_read(cx, theirs.unfilled()))?;
            theirs.filled().len()
        };
        // SAFETY: the reader was given nothing but a cursor, and these are behind it.
        unsafe { buf.assume_init(n) };
        buf.advance(n);
        Poll::Ready(Ok(()))
    }
}

/// Implements the methods of `Write` and `AsyncWrite`, which differ only in their names.
macro_rules! pass_on {
    () => {
        fn poll_write(
            self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            buf: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.project().inner.poll_write(cx, buf)
        }

        fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.project().inner.poll_flush(cx)
        }

        fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.project().inner.poll_shutdown(cx)
        }

        fn poll_write_vectored(
            self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            bufs: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            self.project().inner.poll_write_vectored(cx, bufs)
        }

        fn is_write_vectored(&self) -> bool {
            self.inner.is_write_vectored()
        }
    };
}

impl<T: AsyncWrite> rt::Write for TressIo<T> {
    pass_on!();
}

impl<T: rt::Write> AsyncWrite for TressIo<T> {
    pass_on!();
}

/// An executor that runs hyper's futures as tasks of the current runtime.
///
/// # Panics
/// `execute` panics outside a runtime.
///
/// # Examples
/// ```
/// use hyper::rt::Executor;
/// use tress_hyper::TressExecutor;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (tx, rx) = tress::sync::oneshot::channel();
/// TressExecutor.execute(async { tx.send(7).unwrap() });
/// assert_eq!(rx.await, Ok(7));
/// # });
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct TressExecutor;

impl<F> rt::Executor<F> for TressExecutor
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    #[track_caller]
    fn execute(&self, future: F) {
        tress::spawn(future);
    }
}

/// A timer that lets hyper wait on the timers of the current runtime.
///
/// It follows the runtime's clock where that is paused.
///
/// # Panics
/// The methods that sleep panic outside a runtime.
///
/// # Examples
/// ```
/// use hyper::rt::Timer;
/// use std::time::Duration;
/// use tress_hyper::TressTimer;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let start = TressTimer.now();
/// TressTimer.sleep(Duration::from_millis(1)).await;
/// assert!(TressTimer.now() - start >= Duration::from_millis(1));
/// # });
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct TressTimer;

pin_project! {
    struct Sleep {
        #[pin]
        inner: time::Sleep,
    }
}

impl Sleep {
    fn boxed(inner: time::Sleep) -> Pin<Box<dyn rt::Sleep>> {
        Box::pin(Sleep { inner })
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.project().inner.poll(cx)
    }
}

impl rt::Sleep for Sleep {}

impl rt::Timer for TressTimer {
    #[track_caller]
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn rt::Sleep>> {
        Sleep::boxed(time::sleep(duration))
    }

    #[track_caller]
    fn sleep_until(&self, deadline: std::time::Instant) -> Pin<Box<dyn rt::Sleep>> {
        Sleep::boxed(time::sleep_until(Instant::from_std(deadline)))
    }

    fn now(&self) -> std::time::Instant {
        Instant::now().into_std()
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn rt::Sleep>>, deadline: std::time::Instant) {
        match sleep.as_mut().downcast_mut_pin::<Sleep>() {
            Some(ours) => ours.project().inner.reset(Instant::from_std(deadline)),
            None => *sleep = self.sleep_until(deadline),
        }
    }
}
