use crate::io::AsyncBufRead;
use pin_project_lite::pin_project;
use std::future::Future;
use std::io;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::slice;
use std::task::{Context, Poll};

pin_project! {
    /// Future of [`AsyncBufReadExt::fill_buf`](crate::io::AsyncBufReadExt::fill_buf).
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct FillBuf<'a, R: ?Sized> {
        // `None` after a result: the bytes that were returned borrow from the reader.
        reader: Option<&'a mut R>,
        #[pin]
        _pinned: PhantomPinned,
    }
}

impl<'a, R: ?Sized> FillBuf<'a, R> {
    pub(super) fn new(reader: &'a mut R) -> Self {
        FillBuf {
            reader: Some(reader),
            _pinned: PhantomPinned,
        }
    }
}

impl<'a, R: AsyncBufRead + Unpin + ?Sized> Future for FillBuf<'a, R> {
    type Output = io::Result<&'a [u8]>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let slot = self.project().reader;
        let reader = slot.take().expect("not polled again after it was ready");
        match Pin::new(&mut *reader).poll_fill_buf(cx) {
            Poll::Ready(Ok(bytes)) => {
                // SAFETY: the bytes are borrowed from `*reader`, which is borrowed for `'a` and not used
                // again: the only reference to it has been taken out of the future and goes out of scope
                // here. (The borrow checker does not see that the branch below, which puts it back, is
                // another one.)
                let bytes = unsafe { slice::from_raw_parts(bytes.as_ptr(), bytes.len()) };
                Poll::Ready(Ok(bytes))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => {
                *slot = Some(reader);
                Poll::Pending
            }
        }
    }
}
