use super::join::JoinHandle;
use super::local_set::{self, LocalSet};
use crate::runtime::Handle;
use std::future::Future;
use std::io;
use std::panic::Location;

/// A builder of tasks with a name.
///
/// Names appear in shutdown reports, dumps and traces.
///
/// # Examples
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let task = tress::task::Builder::new().name("adder").spawn(async { 1 + 1 })?;
/// assert_eq!(task.await.unwrap(), 2);
/// # Ok::<(), std::io::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Builder<'a> {
    name: Option<&'a str>,
}

impl<'a> Builder<'a> {
    /// Creates a builder for a task without a name.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let task = tress::task::Builder::new().spawn(async { 2 })?;
    /// assert_eq!(task.await.unwrap(), 2);
    /// # Ok::<(), std::io::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn new() -> Builder<'a> {
        Builder::default()
    }

    /// Sets the name of the task.
    ///
    /// Names appear in shutdown reports, dumps and traces. They need not be unique, and metrics are counted
    /// under at most 1024 different names.
    ///
    /// # Examples
    /// ```
    /// use tress::task::Builder;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let worker = Builder::new().name("worker");
    /// for n in 0..4 {
    ///     worker.spawn(async move { n })?.await.unwrap();
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn name(&self, name: &'a str) -> Builder<'a> {
        Builder { name: Some(name) }
    }

    /// Spawns a task on the current runtime.
    ///
    /// Does the same as [`spawn`](super::spawn()), with the options of this builder.
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
    /// let task = tress::task::Builder::new().name("adder").spawn(async { 1 + 1 })?;
    /// assert_eq!(task.await.unwrap(), 2);
    /// # Ok::<(), std::io::Error>(())
    /// # }).unwrap();
    /// ```
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> io::Result<JoinHandle<F::Output>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.spawn_on(future, &Handle::current())
    }

    /// Spawns a task on the given runtime.
    ///
    /// # Errors
    /// This method does not fail at present; its signature leaves room for limits.
    ///
    /// # Examples
    /// ```
    /// use tress::task::Builder;
    ///
    /// let rt = tress::runtime::Runtime::new()?;
    /// let task = Builder::new().name("adder").spawn_on(async { 1 + 1 }, rt.handle())?;
    /// assert_eq!(rt.block_on(task).unwrap(), 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_on<F>(self, future: F, handle: &Handle) -> io::Result<JoinHandle<F::Output>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Ok(handle
            .shared
            .spawn_named(future, self.name, Location::caller()))
    }

    /// Spawns a task that stays on this thread. See [`spawn_local`](super::spawn_local()).
    ///
    /// ```
    /// # tress::runtime::LocalRuntime::new().unwrap().block_on(async {
    /// let task = tress::task::Builder::new().name("here").spawn_local(async { std::rc::Rc::new(2) })?;
    /// assert_eq!(*task.await.unwrap(), 2);
    /// # Ok::<(), std::io::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// This method does not fail at present; its signature leaves room for limits.
    ///
    /// # Panics
    /// Panics where [`spawn_local`](super::spawn_local()) does.
    #[track_caller]
    pub fn spawn_local<F>(self, future: F) -> io::Result<JoinHandle<F::Output>>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        Ok(local_set::spawn_named(
            future,
            self.name,
            Location::caller(),
        ))
    }

    /// Spawns a task into the given set. See [`LocalSet::spawn_local`].
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let local = tress::task::LocalSet::new();
    /// let builder = tress::task::Builder::new().name("here");
    /// let task = builder.spawn_local_on(async { std::rc::Rc::new(2) }, &local)?;
    /// assert_eq!(*local.run_until(task).await.unwrap(), 2);
    /// # Ok::<(), std::io::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// This method does not fail at present; its signature leaves room for limits.
    #[track_caller]
    pub fn spawn_local_on<F>(
        self,
        future: F,
        local_set: &LocalSet,
    ) -> io::Result<JoinHandle<F::Output>>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        Ok(local_set.spawn_named(future, self.name, Location::caller()))
    }

    /// Runs a closure on the blocking pool of the current runtime.
    ///
    /// Does the same as [`spawn_blocking`](super::spawn_blocking), with the options of this builder.
    ///
    /// # Errors
    /// This method does not fail at present; its signature leaves room for limits.
    ///
    /// # Panics
    /// Panics where [`spawn_blocking`](super::spawn_blocking) does.
    ///
    /// # Examples
    /// ```
    /// use tress::task::Builder;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let sum = Builder::new().name("sum").spawn_blocking(|| (0..1000).sum::<i32>())?;
    /// assert_eq!(sum.await.unwrap(), 499_500);
    /// # Ok::<(), std::io::Error>(())
    /// # }).unwrap();
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F, R>(self, f: F) -> io::Result<JoinHandle<R>>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.spawn_blocking_on(f, &Handle::current())
    }

    /// Runs a closure on the blocking pool of the given runtime.
    ///
    /// # Errors
    /// This method does not fail at present; its signature leaves room for limits.
    ///
    /// # Panics
    /// Panics where [`Handle::spawn_blocking`] does.
    ///
    /// # Examples
    /// ```
    /// use tress::task::Builder;
    ///
    /// let rt = tress::runtime::Runtime::new()?;
    /// let sum = Builder::new()
    ///     .name("sum")
    ///     .spawn_blocking_on(|| (0..1000).sum::<i32>(), rt.handle())?;
    /// assert_eq!(rt.block_on(sum).unwrap(), 499_500);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_blocking_on<F, R>(self, f: F, handle: &Handle) -> io::Result<JoinHandle<R>>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        Ok(handle.shared.spawn_named_blocking(f, self.name))
    }
}
