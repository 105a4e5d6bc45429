//! How long polls take, or tasks wait: which buckets there are, and how many polls each has had.

use crate::sys::Counter;
use std::fmt;
use std::ops::Range;
use std::time::Duration;

/// The finest precision of a [`LogHistogram`].
const FINEST: u32 = 10;

/// Says which buckets a histogram of durations has.
///
/// See [`Builder::metrics_poll_time_histogram_configuration`](crate::runtime::Builder::metrics_poll_time_histogram_configuration).
#[derive(Debug, Clone)]
pub struct HistogramConfiguration(Shape);

/// Whether the buckets of a histogram have the same width, or each is twice as wide as the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HistogramScale {
    /// The same width.
    Linear,
    /// Each is twice as wide as the one before it.
    Log,
}

#[derive(Debug, Clone, Copy)]
enum Shape {
    /// Width in nanoseconds, at least 1, and number, at least 1.
    Linear(u64, usize),
    /// As `Linear`; each but the second is twice as wide as the one before it. The width is a power of two.
    Doubling(u64, usize),
    Log(LogHistogram),
}

/// Buckets whose width grows with the durations in them, in the manner of H2 histograms.
///
/// ```
/// use std::time::Duration;
/// use tress::runtime::{HistogramConfiguration, LogHistogram};
///
/// let shape = LogHistogram::builder()
///     .min_value(Duration::from_micros(1))
///     .max_value(Duration::from_secs(1))
///     .max_error(0.25)
///     .max_buckets(100)?;
/// assert!(shape.max_value() >= 1_000_000_000);
/// let configuration = HistogramConfiguration::log(shape);
/// # drop(configuration);
/// # Ok::<(), tress::runtime::InvalidHistogramConfiguration>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogHistogram {
    /// Each power of two is cut into 2^precision buckets.
    precision: u32,
    /// The number of buckets below `min_value` that are one.
    skipped: u64,
    buckets: usize,
}

/// Builds a [`LogHistogram`].
///
/// The defaults are 100 ns to 60 s, with a precision of 2.
#[derive(Debug, Clone, Copy, Default)]
pub struct LogHistogramBuilder {
    max_value: Option<Duration>,
    min_value: Option<Duration>,
    precision: Option<u32>,
}

/// A histogram cannot be had as it was asked for.
#[derive(Debug)]
pub enum InvalidHistogramConfiguration {
    /// It would have more buckets than allowed.
    TooManyBuckets {
        /// The number of buckets that it would have.
        required_bucket_count: usize,
    },
}

impl fmt::Display for InvalidHistogramConfiguration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InvalidHistogramConfiguration::TooManyBuckets {
            required_bucket_count,
        } = self;
        write!(
            f,
            "the histogram needs {required_bucket_count} buckets, more than allowed; a larger error or \
             a narrower range needs fewer"
        )
    }
}

impl std::error::Error for InvalidHistogramConfiguration {}

/// Nanoseconds, `u64::MAX` if there are more.
fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl HistogramConfiguration {
    /// Creates buckets of the same width. Longer durations count in the last one. Zero counts as one nanosecond and
    /// one bucket.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tress::runtime::HistogramConfiguration;
    ///
    /// let configuration = HistogramConfiguration::linear(Duration::from_micros(100), 10);
    /// # drop(configuration);
    /// ```
    pub fn linear(bucket_width: Duration, num_buckets: usize) -> HistogramConfiguration {
        HistogramConfiguration(Shape::Linear(ns(bucket_width).max(1), num_buckets.max(1)))
    }

    /// Creates buckets whose width grows.
    ///
    /// ```
    /// use tress::runtime::{HistogramConfiguration, LogHistogram};
    ///
    /// let configuration = HistogramConfiguration::log(LogHistogram::default());
    /// # drop(configuration);
    /// ```
    pub fn log(configuration: impl Into<LogHistogram>) -> HistogramConfiguration {
        HistogramConfiguration(Shape::Log(configuration.into()))
    }

    /// Creates buckets of the given scale, whose first has about the given width.
    #[doc(hidden)]
    pub fn scaled(
        scale: HistogramScale,
        width: Duration,
        buckets: usize,
    ) -> HistogramConfiguration {
        match scale {
            HistogramScale::Linear => HistogramConfiguration::linear(width, buckets),
            HistogramScale::Log => {
                let width = ns(width).checked_next_power_of_two().unwrap_or(1 << 63);
                HistogramConfiguration(Shape::Doubling(width, buckets.max(1)))
            }
        }
    }
}

impl Default for HistogramConfiguration {
    fn default() -> HistogramConfiguration {
        HistogramConfiguration::linear(Duration::from_micros(100), 10)
    }
}

impl Shape {
    fn buckets(&self) -> usize {
        match self {
            Shape::Linear(_, buckets) | Shape::Doubling(_, buckets) => *buckets,
            Shape::Log(log) => log.buckets,
        }
    }

    /// Returns the bucket of a duration.
    fn bucket(&self, ns: u64) -> usize {
        let bucket = match *self {
            Shape::Linear(width, _) => ns / width,
            Shape::Doubling(width, _) if ns < width => 0,
            Shape::Doubling(width, _) => u64::from(ns.ilog2() - width.ilog2() + 1),
            Shape::Log(log) => index(ns, log.precision).saturating_sub(log.skipped),
        };
        let last = self.buckets() - 1;
        usize::try_from(bucket).map_or(last, |bucket| bucket.min(last))
    }

    /// Returns where a bucket begins.
    fn start(&self, bucket: usize) -> u64 {
        if bucket == 0 {
            return 0;
        }
        let bucket = bucket as u64;
        match *self {
            Shape::Linear(width, _) => width.saturating_mul(bucket),
            Shape::Doubling(width, _) => {
                let doublings = u32::try_from(bucket - 1).unwrap_or(u32::MAX);
                let start = u128::from(width).checked_shl(doublings.min(64));
                start.map_or(u64::MAX, saturated)
            }
            Shape::Log(log) => start_of(bucket + log.skipped, log.precision),
        }
    }

    fn range(&self, bucket: usize) -> Range<Duration> {
        let end = match bucket + 1 == self.buckets() {
            true => u64::MAX,
            false => self.start(bucket + 1),
        };
        Duration::from_nanos(self.start(bucket))..Duration::from_nanos(end)
    }
}

fn saturated(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

/// Returns the bucket of a value if each power of two is cut into 2^precision.
fn index(value: u64, precision: u32) -> u64 {
    let coarser = (value | 1).ilog2().saturating_sub(precision);
    (u64::from(coarser) << precision) + (value >> coarser)
}

/// Returns the smallest value in that bucket.
fn start_of(index: u64, precision: u32) -> u64 {
    let coarser = (index >> precision).saturating_sub(1);
    let within = u128::from(index - (coarser << precision));
    saturated(within << coarser.min(64))
}

impl LogHistogram {
    /// Creates a builder.
    pub fn builder() -> LogHistogramBuilder {
        LogHistogramBuilder::default()
    }

    /// Returns where the last bucket, which has no end, begins: in nanoseconds.
    pub fn max_value(&self) -> u64 {
        Shape::Log(*self).start(self.buckets - 1)
    }
}

impl Default for LogHistogram {
    fn default() -> LogHistogram {
        LogHistogram::builder().build()
    }
}

impl From<LogHistogramBuilder> for LogHistogram {
    fn from(builder: LogHistogramBuilder) -> LogHistogram {
        builder.build()
    }
}

impl LogHistogramBuilder {
    /// Sets how wide a bucket may be, as a fraction of the durations in it: 0.25 or finer, 2^-10 at the finest.
    ///
    /// # Panics
    /// If it is not between 0 and 1.
    pub fn max_error(self, max_error: f64) -> LogHistogramBuilder {
        assert!(
            max_error > 0.0 && max_error < 1.0,
            "max_error must be greater than 0 and less than 1"
        );
        let fits = |precision: &u32| 0.5_f64.powi(*precision as i32) <= max_error;
        let precision = (2..FINEST).find(fits).unwrap_or(FINEST);
        LogHistogramBuilder {
            precision: Some(precision),
            ..self
        }
    }

    /// Cuts each power of two into 2^`p` buckets.
    ///
    /// # Panics
    /// If `p` is greater than 10.
    pub fn precision_exact(self, p: u32) -> LogHistogramBuilder {
        assert!(p <= FINEST, "precision must be <= {FINEST}");
        LogHistogramBuilder {
            precision: Some(p),
            ..self
        }
    }

    /// Sets the shortest duration of interest: shorter ones share the first bucket.
    pub fn min_value(self, duration: Duration) -> LogHistogramBuilder {
        LogHistogramBuilder {
            min_value: Some(duration),
            ..self
        }
    }

    /// Sets the longest duration of interest: longer ones share the last bucket.
    ///
    /// # Panics
    /// If it is zero.
    pub fn max_value(self, duration: Duration) -> LogHistogramBuilder {
        assert!(!duration.is_zero(), "max value must be greater than 0");
        LogHistogramBuilder {
            max_value: Some(duration),
            ..self
        }
    }

    /// Builds it, unless it would have more than that many buckets.
    ///
    /// # Errors
    /// It would have more.
    pub fn max_buckets(
        &mut self,
        max_buckets: usize,
    ) -> Result<LogHistogram, InvalidHistogramConfiguration> {
        let histogram = self.build();
        match histogram.buckets > max_buckets {
            true => Err(InvalidHistogramConfiguration::TooManyBuckets {
                required_bucket_count: histogram.buckets,
            }),
            false => Ok(histogram),
        }
    }

    /// Builds it.
    pub fn build(&self) -> LogHistogram {
        let precision = self.precision.unwrap_or(2);
        let min = ns(self.min_value.unwrap_or(Duration::from_nanos(100)));
        let max = ns(self.max_value.unwrap_or(Duration::from_secs(60)));
        // The first bucket is one finer than asked for.
        let skipped = index(min, precision).saturating_sub(1);
        let mut last = index(max, precision);
        if start_of(last, precision) < max {
            last += 1;
        }
        LogHistogram {
            precision,
            skipped,
            buckets: last.saturating_sub(skipped) as usize + 1,
        }
    }
}

/// How many of something took how long, counted by one thread.
#[derive(Debug, Clone)]
pub(crate) struct Counts {
    shape: Shape,
    /// Empty before the first.
    counts: Vec<u32>,
    max: u64,
}

impl Counts {
    pub(crate) fn new(shape: LogHistogram) -> Counts {
        Counts {
            shape: Shape::Log(shape),
            counts: Vec::new(),
            max: 0,
        }
    }

    /// Counts `times` durations of this many nanoseconds.
    pub(crate) fn add(&mut self, ns: u64, times: u32) {
        if self.counts.is_empty() {
            self.counts = vec![0; self.shape.buckets()];
        }
        let count = &mut self.counts[self.shape.bucket(ns)];
        *count = count.saturating_add(times);
        self.max = self.max.max(ns);
    }

    /// Forgets all, but not how much room it needed.
    pub(crate) fn clear(&mut self) {
        self.counts.fill(0);
        self.max = 0;
    }

    /// Returns the nanoseconds that `share` of the durations are not longer than, up to the width of a bucket; `None` if
    /// there are none.
    pub(crate) fn quantile(&self, share: f64) -> Option<u64> {
        let all: u64 = self.counts.iter().map(|n| u64::from(*n)).sum();
        let rank = ((all as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += u64::from(*count);
            if seen >= rank {
                let end = self.shape.range(bucket).end.as_nanos() as u64;
                return Some(end.saturating_sub(1).min(self.max));
            }
        }
        None
    }

    /// Returns the middle of each bucket that is not empty, in nanoseconds, and how many are in it.
    #[cfg(feature = "sight")]
    pub(crate) fn pairs(&self) -> Vec<(u64, u64)> {
        let counts = self.counts.iter().enumerate();
        let pair = |(bucket, count): (usize, &u32)| {
            let range = self.shape.range(bucket);
            // The last one has no end.
            let end = (range.end.as_nanos() as u64).min(self.max);
            let start = range.start.as_nanos() as u64;
            (start.midpoint(end.max(start)), u64::from(*count))
        };
        counts.filter(|(_, count)| **count > 0).map(pair).collect()
    }

    /// Returns the longest; `None` if there are none.
    pub(crate) fn max(&self) -> Option<u64> {
        self.counts.iter().any(|n| *n > 0).then_some(self.max)
    }
}

/// How many polls of a worker took how long.
#[derive(Debug)]
pub(crate) struct Histogram {
    shape: Shape,
    counts: Box<[Counter]>,
}

impl Histogram {
    pub(crate) fn new(configuration: &HistogramConfiguration) -> Histogram {
        let shape = configuration.0;
        Histogram {
            shape,
            counts: (0..shape.buckets()).map(|_| Counter::default()).collect(),
        }
    }

    /// Counts a poll. A thread that has given its worker away ends a poll too.
    pub(crate) fn count(&self, took: Duration) {
        self.counts[self.shape.bucket(ns(took))].add_shared(1);
    }

    pub(super) fn buckets(&self) -> usize {
        self.counts.len()
    }

    #[track_caller]
    pub(super) fn range(&self, bucket: usize) -> Range<Duration> {
        let n = self.buckets();
        assert!(bucket < n, "there is no bucket {bucket}: there are {n}");
        self.shape.range(bucket)
    }

    #[track_caller]
    pub(super) fn get(&self, bucket: usize) -> u64 {
        let n = self.buckets();
        assert!(bucket < n, "there is no bucket {bucket}: there are {n}");
        self.counts[bucket].get()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Buckets follow each other without a gap, and each value is in the bucket whose range has it.
    #[test]
    fn every_duration_has_its_bucket() {
        let mut shapes = vec![
            HistogramConfiguration::default(),
            HistogramConfiguration::linear(Duration::ZERO, 0),
            HistogramConfiguration::linear(Duration::MAX, 3),
            HistogramConfiguration::scaled(HistogramScale::Log, Duration::from_nanos(50), 30),
            HistogramConfiguration::scaled(HistogramScale::Log, Duration::MAX, 100),
            HistogramConfiguration::log(LogHistogram::builder().max_value(Duration::MAX)),
            HistogramConfiguration::log(LogHistogram::builder().min_value(Duration::MAX)),
        ];
        for p in 0..=FINEST {
            let builder = LogHistogram::builder()
                .precision_exact(p)
                .min_value(Duration::ZERO);
            shapes.push(HistogramConfiguration::log(builder));
        }
        for HistogramConfiguration(shape) in shapes {
            let last = shape.buckets() - 1;
            assert_eq!(shape.start(0), 0);
            assert_eq!(shape.range(last).end, Duration::from_nanos(u64::MAX));
            for bucket in 0..last {
                assert_eq!(shape.range(bucket).end, shape.range(bucket + 1).start);
            }
            let powers = (0..64).map(|n| 1u64 << n);
            for value in powers.flat_map(|v| [v - 1, v, v + 1]).chain([u64::MAX]) {
                let range = shape.range(shape.bucket(value));
                let value = Duration::from_nanos(value);
                let is_last = range.end == Duration::from_nanos(u64::MAX);
                assert!(
                    range.start <= value && (value < range.end || is_last),
                    "{shape:?}"
                );
            }
        }
    }

    #[test]
    fn quantiles_are_right_to_the_width_of_a_bucket() {
        let mut counts = Counts::new(LogHistogram::default());
        assert_eq!((counts.quantile(0.5), counts.max()), (None, None));
        for us in 1..=1000 {
            counts.add(us * 1000, 1);
        }
        let near = |share: f64, us: f64| {
            let found = counts.quantile(share).unwrap() as f64 / 1000.0;
            assert!(found >= us && found <= us * 1.25, "{share}: {found}");
        };
        near(0.5, 500.0);
        near(0.99, 990.0);
        assert_eq!(counts.quantile(1.0), Some(1_000_000));
        assert_eq!(counts.max(), Some(1_000_000));
        counts.add(u64::MAX, u32::MAX);
        counts.add(u64::MAX, u32::MAX);
        assert_eq!(counts.quantile(0.99), Some(u64::MAX - 1));
        counts.clear();
        assert_eq!((counts.quantile(0.5), counts.max()), (None, None));
    }

    #[test]
    fn the_edges_are_where_they_were_asked_for() {
        let log = LogHistogram::builder()
            .precision_exact(0)
            .min_value(Duration::from_nanos(64))
            .max_value(Duration::from_nanos(1024))
            .build();
        let starts: Vec<u64> = (0..log.buckets).map(|b| Shape::Log(log).start(b)).collect();
        assert_eq!(starts, [0, 64, 128, 256, 512, 1024]);
        assert_eq!(log.max_value(), 1024);
        // The number that Tokio has by default.
        assert_eq!(LogHistogram::default().buckets, 119);
        let error = LogHistogram::builder().max_error(0.001).max_buckets(5);
        assert!(error.unwrap_err().to_string().contains("buckets"));
    }

    #[test]
    #[should_panic(expected = "max_error")]
    fn an_error_that_is_no_number_is_refused() {
        let _ = LogHistogram::builder().max_error(f64::NAN);
    }
}
