//! Tracing: polls that only say where they wait.
//!
//! While a thread traces, its budget is used up, so each leaf operation comes to `coop::forced_yield` before it does
//! anything. That calls the trace's function, which usually takes a backtrace, and the leaf returns `Pending`. So tracing
//! costs nothing where operations begin.
//!
//! A leaf that was traced has not registered its waker, and a future around it may have used up the wake-up that led
//! there. So each traced leaf is woken once the poll is over.
//!
//! `no_leaf.rs` is the twin without the feature `taskdump`.

use super::coop;
use super::run::TaskRef;
use crate::context::{self, Held};
use crate::identity::Id;
use crate::runtime::task_dump;
use crate::scheduler;
use crate::sys::thread_local;
use pin_project_lite::pin_project;
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};

/// What [`trace_with`] tells its function about a leaf operation, for taking a backtrace.
#[non_exhaustive]
#[derive(Debug)]
pub struct TraceMeta {
    /// The function at which a backtrace should end: the poll of the innermost [`Root`], task or none.
    pub root_addr: Option<*const c_void>,
    /// The function above which a backtrace should begin. It and what it called belong to tracing itself.
    pub trace_leaf_addr: *const c_void,
}

type LeafFn = dyn FnMut(&TraceMeta);

thread_local! {
    /// What is called at leaves; `None` if this thread does not trace.
    static LEAF: Cell<Option<NonNull<LeafFn>>> = const { Cell::new(None) };
    /// The poll function of the innermost root.
    static ROOT: Cell<Option<NonNull<c_void>>> = const { Cell::new(None) };
    /// `DEFERRED` is not empty.
    static OWES_WAKES: Cell<bool> = const { Cell::new(false) };
    /// Leaves that were traced on a worker.
    static DEFERRED: RefCell<Vec<Waker>> = const { RefCell::new(Vec::new()) };
}

/// Puts a thread-local's value back when it is dropped.
struct Restore<T: Copy + 'static>(&'static std::thread::LocalKey<Cell<T>>, T);

impl<T: Copy> Restore<T> {
    fn replacing(key: &'static std::thread::LocalKey<Cell<T>>, value: T) -> Restore<T> {
        Restore(key, key.replace(value))
    }
}

impl<T: Copy> Drop for Restore<T> {
    fn drop(&mut self) {
        self.0.set(self.1);
    }
}

/// Returns whether this thread traces.
#[inline]
pub(crate) fn is_tracing() -> bool {
    LEAF.get().is_some()
}

/// Calls `f`, during which leaf operations do nothing but call `trace_leaf`.
///
/// `f` usually polls a future. Each leaf operation of tress that it reaches (a channel, a lock, a timer, I/O) calls
/// `trace_leaf`, which may take a backtrace, and returns `Pending` without any effect. It is woken once the scheduler has
/// control again, so the future has to be polled outside of this function afterwards. A future that is polled only
/// inside makes no progress, and is woken again and again.
///
/// Calls nest: the innermost `trace_leaf` is called. A coroutine that calls this cannot suspend in `f`.
///
/// # Examples
/// ```
/// use std::future::{Future, poll_fn};
/// use std::task::Poll;
/// use tress::runtime::task_dump::trace_with;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mut future = Box::pin(tress::task::yield_now());
/// let mut leaves = 0;
/// poll_fn(|cx| Poll::Ready(trace_with(|| future.as_mut().poll(cx).is_ready(), |_| leaves += 1))).await;
/// assert_eq!(leaves, 1);
/// future.await;
/// # });
/// ```
pub fn trace_with<FN, FT, R>(f: FN, mut trace_leaf: FT) -> R
where
    FN: FnOnce() -> R,
    FT: FnMut(&TraceMeta),
{
    let leaf: NonNull<dyn FnMut(&TraceMeta) + '_> = NonNull::from(&mut trace_leaf);
    // SAFETY: only the lifetime changes. The pointer is taken out of the thread-local before this function returns,
    // also by a panic, and nothing else keeps it.
    let leaf =
        unsafe { mem::transmute::<NonNull<dyn FnMut(&TraceMeta) + '_>, NonNull<LeafFn>>(leaf) };
    let _leaf = Restore::replacing(&LEAF, Some(leaf));
    // A coroutine that suspended here would leave the pointer to others on this thread.
    context::hold(Held::Polling, || coop::with_budget_of_trace(f))
}

/// Tells the trace of a leaf operation. Returns false if this thread does not trace. `above` is the function that was
/// called by the leaf.
pub(super) fn reached(cx: &mut Context<'_>, above: *const c_void) -> bool {
    let Some(mut leaf) = LEAF.get() else {
        return false;
    };
    let meta = TraceMeta {
        root_addr: ROOT.get().map(|root| root.as_ptr().cast_const()),
        trace_leaf_addr: above,
    };
    {
        // What it does by itself is not traced. This is also what makes the reference below the only one.
        let _none = Restore::replacing(&LEAF, None);
        // SAFETY: `trace_with` is below us on this stack, and has lent the function.
        coop::with_unconstrained(|| unsafe { leaf.as_mut() }(&meta));
    }
    wake_later(cx.waker());
    true
}

/// Wakes a leaf once the scheduler has control again; at once on a thread that runs no tasks.
fn wake_later(waker: &Waker) {
    if scheduler::defer(waker) {
        return;
    }
    if !super::is_in_task() {
        return waker.wake_by_ref();
    }
    let waker = waker.clone();
    // Subtle: at the end of the thread, when the list is gone, the waker is dropped where it was cloned: in a poll that
    // a destructor makes.
    if DEFERRED
        .try_with(|list| list.borrow_mut().push(waker))
        .is_ok()
    {
        OWES_WAKES.set(true);
    }
}

/// Wakes the leaves that were traced in the poll that has just ended.
#[inline]
fn wake_deferred() {
    if OWES_WAKES.get() {
        wake_all();
    }
}

#[cold]
fn wake_all() {
    OWES_WAKES.set(false);
    let wakers = DEFERRED.try_with(RefCell::take).unwrap_or_default();
    for waker in wakers {
        crate::sys::guarded(|| waker.wake());
    }
}

/// Whether a poll may be traced.
pub(super) const MAY_TRACE: bool = true;

/// Polls a task, or traces it if a dump waits for that. Returns whether it is finished, and whether it was traced: then
/// it has to be polled again.
#[inline]
pub(super) fn poll_task(id: Id, poll: impl FnOnce() -> bool) -> (bool, bool) {
    let polled = match task_dump::wanting(id) {
        None => (coop::with_fresh_budget(poll), false),
        Some(dumps) => (dumps.trace(id, poll), true),
    };
    wake_deferred();
    polled
}

/// Notes that a task is finished.
#[inline]
pub(super) fn finished(id: Id) {
    task_dump::forget(id);
}

/// A task that blocks in place, until this is dropped. It is not traced meanwhile, and no dump waits for it.
pub(crate) struct InPlace {
    _untraced: Restore<Option<NonNull<LeafFn>>>,
    _known: task_dump::InPlace,
}

impl InPlace {
    pub(crate) fn enter() -> InPlace {
        InPlace {
            _untraced: Restore::replacing(&LEAF, None),
            _known: task_dump::InPlace::enter(super::try_id()),
        }
    }
}

/// Polls a future as the root of traces.
#[inline(never)]
pub(super) fn poll_root<F: Future>(future: Pin<&mut F>, cx: &mut Context<'_>) -> Poll<F::Output> {
    let here: fn(Pin<&mut F>, &mut Context<'_>) -> Poll<F::Output> = poll_root::<F>;
    let _root = Restore::replacing(&ROOT, NonNull::new(here as *mut c_void));
    future.poll(cx)
}

pin_project! {
    /// A future at which backtraces of traces end; returned by
    /// [`Trace::root`](crate::runtime::task_dump::Trace::root).
    ///
    /// # Examples
    /// ```
    /// use tress::runtime::task_dump::{Root, Trace};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let future: Root<_> = Trace::root(async { 7 });
    /// assert_eq!(future.await, 7);
    /// # });
    /// ```
    #[derive(Debug, Clone)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct Root<T> {
        #[pin]
        future: T,
    }
}

impl<T> Root<T> {
    pub(crate) fn new(future: T) -> Root<T> {
        Root { future }
    }
}

impl<T: Future> Future for Root<T> {
    type Output = T::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T::Output> {
        poll_root(self.project().future, cx)
    }
}

impl TaskRef {
    /// Wakes the task.
    pub(crate) fn wake(&self) {
        // SAFETY: we hold a reference.
        unsafe { super::wake_by_ref(self.as_raw()) }
    }
}
