use crate::context;
use crate::sys;
use crate::timer;
use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::time::Duration;

/// A point in the time of the runtime.
///
/// It is a reading of the monotonic clock of the system, except on a runtime whose clock was
/// [paused](super::pause).
///
/// # Examples
///
/// ```
/// use tress::time::{Duration, Instant};
/// let start = Instant::now();
/// let later = start + Duration::from_secs(1);
/// assert_eq!(later - start, Duration::from_secs(1));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant {
    std: std::time::Instant,
}

/// The distance of a deadline that stands for "never": thirty years.
const FAR: Duration = Duration::from_secs(86_400 * 365 * 30);

impl Instant {
    /// Returns the current instant, by the clock of the current runtime, or of the system outside of a
    /// runtime.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::time::Instant;
    ///
    /// let earlier = Instant::now();
    /// assert!(Instant::now() >= earlier);
    /// ```
    #[inline]
    pub fn now() -> Instant {
        if timer::may_differ() {
            if let Some(std) = context::with_runtime(|shared| shared.clock.now()) {
                return Instant { std };
            }
        }
        Instant {
            std: sys::clock::now(),
        }
    }

    /// Converts an instant of the standard library.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::time::Instant;
    ///
    /// let std = std::time::Instant::now();
    /// assert_eq!(Instant::from_std(std).into_std(), std);
    /// ```
    pub fn from_std(std: std::time::Instant) -> Instant {
        Instant { std }
    }

    pub(crate) fn far_future() -> Instant {
        Instant::now() + FAR
    }

    /// Converts the instant into one of the standard library.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::time::Instant;
    ///
    /// let now = Instant::now();
    /// assert_eq!(Instant::from_std(now.into_std()), now);
    /// ```
    pub fn into_std(self) -> std::time::Instant {
        self.std
    }

    /// Returns the time that elapsed from `earlier` to this instant, or zero if `earlier` is later.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::time::{Duration, Instant};
    ///
    /// let start = Instant::now();
    /// let end = start + Duration::from_secs(1);
    /// assert_eq!(end.duration_since(start), Duration::from_secs(1));
    /// assert_eq!(start.duration_since(end), Duration::ZERO);
    /// ```
    pub fn duration_since(&self, earlier: Instant) -> Duration {
        self.std.saturating_duration_since(earlier.std)
    }

    /// Returns the time that elapsed from `earlier` to this instant, or `None` if `earlier` is later.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::time::{Duration, Instant};
    ///
    /// let start = Instant::now();
    /// let end = start + Duration::from_secs(1);
    /// assert_eq!(end.checked_duration_since(start), Some(Duration::from_secs(1)));
    /// assert_eq!(start.checked_duration_since(end), None);
    /// ```
    pub fn checked_duration_since(&self, earlier: Instant) -> Option<Duration> {
        self.std.checked_duration_since(earlier.std)
    }

    /// Returns the time that elapsed from `earlier` to this instant, or zero if `earlier` is later.
    ///
    /// This is [`duration_since`](Instant::duration_since) under a name that says so.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::time::{Duration, Instant};
    ///
    /// let start = Instant::now();
    /// let end = start + Duration::from_secs(1);
    /// assert_eq!(start.saturating_duration_since(end), Duration::ZERO);
    /// ```
    pub fn saturating_duration_since(&self, earlier: Instant) -> Duration {
        self.std.saturating_duration_since(earlier.std)
    }

    /// Returns the time that elapsed since this instant, or zero if it is in the future.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::time::{sleep, Duration, Instant};
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let start = Instant::now();
    /// sleep(Duration::from_millis(2)).await;
    /// assert!(start.elapsed() >= Duration::from_millis(2));
    /// # });
    /// ```
    pub fn elapsed(&self) -> Duration {
        Instant::now().saturating_duration_since(*self)
    }

    /// Returns `self + duration`, or `None` if the result cannot be represented.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::time::{Duration, Instant};
    ///
    /// let now = Instant::now();
    /// assert_eq!(now.checked_add(Duration::from_secs(1)), Some(now + Duration::from_secs(1)));
    /// ```
    pub fn checked_add(&self, duration: Duration) -> Option<Instant> {
        self.std.checked_add(duration).map(Instant::from_std)
    }

    /// Returns `self - duration`, or `None` if the result cannot be represented.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::time::{Duration, Instant};
    ///
    /// let now = Instant::now();
    /// assert_eq!(now.checked_sub(Duration::ZERO), Some(now));
    /// ```
    pub fn checked_sub(&self, duration: Duration) -> Option<Instant> {
        self.std.checked_sub(duration).map(Instant::from_std)
    }
}

impl From<std::time::Instant> for Instant {
    fn from(std: std::time::Instant) -> Instant {
        Instant { std }
    }
}

impl From<Instant> for std::time::Instant {
    fn from(instant: Instant) -> std::time::Instant {
        instant.std
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, other: Duration) -> Instant {
        Instant::from_std(self.std + other)
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, rhs: Duration) {
        *self = *self + rhs;
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, rhs: Instant) -> Duration {
        self.duration_since(rhs)
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;

    fn sub(self, rhs: Duration) -> Instant {
        Instant::from_std(self.std - rhs)
    }
}

impl SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, rhs: Duration) {
        *self = *self - rhs;
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.std.fmt(f)
    }
}
