use super::group::Group;
use std::convert::Infallible;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Waits for several futures to complete, and returns their outputs in the order of the futures.
///
/// They run concurrently in the current task, on one thread. Only futures that have been woken are polled,
/// so that this scales to many.
///
/// Use [`join!`](crate::join) for futures of different types, or box them. To wait for spawned tasks as
/// they complete, use a [`JoinSet`](crate::task::JoinSet).
///
/// # Panics
///
/// Polling the [`JoinAll`] panics if one of the futures panics. It can be polled again: the others
/// continue, and it panics once more when all have completed, as one output is missing. It also panics if
/// it is polled after completion.
///
/// # Cancel safety
///
/// Dropping the `JoinAll` drops all futures. The outputs of those that have completed are lost.
///
/// # Examples
///
/// ```
/// use tress::future::join_all;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let squares = join_all((0..4).map(|n| async move { n * n })).await;
/// assert_eq!(squares, [0, 1, 4, 9]);
/// # });
/// ```
pub fn join_all<I>(futures: I) -> JoinAll<<I::Item as IntoFuture>::IntoFuture>
where
    I: IntoIterator,
    I::Item: IntoFuture,
{
    JoinAll {
        group: Group::new(futures),
    }
}

/// Waits for several futures to succeed, or for the first of them to fail.
///
/// Returns the values in the order of the futures. As soon as one future returns an error the others are
/// dropped. See [`join_all`], and [`try_join!`](crate::try_join) for futures of different types.
///
/// # Errors
///
/// The error of the future that fails first.
///
/// # Panics
///
/// Under the conditions of [`join_all`].
///
/// # Cancel safety
///
/// Dropping the [`TryJoinAll`] drops all futures, as does the first error. The values of those that have
/// completed are lost.
///
/// # Examples
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
pub fn try_join_all<I, T, E>(futures: I) -> TryJoinAll<<I::Item as IntoFuture>::IntoFuture>
where
    I: IntoIterator,
    I::Item: IntoFuture<Output = Result<T, E>>,
{
    TryJoinAll {
        group: Group::new(futures),
    }
}

/// The future returned by [`join_all`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct JoinAll<F: Future> {
    group: Group<F>,
}

/// The future returned by [`try_join_all`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct TryJoinAll<F: Future> {
    group: Group<F>,
}

// The futures are pinned in an allocation of their own.
impl<F: Future> Unpin for JoinAll<F> {}
impl<F: Future> Unpin for TryJoinAll<F> {}

/// The panic message for an output that is missing.
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
