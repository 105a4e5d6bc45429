//! Tasks that stay on one thread.

#[cfg(all(test, loom))]
mod model;
mod remote;
mod set;

pub(crate) use set::Set;

use super::join::JoinHandle;
use crate::context;
use crate::runtime::{self, Runtime, UnhandledPanic, local_runtime};
use pin_project_lite::pin_project;
use set::{InContext, entered};
use std::fmt;
use std::future::Future;
use std::marker::{PhantomData, PhantomPinned};
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The number of the driver that a `LocalSet` itself is; those of others are addresses.
const THE_SET: usize = 0;

/// A set of tasks that run on the thread that made it, and therefore need not be `Send`.
///
/// Its tasks run while one of its futures is polled: the one of [`run_until`](LocalSet::run_until),
/// or the set itself, which is ready when all tasks are. They take turns, first come, first
/// served, 61 in one poll at most. Timers, sockets, [`spawn`](crate::spawn()) and
/// [`spawn_blocking`](super::spawn_blocking) use the runtime that polls the set;
/// [`block_in_place`](super::block_in_place) is not possible, since no other thread could take
/// over. A coroutine that polls the set cannot suspend inside of what it runs: use `.await` there.
///
/// Dropping the set drops its tasks, on this thread: in the order in which they were spawned,
/// those that are woken meanwhile last. Their handles report a cancellation. Wakers and handles of
/// its tasks may be used anywhere, also after that.
///
/// # Examples
/// ```
/// use std::rc::Rc;
/// use tress::task::{LocalSet, spawn_local};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let counter = Rc::new(std::cell::Cell::new(0));
/// let local = LocalSet::new();
/// local
///     .run_until(async {
///         let tasks: Vec<_> = (0..10)
///             .map(|_| {
///                 let counter = counter.clone();
///                 spawn_local(async move { counter.set(counter.get() + 1) })
///             })
///             .collect();
///         for task in tasks {
///             task.await.unwrap();
///         }
///     })
///     .await;
/// assert_eq!(counter.get(), 10);
/// # });
/// ```
///
/// It cannot leave its thread:
///
/// ```compile_fail,E0277
/// let local = tress::task::LocalSet::new();
/// std::thread::spawn(move || drop(local));
/// ```
pub struct LocalSet {
    set: Arc<Set>,
    id: runtime::Id,
    _not_send: PhantomData<*const ()>,
}

impl LocalSet {
    /// Creates an empty set for the current thread.
    ///
    /// # Examples
    /// ```
    /// let local = tress::task::LocalSet::new();
    /// local.spawn_local(async {}); // runs as soon as the set is driven
    /// ```
    pub fn new() -> LocalSet {
        LocalSet {
            set: Set::new(),
            id: runtime::Id::next(),
            _not_send: PhantomData,
        }
    }

    /// Returns the id of the set, which no other set and no runtime has.
    ///
    /// # Examples
    /// ```
    /// use tress::task::LocalSet;
    /// assert_ne!(LocalSet::new().id(), LocalSet::new().id());
    /// ```
    pub fn id(&self) -> runtime::Id {
        self.id
    }

    /// Enters the context of the set on the current thread, until the returned guard is dropped.
    ///
    /// Meanwhile [`spawn_local`](spawn_local()) spawns into this set.
    ///
    /// # Examples
    /// ```
    /// use tress::task::{LocalSet, spawn_local};
    ///
    /// let local = LocalSet::new();
    /// let task = {
    ///     let _guard = local.enter();
    ///     spawn_local(async { "not even in a runtime yet" })
    /// };
    /// let rt = tress::runtime::Runtime::new()?;
    /// assert!(local.block_on(&rt, task).is_ok());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn enter(&self) -> LocalEnterGuard {
        LocalEnterGuard {
            _context: InContext::new(&self.set),
        }
    }

    /// Spawns a task into the set, which runs when the set is driven.
    ///
    /// # Examples
    /// ```
    /// use std::rc::Rc;
    /// use tress::task::LocalSet;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let local = LocalSet::new();
    /// let word = Rc::new("here");
    /// let task = local.spawn_local(async move { word.len() });
    /// assert_eq!(local.run_until(task).await.unwrap(), 4);
    /// # });
    /// ```
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        self.set.spawn(future, None, Location::caller())
    }

    /// Spawns a named task into the set.
    pub(super) fn spawn_named<F>(
        &self,
        future: F,
        name: Option<&str>,
        at: &'static Location<'static>,
    ) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        self.set.spawn(future, name, at)
    }

    /// Sets what a panic of one of the set's tasks does besides going to the task's handle.
    ///
    /// With [`ShutdownRuntime`](UnhandledPanic::ShutdownRuntime) it ends the set: the future that drives the set drops
    /// all tasks and panics, and so does every later one. Tasks that are spawned after that are cancelled at once. The
    /// runtime goes on. Default: [`Ignore`](UnhandledPanic::Ignore).
    ///
    /// ```
    /// use std::panic::{AssertUnwindSafe, catch_unwind};
    /// use tress::runtime::{Runtime, UnhandledPanic};
    /// use tress::task::LocalSet;
    ///
    /// let rt = Runtime::new()?;
    /// let mut local = LocalSet::new();
    /// local.unhandled_panic(UnhandledPanic::ShutdownRuntime);
    /// local.spawn_local(async { panic!("a bug") });
    /// let ended = catch_unwind(AssertUnwindSafe(|| local.block_on(&rt, std::future::pending::<()>())));
    /// assert!(ended.is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn unhandled_panic(&mut self, behavior: UnhandledPanic) -> &mut LocalSet {
        self.set
            .end_on_panic(matches!(behavior, UnhandledPanic::ShutdownRuntime));
        self
    }

    /// Runs a future to completion on a runtime, and the tasks of the set meanwhile.
    ///
    /// Tasks that are left when it is ready stay in the set.
    ///
    /// # Panics
    /// Panics if the current thread drives asynchronous tasks already, or if `future` panics. A panic of one
    /// of the tasks is returned by its handle.
    ///
    /// # Examples
    /// ```
    /// use tress::task::{LocalSet, spawn_local};
    ///
    /// let rt = tress::runtime::Runtime::new()?;
    /// let local = LocalSet::new();
    /// let sum = local.block_on(&rt, async {
    ///     spawn_local(async { 1 }).await.unwrap() + spawn_local(async { 2 }).await.unwrap()
    /// });
    /// assert_eq!(sum, 3);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn block_on<F: Future>(&self, rt: &Runtime, future: F) -> F::Output {
        rt.block_on(self.run_until(future))
    }

    /// Runs `future` in the context of the set, and the tasks of the set along with it.
    ///
    /// It is ready when `future` is, whatever the tasks do; those that are left run the next time
    /// the set is driven.
    ///
    /// # Cancel safety
    /// The returned future is as cancel safe as `future` is. The tasks stay in the set and lose nothing.
    ///
    /// # Examples
    /// ```
    /// use tress::task::{LocalSet, spawn_local};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let local = LocalSet::new();
    /// local.run_until(async { spawn_local(async { 7 }).await.unwrap() }).await;
    /// local.await; // whatever is left
    /// # });
    /// ```
    pub fn run_until<F: Future>(&self, future: F) -> RunUntil<'_, F> {
        RunUntil {
            local: self,
            drives: false,
            body: future,
            _pinned: PhantomPinned,
        }
    }
}

impl Default for LocalSet {
    fn default() -> LocalSet {
        LocalSet::new()
    }
}

impl fmt::Debug for LocalSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalSet")
            .field("tasks", &self.set.alive())
            .finish_non_exhaustive()
    }
}

/// Waits until all tasks of the set are finished, and runs them meanwhile.
///
/// # Cancel safety
/// Awaiting `&mut local` is cancel safe: the tasks are in the set, not in the future that awaits it, and
/// go on when the set is driven again.
impl Future for LocalSet {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        entered(&self.set, || self.set.tick());
        if self.set.alive() == 0 {
            self.set.leave(THE_SET);
            return Poll::Ready(());
        }
        self.set.wait(THE_SET, cx.waker());
        Poll::Pending
    }
}

impl Drop for LocalSet {
    fn drop(&mut self) {
        self.set.close();
    }
}

pin_project! {
    /// A future that runs another one and the tasks of a set; returned by [`LocalSet::run_until`].
    ///
    /// # Examples
    /// ```
    /// use tress::task::{LocalSet, RunUntil};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let local = LocalSet::new();
    /// let future: RunUntil<'_, _> = local.run_until(async { 7 });
    /// assert_eq!(future.await, 7);
    /// # });
    /// ```
    #[must_use = "futures do nothing unless awaited"]
    pub struct RunUntil<'a, F> {
        local: &'a LocalSet,
        // It has been polled and may have left its waker with the set. The address is its number
        // among the set's drivers.
        drives: bool,
        #[pin]
        body: F,
        #[pin]
        _pinned: PhantomPinned,
    }

    impl<F> PinnedDrop for RunUntil<'_, F> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            if *this.drives {
                this.local.set.leave(number(this.drives));
            }
        }
    }
}

/// A driver's number; the same as long as it lives, once it is pinned.
///
/// Of a field: a reference to the whole would be one to the body too, which may refer to itself.
fn number(drives: &bool) -> usize {
    std::ptr::from_ref(drives).addr()
}

impl<F: Future> Future for RunUntil<'_, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let set = &this.local.set;
        *this.drives = true;
        let number = number(this.drives);
        let polled = entered(set, || {
            // First the body, so that the tasks it spawns or wakes run in the same poll.
            let polled = this.body.poll(cx);
            if polled.is_pending() {
                set.tick();
            }
            polled
        });
        match polled {
            Poll::Ready(_) => set.leave(number),
            Poll::Pending => set.wait(number, cx.waker()),
        }
        polled
    }
}

impl<F> fmt::Debug for RunUntil<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunUntil")
            .field("local", self.local)
            .finish_non_exhaustive()
    }
}

/// A guard of the context of a [`LocalSet`], which is left when it is dropped; returned by
/// [`LocalSet::enter`].
///
/// Guards are to be dropped in the reverse order of their creation: each restores the context it
/// found.
///
/// # Examples
/// ```
/// use tress::task::{LocalEnterGuard, LocalSet, spawn_local};
///
/// let local = LocalSet::new();
/// let guard: LocalEnterGuard = local.enter();
/// spawn_local(async {});
/// drop(guard);
/// ```
pub struct LocalEnterGuard {
    _context: InContext,
}

impl fmt::Debug for LocalEnterGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalEnterGuard").finish_non_exhaustive()
    }
}

/// Spawns a task that stays on this thread, into the current [`LocalSet`] or onto the current
/// [`LocalRuntime`](crate::runtime::LocalRuntime).
///
/// A set goes first where there are both. Inside of a set, plain [`spawn`](crate::spawn()) leaves
/// it: that task runs on the runtime.
///
/// # Panics
/// Panics if there is neither, as in a plain thread or in a task of a `Runtime`, and if the current
/// runtime is a `LocalRuntime` of another thread.
///
/// # Examples
/// ```
/// use std::rc::Rc;
/// use tress::task::{LocalSet, spawn_local};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let word = Rc::new("not Send");
/// LocalSet::new()
///     .run_until(async move {
///         let task = spawn_local(async move { word.len() });
///         assert_eq!(task.await.unwrap(), 8);
///     })
///     .await;
/// # });
/// ```
#[track_caller]
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let at = Location::caller();
    match Set::current() {
        Some(set) => set.spawn(future, None, at),
        None => local_runtime::spawn(&runtime_here(), future, at),
    }
}

/// As `spawn_local`, perhaps with a name.
#[track_caller]
pub(super) fn spawn_named<F>(
    future: F,
    name: Option<&str>,
    at: &'static Location<'static>,
) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    match (Set::current(), name) {
        (Some(set), name) => set.spawn(future, name, at),
        (None, Some(name)) => local_runtime::spawn_named(&runtime_here(), future, name, at),
        (None, None) => local_runtime::spawn(&runtime_here(), future, at),
    }
}

/// Returns the current runtime.
#[track_caller]
fn runtime_here() -> Arc<runtime::Shared> {
    match context::runtime() {
        Some(shared) => shared,
        // Not in a closure, which would be blamed instead of the caller.
        None => local_runtime::nowhere_to_spawn(),
    }
}
