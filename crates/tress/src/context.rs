//! What a thread knows about the runtime it is in.
//!
//! One thread-local of plain cells without a destructor: reading it is a load, and it still works
//! while the thread's other thread-locals are being destroyed.

mod stack;

pub(crate) use stack::{Frame, Held, Stack, hold};

use crate::runtime::Shared;
use crate::scheduler::{Driving, Worker};
use crate::sys::atomic::Ordering;
use crate::sys::plain::AtomicU64;
use crate::sys::{FastRand, thread_local};
use crate::task::coop::Budget;
use crate::task::{Header, LocalSetShared, Slab};
use std::cell::Cell;
use std::ptr::{self, NonNull};
use std::sync::Arc;

pub(crate) struct Context {
    /// The thread's `Worker`, on a worker thread; null elsewhere.
    pub(crate) worker: Cell<*const Worker>,
    /// The current-thread runtime that this thread drives; null elsewhere.
    pub(crate) driving: Cell<*const Driving>,
    /// The task cells this thread may allocate and free without synchronisation.
    pub(crate) slab: Cell<Option<NonNull<Slab>>>,
    /// The task being polled or dropped.
    pub(crate) task: Cell<Option<NonNull<Header>>>,
    /// The stack in use, if it is a coroutine's; null while it is the thread's own.
    pub(crate) stack: Cell<*const Stack>,
    /// The running task asked to go to the tail of its queue.
    pub(crate) yielded: Cell<bool>,
    pub(crate) budget: Cell<Budget>,
    surroundings: Cell<Surroundings>,
    /// Task ids set aside for this thread: next, end.
    pub(crate) ids: Cell<(u64, u64)>,
    pub(crate) rng: FastRand,
    pub(crate) rng_seeded: Cell<bool>,
    /// Numbers of guards and surroundings set aside for this thread: next, end.
    numbers: Cell<(u64, u64)>,
}

/// What is entered and left again. Code that runs on a stack of its own may suspend in between: it takes all of this
/// along, and the thread gets back what it had before.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Surroundings {
    /// Every change takes a new number, which was never used before on any thread: where the numbers are equal, so is
    /// the rest.
    #[cfg(all(feature = "coroutine", unix, not(loom)))]
    number: u64,
    /// The entered runtime; kept alive by the guard that entered it, or, for a coroutine that has entered none, by
    /// its task.
    runtime: *const Shared,
    /// The number of the innermost guard that has entered a runtime here, or 0. No two guards have the same number,
    /// so one that is dropped in the wrong place is not taken for another.
    guard: u64,
    /// The `LocalSet` (its shared part) whose tasks may be spawned here; a count is owned.
    local_set: *const LocalSetShared,
    /// The budget that a poll begins with in the entered runtime.
    full_budget: Budget,
    enter: Enter,
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
            stack: Cell::new(ptr::null()),
            yielded: Cell::new(false),
            budget: Cell::new(Budget::UNCONSTRAINED),
            surroundings: Cell::new(Surroundings {
                #[cfg(all(feature = "coroutine", unix, not(loom)))]
                number: 0,
                runtime: ptr::null(),
                guard: 0,
                local_set: ptr::null(),
                full_budget: Budget::DEFAULT,
                enter: Enter::No,
            }),
            ids: Cell::new((0, 0)),
            rng: FastRand::new(0),
            rng_seeded: Cell::new(false),
            numbers: Cell::new((0, 0)),
        }
    }

    #[inline]
    pub(crate) fn enter(&self) -> Enter {
        self.surroundings.get().enter
    }

    pub(crate) fn set_enter(&self, enter: Enter) {
        self.change(|present| present.enter = enter);
    }

    #[inline]
    pub(crate) fn local_set(&self) -> *const LocalSetShared {
        self.surroundings.get().local_set
    }

    /// Replaces the current `LocalSet`. The count that was owned becomes the caller's, and the new one's becomes
    /// ours.
    pub(crate) fn replace_local_set(&self, set: *const LocalSetShared) -> *const LocalSetShared {
        self.change(|present| std::mem::replace(&mut present.local_set, set))
    }

    fn change<R>(&self, f: impl FnOnce(&mut Surroundings) -> R) -> R {
        let mut present = self.surroundings.get();
        let result = f(&mut present);
        #[cfg(all(feature = "coroutine", unix, not(loom)))]
        {
            present.number = self.new_number();
        }
        self.surroundings.set(present);
        result
    }

    /// Returns a number that was never given out before, on any thread; not 0.
    fn new_number(&self) -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        const BLOCK: u64 = 1 << 16;
        let (mut next, mut end) = self.numbers.get();
        if next == end {
            next = NEXT.fetch_add(BLOCK, Ordering::Relaxed);
            end = next + BLOCK;
        }
        self.numbers.set((next + 1, end));
        next
    }
}

thread_local! {
    static CONTEXT: Context = const { Context::new() };
}

#[inline(always)]
pub(crate) fn with<R>(f: impl FnOnce(&Context) -> R) -> R {
    // One closure for all: otherwise each caller would have its own copy of what the key does.
    let context = CONTEXT.with(ptr::from_ref);
    // SAFETY: it has no destructor, so it lives as long as this thread, on which `f` is called.
    f(unsafe { &*context })
}

/// Marks a task as the running one until dropped.
///
/// Tasks nest: a `LocalSet` runs its tasks inside the poll of another one. A yield of the outer task must not be
/// taken for a yield of the inner one.
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

/// What a guard that enters a runtime found, and puts back.
#[derive(Debug)]
struct Before {
    runtime: *const Shared,
    guard: u64,
    full_budget: Budget,
}

impl Before {
    /// Enters a runtime as the guard of that number.
    fn enter(shared: &Arc<Shared>, number: u64) -> Before {
        with(|cx| {
            cx.change(|present| Before {
                runtime: std::mem::replace(&mut present.runtime, Arc::as_ptr(shared)),
                guard: std::mem::replace(&mut present.guard, number),
                full_budget: std::mem::replace(&mut present.full_budget, shared.budget),
            })
        })
    }

    fn put_back(&self) {
        with(|cx| {
            cx.change(|present| {
                present.runtime = self.runtime;
                present.guard = self.guard;
                present.full_budget = self.full_budget;
            });
        });
    }
}

/// Marks a runtime as the current one until dropped. The guard is the user's: it may be forgotten, kept, or dropped
/// on another stack than it was made on.
#[derive(Debug)]
pub(crate) struct RuntimeGuard {
    current: Arc<Shared>,
    number: u64,
    before: Before,
}

pub(crate) fn enter_runtime(shared: Arc<Shared>) -> RuntimeGuard {
    let number = with(Context::new_number);
    RuntimeGuard {
        number,
        before: Before::enter(&shared, number),
        current: shared,
    }
}

impl Drop for RuntimeGuard {
    fn drop(&mut self) {
        let innermost = with(|cx| {
            let outer =
                stack::in_use(|stack| stack.is_some_and(|stack| stack.base.get() == self.number));
            cx.surroundings.get().guard == self.number && !outer
        });
        if innermost {
            self.before.put_back();
            return;
        }
        // Subtle: the runtime is still the current one, here, on the stack it was made on or for a guard inside of
        // it, and would dangle once this guard's count is gone: the count stays.
        std::mem::forget(self.current.clone());
        if !std::thread::panicking() {
            panic!(
                "an EnterGuard was dropped before one that was made after it, or in another coroutine than \
                 it was made in; drop guards where they were made, in the reverse order of their creation"
            );
        }
    }
}

/// Marks a runtime as the current one for as long as one of our functions runs, which drops it on its way out:
/// whatever was entered meanwhile and not left is left then.
#[derive(Debug)]
pub(crate) struct Within {
    before: Before,
    /// Kept until the thread is out of it.
    _current: Arc<Shared>,
}

impl Within {
    pub(crate) fn enter(shared: Arc<Shared>) -> Within {
        Within {
            before: Before::enter(&shared, with(Context::new_number)),
            _current: shared,
        }
    }
}

impl Drop for Within {
    fn drop(&mut self) {
        // What was there before is alive: a guard that was dropped meanwhile, and was not the innermost, has left its
        // count.
        self.before.put_back();
    }
}

/// Returns the budget that a poll begins with here.
#[inline]
pub(crate) fn full_budget() -> Budget {
    with(|cx| cx.surroundings.get().full_budget)
}

/// Returns the entered runtime, if there is one.
pub(crate) fn runtime() -> Option<Arc<Shared>> {
    let raw = with(|cx| cx.surroundings.get().runtime);
    // SAFETY: the pointer came from an `Arc` that the guard still holds. Not through a reference, which would not
    // cover the counts.
    (!raw.is_null()).then(|| unsafe {
        Arc::increment_strong_count(raw);
        Arc::from_raw(raw)
    })
}

/// Calls `f` with the entered runtime, if there is one.
#[inline]
pub(crate) fn with_runtime<R>(f: impl FnOnce(&Shared) -> R) -> Option<R> {
    let raw = with(|cx| cx.surroundings.get().runtime);
    // SAFETY: set by a guard of this thread that holds an `Arc` and unsets it when dropped; or it is the runtime
    // of the coroutine that calls this. `f` cannot drop that guard, which borrows a handle: foreign code that it
    // calls, such as a waker, is `'static`, and reaches only guards whose handles are never dropped.
    NonNull::new(raw.cast_mut()).map(|shared| f(unsafe { shared.as_ref() }))
}

/// Returns a number below `n` from this thread's generator.
pub(crate) fn random_below(n: u32) -> u32 {
    with(|cx| {
        if !cx.rng_seeded.replace(true) {
            cx.rng.replace(crate::sys::SeedGenerator::entropy());
        }
        cx.rng.below(n)
    })
}

#[cfg(all(feature = "coroutine", unix, not(loom)))]
impl Surroundings {
    /// Returns those of this thread.
    #[inline]
    pub(crate) fn present() -> Surroundings {
        with(|cx| cx.surroundings.get())
    }

    /// Returns whether these are the present ones, and nothing has been entered or left meanwhile. If so, this is the
    /// thread they were taken from.
    #[inline]
    pub(crate) fn are_present(&self) -> bool {
        with(|cx| cx.surroundings.get().number) == self.number
    }

    /// Returns those that a task of this runtime begins with, whatever its thread has entered.
    pub(crate) fn of_task(shared: &Shared) -> Surroundings {
        with(|cx| Surroundings {
            number: cx.new_number(),
            runtime: ptr::from_ref(shared),
            guard: 0,
            local_set: ptr::null(),
            full_budget: shared.budget,
            enter: shared.enter_of_tasks(),
        })
    }

    /// Returns whether a coroutine with these, in which the guard `base` is its thread's innermost, has entered
    /// nothing, and its thread, with `outside`, is where such a coroutine would be. Then they may share one set until
    /// either changes it: nothing that is counted is in it twice.
    pub(crate) fn are_like(&self, outside: &Surroundings, base: u64) -> bool {
        self.guard == base
            && self.runtime == outside.runtime
            && self.local_set.is_null()
            && outside.local_set.is_null()
            && self.full_budget == outside.full_budget
            && self.enter == outside.enter
    }

    /// Returns the innermost guard's number.
    pub(crate) fn guard(&self) -> u64 {
        self.guard
    }

    /// Makes them the present ones. The caller keeps those that were there.
    pub(crate) fn put_in_place(self) {
        with(|cx| cx.surroundings.set(self));
    }
}
