use super::group::Group;
use std::convert::Infallible;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Waits for all futures, and returns their outputs in the order of the futures.
///
/// Only those that have been woken are polled, so that it works for many.
///
/// ```
/// use tress::future::join_all;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let squares = join_all((0..4).map(|n| async move { n * n })).await;
/// assert_eq!(squares, [0, 1, 4, 9]);
/// # });
/// ```
///
/// Futures of different types have to be boxed, or use [`join!`](crate::join). Tasks are joined by
/// their handles, or by a [`JoinSet`](crate::task::JoinSet) as they finish.
///
/// # Panics
/// When it is polled, with the panic of a future that panics; if it is polled on, the others go on, and
/// it panics once more when they have finished. It panics also if it is polled after it was ready.
///
/// # Cancel safety
/// Dropping it drops all the futures; outputs that were ready are lost.
pub fn join_all<I>(futures: I) -> JoinAll<<I::Item as IntoFuture>::IntoFuture>
where
    I: IntoIterator,
    I::Item: IntoFuture,
{
    JoinAll {
        group: Group::new(futures),
    }
}

/// Waits for all futures and returns their values in the order of the futures, or the first error.
///
/// As soon as one of them ends with an error the others are dropped.
///
/// ```
/// use tress::future::try_join_all;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let parse = |text: &'static str| async move { text.parse::<u32>() };
/// assert_eq!(try_join_all(["1", "2"].map(parse)).await, Ok(vec![1, 2]));
/// assert!(try_join_all(["1", "two", "3"].map(parse)).await.is_err());
/// # });
/// ```
///
/// # Errors
/// That of the future that failed first.
///
/// # Panics
/// As [`join_all`] does.
///
/// # Cancel safety
/// As for [`join_all`].
pub fn try_join_all<I, T, E>(futures: I) -> TryJoinAll<<I::Item as IntoFuture>::IntoFuture>
where
    I: IntoIterator,
    I::Item: IntoFuture<Output = Result<T, E>>,
{
    TryJoinAll {
        group: Group::new(futures),
    }
}

/// The future of [`join_all`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct JoinAll<F: Future> {
    group: Group<F>,
}

/// The future of [`try_join_all`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct TryJoinAll<F: Future> {
    group: Group<F>,
}

// The futures are pinned in an allocation of their own.
impl<F: Future> Unpin for JoinAll<F> {}
impl<F: Future> Unpin for TryJoinAll<F> {}

/// Why there is no output of a future that is over.
const PANICKED: &str =
    "a future of this group has panicked and has no output: it cannot be polled on";

impl<F: Future> Future for JoinAll<F> {
    type Output = Vec<F::Output>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let group = &mut self.get_mut().group;
        assert!(
            !group.is_cleared(),
            "a `join_all` that has returned its outputs cannot be polled"
        );
        if group.left() != 0 {
            let _: Poll<Infallible> = group.poll(cx, |_| None);
            if group.left() != 0 {
                return Poll::Pending;
            }
        }
        let outputs = (0..group.len()).map(|number| group.member(number).take());
        let outputs: Option<Vec<_>> = outputs.collect();
        group.clear();
        Poll::Ready(outputs.expect(PANICKED))
    }
}

impl<T, E, F: Future<Output = Result<T, E>>> Future for TryJoinAll<F> {
    type Output = Result<Vec<T>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let group = &mut self.get_mut().group;
        assert!(
            !group.is_cleared(),
            "a `try_join_all` that has returned its outcome cannot be polled"
        );
        if group.left() != 0 {
            if let Poll::Ready(error) = group.poll(cx, |member| member.take_error()) {
                group.clear();
                return Poll::Ready(Err(error));
            }
            if group.left() != 0 {
                return Poll::Pending;
            }
        }
        let outcomes = (0..group.len()).map(|number| group.member(number).take());
        let outcomes: Option<Result<Vec<_>, _>> = outcomes.collect();
        group.clear();
        Poll::Ready(outcomes.expect(PANICKED))
    }
}
