//! Processes that are state machines.

use crate::command::{Command, CommandId};
use crate::event::Event;
use crate::exit::ProcessError;
use crate::host::Host;
use crate::payload::Payload;
use crate::pid::Pid;
use crate::slot::Chain;
use std::fmt;

/// A state machine that is stepped with events and yields commands.
///
/// A process is never stepped by two threads at once. [`init`](Process::init) runs before the first step, on
/// the scheduler. A panic in any of its functions ends the process and nothing else.
///
/// Start it with [`Host::process`].
///
/// # Examples
/// ```
/// use tress_actor::{Event, Events, Host, Payload, Process, ProcessContext, ProcessError, StepOutput};
///
/// /// Adds up the numbers it is sent, until it is sent a zero.
/// #[derive(Default)]
/// struct Adder(u64);
///
/// impl Process for Adder {
///     fn init(&mut self, _: &ProcessContext, method: &str, input: Payload) -> Result<(), ProcessError> {
///         match method {
///             "add" => self.0 = input.downcast().map_err(|_| "begin with a number")?,
///             _ => return Err(format!("there is no method {method}").into()),
///         }
///         Ok(())
///     }
///
///     fn step(&mut self, events: &mut Events<'_>, out: &mut StepOutput) -> Result<(), ProcessError> {
///         out.idle();
///         for event in events {
///             let Event::Message(message) = event else { continue };
///             match message.payload.downcast::<u64>() {
///                 Ok(0) => out.done(self.0),
///                 Ok(n) => self.0 += n,
///                 Err(other) => return Err(format!("cannot add {other:?}").into()),
///             }
///         }
///         Ok(())
///     }
/// }
///
/// #[tress::main]
/// async fn main() {
///     let host = Host::builder("main").start().unwrap();
///     let (pid, exit) = host.process(Adder::default()).method("add").input(40_u64).exec().unwrap();
///     host.send(pid, 2_u64).unwrap();
///     host.send(pid, 0_u64).unwrap();
///     let result = exit.await.into_result().unwrap();
///     assert_eq!(result.downcast::<u64>().unwrap(), 42);
/// }
/// ```
pub trait Process: Send + 'static {
    /// Prepares to run one of the process's methods.
    ///
    /// # Errors
    /// An error ends the process before its first step, with [`ExitReason::Failed`](crate::ExitReason::Failed).
    fn init(
        &mut self,
        cx: &ProcessContext<'_>,
        method: &str,
        input: Payload,
    ) -> Result<(), ProcessError>;

    /// Handles events, and says through `out` which commands it yields and when it is to be stepped again.
    ///
    /// A step gets at most 64 new events. Events that it leaves come first in the next step.
    ///
    /// # Errors
    /// An error ends the process with [`ExitReason::Failed`](crate::ExitReason::Failed).
    fn step(&mut self, events: &mut Events<'_>, out: &mut StepOutput) -> Result<(), ProcessError>;

    /// Called before [`close`](Process::close) if the process is ended from outside: it was terminated, a
    /// process that it is linked to has failed, or the runtime was shut down. Does nothing by default.
    fn abort(&mut self) {}

    /// Called when the process ends, to release what it holds. Does nothing by default.
    fn close(&mut self) {}
}

/// Where a process runs; given to [`Process::init`].
#[derive(Debug, Clone, Copy)]
pub struct ProcessContext<'a> {
    pub(crate) host: &'a Host,
    pub(crate) pid: Pid,
    pub(crate) parent: Option<Pid>,
}

impl<'a> ProcessContext<'a> {
    /// Returns the host.
    pub fn host(&self) -> &'a Host {
        self.host
    }

    /// Returns the PID of the process itself.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Returns the process that has started it, if one has.
    pub fn parent(&self) -> Option<Pid> {
        self.parent
    }
}

/// The events of a [step](Process::step), oldest first.
#[derive(Debug)]
pub struct Events<'a>(pub(crate) &'a mut Chain);

impl Events<'_> {
    /// Puts an event back, to be the next one.
    pub fn put_back(&mut self, event: Event) {
        self.0.push_front(event);
    }
}

impl Iterator for Events<'_> {
    type Item = Event;

    #[inline]
    fn next(&mut self) -> Option<Event> {
        self.0.pop()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.len(), Some(self.0.len()))
    }
}

impl ExactSizeIterator for Events<'_> {}

/// A command on its way to its handler.
#[derive(Debug)]
pub(crate) struct Yield {
    pub(crate) id: CommandId,
    pub(crate) tag: u64,
    pub(crate) payload: Payload,
}

/// When a process is to be stepped again.
#[derive(Debug, Default)]
pub(crate) enum Status {
    #[default]
    Continue,
    Idle,
    WaitForYields,
    Done(Payload),
    Stopped,
    Upgrade(Box<Upgrade>),
}

pub(crate) struct Upgrade {
    pub(crate) process: Box<dyn Process>,
    pub(crate) method: Box<str>,
    pub(crate) input: Payload,
}

impl fmt::Debug for Upgrade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upgrade")
            .field("method", &self.method)
            .field("input", &self.input)
            .finish_non_exhaustive()
    }
}

/// What a [step](Process::step) asks for: commands, and when to be stepped again. Two commands cost no
/// allocation.
///
/// The last call of [`go_on`](StepOutput::go_on), [`idle`](StepOutput::idle),
/// [`wait_for_yields`](StepOutput::wait_for_yields), [`done`](StepOutput::done),
/// [`stopped`](StepOutput::stopped) and [`upgrade`](StepOutput::upgrade) decides. Without any of them it is
/// `go_on`.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use tress_actor::command::builtin::Sleep;
/// use tress_actor::{Events, ProcessError, StepOutput};
///
/// fn step(_: &mut Events<'_>, out: &mut StepOutput) -> Result<(), ProcessError> {
///     out.command(Sleep(Duration::from_millis(10)), 1);
///     out.wait_for_yields();
///     Ok(())
/// }
/// ```
#[derive(Debug, Default)]
pub struct StepOutput {
    first: Option<Yield>,
    second: Option<Yield>,
    rest: Vec<Yield>,
    status: Status,
}

impl StepOutput {
    /// Yields a command.
    ///
    /// Its result arrives as a [`Completion`](crate::Completion) with this tag, unless the process has ended by
    /// then. The process is stepped as soon as the first of its commands completes. A command without a handler
    /// completes with [`CommandError::Unknown`](crate::CommandError::Unknown).
    pub fn command<C: Command>(&mut self, command: C, tag: u64) {
        self.command_raw(C::ID, Payload::new(command), tag);
    }

    /// Yields a command whose number is known only at run time; see [`command`](StepOutput::command).
    pub fn command_raw(&mut self, id: CommandId, payload: Payload, tag: u64) {
        let place = match (&self.first, &self.second) {
            (None, _) => &mut self.first,
            (_, None) => &mut self.second,
            _ => {
                self.rest.push(Yield { id, tag, payload });
                return;
            }
        };
        *place = Some(Yield { id, tag, payload });
    }

    /// Steps again soon, after other tasks that are ready have run.
    pub fn go_on(&mut self) {
        self.status = Status::Continue;
    }

    /// Steps again when a message arrives or a command completes. The process counts as
    /// [idle](crate::ProcessState::Idle) until then.
    pub fn idle(&mut self) {
        self.status = Status::Idle;
    }

    /// Steps again when a command completes or a message arrives. The process counts as
    /// [blocked](crate::ProcessState::Blocked) until then.
    pub fn wait_for_yields(&mut self) {
        self.status = Status::WaitForYields;
    }

    /// Ends the process normally, with a result. Commands that were yielded in the same step are still
    /// dispatched.
    pub fn done<T: Send + 'static>(&mut self, result: T) {
        self.status = Status::Done(Payload::new(result));
    }

    /// Ends the process with [`ExitReason::Shutdown`](crate::ExitReason::Shutdown), because it was asked to
    /// stop. Linked processes are not affected.
    pub fn stopped(&mut self) {
        self.status = Status::Stopped;
    }

    /// Replaces the process by another one, which keeps the PID, mailbox, links, monitors and names.
    ///
    /// The old one is closed. If the new one cannot be initialised, the process ends.
    pub fn upgrade<T: Send + 'static>(&mut self, process: impl Process, method: &str, input: T) {
        self.status = Status::Upgrade(Box::new(Upgrade {
            process: Box::new(process),
            method: method.into(),
            input: Payload::new(input),
        }));
    }

    /// Takes the commands, in the order in which they were yielded.
    pub(crate) fn take_yields(&mut self) -> impl Iterator<Item = Yield> + '_ {
        let inline = [self.first.take(), self.second.take()];
        inline.into_iter().flatten().chain(self.rest.drain(..))
    }

    pub(crate) fn take_status(&mut self) -> Status {
        std::mem::take(&mut self.status)
    }
}
