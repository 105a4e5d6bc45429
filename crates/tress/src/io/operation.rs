use pin_project_lite::pin_project;
use std::future::Future;
use std::io;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll};

/// What an extension method does, apart from the object that it does it to.
pub trait Step<T: ?Sized> {
    type Output;

    /// Goes on with the operation. It is called again after `Pending`, never after `Ready`.
    fn poll(&mut self, io: Pin<&mut T>, cx: &mut Context<'_>) -> Poll<io::Result<Self::Output>>;
}

pin_project! {
    /// Future of an extension method: an operation `O` on a `T`.
    ///
    /// It is a named type and not just an `impl Future`, so that it is `Send` where `T` and `O` are, even
    /// if all that is known about `T` is that it has the extension methods.
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncReadExt;
    ///
    /// fn in_a_task<R: AsyncReadExt + Unpin + Send + 'static>(mut reader: R) {
    ///     tress::spawn(async move { reader.read_u8().await });
    /// }
    /// # tress::runtime::Runtime::new().unwrap().block_on(async { in_a_task(&b"!"[..]) });
    /// ```
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct Operation<'a, T: ?Sized, O> {
        io: &'a mut T,
        operation: O,
        // Leaves room for an operation that must not move.
        #[pin]
        _pinned: PhantomPinned,
    }
}

impl<'a, T: ?Sized, O> Operation<'a, T, O> {
    pub(super) fn new(io: &'a mut T, operation: O) -> Self {
        Operation {
            io,
            operation,
            _pinned: PhantomPinned,
        }
    }
}

impl<T, O> Future for Operation<'_, T, O>
where
    T: Unpin + ?Sized,
    O: Step<T>,
{
    type Output = io::Result<O::Output>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        this.operation.poll(Pin::new(&mut **this.io), cx)
    }
}
