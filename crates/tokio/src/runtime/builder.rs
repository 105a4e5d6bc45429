use super::{LocalOptions, LocalRuntime, Runtime};
use std::fmt;
use std::io;
use std::time::Duration;

/// Says how many workers a multi-thread runtime has if its builder does not.
const WORKERS_VARIABLE: &str = "TOKIO_WORKER_THREADS";

/// Builds a [`Runtime`]: [`tress::runtime::Builder`] by Tokio's rules.
///
/// Values that make no sense are refused with a panic where they are set, instead of an error when
/// the runtime is built.
///
/// ```
/// let rt = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
/// assert_eq!(rt.block_on(async { 1 + 1 }), 2);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Builder {
    inner: tress::runtime::Builder,
    workers_set: bool,
}

impl Builder {
    fn new(mut inner: tress::runtime::Builder) -> Builder {
        inner.thread_name("tokio-rt-worker").eager_start(true);
        Builder {
            inner,
            workers_set: false,
        }
    }

    /// A runtime whose tasks run on the thread that calls `block_on`.
    pub fn new_current_thread() -> Builder {
        Builder::new(tress::runtime::Builder::new_current_thread())
    }

    /// A runtime with worker threads that steal from each other.
    #[cfg(feature = "rt-multi-thread")]
    pub fn new_multi_thread() -> Builder {
        Builder::new(tress::runtime::Builder::new_multi_thread())
    }

    /// Enables everything that the package's features offer.
    pub fn enable_all(&mut self) -> &mut Self {
        self.inner.enable_all();
        self
    }

    /// Enables sockets, pipes, processes and signals.
    #[cfg(any(feature = "net", feature = "process", feature = "signal"))]
    pub fn enable_io(&mut self) -> &mut Self {
        self.inner.enable_io();
        self
    }

    /// Enables timers.
    #[cfg(feature = "time")]
    pub fn enable_time(&mut self) -> &mut Self {
        self.inner.enable_time();
        self
    }

    /// The number of workers of a multi-thread runtime.
    ///
    /// By default the value of the environment variable `TOKIO_WORKER_THREADS` if there is one, and
    /// one for each CPU that this process may use if not.
    ///
    /// # Panics
    /// If it is 0.
    #[track_caller]
    pub fn worker_threads(&mut self, val: usize) -> &mut Self {
        assert!(val > 0, "worker_threads must be at least 1");
        self.inner.worker_threads(val);
        self.workers_set = true;
        self
    }

    /// Most threads that run blocking closures.
    ///
    /// # Panics
    /// If it is 0.
    #[track_caller]
    pub fn max_blocking_threads(&mut self, val: usize) -> &mut Self {
        assert!(val > 0, "max_blocking_threads must be at least 1");
        self.inner.max_blocking_threads(val);
        self
    }

    /// The name of the runtime's threads. Default: `tokio-rt-worker`.
    pub fn thread_name(&mut self, val: impl Into<String>) -> &mut Self {
        self.inner.thread_name(val);
        self
    }

    /// A function that names each thread as it starts.
    pub fn thread_name_fn<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn() -> String + Send + Sync + 'static,
    {
        self.inner.thread_name_fn(f);
        self
    }

    /// The runtime's own name, for diagnostics.
    ///
    /// # Panics
    /// If it is empty or has nothing but white space.
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

    /// The stack size of the runtime's threads in bytes.
    pub fn thread_stack_size(&mut self, val: usize) -> &mut Self {
        self.inner.thread_stack_size(val);
        self
    }

    /// Calls `f` on each thread of the runtime when it starts.
    pub fn on_thread_start<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn() + Send + Sync + 'static,
    {
        self.inner.on_thread_start(f);
        self
    }

    /// Calls `f` on each thread of the runtime before it ends.
    pub fn on_thread_stop<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn() + Send + Sync + 'static,
    {
        self.inner.on_thread_stop(f);
        self
    }

    /// Calls `f` on a worker that has nothing to do, before it sleeps.
    pub fn on_thread_park<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn() + Send + Sync + 'static,
    {
        self.inner.on_thread_park(f);
        self
    }

    /// Calls `f` on a worker after it has slept.
    pub fn on_thread_unpark<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn() + Send + Sync + 'static,
    {
        self.inner.on_thread_unpark(f);
        self
    }

    /// How long a thread for blocking closures waits for the next one before it ends.
    pub fn thread_keep_alive(&mut self, duration: Duration) -> &mut Self {
        self.inner.thread_keep_alive(duration);
        self
    }

    /// Polls after which a worker asks the global queue before its own.
    ///
    /// # Panics
    /// If it is 0.
    #[track_caller]
    pub fn global_queue_interval(&mut self, val: u32) -> &mut Self {
        assert!(val > 0, "global_queue_interval must be at least 1");
        self.inner.global_queue_interval(val);
        self
    }

    /// Polls after which a worker looks at its timers and at the clock.
    ///
    /// # Panics
    /// If it is 0.
    #[track_caller]
    pub fn event_interval(&mut self, val: u32) -> &mut Self {
        assert!(val > 0, "event_interval must be at least 1");
        self.inner.event_interval(val);
        self
    }

    /// Most I/O events that are taken from the operating system at a time.
    ///
    /// More than 1,048,576 are taken as that many.
    ///
    /// # Panics
    /// If it is 0.
    #[cfg(any(feature = "net", feature = "process", feature = "signal"))]
    #[track_caller]
    pub fn max_io_events_per_tick(&mut self, capacity: usize) -> &mut Self {
        assert!(capacity > 0, "max_io_events_per_tick must be non-zero");
        self.inner.io_events_per_turn(capacity.min(1 << 20));
        self
    }

    /// Most I/O events that are taken at a time while there are tasks to run.
    ///
    /// Checked and otherwise without effect: a turn costs the same whether there are tasks or not; see
    /// [`max_io_events_per_tick`](Builder::max_io_events_per_tick).
    ///
    /// # Panics
    /// If it is 0.
    #[cfg(any(feature = "net", feature = "process", feature = "signal"))]
    #[track_caller]
    pub fn max_io_events_per_busy_tick(&mut self, capacity: usize) -> &mut Self {
        assert!(capacity > 0, "max_io_events_per_busy_tick must be non-zero");
        self
    }

    /// Starts with the clock paused. For a current-thread runtime with timers.
    #[cfg(feature = "test-util")]
    pub fn start_paused(&mut self, start_paused: bool) -> &mut Self {
        self.inner.start_paused(start_paused);
        self
    }

    /// Builds the runtime.
    ///
    /// # Errors
    /// The operating system refused something, or the options contradict each other.
    ///
    /// # Panics
    /// If the number of workers comes from `TOKIO_WORKER_THREADS` and that is not a number above 0.
    #[track_caller]
    pub fn build(&mut self) -> io::Result<Runtime> {
        self.ready().build().map(Runtime)
    }

    /// Builds a runtime that cannot leave this thread, for tasks that are not `Send`.
    ///
    /// # Errors
    /// As [`build`](Builder::build).
    ///
    /// # Panics
    /// If the builder is for a multi-thread runtime.
    #[track_caller]
    pub fn build_local(&mut self, options: LocalOptions) -> io::Result<LocalRuntime> {
        self.ready().build_local(options).map(LocalRuntime)
    }

    #[track_caller]
    fn ready(&mut self) -> &mut tress::runtime::Builder {
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
