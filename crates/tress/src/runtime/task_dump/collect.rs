//! A dump that is being taken.
//!
//! It notes which tasks there are and wakes them all. The thread that runs one next traces it first, and queues it again,
//! so that the poll that its wake-ups ask for follows. No worker has to stop, and each task is traced where it may run.
//!
//! A task leaves the list when it has been traced, is finished, or blocks in place, and the dump is ready when the list
//! is empty.
//!
//! # Memory ordering
//! A dump is listed before it wakes its tasks. A wake-up writes the task's state word, and so does the end of a task; and
//! a poll that the wake-up does not precede finds it in that word when it ends. So whoever runs or completes the task
//! after the wake-up finds the dump listed, and if the wake-up finds the task complete, the dump forgets it itself.

use super::{Dump, Task, Trace};
use crate::identity::Id;
use crate::runtime::{Handle, RuntimeFlavor, Shared};
use crate::sys::atomic::Ordering;
use crate::sys::plain::{AtomicUsize, Mutex};
use crate::task::coop;
use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

/// The dumps that are being taken, and their number.
static DUMPS: Mutex<Vec<Arc<Collecting>>> = Mutex::new(Vec::new());
static NUMBER: AtomicUsize = AtomicUsize::new(0);

/// The tasks that block in place; one that does so within itself is there twice.
static IN_PLACE: Mutex<Vec<Id>> = Mutex::new(Vec::new());

struct Collecting(Mutex<State>);

#[derive(Default)]
struct State {
    missing: BTreeSet<Id>,
    traces: BTreeMap<Id, Trace>,
    waker: Option<Waker>,
}

impl Collecting {
    /// Ends the wait for a task.
    fn settle(&self, id: Id, trace: Option<Trace>) {
        let waker = {
            let mut state = self.0.lock();
            if !state.missing.remove(&id) {
                return;
            }
            if let Some(trace) = trace {
                state.traces.insert(id, trace);
            }
            if !state.missing.is_empty() {
                return;
            }
            state.waker.take()
        };
        if let Some(waker) = waker {
            crate::sys::guarded(|| waker.wake());
        }
    }

    fn poll(&self, cx: &mut Context<'_>) -> Poll<Dump> {
        let progress = ready!(coop::poll_proceed(cx));
        let waker = cx.waker().clone();
        let mut state = self.0.lock();
        if !state.missing.is_empty() {
            let old = state.waker.replace(waker);
            drop(state);
            drop(old);
            return Poll::Pending;
        }
        progress.made_progress();
        let traces = std::mem::take(&mut state.traces).into_iter();
        Poll::Ready(Dump::new(
            traces.map(|(id, trace)| Task { id, trace }).collect(),
        ))
    }
}

/// A dump in the list, for as long as its future lives.
struct Listed(Arc<Collecting>);

impl Listed {
    fn new(missing: BTreeSet<Id>) -> Listed {
        let state = State {
            missing,
            ..State::default()
        };
        let dump = Arc::new(Collecting(Mutex::new(state)));
        DUMPS.lock().push(dump.clone());
        NUMBER.fetch_add(1, Ordering::Relaxed);
        Listed(dump)
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        DUMPS.lock().retain(|dump| !Arc::ptr_eq(dump, &self.0));
        NUMBER.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The dumps that wait for a task.
pub(crate) struct Wanting(Vec<Arc<Collecting>>);

/// Returns the dumps that wait for a task, if there are any. The caller is about to poll it.
#[inline]
pub(crate) fn wanting(id: Id) -> Option<Wanting> {
    if NUMBER.load(Ordering::Relaxed) == 0 {
        return None;
    }
    find(id)
}

#[cold]
fn find(id: Id) -> Option<Wanting> {
    let dumps = DUMPS.lock();
    let wants = |dump: &&Arc<Collecting>| dump.0.lock().missing.contains(&id);
    let found: Vec<_> = dumps.iter().filter(wants).cloned().collect();
    (!found.is_empty()).then_some(Wanting(found))
}

impl Wanting {
    /// Traces a poll of the task, for all of them.
    #[cold]
    pub(crate) fn trace(self, id: Id, poll: impl FnOnce() -> bool) -> bool {
        let (ready, trace) = Trace::capture(poll);
        for dump in self.0 {
            dump.settle(id, Some(trace.share()));
        }
        ready
    }
}

/// Ends all waiting for a task, which is finished or blocks.
#[inline]
pub(crate) fn forget(id: Id) {
    if NUMBER.load(Ordering::Relaxed) > 0 {
        forget_listed(id);
    }
}

#[cold]
fn forget_listed(id: Id) {
    let dumps = DUMPS.lock().clone();
    for dump in dumps {
        dump.settle(id, None);
    }
}

/// A task that blocks in place, until this is dropped.
pub(crate) struct InPlace(Option<Id>);

impl InPlace {
    pub(crate) fn enter(task: Option<Id>) -> InPlace {
        if let Some(id) = task {
            IN_PLACE.lock().push(id);
            // Each of the two locks is taken after the other thread's: a dump that is not listed yet will find the task
            // in the list of those that block.
            forget_listed(id);
        }
        InPlace(task)
    }
}

impl Drop for InPlace {
    fn drop(&mut self) {
        if let Some(id) = self.0 {
            let mut blocking = IN_PLACE.lock();
            if let Some(at) = blocking.iter().position(|task| *task == id) {
                blocking.swap_remove(at);
            }
        }
    }
}

impl Shared {
    /// Lists a dump and wakes the tasks that it waits for.
    fn begin_dump(&self) -> Listed {
        // A runtime that nobody drives would keep it waiting.
        let driven = self.flavor() == RuntimeFlavor::MultiThread || self.runs_here();
        let tasks = match driven {
            true => self.live_tasks(),
            false => Vec::new(),
        };
        let dump = Listed::new(tasks.iter().map(|task| task.header().id()).collect());
        let blocking = IN_PLACE.lock().clone();
        for id in blocking {
            dump.0.settle(id, None);
        }
        for task in tasks {
            task.wake();
            if task.is_complete() {
                dump.0.settle(task.header().id(), None);
            }
        }
        dump
    }
}

impl Handle {
    /// Finds out where each task of the runtime waits.
    ///
    /// Each task is polled once more, in a mode in which its leaf operations (channels, locks, timers, I/O) only take a
    /// backtrace; see [`trace_with`](super::trace_with). The workers go on meanwhile. A task is listed unless it was
    /// spawned later, has ended meanwhile, or is in [`block_in_place`](crate::task::block_in_place). Tasks of a
    /// [`LocalSet`](crate::task::LocalSet) and closures of the blocking pool are not listed.
    ///
    /// A current-thread runtime is dumped only by a future that it runs itself; for others the result is empty.
    ///
    /// The future waits until each task has been polled, so a task that blocks its worker keeps it waiting: use a
    /// [`timeout`](crate::time::timeout). Names and lines need debug information.
    ///
    /// # Cancel safety
    /// This function is cancel safe. Dropping the future ends the dump; tasks have at most been polled once more.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use tress::runtime::Handle;
    /// use tress::time::{sleep, timeout};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// tress::spawn(sleep(Duration::from_secs(60)));
    /// let dump = timeout(Duration::from_secs(10), Handle::current().dump()).await.unwrap();
    /// for task in dump.tasks().iter() {
    ///     println!("task {}:\n{}", task.id(), task.trace());
    /// }
    /// # });
    /// ```
    pub async fn dump(&self) -> Dump {
        let dump = self.shared.begin_dump();
        poll_fn(|cx| dump.0.poll(cx)).await
    }

    /// Returns whether the present poll is traced, for a dump or by
    /// [`Trace::capture`](super::Trace::capture).
    #[doc(hidden)]
    pub fn is_tracing() -> bool {
        crate::task::leaf::is_tracing()
    }
}
