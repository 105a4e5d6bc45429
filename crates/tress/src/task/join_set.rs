//! Groups of tasks whose results are collected as they come.
//!
//! See [`JoinSet`]. A result costs the same whether there are ten tasks in the set or ten thousand.

// Every task of a set has a waker of its own, which knows the task's place and, when the task is complete, puts that
// onto the set's list of finished ones and wakes the task that waits for the set.

mod builder;
mod finished;

pub use builder::Builder;

use super::abort::AbortHandle;
use super::coop;
use super::error::JoinError;
use super::join::JoinHandle;
use super::local_set::LocalSet;
use crate::identity::{Id, order};
use crate::runtime::Handle;
use crate::sight::{self, WaitKind};
use crate::sys::plain;
use finished::{Entry, Finished};
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

/// A set of tasks, whose results are returned in the order in which the tasks finish.
///
/// All have the same output type. Dropping the set aborts those that are left.
///
/// # Examples
/// ```
/// use tress::task::JoinSet;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mut set = JoinSet::new();
/// for i in 0..10 {
///     set.spawn(async move { i });
/// }
/// let mut sum = 0;
/// while let Some(result) = set.join_next().await {
///     sum += result.unwrap();
/// }
/// assert_eq!(sum, 45);
/// # });
/// ```
pub struct JoinSet<T> {
    slots: Vec<Slot<T>>,
    /// The first vacant slot, or the number of slots.
    vacant: usize,
    len: usize,
    finished: Arc<Finished>,
}

/// How many places are looked at for tasks to name as those that are waited for.
const NAMED_PLACES: usize = 16;

enum Slot<T> {
    /// The next vacant one.
    Vacant(usize),
    Task(JoinHandle<T>),
    /// The task was complete before its waker could be left. Behind a lock, which is never
    /// contended, because an output need not be `Sync`; boxed because it is rare.
    Output(Id, Box<plain::Mutex<Result<T, JoinError>>>),
}

type Joined<T> = (Id, Result<T, JoinError>);

impl<T> JoinSet<T> {
    /// Creates an empty set.
    ///
    /// # Examples
    /// ```
    /// let set = tress::task::JoinSet::<u32>::new();
    /// assert!(set.is_empty());
    /// ```
    pub fn new() -> JoinSet<T> {
        JoinSet {
            slots: Vec::new(),
            vacant: 0,
            len: 0,
            finished: Arc::new(Finished::new()),
        }
    }

    /// Returns the number of tasks in the set: those that run, and those that have finished but have not been
    /// joined.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut set = tress::task::JoinSet::new();
    /// set.spawn(async {});
    /// assert_eq!(set.len(), 1);
    /// # });
    /// ```
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there is no task in the set.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut set = tress::task::JoinSet::new();
    /// set.spawn(async {});
    /// assert!(!set.is_empty());
    /// # });
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<T: 'static> JoinSet<T> {
    /// Returns a builder for a task with options, such as a name.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut set = tress::task::JoinSet::new();
    /// set.build_task().name("adder").spawn(async { 1 + 1 })?;
    /// assert_eq!(set.join_next().await.unwrap().unwrap(), 2);
    /// # Ok::<(), std::io::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn build_task(&mut self) -> Builder<'_, T> {
        Builder {
            set: self,
            name: None,
        }
    }

    /// Spawns a task on the current runtime.
    ///
    /// Does the same as [`spawn`](super::spawn()), and keeps the task's handle in the set.
    ///
    /// # Panics
    /// Panics if called outside of a runtime.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut set = tress::task::JoinSet::new();
    /// let abort = set.spawn(std::future::pending::<()>());
    /// abort.abort();
    /// assert!(set.join_next().await.unwrap().unwrap_err().is_cancelled());
    /// # });
    /// ```
    #[track_caller]
    pub fn spawn<F>(&mut self, task: F) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        self.insert(super::spawn(task))
    }

    /// Spawns a task with a name, which appears in shutdown reports, dumps and traces.
    ///
    /// # Panics
    /// Panics if called outside of a runtime.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut set = tress::task::JoinSet::new();
    /// for name in ["reader", "writer"] {
    ///     set.spawn_named(name, async move { name.len() });
    /// }
    /// assert_eq!(set.join_all().await, [6, 6]);
    /// # });
    /// ```
    #[track_caller]
    pub fn spawn_named<F>(&mut self, name: &str, task: F) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        let shared = Handle::current().shared;
        self.insert(shared.spawn_named(task, Some(name), Location::caller()))
    }

    /// Spawns a task on the given runtime.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Runtime::new()?;
    /// let mut set = tress::task::JoinSet::new();
    /// set.spawn_on(async { 5 }, rt.handle());
    /// assert_eq!(rt.block_on(set.join_next()).unwrap().unwrap(), 5);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_on<F>(&mut self, task: F, handle: &Handle) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        self.insert(handle.spawn(task))
    }

    /// Spawns a task that stays on the current thread.
    ///
    /// Does the same as [`spawn_local`](super::spawn_local()), and keeps the task's handle in the set.
    ///
    /// # Panics
    /// Panics if called outside of a [`LocalSet`] and of a [`LocalRuntime`](crate::runtime::LocalRuntime).
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::LocalRuntime::new().unwrap().block_on(async {
    /// let mut set = tress::task::JoinSet::new();
    /// let word = std::rc::Rc::new("here");
    /// set.spawn_local(async move { word.len() });
    /// assert_eq!(set.join_next().await.unwrap().unwrap(), 4);
    /// # });
    /// ```
    #[track_caller]
    pub fn spawn_local<F>(&mut self, task: F) -> AbortHandle
    where
        F: Future<Output = T> + 'static,
    {
        self.insert(super::spawn_local(task))
    }

    /// Spawns a task into a [`LocalSet`].
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let local = tress::task::LocalSet::new();
    /// let mut set = tress::task::JoinSet::new();
    /// let word = std::rc::Rc::new("here");
    /// set.spawn_local_on(async move { word.len() }, &local);
    /// assert_eq!(local.run_until(set.join_next()).await.unwrap().unwrap(), 4);
    /// # });
    /// ```
    #[track_caller]
    pub fn spawn_local_on<F>(&mut self, task: F, local_set: &LocalSet) -> AbortHandle
    where
        F: Future<Output = T> + 'static,
    {
        self.insert(local_set.spawn_local(task))
    }

    /// Runs a closure on the blocking pool of the current runtime.
    ///
    /// Does the same as [`spawn_blocking`](super::spawn_blocking), and keeps the handle in the set. A closure
    /// that has started cannot be aborted.
    ///
    /// # Panics
    /// Panics where [`spawn_blocking`](super::spawn_blocking) does.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut set = tress::task::JoinSet::new();
    /// for file in ["Cargo.toml", "README.md"] {
    ///     set.spawn_blocking(move || std::fs::metadata(file).map(|meta| meta.len()).unwrap_or(0));
    /// }
    /// assert_eq!(set.join_all().await.len(), 2);
    /// # });
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F>(&mut self, f: F) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        self.insert(super::spawn_blocking(f))
    }

    /// Runs a closure on the blocking pool of the given runtime.
    ///
    /// # Panics
    /// Panics where [`Handle::spawn_blocking`] does.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Runtime::new()?;
    /// let mut set = tress::task::JoinSet::new();
    /// set.spawn_blocking_on(|| 5, rt.handle());
    /// assert_eq!(rt.block_on(set.join_next()).unwrap().unwrap(), 5);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_blocking_on<F>(&mut self, f: F, handle: &Handle) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        self.insert(handle.spawn_blocking(f))
    }

    fn insert(&mut self, mut task: JoinHandle<T>) -> AbortHandle {
        let abort = task.abort_handle();
        let place = self.vacant;
        let waker = Waker::from(Arc::new(Entry {
            place,
            finished: self.finished.clone(),
        }));
        let slot = match poll_now(&mut task, &waker) {
            Poll::Pending => {
                // The set asks for it, not the running task.
                sight::gives_up(WaitKind::Join, task.id().get());
                Slot::Task(task)
            }
            Poll::Ready(output) => {
                self.finished.push(place);
                Slot::Output(task.id(), Box::new(plain::Mutex::new(output)))
            }
        };
        match self.slots.get_mut(place) {
            Some(vacant) => {
                let Slot::Vacant(next) = std::mem::replace(vacant, slot) else {
                    unreachable!("it was vacant");
                };
                self.vacant = next;
            }
            None => {
                self.slots.push(slot);
                self.vacant = self.slots.len();
            }
        }
        self.len += 1;
        abort
    }

    /// The result of the task at `place`, if it is finished.
    fn take(&mut self, place: usize) -> Option<Joined<T>> {
        let slot = self.slots.get_mut(place)?;
        if let Slot::Vacant(_) = slot {
            return None;
        }
        if let Slot::Task(task) = slot {
            if !task.is_finished() {
                return None;
            }
        }
        let taken = match std::mem::replace(slot, Slot::Vacant(self.vacant)) {
            Slot::Output(id, output) => (id, output.into_inner()),
            Slot::Task(mut task) => match poll_now(&mut task, Waker::noop()) {
                Poll::Ready(output) => (task.id(), output),
                Poll::Pending => unreachable!("a finished task has a result"),
            },
            Slot::Vacant(_) => unreachable!("seen above"),
        };
        self.vacant = place;
        self.len -= 1;
        Some(taken)
    }

    /// Waits until one of the tasks finishes, removes it from the set and returns its result.
    ///
    /// Returns `None` if the set is empty.
    ///
    /// # Cancel safety
    /// This method is cancel safe: a task is removed from the set only together with its result.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut set = tress::task::JoinSet::new();
    /// set.spawn(async { "one" });
    /// assert_eq!(set.join_next().await.unwrap().unwrap(), "one");
    /// assert!(set.join_next().await.is_none());
    /// # });
    /// ```
    pub async fn join_next(&mut self) -> Option<Result<T, JoinError>> {
        poll_fn(|cx| self.poll_join_next(cx)).await
    }

    /// Waits until one of the tasks finishes, removes it from the set and returns its id and its output.
    ///
    /// Returns `None` if the set is empty. The id of a task that failed is in the error. See also
    /// [`join_next`](JoinSet::join_next).
    ///
    /// # Cancel safety
    /// This method is cancel safe, as [`join_next`](JoinSet::join_next) is.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut set = tress::task::JoinSet::new();
    /// let id = set.spawn(async { "one" }).id();
    /// assert_eq!(set.join_next_with_id().await.unwrap().unwrap(), (id, "one"));
    /// # });
    /// ```
    pub async fn join_next_with_id(&mut self) -> Option<Result<(Id, T), JoinError>> {
        poll_fn(|cx| self.poll_join_next_with_id(cx)).await
    }

    /// Removes a finished task from the set and returns its result.
    ///
    /// Returns `None` if no task has finished, or if the set is empty.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut set = tress::task::JoinSet::new();
    /// set.spawn(std::future::pending::<()>());
    /// assert!(set.try_join_next().is_none());
    /// # });
    /// ```
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        self.try_take().map(|(_, output)| output)
    }

    /// Removes a finished task from the set and returns its id and its output.
    ///
    /// Returns `None` if no task has finished, or if the set is empty. The id of a task that failed is in the
    /// error. See also [`try_join_next`](JoinSet::try_join_next).
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut set = tress::task::JoinSet::new();
    /// let task = set.spawn(async { "one" });
    /// while !task.is_finished() {
    ///     tress::task::yield_now().await;
    /// }
    /// if let Some(joined) = set.try_join_next_with_id() {
    ///     assert_eq!(joined.unwrap(), (task.id(), "one"));
    /// }
    /// # });
    /// ```
    pub fn try_join_next_with_id(&mut self) -> Option<Result<(Id, T), JoinError>> {
        self.try_take().map(with_id)
    }

    fn try_take(&mut self) -> Option<Joined<T>> {
        loop {
            let place = self.finished.pop()?;
            if let Some(taken) = self.take(place) {
                return Some(taken);
            }
        }
    }

    /// Aborts all tasks and waits until they are gone.
    ///
    /// The set is empty afterwards.
    ///
    /// A blocking closure that has started runs to its end, and this waits for it.
    ///
    /// # Cancel safety
    /// If the future is dropped after its first poll, all tasks have been aborted, but some may still be in
    /// the set.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut set = tress::task::JoinSet::new();
    /// set.spawn(std::future::pending::<()>());
    /// set.shutdown().await;
    /// assert!(set.is_empty());
    /// # });
    /// ```
    pub async fn shutdown(&mut self) {
        self.abort_all();
        while self.join_next().await.is_some() {}
    }

    /// Waits until all tasks finish, and returns their outputs in the order in which they finished.
    ///
    /// # Panics
    /// Panics if one of the tasks panicked, with its payload, or was aborted. The other tasks are aborted
    /// then.
    ///
    /// # Cancel safety
    /// This method is not cancel safe. The future owns the set: dropping it aborts the tasks that are left,
    /// and drops the outputs that have come.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let set: tress::task::JoinSet<i32> = (0..3).map(|i| async move { i }).collect();
    /// let mut outputs = set.join_all().await;
    /// outputs.sort();
    /// assert_eq!(outputs, [0, 1, 2]);
    /// # });
    /// ```
    pub async fn join_all(mut self) -> Vec<T> {
        let mut outputs = Vec::with_capacity(self.len());
        while let Some(result) = self.join_next().await {
            match result.map_err(JoinError::try_into_panic) {
                Ok(output) => outputs.push(output),
                Err(Ok(payload)) => std::panic::resume_unwind(payload),
                Err(Err(cancelled)) => panic!("{cancelled}"),
            }
        }
        outputs
    }

    /// Aborts all tasks.
    ///
    /// They stay in the set until they are joined: as cancelled, or with their output if they finished first.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut set = tress::task::JoinSet::new();
    /// set.spawn(std::future::pending::<()>());
    /// set.abort_all();
    /// assert!(set.join_next().await.unwrap().unwrap_err().is_cancelled());
    /// # });
    /// ```
    pub fn abort_all(&mut self) {
        abort_in_order(&self.slots);
    }

    /// Removes all tasks from the set without aborting them.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut set = tress::task::JoinSet::new();
    /// set.spawn(async {});
    /// set.detach_all();
    /// assert!(set.is_empty());
    /// # });
    /// ```
    pub fn detach_all(&mut self) {
        let slots = std::mem::take(&mut self.slots);
        self.vacant = 0;
        self.len = 0;
        drop(slots);
        // A task that is completing right now may still add its place, which is then looked at in
        // vain.
        self.finished.clear();
    }

    /// Polls for a task that has finished, and removes it from the set.
    ///
    /// - `Ready(None)`: the set is empty.
    /// - `Ready(Some(result))`: a task's result.
    /// - `Pending`: none is finished, or the poll's budget is used up; the waker will be woken. Only
    ///   the one of the last poll is.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// use std::future::poll_fn;
    ///
    /// let mut set = tress::task::JoinSet::new();
    /// set.spawn(async { 5 });
    /// let result = poll_fn(|cx| set.poll_join_next(cx)).await;
    /// assert_eq!(result.unwrap().unwrap(), 5);
    /// # });
    /// ```
    pub fn poll_join_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, JoinError>>> {
        let taken = ready!(self.poll_take(cx));
        Poll::Ready(taken.map(|(_, output)| output))
    }

    /// Polls for a task that has finished, removes it from the set and returns its id and its output.
    ///
    /// The id of a task that failed is in the error. See [`poll_join_next`](JoinSet::poll_join_next) for what
    /// is returned when.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// use std::future::poll_fn;
    ///
    /// let mut set = tress::task::JoinSet::new();
    /// let id = set.spawn(async { 5 }).id();
    /// let result = poll_fn(|cx| set.poll_join_next_with_id(cx)).await;
    /// assert_eq!(result.unwrap().unwrap(), (id, 5));
    /// # });
    /// ```
    pub fn poll_join_next_with_id(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<(Id, T), JoinError>>> {
        let taken = ready!(self.poll_take(cx));
        Poll::Ready(taken.map(with_id))
    }

    fn poll_take(&mut self, cx: &mut Context<'_>) -> Poll<Option<Joined<T>>> {
        if self.is_empty() {
            return Poll::Ready(None);
        }
        let proceed = ready!(coop::poll_proceed(cx));
        while let Some(place) = self.finished.pop_or_wait(cx.waker()) {
            if let Some(taken) = self.take(place) {
                proceed.made_progress();
                return Poll::Ready(Some(taken));
            }
        }
        if sight::is_on() {
            self.waits();
        }
        Poll::Pending
    }

    /// Notes that the running task waits for any task of the set: for some by name.
    #[cold]
    fn waits(&self) {
        let places = self.slots.iter().take(NAMED_PLACES);
        let tasks = places.filter_map(|slot| match slot {
            Slot::Task(task) => Some(task),
            Slot::Vacant(_) | Slot::Output(..) => None,
        });
        let mut named = 0;
        for task in tasks {
            task.waits();
            named += 1;
        }
        sight::waits_for_more(self.len - named);
    }
}

/// Polls a handle whatever the budget says: it is the set's to spend.
fn poll_now<T>(task: &mut JoinHandle<T>, waker: &Waker) -> Poll<Result<T, JoinError>> {
    coop::with_unconstrained(|| Pin::new(task).poll(&mut Context::from_waker(waker)))
}

/// Aborts all tasks in the order in which they were spawned, if one thread has done that.
fn abort_in_order<T>(slots: &[Slot<T>]) {
    let tasks = slots.iter().filter_map(|slot| match slot {
        Slot::Task(task) => Some(task),
        Slot::Vacant(_) | Slot::Output(..) => None,
    });
    let mut tasks: Vec<&JoinHandle<T>> = tasks.collect();
    // A place that became vacant was given again.
    order::by_key(&mut tasks, |task| task.id().get());
    for task in tasks {
        task.abort();
    }
}

fn with_id<T>((id, output): Joined<T>) -> Result<(Id, T), JoinError> {
    output.map(|output| (id, output))
}

impl<T> Drop for JoinSet<T> {
    fn drop(&mut self) {
        abort_in_order(&self.slots);
    }
}

impl<T> Default for JoinSet<T> {
    fn default() -> JoinSet<T> {
        JoinSet::new()
    }
}

impl<T> fmt::Debug for JoinSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinSet")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

/// Spawns every future on the current runtime.
///
/// # Panics
/// Panics if called outside of a runtime.
impl<T, F> FromIterator<F> for JoinSet<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    fn from_iter<I: IntoIterator<Item = F>>(futures: I) -> JoinSet<T> {
        let mut set = JoinSet::new();
        set.extend(futures);
        set
    }
}

/// Spawns every future on the current runtime.
///
/// # Panics
/// Panics if called outside of a runtime.
impl<T, F> Extend<F> for JoinSet<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    fn extend<I: IntoIterator<Item = F>>(&mut self, futures: I) {
        for future in futures {
            self.spawn(future);
        }
    }
}
