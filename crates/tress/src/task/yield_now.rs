use super::{coop, leaf, waker};
use crate::context;
use crate::scheduler;
use crate::spans::WakerOp;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Yields to the scheduler, and lets the other ready tasks run first.
///
/// The task goes to the tail of its worker's queue, behind everything that is ready there. On a current-thread
/// runtime it does so once the runtime has run what is ready, 61 tasks at most, and looked at its timers and I/O.
///
/// # Cancel safety
/// This function is cancel safe. Dropping the future loses nothing.
///
/// # Examples
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let task = tress::spawn(async {});
/// while !task.is_finished() {
///     tress::task::yield_now().await;
/// }
/// # });
/// ```
pub fn yield_now() -> YieldNow {
    YieldNow { yielded: false }
}

/// A future that is ready when it is polled for the second time; returned by [`yield_now`].
///
/// # Examples
/// ```
/// use tress::task::{YieldNow, yield_now};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let pause: YieldNow = yield_now();
/// pause.await;
/// # });
/// ```
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
        if leaf::is_tracing() {
            coop::forced_yield(cx);
            return Poll::Pending;
        }
        if self.yielded {
            return Poll::Ready(());
        }
        self.yielded = true;
        if scheduler::defer(cx.waker()) {
            return Poll::Pending;
        }
        context::with(|c| match c.task.get() {
            // The task polls this future itself: a mark for the end of its poll is all it takes.
            Some(task) if waker::is_for(cx.waker(), task) => {
                // SAFETY: the running task outlives its poll.
                unsafe { task.as_ref() }.tell(WakerOp::WakeByRef);
                c.yielded.set(true);
            }
            _ => cx.waker().wake_by_ref(),
        });
        Poll::Pending
    }
}
