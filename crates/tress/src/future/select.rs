use crate::macros::support::{poll_budget_available, random_start};
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Waits for the first of two futures to complete, and returns its output together with the other
/// future.
///
/// The other future can be polled further. Which of the two is polled first is random at each poll, as in
/// [`select!`](crate::select), so that one that is always ready does not starve the other. Both must be
/// [`Unpin`]: [pin](crate::pin!) or box those that are not.
///
/// # Panics
///
/// Polling the [`Select`] panics if it has completed.
///
/// # Cancel safety
///
/// Dropping the `Select` drops both futures.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tress::future::{Either, select};
/// use tress::time::sleep;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let slow = Box::pin(async {
///     sleep(Duration::from_millis(5)).await;
///     "slow"
/// });
/// let fast = Box::pin(async { 7 });
/// match select(slow, fast).await {
///     Either::Left(_) => unreachable!("it sleeps"),
///     Either::Right((number, slow)) => {
///         assert_eq!(number, 7);
///         assert_eq!(slow.await, "slow");
///     }
/// }
/// # });
/// ```
pub fn select<A, B>(a: A, b: B) -> Select<A::IntoFuture, B::IntoFuture>
where
    A: IntoFuture<IntoFuture: Unpin>,
    B: IntoFuture<IntoFuture: Unpin>,
{
    Select {
        both: Some((a.into_future(), b.into_future())),
    }
}

/// The future returned by [`select`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct Select<A, B> {
    /// `None` once one has completed.
    both: Option<(A, B)>,
}

impl<A, B> Future for Select<A, B>
where
    A: Future + Unpin,
    B: Future + Unpin,
{
    type Output = Either<(A::Output, B), (B::Output, A)>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        ready!(poll_budget_available(cx));
        let both = &mut self.get_mut().both;
        let (a, b) = both
            .as_mut()
            .expect("a `select` that has returned a future cannot be polled");
        let mut polled = Poll::Pending;
        let first = random_start(2);
        for turn in [first, 1 - first] {
            polled = match turn {
                0 => Pin::new(&mut *a).poll(cx).map(Either::Left),
                _ => Pin::new(&mut *b).poll(cx).map(Either::Right),
            };
            if polled.is_ready() {
                break;
            }
        }
        let output = ready!(polled);
        let (a, b) = both.take().expect("both are there");
        Poll::Ready(match output {
            Either::Left(output) => Either::Left((output, b)),
            Either::Right(output) => Either::Right((output, a)),
        })
    }
}

/// One of two values.
///
/// If both are futures with the same output, so is the `Either`: two branches of a program can return
/// futures of different types.
///
/// # Examples
///
/// ```
/// use tress::future::Either;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let cached = Some(5);
/// let number = match cached {
///     Some(number) => Either::Left(std::future::ready(number)),
///     None => Either::Right(async { 6 }),
/// };
/// assert_eq!(number.await, 5);
/// # });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Either<L, R> {
    /// The first of the two.
    Left(L),
    /// The second of the two.
    Right(R),
}

impl<T> Either<T, T> {
    /// Returns the value, whichever variant holds it.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(tress::future::Either::<_, u32>::Left(5).into_inner(), 5);
    /// ```
    pub fn into_inner(self) -> T {
        match self {
            Either::Left(value) | Either::Right(value) => value,
        }
    }
}

impl<T, L, R> Either<(T, L), (T, R)> {
    /// Takes out the first part of the tuple, which both variants have, and leaves the rest in the `Either`.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::future::{pending, ready};
    /// use tress::future::select;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (number, _unfinished) = select(ready(5), pending::<u32>()).await.factor_first();
    /// assert_eq!(number, 5);
    /// # });
    /// ```
    pub fn factor_first(self) -> (T, Either<L, R>) {
        match self {
            Either::Left((first, rest)) => (first, Either::Left(rest)),
            Either::Right((first, rest)) => (first, Either::Right(rest)),
        }
    }
}

impl<L, R> Future for Either<L, R>
where
    L: Future,
    R: Future<Output = L::Output>,
{
    type Output = L::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<L::Output> {
        // SAFETY: the value of either variant is pinned with `self`: it is not moved, `Either` is `Unpin`
        // only if both are, and has no destructor of its own.
        unsafe {
            match self.get_unchecked_mut() {
                Either::Left(left) => Pin::new_unchecked(left).poll(cx),
                Either::Right(right) => Pin::new_unchecked(right).poll(cx),
            }
        }
    }
}
