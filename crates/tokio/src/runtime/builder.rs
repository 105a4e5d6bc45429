use super::{
    HistogramConfiguration, HistogramScale, LocalOptions, LocalRuntime, RngSeed, Runtime, TaskMeta,
    UnhandledPanic,
};
use std::fmt;
use std::io;
use std::time::Duration;

/// The environment variable with the default number of workers of a multi-thread runtime.
const WORKERS_VARIABLE: &str = "TOKIO_WORKER_THREADS";

/// Builds a [`Runtime`] or a [`LocalRuntime`] with custom configuration values.
///
/// It is [`tress::runtime::Builder`] with Tokio's rules: invalid values panic where they are set,
/// instead of being an error when the runtime is built.
///
/// # Examples
/// ```
/// let rt = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
/// assert_eq!(rt.block_on(async { 1 + 1 }), 2);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Builder {
    inner: tress::runtime::Builder,
    workers_set: bool,
    is_multi_thread: bool,
    /// What the older methods say of the histogram of poll times. It wins over the newer one.
    scaled: Option<(HistogramScale, Duration, usize)>,
}

impl Builder {
    fn new(mut inner: tress::runtime::Builder, is_multi_thread: bool) -> Builder {
        inner
            .thread_name("tokio-rt-worker")
            .eager_start(true)
            .register_sockets_early();
        Builder {
            inner,
            workers_set: false,
            is_multi_thread,
            scaled: None,
        }
    }

    /// Creates a builder for a runtime whose tasks run on the thread that calls `block_on`.
    ///
    /// Timers and I/O are disabled until [`enable_all`](Builder::enable_all) or a more specific
    /// method is called.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_current_thread().build()?;
    /// assert_eq!(rt.block_on(async { 1 + 1 }), 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn new_current_thread() -> Builder {
        Builder::new(tress::runtime::Builder::new_current_thread(), false)
    }

    /// Creates a builder for a runtime with worker threads that steal tasks from each other.
    ///
    /// Timers and I/O are disabled until [`enable_all`](Builder::enable_all) or a more specific
    /// method is called.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build()?;
    /// assert_eq!(rt.block_on(async { 1 + 1 }), 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg(feature = "rt-multi-thread")]
    pub fn new_multi_thread() -> Builder {
        Builder::new(tress::runtime::Builder::new_multi_thread(), true)
    }

    /// Enables timers and I/O, as far as the features of the package include them.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn enable_all(&mut self) -> &mut Self {
        self.inner.enable_all();
        self
    }

    /// Enables the I/O driver, for sockets, pipes, child processes and signals.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg(any(feature = "net", feature = "process", feature = "signal"))]
    pub fn enable_io(&mut self) -> &mut Self {
        self.inner.enable_io();
        self
    }

    /// Enables timers.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg(feature = "time")]
    pub fn enable_time(&mut self) -> &mut Self {
        self.inner.enable_time();
        self
    }

    /// Sets the number of workers of a multi-thread runtime.
    ///
    /// The default is the value of the environment variable `TOKIO_WORKER_THREADS`, or the number
    /// of CPUs that the process may use if the variable is not set.
    ///
    /// # Panics
    /// Panics if `val` is 0.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "rt-multi-thread")] {
    /// let rt = tokio::runtime::Builder::new_multi_thread().worker_threads(4).build()?;
    /// assert_eq!(rt.metrics().num_workers(), 4);
    /// # }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn worker_threads(&mut self, val: usize) -> &mut Self {
        assert!(val > 0, "worker_threads must be at least 1");
        self.inner.worker_threads(val);
        self.workers_set = true;
        self
    }

    /// Sets the maximum number of threads for blocking closures.
    ///
    /// Closures that find all of them busy wait in a queue.
    ///
    /// # Panics
    /// Panics if `val` is 0.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_current_thread().max_blocking_threads(8).build()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn max_blocking_threads(&mut self, val: usize) -> &mut Self {
        assert!(val > 0, "max_blocking_threads must be at least 1");
        self.inner.max_blocking_threads(val);
        self
    }

    /// Sets the name of the threads that the runtime starts.
    ///
    /// The default is `tokio-rt-worker`.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_current_thread().thread_name("my-pool").build()?;
    /// let name = rt.spawn_blocking(|| std::thread::current().name().map(str::to_owned));
    /// assert_eq!(rt.block_on(name).unwrap().as_deref(), Some("my-pool"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn thread_name(&mut self, val: impl Into<String>) -> &mut Self {
        self.inner.thread_name(val);
        self
    }

    /// Sets a function that returns the name of each thread that the runtime starts.
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let next = AtomicUsize::new(0);
    /// let rt = tokio::runtime::Builder::new_current_thread()
    ///     .thread_name_fn(move || format!("my-pool-{}", next.fetch_add(1, Ordering::Relaxed)))
    ///     .build()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn thread_name_fn<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn() -> String + Send + Sync + 'static,
    {
        self.inner.thread_name_fn(f);
        self
    }

    /// Sets the name of the runtime itself, for diagnostics.
    ///
    /// # Panics
    /// Panics if `val` is empty or consists of white space.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_current_thread().name("main").build()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn name(&mut self, val: impl Into<String>) -> &mut Self {
        let name = val.into();
        assert!(
            !name.trim().is_empty(),
            "the name of a runtime must have at least one visible character"
        );
        self.inner.name(name);
        self
    }

    /// Sets the stack size, in bytes, of the threads that the runtime starts.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_current_thread().thread_stack_size(1 << 20).build()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn thread_stack_size(&mut self, val: usize) -> &mut Self {
        self.inner.thread_stack_size(val);
        self
    }

    /// Sets a function that each thread of the runtime calls when it starts.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_current_thread()
    ///     .on_thread_start(|| println!("a thread starts"))
    ///     .build()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn on_thread_start<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn() + Send + Sync + 'static,
    {
        self.inner.on_thread_start(f);
        self
    }

    /// Sets a function that each thread of the runtime calls before it ends.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_current_thread()
    ///     .on_thread_stop(|| println!("a thread ends"))
    ///     .build()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn on_thread_stop<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn() + Send + Sync + 'static,
    {
        self.inner.on_thread_stop(f);
        self
    }

    /// Sets a function that a worker without work calls before it sleeps.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_current_thread()
    ///     .on_thread_park(|| println!("nothing to do"))
    ///     .build()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn on_thread_park<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn() + Send + Sync + 'static,
    {
        self.inner.on_thread_park(f);
        self
    }

    /// Sets a function that a worker calls after it has slept.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_current_thread()
    ///     .on_thread_unpark(|| println!("something to do"))
    ///     .build()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn on_thread_unpark<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn() + Send + Sync + 'static,
    {
        self.inner.on_thread_unpark(f);
        self
    }

    /// Sets the time after which an idle thread for blocking closures ends.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    ///
    /// let rt = tokio::runtime::Builder::new_current_thread()
    ///     .thread_keep_alive(Duration::from_millis(100))
    ///     .build()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn thread_keep_alive(&mut self, duration: Duration) -> &mut Self {
        self.inner.thread_keep_alive(duration);
        self
    }

    /// Sets the number of polls after which a worker takes a task from the global queue before its
    /// own.
    ///
    /// # Panics
    /// Panics if `val` is 0.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_current_thread().global_queue_interval(31).build()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn global_queue_interval(&mut self, val: u32) -> &mut Self {
        assert!(val > 0, "global_queue_interval must be at least 1");
        self.inner.global_queue_interval(val);
        self
    }

    /// Sets the number of polls after which a worker looks at timers and I/O.
    ///
    /// # Panics
    /// Panics if `val` is 0.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_current_thread().event_interval(31).build()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn event_interval(&mut self, val: u32) -> &mut Self {
        assert!(val > 0, "event_interval must be at least 1");
        self.inner.event_interval(val);
        self
    }

    /// Sets the maximum number of I/O events that are taken from the operating system at a time.
    ///
    /// Values above 1,048,576 count as 1,048,576.
    ///
    /// # Panics
    /// Panics if `capacity` is 0.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_current_thread()
    ///     .enable_io()
    ///     .max_io_events_per_tick(1024)
    ///     .build()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg(any(feature = "net", feature = "process", feature = "signal"))]
    #[track_caller]
    pub fn max_io_events_per_tick(&mut self, capacity: usize) -> &mut Self {
        assert!(capacity > 0, "max_io_events_per_tick must be non-zero");
        self.inner.io_events_per_turn(capacity.min(1 << 20));
        self
    }

    /// Accepts the maximum number of I/O events that are taken at a time while there are tasks to
    /// run.
    ///
    /// The value is checked and otherwise has no effect, since looking for events costs the same
    /// whether there are tasks or not. See
    /// [`max_io_events_per_tick`](Builder::max_io_events_per_tick).
    ///
    /// # Panics
    /// Panics if `capacity` is 0.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_current_thread()
    ///     .enable_io()
    ///     .max_io_events_per_busy_tick(64)
    ///     .build()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg(any(feature = "net", feature = "process", feature = "signal"))]
    #[track_caller]
    pub fn max_io_events_per_busy_tick(&mut self, capacity: usize) -> &mut Self {
        assert!(capacity > 0, "max_io_events_per_busy_tick must be non-zero");
        self
    }

    /// Sets whether the clock is paused when the runtime starts.
    ///
    /// This is for tests, and needs a current-thread runtime with timers. See
    /// [`time::pause`](crate::time::pause).
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    ///
    /// let rt = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    /// // Passes at once: the clock advances whenever there is nothing else to do.
    /// rt.block_on(async { tokio::time::sleep(Duration::from_secs(3600)).await });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg(feature = "test-util")]
    pub fn start_paused(&mut self, start_paused: bool) -> &mut Self {
        self.inner.start_paused(start_paused);
        self
    }

    /// Builds the runtime.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses a thread, a descriptor or memory that the
    /// runtime needs, or if the options contradict each other.
    ///
    /// # Panics
    /// Panics if the number of workers is to come from the environment variable
    /// `TOKIO_WORKER_THREADS`, and that is not a number above 0.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_current_thread().build()?;
    /// rt.block_on(async { println!("hello") });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn build(&mut self) -> io::Result<Runtime> {
        self.show_in_console()?;
        self.ready().build().map(Runtime)
    }

    /// Builds a runtime that stays on the current thread, for tasks that are not `Send`.
    ///
    /// # Errors
    /// Returns an error under the conditions of [`build`](Builder::build), and if the builder is
    /// for a multi-thread runtime.
    ///
    /// # Panics
    /// Panics under the conditions of [`build`](Builder::build).
    ///
    /// # Examples
    /// ```
    /// use tokio::runtime::{Builder, LocalOptions};
    ///
    /// let rt = Builder::new_current_thread().build_local(LocalOptions::default())?;
    /// assert_eq!(rt.block_on(async { 1 + 1 }), 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn build_local(&mut self, options: LocalOptions) -> io::Result<LocalRuntime> {
        self.show_in_console()?;
        self.ready().build_local(options).map(LocalRuntime)
    }

    /// Sets a function that is called when a task is spawned, before it can run.
    ///
    /// It replaces one that was set before. [`tress::runtime::Builder::on_task_spawn`] describes which tasks
    /// count. A panic of the function is reported and otherwise has no effect.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_current_thread()
    ///     .on_task_spawn(|task| println!("a task is spawned at {}", task.spawned_at()))
    ///     .build()?;
    /// rt.block_on(rt.spawn(async {})).unwrap();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn on_task_spawn<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn(&TaskMeta<'_>) + Send + Sync + 'static,
    {
        self.inner.on_task_spawn(f);
        self
    }

    /// Sets a function that is called when a task has ended and its future is gone.
    ///
    /// It replaces one that was set before. [`tress::runtime::Builder::on_task_terminate`] describes which tasks
    /// count. A panic of the function is reported and otherwise has no effect.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_current_thread()
    ///     .on_task_terminate(|task| println!("task {} has ended", task.id()))
    ///     .build()?;
    /// rt.block_on(rt.spawn(async {})).unwrap();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn on_task_terminate<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn(&TaskMeta<'_>) + Send + Sync + 'static,
    {
        self.inner.on_task_terminate(f);
        self
    }

    /// Sets a function that is called before each poll of a task.
    ///
    /// It replaces one that was set before. [`tress::runtime::Builder::on_before_task_poll`] describes which tasks
    /// count. A panic of the function is reported and otherwise has no effect.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_current_thread()
    ///     .on_before_task_poll(|task| println!("task {} runs", task.id()))
    ///     .build()?;
    /// rt.block_on(rt.spawn(async {})).unwrap();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn on_before_task_poll<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn(&TaskMeta<'_>) + Send + Sync + 'static,
    {
        self.inner.on_before_task_poll(f);
        self
    }

    /// Sets a function that is called after each poll of a task.
    ///
    /// It replaces one that was set before. [`tress::runtime::Builder::on_after_task_poll`] describes which tasks
    /// count. A panic of the function is reported and otherwise has no effect.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_current_thread()
    ///     .on_after_task_poll(|task| println!("task {} has run", task.id()))
    ///     .build()?;
    /// rt.block_on(rt.spawn(async {})).unwrap();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn on_after_task_poll<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn(&TaskMeta<'_>) + Send + Sync + 'static,
    {
        self.inner.on_after_task_poll(f);
        self
    }

    /// Times every poll of a task, and counts it in a histogram of its worker.
    ///
    /// This is off by default, since it makes every poll slower. See
    /// [`RuntimeMetrics::poll_time_histogram_bucket_count`](super::RuntimeMetrics::poll_time_histogram_bucket_count).
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_current_thread()
    ///     .enable_metrics_poll_time_histogram()
    ///     .build()?;
    /// assert!(rt.metrics().poll_time_histogram_enabled());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn enable_metrics_poll_time_histogram(&mut self) -> &mut Self {
        self.inner.enable_metrics_poll_time_histogram();
        self
    }

    /// Sets which buckets the histograms of poll times have.
    ///
    /// The default is ten buckets of 100 µs.
    ///
    /// # Examples
    /// ```
    /// use tokio::runtime::{Builder, HistogramConfiguration, LogHistogram};
    ///
    /// let rt = Builder::new_current_thread()
    ///     .enable_metrics_poll_time_histogram()
    ///     .metrics_poll_time_histogram_configuration(HistogramConfiguration::log(
    ///         LogHistogram::builder().precision_exact(3),
    ///     ))
    ///     .build()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn metrics_poll_time_histogram_configuration(
        &mut self,
        configuration: HistogramConfiguration,
    ) -> &mut Self {
        self.inner
            .metrics_poll_time_histogram_configuration(configuration);
        self
    }

    /// Measures how long each task waits in queues before it is polled, and tells it to the hooks of tasks.
    ///
    /// This is off by default, since it makes every poll slower. See
    /// [`TaskMeta::schedule_latency`](super::TaskMeta::schedule_latency).
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_current_thread()
    ///     .track_task_schedule_latency()
    ///     .on_before_task_poll(|task| assert!(task.schedule_latency().is_some()))
    ///     .build()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn track_task_schedule_latency(&mut self) -> &mut Self {
        self.inner.track_task_schedule_latency();
        self
    }

    /// Does what [`track_task_schedule_latency`](Builder::track_task_schedule_latency) does, and counts the times in
    /// a histogram of each worker.
    ///
    /// This is off by default. See
    /// [`RuntimeMetrics::schedule_latency_histogram_bucket_count`](super::RuntimeMetrics::schedule_latency_histogram_bucket_count).
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_current_thread()
    ///     .enable_metrics_schedule_latency_histogram()
    ///     .build()?;
    /// assert!(rt.metrics().schedule_latency_histogram_enabled());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn enable_metrics_schedule_latency_histogram(&mut self) -> &mut Self {
        self.inner.enable_metrics_schedule_latency_histogram();
        self
    }

    /// Sets which buckets the histograms of schedule latencies have.
    ///
    /// The default is ten buckets of 100 µs.
    ///
    /// # Examples
    /// ```
    /// use tokio::runtime::{Builder, HistogramConfiguration, LogHistogram};
    ///
    /// let rt = Builder::new_current_thread()
    ///     .enable_metrics_schedule_latency_histogram()
    ///     .metrics_schedule_latency_histogram_configuration(HistogramConfiguration::log(
    ///         LogHistogram::builder().precision_exact(3),
    ///     ))
    ///     .build()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn metrics_schedule_latency_histogram_configuration(
        &mut self,
        configuration: HistogramConfiguration,
    ) -> &mut Self {
        self.inner
            .metrics_schedule_latency_histogram_configuration(configuration);
        self
    }

    /// Does what [`enable_metrics_poll_time_histogram`](Builder::enable_metrics_poll_time_histogram)
    /// does.
    #[doc(hidden)]
    #[deprecated = "use `enable_metrics_poll_time_histogram`"]
    pub fn enable_metrics_poll_count_histogram(&mut self) -> &mut Self {
        self.enable_metrics_poll_time_histogram()
    }

    /// Sets whether the buckets of the histograms of poll times grow.
    ///
    /// # Examples
    /// ```
    /// # #![allow(deprecated)]
    /// use tokio::runtime::{Builder, HistogramScale};
    ///
    /// let mut builder = Builder::new_current_thread();
    /// builder.metrics_poll_count_histogram_scale(HistogramScale::Log);
    /// ```
    #[deprecated = "use `metrics_poll_time_histogram_configuration`"]
    pub fn metrics_poll_count_histogram_scale(
        &mut self,
        histogram_scale: HistogramScale,
    ) -> &mut Self {
        self.scaled().0 = histogram_scale;
        self
    }

    /// Sets the width of the first bucket of the histograms of poll times.
    ///
    /// # Panics
    /// Panics if `resolution` is zero or more than a second.
    ///
    /// # Examples
    /// ```
    /// # #![allow(deprecated)]
    /// use std::time::Duration;
    /// use tokio::runtime::Builder;
    ///
    /// let mut builder = Builder::new_current_thread();
    /// builder.metrics_poll_count_histogram_resolution(Duration::from_micros(50));
    /// ```
    #[deprecated = "use `metrics_poll_time_histogram_configuration`"]
    pub fn metrics_poll_count_histogram_resolution(&mut self, resolution: Duration) -> &mut Self {
        assert!(
            !resolution.is_zero() && resolution <= Duration::from_secs(1),
            "the resolution of a histogram must be above 0 and at most a second"
        );
        self.scaled().1 = resolution;
        self
    }

    /// Sets the number of buckets of the histograms of poll times.
    ///
    /// # Examples
    /// ```
    /// # #![allow(deprecated)]
    /// use tokio::runtime::Builder;
    ///
    /// let mut builder = Builder::new_current_thread();
    /// builder.metrics_poll_count_histogram_buckets(20);
    /// ```
    #[deprecated = "use `metrics_poll_time_histogram_configuration`"]
    pub fn metrics_poll_count_histogram_buckets(&mut self, buckets: usize) -> &mut Self {
        self.scaled().2 = buckets;
        self
    }

    fn scaled(&mut self) -> &mut (HistogramScale, Duration, usize) {
        let usual = (HistogramScale::Linear, Duration::from_micros(100), 10);
        self.scaled.get_or_insert(usual)
    }

    /// Makes workers run tasks strictly in the order in which they became ready.
    ///
    /// Otherwise a worker may run the task that became ready last before the others. See
    /// [`tress::runtime::Builder::lifo_limit`].
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "rt-multi-thread")] {
    /// let rt = tokio::runtime::Builder::new_multi_thread().disable_lifo_slot().build()?;
    /// # }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn disable_lifo_slot(&mut self) -> &mut Self {
        self.inner.lifo_limit(0);
        self
    }

    /// Sets the seed of the runtime's random decisions, such as the order of the branches of
    /// [`select!`](crate::select).
    ///
    /// On a current-thread runtime a program that depends on nothing else then makes the same
    /// decisions in every run.
    ///
    /// # Examples
    /// ```
    /// use tokio::runtime::{Builder, RngSeed};
    ///
    /// let seed = RngSeed::from_bytes(b"any bytes");
    /// let rt = Builder::new_current_thread().rng_seed(seed).build()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn rng_seed(&mut self, seed: RngSeed) -> &mut Self {
        self.inner.rng_seed(seed.0);
        self
    }

    /// Sets what a panic of a task does besides going to the task's handle.
    ///
    /// The default is [`UnhandledPanic::Ignore`].
    /// [`tress::runtime::Builder::unhandled_panic`] describes what
    /// [`UnhandledPanic::ShutdownRuntime`] does.
    ///
    /// # Panics
    /// Panics if `behavior` is [`UnhandledPanic::ShutdownRuntime`] and the builder is for a
    /// multi-thread runtime.
    ///
    /// # Examples
    /// ```should_panic
    /// use tokio::runtime::{Builder, UnhandledPanic};
    ///
    /// let rt = Builder::new_current_thread()
    ///     .unhandled_panic(UnhandledPanic::ShutdownRuntime)
    ///     .build()
    ///     .unwrap();
    /// rt.spawn(async { panic!("a bug") });
    /// rt.block_on(std::future::pending::<()>()); // panics
    /// ```
    pub fn unhandled_panic(&mut self, behavior: UnhandledPanic) -> &mut Self {
        assert!(
            !self.is_multi_thread || !matches!(behavior, UnhandledPanic::ShutdownRuntime),
            "UnhandledPanic::ShutdownRuntime is only supported in current thread runtime"
        );
        self.inner.unhandled_panic(behavior);
        self
    }

    /// Enables timers.
    ///
    /// The choice of the timers' implementation has no effect: in tress each worker has timers of
    /// its own already, which is what Tokio's alternative timers are for.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_multi_thread().enable_alt_timer().build()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg(all(feature = "time", feature = "rt-multi-thread"))]
    pub fn enable_alt_timer(&mut self) -> &mut Self {
        self.enable_time()
    }

    /// Accepts the option, which has no effect.
    ///
    /// In Tokio the workers share one I/O driver, and the option makes the worker that has it pass
    /// it on before it runs a task. In tress each worker has a driver of its own.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_multi_thread().enable_eager_driver_handoff().build()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg(feature = "rt-multi-thread")]
    pub fn enable_eager_driver_handoff(&mut self) -> &mut Self {
        self
    }

    /// Accepts the option, which has no effect.
    ///
    /// In Tokio it replaces the one queue of blocking closures by several. tress has one kind of
    /// queue.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_current_thread()
    ///     .enable_sharded_blocking_queue()
    ///     .build()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn enable_sharded_blocking_queue(&mut self) -> &mut Self {
        self
    }

    /// Enables I/O.
    ///
    /// tress uses io_uring wherever the system offers it, so this is what
    /// [`enable_io`](Builder::enable_io) does. See [`tress::runtime::Builder::io_backend`].
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_current_thread().enable_io_uring().build()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg(all(
        any(feature = "net", feature = "process", feature = "signal"),
        target_os = "linux"
    ))]
    pub fn enable_io_uring(&mut self) -> &mut Self {
        self.enable_io()
    }

    #[track_caller]
    /// Starts the console, if the environment wants one, and lets the runtime be seen from its beginning.
    #[cfg(feature = "console")]
    fn show_in_console(&mut self) -> io::Result<()> {
        if super::console::is_on()? {
            self.inner.sight(true);
        }
        Ok(())
    }

    #[cfg(not(feature = "console"))]
    fn show_in_console(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn ready(&mut self) -> &mut tress::runtime::Builder {
        if let Some((scale, width, buckets)) = self.scaled {
            let configuration = HistogramConfiguration::scaled(scale, width, buckets);
            self.inner
                .metrics_poll_time_histogram_configuration(configuration);
        }
        if !self.workers_set {
            if let Some(value) = std::env::var_os(WORKERS_VARIABLE) {
                match value.to_str().and_then(|text| text.parse().ok()) {
                    Some(n) if n > 0 => {
                        self.inner.worker_threads(n);
                    }
                    _ => panic!(
                        "the environment variable {WORKERS_VARIABLE} is {value:?}, but must be a \
                         number above 0"
                    ),
                }
            }
        }
        &mut self.inner
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
