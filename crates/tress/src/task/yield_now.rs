use super::waker;
use crate::context;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Lets the other ready tasks run first.
///
/// The task goes to the tail of its worker's queue, behind everything that is ready there.
///
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// tress::task::yield_now().await;
/// # });
/// ```
///
/// # Cancel safety
/// Dropping it loses nothing.
pub fn yield_now() -> YieldNow {
    YieldNow { yielded: false }
}

/// The future of [`yield_now`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct YieldNow {
    yielded: bool,
}

impl Future for YieldNow {
    type Output = ();

    // D-TASK-07
    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.yielded {
            return Poll::Ready(());
        }
        self.yielded = true;
        context::with(|c| match c.task.get() {
            // The task polls this future itself: a mark for the end of its poll is all it takes.
            Some(task) if waker::is_for(cx.waker(), task) => c.yielded.set(true),
            _ => cx.waker().wake_by_ref(),
        });
        Poll::Pending
    }
}
