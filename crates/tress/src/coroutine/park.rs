#[cfg(doc)]
use super::wait;
use super::{fiber, wait_as};
use crate::sight::WaitKind;
use crate::sync::Notify;
use crate::task::Id;
use crate::time;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A handle of a running coroutine, returned by [`current`].
///
/// Other tasks and threads can use it to [`unpark`](Coroutine::unpark) the coroutine. Clones refer
/// to the same coroutine.
///
/// # Examples
/// ```
/// use tress::coroutine;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (tx, rx) = tress::sync::oneshot::channel();
/// let sleeper = coroutine::Builder::new().name("sleeper").spawn(move || {
///     tx.send(coroutine::current()).unwrap();
///     coroutine::park();
///     "awake"
/// });
/// let coroutine = rx.await.unwrap();
/// assert_eq!(coroutine.name(), Some("sleeper"));
/// coroutine.unpark();
/// assert_eq!(sleeper.await.unwrap(), "awake");
/// # });
/// ```
#[derive(Clone)]
pub struct Coroutine(Arc<Identity>);

struct Identity {
    id: Id,
    name: Option<Box<str>>,
    /// Stores an `unpark` that comes before the `park`.
    unparked: Notify,
}

/// Returns the handle of the calling coroutine.
///
/// # Panics
/// Panics if called outside of a coroutine.
///
/// # Examples
/// ```
/// use tress::coroutine;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let task = coroutine::spawn(|| coroutine::current().id());
/// let id = task.id();
/// assert_eq!(task.await.unwrap(), id);
/// # });
/// ```
#[track_caller]
pub fn current() -> Coroutine {
    identity("coroutine::current")
}

#[track_caller]
fn identity(what: &str) -> Coroutine {
    let control = fiber::current(what);
    let identity = control.identity.get_or_init(|| {
        // SAFETY: a coroutine's task outlives what runs on its stack.
        let task = unsafe { control.task.as_ref() };
        Coroutine(Arc::new(Identity {
            id: task.id(),
            name: task.name().map(Box::from),
            unparked: Notify::known_as(WaitKind::Coroutine),
        }))
    });
    identity.clone()
}

/// Waits until the calling coroutine is unparked.
///
/// Returns at once if [`Coroutine::unpark`] has been called since the last `park` returned. Unlike
/// [`std::thread::park`], it never returns without a call of `unpark`.
///
/// # Panics
/// Panics under the conditions of [`wait`].
///
/// # Examples
/// ```
/// use tress::coroutine;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let task = coroutine::spawn(|| {
///     let me = coroutine::current();
///     tress::spawn(async move { me.unpark() });
///     coroutine::park();
/// });
/// task.await.unwrap();
/// # });
/// ```
#[track_caller]
pub fn park() {
    let me = identity("coroutine::park");
    wait_as("coroutine::park", me.0.unparked.notified());
}

/// Waits until the calling coroutine is unparked, for at most `duration`.
///
/// Returns `true` if it was unparked, and `false` if the time was up; see [`park`].
///
/// # Panics
/// Panics under the conditions of [`wait`], and if the runtime was built without
/// [`enable_time`](crate::runtime::Builder::enable_time).
///
/// # Examples
/// ```
/// use tress::coroutine;
/// use tress::time::Duration;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let alone = coroutine::spawn(|| coroutine::park_timeout(Duration::from_millis(1)));
/// assert!(!alone.await.unwrap());
/// # });
/// ```
#[track_caller]
pub fn park_timeout(duration: Duration) -> bool {
    let me = identity("coroutine::park_timeout");
    let unparked = time::timeout(duration, me.0.unparked.notified());
    wait_as("coroutine::park_timeout", unparked).is_ok()
}

impl Coroutine {
    /// Returns the id of the coroutine's task.
    ///
    /// # Examples
    /// ```
    /// use tress::{coroutine, task};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let same = coroutine::spawn(|| coroutine::current().id() == task::id());
    /// assert!(same.await.unwrap());
    /// # });
    /// ```
    pub fn id(&self) -> Id {
        self.0.id
    }

    /// Returns the name of the coroutine, or `None` if it has none.
    ///
    /// [`Builder::name`](super::Builder::name) sets it.
    ///
    /// # Examples
    /// ```
    /// use tress::coroutine;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let unnamed = coroutine::spawn(|| coroutine::current().name().is_none());
    /// assert!(unnamed.await.unwrap());
    /// # });
    /// ```
    pub fn name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }

    /// Ends the current [`park`] of the coroutine, or its next one if it is not parked.
    ///
    /// Can be called on any thread. Several calls before the `park` count as one.
    ///
    /// # Examples
    /// ```
    /// use tress::coroutine;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let task = coroutine::spawn(|| {
    ///     coroutine::current().unpark();
    ///     coroutine::park(); // returns at once
    /// });
    /// task.await.unwrap();
    /// # });
    /// ```
    pub fn unpark(&self) {
        self.0.unparked.notify_one();
    }
}

impl fmt::Debug for Coroutine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coroutine")
            .field("id", &self.id())
            .field("name", &self.name())
            .finish()
    }
}
