use super::Instant;
use super::sleep::Sleep;
use crate::spans::Resource;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// Creates an [`Interval`] that ticks every `period`, starting immediately.
///
/// An interval ticks indefinitely. If a tick comes late, the [`MissedTickBehavior`] determines when the
/// next one comes.
///
/// # Panics
///
/// If `period` is zero, if called outside of a runtime, or in a runtime that was built without
/// [`enable_time`](crate::runtime::Builder::enable_time).
///
/// # Examples
///
/// ```
/// use tress::time::{interval, Duration};
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mut interval = interval(Duration::from_millis(2));
/// interval.tick().await; // immediately
/// interval.tick().await; // after 2 ms
/// # });
/// ```
#[track_caller]
pub fn interval(period: Duration) -> Interval {
    assert!(
        !period.is_zero(),
        "`period` must be non-zero: an interval without one would never let anything else run"
    );
    Interval::new(Instant::now(), period)
}

/// Creates an [`Interval`] that ticks every `period`, starting at `start`.
///
/// If `start` has passed, the first tick comes immediately.
///
/// # Panics
///
/// If `period` is zero, if called outside of a runtime, or in a runtime that was built without
/// [`enable_time`](crate::runtime::Builder::enable_time).
///
/// # Examples
///
/// ```
/// use tress::time::{interval_at, Duration, Instant};
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let start = Instant::now() + Duration::from_millis(2);
/// let mut interval = interval_at(start, Duration::from_millis(2));
/// assert_eq!(interval.tick().await, start);
/// # });
/// ```
#[track_caller]
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    assert!(
        !period.is_zero(),
        "`period` must be non-zero: an interval without one would never let anything else run"
    );
    Interval::new(start, period)
}

/// How an [`Interval`] continues after a tick that was late.
///
/// A tick is late if it was received more than 5 ms after it was due.
///
/// # Examples
///
/// ```
/// use tress::time::{interval, Duration, MissedTickBehavior};
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mut interval = interval(Duration::from_millis(50));
/// interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
/// # interval.tick().await;
/// # });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissedTickBehavior {
    /// Ticks without delay until it has caught up.
    ///
    /// The number of ticks is as if none had been late. This is the default.
    #[default]
    Burst,
    /// Continues one `period` after the late tick was received.
    ///
    /// There is at least about one period between two ticks; later ticks are all shifted.
    Delay,
    /// Continues at the next multiple of `period` from the start.
    ///
    /// Ticks stay aligned, and those that were missed are skipped.
    Skip,
}

/// Returns the instant `duration` after `start`, or one in the far future if that cannot be represented.
fn after(start: Instant, duration: Duration) -> Instant {
    start
        .checked_add(duration)
        .unwrap_or_else(Instant::far_future)
}

impl MissedTickBehavior {
    fn next(self, scheduled: Instant, now: Instant, period: Duration) -> Instant {
        match self {
            MissedTickBehavior::Burst => after(scheduled, period),
            MissedTickBehavior::Delay => after(now, period),
            MissedTickBehavior::Skip => {
                let late = now.saturating_duration_since(scheduled);
                let into_period = late.as_nanos() % period.as_nanos();
                // A remainder is less than the period, so it fits wherever the period does.
                let into_period = Duration::new(
                    (into_period / 1_000_000_000) as u64,
                    (into_period % 1_000_000_000) as u32,
                );
                after(now, period - into_period)
            }
        }
    }
}

/// A sequence of ticks at a fixed period.
///
/// Returned by [`interval`] and [`interval_at`]. With the feature `stream` it is a stream of the instants
/// at which the ticks were due.
///
/// # Examples
///
/// ```
/// use tress::time::{interval, Duration};
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mut interval = interval(Duration::from_millis(1));
/// for _ in 0..3 {
///     interval.tick().await;
///     // Do something once per millisecond.
/// }
/// # });
/// ```
pub struct Interval {
    /// What subscribers see of it.
    seen: Resource,
    sleep: Pin<Box<Sleep>>,
    period: Duration,
    missed: MissedTickBehavior,
}

/// The lateness up to which a tick is not treated as missed: timers have a resolution, and runtimes
/// are busy.
const TOLERANCE: Duration = Duration::from_millis(5);

impl Interval {
    #[track_caller]
    fn new(start: Instant, period: Duration) -> Interval {
        Interval {
            seen: Resource::interval(),
            sleep: Box::pin(Sleep::new(start)),
            period,
            missed: MissedTickBehavior::default(),
        }
    }

    /// Waits for the next tick, and returns the instant at which it was due.
    ///
    /// # Panics
    ///
    /// As [`Sleep`] does when it is polled.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe: if the future is dropped before it completes, no tick is lost.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::time::{interval, Duration};
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut interval = interval(Duration::from_millis(2));
    /// let first = interval.tick().await;
    /// let second = interval.tick().await;
    /// assert_eq!(second - first, Duration::from_millis(2));
    /// # });
    /// ```
    pub async fn tick(&mut self) -> Instant {
        let seen = self.seen.clone();
        seen.run("Interval::tick", "poll_tick", || {
            poll_fn(|cx| self.poll_tick(cx))
        })
        .await
    }

    /// Polls for the next tick.
    ///
    /// Returns the instant at which the tick was due. When this returns `Poll::Pending`, the waker of the
    /// most recent call is woken at the next tick. See [`tick`](Interval::tick).
    ///
    /// # Panics
    ///
    /// As [`Sleep`] does when it is polled.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::future::poll_fn;
    /// use tress::time::{interval, Duration};
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut interval = interval(Duration::from_millis(2));
    /// poll_fn(|cx| interval.poll_tick(cx)).await;
    /// # });
    /// ```
    pub fn poll_tick(&mut self, cx: &mut Context<'_>) -> Poll<Instant> {
        ready!(self.sleep.as_mut().poll(cx));
        let scheduled = self.sleep.deadline();
        let now = Instant::now();
        let next = if now.saturating_duration_since(scheduled) > TOLERANCE {
            self.missed.next(scheduled, now, self.period)
        } else {
            after(scheduled, self.period)
        };
        self.sleep.as_mut().rearm(next);
        Poll::Ready(scheduled)
    }

    /// Schedules the next tick one period from now.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::time::{self, interval, Duration, Instant};
    /// # let rt = tress::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    /// # rt.block_on(async {
    /// let mut interval = interval(Duration::from_secs(10));
    /// interval.tick().await;
    /// time::advance(Duration::from_secs(8)).await;
    /// interval.reset();
    /// let start = Instant::now();
    /// interval.tick().await;
    /// assert_eq!(start.elapsed().as_secs(), 10);
    /// # });
    /// ```
    pub fn reset(&mut self) {
        self.reset_after(self.period);
    }

    /// Schedules the next tick for now.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::time::{interval, Duration};
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut interval = interval(Duration::from_secs(3600));
    /// interval.tick().await;
    /// interval.reset_immediately();
    /// interval.tick().await; // returns immediately
    /// # });
    /// ```
    pub fn reset_immediately(&mut self) {
        self.sleep.as_mut().expire(Instant::now());
    }

    /// Schedules the next tick `after` from now; the period applies to those that follow.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::time::{interval, Duration};
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut interval = interval(Duration::from_secs(3600));
    /// interval.tick().await;
    /// interval.reset_after(Duration::from_millis(1));
    /// interval.tick().await; // after a millisecond
    /// # });
    /// ```
    pub fn reset_after(&mut self, after: Duration) {
        self.reset_at(self::after(Instant::now(), after));
    }

    /// Schedules the next tick for `deadline`; the period applies to those that follow.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::time::{interval, Duration, Instant};
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut interval = interval(Duration::from_secs(3600));
    /// interval.tick().await;
    /// let deadline = Instant::now() + Duration::from_millis(1);
    /// interval.reset_at(deadline);
    /// assert_eq!(interval.tick().await, deadline);
    /// # });
    /// ```
    pub fn reset_at(&mut self, deadline: Instant) {
        self.sleep.as_mut().reset(deadline);
    }

    /// Returns how the interval continues after a late tick.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::time::{interval, Duration, MissedTickBehavior};
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let interval = interval(Duration::from_secs(1));
    /// assert_eq!(interval.missed_tick_behavior(), MissedTickBehavior::Burst);
    /// # });
    /// ```
    pub fn missed_tick_behavior(&self) -> MissedTickBehavior {
        self.missed
    }

    /// Sets how the interval continues after a late tick.
    ///
    /// The default is [`MissedTickBehavior::Burst`].
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::time::{interval, Duration, MissedTickBehavior};
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut interval = interval(Duration::from_secs(1));
    /// interval.set_missed_tick_behavior(MissedTickBehavior::Skip);
    /// # });
    /// ```
    pub fn set_missed_tick_behavior(&mut self, behavior: MissedTickBehavior) {
        self.missed = behavior;
    }

    /// Returns the period of the interval.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::time::{interval, Duration};
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// assert_eq!(interval(Duration::from_secs(1)).period(), Duration::from_secs(1));
    /// # });
    /// ```
    pub fn period(&self) -> Duration {
        self.period
    }
}

impl fmt::Debug for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interval")
            .field("period", &self.period)
            .field("missed_tick_behavior", &self.missed)
            .field("next", &self.sleep.deadline())
            .finish()
    }
}
