use super::JoinSet;
use crate::runtime::Handle;
use crate::task::{AbortHandle, LocalSet, local_set};
use std::fmt;
use std::future::Future;
use std::io;
use std::panic::Location;

/// A builder of tasks with options in a [`JoinSet`]; returned by [`JoinSet::build_task`].
///
/// # Examples
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mut set = tress::task::JoinSet::new();
/// set.build_task().name("adder").spawn(async { 1 + 1 })?;
/// assert_eq!(set.join_all().await, [2]);
/// # Ok::<(), std::io::Error>(())
/// # }).unwrap();
/// ```
#[must_use = "a builder does nothing until one of its `spawn` functions is called"]
pub struct Builder<'a, T> {
    pub(super) set: &'a mut JoinSet<T>,
    pub(super) name: Option<&'a str>,
}

impl<'a, T: 'static> Builder<'a, T> {
    /// Sets the name of the task.
    ///
    /// Names appear in shutdown reports, dumps and traces.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut set = tress::task::JoinSet::new();
    /// set.build_task().name("one").spawn(async { 1 })?;
    /// set.join_next().await.unwrap().unwrap();
    /// # Ok::<(), std::io::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn name(self, name: &'a str) -> Builder<'a, T> {
        Builder {
            name: Some(name),
            ..self
        }
    }

    /// Spawns a task on the current runtime, as [`JoinSet::spawn`] does.
    ///
    /// # Errors
    /// This method does not fail at present; its signature leaves room for limits.
    ///
    /// # Panics
    /// Panics if called outside of a runtime.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut set = tress::task::JoinSet::new();
    /// set.build_task().name("two").spawn(async { 2 })?;
    /// set.join_next().await.unwrap().unwrap();
    /// # Ok::<(), std::io::Error>(())
    /// # }).unwrap();
    /// ```
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> io::Result<AbortHandle>
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        self.spawn_on(future, &Handle::current())
    }

    /// Spawns a task on the given runtime, as [`JoinSet::spawn_on`] does.
    ///
    /// # Errors
    /// This method does not fail at present; its signature leaves room for limits.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut set = tress::task::JoinSet::new();
    /// let handle = tress::runtime::Handle::current();
    /// set.build_task().name("two").spawn_on(async { 2 }, &handle)?;
    /// set.join_next().await.unwrap().unwrap();
    /// # Ok::<(), std::io::Error>(())
    /// # }).unwrap();
    /// ```
    #[track_caller]
    pub fn spawn_on<F>(self, future: F, handle: &Handle) -> io::Result<AbortHandle>
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        let task = handle
            .shared
            .spawn_named(future, self.name, Location::caller());
        Ok(self.set.insert(task))
    }

    /// Runs a closure on the blocking pool of the current runtime, as [`JoinSet::spawn_blocking`] does.
    ///
    /// # Errors
    /// This method does not fail at present; its signature leaves room for limits.
    ///
    /// # Panics
    /// Panics where [`spawn_blocking`](crate::task::spawn_blocking) does.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut set = tress::task::JoinSet::new();
    /// set.build_task().name("sum").spawn_blocking(|| (0..1000).sum::<i32>())?;
    /// set.join_next().await.unwrap().unwrap();
    /// # Ok::<(), std::io::Error>(())
    /// # }).unwrap();
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F>(self, f: F) -> io::Result<AbortHandle>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        self.spawn_blocking_on(f, &Handle::current())
    }

    /// Runs a closure on the blocking pool of the given runtime, as [`JoinSet::spawn_blocking_on`] does.
    ///
    /// # Errors
    /// This method does not fail at present; its signature leaves room for limits.
    ///
    /// # Panics
    /// Panics where [`spawn_blocking`](crate::task::spawn_blocking) does.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut set = tress::task::JoinSet::new();
    /// let handle = tress::runtime::Handle::current();
    /// set.build_task().name("sum").spawn_blocking_on(|| (0..1000).sum::<i32>(), &handle)?;
    /// set.join_next().await.unwrap().unwrap();
    /// # Ok::<(), std::io::Error>(())
    /// # }).unwrap();
    /// ```
    #[track_caller]
    pub fn spawn_blocking_on<F>(self, f: F, handle: &Handle) -> io::Result<AbortHandle>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        let task = handle.shared.spawn_named_blocking(f, self.name);
        Ok(self.set.insert(task))
    }

    /// Spawns a task that stays on the current thread, as [`JoinSet::spawn_local`] does.
    ///
    /// # Errors
    /// This method does not fail at present; its signature leaves room for limits.
    ///
    /// # Panics
    /// Panics where [`JoinSet::spawn_local`] does.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::LocalRuntime::new().unwrap().block_on(async {
    /// let mut set = tress::task::JoinSet::new();
    /// set.build_task().name("here").spawn_local(async { std::rc::Rc::new(2) })?;
    /// set.join_next().await.unwrap().unwrap();
    /// # Ok::<(), std::io::Error>(())
    /// # }).unwrap();
    /// ```
    #[track_caller]
    pub fn spawn_local<F>(self, future: F) -> io::Result<AbortHandle>
    where
        F: Future<Output = T> + 'static,
    {
        let task = local_set::spawn_named(future, self.name, Location::caller());
        Ok(self.set.insert(task))
    }

    /// Spawns a task into a [`LocalSet`], as [`JoinSet::spawn_local_on`] does.
    ///
    /// # Errors
    /// This method does not fail at present; its signature leaves room for limits.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let local = tress::task::LocalSet::new();
    /// let mut set = tress::task::JoinSet::new();
    /// set.build_task().name("here").spawn_local_on(async { std::rc::Rc::new(2) }, &local)?;
    /// local.run_until(set.join_next()).await.unwrap().unwrap();
    /// # Ok::<(), std::io::Error>(())
    /// # }).unwrap();
    /// ```
    #[track_caller]
    pub fn spawn_local_on<F>(self, future: F, local_set: &LocalSet) -> io::Result<AbortHandle>
    where
        F: Future<Output = T> + 'static,
    {
        let task = local_set.spawn_named(future, self.name, Location::caller());
        Ok(self.set.insert(task))
    }
}

impl<T> fmt::Debug for Builder<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("join_set::Builder")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
