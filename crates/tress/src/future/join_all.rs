use super::group::Group;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

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
/// # Cancel safety
/// Dropping it drops all the futures; outputs that were ready are lost.
pub fn join_all<I>(futures: I) -> JoinAll<<I::Item as IntoFuture>::IntoFuture>
where
    I: IntoIterator,
    I::Item: IntoFuture,
{
    let group = Group::new(futures);
    JoinAll {
        left: group.len(),
        group,
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
/// # Cancel safety
/// As for [`join_all`].
pub fn try_join_all<I, T, E>(futures: I) -> TryJoinAll<<I::Item as IntoFuture>::IntoFuture>
where
    I: IntoIterator,
    I::Item: IntoFuture<Output = Result<T, E>>,
{
    let group = Group::new(futures);
    TryJoinAll {
        left: group.len(),
        group,
    }
}

/// The future of [`join_all`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct JoinAll<F: Future> {
    group: Group<F>,
    /// How many have not finished.
    left: usize,
}

/// The future of [`try_join_all`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct TryJoinAll<F: Future> {
    group: Group<F>,
    /// How many have not finished.
    left: usize,
}

// The futures are pinned in an allocation of their own.
impl<F: Future> Unpin for JoinAll<F> {}
impl<F: Future> Unpin for TryJoinAll<F> {}

impl<F: Future> Future for JoinAll<F> {
    type Output = Vec<F::Output>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let JoinAll { group, left } = self.get_mut();
        if *left != 0 {
            ready!(group.poll(cx, |_| {
                *left -= 1;
                (*left == 0).then_some(())
            }));
        }
        let outputs = (0..group.len()).map(|number| group.member(number).take());
        let outputs: Option<Vec<_>> = outputs.collect();
        group.clear();
        Poll::Ready(outputs.expect("all have finished, and nobody has taken an output"))
    }
}

impl<T, E, F: Future<Output = Result<T, E>>> Future for TryJoinAll<F> {
    type Output = Result<Vec<T>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let TryJoinAll { group, left } = self.get_mut();
        if *left != 0 {
            let outcome = ready!(group.poll(cx, |member| {
                *left -= 1;
                match member.take_error() {
                    Some(error) => Some(Err(error)),
                    None if *left == 0 => Some(Ok(())),
                    None => None,
                }
            }));
            if let Err(error) = outcome {
                *left = 0;
                group.clear();
                return Poll::Ready(Err(error));
            }
        }
        let values = (0..group.len()).map(|number| group.member(number).take_value());
        let values: Option<Vec<_>> = values.collect();
        group.clear();
        Poll::Ready(Ok(values.expect("all have finished with a value")))
    }
}
