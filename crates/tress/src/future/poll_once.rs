use pin_project_lite::pin_project;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Polls a future once: its output, if it is ready at once.
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
///
/// Give it a reference to a pinned future to poll that again later.
///
/// # Cancel safety
/// It never waits. What it was given is dropped with it.
pub fn poll_once<F: IntoFuture>(future: F) -> PollOnce<F::IntoFuture> {
    PollOnce {
        future: future.into_future(),
    }
}

pin_project! {
    /// The future of [`poll_once`].
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
