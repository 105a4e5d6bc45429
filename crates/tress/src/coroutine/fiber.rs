//! A coroutine as a future: each poll goes on with it until it suspends.

use super::deadline::{self, Deadline};
use super::overflow::{self, Watched};
use super::park::Coroutine;
use super::stack::{self, Stack};
use crate::context::{self, Held, Surroundings};
use crate::runtime::Shared;
use crate::scheduler::{self, Pinned, Spread};
use crate::sys::guarded;
use crate::task::{self, Header, Home};
use corosensei::{Coroutine as Stackful, CoroutineResult, Yielder};
use std::any::Any;
use std::cell::{Cell, OnceCell};
use std::fmt;
use std::future::Future;
use std::io;
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
    /// First: the thread's context has a pointer to it while the coroutine runs.
    pub(super) stack: context::Stack,
    pub(super) task: NonNull<Header>,
    yielder: Cell<*const Yielder<(), ()>>,
    /// The innermost limit on its time, or null.
    pub(super) deadline: Cell<*const Deadline<'static>>,
    /// The runtime whose task it is, and that keeps alive.
    pub(super) shared: *const Shared,
    /// The bounds of its stack, for whoever handles a fault.
    pub(super) watched: Watched,
    /// Made when somebody asks for it.
    pub(super) identity: OnceCell<Coroutine>,
}

/// How often a coroutine goes to the tail of the queue, to be stolen, before it starts on a worker that
/// has many already: if somebody is on the way to steal. It takes a thread longer to wake than a worker to
/// start dozens of them.
// D-CORO-03
const PATIENCE: u8 = 16;
/// How many of these times one counts for if no thread is on the way.
const UNAWAITED: u8 = 4;

/// What is said where a coroutine would change threads.
pub(super) const ELSEWHERE: &str = "a coroutine cannot go on where it did not start: call `block_on` of a current-thread runtime with \
     coroutines from one thread only, or use a multi-thread runtime";

/// What a cancelled coroutine unwinds with.
pub(super) struct Cancelled;

/// The coroutine on whose stack this thread runs, if it is one's.
#[inline(always)]
fn here<'a>() -> Option<&'a Control> {
    let stack = context::with(|cx| cx.stack.get());
    // SAFETY: set by `resume` while the coroutine runs on this thread, from a pointer to its control; it lives
    // longer than what runs on its stack, and only that can call this.
    unsafe { stack.cast::<Control>().as_ref() }
}

/// The same, unless another task is being polled on its stack.
#[inline(always)]
fn own<'a>() -> Option<&'a Control> {
    here().filter(|control| {
        context::with(|cx| cx.task.get()) == Some(control.task) || control.stack.cancelled.get()
    })
}

/// The coroutine that calls this.
///
/// # Panics
/// Outside of one, or in the poll of another task that runs on its stack.
#[track_caller]
#[inline(always)]
pub(super) fn current<'a>(what: &str) -> &'a Control {
    match own() {
        Some(control) => control,
        None => not_in_one(what),
    }
}

/// The coroutine that calls this, which is about to suspend. Begins to unwind if it was cancelled.
///
/// # Panics
/// As [`current`], and where it cannot suspend.
#[track_caller]
#[inline(always)]
pub(super) fn to_suspend<'a>(what: &str) -> &'a Control {
    let control = current(what);
    control.check();
    if control.stack.held.get() != Held::No {
        cannot_suspend(what, control.stack.held.get());
    }
    control
}

#[cold]
#[track_caller]
fn not_in_one(what: &str) -> ! {
    panic!(
        "{what} can only be called in a coroutine: start one with `coroutine::spawn`, or use `.await` \
         in asynchronous code"
    )
}

#[cold]
#[track_caller]
fn cannot_suspend(what: &str, held: Held) -> ! {
    let instead = match held {
        Held::No => unreachable!("nothing keeps it from suspending"),
        Held::Polling => {
            "a future that the coroutine itself polls: there use `.await` and the asynchronous variant"
        }
        Held::InPlace => {
            "`block_in_place` or a `block_on` in it: wait before or after it, or use `.await` in what \
             `block_on` is given"
        }
        Held::Borrowing => {
            "`LocalKey::with`: the value is borrowed; copy what you need out of it first"
        }
    };
    panic!("{what} cannot suspend the coroutine inside of {instead}")
}

/// The stack that this thread runs on, if it is a coroutine's. Called by a signal handler.
pub(super) fn watched<'a>() -> Option<&'a Watched> {
    here().map(|control| &control.watched)
}

/// Is the caller a coroutine that may suspend?
pub(super) fn is_current() -> bool {
    own().is_some_and(|control| control.stack.held.get() == Held::No)
}

impl Control {
    /// Lets others run until the task is woken. The caller has it from [`to_suspend`].
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
        if !self.stack.frames.get().is_null() {
            self.stack.take_out();
        }
        // SAFETY: set when the coroutine began, and it is the one that runs.
        unsafe { (*self.yielder.get()).suspend(()) };
        if !self.stack.frames.get().is_null() && !self.stack.put_back() {
            no_place();
        }
        self.check();
    }

    /// Begins to unwind if the coroutine was cancelled.
    #[inline]
    pub(super) fn check(&self) {
        if self.stack.cancelled.get() {
            unwind();
        }
    }
}

#[cold]
fn unwind() -> ! {
    resume_unwind(Box::new(Cancelled))
}

#[cold]
fn no_place() -> ! {
    panic!(
        "a coroutine inside of `LocalKey::sync_scope` cannot go on: its thread is inside of `with` on the \
         same key, or ends"
    )
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

/// There is no stack for a coroutine that was about to start.
pub(super) struct NoStack {
    size: usize,
    error: io::Error,
}

impl fmt::Display for NoStack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no stack of {} bytes for a coroutine: {}; raise the limits on memory and mappings (ulimit -v, \
             vm.max_map_count) or ask for less",
            self.size, self.error
        )
    }
}

impl<F: FnOnce() -> T, T> State<F, T> {
    /// Starts a new one. False if it would rather wait for another worker to take it. If it cannot it stays as
    /// it is.
    #[inline(never)]
    fn begin(&mut self) -> Result<bool, NoStack> {
        let State::New {
            patience,
            stack_size,
            ..
        } = self
        else {
            return Ok(true);
        };
        if *patience > 0 {
            let turns = match scheduler::spread() {
                Spread::Even => 0,
                Spread::Awaited => 1,
                Spread::Uneven => UNAWAITED,
            };
            *patience = patience.saturating_sub(turns);
            if turns > 0 {
                return Ok(false);
            }
        }
        let size = *stack_size;
        let stack = stack::take(size).map_err(|error| NoStack { size, error })?;
        if let State::New { f, .. } = std::mem::replace(self, State::Done) {
            *self = State::Running(Running::start(f, stack));
        }
        Ok(true)
    }
}

impl<F: FnOnce() -> T, T> Fiber<F, T> {
    /// Goes on with it: its result is what it returned or panicked with.
    ///
    /// # Panics
    /// On another thread than it has started on.
    #[inline(always)]
    pub(super) fn go_on(self: Pin<&mut Self>) -> Result<Poll<thread::Result<T>>, NoStack> {
        // SAFETY: nothing is moved out of a running coroutine's state.
        let state = unsafe { &mut self.get_unchecked_mut().state };
        if let State::New { .. } = state {
            if !state.begin()? {
                task::requeue_after_poll();
                return Ok(Poll::Pending);
            }
        }
        let State::Running(running) = state else {
            panic!("a coroutine was polled after it had ended");
        };
        match running.resume() {
            None => Ok(Poll::Pending),
            Some(result) => {
                *state = State::Done;
                Ok(Poll::Ready(result))
            }
        }
    }
}

impl<F: FnOnce() -> T, T> Future for Fiber<F, T> {
    type Output = T;

    #[inline]
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<T> {
        match self.go_on() {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(Ok(output))) => Poll::Ready(output),
            Ok(Poll::Ready(Err(payload))) => resume_unwind(payload),
            Err(no_stack) => panic!("{no_stack}"),
        }
    }
}

impl<T> Running<T> {
    /// Prepares the running task, whose future this becomes, to run on a stack and binds it to this thread.
    fn start<F: FnOnce() -> T>(f: F, stack: Stack) -> Running<T> {
        overflow::prepare();
        let task = context::with(|cx| cx.task.get()).expect("polled by its task");
        // SAFETY: the running task is alive. Coroutines are spawned on runtimes only, so that is what its owner
        // is part of; what else is entered on this thread does not matter.
        let shared: *const Shared = unsafe { task.as_ref() }.parent();
        // SAFETY: as above; an unfinished task keeps its runtime.
        let (pinned, inside) = unsafe {
            (
                Pinned::running(task, shared),
                Surroundings::of_task(&*shared),
            )
        };
        let watched = Watched {
            guard: stack.guard(),
            size: stack.size(),
            task: task.as_ptr(),
        };
        let control = stack.room::<Control>();
        // SAFETY: nobody else uses the stack, and there is room for it.
        unsafe {
            control.write(Control {
                stack: context::Stack::new(),
                task,
                shared,
                watched,
                yielder: Cell::new(ptr::null()),
                deadline: Cell::new(ptr::null()),
                identity: OnceCell::new(),
            });
        }
        let body = move |yielder: &Yielder<(), ()>, ()| {
            here()
                .expect("`resume` has just set it")
                .yielder
                .set(yielder);
            catch_unwind(AssertUnwindSafe(f))
        };
        Running {
            // SAFETY: the closure lives as long as the coroutine, which does not outlive the future
            // that `f` came in: that is what `with_stack` asks a 'static bound for.
            coroutine: Some(unsafe { Stackful::with_stack_unchecked(stack, body) }),
            control,
            home: Home::here(),
            inside,
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
        let before = context::with(|cx| cx.stack.replace(self.control.as_ptr().cast()));
        let result = coroutine.resume(());
        context::with(|cx| cx.stack.set(before));
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

    /// It goes on in other surroundings than it was suspended in. Returns those, unless it has entered nothing
    /// and they are where a task of its runtime would be: then they are its own from now on.
    #[cold]
    fn move_in(&mut self) -> Option<Surroundings> {
        assert!(self.home.is_here(), "{ELSEWHERE}");
        // SAFETY: as long as there is a coroutine, and it is not running.
        let base = unsafe { &self.control.as_ref().stack.base };
        let outside = Surroundings::present();
        if self.inside.are_like(&outside, base.get()) {
            base.set(outside.guard());
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
            unsafe { self.control.as_ref() }.stack.cancelled.set(true);
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
        if cfg!(panic = "abort") || !self.home.is_here() {
            // It cannot unwind, or not here: a current-thread runtime was dropped by a thread that did not
            // run it. Its stack stays as it is, and what is on it alive, for whoever has a pointer there.
            std::mem::forget(self.coroutine.take());
            return;
        }
        if let Some(payload) = self.cancel() {
            if !thread::panicking() {
                resume_unwind(payload);
            }
            guarded(|| drop(payload));
        }
    }
}
