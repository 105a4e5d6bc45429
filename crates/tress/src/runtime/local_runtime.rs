use super::handle::{EnterGuard, Handle};
use super::metrics::RuntimeMetrics;
use super::shutdown::{self, ShutdownReport};
use super::{Builder, Shared, enter_driving, in_span};
use crate::spans::What;
use crate::task::{JoinHandle, Origin};
use crate::words;
use std::fmt;
use std::future::Future;
use std::io;
use std::marker::PhantomData;
use std::panic::Location;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

/// A current-thread runtime that stays on the thread that built it, so that its tasks need not be
/// `Send`.
///
/// On it [`spawn_local`](crate::task::spawn_local()) works without a
/// [`LocalSet`](crate::task::LocalSet). Its [`Handle`] may go to other threads, which can spawn tasks
/// that are `Send`. Dropping it shuts it down, as for a [`Runtime`](super::Runtime).
///
/// # Examples
/// ```
/// use std::rc::Rc;
/// use tress::runtime::LocalRuntime;
///
/// let rt = LocalRuntime::new()?;
/// let word = Rc::new("not Send");
/// let len = rt.block_on(async move {
///     tress::task::spawn_local(async move { word.len() }).await.unwrap()
/// });
/// assert_eq!(len, 8);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// It cannot leave its thread:
///
/// ```compile_fail,E0277
/// let rt = tress::runtime::LocalRuntime::new().unwrap();
/// std::thread::spawn(move || drop(rt));
/// ```
#[derive(Debug)]
pub struct LocalRuntime {
    handle: Handle,
    _not_send: PhantomData<*const ()>,
}

impl std::panic::UnwindSafe for LocalRuntime {}
impl std::panic::RefUnwindSafe for LocalRuntime {}

/// Options of a [`LocalRuntime`]. There are none yet.
///
/// # Examples
/// ```
/// use tress::runtime::{Builder, LocalOptions};
///
/// let rt = Builder::new_current_thread().build_local(LocalOptions::default())?;
/// # drop(rt);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Default)]
#[non_exhaustive]
pub struct LocalOptions {
    /// They stay on their thread, so that callbacks among them need not be `Send`.
    _not_send: PhantomData<*const ()>,
}

impl fmt::Debug for LocalOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalOptions").finish_non_exhaustive()
    }
}

impl LocalRuntime {
    /// Creates a runtime for the current thread, with timers and I/O.
    ///
    /// # Errors
    /// Returns the errors of [`Runtime::new`](super::Runtime::new).
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::LocalRuntime::new()?;
    /// assert_eq!(rt.block_on(async { 3 }), 3);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn new() -> io::Result<LocalRuntime> {
        Builder::new_current_thread()
            .enable_all()
            .build_local(LocalOptions::default())
    }

    /// Wraps a runtime. The caller is on the thread that `shared` names as its home.
    pub(super) fn from_shared(shared: Arc<Shared>) -> LocalRuntime {
        LocalRuntime {
            handle: Handle { shared },
            _not_send: PhantomData,
        }
    }

    /// Returns a handle to the runtime.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::LocalRuntime::new()?;
    /// let handle = rt.handle().clone();
    /// let elsewhere = std::thread::spawn(move || handle.spawn(async { "run at home" }));
    /// let task = elsewhere.join().unwrap();
    /// assert_eq!(rt.block_on(task).unwrap(), "run at home");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Spawns a task on the runtime, which runs while the thread is in [`block_on`](LocalRuntime::block_on).
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::LocalRuntime::new()?;
    /// let word = std::rc::Rc::new("here");
    /// let task = rt.spawn_local(async move { word.len() });
    /// assert_eq!(rt.block_on(task).unwrap(), 4);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        spawn(&self.handle.shared, future, Location::caller())
    }

    /// Runs a closure that blocks, on a thread of the runtime's blocking pool.
    ///
    /// Does the same as [`Handle::spawn_blocking`].
    ///
    /// # Panics
    /// Panics where [`spawn_blocking`](crate::task::spawn_blocking) does.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::LocalRuntime::new()?;
    /// let task = rt.spawn_blocking(|| 5);
    /// assert_eq!(rt.block_on(task).unwrap(), 5);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, f: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.handle.shared.spawn_blocking(f)
    }

    /// Runs a future to completion on the current thread, and the runtime's tasks meanwhile.
    ///
    /// # Panics
    /// Panics if the current thread already drives asynchronous tasks, or if the future panics.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::LocalRuntime::new()?;
    /// assert_eq!(rt.block_on(async { tress::spawn(async { 3 }).await.unwrap() }), 3);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let shared = &self.handle.shared;
        let future = pin!(in_span(future, Location::caller()));
        let _entered = enter_driving(shared, false);
        shared.current().block_on(shared, future)
    }

    /// Enters the context of the runtime on the current thread, until the returned guard is dropped.
    ///
    /// Does the same as [`Handle::enter`].
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::LocalRuntime::new()?;
    /// let task = {
    ///     let _guard = rt.enter();
    ///     tress::task::spawn_local(async { 3 })
    /// };
    /// assert_eq!(rt.block_on(task).unwrap(), 3);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn enter(&self) -> EnterGuard<'_> {
        self.handle.enter()
    }

    /// Returns a view of what the runtime has done so far.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::LocalRuntime::new()?;
    /// assert_eq!(rt.metrics().num_workers(), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn metrics(&self) -> RuntimeMetrics {
        self.handle.metrics()
    }

    /// Shuts the runtime down, waiting at most `timeout` for blocking closures.
    ///
    /// See [`Runtime::shutdown_timeout`](super::Runtime::shutdown_timeout) for the order.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::LocalRuntime::new()?;
    /// rt.spawn_local(std::future::pending::<()>());
    /// assert!(rt.shutdown_timeout(std::time::Duration::from_secs(1)).is_clean());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn shutdown_timeout(self, timeout: Duration) -> ShutdownReport {
        shutdown::run(&self.handle.shared, Some(timeout))
    }

    /// Shuts the runtime down without waiting for blocking closures.
    ///
    /// Unlike dropping a runtime, this is possible in asynchronous code.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::LocalRuntime::new()?;
    /// rt.shutdown_background();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn shutdown_background(self) {
        self.shutdown_timeout(Duration::ZERO);
    }
}

impl Drop for LocalRuntime {
    fn drop(&mut self) {
        shutdown::on_drop(&self.handle.shared);
    }
}

/// Spawns a task that is not `Send`, if the runtime is a local one of this thread.
#[track_caller]
pub(crate) fn spawn<F>(
    shared: &Shared,
    future: F,
    at: &'static Location<'static>,
) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    check_home(shared);
    // SAFETY: only a `LocalRuntime`, which has not left this thread, drives this runtime's tasks and, when it is shut
    // down, drops them. So the future stays here. The bounds make it and its output `'static`; the handle of an output
    // that is not `Send` is not `Send` either.
    unsafe { shared.submit(future, Origin::unnamed(at), What::task::<F>()) }
}

/// As [`spawn`], with a name.
#[track_caller]
pub(crate) fn spawn_named<F>(
    shared: &Shared,
    future: F,
    name: &str,
    at: &'static Location<'static>,
) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    check_home(shared);
    let (future, origin) = shared.count(future, name, at);
    // SAFETY: as in `spawn`.
    unsafe { shared.submit(future, origin, What::task::<F>()) }
}

/// Panics unless the runtime is a local one of this thread.
#[track_caller]
fn check_home(shared: &Shared) {
    match shared.home {
        Some(home) if home.is_here() => {}
        Some(_) => panic!(
            "{}; from this one use `Handle::spawn`, which needs a future that is `Send`",
            words::OTHER_THREAD
        ),
        None => nowhere_to_spawn(),
    }
}

#[cold]
#[track_caller]
pub(crate) fn nowhere_to_spawn() -> ! {
    panic!(
        "{}: call it from inside `LocalSet::run_until`, a task spawned that way, or \
         `LocalRuntime::block_on`",
        words::NOT_LOCAL
    )
}
