//! What a thread knows about the runtime it is in.
//!
//! One thread-local of plain cells without a destructor: reading it is a load, and it still works
//! while the thread's other thread-locals are being destroyed.

use crate::runtime::Shared;
use crate::scheduler::{Driving, Worker};
use crate::sys::FastRand;
use crate::task::coop::Budget;
use crate::task::{Header, LocalSetShared, Slab};
use std::cell::Cell;
use std::ptr::{self, NonNull};
use std::sync::Arc;

pub(crate) struct Context {
    /// The worker that this thread is, while it has a core; null elsewhere.
    pub(crate) worker: Cell<*const Worker>,
    /// The current-thread runtime that this thread drives; null elsewhere.
    pub(crate) driving: Cell<*const Driving>,
    /// The task cells this thread may allocate and free without synchronisation.
    pub(crate) slab: Cell<Option<NonNull<Slab>>>,
    /// The task being polled or dropped.
    pub(crate) task: Cell<Option<NonNull<Header>>>,
    /// The running task asked to go to the tail of its queue.
    pub(crate) yielded: Cell<bool>,
    pub(crate) budget: Cell<Budget>,
    /// What a poll begins with in the entered runtime.
    full_budget: Cell<Budget>,
    /// Task ids set aside for this thread: next, end.
    pub(crate) ids: Cell<(u64, u64)>,
    pub(crate) rng: FastRand,
    pub(crate) rng_seeded: Cell<bool>,
    /// The entered runtime; kept alive by the guard that entered it.
    runtime: Cell<*const Shared>,
    /// Guards alive on this thread, to notice when they go in the wrong order.
    depth: Cell<usize>,
    pub(crate) enter: Cell<Enter>,
    /// The `LocalSet` (its shared part) whose tasks may be spawned here; the cell owns a count.
    pub(crate) local_set: Cell<*const LocalSetShared>,
}

/// How the thread came to be in a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Enter {
    /// It did not, or only by `Handle::enter`: it may block.
    No,
    /// It drives futures; blocking it would stall them. `block_in_place` is possible if allowed.
    Driving { allow_block_in_place: bool },
}

impl Context {
    const fn new() -> Context {
        Context {
            worker: Cell::new(ptr::null()),
            driving: Cell::new(ptr::null()),
            slab: Cell::new(None),
            task: Cell::new(None),
            yielded: Cell::new(false),
            budget: Cell::new(Budget::UNCONSTRAINED),
            full_budget: Cell::new(Budget::DEFAULT),
            ids: Cell::new((0, 0)),
            rng: FastRand::new(0),
            rng_seeded: Cell::new(false),
            runtime: Cell::new(ptr::null()),
            depth: Cell::new(0),
            enter: Cell::new(Enter::No),
            local_set: Cell::new(ptr::null()),
        }
    }
}

#[cfg(not(loom))]
thread_local! {
    static CONTEXT: Context = const { Context::new() };
}

#[cfg(loom)]
loom::thread_local! {
    static CONTEXT: Context = Context::new();
}

#[inline(always)]
pub(crate) fn with<R>(f: impl FnOnce(&Context) -> R) -> R {
    CONTEXT.with(f)
}

/// Marks a task as the running one until dropped.
///
/// Tasks nest: a `LocalSet` runs its tasks inside the poll of another one. A yield of the outer
/// task must not be taken for one of the inner.
pub(crate) struct TaskGuard {
    task: Option<NonNull<Header>>,
    yielded: bool,
}

#[inline]
pub(crate) fn enter_task(task: NonNull<Header>) -> TaskGuard {
    with(|cx| TaskGuard {
        task: cx.task.replace(Some(task)),
        yielded: cx.yielded.replace(false),
    })
}

impl Drop for TaskGuard {
    #[inline]
    fn drop(&mut self) {
        with(|cx| {
            cx.task.set(self.task);
            cx.yielded.set(self.yielded);
        });
    }
}

/// Marks a runtime as the current one until dropped.
#[derive(Debug)]
pub(crate) struct RuntimeGuard {
    current: Arc<Shared>,
    previous: *const Shared,
    previous_budget: Budget,
    depth: usize,
}

pub(crate) fn enter_runtime(shared: Arc<Shared>) -> RuntimeGuard {
    with(|cx| {
        let depth = cx.depth.get() + 1;
        cx.depth.set(depth);
        RuntimeGuard {
            previous: cx.runtime.replace(Arc::as_ptr(&shared)),
            previous_budget: cx.full_budget.replace(shared.budget),
            current: shared,
            depth,
        }
    })
}

impl Drop for RuntimeGuard {
    fn drop(&mut self) {
        with(|cx| {
            if cx.depth.get() != self.depth {
                // Subtle: leaving `current` in place would dangle once this guard's count is
                // gone, so it is leaked with the panic.
                std::mem::forget(self.current.clone());
                if !std::thread::panicking() {
                    panic!(
                        "an EnterGuard was dropped before one that was made after it; \
                         drop guards in the reverse order of their creation"
                    );
                }
                return;
            }
            cx.depth.set(self.depth - 1);
            cx.runtime.set(self.previous);
            cx.full_budget.set(self.previous_budget);
        });
    }
}

/// What a poll begins with here.
#[inline]
pub(crate) fn full_budget() -> Budget {
    with(|cx| cx.full_budget.get())
}

/// The entered runtime, if there is one.
pub(crate) fn runtime() -> Option<Arc<Shared>> {
    let raw = with(|cx| cx.runtime.get());
    // SAFETY: the pointer came from an `Arc` that the guard still holds. Not by way of a reference,
    // which would not reach the counts.
    (!raw.is_null()).then(|| unsafe {
        Arc::increment_strong_count(raw);
        Arc::from_raw(raw)
    })
}

/// Calls `f` with the entered runtime, if there is one.
#[inline]
pub(crate) fn with_runtime<R>(f: impl FnOnce(&Shared) -> R) -> Option<R> {
    let raw = with(|cx| cx.runtime.get());
    // SAFETY: set by a guard of this thread that holds an `Arc` and unsets it when dropped. `f`
    // cannot drop that guard: it is not given out by reference.
    NonNull::new(raw.cast_mut()).map(|shared| f(unsafe { shared.as_ref() }))
}

/// A number below `n` from this thread's generator.
pub(crate) fn random_below(n: u32) -> u32 {
    with(|cx| {
        if !cx.rng_seeded.replace(true) {
            cx.rng.replace(crate::sys::SeedGenerator::entropy());
        }
        cx.rng.below(n)
    })
}

/// What code that runs on a stack of its own may have entered and not left when it suspends: it takes
/// that along, and the thread gets back what it had.
#[cfg(all(feature = "coroutine", unix, not(loom)))]
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Surroundings {
    runtime: *const Shared,
    full_budget: Budget,
    depth: usize,
    enter: Enter,
    local_set: *const LocalSetShared,
}

#[cfg(all(feature = "coroutine", unix, not(loom)))]
#[inline]
pub(crate) fn surroundings() -> Surroundings {
    with(|cx| Surroundings {
        runtime: cx.runtime.get(),
        full_budget: cx.full_budget.get(),
        depth: cx.depth.get(),
        enter: cx.enter.get(),
        local_set: cx.local_set.get(),
    })
}

/// Puts other surroundings in place; returns the present ones.
#[cfg(all(feature = "coroutine", unix, not(loom)))]
#[inline]
pub(crate) fn exchange_surroundings(other: Surroundings) -> Surroundings {
    let present = surroundings();
    // Nearly always they are the same.
    if present != other {
        with(|cx| {
            cx.runtime.set(other.runtime);
            cx.full_budget.set(other.full_budget);
            cx.depth.set(other.depth);
            cx.enter.set(other.enter);
            cx.local_set.set(other.local_set);
        });
    }
    present
}
