//! Dispatchers: where a task runs, and how many of its kind run at a time.
//!
//! A dispatcher is a *view* over threads that others use too, with a limit of its own. Making one costs
//! no thread, and moving between two need not change threads.
//!
//! | dispatcher | threads | at a time |
//! |---|---|---|
//! | [`default`] | the runtime's workers | as many as there are |
//! | [`io`] | the blocking pool's, started when needed | 64, or the number of workers if that is more |
//! | [`custom`] | the blocking pool's | as said |
//! | [`single`] | the blocking pool's | one: strictly one after the other |
//! | [`unconfined`] | the spawner's, up to the first suspension; then the workers | |
//! | [`limited_parallelism`](Dispatcher::limited_parallelism) of any | the same | as said, within its limit |
//!
//! A task may block its thread in [`io`], [`custom`] and [`single`], and in views of them, without
//! keeping a worker from anything. Wherever a task is woken, it goes on in its own dispatcher.
//!
//! ```
//! use tress::dispatch;
//!
//! # tress::runtime::Runtime::new().unwrap().block_on(async {
//! let io = dispatch::io();
//! let text = dispatch::spawn_on(&io, async { std::fs::read_to_string("Cargo.toml") });
//! assert!(text.await.unwrap().is_ok());
//!
//! // At most two of these at a time, among those of `io`.
//! let two = io.limited_parallelism(2);
//! let sizes: Vec<_> = (0..8).map(|n| dispatch::spawn_on(&two, async move { n })).collect();
//! for (n, size) in sizes.into_iter().enumerate() {
//!     assert_eq!(size.await.unwrap(), n);
//! }
//! # });
//! ```
//!
//! # Release
//! Dispatchers are counted: clones are the same one. When the last is dropped, what was spawned there
//! runs to its end, and with that the view is gone. The end of the runtime drops all tasks of all views.

mod queue;
mod unconfined;
mod view;
mod with;

pub use with::{WithDispatcher, with_dispatcher};

pub(crate) use view::Views;

use crate::runtime::{Handle, Shared};
use crate::task::JoinHandle;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;
use view::{Base, View};

/// Fewest tasks that [`io`] runs at a time.
const IO_PARALLELISM: usize = 64;

/// Where tasks are spawned; see the [module's documentation](self).
#[derive(Clone)]
pub struct Dispatcher {
    shared: Arc<Shared>,
    kind: Kind,
    name: Option<Arc<str>>,
}

#[derive(Clone)]
enum Kind {
    Default,
    View(Arc<View>),
    Unconfined,
}

/// The current runtime's workers.
///
/// # Panics
/// Outside of a runtime. [`Dispatcher::default_of`] works anywhere.
#[track_caller]
pub fn default() -> Dispatcher {
    Dispatcher::default_of(&Handle::current())
}

/// The current runtime's threads for blocking work, shared by all who ask for them: at least 64 at a
/// time, started when needed.
///
/// ```
/// use tress::dispatch;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let slow = dispatch::spawn_on(&dispatch::io(), async {
///     std::thread::sleep(std::time::Duration::from_millis(1)); // a worker would stand still
///     "done"
/// });
/// assert_eq!(slow.await.unwrap(), "done");
/// # });
/// ```
///
/// # Panics
/// Outside of a runtime.
#[track_caller]
pub fn io() -> Dispatcher {
    let shared = Handle::current().shared;
    let limit = IO_PARALLELISM.max(shared.config().workers);
    let view = shared.views.io(&shared, limit);
    Dispatcher::new(shared, Kind::View(view))
}

/// A dispatcher of its own that runs `parallelism` tasks at a time, which may block.
///
/// # Panics
/// Outside of a runtime, and if `parallelism` is 0.
#[track_caller]
pub fn custom(parallelism: usize) -> Dispatcher {
    Dispatcher::over(Handle::current().shared, Base::Pool, parallelism)
}

/// A dispatcher of its own that runs one task at a time, in the order in which they became ready.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use tress::dispatch;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let single = dispatch::single();
/// let log = Arc::new(Mutex::new(Vec::new()));
/// let tasks: Vec<_> = (0..3)
///     .map(|n| {
///         let log = log.clone();
///         dispatch::spawn_on(&single, async move { log.lock().unwrap().push(n) })
///     })
///     .collect();
/// for task in tasks {
///     task.await.unwrap();
/// }
/// assert_eq!(*log.lock().unwrap(), [0, 1, 2]);
/// # });
/// ```
///
/// # Panics
/// Outside of a runtime.
#[track_caller]
pub fn single() -> Dispatcher {
    custom(1)
}

/// Runs a task at once, on the thread that spawns it, until it first has to wait; then it goes on on the
/// current runtime's workers. Nested deeper than 32, it begins there.
///
/// ```
/// use tress::dispatch;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let here = std::thread::current().id();
/// let task = dispatch::spawn_on(&dispatch::unconfined(), async move {
///     assert_eq!(std::thread::current().id(), here);
/// });
/// assert!(task.is_finished());
/// # });
/// ```
///
/// # Panics
/// Outside of a runtime.
#[track_caller]
pub fn unconfined() -> Dispatcher {
    Dispatcher::new(Handle::current().shared, Kind::Unconfined)
}

/// Spawns a task in a dispatcher.
///
/// ```
/// use tress::dispatch;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let task = dispatch::spawn_on(&dispatch::custom(2), async { 5 });
/// assert_eq!(task.await.unwrap(), 5);
/// # });
/// ```
#[track_caller]
pub fn spawn_on<F>(dispatcher: &Dispatcher, future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let at = Location::caller();
    let shared = &dispatcher.shared;
    match &dispatcher.kind {
        Kind::Default => shared.spawn(future, None, at),
        Kind::View(view) => view.spawn(future, at),
        Kind::Unconfined => unconfined::spawn(shared, future, at),
    }
}

impl Dispatcher {
    /// The workers of the given runtime.
    pub fn default_of(handle: &Handle) -> Dispatcher {
        Dispatcher::new(handle.shared.clone(), Kind::Default)
    }

    #[track_caller]
    fn over(shared: Arc<Shared>, base: Base, parallelism: usize) -> Dispatcher {
        assert!(
            parallelism > 0,
            "a dispatcher has to run at least one task at a time"
        );
        let view = View::new(&shared, base, parallelism);
        Dispatcher::new(shared, Kind::View(view))
    }

    fn new(shared: Arc<Shared>, kind: Kind) -> Dispatcher {
        Dispatcher {
            shared,
            kind,
            name: None,
        }
    }

    /// The same dispatcher under a name, for diagnostics.
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let database = tress::dispatch::io().limited_parallelism(4).named("database");
    /// assert_eq!(database.name(), Some("database"));
    /// assert!(format!("{database:?}").contains("database"));
    /// # });
    /// ```
    pub fn named(mut self, name: &str) -> Dispatcher {
        self.name = Some(name.into());
        self
    }

    /// The name it was given, if any.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// A view of this dispatcher that runs at most `parallelism` tasks at a time. They count in this
    /// one's limit too.
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let one = tress::dispatch::default().limited_parallelism(1);
    /// assert_eq!(one.parallelism(), Some(1));
    /// # });
    /// ```
    ///
    /// # Panics
    /// If `parallelism` is 0.
    #[track_caller]
    pub fn limited_parallelism(&self, parallelism: usize) -> Dispatcher {
        let base = match &self.kind {
            Kind::Default | Kind::Unconfined => Base::Workers,
            Kind::View(view) => Base::View(view.clone()),
        };
        Dispatcher::over(self.shared.clone(), base, parallelism)
    }

    /// The most tasks it runs at a time by its own limit; none of [`unconfined`].
    pub fn parallelism(&self) -> Option<usize> {
        match &self.kind {
            Kind::Default => Some(self.shared.config().workers),
            Kind::View(view) => Some(view.limit()),
            Kind::Unconfined => None,
        }
    }

    /// Is what runs on this thread right now where this dispatcher would put it?
    fn is_satisfied(&self) -> bool {
        match &self.kind {
            Kind::Default => view::none_is_current() && self.shared.runs_here(),
            Kind::View(view) => view.is_current(),
            Kind::Unconfined => true,
        }
    }
}

impl fmt::Debug for Dispatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.kind {
            Kind::Default => "default",
            Kind::View(_) => "view",
            Kind::Unconfined => "unconfined",
        };
        f.debug_struct("Dispatcher")
            .field("name", &self.name)
            .field("kind", &kind)
            .field("parallelism", &self.parallelism())
            .finish_non_exhaustive()
    }
}
