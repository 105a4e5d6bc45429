use super::Instant;
use super::sleep::Sleep;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// Ticks every `period`, the first time at once.
///
/// ```
/// use tress::time::{interval, Duration};
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mut interval = interval(Duration::from_millis(2));
/// interval.tick().await; // at once
/// interval.tick().await; // after 2 ms
/// # });
/// ```
///
/// # Panics
/// If `period` is zero; outside of a runtime, or in one built without `enable_time`.
#[track_caller]
pub fn interval(period: Duration) -> Interval {
    assert!(
        !period.is_zero(),
        "`period` must be non-zero: an interval without one would never let anything else run"
    );
    Interval::new(Instant::now(), period)
}

/// Ticks every `period`, the first time at `start`.
///
/// # Panics
/// As for [`interval`].
#[track_caller]
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    assert!(
        !period.is_zero(),
        "`period` must be non-zero: an interval without one would never let anything else run"
    );
    Interval::new(start, period)
}

/// What an [`Interval`] does about ticks that nobody waited for in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissedTickBehavior {
    /// Ticks as fast as it is polled until it has caught up: the number of ticks is right.
    #[default]
    Burst,
    /// Ticks at once, then `period` after that: the distance between ticks is at least `period`.
    Delay,
    /// Ticks at once, then at the next multiple of `period` from the start: ticks stay aligned, and
    /// missed ones are dropped.
    Skip,
}

/// `duration` after `start`; as good as never if the clock does not go that far.
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

/// A stream of ticks, made by [`interval`] and [`interval_at`].
pub struct Interval {
    sleep: Pin<Box<Sleep>>,
    period: Duration,
    missed: MissedTickBehavior,
}

/// Lateness that is the timer's own resolution and no missed tick.
const TOLERANCE: Duration = Duration::from_millis(5);

impl Interval {
    #[track_caller]
    fn new(start: Instant, period: Duration) -> Interval {
        Interval {
            sleep: Box::pin(Sleep::new(start)),
            period,
            missed: MissedTickBehavior::default(),
        }
    }

    /// Waits for the next tick, and returns when it was due.
    ///
    /// # Cancel safety
    /// Dropping it before it returned loses no tick.
    pub async fn tick(&mut self) -> Instant {
        poll_fn(|cx| self.poll_tick(cx)).await
    }

    /// As [`tick`](Interval::tick), for use in a `poll` function.
    pub fn poll_tick(&mut self, cx: &mut Context<'_>) -> Poll<Instant> {
        ready!(self.sleep.as_mut().poll(cx));
        let scheduled = self.sleep.deadline();
        let now = Instant::now();
        let next = if now.saturating_duration_since(scheduled) > TOLERANCE {
            self.missed.next(scheduled, now, self.period)
        } else {
            after(scheduled, self.period)
        };
        self.sleep.as_mut().reset(next);
        Poll::Ready(scheduled)
    }

    /// The next tick comes `period` from now.
    pub fn reset(&mut self) {
        self.reset_after(self.period);
    }

    /// The next tick comes at once.
    pub fn reset_immediately(&mut self) {
        self.sleep.as_mut().expire(Instant::now());
    }

    /// The next tick comes after `after`.
    pub fn reset_after(&mut self, after: Duration) {
        self.reset_at(self::after(Instant::now(), after));
    }

    /// The next tick comes at `deadline`.
    pub fn reset_at(&mut self, deadline: Instant) {
        self.sleep.as_mut().reset(deadline);
    }

    /// What is done about missed ticks.
    pub fn missed_tick_behavior(&self) -> MissedTickBehavior {
        self.missed
    }

    /// Chooses what is done about missed ticks.
    pub fn set_missed_tick_behavior(&mut self, behavior: MissedTickBehavior) {
        self.missed = behavior;
    }

    /// The time between ticks.
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
