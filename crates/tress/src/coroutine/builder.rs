use super::fiber::Fiber;
use crate::runtime::{Handle, context, no_runtime};
use crate::task::JoinHandle;
use std::panic::Location;

/// Room for what ordinary code, formatting and a panic's backtrace included, needs.
pub(super) const STACK_SIZE: usize = 256 * 1024;

/// Spawns a coroutine on the current runtime.
///
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
///
/// # Panics
/// Outside of a runtime. [`Builder::spawn_on`] works anywhere.
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Builder::new().spawn(f)
}

/// Spawns coroutines with a name, or a stack of another size.
///
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
    /// A builder for an unnamed coroutine with a stack of 256 KiB.
    pub fn new() -> Builder<'a> {
        Builder {
            name: None,
            stack_size: STACK_SIZE,
        }
    }

    /// Names the coroutine. The name appears in the message about an overflow and wherever tasks'
    /// names do.
    pub fn name(mut self, name: &'a str) -> Builder<'a> {
        self.name = Some(name);
        self
    }

    /// Sets the size of its stack, which is rounded up to whole pages.
    pub fn stack_size(mut self, bytes: usize) -> Builder<'a> {
        self.stack_size = bytes;
        self
    }

    /// Spawns a coroutine on the current runtime. If there is no memory for its stack when it starts,
    /// it panics: its handle returns that as an error.
    ///
    /// # Panics
    /// Outside of a runtime.
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

    /// Spawns a coroutine on the given runtime.
    #[track_caller]
    pub fn spawn_on<F, T>(self, f: F, handle: &Handle) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let fiber = Fiber::new(f, self.stack_size);
        let at = Location::caller();
        // SAFETY: until it starts it is `f`, which may be sent. When it starts it pins its task to the
        // worker, which alone runs and drops it from then on; a current-thread runtime has no workers,
        // and there the fiber refuses to run and to unwind on another thread. The output is `Send`.
        unsafe { handle.shared.spawn_unchecked(fiber, self.name, at) }
    }
}

impl Default for Builder<'_> {
    fn default() -> Self {
        Builder::new()
    }
}
