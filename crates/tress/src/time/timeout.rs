use super::Instant;
use super::error::Elapsed;
use super::sleep::Sleep;
use super::timers::Entry;
use crate::runtime;
use crate::task::coop;
use pin_project_lite::pin_project;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

#[cfg(all(test, not(loom)))]
mod tests;

/// Gives a future `duration` to complete, counted from its first poll.
///
/// The future is polled before the clock is looked at: one that is ready at once costs no timer and
/// no look at the clock, and its value is returned even if the time is up.
///
/// ```
/// use tress::time::{timeout, Duration};
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let value = timeout(Duration::from_secs(1), async { 5 }).await;
/// assert_eq!(value, Ok(5));
///
/// let never = timeout(Duration::from_millis(1), std::future::pending::<()>()).await;
/// assert!(never.is_err());
/// # });
/// ```
///
/// # Panics
/// Outside of a runtime, or in one built without `enable_time`.
///
/// # Cancel safety
/// Dropping it drops the inner future and the timer. When the time is up the inner future is not
/// dropped before the `Timeout` itself: [`into_inner`](Timeout::into_inner) gives it back.
#[track_caller]
pub fn timeout<F: IntoFuture>(duration: Duration, future: F) -> Timeout<F::IntoFuture> {
    runtime::check_time_is_enabled();
    Timeout {
        value: future.into_future(),
        delay: Delay::For { duration },
    }
}

/// Gives a future until `deadline` to complete.
///
/// ```
/// use tress::time::{timeout_at, Duration, Instant};
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let deadline = Instant::now() + Duration::from_millis(1);
/// assert!(timeout_at(deadline, std::future::pending::<()>()).await.is_err());
/// # });
/// ```
///
/// # Panics
/// As for [`timeout`].
///
/// # Cancel safety
/// As for [`timeout`].
#[track_caller]
pub fn timeout_at<F: IntoFuture>(deadline: Instant, future: F) -> Timeout<F::IntoFuture> {
    Timeout {
        value: future.into_future(),
        delay: Delay::Until {
            sleep: Sleep::new(deadline),
        },
    }
}

pin_project! {
    /// The future of [`timeout`] and [`timeout_at`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct Timeout<T> {
        #[pin]
        value: T,
        #[pin]
        delay: Delay,
    }
}

pin_project! {
    #[project = DelayProjection]
    #[derive(Debug)]
    enum Delay {
        // The inner future has not been pending yet.
        For { duration: Duration },
        // On a worker: the time counts from the end of its tick.
        Counting { #[pin] entry: Entry },
        Until { #[pin] sleep: Sleep },
    }
}

impl<T> Timeout<T> {
    /// The inner future.
    pub fn get_ref(&self) -> &T {
        &self.value
    }

    /// The inner future, mutably.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// Gives the inner future back.
    pub fn into_inner(self) -> T {
        self.value
    }

    /// How much time is left: all of it before the first poll, nothing once the time is up.
    ///
    /// Accurate to the millisecond that timers have.
    ///
    /// ```
    /// use std::future::pending;
    /// use tress::time::{timeout, Duration};
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let timeout = timeout(Duration::from_secs(60), pending::<()>());
    /// assert_eq!(timeout.remaining(), Duration::from_secs(60));
    /// # });
    /// ```
    pub fn remaining(&self) -> Duration {
        match &self.delay {
            Delay::For { duration } => *duration,
            Delay::Counting { entry } => entry.remaining(Instant::now().into_std()),
            Delay::Until { sleep } => sleep.deadline().saturating_duration_since(Instant::now()),
        }
    }

    /// Gives the future `more` time than it has left.
    ///
    /// ```
    /// use std::pin::pin;
    /// use tress::time::{self, timeout, Duration};
    ///
    /// # let rt = tress::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    /// # rt.block_on(async {
    /// let second = Duration::from_secs(1);
    /// let mut answer = pin!(timeout(2 * second, async {
    ///     time::sleep(3 * second).await;
    ///     "late"
    /// }));
    /// assert!(tress::future::poll_once(answer.as_mut()).await.is_none());
    /// answer.as_mut().extend(2 * second);
    /// assert_eq!(answer.await, Ok("late"));
    /// # });
    /// ```
    ///
    /// If the time is up already, this is `more` from now, and takes effect with the next poll as for
    /// [`reset`](Timeout::reset).
    ///
    /// # Panics
    /// As [`timeout`], if it has been polled.
    pub fn extend(mut self: Pin<&mut Self>, more: Duration) {
        let deadline = match self.as_mut().project().delay.project() {
            DelayProjection::For { duration } => {
                *duration = duration.saturating_add(more);
                return;
            }
            DelayProjection::Counting { entry } => {
                let now = Instant::now();
                let left = entry.remaining(now.into_std());
                now.checked_add(left.saturating_add(more))
            }
            DelayProjection::Until { sleep } => sleep.deadline().checked_add(more),
        };
        self.reset(deadline.unwrap_or_else(Instant::far_future));
    }

    /// Gives the future until `deadline`, whether its time is up or not.
    ///
    /// Whoever waits is woken at the new deadline; at once, if that has passed. If the time was up already
    /// nobody waits any more: poll it for the new deadline to count.
    ///
    /// ```
    /// use std::future::pending;
    /// use std::pin::pin;
    /// use tress::time::{timeout, Duration, Instant};
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut timeout = pin!(timeout(Duration::from_secs(3600), pending::<()>()));
    /// timeout.as_mut().reset(Instant::now() + Duration::from_millis(1));
    /// assert!(timeout.await.is_err());
    /// # });
    /// ```
    ///
    /// # Panics
    /// As [`timeout`].
    pub fn reset(self: Pin<&mut Self>, deadline: Instant) {
        let mut delay = self.project().delay;
        match delay.as_mut().project() {
            DelayProjection::Until { sleep } => sleep.reset(deadline),
            DelayProjection::Counting { entry } if entry.as_ref().move_to(deadline.into_std()) => {}
            _ => delay.set(Delay::Until {
                sleep: Sleep::new(deadline),
            }),
        }
    }
}

impl<T: Future> Future for Timeout<T> {
    type Output = Result<T::Output, Elapsed>;

    // D-TIME-01
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let had_budget = coop::has_budget_remaining();
        if let Poll::Ready(value) = this.value.poll(cx) {
            return Poll::Ready(Ok(value));
        }
        let mut new = false;
        if let DelayProjection::For { duration } = this.delay.as_mut().project() {
            let duration = *duration;
            new = !duration.is_zero();
            let counting = new
                && runtime::with_own_timers(|timers| {
                    this.delay.set(Delay::Counting {
                        entry: Entry::new(),
                    });
                    let DelayProjection::Counting { entry } = this.delay.as_mut().project() else {
                        unreachable!("set just now");
                    };
                    entry.as_ref().arm_after(timers, duration, cx.waker())
                });
            if counting {
                return Poll::Pending;
            }
            let deadline = Instant::now().checked_add(duration);
            let sleep = Sleep::new(deadline.unwrap_or_else(Instant::far_future));
            this.delay.set(Delay::Until { sleep });
        }
        let poll_delay = || match this.delay.project() {
            DelayProjection::Until { sleep } => sleep.poll_in_budget(cx, new),
            DelayProjection::Counting { entry } => entry.as_ref().poll_in_budget(cx),
            DelayProjection::For { .. } => unreachable!("started just now"),
        };
        // If the inner future used the budget up, it must not keep its own deadline from being
        // noticed; if it was used up before, everybody waits.
        let elapsed = if had_budget && !coop::has_budget_remaining() {
            coop::with_unconstrained(poll_delay)
        } else {
            poll_delay()
        };
        elapsed.map(|()| Err(Elapsed(())))
    }
}
