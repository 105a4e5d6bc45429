use super::group::Group;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Waits for the first of some futures to finish, and drops the others.
///
/// Only those that have been woken are polled, so that it works for many. In the first poll they
/// have their turn in the order given.
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
///
/// Futures of different types have to be boxed, or use [`select!`](crate::select).
///
/// # Panics
/// If there is no future: nobody would ever win. When it is polled, with the panic of a future that
/// panics; if it is polled on, the others go on. It panics also if it is polled when all have panicked, or
/// after it was ready.
///
/// # Cancel safety
/// Dropping it drops all the futures, and so does winning for the others: use operations of which
/// that loses nothing.
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

/// The future of [`race`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct Race<F: Future> {
    group: Group<F>,
}

// The futures are pinned in an allocation of their own.
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
