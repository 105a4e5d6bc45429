use pin_project_lite::pin_project;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Polls a future once, and returns its output if it is ready.
///
/// The [`PollOnce`] completes on its first poll: with `Some(output)`, or with `None` if the future is
/// pending. Pass a reference to a pinned future to be able to poll that again.
///
/// # Cancel safety
///
/// The `PollOnce` never waits. The future that it was given is dropped with it.
///
/// # Examples
///
/// ```
/// use std::future::{pending, ready};
/// use tress::future::poll_once;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// assert_eq!(poll_once(ready(5)).await, Some(5));
/// assert_eq!(poll_once(pending::<u32>()).await, None);
/// # });
/// ```
pub fn poll_once<F: IntoFuture>(future: F) -> PollOnce<F::IntoFuture> {
    PollOnce {
        future: future.into_future(),
    }
}

pin_project! {
    /// The future returned by [`poll_once`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct PollOnce<F> {
        #[pin]
        future: F,
    }
}

impl<F: Future> Future for PollOnce<F> {
    type Output = Option<F::Output>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(match self.project().future.poll(cx) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        })
    }
}
