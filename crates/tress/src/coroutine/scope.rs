//! Coroutines that borrow from the one that started them.

use super::builder::STACK_SIZE;
use super::fiber::{self, Cancelled, Fiber};
use super::{wait, wait_as};
use crate::scheduler::Pinned;
use crate::spans::What;
use crate::sys::guarded;
use crate::task::{self, Home, Id, JoinError, JoinHandle, Origin};
use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::thread;

/// Creates a scope for coroutines that borrow from the calling one.
///
/// The function `f` gets a [`Scope`], in which it spawns coroutines that may borrow everything
/// outside of `f`. `scope` returns the result of `f` after all of them have ended. It is the
/// counterpart of [`std::thread::scope`] for coroutines.
///
/// Children run on the worker of the caller, one at a time, and switch where they wait. Therefore
/// neither they nor what they borrow need be `Send` or `Sync`. Use [`spawn`](super::spawn()) for
/// work that is to be done in parallel.
///
/// If `f` panics, or the caller is cancelled, the children are unwound before that continues.
///
/// # Panics
/// Panics under the conditions of [`wait`](super::wait), and if `f` panics. After all children have
/// ended, it panics if one of them has panicked and was not [joined](ScopedJoinHandle::join). A
/// child that gets no stack panics with a message that says so.
///
/// # Aborts
/// Aborts the process if a child cannot be ended, since it must not continue without what it
/// borrows.
///
/// # Examples
/// ```
/// use std::cell::Cell;
/// use tress::coroutine;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let sum = coroutine::spawn(|| {
///     let sum = Cell::new(0);
///     coroutine::scope(|scope| {
///         for n in 1..=4 {
///             let sum = &sum;
///             scope.spawn(move || {
///                 coroutine::yield_now();
///                 sum.set(sum.get() + n);
///             });
///         }
///     });
///     sum.get()
/// });
/// assert_eq!(sum.await.unwrap(), 10);
/// # });
/// ```
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    fiber::to_suspend("coroutine::scope");
    let scope = Scope {
        children: RefCell::new(Vec::new()),
        panics: Rc::default(),
        scope: PhantomData,
        env: PhantomData,
    };
    let result = catch_unwind(AssertUnwindSafe(|| {
        let output = f(&scope);
        scope.join_all();
        output
    }));
    // Not while unwinding: it runs children's destructors, which may panic too.
    scope.tear_down();
    match (result, scope.panics.take()) {
        (Ok(output), None) => output,
        (Ok(output), Some(payload)) => {
            guarded(|| drop(output));
            resume_unwind(payload)
        }
        (Err(payload), other) => {
            guarded(|| drop(other));
            resume_unwind(payload)
        }
    }
}

/// A scope in which coroutines that borrow are spawned; see [`scope()`].
///
/// # Examples
/// ```
/// use tress::coroutine::{self, Scope};
///
/// fn count<'scope>(scope: &'scope Scope<'scope, '_>, words: &'scope [&str]) -> usize {
///     let halves = words.split_at(words.len() / 2);
///     let first = scope.spawn(move || halves.0.concat().len());
///     halves.1.concat().len() + first.join().unwrap()
/// }
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let task = coroutine::spawn(|| {
///     let words = ["a", "few", "words"];
///     coroutine::scope(|scope| count(scope, &words))
/// });
/// assert_eq!(task.await.unwrap(), 9);
/// # });
/// ```
pub struct Scope<'scope, 'env: 'scope> {
    children: RefCell<Vec<Child>>,
    panics: Rc<Panics>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// Shared by the scope, which ends what is in it, and the child's task, which runs it. Borrowed while it runs.
type Slot = Rc<RefCell<Option<Body>>>;

struct Child {
    slot: Slot,
    task: JoinHandle<()>,
}

type Function = Box<dyn FnOnce()>;

/// What of a child must not outlive its scope.
struct Body {
    fiber: Pin<Box<Fiber<Function, ()>>>,
    outcome: Rc<dyn Fail>,
    panics: Rc<Panics>,
}

impl Body {
    /// The child is over, or will not go on: drops it, and passes a panic on, or that of a destructor.
    fn end(self, panic: Option<Payload>) {
        let Body {
            fiber,
            outcome,
            panics,
        } = self;
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(fiber)));
        for payload in panic.into_iter().chain(dropped.err()) {
            outcome.fail(payload);
        }
        // The result may be in it, if nobody wants it.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(outcome))) {
            panics.note(payload);
        }
    }
}

type Payload = Box<dyn Any + Send>;

/// The panics that nobody asks for: the first one is the scope's.
#[derive(Default)]
struct Panics(RefCell<Option<Payload>>);

impl Panics {
    fn note(&self, payload: Payload) {
        let later = {
            let mut first = self.0.borrow_mut();
            match &*first {
                None => {
                    *first = Some(payload);
                    None
                }
                Some(_) => Some(payload),
            }
        };
        // Outside of the borrow: its destructor is foreign code, and may panic as well.
        guarded(|| drop(later));
    }

    fn take(&self) -> Option<Payload> {
        self.0.borrow_mut().take()
    }
}

/// Returns what a child runs: `f`, whose result or panic goes to `outcome`.
fn body_of<'scope, F, T>(f: F, outcome: Rc<Outcome<T>>) -> Box<dyn FnOnce() + 'scope>
where
    F: FnOnce() -> T + 'scope,
    T: 'scope,
{
    Box::new(move || {
        let result = catch_unwind(AssertUnwindSafe(f));
        match result {
            // The scope ends us.
            Err(payload) if payload.is::<Cancelled>() => resume_unwind(payload),
            result => outcome.fulfil(result),
        }
    })
}

impl<'scope> Scope<'scope, '_> {
    /// Spawns a coroutine that ends before the scope does.
    ///
    /// The child may spawn siblings in the same scope. Its panic is returned by
    /// [`join`](ScopedJoinHandle::join); if it is not joined, the scope panics with it.
    ///
    /// # Panics
    /// Panics if called outside of the scope's coroutine and its children.
    ///
    /// # Examples
    /// ```
    /// use tress::coroutine;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let longest = coroutine::spawn(|| {
    ///     let words = ["a", "few", "words"];
    ///     coroutine::scope(|scope| {
    ///         let lengths = words.each_ref().map(|word| scope.spawn(|| word.len()));
    ///         lengths.into_iter().map(|length| length.join().unwrap()).max()
    ///     })
    /// });
    /// assert_eq!(longest.await.unwrap(), Some(5));
    /// # });
    /// ```
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + 'scope,
        T: 'scope,
    {
        let control = fiber::current("Scope::spawn");
        control.check();
        let outcome = Rc::new(Outcome {
            state: RefCell::new(State::<T>::Running(None)),
            panics: self.panics.clone(),
        });
        let body = body_of(f, outcome.clone());
        let fail: Rc<dyn Fail + 'scope> = outcome.clone();
        // SAFETY: only lifetimes change. Both are in the slot, and the scope does not return before that is empty:
        // the child has ended, or `tear_down` has dropped it. The slot is emptied on this thread only.
        let (body, fail) = unsafe {
            (
                std::mem::transmute::<Box<dyn FnOnce() + 'scope>, Function>(body),
                std::mem::transmute::<Rc<dyn Fail + 'scope>, Rc<dyn Fail>>(fail),
            )
        };
        let slot: Slot = Rc::new(RefCell::new(Some(Body {
            fiber: Box::pin(Fiber::new(body, STACK_SIZE)),
            outcome: fail,
            panics: self.panics.clone(),
        })));
        let (id, origin) = (Id::next(), Origin::unnamed(Location::caller()));
        let future = |pinned| Shell {
            slot: ManuallyDrop::new(slot.clone()),
            home: Home::here(),
            _pinned: pinned,
        };
        // SAFETY: the runtime runs the coroutine that calls this, whose task keeps it alive.
        let shared = unsafe { &*control.shared };
        let origin = shared.adopt(id, origin, What::task::<Shell>());
        let (place, pinned) = shared
            .scheduler
            .place_bound(shared)
            .expect("a started coroutine runs on its worker");
        let (owner, source) = (place.owner(), place.source());
        // SAFETY: the place says that this thread owns the slab. The shell is not `Send`: it is bound to the worker before
        // it is queued, or belongs to a current-thread runtime; there it leaves what it shares alone on every other thread.
        let (ready, task) = unsafe { task::new(future(pinned), owner, source, id, origin) };
        place.queue(ready);
        self.children.borrow_mut().push(Child { slot, task });
        ScopedJoinHandle {
            outcome,
            scope: PhantomData,
        }
    }

    /// Waits for all, those included that are spawned meanwhile.
    fn join_all(&self) {
        loop {
            let Some(mut child) = self.children.borrow_mut().pop() else {
                return;
            };
            // If the wait is cut short the child goes back to be torn down with the others.
            let mut ended = Ok(());
            while !child.task.is_finished() {
                let waited = catch_unwind(AssertUnwindSafe(|| wait(&mut child.task)));
                match waited {
                    Ok(result) => ended = result,
                    Err(payload) => {
                        self.children.borrow_mut().push(child);
                        resume_unwind(payload);
                    }
                }
            }
            let left = child.slot.borrow_mut().take();
            if let Some(body) = left {
                // Its task ended without it: on another thread, which must leave it alone.
                body.end(ended.err().map(payload_of));
            }
        }
    }

    /// Unwinds all that are left. On one thread, none of them can be running.
    ///
    /// Never unwinds itself: what is left would go on, and use what is gone.
    fn tear_down(&self) {
        let armed = AbortOnUnwind;
        loop {
            let Some(child) = self.children.borrow_mut().pop() else {
                break;
            };
            let body = match child.slot.try_borrow_mut() {
                Ok(mut slot) => slot.take(),
                Err(_) => abort("it is running"),
            };
            if let Some(body) = body {
                if cfg!(panic = "abort") {
                    abort("it cannot unwind where panics abort");
                }
                if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(body))) {
                    self.panics.note(payload);
                }
            }
            // The shell that is left may wait for a wake-up that does not come.
            child.task.abort();
        }
        std::mem::forget(armed);
    }
}

/// What a child's handle gives whose task has ended without it.
fn payload_of(error: JoinError) -> Payload {
    match error.try_into_panic() {
        Ok(payload) => payload,
        Err(error) => Box::new(error.to_string()),
    }
}

struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        abort("its end panics");
    }
}

/// A scope cannot end a child. It must not return, and has nobody to wait for.
#[cold]
fn abort(why: &str) -> ! {
    eprintln!(
        "tress: `coroutine::scope` cannot end a coroutine that borrows from it: {why}; aborting"
    );
    std::process::abort()
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope")
            .field("children", &self.children.borrow().len())
            .finish_non_exhaustive()
    }
}

/// The task of a child: runs what is in the slot.
struct Shell {
    slot: ManuallyDrop<Slot>,
    /// Where alone it may touch it.
    home: Home,
    _pinned: Option<Pinned>,
}

impl Future for Shell {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        assert!(self.home.is_here(), "{}", fiber::ELSEWHERE);
        let mut slot = self.slot.borrow_mut();
        let Some(body) = &mut *slot else {
            // The scope has ended it.
            return Poll::Ready(());
        };
        let panic = match body.fiber.as_mut().go_on() {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(result)) => result.err(),
            // A panic like any other, with its message.
            Err(no_stack) => catch_unwind(AssertUnwindSafe(|| panic!("{no_stack}"))).err(),
        };
        let body = slot.take();
        drop(slot);
        if let Some(body) = body {
            body.end(panic);
        }
        Poll::Ready(())
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        if !self.home.is_here() {
            // Its scope, whose stack is there, has the other count; both stay.
            return;
        }
        // SAFETY: not used again.
        let slot = unsafe { ManuallyDrop::take(&mut self.slot) };
        let left = slot.try_borrow_mut().map(|mut slot| slot.take());
        if let Ok(Some(body)) = left {
            // Its runtime shuts down before it is over.
            body.end(Some(Box::new(
                "the coroutine was cancelled: its runtime shuts down",
            )));
        }
    }
}

/// A child's result, and the waker of the task that joins it.
struct Outcome<T> {
    state: RefCell<State<T>>,
    panics: Rc<Panics>,
}

enum State<T> {
    /// With whoever joins it.
    Running(Option<Waker>),
    Done(thread::Result<T>),
    /// The handle has it, or is gone.
    Taken,
}

impl<T> Outcome<T> {
    fn fulfil(&self, result: thread::Result<T>) {
        let mut state = self.state.borrow_mut();
        let State::Running(waiter) = &mut *state else {
            drop(state);
            // The handle is gone, or this is a panic after the result.
            if let Err(payload) = result {
                self.panics.note(payload);
            }
            return;
        };
        let waiter = waiter.take();
        *state = State::Done(result);
        drop(state);
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }
}

/// A result of any type, for code that can only give a panic.
trait Fail {
    fn fail(&self, payload: Payload);
}

impl<T> Fail for Outcome<T> {
    fn fail(&self, payload: Payload) {
        self.fulfil(Err(payload));
    }
}

/// The right to the result of a coroutine in a [`Scope`]; see [`Scope::spawn`].
///
/// Dropping it leaves the coroutine running. The scope waits for it in any case.
///
/// # Examples
/// ```
/// use tress::coroutine::{self, ScopedJoinHandle};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let task = coroutine::spawn(|| {
///     coroutine::scope(|scope| {
///         let child: ScopedJoinHandle<'_, u32> = scope.spawn(|| 5);
///         child.join().unwrap()
///     })
/// });
/// assert_eq!(task.await.unwrap(), 5);
/// # });
/// ```
pub struct ScopedJoinHandle<'scope, T> {
    outcome: Rc<Outcome<T>>,
    scope: PhantomData<&'scope mut &'scope ()>,
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits until the coroutine has ended, and returns its result.
    ///
    /// # Errors
    /// Returns the payload of the panic if the coroutine panicked, also if it got no stack.
    ///
    /// # Panics
    /// Panics under the conditions of [`wait`](super::wait).
    ///
    /// # Examples
    /// ```
    /// use tress::coroutine;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let task = coroutine::spawn(|| {
    ///     coroutine::scope(|scope| {
    ///         let fine = scope.spawn(|| 5).join();
    ///         let failed = scope.spawn(|| panic!("as expected")).join();
    ///         (fine.unwrap(), failed.is_err())
    ///     })
    /// });
    /// assert_eq!(task.await.unwrap(), (5, true));
    /// # });
    /// ```
    #[track_caller]
    pub fn join(self) -> thread::Result<T> {
        wait_as(
            "ScopedJoinHandle::join",
            poll_fn(|cx| {
                let mut state = self.outcome.state.borrow_mut();
                match &mut *state {
                    State::Running(waiter) => {
                        *waiter = Some(cx.waker().clone());
                        Poll::Pending
                    }
                    State::Done(_) => match std::mem::replace(&mut *state, State::Taken) {
                        State::Done(result) => Poll::Ready(result),
                        _ => unreachable!("looked at just now"),
                    },
                    State::Taken => unreachable!("a handle is joined once"),
                }
            }),
        )
    }

    /// Returns `true` if the coroutine has ended and its result can be joined without waiting.
    ///
    /// # Examples
    /// ```
    /// use tress::coroutine;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let task = coroutine::spawn(|| {
    ///     coroutine::scope(|scope| {
    ///         let child = scope.spawn(|| 5);
    ///         while !child.is_finished() {
    ///             coroutine::yield_now();
    ///         }
    ///         child.join().unwrap()
    ///     })
    /// });
    /// assert_eq!(task.await.unwrap(), 5);
    /// # });
    /// ```
    pub fn is_finished(&self) -> bool {
        matches!(&*self.outcome.state.borrow(), State::Done(_))
    }
}

impl<T> Drop for ScopedJoinHandle<'_, T> {
    fn drop(&mut self) {
        // A panic that nobody asked for is the scope's.
        if let State::Done(Err(payload)) = self.outcome.state.replace(State::Taken) {
            self.outcome.panics.note(payload);
        }
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle")
            .field("is_finished", &self.is_finished())
            .finish_non_exhaustive()
    }
}
