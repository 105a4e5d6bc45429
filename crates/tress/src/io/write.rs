use std::io::{self, Cursor, IoSlice, Write};
use std::ops::DerefMut;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A sink of bytes that may have to be waited for.
///
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
    /// Writes some of `buf` and returns how much.
    ///
    /// `Ready(Ok(0))` means that nothing can be written any more, or that `buf` is empty. With
    /// `Pending` and with an error nothing has been written; after `Pending` the task will be woken
    /// when another attempt makes sense.
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<Result<usize, io::Error>>;

    /// Brings everything that was written to where it belongs, if it is still in a buffer.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), io::Error>>;

    /// Ends the writing side in an orderly way: flushes, says goodbye to the peer if the protocol
    /// has a word for it, and refuses further writes.
    ///
    /// Dropping the sink instead may lose what is still buffered. Must be called again until it is
    /// ready.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), io::Error>>;

    /// As [`poll_write`](AsyncWrite::poll_write), from several buffers in order.
    ///
    /// Unless implemented it writes the first buffer that is not empty.
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<Result<usize, io::Error>> {
        let first = bufs.iter().find(|buf| !buf.is_empty());
        self.poll_write(cx, first.map_or(&[], |buf| &**buf))
    }

    /// Does [`poll_write_vectored`](AsyncWrite::poll_write_vectored) use more than the first buffer?
    ///
    /// If not, copying small pieces into one buffer before writing is worth it.
    fn is_write_vectored(&self) -> bool {
        false
    }
}

/// All methods, passed on to `$target`, or to `$shared` where a shared reference is all there is.
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

/// All methods, for what the standard library writes to without waiting.
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

/// Appends.
impl AsyncWrite for Vec<u8> {
    in_memory!();
}

/// Overwrites from the cursor's position on; what does not fit is not written.
impl AsyncWrite for Cursor<&mut [u8]> {
    in_memory!();
}

/// Overwrites from the cursor's position on and grows as needed.
impl AsyncWrite for Cursor<&mut Vec<u8>> {
    in_memory!();
}

/// Overwrites from the cursor's position on and grows as needed.
impl AsyncWrite for Cursor<Vec<u8>> {
    in_memory!();
}

/// Overwrites from the cursor's position on; what does not fit is not written.
impl AsyncWrite for Cursor<Box<[u8]>> {
    in_memory!();
}
