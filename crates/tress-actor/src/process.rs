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
/// A process is owned by one worker at a time, and never stepped by two at once. `init` runs before
/// the first step, on the scheduler. A panic in any of its functions ends the process and nothing
/// else.
///
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
    /// Gets ready to run one of the process's methods.
    ///
    /// # Errors
    /// Whatever keeps it from running: the process ends with it, unstepped.
    fn init(
        &mut self,
        cx: &ProcessContext<'_>,
        method: &str,
        input: Payload,
    ) -> Result<(), ProcessError>;

    /// Goes on, with what has happened meanwhile, and says through `out` what it wants done and when
    /// it wants to be stepped again. What it leaves of the events comes first in the next step.
    ///
    /// # Errors
    /// Ends the process.
    fn step(&mut self, events: &mut Events<'_>, out: &mut StepOutput) -> Result<(), ProcessError>;

    /// The process is evicted before it is done: it was terminated, or its host shut down. Comes
    /// before [`close`](Process::close).
    fn abort(&mut self) {}

    /// The process ends; gives back what it holds.
    fn close(&mut self) {}
}

/// Where a process runs.
#[derive(Debug, Clone, Copy)]
pub struct ProcessContext<'a> {
    pub(crate) host: &'a Host,
    pub(crate) pid: Pid,
    pub(crate) parent: Option<Pid>,
}

impl<'a> ProcessContext<'a> {
    /// The host.
    pub fn host(&self) -> &'a Host {
        self.host
    }

    /// The process itself.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// The process that spawned it, if one did.
    pub fn parent(&self) -> Option<Pid> {
        self.parent
    }
}

/// The events of a step, oldest first.
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

/// What a step wants: commands, and when to be stepped again. Two commands cost no allocation.
///
/// The last of [`idle`](StepOutput::idle), [`wait_for_yields`](StepOutput::wait_for_yields),
/// [`done`](StepOutput::done), … holds; without any of them the process is stepped again after
/// everybody else who is ready.
#[derive(Debug, Default)]
pub struct StepOutput {
    first: Option<Yield>,
    second: Option<Yield>,
    rest: Vec<Yield>,
    status: Status,
}

impl StepOutput {
    /// Asks for a command. What comes of it arrives as a [`Completion`](crate::Completion) with this
    /// tag, unless the process has ended by then. The process is stepped when the first of its
    /// commands is complete; it need not wait for all.
    pub fn command<C: Command>(&mut self, command: C, tag: u64) {
        self.command_raw(C::ID, Payload::new(command), tag);
    }

    /// As [`command`](StepOutput::command), for a command whose number is known only when the
    /// program runs.
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

    /// Step again soon, after everybody else who is ready.
    pub fn go_on(&mut self) {
        self.status = Status::Continue;
    }

    /// Step again when a message comes, or when a command is complete.
    pub fn idle(&mut self) {
        self.status = Status::Idle;
    }

    /// Step again when a command is complete, or when a message comes.
    pub fn wait_for_yields(&mut self) {
        self.status = Status::WaitForYields;
    }

    /// The process is done, and this is what came of it. Commands yielded in the same step are still
    /// dispatched.
    pub fn done<T: Send + 'static>(&mut self, result: T) {
        self.status = Status::Done(Payload::new(result));
    }

    /// The process ends because it was told to. Its links do not mind.
    pub fn stopped(&mut self) {
        self.status = Status::Stopped;
    }

    /// Another process takes this one's place, and keeps its PID, mailbox, links, monitors and
    /// names. This one is closed; if the new one cannot be initialised, the process ends.
    pub fn upgrade<T: Send + 'static>(&mut self, process: impl Process, method: &str, input: T) {
        self.status = Status::Upgrade(Box::new(Upgrade {
            process: Box::new(process),
            method: method.into(),
            input: Payload::new(input),
        }));
    }

    /// Hands out the commands in the order in which they were yielded.
    pub(crate) fn take_yields(&mut self) -> impl Iterator<Item = Yield> + '_ {
        let inline = [self.first.take(), self.second.take()];
        inline.into_iter().flatten().chain(self.rest.drain(..))
    }

    pub(crate) fn take_status(&mut self) -> Status {
        std::mem::take(&mut self.status)
    }
}
