use super::fiber::Fiber;
use crate::context;
use crate::runtime::{Handle, no_runtime};
use crate::spans::What;
use crate::task::{JoinHandle, Origin};
use std::panic::Location;

/// Room for what ordinary code, formatting and a panic's backtrace included, needs.
pub(super) const STACK_SIZE: usize = 256 * 1024;

/// Spawns a coroutine on the current runtime.
///
/// `f` starts on any worker and stays there; see [where coroutines
/// run](super#where-coroutines-run). The returned handle is awaited for the result; dropping it
/// leaves the coroutine running.
///
/// # Panics
/// Panics if called outside of a runtime. [`Builder::spawn_on`] works anywhere.
///
/// # Examples
/// ```
/// use tress::coroutine;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let task = coroutine::spawn(|| {
///     coroutine::yield_now();
///     6 * 7
/// });
/// assert_eq!(task.await.unwrap(), 42);
/// # });
/// ```
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Builder::new().spawn(f)
}

/// Spawns coroutines with a name or another stack size.
///
/// The builder can be copied and used several times.
///
/// # Examples
/// ```
/// use tress::coroutine;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let deep = coroutine::Builder::new().name("deep").stack_size(1 << 20).spawn(|| "room enough");
/// assert_eq!(deep.await.unwrap(), "room enough");
/// # });
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Builder<'a> {
    name: Option<&'a str>,
    stack_size: usize,
}

impl<'a> Builder<'a> {
    /// Creates a builder for unnamed coroutines with stacks of 256 KiB.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let task = tress::coroutine::Builder::new().spawn(|| 5);
    /// assert_eq!(task.await.unwrap(), 5);
    /// # });
    /// ```
    pub fn new() -> Builder<'a> {
        Builder {
            name: None,
            stack_size: STACK_SIZE,
        }
    }

    /// Sets the name of the coroutine.
    ///
    /// It appears in the message about a stack overflow, and wherever the names of tasks do.
    ///
    /// # Examples
    /// ```
    /// use tress::coroutine;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let task = coroutine::Builder::new()
    ///     .name("importer")
    ///     .spawn(|| coroutine::current().name().map(str::to_owned));
    /// assert_eq!(task.await.unwrap().as_deref(), Some("importer"));
    /// # });
    /// ```
    pub fn name(mut self, name: &'a str) -> Builder<'a> {
        self.name = Some(name);
        self
    }

    /// Sets the size of the stack in bytes, which is rounded up to whole pages.
    ///
    /// The default is 256 KiB.
    ///
    /// # Examples
    /// ```
    /// fn depth(n: u32) -> u32 {
    ///     if n == 0 { 0 } else { 1 + depth(n - 1) }
    /// }
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let task = tress::coroutine::Builder::new().stack_size(16 << 20).spawn(|| depth(10_000));
    /// assert_eq!(task.await.unwrap(), 10_000);
    /// # });
    /// ```
    pub fn stack_size(mut self, bytes: usize) -> Builder<'a> {
        self.stack_size = bytes;
        self
    }

    /// Spawns a coroutine on the current runtime.
    ///
    /// If there is no memory for its stack when it starts, the coroutine panics, and its handle
    /// returns that as an error.
    ///
    /// # Panics
    /// Panics if called outside of a runtime.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let task = tress::coroutine::Builder::new().name("answer").spawn(|| 42);
    /// assert_eq!(task.await.unwrap(), 42);
    /// # });
    /// ```
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        match context::runtime() {
            Some(shared) => self.spawn_on(f, &Handle { shared }),
            None => no_runtime("coroutine::spawn"),
        }
    }

    /// Spawns a coroutine on the runtime of `handle`.
    ///
    /// Can be called on any thread. If there is no memory for the stack when the coroutine starts,
    /// it panics, and its handle returns that as an error.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Runtime::new().unwrap();
    /// let task = tress::coroutine::Builder::new().spawn_on(|| 42, rt.handle());
    /// assert_eq!(rt.block_on(task).unwrap(), 42);
    /// ```
    #[track_caller]
    pub fn spawn_on<F, T>(self, f: F, handle: &Handle) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let fiber = Fiber::new(f, self.stack_size);
        let (at, what) = (Location::caller(), What::task::<Fiber<F, T>>());
        let shared = &handle.shared;
        // SAFETY: until it starts it is `f`, which may be sent. When it starts it pins its task to the
        // worker, which alone runs and drops it from then on; a current-thread runtime has no workers,
        // and there the fiber refuses to run and to unwind on another thread. The output is `Send`.
        unsafe {
            match self.name {
                None => shared.submit(fiber, Origin::unnamed(at), what),
                Some(name) => {
                    let (fiber, origin) = shared.count(fiber, name, at);
                    shared.submit(fiber, origin, what)
                }
            }
        }
    }
}

impl Default for Builder<'_> {
    fn default() -> Self {
        Builder::new()
    }
}
