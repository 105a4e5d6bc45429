//! The shared part of a `LocalSet`: its tasks, its queues, and who may touch what.
//!
//! | part | touched by |
//! |---|---|
//! | `owner` | its slab: the set's thread; large cells and frees: everybody |
//! | `local` | the set's thread only |
//! | `remote` | everybody |
//!
//! Tasks hold the `Arc` through their cells, so wakers and handles may outlive the `LocalSet` and be
//! used and dropped anywhere. What makes that harmless is that the `LocalSet`, which cannot leave its
//! thread, completes every task before it goes: afterwards no wake-up can ask for a queue, and no
//! cell holds a future. Until then a wake-up from elsewhere only puts the task into `remote`.

use super::remote::Remote;
use crate::context::{self, Enter, Held};
use crate::spans::What;
use crate::sys::atomic::Ordering;
use crate::sys::plain::AtomicBool;
use crate::sys::take_next;
use crate::task::home::Home;
use crate::task::ready::LocalReady;
use crate::task::{self, Doomed, Id, JoinHandle, Origin, Owner, Parent, Ran, Slab, Source, Woken};
use crate::words;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::Location;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::task::Waker;

/// Tasks run in one poll of a driver.
const TICK: u32 = 61;
/// At every 31st poll a task that was woken elsewhere goes first.
const REMOTE_INTERVAL: u8 = 31;
/// Spawns served by the system allocator. A set that lives for a handful of tasks is not worth a
/// page, which is 64 KiB of zeroed memory.
const BEFORE_PAGES: usize = 32;

/// What a failed assertion says.
const ELSEWHERE: &str = "a bug in tress: a LocalSet was touched on another thread than its own";

/// See the module documentation.
pub(crate) struct Set {
    owner: Owner<Set>,
    home: Home,
    local: Local,
    remote: Remote,
    panics: Arc<Panics>,
}

// SAFETY: `owner` and `remote` synchronise by themselves. `local` is only reached through `local()`,
// whose callers are on the set's thread; on any other thread the value is at most dropped, and
// then the queue in it is empty.
unsafe impl Send for Set {}
// SAFETY: as above.
unsafe impl Sync for Set {}

struct Local {
    queue: RefCell<VecDeque<LocalReady>>,
    /// Polls so far, modulo 256.
    polls: Cell<u8>,
    spawned: Cell<usize>,
    /// Tasks that are not complete.
    alive: Cell<usize>,
    /// A driver is being polled, and will look at the queue before it returns.
    driven: Cell<bool>,
    ticking: Cell<bool>,
    closed: Cell<bool>,
}

/// Whether a panic of a task ends the set, and whether one has.
#[derive(Default)]
struct Panics {
    are_fatal: AtomicBool,
    happened: AtomicBool,
}

impl Panics {
    fn note(&self) {
        if self.are_fatal.load(Ordering::Relaxed) {
            self.happened.store(true, Ordering::Relaxed);
        }
    }
}

impl Parent for Set {
    type Whole = Set;

    fn schedule(task: Woken<Set>) {
        let set = ptr::from_ref(task.parent());
        if task.parent().home.is_here() && task.parent().local().driven.get() {
            // SAFETY: this is the set's thread, where a driver is being polled, which holds the set.
            let local = unsafe { (*set).local() };
            local.queue.borrow_mut().push_back(task.at_home());
            return;
        }
        // Subtle: once the task is queued or a waker is called, everything that kept the set alive
        // may go.
        let set = task.hold();
        set.schedule_slow(task);
    }
}

impl Woken<Set> {
    /// The task in the hands of the set's thread.
    ///
    /// # Panics
    /// On any other.
    pub(super) fn at_home(self) -> LocalReady {
        assert!(self.parent().home.is_here(), "{ELSEWHERE}");
        // SAFETY: as asked just now.
        unsafe { self.into_local() }
    }
}

impl Set {
    pub(super) fn new() -> Arc<Set> {
        let set = Arc::new(Set {
            owner: Owner::new(),
            home: Home::here(),
            local: Local {
                queue: RefCell::new(VecDeque::new()),
                polls: Cell::new(0),
                spawned: Cell::new(0),
                alive: Cell::new(0),
                driven: Cell::new(false),
                ticking: Cell::new(false),
                closed: Cell::new(false),
            },
            remote: Remote::new(),
            panics: Arc::default(),
        });
        set.owner.set_whole(&set);
        let panics = set.panics.clone();
        set.owner.set_on_panic(Arc::new(move || panics.note()));
        set
    }

    /// The part that belongs to the set's thread, on which the caller is: a `LocalSet` or its
    /// context is at hand, which stay there, or `home` was asked.
    fn local(&self) -> &Local {
        debug_assert!(self.home.is_here(), "{ELSEWHERE}");
        &self.local
    }

    pub(super) fn alive(&self) -> usize {
        self.local().alive.get()
    }

    /// Sets whether a panic of a task ends the set.
    pub(super) fn end_on_panic(&self, yes: bool) {
        self.panics.are_fatal.store(yes, Ordering::Relaxed);
    }

    fn has_panicked(&self) -> bool {
        self.panics.happened.load(Ordering::Relaxed)
    }

    /// Queues a task from outside of a poll of the set, and tells its drivers.
    fn schedule_slow(&self, task: Woken<Set>) {
        if self.home.is_here() {
            let task = task.at_home();
            self.local().queue.borrow_mut().push_back(task);
            self.remote.notify();
        } else {
            self.remote.push(task);
        }
    }

    /// Spawns a task. The caller is on the set's thread.
    pub(super) fn spawn<F>(
        &self,
        future: F,
        name: Option<&str>,
        at: &'static Location<'static>,
    ) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        let local = self.local();
        let id = Id::next();
        let origin = Origin::new(at, name).in_span(What::local::<F>(), id);
        if local.closed.get() {
            // SAFETY: the system allocator needs no slab. The future is dropped here and now, on
            // the thread it was made on.
            let (task, handle) =
                unsafe { task::new(future, &self.owner, Source::System, id, origin) };
            task.refuse();
            return handle;
        }
        local.spawned.set(local.spawned.get() + 1);
        local.alive.set(local.alive.get() + 1);
        let source = match local.spawned.get() <= BEFORE_PAGES {
            true => Source::System,
            false => Source::Page,
        };
        // SAFETY: this thread owns the slab until `close`. The future stays here: only this thread
        // takes tasks out of the queues, and `close` completes those that are left.
        let (task, handle) = unsafe { task::new(future, &self.owner, source, id, origin) };
        local.queue.borrow_mut().push_back(task.into());
        if !local.driven.get() {
            self.remote.notify();
        }
        handle
    }

    fn next(&self) -> Option<LocalReady> {
        let local = self.local();
        let polls = local.polls.get();
        local.polls.set(polls.wrapping_add(1));
        let remote = || self.remote.pop().map(Woken::at_home);
        let queued = || {
            take_next(&mut local.queue.borrow_mut(), |task| {
                task.header().id().get()
            })
        };
        if polls % REMOTE_INTERVAL == 0 {
            remote().or_else(queued)
        } else {
            queued().or_else(remote)
        }
    }

    /// Runs tasks, but not for ever.
    pub(super) fn tick(&self) {
        /// Also when a waker panics.
        struct Ticking<'a>(&'a Cell<bool>);
        impl Drop for Ticking<'_> {
            fn drop(&mut self) {
                self.0.set(false);
            }
        }

        let local = self.local();
        if local.ticking.replace(true) {
            // One of our own tasks drives the set. Running others inside of its poll would nest
            // as deep as there are such tasks; the tick that runs it goes on with them.
            return;
        }
        let _ticking = Ticking(&local.ticking);
        for _ in 0..TICK {
            if self.has_panicked() {
                self.drop_tasks();
                panic!("{}", words::UNHANDLED_LOCAL_PANIC);
            }
            let Some(task) = self.next() else { break };
            match task.run() {
                Ran::Idle => {}
                Ran::Complete => local.alive.set(local.alive.get() - 1),
                Ran::Requeue(task) => local.queue.borrow_mut().push_back(task),
            }
        }
    }

    /// Makes sure that a driver is polled again when there is something to run.
    pub(super) fn wait(&self, driver: usize, waker: &Waker) {
        let local = self.local();
        if local.ticking.get() {
            // It is polled by a task of the set itself: whoever drives that one is told.
            return;
        }
        if local.queue.borrow().is_empty() {
            // SAFETY: this thread owns the slab until `close`.
            unsafe { self.owner.tidy() };
            if self.remote.register(driver, waker) {
                return;
            }
        }
        waker.wake_by_ref();
    }

    /// A driver is done, or dropped. If it leaves work behind, the others are told.
    pub(super) fn leave(&self, driver: usize) {
        self.remote.forget(driver);
        let local = self.local();
        if !local.driven.get() && !local.queue.borrow().is_empty() {
            self.remote.notify();
        }
    }

    /// Drops all tasks, in the order in which they were spawned. Refuses new ones from now on.
    pub(super) fn close(self: &Arc<Self>) {
        entered(self, || self.drop_tasks());
        // SAFETY: this thread owns the slab and, as the set is closed, allocates nothing from it
        // any more; nor is it the thread's current one. We hold a reference to the set.
        unsafe { self.owner.retire() };
    }

    fn drop_tasks(&self) {
        let local = self.local();
        local.closed.set(true);
        while local.alive.get() > 0 {
            let queued = |doomed: &mut Doomed<LocalReady>| {
                let mut queue = std::mem::take(&mut *local.queue.borrow_mut());
                self.remote.drain_into(&mut queue);
                for task in queue {
                    doomed.add(task.header().id(), task);
                }
            };
            let mut live = self.owner.live_tasks();
            live.retain(|task| !task.is_complete());
            // SAFETY: we are on the set's thread.
            let completed = unsafe { task::drop_in_order(live, queued, LocalReady::refuse) };
            local.alive.set(local.alive.get() - completed);
            if completed == 0 {
                // None could be had: another thread has woken what is left and is about to
                // queue it.
                self.remote.wait_for_push();
            }
        }
    }

    /// The set in whose context this thread is.
    pub(super) fn current() -> Option<Arc<Set>> {
        let set = context::with(|cx| cx.local_set());
        // SAFETY: the cell holds a count on what it points to.
        (!set.is_null()).then(|| unsafe {
            Arc::increment_strong_count(set);
            Arc::from_raw(set)
        })
    }
}

/// Replaces the set in whose context this thread is.
///
/// The cell owns a count, since guards may be dropped in any order and long after their sets.
fn swap_current(set: Option<Arc<Set>>) -> Option<Arc<Set>> {
    let raw = set.map_or(ptr::null(), Arc::into_raw);
    let old = context::with(|cx| cx.replace_local_set(raw));
    // SAFETY: what is in the cell was put there by `into_raw` above and has just been taken out.
    (!old.is_null()).then(|| unsafe { Arc::from_raw(old) })
}

/// This thread is in the set's context: `spawn_local` finds it.
pub(super) struct InContext {
    previous: Option<Arc<Set>>,
    /// It belongs to this thread's context.
    _not_send: PhantomData<*const ()>,
}

impl InContext {
    pub(super) fn new(set: &Arc<Set>) -> InContext {
        InContext {
            previous: swap_current(Some(set.clone())),
            _not_send: PhantomData,
        }
    }
}

impl Drop for InContext {
    fn drop(&mut self) {
        drop(swap_current(self.previous.take()));
    }
}

/// Runs `f`, which runs or drops tasks of the set. A coroutine that calls this cannot suspend in it: the set
/// would be left half-way, and so would its thread.
pub(super) fn entered<R>(set: &Arc<Set>, f: impl FnOnce() -> R) -> R {
    let _entered = Entered::new(set);
    context::hold(Held::Polling, f)
}

struct Entered<'a> {
    set: &'a Set,
    driven: bool,
    slab: Option<NonNull<Slab>>,
    enter: Enter,
    _context: InContext,
}

impl<'a> Entered<'a> {
    fn new(set: &'a Arc<Set>) -> Entered<'a> {
        let slab = set.owner.slab();
        context::with(|cx| {
            let enter = cx.enter();
            if let Enter::Driving { .. } = enter {
                // No other thread could take the set over.
                cx.set_enter(Enter::Driving {
                    allow_block_in_place: false,
                });
            }
            Entered {
                set,
                driven: set.local().driven.replace(true),
                slab: cx.slab.replace(Some(slab)),
                enter,
                _context: InContext::new(set),
            }
        })
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.set.local().driven.set(self.driven);
        context::with(|cx| {
            cx.slab.set(self.slab);
            cx.set_enter(self.enter);
        });
    }
}
