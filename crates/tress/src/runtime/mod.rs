//! The runtime: what runs tasks, keeps time and owns the threads.
//!
//! There are two kinds: [multi-thread](Builder::new_multi_thread), with a work-stealing scheduler over a number of
//! workers, and [current-thread](Builder::new_current_thread), where tasks run on the thread that calls
//! [`block_on`](Runtime::block_on). Several runtimes can live in one process.
//!
//! Dropping a runtime, or shutting it down, follows the order given at [`Runtime::shutdown_timeout`].
//!
//! # Examples
//! ```
//! use tress::runtime::Runtime;
//!
//! let rt = Runtime::new()?;
//! let answer = rt.block_on(async { tress::spawn(async { 42 }).await.unwrap() });
//! assert_eq!(answer, 42);
//! # Ok::<(), std::io::Error>(())
//! ```

pub(crate) mod block_thread;
mod blocking_task;
mod builder;
mod diagnostics;
#[cfg(feature = "driver")]
pub(crate) mod driver;
mod dump;
pub(crate) mod flight;
mod handle;
#[cfg(all(feature = "sight", not(loom)))]
pub(crate) mod living;
pub(crate) mod local_runtime;
mod maker;
pub(crate) mod metrics;
pub(crate) mod park_thread;
#[allow(clippy::module_inception)]
mod runtime;
pub(crate) mod section;
mod shutdown;
#[cfg(all(feature = "sight", not(loom)))]
pub(crate) mod sight;
#[cfg(all(feature = "taskdump", not(loom)))]
pub mod task_dump;
pub(crate) mod trace;
#[cfg_attr(loom, path = "no_waiting.rs")]
mod waiting;

pub use crate::task::hooks::TaskMeta;
pub use builder::{Builder, UnhandledPanic};
pub use handle::{EnterGuard, Handle, Id, RuntimeFlavor, TryCurrentError};
pub use local_runtime::{LocalOptions, LocalRuntime};
pub use metrics::{DispatcherMetrics, NameMetrics, RuntimeMetrics, Samples, WorkerMetrics};
pub use metrics::{
    HistogramConfiguration, HistogramScale, InvalidHistogramConfiguration, LogHistogram,
    LogHistogramBuilder,
};
pub use runtime::Runtime;
pub use shutdown::{ShutdownReport, StuckTask};
#[cfg(feature = "driver")]
pub use tress_driver::{Choice as IoBackend, Metrics as IoMetrics};

#[cfg(all(feature = "fs", target_os = "linux"))]
pub(crate) use blocking_task::Busy;
pub use blocking_task::SpawnBlockingError;
pub(crate) use blocking_task::{AtShutdown, BlockingTask};
pub(crate) use maker::Maker;

use crate::blocking::Pool;
use crate::context::{self, Enter};
use crate::identity::{Label, Names};
use crate::scheduler::{Current, Multi, Rest, Scheduler, Worker};
use crate::sight::as_root;
use crate::spans::{self, What};
use crate::sys::{Counter, SeedGenerator};
use crate::task::{self, Batch, Counted, Hooks, JoinHandle, Origin, Ready, TaskRef};
use crate::timer::{Armed, Clock, Timers};
use crate::words;
use flight::Flight;
use section::Sections;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Number of tasks that are made and queued in one go.
// D-TASK-08
const BATCH: usize = 64;
/// Maximum number of handles to reserve room for at once, whatever an iterator promises.
const MAX_RESERVED: usize = 1 << 16;

/// Everything that handles, workers and tasks share.
pub(crate) struct Shared {
    pub(crate) scheduler: Scheduler,
    pub(crate) blocking: Pool<BlockingTask>,
    #[cfg(all(feature = "extra", not(loom)))]
    pub(crate) views: crate::scheduler::Views,
    pub(crate) clock: Arc<Clock>,
    pub(crate) seeds: SeedGenerator,
    pub(crate) forced_yields: Counter,
    /// The budget that each poll of a task begins with.
    pub(crate) budget: task::coop::Budget,
    /// What the user wants to be told of tasks, and of closures on the blocking pool.
    pub(crate) hooks: Option<Arc<Hooks>>,
    pub(crate) blocking_hooks: Option<Arc<Hooks>>,
    pub(crate) names: Names,
    pub(crate) sections: Sections,
    pub(crate) flight: Flight,
    #[cfg(all(feature = "sight", not(loom)))]
    pub(crate) sight: sight::State,
    /// Where the trace goes at the end.
    trace_file: Option<PathBuf>,
    pub(crate) time_enabled: bool,
    #[cfg(feature = "driver")]
    pub(crate) io_enabled: bool,
    /// Sockets are registered when they are made.
    #[cfg(feature = "driver")]
    pub(crate) registers_early: bool,
    pub(crate) name: Option<String>,
    pub(crate) id: Id,
    /// The thread that a `LocalRuntime` lives on; `None` for other runtimes.
    pub(crate) home: Option<task::Home>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime")
            .field("id", &self.id)
            .field("name", &self.name)
            .field("flavor", &self.flavor())
            .finish_non_exhaustive()
    }
}

impl Shared {
    /// Returns the multi-thread scheduler, for code that only its own threads and tasks reach.
    #[inline]
    pub(crate) fn multi(&self) -> &Multi {
        match &self.scheduler {
            Scheduler::Multi(multi) => multi,
            Scheduler::Current(_) => unreachable!("not a multi-thread runtime"),
        }
    }

    /// Returns the current-thread scheduler, for code that only its own threads and tasks reach.
    #[inline]
    pub(crate) fn current(&self) -> &Current {
        match &self.scheduler {
            Scheduler::Current(current) => current,
            Scheduler::Multi(_) => unreachable!("not a current-thread runtime"),
        }
    }

    pub(crate) fn flavor(&self) -> RuntimeFlavor {
        match self.scheduler {
            Scheduler::Multi(_) => RuntimeFlavor::MultiThread,
            Scheduler::Current(_) => RuntimeFlavor::CurrentThread,
        }
    }

    /// Returns how a thread that runs tasks of this runtime has entered it.
    #[cfg(all(feature = "coroutine", unix, not(loom)))]
    pub(crate) fn enter_of_tasks(&self) -> Enter {
        Enter::Driving {
            allow_block_in_place: self.flavor() == RuntimeFlavor::MultiThread,
        }
    }

    /// Spawns a future that may move between threads.
    #[inline]
    pub(crate) fn spawn<F>(
        &self,
        future: F,
        at: &'static Location<'static>,
    ) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        // SAFETY: the bounds are what the schedulers need.
        unsafe { self.submit(future, Origin::unnamed(at), What::task::<F>()) }
    }

    /// As [`spawn`](Shared::spawn), perhaps with a name. Only code that may have one comes here: a task with a name
    /// has a future of another type, and the compiler makes everything twice.
    pub(crate) fn spawn_named<F>(
        &self,
        future: F,
        name: Option<&str>,
        at: &'static Location<'static>,
    ) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let Some(name) = name else {
            return self.spawn(future, at);
        };
        let (future, origin) = self.count(future, name, at);
        // SAFETY: the bounds are what the schedulers need.
        unsafe { self.submit(future, origin, What::task::<F>()) }
    }

    /// Wraps a future that has a name, to be counted under it.
    pub(crate) fn count<F>(
        &self,
        future: F,
        name: &str,
        at: &'static Location<'static>,
    ) -> (Counted<F>, Origin) {
        let (name, counted) = self.names.get(name);
        (Counted::new(future, counted), Origin::named(at, name))
    }

    /// # Safety
    /// The future is `Send + 'static` and so is its output, or the caller guarantees what that would have ensured.
    #[inline]
    pub(crate) unsafe fn submit<F: Future>(
        &self,
        future: F,
        origin: Origin,
        what: What,
    ) -> JoinHandle<F::Output> {
        let id = task::Id::next();
        let origin = self.adopt(id, origin, what);
        let place = self.scheduler.place(self, 1);
        let (owner, source) = (place.owner(), place.source());
        // SAFETY: by the caller's promise; the place says that this thread owns the slab.
        let (task, handle) = unsafe { task::new(future, owner, source, id, origin) };
        place.queue(task);
        handle
    }

    /// Counts a task that is about to be made, and tells the user's hooks and subscribers, if there are any. Returns the origin to
    /// make it with.
    /// The caller holds no lock.
    #[inline(always)]
    pub(crate) fn adopt(&self, id: task::Id, origin: Origin, what: What) -> Origin {
        self.count_spawns(|| origin.label_of_unnamed(), 1);
        let origin = origin.in_span(what, id);
        match &self.hooks {
            None => origin,
            Some(hooks) => hooks.adopt(id, origin),
        }
    }

    /// Returns whether tasks are stamped when they become ready.
    pub(crate) fn tracks_latency(&self) -> bool {
        self.hooks
            .as_ref()
            .is_some_and(|hooks| hooks.track_latency())
    }

    /// Spawns each of many futures. No lock of the runtime is held while the iterator runs.
    pub(crate) fn spawn_batch<I>(
        &self,
        futures: I,
        at: &'static Location<'static>,
    ) -> Batch<<I::Item as Future>::Output>
    where
        I: IntoIterator,
        I::Item: Future<Output: Send + 'static> + Send + 'static,
    {
        let mut futures = futures.into_iter();
        let (least, _) = futures.size_hint();
        let mut handles = Vec::with_capacity(least.min(MAX_RESERVED));
        let mut tasks = Vec::with_capacity(BATCH);
        let mut chunk = Vec::with_capacity(BATCH);
        loop {
            let given = catch_unwind(AssertUnwindSafe(|| {
                chunk.extend(futures.by_ref().take(BATCH));
            }));
            let last = chunk.len() < BATCH;
            // Before the place is taken: hooks and subscribers may do anything.
            let told = self.hooks.is_some() || What::may_be_told();
            let origins: Vec<_> = (0..if told { chunk.len() } else { 0 })
                .map(|_| {
                    let id = task::Id::next();
                    let what = What::task::<I::Item>();
                    (id, self.adopt(id, Origin::unnamed(at), what))
                })
                .collect();
            let mut origins = origins.into_iter();
            if !told {
                self.count_spawns(|| Some(Label::spawned_at(at)), chunk.len());
            }
            let place = self.scheduler.place(self, chunk.len());
            for future in chunk.drain(..) {
                let (id, origin) = origins
                    .next()
                    .unwrap_or_else(|| (task::Id::next(), Origin::unnamed(at)));
                // SAFETY: the bounds are what the scheduler needs; the place says that this thread owns the slab.
                let (task, handle) =
                    unsafe { task::new(future, place.owner(), place.source(), id, origin) };
                tasks.push(task);
                handles.push(handle);
            }
            place.queue_all(&mut tasks);
            if let Err(payload) = given {
                resume_unwind(payload);
            }
            if last {
                return Batch::new(handles);
            }
        }
    }

    /// Makes a task for the blocking pool.
    pub(crate) fn new_blocking<F>(
        &self,
        future: F,
        at: &'static Location<'static>,
        what: What,
    ) -> (Ready, JoinHandle<F::Output>)
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.make_blocking(future, Origin::unnamed(at), what)
    }

    /// As [`new_blocking`](Shared::new_blocking), with a name.
    pub(crate) fn new_named_blocking<F>(
        &self,
        future: F,
        name: &str,
        at: &'static Location<'static>,
        what: What,
    ) -> (Ready, JoinHandle<F::Output>)
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (future, origin) = self.count(future, name, at);
        self.make_blocking(future, origin, what)
    }

    fn make_blocking<F>(
        &self,
        future: F,
        origin: Origin,
        what: What,
    ) -> (Ready, JoinHandle<F::Output>)
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let id = task::Id::next();
        self.count_spawns(|| origin.label_of_unnamed(), 1);
        let origin = origin.in_span(what, id);
        let origin = match &self.blocking_hooks {
            None => origin,
            Some(hooks) => hooks.adopt(id, origin),
        };
        let door = self.scheduler.frame().place_blocking();
        // SAFETY: the bounds are what the pool's threads need; the door says that this thread owns the slab.
        unsafe { task::new(future, door.owner(), door.source(), id, origin) }
    }

    /// Spawns a future and runs it on this thread up to its first suspension.
    #[cfg(not(loom))]
    pub(crate) fn spawn_and_run<F>(
        &self,
        future: F,
        at: &'static Location<'static>,
    ) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let id = task::Id::next();
        let origin = self.adopt(id, Origin::unnamed(at), What::task::<F>());
        let place = self.scheduler.place_outside(1);
        // SAFETY: the bounds are what any thread needs; the place says that this thread owns the slab.
        let (task, handle) =
            unsafe { task::new(future, place.owner(), place.source(), id, origin) };
        place.run(task);
        handle
    }

    /// Returns whether this thread is a worker of this runtime or drives it.
    #[cfg(any(not(loom), feature = "driver"))]
    pub(crate) fn runs_here(&self) -> bool {
        self.scheduler.runs_here(self)
    }

    pub(crate) fn live_tasks(&self) -> Vec<TaskRef> {
        #[cfg_attr(
            any(loom, not(feature = "extra")),
            allow(unused_mut, reason = "nothing is added")
        )]
        let mut tasks = self.scheduler.live_tasks();
        #[cfg(all(feature = "extra", not(loom)))]
        tasks.extend(self.views.live_tasks());
        tasks
    }

    /// Returns where the workers sleep, and their I/O.
    pub(crate) fn rests(&self) -> impl Iterator<Item = &Rest> {
        (0..self.scheduler.workers()).map(|worker| &*self.scheduler.station(worker).rest)
    }

    #[inline]
    fn with_timers(&self, f: impl FnOnce(&Arc<Timers>) -> Armed) -> Armed {
        self.scheduler.with_timers(self, f)
    }
}

/// Marks this thread as one that drives futures; blocking it is a mistake from now on.
pub(crate) struct DrivingGuard {
    previous: Enter,
    rng: Option<u64>,
    _runtime: context::Within,
}

/// Enters a runtime to drive futures in it.
///
/// # Panics
/// If the thread already drives futures.
#[track_caller]
pub(crate) fn enter_driving(shared: &Arc<Shared>, allow_block_in_place: bool) -> DrivingGuard {
    let (previous, rng) = context::with(|cx| {
        let previous = cx.enter();
        if previous == Enter::No {
            cx.set_enter(Enter::Driving {
                allow_block_in_place,
            });
            cx.rng_seeded.set(true);
            (Some(previous), cx.rng.replace(shared.seeds.next_seed()))
        } else {
            (None, 0)
        }
    });
    let Some(previous) = previous else {
        panic!(
            "{} Otherwise move the call to `spawn_blocking` or `block_in_place`",
            words::NESTED
        );
    };
    DrivingGuard {
        previous,
        rng: Some(rng),
        _runtime: context::Within::enter(shared.clone()),
    }
}

impl Drop for DrivingGuard {
    fn drop(&mut self) {
        context::with(|cx| {
            cx.set_enter(self.previous);
            if let Some(seed) = self.rng.take() {
                cx.rng.replace(seed);
            }
        });
    }
}

/// Panics with `what` if this thread drives futures, and so may not be blocked.
#[track_caller]
pub(crate) fn check_blocking_allowed(what: &str) {
    let driving = context::with(|cx| cx.enter() != Enter::No);
    assert!(
        !driving,
        "{what}: {}; use the asynchronous variant, `spawn_blocking` or `block_in_place`",
        words::BLOCKING
    );
}

/// A runtime to arm timers in.
pub(crate) struct TimersHandle(Arc<Shared>);

impl TimersHandle {
    /// Returns the present time by that runtime's clock.
    pub(crate) fn now(&self) -> std::time::Instant {
        self.0.clock.now()
    }
}

/// Puts a future of `block_on` into a span of its own, if a subscriber wants one, and lets it take part in sight.
#[inline]
fn in_span<F: Future>(
    future: F,
    at: &'static Location<'static>,
) -> impl Future<Output = F::Output> {
    let next = || task::Id::next().get();
    spans::in_block_on(as_root(future, next, at), next, at)
}

#[cold]
#[track_caller]
pub(crate) fn no_runtime(what: &str) -> ! {
    panic!("{what}: {}{}", words::NO_RUNTIME, TryCurrentError::ADVICE)
}

#[cold]
#[track_caller]
fn no_time() -> ! {
    panic!("{}", words::NO_TIMERS)
}

#[cold]
pub(crate) fn panic_shut_down() -> ! {
    panic!(
        "{} A timer does not outlive the runtime it was first polled in",
        words::SHUT_DOWN
    )
}

/// Returns the runtime here. Panics unless there is one with timers.
#[track_caller]
#[inline]
pub(crate) fn check_time_is_enabled() -> Maker {
    match context::with_runtime(|shared| (shared.time_enabled, Maker::of(shared))) {
        Some((true, maker)) => maker,
        Some((false, _)) => no_time(),
        None => no_runtime("a timer"),
    }
}

/// Returns the runtime in which a timer was made, if this thread is in none.
#[inline]
pub(crate) fn timers_of_maker(maker: Maker) -> Option<TimersHandle> {
    match context::with_runtime(|_| ()) {
        Some(()) => None,
        None => Some(maker.find().unwrap_or_else(|| panic_shut_down())),
    }
}

/// Returns whether there is a runtime with timers here.
#[cfg(feature = "net")]
pub(crate) fn has_timers() -> bool {
    context::with_runtime(|shared| shared.time_enabled) == Some(true)
}

/// Returns a handle to keep to a thread that entered a runtime without driving it, since it may poll its futures after it
/// has left.
#[inline]
pub(crate) fn timers_to_keep() -> Option<TimersHandle> {
    if context::with(|cx| cx.enter() == Enter::No) {
        context::runtime().map(TimersHandle)
    } else {
        None
    }
}

pub(crate) fn with_timers(
    bound: Option<&TimersHandle>,
    f: impl FnOnce(&Arc<Timers>) -> Armed,
) -> Armed {
    match bound {
        Some(TimersHandle(shared)) => shared.with_timers(f),
        None => match context::with_runtime(|shared| {
            if !shared.time_enabled {
                no_time();
            }
            shared.with_timers(f)
        }) {
            Some(armed) => armed,
            None => no_runtime("polling a timer"),
        },
    }
}

/// Calls `f` with the timers of this thread's worker. Returns false if it has none.
pub(crate) fn with_own_timers(f: impl FnOnce(&Arc<Timers>) -> Armed) -> bool {
    let armed = Worker::here().and_then(|worker| {
        let timers = worker.timers()?;
        // The thread may have entered another runtime.
        let entered = context::with_runtime(|shared| std::ptr::eq(shared, worker.shared()));
        (entered == Some(true)).then(|| f(timers))
    });
    if armed == Some(Armed::Closed) {
        panic_shut_down();
    }
    armed.is_some()
}

/// Calls `f` with the current runtime's clock.
#[track_caller]
pub(crate) fn current_clock(f: impl FnOnce(&Clock)) {
    let found = context::runtime();
    match found {
        Some(shared) => f(&shared.clock),
        None => no_runtime("changing the clock"),
    }
}

/// Sees to it that the timers fire that a move of the clock has made due: the thread that drives the runtime looks at
/// them before it goes on with a task that yields.
pub(crate) fn clock_was_moved() {
    context::with_runtime(|shared| {
        if !shared.scheduler.runs_here(shared) {
            shared.scheduler.fire_timers(shared);
        }
    });
}

/// What becomes of a timer whose deadline has passed when it is first polled.
pub(crate) enum Late {
    /// It is ready at once.
    Ready,
    /// It is ready once the runtime has looked at its timers and I/O.
    GivesWay,
    /// It is ready once the runtime has looked at its timers, unless it has done so since the deadline.
    Waits,
}

/// Returns what becomes of a timer that is late by so much. On a current-thread runtime tasks that are ready go first,
/// as they do in Tokio, whose tests sleep for no time in order to let others run.
pub(crate) fn how_late(bound: Option<&TimersHandle>, by: Duration) -> Late {
    let clock = |shared: &Shared| match &shared.scheduler {
        Scheduler::Multi(_) => Late::Ready,
        Scheduler::Current(_) if shared.clock.is_paused() => Late::Waits,
        // Tokio counts in milliseconds, and has looked since.
        Scheduler::Current(_) if by >= Duration::from_millis(1) => Late::Ready,
        Scheduler::Current(_) => Late::GivesWay,
    };
    match bound {
        Some(TimersHandle(shared)) => clock(shared),
        None => context::with_runtime(|shared| clock(shared)).unwrap_or(Late::Ready),
    }
}

pub(crate) fn count_forced_yield() {
    context::with_runtime(|shared| shared.forced_yields.add_shared(1));
}

/// Returns whether this is the error of I/O whose runtime has shut down.
///
/// # Examples
/// ```
/// # #[cfg(feature = "net")] {
/// use tress::net::TcpListener;
/// use tress::runtime::{Runtime, is_shutdown_error};
///
/// let first = Runtime::new()?;
/// let listener = first.block_on(TcpListener::bind("127.0.0.1:0"))?;
/// drop(first);
/// let error = Runtime::new()?.block_on(listener.accept()).unwrap_err();
/// assert!(is_shutdown_error(&error));
/// # }
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn is_shutdown_error(error: &std::io::Error) -> bool {
    #[cfg(feature = "driver")]
    if tress_driver::Gone::is_in(error) {
        return true;
    }
    let pool = error.get_ref().and_then(|inner| inner.downcast_ref());
    matches!(pool, Some(SpawnBlockingError::ShutDown))
}

/// Returns the index of the worker that runs the caller, if one does: below the number of workers of the current
/// multi-thread runtime, 0 on a current-thread runtime.
///
/// # Examples
/// ```
/// let rt = tress::runtime::Runtime::new()?;
/// rt.block_on(async {
///     assert_eq!(tress::runtime::worker_index(), None); // `block_on` runs beside the workers
///     let index = tress::spawn(async { tress::runtime::worker_index() }).await.unwrap();
///     assert!(index.is_some());
/// });
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn worker_index() -> Option<usize> {
    if context::with(|cx| !cx.driving.get().is_null()) {
        return Some(0);
    }
    Some(Worker::here()?.core()?.index())
}
