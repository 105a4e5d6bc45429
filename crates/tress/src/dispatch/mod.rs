//! Dispatchers: where a task runs, and how many tasks of its kind run at a time.
//!
//! A dispatcher is a *view* of threads that it shares with others, with a limit of its own on the
//! number of tasks that run at a time. Creating one starts no thread, and a task that moves from
//! one dispatcher to another need not change threads. Wherever a task is woken, it continues in its
//! own dispatcher.
//!
//! | dispatcher | threads | tasks at a time |
//! |---|---|---|
//! | [`default`](default()) | the workers of the runtime | the number of workers |
//! | [`io`] | the blocking pool, started on demand | 64, or the number of workers if that is more |
//! | [`custom`] | the blocking pool | as given |
//! | [`single`] | the blocking pool | one, strictly one after the other |
//! | [`unconfined`] | the spawning thread up to the first suspension, then the workers | unlimited |
//! | [`limited_parallelism`](Dispatcher::limited_parallelism) of any | the same threads | as given, within the limit of the other |
//!
//! # How to choose
//! - Tasks that never block their thread belong on [`default`](default()); [`spawn`](crate::spawn)
//!   puts them there, too.
//! - Tasks that block, in system calls or in libraries with synchronous interfaces, belong on
//!   [`io`], [`custom`] and [`single`], and on views of these. They do not keep a worker from
//!   anything there.
//! - A limit on the use of some resource, such as connections to a database, is a
//!   [`limited_parallelism`](Dispatcher::limited_parallelism) view.
//! - State that must not be used by two tasks at a time can be confined to a [`single`] dispatcher.
//!
//! [`spawn_on`] spawns a task on a dispatcher; [`with_dispatcher`] runs a part of a task on another
//! one.
//!
//! # Lifetime
//! Clones of a dispatcher are the same one. When the last is dropped, the tasks that were spawned
//! there run to their end, and the view is gone. The end of the runtime drops all tasks of all
//! views.
//!
//! # Examples
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

mod unconfined;
mod with;

pub use with::{WithDispatcher, with_dispatcher};

use crate::runtime::{Handle, Shared};
use crate::scheduler::{Base, View, none_is_current};
use crate::task::JoinHandle;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;

/// The minimum of the number of tasks that [`io`] runs at a time.
const IO_PARALLELISM: usize = 64;

/// A place where tasks are spawned; see the [module's documentation](self).
///
/// Clones are the same dispatcher.
///
/// # Examples
/// ```
/// use tress::dispatch::{self, Dispatcher};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let database: Dispatcher = dispatch::io().limited_parallelism(4).named("database");
/// let row = dispatch::spawn_on(&database, async { "a row" });
/// assert_eq!(row.await.unwrap(), "a row");
/// # });
/// ```
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

/// Returns the dispatcher of the current runtime's workers.
///
/// # Panics
/// Panics if called outside of a runtime. [`Dispatcher::default_of`] works anywhere.
///
/// # Examples
/// ```
/// use tress::dispatch;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let task = dispatch::spawn_on(&dispatch::default(), async { 5 });
/// assert_eq!(task.await.unwrap(), 5);
/// # });
/// ```
#[track_caller]
pub fn default() -> Dispatcher {
    Dispatcher::default_of(&Handle::current())
}

/// Returns the dispatcher of the current runtime for tasks that block their thread.
///
/// All calls return the same dispatcher. It runs up to 64 tasks at a time, or the number of workers
/// if that is more, on threads of the blocking pool that are started on demand.
///
/// # Panics
/// Panics if called outside of a runtime.
///
/// # Examples
/// ```
/// use tress::dispatch;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let slow = dispatch::spawn_on(&dispatch::io(), async {
///     std::thread::sleep(std::time::Duration::from_millis(1)); // this would block a worker
///     "done"
/// });
/// assert_eq!(slow.await.unwrap(), "done");
/// # });
/// ```
#[track_caller]
pub fn io() -> Dispatcher {
    let shared = Handle::current().shared;
    let limit = IO_PARALLELISM.max(shared.config().workers);
    let view = shared.views.io(&shared, limit);
    Dispatcher::new(shared, Kind::View(view))
}

/// Creates a dispatcher that runs up to `parallelism` tasks at a time, which may block their
/// thread.
///
/// Unlike a [`limited_parallelism`](Dispatcher::limited_parallelism) view of [`io`], it does not
/// share the limit of [`io`]. It uses the same threads, those of the blocking pool.
///
/// # Panics
/// Panics if called outside of a runtime, and if `parallelism` is 0.
///
/// # Examples
/// ```
/// use tress::dispatch;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let imports = dispatch::custom(2);
/// assert_eq!(imports.parallelism(), Some(2));
/// # });
/// ```
#[track_caller]
pub fn custom(parallelism: usize) -> Dispatcher {
    Dispatcher::over(Handle::current().shared, Base::Pool, parallelism)
}

/// Creates a dispatcher that runs one task at a time, in the order in which they became ready.
///
/// Its tasks never run in parallel, but one may run while another waits. They may block their
/// thread, and need not always run on the same one.
///
/// # Panics
/// Panics if called outside of a runtime.
///
/// # Examples
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
#[track_caller]
pub fn single() -> Dispatcher {
    custom(1)
}

/// Returns the dispatcher that runs a task at once, on the thread that spawns it, until it first
/// has to wait.
///
/// From then on the task runs on the workers of the current runtime. A task that is spawned more
/// than 32 levels deep in others of this kind starts there, so that recursion does not overflow the
/// stack.
///
/// # Panics
/// Panics if called outside of a runtime.
///
/// # Examples
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
#[track_caller]
pub fn unconfined() -> Dispatcher {
    Dispatcher::new(Handle::current().shared, Kind::Unconfined)
}

/// Spawns a task on a dispatcher.
///
/// Can be called on any thread. The returned handle is awaited for the output; dropping it leaves
/// the task running. If the runtime of the dispatcher has shut down, the task is refused, and its
/// handle reports a cancellation.
///
/// # Examples
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
        Kind::Default => shared.spawn(future, at),
        Kind::View(view) => view.spawn(future, at),
        Kind::Unconfined => unconfined::spawn(shared, future, at),
    }
}

impl Dispatcher {
    /// Returns the dispatcher of the workers of the given runtime.
    ///
    /// # Examples
    /// ```
    /// use tress::dispatch::{self, Dispatcher};
    ///
    /// let rt = tress::runtime::Runtime::new().unwrap();
    /// let workers = Dispatcher::default_of(rt.handle());
    /// let task = dispatch::spawn_on(&workers, async { 5 });
    /// assert_eq!(rt.block_on(task).unwrap(), 5);
    /// ```
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

    /// Gives the dispatcher a name, for diagnostics.
    ///
    /// The name belongs to this handle and its clones; it is shown by their
    /// [`Debug`](std::fmt::Debug) output.
    ///
    /// # Examples
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

    /// Returns the name of the dispatcher, or `None` if it has none.
    ///
    /// [`named`](Dispatcher::named) sets it.
    ///
    /// # Examples
    /// ```
    /// use tress::dispatch;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// assert_eq!(dispatch::default().name(), None);
    /// assert_eq!(dispatch::default().named("workers").name(), Some("workers"));
    /// # });
    /// ```
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Creates a view of this dispatcher that runs up to `parallelism` tasks at a time.
    ///
    /// Its tasks count against the limit of this dispatcher, too. A view of [`unconfined`] runs all
    /// its tasks on the workers.
    ///
    /// # Panics
    /// Panics if `parallelism` is 0.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let one = tress::dispatch::default().limited_parallelism(1);
    /// assert_eq!(one.parallelism(), Some(1));
    /// # });
    /// ```
    #[track_caller]
    pub fn limited_parallelism(&self, parallelism: usize) -> Dispatcher {
        let base = match &self.kind {
            Kind::Default | Kind::Unconfined => Base::Workers,
            Kind::View(view) => Base::View(view.clone()),
        };
        Dispatcher::over(self.shared.clone(), base, parallelism)
    }

    /// Returns the maximum number of tasks that run at a time by the dispatcher's own limit.
    ///
    /// Returns `None` for [`unconfined`], which has no limit. A view may run fewer, by the limit of
    /// the dispatcher that it is a view of.
    ///
    /// # Examples
    /// ```
    /// use tress::dispatch;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// assert_eq!(dispatch::single().parallelism(), Some(1));
    /// assert_eq!(dispatch::unconfined().parallelism(), None);
    /// # });
    /// ```
    pub fn parallelism(&self) -> Option<usize> {
        match &self.kind {
            Kind::Default => Some(self.shared.config().workers),
            Kind::View(view) => Some(view.limit()),
            Kind::Unconfined => None,
        }
    }

    /// Returns `true` if the caller runs where this dispatcher would put it.
    fn is_satisfied(&self) -> bool {
        match &self.kind {
            Kind::Default => none_is_current() && self.shared.runs_here(),
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
