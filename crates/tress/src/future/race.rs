use super::group::Group;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Waits for the first of several futures to complete, and drops the others.
///
/// Returns the output of that future. Only futures that have been woken are polled, so that this scales
/// to many. The first poll polls them in the given order.
///
/// Use [`select!`](crate::select) for futures of different types, or box them.
///
/// # Panics
///
/// If there is no future.
///
/// Polling the [`Race`] panics if one of the futures panics. It can be polled again, and the others
/// continue. It also panics if all futures have panicked, and if it is polled after completion.
///
/// # Cancel safety
///
/// Dropping the `Race` drops all futures, and the first to complete drops the others: use futures that
/// are themselves cancel safe.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tress::future::race;
/// use tress::time::sleep;
///
/// async fn ask(server: &str, delay: u64) -> &str {
///     sleep(Duration::from_millis(delay)).await;
///     server
/// }
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let first = race([ask("slow", 60_000), ask("fast", 1)]).await;
/// assert_eq!(first, "fast");
/// # });
/// ```
#[track_caller]
pub fn race<I>(futures: I) -> Race<<I::Item as IntoFuture>::IntoFuture>
where
    I: IntoIterator,
    I::Item: IntoFuture,
{
    let group = Group::new(futures);
    assert!(
        group.len() != 0,
        "nobody can win a race without futures; give it at least one"
    );
    Race { group }
}

/// The future returned by [`race`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct Race<F: Future> {
    group: Group<F>,
}

// The futures are pinned in an allocation of their own, which does not move with the `Race`.
impl<F: Future> Unpin for Race<F> {}

impl<F: Future> Future for Race<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let group = &mut self.get_mut().group;
        assert!(!group.is_cleared(), "a race that is won cannot be polled");
        assert!(
            group.left() != 0,
            "nobody can win a race whose futures have all panicked"
        );
        let polled = group.poll(cx, |member| member.take());
        if polled.is_ready() {
            group.clear();
        }
        polled
    }
}
