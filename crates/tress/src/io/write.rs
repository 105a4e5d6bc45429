use std::io::{self, Cursor, IoSlice, Write};
use std::ops::DerefMut;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A sink for bytes that can be written without blocking the thread.
///
/// This is the asynchronous counterpart of [`std::io::Write`], with an orderly end,
/// [`poll_shutdown`](AsyncWrite::poll_shutdown), in addition. Where a call would block, the poll functions
/// return `Pending` and have the task woken later.
///
/// Implement this trait for a writer of your own. To write, use the methods of
/// [`AsyncWriteExt`](super::AsyncWriteExt), which every `AsyncWrite` has.
///
/// # Examples
/// ```
/// use std::pin::Pin;
/// use std::future::poll_fn;
/// use tress::io::AsyncWrite;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mut sink = Vec::new();
/// let n = poll_fn(|cx| Pin::new(&mut sink).poll_write(cx, b"hello")).await?;
/// assert_eq!(&sink[..n], b"hello");
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub trait AsyncWrite {
    /// Attempts to write bytes from `buf`, and returns how many were written.
    ///
    /// `Ready(Ok(0))` means that the sink takes no more bytes, or that `buf` is empty. With `Pending` and
    /// with an error nothing was written; after `Pending` the current task is woken when another attempt
    /// may succeed.
    ///
    /// An implementation must not return a number larger than `buf.len()`.
    ///
    /// # Errors
    /// Any error of the sink. [`Interrupted`](io::ErrorKind::Interrupted) means that the write may be tried
    /// again at once.
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<Result<usize, io::Error>>;

    /// Attempts to bring everything that was written to its destination, out of any buffer on the way.
    ///
    /// After `Pending` the current task is woken when another attempt may succeed.
    ///
    /// # Errors
    /// Any error of the sink.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), io::Error>>;

    /// Attempts to shut down the writing side in an orderly way.
    ///
    /// It flushes, tells the peer that no more bytes follow if the protocol has a way to do so, and refuses
    /// further writes. Call it again until it is ready.
    ///
    /// A sink that is dropped without it may lose bytes that are still in a buffer. After `Pending` the
    /// current task is woken when another attempt may succeed.
    ///
    /// # Errors
    /// Any error of the sink.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), io::Error>>;

    /// Attempts to write bytes from several buffers in order, like [`poll_write`](AsyncWrite::poll_write).
    ///
    /// The last buffer that is used may be written only in part. The provided implementation writes from
    /// the first buffer that is not empty.
    ///
    /// # Errors
    /// Any error of the sink.
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<Result<usize, io::Error>> {
        let first = bufs.iter().find(|buf| !buf.is_empty());
        self.poll_write(cx, first.map_or(&[], |buf| &**buf))
    }

    /// Returns whether [`poll_write_vectored`](AsyncWrite::poll_write_vectored) uses more than one buffer.
    ///
    /// If it does not, it is worth copying small pieces into one buffer before writing.
    fn is_write_vectored(&self) -> bool {
        false
    }
}

/// Implements all methods by passing them on to `$target`, or to `$shared` where only a shared reference is
/// at hand.
macro_rules! pass_on {
    ($this:ident => $target:expr, $shared:expr) => {
        #[allow(unused_mut)]
        fn poll_write(
            mut $this: Pin<&mut Self>,
            cx: &mut Context<'_>,
            buf: &[u8],
        ) -> Poll<io::Result<usize>> {
            $target.poll_write(cx, buf)
        }

        #[allow(unused_mut)]
        fn poll_flush(mut $this: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            $target.poll_flush(cx)
        }

        #[allow(unused_mut)]
        fn poll_shutdown(mut $this: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            $target.poll_shutdown(cx)
        }

        #[allow(unused_mut)]
        fn poll_write_vectored(
            mut $this: Pin<&mut Self>,
            cx: &mut Context<'_>,
            bufs: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            $target.poll_write_vectored(cx, bufs)
        }

        fn is_write_vectored(&$this) -> bool {
            $shared.is_write_vectored()
        }
    };
}

pub(super) use pass_on;

impl<T: AsyncWrite + Unpin + ?Sized> AsyncWrite for Box<T> {
    pass_on!(self => Pin::new(&mut **self), (**self));
}

impl<T: AsyncWrite + Unpin + ?Sized> AsyncWrite for &mut T {
    pass_on!(self => Pin::new(&mut **self), (**self));
}

impl<P> AsyncWrite for Pin<P>
where
    P: DerefMut,
    P::Target: AsyncWrite,
{
    pass_on!(self => self.as_deref_mut(), (**self));
}

/// Implements all methods for types that the standard library writes to without blocking.
macro_rules! in_memory {
    () => {
        fn poll_write(
            self: Pin<&mut Self>,
            _cx: &mut Context<'_>,
            buf: &[u8],
        ) -> Poll<io::Result<usize>> {
            Poll::Ready(self.get_mut().write(buf))
        }

        fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(self.get_mut().flush())
        }

        fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.poll_flush(cx)
        }

        fn poll_write_vectored(
            self: Pin<&mut Self>,
            _cx: &mut Context<'_>,
            bufs: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            Poll::Ready(self.get_mut().write_vectored(bufs))
        }

        fn is_write_vectored(&self) -> bool {
            true
        }
    };
}

/// Appends to the vector.
impl AsyncWrite for Vec<u8> {
    in_memory!();
}

/// Overwrites from the cursor's position on; bytes that do not fit are not written.
impl AsyncWrite for Cursor<&mut [u8]> {
    in_memory!();
}

/// Overwrites from the cursor's position on, and grows the vector as needed.
impl AsyncWrite for Cursor<&mut Vec<u8>> {
    in_memory!();
}

/// Overwrites from the cursor's position on, and grows the vector as needed.
impl AsyncWrite for Cursor<Vec<u8>> {
    in_memory!();
}

/// Overwrites from the cursor's position on; bytes that do not fit are not written.
impl AsyncWrite for Cursor<Box<[u8]>> {
    in_memory!();
}
