//! Coroutines that borrow from the one that started them.

use super::builder::STACK_SIZE;
use super::fiber::{self, Cancelled, Fiber};
use super::wait;
use crate::runtime::Scheduler;
use crate::scheduler::Pinned;
use crate::task::{Id, JoinHandle, Origin};
use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::thread;

/// Runs `f` with a [`Scope`] for coroutines that may borrow, and waits until all of them are over.
///
/// They run on the caller's own worker, one at a time, switching where they wait: so neither they nor
/// what they borrow need be `Send` or `Sync`, and work to be done in parallel goes to
/// [`spawn`](super::spawn()). If `f` panics, or the caller is cancelled, they are unwound before that
/// goes on.
///
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
///
/// # Panics
/// Outside of a coroutine; and, when all are over, with the panic of a child that nobody
/// [joined](ScopedJoinHandle::join).
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    fiber::to_suspend("coroutine::scope");
    let scope = Scope {
        children: RefCell::new(Vec::new()),
        panic: Rc::default(),
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
    let panic = scope.panic.take();
    match (result, panic) {
        (Ok(output), None) => output,
        (Ok(_), Some(payload)) | (Err(payload), _) => resume_unwind(payload),
    }
}

/// Where coroutines that borrow are spawned; given to the function that [`scope()`] runs.
pub struct Scope<'scope, 'env: 'scope> {
    children: RefCell<Vec<Child>>,
    /// The first panic of a child whose handle is gone.
    panic: Rc<RefCell<Option<Box<dyn Any + Send>>>>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

type Body = Box<dyn FnOnce()>;
/// Shared by the scope, which ends what is in it, and the child's task, which runs it.
type Slot = Rc<RefCell<Option<Pin<Box<Fiber<Body, ()>>>>>>;

struct Child {
    slot: Slot,
    task: JoinHandle<()>,
}

impl<'scope> Scope<'scope, '_> {
    /// Spawns a coroutine that ends before the scope does. It may spawn siblings.
    ///
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
    ///
    /// # Panics
    /// Outside of the scope's coroutine and its children.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + 'scope,
        T: 'scope,
    {
        let control = fiber::current("Scope::spawn");
        control.check();
        let outcome = Rc::new(RefCell::new(Outcome::<T>::Running(None)));
        let to = Fulfil {
            outcome: outcome.clone(),
            panic: self.panic.clone(),
        };
        let body: Box<dyn FnOnce() + 'scope> = Box::new(move || {
            let result = catch_unwind(AssertUnwindSafe(f));
            match result {
                // The scope ends us.
                Err(payload) if payload.is::<Cancelled>() => resume_unwind(payload),
                result => to.fulfil(result),
            }
        });
        // SAFETY: only the lifetime changes. The scope does not return before the fiber that holds it
        // is gone: it has ended, or `tear_down` has dropped it.
        let body = unsafe { std::mem::transmute::<Box<dyn FnOnce() + 'scope>, Body>(body) };
        let slot: Slot = Rc::new(RefCell::new(Some(Box::pin(Fiber::new(body, STACK_SIZE)))));
        let (id, origin) = (Id::next(), Origin::unnamed(Location::caller()));
        let future = |pinned| Shell {
            slot: slot.clone(),
            _pinned: pinned,
        };
        // SAFETY: the runtime runs the coroutine that calls this. The shell is not `Send`: it is pinned
        // to the worker before it is queued, or belongs to a runtime that runs on this thread, or
        // leaves what it shares alone.
        let task = unsafe {
            match &(*control.shared).scheduler {
                Scheduler::Multi(multi) => {
                    multi.spawn_pinned(&*control.shared, |pinned| future(Some(pinned)), id, origin)
                }
                Scheduler::Current(current) => {
                    Some(current.spawn(&*control.shared, future(None), id, origin))
                }
            }
        };
        let task = task.expect("a started coroutine runs on its worker");
        self.children.borrow_mut().push(Child { slot, task });
        ScopedJoinHandle {
            outcome,
            panic: self.panic.clone(),
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
            while !child.task.is_finished() {
                let waited = catch_unwind(AssertUnwindSafe(|| wait(&mut child.task)));
                if let Err(payload) = waited {
                    self.children.borrow_mut().push(child);
                    resume_unwind(payload);
                }
            }
        }
    }

    /// Unwinds all that are left. On one thread, none of them can be running.
    fn tear_down(&self) {
        loop {
            let Some(child) = self.children.borrow_mut().pop() else {
                return;
            };
            let fiber = child.slot.borrow_mut().take();
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(fiber))) {
                self.panic.borrow_mut().get_or_insert(payload);
            }
            // The shell that is left may wait for a wake-up that does not come.
            child.task.abort();
        }
    }
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
    slot: Slot,
    _pinned: Option<Pinned>,
}

impl Future for Shell {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut slot = self.slot.borrow_mut();
        let polled = match slot.as_mut() {
            Some(fiber) => fiber.as_mut().poll(cx),
            // The scope has ended it.
            None => Poll::Ready(()),
        };
        if polled.is_ready() {
            *slot = None;
        }
        polled
    }
}

enum Outcome<T> {
    /// With whoever joins it.
    Running(Option<Waker>),
    Done(thread::Result<T>),
    Taken,
}

/// Where a child's result goes.
struct Fulfil<T> {
    outcome: Rc<RefCell<Outcome<T>>>,
    panic: Rc<RefCell<Option<Box<dyn Any + Send>>>>,
}

impl<T> Fulfil<T> {
    fn fulfil(self, result: thread::Result<T>) {
        // Only we have it: the handle is gone.
        if Rc::strong_count(&self.outcome) == 1 {
            if let Err(payload) = result {
                self.panic.borrow_mut().get_or_insert(payload);
            }
            return;
        }
        let before = self.outcome.replace(Outcome::Done(result));
        if let Outcome::Running(Some(waiter)) = before {
            waiter.wake();
        }
    }
}

/// The right to the result of a coroutine in a [`Scope`]. Dropping it does nothing to the coroutine.
pub struct ScopedJoinHandle<'scope, T> {
    outcome: Rc<RefCell<Outcome<T>>>,
    panic: Rc<RefCell<Option<Box<dyn Any + Send>>>>,
    scope: PhantomData<&'scope mut &'scope ()>,
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits for the coroutine to end.
    ///
    /// # Errors
    /// What it panicked with.
    ///
    /// # Panics
    /// Outside of a coroutine.
    #[track_caller]
    pub fn join(self) -> thread::Result<T> {
        wait(poll_fn(|cx| {
            let mut outcome = self.outcome.borrow_mut();
            match std::mem::replace(&mut *outcome, Outcome::Taken) {
                Outcome::Done(result) => Poll::Ready(result),
                Outcome::Running(_) => {
                    *outcome = Outcome::Running(Some(cx.waker().clone()));
                    Poll::Pending
                }
                Outcome::Taken => unreachable!("a handle is joined once"),
            }
        }))
    }

    /// True once its result is there.
    pub fn is_finished(&self) -> bool {
        matches!(&*self.outcome.borrow(), Outcome::Done(_))
    }
}

impl<T> Drop for ScopedJoinHandle<'_, T> {
    fn drop(&mut self) {
        // A panic that nobody asked for is the scope's.
        if let Outcome::Done(Err(payload)) = self.outcome.replace(Outcome::Taken) {
            self.panic.borrow_mut().get_or_insert(payload);
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
