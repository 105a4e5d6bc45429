use super::join::JoinHandle;
use crate::runtime::Handle;
use std::future::Future;
use std::io;
use std::panic::Location;

/// Spawns tasks with a name.
///
/// Names appear in shutdown reports, dumps and traces.
///
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
    /// A builder for an unnamed task.
    pub fn new() -> Builder<'a> {
        Builder::default()
    }

    /// Names the task.
    pub fn name(&self, name: &'a str) -> Builder<'a> {
        Builder { name: Some(name) }
    }

    /// Spawns a task on the current runtime. See [`spawn`](super::spawn()).
    ///
    /// # Errors
    /// None today; the signature leaves room for limits.
    ///
    /// # Panics
    /// Outside of a runtime.
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
    /// None today.
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

    /// Runs a closure on the current runtime's blocking pool.
    /// See [`spawn_blocking`](super::spawn_blocking).
    ///
    /// # Errors
    /// None today.
    ///
    /// # Panics
    /// As [`spawn_blocking`](super::spawn_blocking).
    #[track_caller]
    pub fn spawn_blocking<F, R>(self, f: F) -> io::Result<JoinHandle<R>>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.spawn_blocking_on(f, &Handle::current())
    }

    /// Runs a closure on the given runtime's blocking pool.
    ///
    /// # Errors
    /// None today.
    ///
    /// # Panics
    /// As [`spawn_blocking`](super::spawn_blocking).
    #[track_caller]
    pub fn spawn_blocking_on<F, R>(self, f: F, handle: &Handle) -> io::Result<JoinHandle<R>>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        Ok(handle.shared.spawn_named_blocking(f, self.name))
    }
}
