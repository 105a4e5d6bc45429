//! A coroutine as a future: each poll goes on with it until it suspends.

use super::deadline::{self, Deadline};
use super::overflow::{self, Watched};
use super::park::Coroutine;
use super::stack::{self, Stack};
use crate::runtime::Shared;
use crate::runtime::context::{self, Surroundings};
use crate::scheduler::{self, Pinned, Spread};
use crate::task::{self, Header, Home};
use corosensei::{Coroutine as Stackful, CoroutineResult, Yielder};
use std::any::Any;
use std::cell::{Cell, OnceCell};
use std::future::Future;
use std::marker::PhantomPinned;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::ptr::{self, NonNull};
use std::task::{Context, Poll};
use std::thread;

/// What a running coroutine knows of itself. It lies at the top of the coroutine's stack, and what every
/// switch looks at comes first: a switch should touch as few cache lines as it can.
#[repr(C)]
pub(super) struct Control {
    pub(super) task: NonNull<Header>,
    yielder: Cell<*const Yielder<(), ()>>,
    /// The innermost limit on its time, or null.
    pub(super) deadline: Cell<*const Deadline<'static>>,
    /// It has to unwind, and may not suspend any more.
    cancelled: Cell<bool>,
    /// The runtime that runs it; kept alive by its task.
    pub(super) shared: *const Shared,
    /// The bounds of its stack, for whoever handles a fault.
    pub(super) watched: Watched,
    /// Made when somebody asks for it.
    pub(super) identity: OnceCell<Coroutine>,
}

/// How often a coroutine goes to the tail of the queue, to be stolen, before it starts on a worker that
/// has many already: if somebody is on the way to steal. It takes a thread longer to wake than a worker to
/// start dozens of them.
const PATIENCE: u8 = 16;
/// So many of these times does it count if nobody is.
const UNAWAITED: u8 = 4;

/// What a cancelled coroutine unwinds with.
pub(super) struct Cancelled;

thread_local! {
    /// The coroutine that runs on this thread.
    static CURRENT: Cell<*const Control> = const { Cell::new(ptr::null()) };
}

/// The coroutine that calls this.
///
/// # Panics
/// Outside of one, or in the poll of another task that a coroutine's `wait` drives.
#[track_caller]
#[inline(always)]
pub(super) fn current<'a>(what: &str) -> &'a Control {
    // SAFETY: set while the coroutine runs on this thread; it lives longer than what runs on its
    // stack, and only that can call this.
    let control = unsafe { CURRENT.get().as_ref() };
    let own = |control: &&Control| {
        context::with(|cx| cx.task.get()) == Some(control.task) || control.cancelled.get()
    };
    match control.filter(own) {
        Some(control) => control,
        None => not_in_one(what),
    }
}

#[cold]
#[track_caller]
fn not_in_one(what: &str) -> ! {
    panic!(
        "{what} can only be called in a coroutine: start one with `coroutine::spawn`, or use `.await` \
         in asynchronous code"
    )
}

/// The stack that this thread runs on, if it is a coroutine's. Called by a signal handler.
pub(super) fn watched<'a>() -> Option<&'a Watched> {
    // SAFETY: as above; the handler interrupts what runs on that stack.
    unsafe { CURRENT.get().as_ref() }.map(|control| &control.watched)
}

/// Is the caller a coroutine?
pub(super) fn is_current() -> bool {
    !CURRENT.get().is_null()
}

impl Control {
    /// Lets others run until the task is woken.
    #[inline(always)]
    pub(super) fn suspend(&self) {
        self.check();
        assert!(
            !thread::panicking(),
            "a coroutine cannot suspend while it unwinds: a destructor called `coroutine::wait`"
        );
        if !self.deadline.get().is_null() {
            deadline::check(self);
        }
        // SAFETY: set when the coroutine began, and it is the one that runs.
        unsafe { (*self.yielder.get()).suspend(()) };
        self.check();
    }

    /// Begins to unwind if the coroutine was cancelled.
    #[inline]
    pub(super) fn check(&self) {
        if self.cancelled.get() {
            unwind();
        }
    }
}

#[cold]
fn unwind() -> ! {
    resume_unwind(Box::new(Cancelled))
}

/// The future of a coroutine.
pub(super) struct Fiber<F, T> {
    state: State<F, T>,
    _pinned: PhantomPinned,
}

/// The tag comes first: with it, what a switch needs of `Running` fills one cache line of the task's cell.
#[repr(u8)]
enum State<F, T> {
    New {
        f: F,
        stack_size: usize,
        /// How often it may still put its start off.
        patience: u8,
    },
    Running(Running<T>),
    Done,
}

#[repr(C)]
struct Running<T> {
    /// None once it is done or was left behind.
    coroutine: Option<Stackful<(), (), thread::Result<T>, Stack>>,
    /// On its stack: ours as long as there is a coroutine.
    control: NonNull<Control>,
    /// What it had entered when it suspended. Only the number, which comes first, is looked at each time.
    inside: Surroundings,
    home: Home,
    /// Declared last: the worker counts it until its stack is gone.
    _pinned: Option<Pinned>,
}

impl<F, T> Fiber<F, T> {
    pub(super) fn new(f: F, stack_size: usize) -> Fiber<F, T> {
        Fiber {
            state: State::New {
                f,
                stack_size,
                patience: PATIENCE,
            },
            _pinned: PhantomPinned,
        }
    }
}

impl<F: FnOnce() -> T, T> State<F, T> {
    /// Starts a new one. False if it would rather wait for another worker to take it.
    #[inline(never)]
    fn begin(&mut self) -> bool {
        if let State::New { patience, .. } = self {
            if *patience > 0 {
                let turns = match scheduler::spread() {
                    Spread::Even => 0,
                    Spread::Awaited => 1,
                    Spread::Uneven => UNAWAITED,
                };
                *patience = patience.saturating_sub(turns);
                if turns > 0 {
                    return false;
                }
            }
        }
        if let State::New { f, stack_size, .. } = std::mem::replace(self, State::Done) {
            *self = State::Running(Running::start(f, stack_size));
        }
        true
    }
}

impl<F: FnOnce() -> T, T> Future for Fiber<F, T> {
    type Output = T;

    #[inline]
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<T> {
        // SAFETY: nothing is moved out of a running coroutine's state.
        let state = unsafe { &mut self.get_unchecked_mut().state };
        if let State::New { .. } = state {
            if !state.begin() {
                task::requeue_after_poll();
                return Poll::Pending;
            }
        }
        let State::Running(running) = state else {
            panic!("a coroutine was polled after it had ended");
        };
        match running.resume() {
            None => Poll::Pending,
            Some(result) => {
                *state = State::Done;
                match result {
                    Ok(output) => Poll::Ready(output),
                    Err(payload) => resume_unwind(payload),
                }
            }
        }
    }
}

impl<T> Running<T> {
    /// Takes a stack and binds the running task to this thread.
    fn start<F: FnOnce() -> T>(f: F, stack_size: usize) -> Running<T> {
        let pinned = Pinned::current_task();
        overflow::prepare();
        let stack = match stack::take(stack_size) {
            Ok(stack) => stack,
            Err(error) => panic!(
                "no stack of {stack_size} bytes for a coroutine: {error}; raise the limits on memory \
                 and mappings (ulimit -v, vm.max_map_count) or ask for less"
            ),
        };
        let task = context::with(|cx| cx.task.get()).expect("polled by its task");
        let shared = context::with_runtime(ptr::from_ref).expect("tasks run in their runtime");
        let watched = Watched {
            guard: stack.guard(),
            size: stack.size(),
            task: task.as_ptr(),
        };
        let control = stack.room::<Control>();
        // SAFETY: nobody else uses the stack, and there is room for it.
        unsafe {
            control.write(Control {
                task,
                shared,
                watched,
                yielder: Cell::new(ptr::null()),
                cancelled: Cell::new(false),
                deadline: Cell::new(ptr::null()),
                identity: OnceCell::new(),
            });
        }
        let body = move |yielder: &Yielder<(), ()>, ()| {
            // SAFETY: `resume` has just set it.
            unsafe { (*CURRENT.get()).yielder.set(yielder) };
            catch_unwind(AssertUnwindSafe(f))
        };
        Running {
            // SAFETY: the closure lives as long as the coroutine, which does not outlive the future
            // that `f` came in: that is what `with_stack` asks a 'static bound for.
            coroutine: Some(unsafe { Stackful::with_stack_unchecked(stack, body) }),
            control,
            home: Home::here(),
            inside: Surroundings::present(),
            _pinned: pinned,
        }
    }

    /// Runs it until it suspends, or ends: then with its result.
    #[inline(always)]
    fn resume(&mut self) -> Option<thread::Result<T>> {
        let outside = if self.inside.are_present() {
            None
        } else {
            self.move_in()
        };
        let coroutine = self.coroutine.as_mut()?;
        let before = CURRENT.replace(self.control.as_ptr());
        let result = coroutine.resume(());
        CURRENT.set(before);
        if outside.is_some() || !self.inside.are_present() {
            self.move_out(outside);
        }
        match result {
            CoroutineResult::Yield(()) => None,
            CoroutineResult::Return(result) => {
                self.clear();
                Some(result)
            }
        }
    }

    /// It goes on in other surroundings than it was suspended in. Returns those, unless they are like its
    /// own: then they are its own from now on.
    #[cold]
    fn move_in(&mut self) -> Option<Surroundings> {
        assert!(
            self.home.is_here(),
            "a coroutine cannot go on where it did not start: call `block_on` of a current-thread \
             runtime with coroutines from one thread only, or use a multi-thread runtime"
        );
        let outside = Surroundings::present();
        if self.inside.are_like(&outside) {
            self.inside = outside;
            None
        } else {
            self.inside.put_in_place();
            Some(outside)
        }
    }

    /// It has suspended in surroundings that are its own. Those of the thread were `outside`, or else what
    /// it went on in.
    #[cold]
    fn move_out(&mut self, outside: Option<Surroundings>) {
        let outside = outside.unwrap_or(self.inside);
        self.inside = Surroundings::present();
        outside.put_in_place();
    }

    /// Gives the stack of one that has ended back.
    #[inline(never)]
    fn clear(&mut self) {
        if let Some(coroutine) = self.coroutine.take() {
            // SAFETY: written at its start, and nothing runs on its stack any more.
            unsafe { self.control.drop_in_place() };
            stack::give(coroutine.into_stack());
        }
    }

    /// Ends one that has begun: it unwinds from where it is suspended. Its own panic is the result.
    fn cancel(&mut self) -> Option<Box<dyn Any + Send>> {
        while self.coroutine.is_some() {
            // SAFETY: as long as there is a coroutine; it is not running.
            unsafe { self.control.as_ref() }.cancelled.set(true);
            if let Some(Err(payload)) = self.resume() {
                return (!payload.is::<Cancelled>()).then_some(payload);
            }
        }
        None
    }
}

impl<T> Drop for Running<T> {
    fn drop(&mut self) {
        if self.coroutine.is_none() {
            return;
        }
        if !self.home.is_here() {
            // Its destructors may not run here, and what they would release is lost: a current-thread
            // runtime was dropped by a thread that did not run it.
            std::mem::forget(self.coroutine.take());
            return;
        }
        if let Some(payload) = self.cancel() {
            if !thread::panicking() {
                resume_unwind(payload);
            }
        }
    }
}
