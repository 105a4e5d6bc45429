//! The program of a host: what runs it, and what becomes of it.

use crate::kernel;
use crate::kernel::process::Status;
use crate::symbols::UNKNOWN_STATUS;
use crate::{Error, Result};
use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;
use tress::runtime;
use tress::sync::Notify;
use tress::task::LocalSet;

/// A program.
pub(crate) enum Main {
    /// Runs in a runtime that the simulation makes, and is dropped when it is to end.
    Future(Pin<Box<dyn Future<Output = Result>>>),
    /// Makes whatever it needs itself.
    Plain(Box<dyn FnOnce() -> Result>),
}

/// What a plain program may return: nothing, or a result.
///
/// An error ends the simulation, as for other programs.
pub trait Ending {
    #[doc(hidden)]
    fn into_result(self) -> Result;
}

impl Ending for () {
    fn into_result(self) -> Result {
        Ok(())
    }
}

impl<E: Into<Error>> Ending for std::result::Result<(), E> {
    fn into_result(self) -> Result {
        self.map_err(Into::into)
    }
}

/// What is shared by the thread of a host that runs a program, and the simulation.
#[derive(Default)]
pub(crate) struct Program {
    stop: Notify,
    outcome: RefCell<Option<Outcome>>,
}

/// How a program has ended.
pub(crate) enum Outcome {
    Returned,
    Failed(Error),
    Panicked(Box<dyn Any + Send>),
    /// The simulation has ended it.
    Stopped,
    /// A signal of the simulation has ended it.
    Signalled(i32),
}

impl From<Result> for Outcome {
    fn from(result: Result) -> Outcome {
        match result {
            Ok(()) => Outcome::Returned,
            Err(error) => Outcome::Failed(error),
        }
    }
}

impl Program {
    /// Has the program end. Its future is dropped when its thread runs next.
    pub(crate) fn stop(&self) {
        self.stop.notify_one();
    }

    /// Notes that the simulation has ended the program. What it has returned because of that does not count.
    pub(crate) fn was_stopped(&self) {
        *self.outcome.borrow_mut() = Some(Outcome::Stopped);
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.outcome.borrow().is_some()
    }

    /// Notes that the program was ended by a signal that the simulation has sent.
    pub(crate) fn was_signalled(&self, signal: i32) {
        *self.outcome.borrow_mut() = Some(Outcome::Signalled(signal));
    }

    /// Returns the signal that has ended the program.
    pub(crate) fn signal(&self) -> Option<i32> {
        match *self.outcome.borrow() {
            Some(Outcome::Signalled(signal)) => Some(signal),
            _ => None,
        }
    }

    /// Notes that the program has ended by itself.
    pub(crate) fn has_exited(&self, status: Status) {
        *self.outcome.borrow_mut() = Some(match status {
            Status::Exited(0) => Outcome::Returned,
            Status::Exited(UNKNOWN_STATUS) => Outcome::Failed(
                "the program has called `exit`, as another one of this process has done: the status is not known".into(),
            ),
            _ => Outcome::Failed(status.to_string().into()),
        });
    }

    /// Takes what went wrong, if it did.
    pub(crate) fn take_failure(&self) -> Option<Outcome> {
        let mut outcome = self.outcome.borrow_mut();
        match *outcome {
            Some(Outcome::Failed(_) | Outcome::Panicked(_)) => outcome.replace(Outcome::Returned),
            _ => None,
        }
    }

    /// Runs a program to its end, on a thread of its host.
    fn run(&self, main: impl FnOnce() -> Main) {
        let outcome = catch_unwind(AssertUnwindSafe(|| self.drive(main)));
        *self.outcome.borrow_mut() = Some(outcome.unwrap_or_else(Outcome::Panicked));
        if let Some(mut kernel) = kernel::here() {
            let process = kernel.running_process();
            kernel.disown_children(process);
            kernel.stop_soon();
        }
    }

    fn drive(&self, main: impl FnOnce() -> Main) -> Outcome {
        match main() {
            Main::Future(main) => self.drive_future(main),
            Main::Plain(main) => main().into(),
        }
    }

    fn drive_future(&self, mut main: Pin<Box<dyn Future<Output = Result>>>) -> Outcome {
        let runtime = match runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return Outcome::Failed(error.into()),
        };
        let local = LocalSet::new();
        let outcome = runtime.block_on(local.run_until(async {
            let mut stop = pin!(self.stop.notified());
            let outcome = poll_fn(|cx| {
                if stop.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(Outcome::Stopped);
                }
                main.as_mut().poll(cx).map(Outcome::from)
            });
            let outcome = outcome.await;
            // Here, where what it drops may still spawn, or need its runtime.
            drop(main);
            outcome
        }));
        {
            let _entered = runtime.enter();
            drop(local);
        }
        if matches!(outcome, Outcome::Stopped) {
            // What blocks on a machine that is switched off is not waited for.
            runtime.shutdown_background();
        }
        outcome
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program")
            .field("has_ended", &self.has_ended())
            .finish_non_exhaustive()
    }
}

/// Something that goes to another thread of the same simulation.
struct Carried<T>(T);

// SAFETY: threads of a simulation are run by one thread of the system, one at a time, and switch only in calls. So what
// is shared by them is never used by two at once, and each sees what the others have done. What they have of their own, their
// thread-local variables, is not reachable through a value.
unsafe impl<T> Send for Carried<T> {}

impl<T> Carried<T> {
    fn get(self) -> T {
        self.0
    }
}

/// Starts the thread that runs a program. The caller acts for its host.
///
/// # Errors
/// The system has no room for another thread.
///
/// # Safety
/// The program is run, or never again, before what `main` borrows ends.
pub(crate) unsafe fn start(
    name: &str,
    program: Rc<Program>,
    main: Box<dyn FnOnce() -> Main + '_>,
) -> std::io::Result<()> {
    let carried = Carried((program, main));
    let run = move || {
        let (program, main) = carried.get();
        program.run(main);
    };
    let thread = std::thread::Builder::new().name(name.to_string());
    // SAFETY: the caller's promise.
    let handle = unsafe { thread.spawn_unchecked(run)? };
    drop(handle);
    Ok(())
}
