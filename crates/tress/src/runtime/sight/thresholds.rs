use std::time::Duration;

/// When something counts as wrong; see [`Builder::sight_thresholds`](crate::runtime::Builder::sight_thresholds).
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use tress::trace::Thresholds;
///
/// let mut thresholds = Thresholds::default();
/// thresholds.stuck = Duration::from_secs(5);
/// let rt = tress::runtime::Builder::new_multi_thread()
///     .sight(true)
///     .sight_thresholds(thresholds)
///     .build()?;
/// # drop(rt);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Thresholds {
    /// How long a cycle of tasks that wait for each other has to last. Default: 1 second.
    pub deadlock: Duration,
    /// How long a task may wait for what another task holds. Default: 30 seconds.
    pub stuck: Duration,
    /// How long a task may wait while nothing is left that could wake it. Default: 5 seconds.
    pub lost_wake: Duration,
    /// How long a poll may take. Default: 50 milliseconds.
    ///
    /// A poll is seen if it lasts for 100 milliseconds more than this, at the least. Set
    /// [`Builder::slow_poll_threshold`](crate::runtime::Builder::slow_poll_threshold) for a closer look.
    pub slow_poll: Duration,
    /// How many tasks may queue for one lock, over three looks one after the other. Default: 16.
    pub convoy: usize,
    /// The windows in each of which the number of live tasks of a site has to grow. Default: 3 seconds, three times;
    /// at most a day.
    pub leak_window: Duration,
    /// How many live tasks a site must have to count as a leak. Default: 500.
    pub leak_tasks: usize,
    /// How long tasks that are ready may wait for their polls: the 99th percentile over a second, for three looks one
    /// after the other. Default: 250 milliseconds.
    pub starvation: Duration,
    /// How many ready tasks a queue may hold over three looks one after the other. Default: 10,000.
    pub queue: usize,
    /// How long a sender may wait for room in a channel. Default: 5 seconds.
    pub full_channel: Duration,
    /// How many messages an unbounded channel may hold, for two seconds. Default: 65,536.
    pub long_channel: usize,
    /// How many messages the mailbox of a process may hold, for two seconds. It is told apart by powers of two from 256 on.
    /// Default: 512.
    pub long_mailbox: usize,
    /// How long closures may wait for a thread of the blocking pool. Default: 1 second.
    pub blocking_pool: Duration,
}

impl Default for Thresholds {
    fn default() -> Thresholds {
        Thresholds {
            deadlock: Duration::from_secs(1),
            stuck: Duration::from_secs(30),
            lost_wake: Duration::from_secs(5),
            slow_poll: Duration::from_millis(50),
            convoy: 16,
            leak_window: Duration::from_secs(3),
            leak_tasks: 500,
            starvation: Duration::from_millis(250),
            queue: 10_000,
            full_channel: Duration::from_secs(5),
            long_channel: 65_536,
            long_mailbox: 512,
            blocking_pool: Duration::from_secs(1),
        }
    }
}
