use super::blocking_task::{AtShutdown, SpawnBlockingError};
use super::metrics::RuntimeMetrics;
use super::section::{Section, SectionGuard};
use super::trace::Trace;
use super::{Shared, enter_driving, in_span, park_thread};
use crate::context;
use crate::sys::atomic::Ordering;
use crate::sys::plain::AtomicU64;
use crate::task::{Batch, JoinHandle};
use crate::words;
use std::fmt;
use std::future::Future;
use std::io;
use std::marker::PhantomData;
use std::num::NonZeroU64;
use std::panic::Location;
use std::pin::pin;
use std::sync::Arc;

/// A handle to a runtime, which spawns tasks on it from anywhere.
///
/// Cheap to clone. It does not keep the runtime running: after the [`Runtime`](super::Runtime) has
/// been dropped, tasks spawned through a handle are cancelled at once.
///
/// # Examples
/// ```
/// let rt = tress::runtime::Runtime::new()?;
/// let handle = rt.handle().clone();
/// std::thread::spawn(move || {
///     let task = handle.spawn(async { 1 + 1 });
///     assert_eq!(handle.block_on(task).unwrap(), 2);
/// })
/// .join()
/// .unwrap();
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Handle {
    pub(crate) shared: Arc<Shared>,
}

// A task that panics leaves the runtime as it was.
impl std::panic::UnwindSafe for Handle {}
impl std::panic::RefUnwindSafe for Handle {}

/// The kind of scheduler that a runtime has.
///
/// # Examples
/// ```
/// use tress::runtime::{Handle, RuntimeFlavor};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let flavor = Handle::current().runtime_flavor();
/// assert_eq!(flavor, RuntimeFlavor::MultiThread);
/// # });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuntimeFlavor {
    /// Tasks run on the thread that calls `block_on`.
    CurrentThread,
    /// Tasks run on worker threads that steal from each other.
    MultiThread,
}

impl RuntimeFlavor {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            RuntimeFlavor::CurrentThread => "current_thread",
            RuntimeFlavor::MultiThread => "multi_thread",
        }
    }
}

/// An id of a runtime or of a [`LocalSet`](crate::task::LocalSet).
///
/// No other runtime and no other set of this process has had it or will have it.
///
/// # Examples
/// ```
/// use tress::runtime::{Builder, Id};
///
/// let one = Builder::new_current_thread().build()?;
/// let other = Builder::new_current_thread().build()?;
/// let id: Id = one.handle().id();
/// assert_ne!(id, other.handle().id());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Id(NonZeroU64);

impl Id {
    pub(crate) fn next() -> Id {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        Id(NonZeroU64::new(n).expect("2^64 runtimes cannot have been built"))
    }

    /// Returns the low half of the number.
    #[inline]
    pub(super) fn low_half(self) -> u32 {
        self.0.get() as u32
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A guard that keeps the thread in the context of a runtime until it is dropped; returned by
/// [`Handle::enter`].
///
/// Guards must be dropped in the reverse order of their creation, and in the coroutine, if any, that made
/// them.
///
/// # Panics
/// Panics if it is dropped otherwise: the thread then stays in the runtime as if the guard had been
/// forgotten. A forgotten one lasts until the `block_on`, the worker thread or the blocking closure around
/// it ends.
///
/// # Examples
/// ```
/// use tress::runtime::{EnterGuard, Handle};
///
/// let rt = tress::runtime::Runtime::new()?;
/// let guard: EnterGuard<'_> = rt.enter();
/// assert_eq!(Handle::current().id(), rt.handle().id());
/// drop(guard);
/// assert!(Handle::try_current().is_err());
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use = "the context is left when the guard is dropped"]
pub struct EnterGuard<'a> {
    _guard: context::RuntimeGuard,
    _handle: PhantomData<&'a Handle>,
}

// SAFETY: a shared reference to it can only be used to print its name.
unsafe impl Sync for EnterGuard<'_> {}

impl fmt::Debug for EnterGuard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EnterGuard").finish_non_exhaustive()
    }
}

impl Handle {
    /// Returns a handle to the runtime that the current thread is in.
    ///
    /// # Panics
    /// Panics if it is in none; see [`try_current`](Handle::try_current).
    ///
    /// # Examples
    /// ```
    /// use tress::runtime::Handle;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let handle = Handle::current();
    /// let thread = std::thread::spawn(move || handle.block_on(async { tress::spawn(async { 2 }).await }));
    /// assert_eq!(thread.join().unwrap().unwrap(), 2);
    /// # });
    /// ```
    #[track_caller]
    pub fn current() -> Handle {
        match Handle::try_current() {
            Ok(handle) => handle,
            Err(_) => panic!("{}{}", words::NO_RUNTIME, TryCurrentError::ADVICE),
        }
    }

    /// Returns a handle to the runtime that the current thread is in, if it is in one.
    ///
    /// # Errors
    /// Returns [`TryCurrentError`] if the thread is in no runtime.
    ///
    /// # Examples
    /// ```
    /// use tress::runtime::Handle;
    ///
    /// assert!(Handle::try_current().is_err());
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// assert!(Handle::try_current().is_ok());
    /// # });
    /// ```
    pub fn try_current() -> Result<Handle, TryCurrentError> {
        match context::runtime() {
            Some(shared) => Ok(Handle { shared }),
            None => Err(TryCurrentError::missing()),
        }
    }

    /// Enters the context of the runtime on the current thread, until the returned guard is dropped.
    ///
    /// Meanwhile [`spawn`](crate::spawn()), timers and sockets use this runtime.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Runtime::new()?;
    /// let task = {
    ///     let _guard = rt.handle().enter();
    ///     tress::spawn(async { "from a plain thread" })
    /// };
    /// rt.block_on(task).unwrap();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn enter(&self) -> EnterGuard<'_> {
        EnterGuard {
            _guard: context::enter_runtime(self.shared.clone()),
            _handle: PhantomData,
        }
    }

    /// Spawns a task on the runtime.
    ///
    /// Does the same as [`spawn`](crate::spawn()), from any thread. If the runtime has shut down, the task is
    /// cancelled at once.
    ///
    /// # Panics
    /// Panics if the system refuses to start the runtime's first worker thread.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Runtime::new()?;
    /// let task = rt.handle().spawn(async { 1 + 1 });
    /// assert_eq!(rt.block_on(task).unwrap(), 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.shared.spawn(future, Location::caller())
    }

    /// Spawns a task for each future.
    ///
    /// Does the same as [`spawn_batch`](crate::task::spawn_batch), from any thread.
    ///
    /// # Panics
    /// A panic of the iterator goes on: the futures that it returned before have been spawned, and their tasks
    /// are detached.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Runtime::new()?;
    /// let batch = rt.handle().spawn_batch((0..100).map(|n| async move { n }));
    /// assert_eq!(rt.block_on(batch).len(), 100);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_batch<I>(&self, futures: I) -> Batch<<I::Item as Future>::Output>
    where
        I: IntoIterator,
        I::Item: Future<Output: Send + 'static> + Send + 'static,
    {
        self.shared.spawn_batch(futures, Location::caller())
    }

    /// Runs a closure that blocks, on a thread of the runtime's blocking pool.
    ///
    /// Does the same as [`spawn_blocking`](crate::task::spawn_blocking), from any thread. If the runtime has
    /// shut down, the closure is cancelled at once.
    ///
    /// # Panics
    /// Panics if the queue of the pool is bounded and full, or if no thread can be started; see
    /// [`try_spawn_blocking`](Handle::try_spawn_blocking).
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Runtime::new()?;
    /// let sum = rt.handle().spawn_blocking(|| (0..1000).sum::<i32>());
    /// assert_eq!(rt.block_on(sum).unwrap(), 499_500);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, f: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.shared.spawn_blocking(f)
    }

    /// Runs a closure that blocks, on a thread of the runtime's blocking pool, if the pool accepts it.
    ///
    /// Does the same as [`spawn_blocking`](Handle::spawn_blocking), but returns the closure with an error where
    /// that panics.
    ///
    /// # Errors
    /// - [`SpawnBlockingError::Full`] if the maximum number of closures, which
    ///   [`blocking_queue_bound`](super::Builder::blocking_queue_bound) sets, waits for a thread.
    /// - [`SpawnBlockingError::NoThread`] if no thread can be started.
    /// - [`SpawnBlockingError::ShutDown`] if the runtime has shut down.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Runtime::new()?;
    /// match rt.handle().try_spawn_blocking(|| 7) {
    ///     Ok(task) => assert_eq!(rt.block_on(task).unwrap(), 7),
    ///     Err((error, closure)) => println!("not now: {error}; doing it here: {}", closure()),
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    #[allow(clippy::result_large_err, reason = "the closure is the caller's")]
    pub fn try_spawn_blocking<F, R>(&self, f: F) -> Result<JoinHandle<R>, (SpawnBlockingError, F)>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.shared
            .try_spawn_blocking(f, Location::caller(), AtShutdown::Cancel)
    }

    /// Runs a future to completion on the current thread, in the context of the runtime.
    ///
    /// On a current-thread runtime this does not drive the runtime's tasks and timers: another thread must be
    /// in [`Runtime::block_on`](super::Runtime::block_on) for them to make progress.
    ///
    /// # Panics
    /// Panics if the current thread already drives asynchronous tasks, or if the future panics.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Runtime::new()?;
    /// let handle = rt.handle().clone();
    /// let thread = std::thread::spawn(move || {
    ///     handle.block_on(async { tress::spawn(async { "from a thread" }).await.unwrap() })
    /// });
    /// assert_eq!(thread.join().unwrap(), "from a thread");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let future = pin!(in_span(future, Location::caller()));
        let _entered = enter_driving(&self.shared, true);
        let config = self.shared.config();
        park_thread::block_on(future, config.spin, config.cores)
    }

    /// Returns the kind of the runtime.
    ///
    /// # Examples
    /// ```
    /// use tress::runtime::{Builder, RuntimeFlavor};
    ///
    /// let rt = Builder::new_current_thread().build()?;
    /// assert_eq!(rt.handle().runtime_flavor(), RuntimeFlavor::CurrentThread);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn runtime_flavor(&self) -> RuntimeFlavor {
        self.shared.flavor()
    }

    /// Returns the id of the runtime.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Runtime::new()?;
    /// println!("runtime {}", rt.handle().id());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn id(&self) -> Id {
        self.shared.id
    }

    /// Returns the name given to the [builder](super::Builder::name), if any.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().name("main").build()?;
    /// assert_eq!(rt.handle().name(), Some("main"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn name(&self) -> Option<&str> {
        self.shared.name.as_deref()
    }

    /// Returns the record of what the runtime's workers do.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Runtime::new()?;
    /// let trace = rt.handle().trace();
    /// trace.start();
    /// rt.block_on(rt.spawn(async {})).unwrap();
    /// trace.stop();
    /// for event in trace.events() {
    ///     println!("worker {}: {:?}", event.track, event.kind);
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn trace(&self) -> Trace {
        Trace::new(self.shared.clone())
    }

    /// Writes the state of every worker, queue, task, coroutine, timer and I/O driver of the runtime.
    ///
    /// It may be called from any thread, above all from one outside of a runtime that is stuck: it takes no lock for
    /// which it would have to wait, and says "busy" where it could not get one. If the environment variable
    /// `TRESS_DUMP` is set to a signal's name, such as `SIGUSR1`, the dumps of all runtimes are written to standard
    /// error when the process gets that signal.
    ///
    /// How often a task was woken and when it was last polled is known for tasks with a
    /// [name](crate::task::Builder::name), and for all tasks while a [trace](Handle::trace) is recorded.
    ///
    /// Tasks of a [`LocalSet`](crate::task::LocalSet) and the future in `block_on` are not in it.
    ///
    /// # Errors
    /// Any error of the writer.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Runtime::new()?;
    /// let task = tress::task::Builder::new().name("waits for ever");
    /// task.spawn_on(std::future::pending::<()>(), rt.handle())?;
    /// let mut dump = Vec::new();
    /// rt.handle().debug_dump(&mut dump)?;
    /// assert!(String::from_utf8(dump).unwrap().contains("waits for ever"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn debug_dump(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.shared.dump(out)
    }

    /// Adds a part to the runtime's [dump](Handle::debug_dump) and [metrics](Handle::metrics), for
    /// as long as the returned guard is kept.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// use tress::runtime::Samples;
    /// use tress::trace::Section;
    ///
    /// #[derive(Default)]
    /// struct Orders(AtomicU64);
    ///
    /// impl Section for Orders {
    ///     fn name(&self) -> &str {
    ///         "orders"
    ///     }
    ///     fn dump(&self, out: &mut dyn std::io::Write) -> std::io::Result<()> {
    ///         writeln!(out, "{} orders", self.0.load(Ordering::Relaxed))
    ///     }
    ///     fn metrics(&self, out: &mut Samples) {
    ///         let orders = self.0.load(Ordering::Relaxed) as f64;
    ///         out.counter("orders_total", "Orders taken.", &[], orders);
    ///     }
    /// }
    ///
    /// let rt = tress::runtime::Runtime::new()?;
    /// let orders = Arc::new(Orders::default());
    /// let _section = rt.handle().add_section(orders.clone());
    /// orders.0.fetch_add(3, Ordering::Relaxed);
    /// assert!(rt.metrics().to_prometheus().contains("orders_total 3"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn add_section(&self, section: Arc<dyn Section>) -> SectionGuard {
        SectionGuard::add(&self.shared, section)
    }

    /// Returns a view of what the runtime has done so far.
    ///
    /// # Examples
    /// ```
    /// use tress::runtime::Handle;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// tress::spawn(async {}).await.unwrap();
    /// assert_eq!(Handle::current().metrics().spawned_tasks_count(), 1);
    /// # });
    /// ```
    pub fn metrics(&self) -> RuntimeMetrics {
        RuntimeMetrics::new(self.shared.clone())
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("id", &self.shared.id)
            .field("name", &self.shared.name)
            .field("flavor", &self.runtime_flavor())
            .finish()
    }
}

impl Shared {
    pub(crate) fn config(&self) -> &crate::scheduler::Config {
        &self.scheduler.frame().config
    }
}

/// An error returned by [`Handle::try_current`]: the current thread is in no runtime.
///
/// # Examples
/// ```
/// let error = tress::runtime::Handle::try_current().unwrap_err();
/// assert!(error.is_missing_context());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TryCurrentError {
    kind: Missing,
}

/// Why there is no context.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Missing {
    NoContext,
    #[allow(dead_code, reason = "a thread's context has no destructor")]
    ThreadLocalDestroyed,
}

impl TryCurrentError {
    pub(super) const ADVICE: &'static str = ". Call it from inside `Runtime::block_on` or a spawned task, \
         or enter a runtime with `Handle::enter`";

    pub(super) const fn missing() -> TryCurrentError {
        TryCurrentError {
            kind: Missing::NoContext,
        }
    }

    /// Returns true if the thread is in no runtime.
    ///
    /// # Examples
    /// ```
    /// let error = tress::runtime::Handle::try_current().unwrap_err();
    /// assert!(error.is_missing_context());
    /// ```
    pub fn is_missing_context(&self) -> bool {
        matches!(self.kind, Missing::NoContext)
    }

    /// Returns true if the thread is ending and its context is gone.
    ///
    /// That does not happen in tress, where the context lives as long as the thread.
    ///
    /// # Examples
    /// ```
    /// let error = tress::runtime::Handle::try_current().unwrap_err();
    /// assert!(!error.is_thread_local_destroyed());
    /// ```
    pub fn is_thread_local_destroyed(&self) -> bool {
        matches!(self.kind, Missing::ThreadLocalDestroyed)
    }
}

impl fmt::Display for TryCurrentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let advice = words::advice(TryCurrentError::ADVICE);
        write!(f, "{}{advice}", words::NO_RUNTIME)
    }
}

impl std::error::Error for TryCurrentError {}
