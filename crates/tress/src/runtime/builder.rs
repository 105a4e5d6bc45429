//! [`Builder`]: the options of a runtime, and how it is put together from them.

use super::diagnostics::{Diagnostics, Resolved};
use super::flight::Flight;
use super::handle::Id;
use super::local_runtime::{LocalOptions, LocalRuntime};
use super::metrics::histogram::{Histogram, HistogramConfiguration};
use super::runtime::Runtime;
use super::section::Sections;
use super::{Maker, Shared, shutdown};
use crate::blocking;
use crate::context;
use crate::identity::Names;
use crate::scheduler::{self, Config, Current, Hook, Io, Multi, Scheduler};
use crate::sys::{Counter, SeedGenerator, clock, cpus};
use crate::task::Home;
use crate::task::coop::Budget;
use crate::task::hooks::{Hooks, Latency, TaskHook, TaskMeta};
use crate::timer::Clock;
use crate::trace::{self, Tracer};
use std::fmt;
use std::io;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

/// Maximum number of workers of a runtime.
const MAX_WORKERS: usize = 32_768;

/// A builder of a [`Runtime`] or a [`LocalRuntime`] with options.
///
/// [`build`](Builder::build) returns an error for values that are out of range, with the name of the option
/// and the values that are possible.
///
/// # Examples
/// ```
/// use tress::runtime::Builder;
/// use std::time::Duration;
///
/// let rt = Builder::new_multi_thread()
///     .worker_threads(2)
///     .thread_name("my-service")
///     .thread_keep_alive(Duration::from_secs(60))
///     .enable_all()
///     .build()?;
/// # drop(rt);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Builder {
    kind: Kind,
    workers: usize,
    eager_start: bool,
    enable_time: bool,
    start_paused: bool,
    budget: Option<u8>,
    seed: Option<u64>,
    name: Option<String>,
    scheduler: scheduler::Options,
    /// The pool's own options. What its threads have in common with the workers is in `scheduler`.
    blocking: blocking::Config,
    #[cfg(feature = "driver")]
    io: super::driver::Options,
    unhandled_panic: UnhandledPanic,
    hooks: Hooks,
    times_polls: bool,
    poll_times: HistogramConfiguration,
    tracks_latency: bool,
    counts_latency: bool,
    latencies: HistogramConfiguration,
    pub(super) diagnostics: Diagnostics,
}

/// What a panic of a task does besides going to the task's handle; see [`Builder::unhandled_panic`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum UnhandledPanic {
    /// Nothing. This is the default.
    #[default]
    Ignore,
    /// It shuts the runtime down at once. All other tasks are dropped, and `block_on` panics, now and later.
    ShutdownRuntime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Multi,
    Current,
}

/// Where the hooks of the blocking pool find the runtime, which the pool is part of.
type Place = Arc<OnceLock<Weak<Shared>>>;

/// Returns a hook that runs `hook` in the runtime of `place`.
fn inside(place: &Place, hook: Hook) -> Hook {
    let place = place.clone();
    Arc::new(move || {
        let shared = place.get().and_then(Weak::upgrade);
        let _entered = shared.map(context::enter_runtime);
        hook();
    })
}

/// As `inside`, for a hook of tasks.
fn inside_of_task(place: &Place, hook: TaskHook) -> TaskHook {
    let place = place.clone();
    Arc::new(move |task| {
        let shared = place.get().and_then(Weak::upgrade);
        let _entered = shared.map(context::enter_runtime);
        hook(task);
    })
}

pub(super) fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

impl Builder {
    /// Creates a builder for a runtime with worker threads that steal from each other.
    ///
    /// # Examples
    /// ```
    /// use tress::runtime::{Builder, RuntimeFlavor};
    ///
    /// let rt = Builder::new_multi_thread().enable_all().build()?;
    /// assert_eq!(rt.handle().runtime_flavor(), RuntimeFlavor::MultiThread);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn new_multi_thread() -> Builder {
        Builder::new(Kind::Multi)
    }

    /// Creates a builder for a runtime whose tasks run on the thread that calls `block_on`.
    ///
    /// # Examples
    /// ```
    /// use std::thread;
    /// use tress::runtime::Builder;
    ///
    /// let rt = Builder::new_current_thread().enable_all().build()?;
    /// let task = rt.spawn(async { thread::current().id() });
    /// assert_eq!(rt.block_on(task).unwrap(), thread::current().id());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn new_current_thread() -> Builder {
        Builder::new(Kind::Current)
    }

    fn new(kind: Kind) -> Builder {
        Builder {
            kind,
            workers: 0,
            eager_start: false,
            enable_time: false,
            start_paused: false,
            budget: None,
            seed: None,
            name: None,
            scheduler: scheduler::Options::default(),
            blocking: blocking::Config::default(),
            #[cfg(feature = "driver")]
            io: super::driver::Options::default(),
            unhandled_panic: UnhandledPanic::default(),
            hooks: Hooks::default(),
            times_polls: false,
            poll_times: HistogramConfiguration::default(),
            tracks_latency: false,
            counts_latency: false,
            latencies: HistogramConfiguration::default(),
            diagnostics: Diagnostics::default(),
        }
    }

    /// Enables timers and I/O.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().enable_all().build()?;
    /// # drop(rt);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn enable_all(&mut self) -> &mut Self {
        #[cfg(feature = "driver")]
        self.enable_io();
        self.enable_time()
    }

    /// Enables I/O: sockets, child processes, signals, and io_uring for files.
    ///
    /// Each worker has a driver of its own, made when it is first needed. Without this option sockets, child
    /// processes and signals panic.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "pooled")] {
    /// let rt = tress::runtime::Builder::new_current_thread().enable_io().build()?;
    /// let socket = rt.block_on(tress::net::UdpSocket::bind("127.0.0.1:0"))?;
    /// # drop(socket);
    /// # }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg(feature = "driver")]
    pub fn enable_io(&mut self) -> &mut Self {
        self.io.enabled = true;
        self
    }

    /// Sets the backend of I/O.
    ///
    /// Default: io_uring where it is available, readiness elsewhere. The environment variable `TRESS_IO`
    /// (`uring`, `readiness` or `auto`) overrides the default; with another value of the variable
    /// [`build`](Builder::build) returns an error.
    ///
    /// # Examples
    /// ```
    /// use tress::runtime::{Builder, IoBackend};
    ///
    /// let rt = Builder::new_multi_thread().enable_all().io_backend(IoBackend::Readiness).build()?;
    /// # drop(rt);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg(feature = "driver")]
    pub fn io_backend(&mut self, backend: super::IoBackend) -> &mut Self {
        self.io.config.backend(backend);
        self
    }

    /// Sets the maximum number of I/O events that a worker takes from the kernel at once, 1 to 1,048,576.
    ///
    /// Default: 256.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread()
    ///     .enable_all()
    ///     .io_events_per_turn(1024)
    ///     .build()?;
    /// # drop(rt);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg(feature = "driver")]
    pub fn io_events_per_turn(&mut self, events: usize) -> &mut Self {
        self.io.config.events(events);
        self
    }

    /// Sets the number of entries of each worker's io_uring, 1 to 32,768.
    ///
    /// Default: 256.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread()
    ///     .enable_all()
    ///     .io_ring_entries(64)
    ///     .build()?;
    /// # drop(rt);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg(feature = "driver")]
    pub fn io_ring_entries(&mut self, entries: u32) -> &mut Self {
        self.io.config.entries(entries);
        self
    }

    /// Registers sockets of a current-thread runtime when they are made, as Tokio does, so that no operation is ready
    /// before the driver has been looked at. For the facade.
    #[doc(hidden)]
    pub fn register_sockets_early(&mut self) -> &mut Self {
        #[cfg(feature = "driver")]
        {
            self.io.early = true;
        }
        self
    }

    /// Sets the number and the size of the buffers that each worker has for [pooled
    /// streams](crate::net::Pooled).
    ///
    /// `buffers` is a power of two up to 32,768, and `bytes`, the size of one, up to 1 MiB. Default: 1,024 of
    /// 2,048 bytes. If more connections receive at the same time than there are buffers, they wait for each
    /// other.
    ///
    /// A worker's pool is made when one of its tasks first reads from such a stream.
    ///
    /// # Examples
    /// ```
    /// use tress::runtime::Builder;
    ///
    /// let rt = Builder::new_multi_thread().enable_all().io_pool(64, 16 * 1024).build()?;
    /// # drop(rt);
    /// assert!(Builder::new_multi_thread().enable_all().io_pool(100, 1).build().is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg(feature = "pooled")]
    pub fn io_pool(&mut self, buffers: u16, bytes: usize) -> &mut Self {
        self.io.pool = crate::buffers::Sizes { buffers, bytes };
        self
    }

    /// Enables [`time`](crate::time).
    ///
    /// Without this option timers panic.
    ///
    /// # Examples
    /// ```
    /// use tress::time::{self, Duration};
    ///
    /// let rt = tress::runtime::Builder::new_current_thread().enable_time().build()?;
    /// rt.block_on(async {
    ///     let never = std::future::pending::<()>();
    ///     assert!(time::timeout(Duration::from_millis(1), never).await.is_err());
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn enable_time(&mut self) -> &mut Self {
        self.enable_time = true;
        self
    }

    /// Sets the number of workers of a multi-thread runtime, at most 32,768.
    ///
    /// 0, the default, means one for every CPU that this process may use, which its affinity mask and its
    /// cgroup's quota limit. A current-thread runtime has one worker, whatever is set.
    ///
    /// Their threads start when there is work for them. If the system refuses to start one, the workers that
    /// have a thread do its work, and the start is tried again later, when there is work for it. If it refuses
    /// the first, nothing can run: spawning a task and polling a timer in [`block_on`](Runtime::block_on)
    /// panic, and sockets return the error. With [`eager_start`](Builder::eager_start) it is
    /// [`build`](Builder::build) that returns an error.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().worker_threads(4).build()?;
    /// assert_eq!(rt.metrics().num_workers(), 4);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn worker_threads(&mut self, n: usize) -> &mut Self {
        self.workers = n;
        self
    }

    /// Sets the maximum number of threads of the blocking pool, at least 1.
    ///
    /// Default: 512. They start when they are needed.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_current_thread().max_blocking_threads(1).build()?;
    /// let first = rt.spawn_blocking(|| std::thread::current().id());
    /// let second = rt.spawn_blocking(|| std::thread::current().id());
    /// assert_eq!(rt.block_on(first).unwrap(), rt.block_on(second).unwrap());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn max_blocking_threads(&mut self, n: usize) -> &mut Self {
        self.blocking.max_threads = n;
        self
    }

    /// Sets how long a thread of the blocking pool waits for something to do before it ends.
    ///
    /// Default: 10 s.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    ///
    /// let rt = tress::runtime::Builder::new_multi_thread()
    ///     .thread_keep_alive(Duration::from_secs(60))
    ///     .build()?;
    /// # drop(rt);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn thread_keep_alive(&mut self, duration: Duration) -> &mut Self {
        self.blocking.keep_alive = duration;
        self
    }

    /// Sets the maximum number of closures that wait for a thread of the blocking pool. Default: no bound.
    ///
    /// When it is reached, [`spawn_blocking`](crate::task::spawn_blocking) panics and
    /// [`Handle::try_spawn_blocking`](super::Handle::try_spawn_blocking) returns an error.
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc;
    /// use tress::runtime::{Builder, SpawnBlockingError};
    ///
    /// let rt = Builder::new_current_thread()
    ///     .max_blocking_threads(1)
    ///     .blocking_queue_bound(0)
    ///     .build()?;
    /// let (release, released) = mpsc::channel::<()>();
    /// rt.spawn_blocking(move || released.recv());
    ///
    /// // The only thread is busy, and no closure may wait for it.
    /// let (error, _closure) = rt.handle().try_spawn_blocking(|| ()).unwrap_err();
    /// assert!(matches!(error, SpawnBlockingError::Full));
    /// # release.send(()).unwrap();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn blocking_queue_bound(&mut self, n: usize) -> &mut Self {
        self.blocking.queue_bound = Some(n);
        self
    }

    /// Sets the name of the runtime's threads.
    ///
    /// If it contains a NUL character, no thread can be started.
    ///
    /// Default: `tress-worker`.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().thread_name("crunch").build()?;
    /// let name = rt.block_on(rt.spawn(async { std::thread::current().name().map(str::to_owned) }));
    /// assert_eq!(name.unwrap().as_deref(), Some("crunch"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn thread_name(&mut self, name: impl Into<String>) -> &mut Self {
        let name = name.into();
        self.scheduler.thread_name = Arc::new(move || name.clone());
        self
    }

    /// Sets a function that returns the name of each thread as it starts.
    ///
    /// If the function panics, or returns a name with a NUL character, the thread is not started.
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let started = AtomicUsize::new(0);
    /// let rt = tress::runtime::Builder::new_multi_thread()
    ///     .thread_name_fn(move || format!("crunch-{}", started.fetch_add(1, Ordering::Relaxed)))
    ///     .build()?;
    /// let name = rt.block_on(rt.spawn(async { std::thread::current().name().map(str::to_owned) }));
    /// assert!(name.unwrap().unwrap().starts_with("crunch-"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn thread_name_fn<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn() -> String + Send + Sync + 'static,
    {
        self.scheduler.thread_name = Arc::new(f);
        self
    }

    /// Sets the name of the runtime, which appears in dumps, traces and metrics.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().name("main").build()?;
    /// assert_eq!(rt.handle().name(), Some("main"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn name(&mut self, name: impl Into<String>) -> &mut Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the stack size of the runtime's threads, in bytes.
    ///
    /// Default: that of the standard library.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().thread_stack_size(8 << 20).build()?;
    /// # drop(rt);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn thread_stack_size(&mut self, bytes: usize) -> &mut Self {
        self.scheduler.stack_size = Some(bytes);
        self
    }

    /// Calls `f` on each thread of the runtime when it starts.
    ///
    /// The runtime is the current one there. If `f` panics, the [panic hook](std::panic::set_hook) reports the panic
    /// and the thread goes on. Both are true of the other hooks too.
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc;
    ///
    /// let (tell, told) = mpsc::channel();
    /// let rt = tress::runtime::Builder::new_multi_thread()
    ///     .on_thread_start(move || tell.send(std::thread::current().id()).unwrap())
    ///     .build()?;
    /// let thread = rt.block_on(rt.spawn_blocking(|| std::thread::current().id())).unwrap();
    /// assert_eq!(told.recv().unwrap(), thread);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn on_thread_start<F: Fn() + Send + Sync + 'static>(&mut self, f: F) -> &mut Self {
        self.scheduler.on_start = Some(Arc::new(f));
        self
    }

    /// Calls `f` on each thread of the runtime before it ends.
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc;
    ///
    /// let (tell, told) = mpsc::channel();
    /// let rt = tress::runtime::Builder::new_multi_thread()
    ///     .on_thread_stop(move || tell.send(std::thread::current().id()).unwrap())
    ///     .build()?;
    /// let thread = rt.block_on(rt.spawn_blocking(|| std::thread::current().id())).unwrap();
    /// drop(rt);
    /// assert_eq!(told.recv().unwrap(), thread);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn on_thread_stop<F: Fn() + Send + Sync + 'static>(&mut self, f: F) -> &mut Self {
        self.scheduler.on_stop = Some(Arc::new(f));
        self
    }

    /// Calls `f` on a worker that has nothing to do, before it sleeps.
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc;
    ///
    /// let (tell, told) = mpsc::channel();
    /// let rt = tress::runtime::Builder::new_multi_thread()
    ///     .on_thread_park(move || tell.send("nothing to do").unwrap())
    ///     .build()?;
    /// rt.block_on(rt.spawn(async {})).unwrap();
    /// assert_eq!(told.recv().unwrap(), "nothing to do");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn on_thread_park<F: Fn() + Send + Sync + 'static>(&mut self, f: F) -> &mut Self {
        self.scheduler.on_park = Some(Arc::new(f));
        self
    }

    /// Calls `f` on a worker after it has slept.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let parked = Arc::new(AtomicUsize::new(0));
    /// let (parks, unparks) = (parked.clone(), parked.clone());
    /// let rt = tress::runtime::Builder::new_multi_thread()
    ///     .on_thread_park(move || drop(parks.fetch_add(1, Ordering::Relaxed)))
    ///     .on_thread_unpark(move || drop(unparks.fetch_sub(1, Ordering::Relaxed)))
    ///     .build()?;
    /// rt.block_on(rt.spawn(async {})).unwrap();
    /// drop(rt);
    /// assert_eq!(parked.load(Ordering::Relaxed), 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn on_thread_unpark<F: Fn() + Send + Sync + 'static>(&mut self, f: F) -> &mut Self {
        self.scheduler.on_unpark = Some(Arc::new(f));
        self
    }

    /// Calls `f` when a task is spawned, on the thread that spawns it, before the task can run.
    ///
    /// A hook may use the runtime: a task that it spawns makes it be called again, inside of itself. If it panics, the
    /// [panic hook](std::panic::set_hook) reports the panic and the task is spawned all the same. A builder has one
    /// function of each kind; setting another replaces it. All of this is true of the other three hooks of tasks too.
    /// Tasks of a [`LocalSet`](crate::task::LocalSet) are not told to any of them, and closures of
    /// [`spawn_blocking`](crate::task::spawn_blocking) only to [`on_task_terminate`](Builder::on_task_terminate).
    ///
    /// A runtime without such hooks does not pay for them. With one, spawning allocates memory once more.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let spawned = Arc::new(AtomicUsize::new(0));
    /// let rt = tress::runtime::Builder::new_current_thread()
    ///     .on_task_spawn({
    ///         let spawned = spawned.clone();
    ///         move |_task| {
    ///             spawned.fetch_add(1, Ordering::Relaxed);
    ///         }
    ///     })
    ///     .build()?;
    /// rt.spawn(async {});
    /// assert_eq!(spawned.load(Ordering::Relaxed), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn on_task_spawn<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn(&TaskMeta<'_>) + Send + Sync + 'static,
    {
        self.hooks.on_spawn = Some(Arc::new(f));
        self
    }

    /// Calls `f` when a task has ended: it has finished, panicked or been cancelled, and its future is gone.
    ///
    /// It is called on the thread that ran or dropped the task, before the task's handle is told. See
    /// [`on_task_spawn`](Builder::on_task_spawn) for what holds for all hooks of tasks.
    ///
    /// ```
    /// let rt = tress::runtime::Builder::new_current_thread()
    ///     .on_task_terminate(|task| println!("task {} has ended", task.id()))
    ///     .build()?;
    /// rt.block_on(rt.spawn(async {})).unwrap();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn on_task_terminate<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn(&TaskMeta<'_>) + Send + Sync + 'static,
    {
        self.hooks.on_terminate = Some(Arc::new(f));
        self
    }

    /// Calls `f` before each poll of a task, on the thread that polls it.
    ///
    /// See [`on_task_spawn`](Builder::on_task_spawn) for what holds for all hooks of tasks.
    ///
    /// ```
    /// let rt = tress::runtime::Builder::new_current_thread()
    ///     .on_before_task_poll(|task| println!("task {} runs", task.id()))
    ///     .build()?;
    /// rt.block_on(rt.spawn(async {})).unwrap();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn on_before_task_poll<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn(&TaskMeta<'_>) + Send + Sync + 'static,
    {
        self.hooks.before_poll = Some(Arc::new(f));
        self
    }

    /// Calls `f` after each poll of a task, also after one that panics.
    ///
    /// See [`on_task_spawn`](Builder::on_task_spawn) for what holds for all hooks of tasks.
    ///
    /// ```
    /// let rt = tress::runtime::Builder::new_current_thread()
    ///     .on_after_task_poll(|task| println!("task {} has run", task.id()))
    ///     .build()?;
    /// rt.block_on(rt.spawn(async {})).unwrap();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn on_after_task_poll<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn(&TaskMeta<'_>) + Send + Sync + 'static,
    {
        self.hooks.after_poll = Some(Arc::new(f));
        self
    }

    /// Sets the number of polls after which a worker takes from the global queue before its own, at least 1.
    ///
    /// Default: adapted to how long polls take, so that a task waits there for about a millisecond at most (1
    /// to 255 polls; 1 to 31 on a current-thread runtime). If its last polls took 200 µs together, the worker
    /// does so whatever their number.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().global_queue_interval(31).build()?;
    /// # drop(rt);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn global_queue_interval(&mut self, polls: u32) -> &mut Self {
        self.scheduler.global_interval = Some(polls);
        self
    }

    /// Sets the number of polls after which a worker looks at its timers and at the clock, at least 1.
    ///
    /// Default: adapted to how long polls take (1 to 128 polls; 1 to 61 on a current-thread runtime). The
    /// worker does so earlier if polls turn out to be long.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().event_interval(61).build()?;
    /// # drop(rt);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn event_interval(&mut self, polls: u32) -> &mut Self {
        self.scheduler.event_interval = Some(polls);
        self
    }

    /// Sets the number of operations that a task may do in one poll, 1 to 254.
    ///
    /// Default: 128.
    ///
    /// A task that uses them up is made to wait at its next operation, and goes to the tail of its queue, behind
    /// everything else that is ready: the soft budget of [`task::coop`](crate::task::coop). The same holds for a
    /// coroutine. A smaller budget makes tasks whose channels and sockets are always ready share a worker more
    /// finely, at the cost of more switches.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().task_budget(32).build()?;
    /// # drop(rt);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn task_budget(&mut self, operations: u8) -> &mut Self {
        self.budget = Some(operations);
        self
    }

    /// Sets whether the threads of all workers start when the runtime is built, instead of when there is work
    /// for them.
    ///
    /// Default: false. If it is true, [`build`](Builder::build) returns an error if no thread can be started.
    /// If some can, those workers do all the work until the threads of the others can be started too.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().eager_start(true).build()?;
    /// # drop(rt);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn eager_start(&mut self, yes: bool) -> &mut Self {
        self.eager_start = yes;
        self
    }

    /// Sets whether workers take tasks from each other.
    ///
    /// Default: true. If it is false, a task that was woken on a worker runs there, however busy that worker
    /// is.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().enable_stealing(false).build()?;
    /// rt.block_on(rt.spawn(async {})).unwrap();
    /// assert_eq!(rt.metrics().total_stolen(), 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn enable_stealing(&mut self, yes: bool) -> &mut Self {
        self.scheduler.stealing = yes;
        self
    }

    /// Sets how many times in a row a worker runs the task that became ready last before the others have their
    /// turn.
    ///
    /// Default: 3. With 0 the order is strictly first in, first out.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().lifo_limit(0).build()?;
    /// # drop(rt);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn lifo_limit(&mut self, polls: u8) -> &mut Self {
        self.scheduler.lifo_limit = polls;
        self
    }

    /// Sets how long a thread whose waits have been short lately looks for work before it sleeps, at most 1 ms.
    ///
    /// Default: 50 µs. With zero it never does.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    ///
    /// let rt = tress::runtime::Builder::new_multi_thread().spin_window(Duration::ZERO).build()?;
    /// # drop(rt);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn spin_window(&mut self, window: Duration) -> &mut Self {
        self.scheduler.spin = window;
        self
    }

    /// Sets whether the runtime starts with its clock [paused](crate::time::pause).
    ///
    /// It is for a current-thread runtime only. Without [`enable_time`](Builder::enable_time) too,
    /// [`Instant::now`](crate::time::Instant::now) then stands still.
    ///
    /// # Examples
    /// ```
    /// use tress::time::{self, Duration, Instant};
    ///
    /// let rt = tress::runtime::Builder::new_current_thread()
    ///     .enable_time()
    ///     .start_paused(true)
    ///     .build()?;
    /// rt.block_on(async {
    ///     // The clock jumps to the next timer when there is nothing else to do.
    ///     let start = Instant::now();
    ///     time::sleep(Duration::from_secs(3600)).await;
    ///     assert_eq!(start.elapsed(), Duration::from_secs(3600));
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn start_paused(&mut self, yes: bool) -> &mut Self {
        self.start_paused = yes;
        self
    }

    /// Sets what a panic of a task does besides going to the task's handle. Default: nothing.
    ///
    /// With [`ShutdownRuntime`](UnhandledPanic::ShutdownRuntime), which is for current-thread runtimes, it ends the
    /// runtime: tasks that wait are dropped, spawned ones are cancelled at once, and
    /// [`block_on`](Runtime::block_on) panics, also on threads that wait in it meanwhile. Closures of
    /// [`spawn_blocking`](crate::task::spawn_blocking) and tasks of a [`LocalSet`](crate::task::LocalSet), which has
    /// [an option of its own](crate::task::LocalSet::unhandled_panic), do not count.
    ///
    /// ```
    /// use std::panic::{AssertUnwindSafe, catch_unwind};
    /// use tress::runtime::{Builder, UnhandledPanic};
    ///
    /// let rt = Builder::new_current_thread()
    ///     .unhandled_panic(UnhandledPanic::ShutdownRuntime)
    ///     .build()?;
    /// rt.spawn(async { panic!("a bug") });
    /// let blocked = catch_unwind(AssertUnwindSafe(|| rt.block_on(std::future::pending::<()>())));
    /// assert!(blocked.is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn unhandled_panic(&mut self, behavior: UnhandledPanic) -> &mut Self {
        self.unhandled_panic = behavior;
        self
    }

    /// Times every poll and counts it in a [histogram](super::RuntimeMetrics::poll_time_histogram_bucket_count) of its
    /// worker. Default: off.
    ///
    /// It costs two looks at the clock for each poll, and what a recorded poll costs otherwise. Tasks of
    /// [dispatchers](crate::dispatch) count by the polls that run them.
    ///
    /// ```
    /// let rt = tress::runtime::Builder::new_current_thread()
    ///     .enable_metrics_poll_time_histogram()
    ///     .build()?;
    /// rt.block_on(rt.spawn(async {})).unwrap();
    /// let metrics = rt.metrics();
    /// let buckets = 0..metrics.poll_time_histogram_num_buckets();
    /// let polls: u64 = buckets.map(|b| metrics.poll_time_histogram_bucket_count(0, b)).sum();
    /// assert_eq!(polls, 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn enable_metrics_poll_time_histogram(&mut self) -> &mut Self {
        self.times_polls = true;
        self
    }

    /// Sets which buckets the histograms of poll times have, without turning them on. Default: ten of 100 µs.
    ///
    /// ```
    /// use tress::runtime::{Builder, HistogramConfiguration, LogHistogram};
    ///
    /// let rt = Builder::new_current_thread()
    ///     .enable_metrics_poll_time_histogram()
    ///     .metrics_poll_time_histogram_configuration(HistogramConfiguration::log(LogHistogram::default()))
    ///     .build()?;
    /// assert!(rt.metrics().poll_time_histogram_num_buckets() > 100);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn metrics_poll_time_histogram_configuration(
        &mut self,
        configuration: HistogramConfiguration,
    ) -> &mut Self {
        self.poll_times = configuration;
        self
    }

    /// Measures how long each task waits in queues before it is polled, and tells it to the
    /// [hooks of tasks](super::TaskMeta::schedule_latency). Default: off.
    ///
    /// The time runs from the moment at which the task becomes ready to its poll. Tasks that are spawned on the runtime
    /// and on its [dispatchers](crate::dispatch) are measured, those of a [`LocalSet`](crate::task::LocalSet) and
    /// closures on the blocking pool are not.
    ///
    /// It costs what a hook of tasks costs, and two looks at the clock for each poll.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// use std::sync::Arc;
    ///
    /// let measured = Arc::new(AtomicUsize::new(0));
    /// let rt = tress::runtime::Builder::new_current_thread()
    ///     .track_task_schedule_latency()
    ///     .on_before_task_poll({
    ///         let measured = measured.clone();
    ///         move |task| {
    ///             measured.fetch_add(usize::from(task.schedule_latency().is_some()), Ordering::Relaxed);
    ///         }
    ///     })
    ///     .build()?;
    /// rt.block_on(rt.spawn(async {})).unwrap();
    /// assert_eq!(measured.load(Ordering::Relaxed), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn track_task_schedule_latency(&mut self) -> &mut Self {
        self.tracks_latency = true;
        self
    }

    /// Does what [`track_task_schedule_latency`](Builder::track_task_schedule_latency) does, and counts the times in a
    /// [histogram](super::RuntimeMetrics::schedule_latency_histogram_bucket_count) of the worker that polls the task.
    /// Default: off.
    ///
    /// ```
    /// let rt = tress::runtime::Builder::new_current_thread()
    ///     .enable_metrics_schedule_latency_histogram()
    ///     .build()?;
    /// rt.block_on(rt.spawn(async {})).unwrap();
    /// let metrics = rt.metrics();
    /// let buckets = 0..metrics.schedule_latency_histogram_num_buckets();
    /// let polls: u64 = buckets.map(|b| metrics.schedule_latency_histogram_bucket_count(0, b)).sum();
    /// assert_eq!(polls, 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn enable_metrics_schedule_latency_histogram(&mut self) -> &mut Self {
        self.tracks_latency = true;
        self.counts_latency = true;
        self
    }

    /// Sets which buckets the histograms of schedule latencies have, without turning them on. Default: ten of 100 µs.
    ///
    /// ```
    /// use tress::runtime::{Builder, HistogramConfiguration, LogHistogram};
    ///
    /// let rt = Builder::new_current_thread()
    ///     .enable_metrics_schedule_latency_histogram()
    ///     .metrics_schedule_latency_histogram_configuration(HistogramConfiguration::log(LogHistogram::default()))
    ///     .build()?;
    /// assert!(rt.metrics().schedule_latency_histogram_num_buckets() > 100);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn metrics_schedule_latency_histogram_configuration(
        &mut self,
        configuration: HistogramConfiguration,
    ) -> &mut Self {
        self.latencies = configuration;
        self
    }

    /// Sets the seed of the runtime's random generators.
    ///
    /// With the same seed the random decisions, such as the order of `select!`'s branches, are the same in
    /// every run.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_current_thread().rng_seed(7).build()?;
    /// # drop(rt);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn rng_seed(&mut self, seed: u64) -> &mut Self {
        self.seed = Some(seed);
        self
    }

    fn check(&self) -> io::Result<()> {
        if self.workers > MAX_WORKERS {
            return Err(invalid(format!(
                "worker_threads is {}, but at most {MAX_WORKERS} are possible",
                self.workers
            )));
        }
        for (name, value) in [
            (
                "max_blocking_threads",
                Some(self.blocking.max_threads as u64),
            ),
            (
                "global_queue_interval",
                self.scheduler.global_interval.map(u64::from),
            ),
            (
                "event_interval",
                self.scheduler.event_interval.map(u64::from),
            ),
        ] {
            if value == Some(0) {
                return Err(invalid(format!("{name} is 0, but must be at least 1")));
            }
        }
        if self.budget.is_some_and(|n| Budget::of(n).is_none()) {
            return Err(invalid(format!(
                "task_budget is {}, but must be 1 to {}; to lift it for one future use \
                 `task::unconstrained`",
                self.budget.unwrap_or_default(),
                Budget::MAX
            )));
        }
        if self.scheduler.spin > Duration::from_millis(1) {
            return Err(invalid(format!(
                "spin_window is {:?}, but spinning longer than 1ms only burns CPU",
                self.scheduler.spin
            )));
        }
        if self.start_paused && self.kind == Kind::Multi {
            return Err(invalid(
                "start_paused needs a current-thread runtime: with several workers the moment of \
                 a pause would be different for each of them"
                    .into(),
            ));
        }
        #[cfg(feature = "driver")]
        if self.io.enabled {
            self.io.config.check()?;
        }
        if self.ends_on_panic() && self.kind == Kind::Multi {
            return Err(invalid(
                "unhandled_panic(ShutdownRuntime) needs a current-thread runtime".into(),
            ));
        }
        #[cfg(feature = "pooled")]
        self.io.pool.check().map_err(invalid)?;
        Ok(())
    }

    fn ends_on_panic(&self) -> bool {
        matches!(self.unhandled_panic, UnhandledPanic::ShutdownRuntime)
    }

    #[cfg(feature = "driver")]
    fn new_io(&self) -> Io {
        Io::new(
            self.io.enabled.then(|| self.io.config.clone()),
            #[cfg(feature = "pooled")]
            self.io.pool,
        )
    }

    #[cfg(not(feature = "driver"))]
    fn new_io(&self) -> Io {
        Io::none()
    }

    /// Returns what the scheduler is told.
    fn scheduler_config(&self, diagnostics: &Resolved) -> Config {
        let cores = cpus();
        let workers = match self.workers {
            0 => cores,
            workers => workers,
        };
        let tracks = match self.kind {
            Kind::Multi => workers,
            Kind::Current => 1,
        };
        Config {
            options: self.scheduler.clone(),
            workers,
            cores,
            tracer: Arc::new(Tracer::new(
                trace::Config {
                    timed: self.times_polls,
                    ..diagnostics.tracer()
                },
                tracks,
            )),
            slow_polls: diagnostics.slow_polls.clone(),
        }
    }

    /// Makes the scheduler, whose timers count from `start`.
    fn new_scheduler(
        &self,
        config: Config,
        start: Instant,
        clock: &Arc<Clock>,
        seeds: &SeedGenerator,
    ) -> io::Result<Scheduler> {
        Ok(match self.kind {
            Kind::Multi => Scheduler::Multi(Multi::new(config, start, seeds, || self.new_io())?),
            Kind::Current => {
                let current = Current::new(config, start, clock.clone(), self.new_io())?;
                if self.ends_on_panic() {
                    current.end_on_panic();
                }
                Scheduler::Current(current)
            }
        })
    }

    /// Returns what the pool is told. Its threads are like the workers, and its hooks run in the runtime of `place`.
    fn blocking_config(&self, place: &Place) -> blocking::Config {
        let threads = &self.scheduler;
        blocking::Config {
            stack_size: threads.stack_size,
            name: threads.thread_name.clone(),
            on_start: threads.on_start.clone().map(|hook| inside(place, hook)),
            on_stop: threads.on_stop.clone().map(|hook| inside(place, hook)),
            spin: threads.spin,
            ..self.blocking.clone()
        }
    }

    /// Returns the hooks of tasks. Threads that are not in the runtime of `place` spawn and drop tasks, too.
    fn task_hooks(&self, place: &Place) -> Hooks {
        let hooks = self.hooks.clone();
        let inside = |hook| inside_of_task(place, hook);
        Hooks {
            on_spawn: hooks.on_spawn.map(inside),
            on_terminate: hooks.on_terminate.map(inside),
            latency: self.tracks_latency.then(|| Latency::new(place.clone())),
            ..hooks
        }
    }

    fn build_shared(&self, home: Option<Home>) -> io::Result<Arc<Shared>> {
        self.check()?;
        let diagnostics = self.diagnostics.resolve()?;
        let config = self.scheduler_config(&diagnostics);
        let start = clock::now();
        let seeds = SeedGenerator::new(self.seed.unwrap_or_else(SeedGenerator::entropy));
        let clock = Arc::new(Clock::new(self.kind == Kind::Current));
        let place = Place::default();
        let hooks = self.task_hooks(&place);
        let shared = Arc::new(Shared {
            scheduler: self.new_scheduler(config, start, &clock, &seeds)?,
            blocking: blocking::Pool::new(self.blocking_config(&place)),
            #[cfg(all(feature = "extra", not(loom)))]
            views: crate::scheduler::Views::default(),
            clock,
            seeds,
            forced_yields: Counter::default(),
            budget: self.budget.and_then(Budget::of).unwrap_or(Budget::DEFAULT),
            hooks: hooks.shared(),
            blocking_hooks: hooks.of_blocking(),
            names: Names::default(),
            sections: Sections::default(),
            flight: Flight::new(diagnostics.triggers.clone()),
            #[cfg(all(feature = "sight", not(loom)))]
            sight: self.diagnostics.sight.state(),
            trace_file: diagnostics.trace_file.clone(),
            time_enabled: self.enable_time,
            #[cfg(feature = "driver")]
            io_enabled: self.io.enabled,
            #[cfg(feature = "driver")]
            registers_early: self.io.early && self.kind == Kind::Current,
            name: self.name.clone(),
            id: Id::next(),
            home,
        });
        let _ = place.set(Arc::downgrade(&shared));
        if self.enable_time {
            Maker::list(&shared);
        }
        #[cfg(feature = "sim")]
        crate::sys::sim::made(Arc::<Shared>::downgrade(&shared));
        self.start(&shared, &diagnostics)?;
        if self.start_paused {
            // This is the zero of the wheel too: sleeps of whole milliseconds then end exactly on time.
            shared.clock.pause_at(start);
        }
        Ok(shared)
    }

    /// Starts what is to run from the beginning. After an error nothing runs any more.
    fn start(&self, shared: &Arc<Shared>, diagnostics: &Resolved) -> io::Result<()> {
        shared.scheduler.adopt(shared);
        for worker in 0..shared.scheduler.workers() {
            let stats = &shared.scheduler.station(worker).stats;
            if self.times_polls {
                let _ = stats.poll_times.set(Histogram::new(&self.poll_times));
            }
            if self.counts_latency {
                let _ = stats
                    .schedule_latencies
                    .set(Histogram::new(&self.latencies));
            }
        }
        let started = match self.eager_start {
            true => shared.scheduler.start(),
            false => Ok(()),
        };
        started
            .and_then(|()| diagnostics.install(shared))
            .inspect_err(|_| {
                // Threads that already run hold it, and would do so for ever.
                shutdown::run(shared, Some(Duration::ZERO));
            })
    }

    /// Builds the runtime.
    ///
    /// # Errors
    /// - [`ErrorKind::InvalidInput`](io::ErrorKind::InvalidInput) if an option is out of range, or one of the
    ///   environment variables `TRESS_TRACE`, `TRESS_SLOW_POLL_MS`, `TRESS_DUMP`, `TRESS_RECORDER` and `TRESS_RECORD`
    ///   cannot be understood.
    /// - The system's error if a resource of the runtime cannot be made. A worker's thread that cannot be started is an
    ///   error only with [`eager_start`](Builder::eager_start), and only if none can be started; the thread of the
    ///   [flight recorder](Builder::flight_recorder) always, if that is on.
    ///
    /// # Examples
    /// ```
    /// use std::io::ErrorKind;
    /// use tress::runtime::Builder;
    ///
    /// let rt = Builder::new_multi_thread().enable_all().build()?;
    /// assert_eq!(rt.block_on(async { 3 }), 3);
    ///
    /// let error = Builder::new_multi_thread().max_blocking_threads(0).build().unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::InvalidInput);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn build(&mut self) -> io::Result<Runtime> {
        self.build_shared(None).map(Runtime::from_shared)
    }

    /// Builds a runtime that stays on the current thread and runs tasks that are not `Send`.
    ///
    /// # Errors
    /// Returns the errors of [`build`](Builder::build), and
    /// [`ErrorKind::InvalidInput`](io::ErrorKind::InvalidInput) if the builder is for a multi-thread runtime.
    ///
    /// # Examples
    /// ```
    /// use tress::runtime::{Builder, LocalOptions};
    ///
    /// let rt = Builder::new_current_thread()
    ///     .enable_all()
    ///     .build_local(LocalOptions::default())?;
    /// let word = std::rc::Rc::new("not Send");
    /// let task = rt.spawn_local(async move { word.len() });
    /// assert_eq!(rt.block_on(task).unwrap(), 8);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn build_local(&mut self, _options: LocalOptions) -> io::Result<LocalRuntime> {
        if self.kind == Kind::Multi {
            return Err(invalid(
                "a local runtime has one thread: use Builder::new_current_thread".into(),
            ));
        }
        self.build_shared(Some(Home::here()))
            .map(LocalRuntime::from_shared)
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("kind", &self.kind)
            .field("worker_threads", &self.workers)
            .field("max_blocking_threads", &self.blocking.max_threads)
            .field("thread_keep_alive", &self.blocking.keep_alive)
            .field("blocking_queue_bound", &self.blocking.queue_bound)
            .field("thread_name", &(self.scheduler.thread_name)())
            .field("thread_stack_size", &self.scheduler.stack_size)
            .field("enable_time", &self.enable_time)
            .field("eager_start", &self.eager_start)
            .field("enable_stealing", &self.scheduler.stealing)
            .field("lifo_limit", &self.scheduler.lifo_limit)
            .field("global_queue_interval", &self.scheduler.global_interval)
            .field("event_interval", &self.scheduler.event_interval)
            .field("task_budget", &self.budget)
            .field("spin_window", &self.scheduler.spin)
            .field("start_paused", &self.start_paused)
            .field("rng_seed", &self.seed)
            .field("unhandled_panic", &self.unhandled_panic)
            .field("name", &self.name)
            .field("diagnostics", &self.diagnostics)
            .finish_non_exhaustive()
    }
}
