#[cfg(doc)]
use super::wait;
use super::{fiber, wait_as};
use crate::sync::Notify;
use crate::task::Id;
use crate::time;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A coroutine, as it knows itself and as others may know it: what [`current`] returns.
///
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
    /// Holds the permit of an `unpark` that came first.
    unparked: Notify,
}

/// The coroutine that calls this.
///
/// # Panics
/// Outside of a coroutine.
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
            unparked: Notify::new(),
        }))
    });
    identity.clone()
}

/// Waits until somebody calls [`Coroutine::unpark`] for this coroutine, or returns at once if that has
/// happened since the last time.
///
/// Unlike a thread's it never returns without a reason.
///
/// # Panics
/// As [`wait`].
#[track_caller]
pub fn park() {
    let me = identity("coroutine::park");
    wait_as("coroutine::park", me.0.unparked.notified());
}

/// As [`park`], but for no longer than `duration`. True if it was unparked.
///
/// ```
/// use tress::coroutine;
/// use tress::time::Duration;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let alone = coroutine::spawn(|| coroutine::park_timeout(Duration::from_millis(1)));
/// assert!(!alone.await.unwrap());
/// # });
/// ```
///
/// # Panics
/// As [`wait`], and in a runtime built without `enable_time`.
#[track_caller]
pub fn park_timeout(duration: Duration) -> bool {
    let me = identity("coroutine::park_timeout");
    let unparked = time::timeout(duration, me.0.unparked.notified());
    wait_as("coroutine::park_timeout", unparked).is_ok()
}

impl Coroutine {
    /// The id of its task.
    pub fn id(&self) -> Id {
        self.0.id
    }

    /// The name it was given, if any.
    pub fn name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }

    /// Ends its [`park`], or the next one if it is not parked. Any thread may call it; several calls
    /// before that count as one.
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
