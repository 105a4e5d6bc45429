use super::Instant;
use super::error::Elapsed;
use super::sleep::Sleep;
use crate::runtime::{self, Maker};
use crate::sight::{self, WaitKind};
use crate::task::coop;
use crate::timer::Entry;
use pin_project_lite::pin_project;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

#[cfg(all(test, not(loom)))]
mod tests;

/// Gives a future a limited time to complete.
///
/// The time counts from the first poll of the [`Timeout`]. It returns `Ok` with the output of the future,
/// or `Err(Elapsed)` when the time is up.
///
/// The future is polled before the clock is read: one that is ready immediately costs neither a timer nor
/// a reading of the clock, and its output is returned even if the time is up. A future that does not
/// yield cannot be interrupted.
///
/// # Panics
///
/// If called outside of a runtime, or in a runtime that was built without
/// [`enable_time`](crate::runtime::Builder::enable_time).
///
/// # Cancel safety
///
/// Dropping the `Timeout` drops the inner future and cancels the timer. When the time is up, the inner
/// future is kept until the `Timeout` is dropped; [`into_inner`](Timeout::into_inner) returns it.
///
/// # Examples
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
#[track_caller]
pub fn timeout<F: IntoFuture>(duration: Duration, future: F) -> Timeout<F::IntoFuture> {
    let maker = runtime::check_time_is_enabled();
    Timeout {
        value: future.into_future(),
        delay: Delay::For { duration, maker },
    }
}

/// Gives a future until `deadline` to complete.
///
/// See [`timeout`]; only the deadline is given as an instant.
///
/// # Panics
///
/// If called outside of a runtime, or in a runtime that was built without
/// [`enable_time`](crate::runtime::Builder::enable_time).
///
/// # Cancel safety
///
/// Dropping the `Timeout` drops the inner future and cancels the timer, as for [`timeout`].
///
/// # Examples
///
/// ```
/// use tress::time::{timeout_at, Duration, Instant};
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let deadline = Instant::now() + Duration::from_millis(1);
/// assert!(timeout_at(deadline, std::future::pending::<()>()).await.is_err());
/// # });
/// ```
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
    /// The future returned by [`timeout`] and [`timeout_at`].
    ///
    /// It can be [extended](Timeout::extend) and [reset](Timeout::reset) while it is pinned.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::time::{timeout, Duration};
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// match timeout(Duration::from_secs(1), async { "answer" }).await {
    ///     Ok(answer) => assert_eq!(answer, "answer"),
    ///     Err(_elapsed) => eprintln!("no answer within a second"),
    /// }
    /// # });
    /// ```
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
        // Until the inner future has been pending once.
        For { duration: Duration, maker: Maker },
        // If it was first polled on a worker: the time counts from the worker's next reading of the clock.
        Counting { #[pin] entry: Entry },
        Until { #[pin] sleep: Sleep },
    }
}

impl<T> Timeout<T> {
    /// Returns a reference to the inner future.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::time::{timeout, Duration};
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let timeout = timeout(Duration::from_secs(1), tress::task::spawn(async {}));
    /// let _finished: bool = timeout.get_ref().is_finished();
    /// # });
    /// ```
    pub fn get_ref(&self) -> &T {
        &self.value
    }

    /// Returns a mutable reference to the inner future.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::oneshot;
    /// use tress::time::{timeout, Duration};
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (sender, receiver) = oneshot::channel();
    /// let mut timeout = timeout(Duration::from_secs(1), receiver);
    /// sender.send(5).unwrap();
    /// assert_eq!(timeout.get_mut().try_recv(), Ok(5));
    /// # });
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// Returns the inner future.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::time::{timeout, Duration};
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let timeout = timeout(Duration::from_secs(1), std::future::ready(5));
    /// assert_eq!(timeout.into_inner().await, 5);
    /// # });
    /// ```
    pub fn into_inner(self) -> T {
        self.value
    }

    /// Returns the time that is left: all of it before the first poll, and zero once the time is up.
    ///
    /// It is accurate to the resolution of timers, one millisecond.
    ///
    /// # Examples
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
            Delay::For { duration, .. } => *duration,
            Delay::Counting { entry } => entry.remaining(Instant::now().into_std()),
            Delay::Until { sleep } => sleep.deadline().saturating_duration_since(Instant::now()),
        }
    }

    /// Adds `more` to the time that is left.
    ///
    /// If the time is up already, the new deadline is `more` after now, or `more` after the old deadline if
    /// that was given as an instant, by [`timeout_at`] or [`reset`](Timeout::reset). Poll the `Timeout` again
    /// for it to take effect.
    ///
    /// # Panics
    ///
    /// If the `Timeout` has been polled, this may panic outside of a runtime, or in a runtime that was built
    /// without [`enable_time`](crate::runtime::Builder::enable_time).
    ///
    /// # Examples
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
    pub fn extend(mut self: Pin<&mut Self>, more: Duration) {
        let deadline = match self.as_mut().project().delay.project() {
            DelayProjection::For { duration, .. } => {
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

    /// Changes the deadline, whether the time is up or not.
    ///
    /// A task that is waiting is woken at the new deadline, or immediately if that has passed. If the time
    /// was up, no task is waiting: poll the `Timeout` again for the new deadline to take effect.
    ///
    /// # Panics
    ///
    /// If called outside of a runtime, or in a runtime that was built without
    /// [`enable_time`](crate::runtime::Builder::enable_time).
    ///
    /// # Examples
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
    pub fn reset(self: Pin<&mut Self>, deadline: Instant) {
        let mut delay = self.project().delay;
        match delay.as_mut().project() {
            DelayProjection::Until { sleep } => sleep.reset(deadline),
            DelayProjection::Counting { entry } if entry.as_ref().move_to(deadline.into_std()) => {}
            DelayProjection::For { maker, .. } => {
                let sleep = Sleep::of(*maker, deadline);
                delay.set(Delay::Until { sleep });
            }
            DelayProjection::Counting { .. } => delay.set(Delay::Until {
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
        if let DelayProjection::For { duration, maker } = this.delay.as_mut().project() {
            let (duration, maker) = (*duration, *maker);
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
                if let DelayProjection::Counting { entry } = this.delay.project() {
                    sight::waits(WaitKind::Timer, sight::address(&*entry), None);
                }
                return Poll::Pending;
            }
            let deadline = Instant::now().checked_add(duration);
            let sleep = Sleep::of(maker, deadline.unwrap_or_else(Instant::far_future));
            this.delay.set(Delay::Until { sleep });
        }
        let poll_delay = || match this.delay.project() {
            DelayProjection::Until { sleep } => sleep.poll_in_budget(cx, new),
            DelayProjection::Counting { entry } => poll_counting(entry.as_ref(), cx),
            DelayProjection::For { .. } => unreachable!("started just now"),
        };
        // If the inner future used the budget up, it must not keep its own deadline from being
        // noticed. If the budget was used up before, the timer waits like everything else.
        let elapsed = if had_budget && !coop::has_budget_remaining() {
            coop::with_unconstrained(poll_delay)
        } else {
            poll_delay()
        };
        elapsed.map(|()| Err(Elapsed(())))
    }
}

/// Has an entry that was armed before fired? Takes a unit of the budget if so.
fn poll_counting(entry: Pin<&Entry>, cx: &mut Context<'_>) -> Poll<()> {
    let proceed = ready!(coop::poll_proceed(cx));
    loop {
        if entry.has_fired() {
            proceed.made_progress();
            return Poll::Ready(());
        }
        if entry.is_closed() {
            runtime::panic_shut_down();
        }
        if entry.set_waker(cx.waker()) {
            sight::waits_longer(WaitKind::Timer, sight::address(&*entry), None);
            return Poll::Pending;
        }
        // It fired, or was closed, just now.
    }
}
