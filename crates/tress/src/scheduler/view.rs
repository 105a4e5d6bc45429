//! A view: a queue of tasks, and a limit on how many of them run at a time on somebody's threads.
//!
//! A view has no threads. When a task becomes ready it goes to the view's queue; while fewer *drains*
//! are under way than the limit allows, one more is sent to where the view gets its threads from: the
//! workers, the blocking pool, or another view. A drain runs tasks until the queue is empty. Who owes a
//! drain, and when one ends, is `queue.rs`'s affair.

mod queue;

use crate::runtime::{AtShutdown, Shared};
use crate::spans::What;
use crate::sys::{Counter, Mutex};
use crate::task::{
    self, Id, JoinHandle, Origin, Owner, Parent, Ran, Ready, Roaming, Source, TaskRef, Woken,
};
use queue::{Queue, Queued};
use std::cell::Cell;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::ptr;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

/// Tasks a drain runs before it lets those beside it have the thread.
const BATCH: usize = 32;

// D-DISP-01
pub(crate) struct View {
    owner: Owner<View>,
    queue: Queue<Ready>,
    base: Base,
    shared: Weak<Shared>,
    number: u64,
    submitted: Counter,
    completed: Counter,
    polled: Counter,
}

/// What a view has done and has in hand.
pub(crate) struct ViewStats {
    pub(crate) name: String,
    pub(crate) limit: usize,
    /// Ready tasks and drains under way; none if its lock could not be had.
    pub(crate) now: Option<(usize, usize)>,
    pub(crate) submitted: u64,
    pub(crate) completed: u64,
    pub(crate) polled: u64,
}

/// Whose threads a view uses.
pub(crate) enum Base {
    /// The runtime's workers.
    Workers,
    /// The blocking pool.
    Pool,
    View(Arc<View>),
}

thread_local! {
    /// The view whose task this thread runs.
    static CURRENT: Cell<*const View> = const { Cell::new(ptr::null()) };
}

impl Parent for View {
    type Whole = View;

    fn schedule(task: Woken<View>) {
        // Subtle: once queued the task may finish and take the view with it, so we hold our own count.
        let view = task.hold();
        view.push(task.into_ready());
    }
}

// SAFETY: `View::spawn` takes only what is `Send`.
unsafe impl Roaming for View {}

impl View {
    pub(crate) fn new(shared: &Arc<Shared>, base: Base, limit: usize) -> Arc<View> {
        let view = Arc::new(View {
            owner: Owner::new(),
            queue: Queue::new(limit),
            base,
            shared: Arc::downgrade(shared),
            number: shared.views.made.number(),
            submitted: Counter::default(),
            completed: Counter::default(),
            polled: Counter::default(),
        });
        view.owner.set_whole(&view);
        if shared.tracks_latency() {
            view.owner.stamp_tasks();
        }
        if let Some(on_panic) = shared.scheduler.station(0).owner.on_panic() {
            view.owner.set_on_panic(on_panic.clone());
        }
        shared.views.add(&view);
        view
    }

    pub(crate) fn limit(&self) -> usize {
        self.queue.limit()
    }

    pub(crate) fn spawn<F>(
        self: &Arc<Self>,
        future: F,
        at: &'static Location<'static>,
    ) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (id, origin) = (Id::next(), Origin::unnamed(at));
        let origin = match self.shared.upgrade() {
            Some(shared) => shared.adopt(id, origin, What::task::<F>()),
            None => origin,
        };
        // SAFETY: the owner has its whole; the bounds are what any thread needs to run it.
        let (task, handle) = unsafe { task::new(future, &self.owner, Source::System, id, origin) };
        self.submitted.add_shared(1);
        self.push(task);
        handle
    }

    /// Queues a READY task, and sees to it that somebody runs it.
    fn push(self: &Arc<Self>, task: Ready) {
        match self.queue.push(task) {
            Queued::Nothing => {}
            Queued::SendDrain => self.send_drain(),
            Queued::Refused(task) => task.refuse(),
        }
    }

    fn send_drain(self: &Arc<Self>) {
        let drain = Drain(Some(self.clone()));
        let at = Location::caller();
        match (&self.base, self.shared.upgrade()) {
            (Base::View(under), _) => drop(under.spawn(drain, at)),
            (Base::Workers, Some(shared)) => drop(shared.spawn(drain, at)),
            (Base::Pool, Some(shared)) => {
                let refused =
                    shared.try_spawn_blocking(move || drain.run(), at, AtShutdown::Cancel);
                if let Err((_, run)) = refused {
                    // No thread can be had: late is better than never. Closing, this is refused too.
                    drop(shared.spawn(async move { run() }, at));
                }
            }
            // The drain says that it is gone when it is dropped.
            (Base::Workers | Base::Pool, None) => drop(drain),
        }
    }

    /// Runs one task. False: there is none, and the drain has been counted out.
    fn run_one(&self) -> bool {
        let Some(task) = self.queue.next() else {
            return false;
        };
        self.polled.add_shared(1);
        let before = CURRENT.replace(self);
        let ran = task.run();
        CURRENT.set(before);
        match ran {
            Ran::Idle => {}
            Ran::Complete => self.completed.add_shared(1),
            Ran::Requeue(task) => {
                if let Err(task) = self.queue.requeue(task) {
                    task.refuse();
                }
            }
        }
        true
    }

    /// Does this thread run a task of this view, or of one over it?
    pub(crate) fn is_current(&self) -> bool {
        let mut view = CURRENT.get();
        // SAFETY: set while a drain, which holds the view, runs on this thread; a view holds the one
        // under it.
        while let Some(current) = unsafe { view.as_ref() } {
            if ptr::eq(current, self) {
                return true;
            }
            view = match &current.base {
                Base::View(under) => Arc::as_ptr(under),
                Base::Workers | Base::Pool => ptr::null(),
            };
        }
        false
    }

    /// What threads it uses, the number of its making and its limit.
    fn name(&self) -> String {
        match &self.base {
            Base::Workers => format!("workers-{}", self.number),
            Base::Pool => format!("pool-{}", self.number),
            Base::View(under) => format!("{}/{}", under.name(), self.number),
        }
    }

    fn stats(&self, is_io: bool) -> ViewStats {
        ViewStats {
            name: if is_io { "io".into() } else { self.name() },
            limit: self.limit(),
            now: self.queue.look(),
            submitted: self.submitted.get(),
            completed: self.completed.get(),
            polled: self.polled.get(),
        }
    }

    fn live_tasks(&self) -> Vec<TaskRef> {
        let mut tasks = self.owner.live_tasks();
        tasks.retain(|task| !task.is_complete());
        tasks
    }

    /// Drops every task that is not being polled, and lets none in.
    fn close(&self) {
        let queued = self.queue.close();
        for task in self.live_tasks() {
            // SAFETY: tasks of a view may be dropped on any thread.
            let _ = unsafe { task.shut_down() };
        }
        queued.into_iter().for_each(Ready::refuse);
    }
}

/// Is this thread outside of all views? A worker is, unless a drain runs on it.
pub(crate) fn none_is_current() -> bool {
    CURRENT.get().is_null()
}

/// Runs a view's tasks. Counted in the view until it ends.
struct Drain(Option<Arc<View>>);

impl Drain {
    /// On a thread of the pool: to the end.
    fn run(mut self) {
        if let Some(view) = self.0.take() {
            while view.run_one() {}
        }
    }
}

/// Beside other tasks: a batch at a time.
impl Future for Drain {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(view) = &self.0 {
            for _ in 0..BATCH {
                if !view.run_one() {
                    self.0 = None;
                    return Poll::Ready(());
                }
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Drop for Drain {
    fn drop(&mut self) {
        // It was refused or cut short: the runtime has shut down. The view may have been made after
        // that closed the others.
        if let Some(view) = self.0.take() {
            view.queue.lose_drain();
            view.close();
        }
    }
}

/// The views of a runtime, to be closed with it.
#[derive(Default)]
pub(crate) struct Views {
    all: Mutex<Vec<Weak<View>>>,
    /// The view that all users of `io` share.
    io: Mutex<Option<Arc<View>>>,
    made: Counter,
}

impl Views {
    fn add(&self, view: &Arc<View>) {
        let mut all = self.all.lock();
        // A list that only grows would be a leak; looking at all of it each time would be slow.
        if all.len() == all.capacity() {
            all.retain(|view| view.strong_count() > 0);
        }
        all.push(Arc::downgrade(view));
    }

    /// The shared view over the blocking pool.
    pub(crate) fn io(&self, shared: &Arc<Shared>, limit: usize) -> Arc<View> {
        let mut io = self.io.lock();
        io.get_or_insert_with(|| View::new(shared, Base::Pool, limit))
            .clone()
    }

    fn alive(&self) -> Vec<Arc<View>> {
        self.all.lock().iter().filter_map(Weak::upgrade).collect()
    }

    /// What each view has done; none if they could not be looked at.
    pub(crate) fn stats(&self) -> Option<Vec<ViewStats>> {
        let all: Vec<_> = self
            .all
            .lock_soon()?
            .iter()
            .filter_map(Weak::upgrade)
            .collect();
        let io = self.io.lock_soon()?.clone();
        let is_io = |view: &Arc<View>| io.as_ref().is_some_and(|io| Arc::ptr_eq(io, view));
        Some(all.iter().map(|view| view.stats(is_io(view))).collect())
    }

    /// Adds the tasks of all views without waiting for a lock. Returns false if some are missing.
    pub(crate) fn try_live_tasks(&self, tasks: &mut Vec<TaskRef>) -> bool {
        let Some(all) = self.all.lock_soon() else {
            return false;
        };
        let all: Vec<_> = all.iter().filter_map(Weak::upgrade).collect();
        let mut whole = true;
        for view in &all {
            whole &= view.owner.try_live_tasks(tasks);
        }
        whole
    }

    /// Tasks of all views that are not over.
    pub(crate) fn live_tasks(&self) -> Vec<TaskRef> {
        self.alive()
            .iter()
            .flat_map(|view| view.live_tasks())
            .collect()
    }

    /// The runtime shuts down.
    pub(crate) fn close(&self) {
        for view in self.alive() {
            view.close();
        }
    }
}
