//! Time limits for parts of a coroutine.
//!
//! A limit is a timer on the stack of the coroutine that set it, linked to the limits around it. They are
//! looked at where the coroutine would suspend; the outermost one that has passed makes it unwind from
//! there to the call that set it.

use super::fiber::{self, Control};
use crate::task::{self, coop};
use crate::time::{self, Sleep, error::Elapsed};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::ptr;
use std::task::Context;
use std::time::Duration;

pub(super) struct Deadline<'a> {
    sleep: RefCell<Pin<&'a mut Sleep>>,
    passed: Cell<bool>,
    outer: *const Deadline<'static>,
}

/// What a coroutine unwinds with whose time is up, with the deadline's address.
struct Expired(usize);

/// Runs a part of a coroutine for at most `duration`.
///
/// When the time is up, `f` unwinds from where it waits, or from its next wait: destructors run,
/// and this function returns an error. Code that catches the unwinding meets it again at its next
/// wait. Code that does not wait is not interrupted, and neither is a [`shield`](super::shield).
/// Timeouts can be nested; the outermost that has passed takes effect.
///
/// # Errors
/// Returns [`Elapsed`] if the time was up before `f` returned.
///
/// # Panics
/// Panics if called outside of a coroutine, if the runtime was built without
/// [`enable_time`](crate::runtime::Builder::enable_time), if `f` panics, and in a program built
/// with `panic = "abort"`, where nothing can unwind.
///
/// # Examples
/// ```
/// use tress::coroutine;
/// use tress::time::Duration;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let task = coroutine::spawn(|| {
///     let quick = coroutine::timeout(Duration::from_secs(60), || 5);
///     let late = coroutine::timeout(Duration::from_millis(1), || {
///         coroutine::wait(std::future::pending::<()>());
///     });
///     (quick, late.is_err())
/// });
/// assert_eq!(task.await.unwrap(), (Ok(5), true));
/// # });
/// ```
#[track_caller]
pub fn timeout<R>(duration: Duration, f: impl FnOnce() -> R) -> Result<R, Elapsed> {
    let control = fiber::current("coroutine::timeout");
    control.check();
    if cfg!(panic = "abort") {
        panic!(
            "coroutine::timeout cannot interrupt a coroutine in a program built with panic = \"abort\": put \
             `time::timeout` around the futures that it waits for"
        );
    }
    let sleep = pin!(time::sleep(duration));
    let deadline = Deadline {
        sleep: RefCell::new(sleep),
        passed: Cell::new(false),
        outer: control.deadline.get(),
    };
    let address = ptr::from_ref(&deadline).addr();
    let result = {
        let _within = within(control, ptr::from_ref(&deadline).cast());
        catch_unwind(AssertUnwindSafe(f))
    };
    result.or_else(|payload| match payload.downcast_ref::<Expired>() {
        Some(Expired(whose)) if *whose == address => Err(Elapsed(())),
        _ => resume_unwind(payload),
    })
}

/// Runs `f` outside of all limits.
pub(super) fn unlimited<R>(control: &Control, f: impl FnOnce() -> R) -> R {
    let _within = within(control, ptr::null());
    f()
}

/// The coroutine runs within this limit until the result is dropped.
fn within<'a>(control: &'a Control, deadline: *const Deadline<'static>) -> Within<'a> {
    Within {
        control,
        before: control.deadline.replace(deadline),
    }
}

struct Within<'a> {
    control: &'a Control,
    before: *const Deadline<'static>,
}

impl Drop for Within<'_> {
    fn drop(&mut self) {
        self.control.deadline.set(self.before);
    }
}

/// Looks at the limits of a coroutine that is about to suspend, and makes it unwind if one has passed.
/// The others will wake it.
#[cold]
pub(super) fn check(control: &Control) {
    // SAFETY: a coroutine's task outlives what runs on its stack.
    let waker = unsafe { task::borrowed_waker(control.task) };
    let mut cx = Context::from_waker(&waker);
    let mut expired = None;
    let mut next = control.deadline.get();
    // SAFETY: each is on the stack of the coroutine that calls this, below us, and is unlinked before it
    // goes.
    while let Some(deadline) = unsafe { next.as_ref() } {
        if !deadline.passed.get() {
            let mut sleep = deadline.sleep.borrow_mut();
            // Without a budget: whoever has used it up must not be safe from them.
            let polled = coop::with_unconstrained(|| sleep.as_mut().poll(&mut cx));
            deadline.passed.set(polled.is_ready());
        }
        if deadline.passed.get() {
            expired = Some(Expired(next.addr()));
        }
        next = deadline.outer;
    }
    if let Some(expired) = expired {
        resume_unwind(Box::new(expired));
    }
}
