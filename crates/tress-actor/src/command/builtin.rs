//! The commands that every host handles.
//!
//! | number | command | completes with |
//! |---|---|---|
//! | 1 | [`Send`] | `()` |
//! | 2 | [`Start`] | [`Started`] |
//! | 3 | [`Terminate`] | `()` |
//! | 4 | [`Cancel`] | `()` |
//! | 5 | [`Monitor`] | [`MonitorRef`] |
//! | 6 | [`Demonitor`] | `bool`: whether it was there |
//! | 7 | [`Link`] | `()` |
//! | 8 | [`Unlink`] | `()` |
//! | 9 | [`Exec`] | [`Exit`](crate::Exit) |
//! | 10 | [`Sleep`] | `()` |
//! | 11 | [`Tick`] | `u64`, again and again: the number of the tick |
//! | 12 | [`TakeBack`] | `bool`: whether it was still running |
//! | 20 | [`ChannelSend`] | `()` |
//! | 21 | [`ChannelReceive`] | the value |
//!
//! Those for TCP and files are in [`stream`](super::stream).
//!
//! # Examples
//! ```
//! use std::time::Duration;
//! use tress_actor::command::builtin::Tick;
//! use tress_actor::{Event, Events, Host, Payload, Process, ProcessContext, ProcessError, StepOutput};
//!
//! /// Begins to tick, and is done with the third tick.
//! #[derive(Default)]
//! struct Clock {
//!     ticks: bool,
//! }
//!
//! impl Process for Clock {
//!     fn init(&mut self, _: &ProcessContext, _: &str, _: Payload) -> Result<(), ProcessError> {
//!         Ok(())
//!     }
//!
//!     fn step(&mut self, events: &mut Events<'_>, out: &mut StepOutput) -> Result<(), ProcessError> {
//!         out.wait_for_yields();
//!         if !self.ticks {
//!             self.ticks = true;
//!             out.command(Tick(Duration::from_millis(1)), 7);
//!         }
//!         for event in events {
//!             let Event::Completion(tick) = event else { continue };
//!             if tick.result?.downcast_ref::<u64>() == Some(&3) {
//!                 out.done(tick.tag);
//!             }
//!         }
//!         Ok(())
//!     }
//! }
//!
//! #[tress::main]
//! async fn main() {
//!     let host = Host::builder("main").start().unwrap();
//!     let (_, exit) = host.process(Clock::default()).exec().unwrap();
//!     assert_eq!(exit.await.into_result().unwrap().downcast::<u64>().unwrap(), 7);
//! }
//! ```

use super::{Answer, Call, Command, CommandError, CommandId, Registry};
use crate::event::Message;
use crate::exit::{ExitReason, ProcessError};
use crate::host::spawn::Options;
use crate::link::MonitorRef;
use crate::payload::Payload;
use crate::pid::Pid;
use crate::process::Process;
use crate::slot::Capacity;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tress::channel;

super::numbered! {
    Send = 1,
    Start = 2,
    Terminate = 3,
    Cancel = 4,
    Monitor = 5,
    Demonitor = 6,
    Link = 7,
    Unlink = 8,
    Exec = 9,
    Sleep = 10,
    Tick = 11,
    TakeBack = 12,
    ChannelSend = 20,
    ChannelReceive = 21,
}

/// Sends a message with the process as its sender, and waits for room if the mailbox's
/// [`Overflow`](crate::Overflow) says so.
///
/// Messages to the same process arrive in the order in which they were yielded. One that is [taken
/// back](TakeBack) may have been sent.
///
/// # Examples
/// ```
/// use tress_actor::command::builtin::Send;
/// use tress_actor::{Message, Pid, StepOutput};
///
/// fn greet(to: Pid, out: &mut StepOutput) {
///     out.command(Send { to, message: Message::new("hello") }, 1);
///     out.wait_for_yields();
/// }
/// # greet("{local@main|0.1}".parse().unwrap(), &mut StepOutput::default());
/// ```
#[derive(Debug)]
pub struct Send {
    /// The receiver.
    pub to: Pid,
    /// The message. Its source is filled in.
    pub message: Message,
}

/// Starts a process as a child of the one that yields the command.
///
/// # Examples
/// ```
/// use tress_actor::command::builtin::Start;
/// use tress_actor::{Process, StepOutput};
///
/// fn start(worker: impl Process, out: &mut StepOutput) {
///     out.command(Start::new(worker).name("worker").linked(), 1);
///     out.wait_for_yields();
/// }
/// ```
pub struct Start {
    process: Box<dyn Process>,
    kind: &'static str,
    method: Box<str>,
    input: Payload,
    name: Option<Arc<str>>,
    capacity: Option<Capacity>,
    trap: bool,
    linked: bool,
    monitored: bool,
}

impl Start {
    /// Creates the command, with the method `main`, an empty input and the host's default mailbox.
    pub fn new<P: Process>(process: P) -> Start {
        Start {
            process: Box::new(process),
            kind: std::any::type_name::<P>(),
            method: "main".into(),
            input: Payload::empty(),
            name: None,
            capacity: None,
            trap: false,
            linked: false,
            monitored: false,
        }
    }

    /// Sets the method that the process runs, the second argument of [`Process::init`].
    #[must_use]
    pub fn method(mut self, method: &str) -> Start {
        self.method = method.into();
        self
    }

    /// Sets the input, the third argument of [`Process::init`].
    #[must_use]
    pub fn input<T: std::marker::Send + 'static>(mut self, input: T) -> Start {
        self.input = Payload::new(input);
        self
    }

    /// Gives the process a name; see [`Host::register`](crate::Host::register).
    #[must_use]
    pub fn name(mut self, name: &str) -> Start {
        self.name = Some(name.into());
        self
    }

    /// Sets the capacity of its mailbox.
    #[must_use]
    pub fn mailbox(mut self, capacity: Capacity) -> Start {
        self.capacity = Some(capacity);
        self
    }

    /// Makes it trap exits; see [`Host::trap_exits`](crate::Host::trap_exits).
    #[must_use]
    pub fn trap_exits(mut self) -> Start {
        self.trap = true;
        self
    }

    /// Links it to the process that yields the command, before it runs.
    #[must_use]
    pub fn linked(mut self) -> Start {
        self.linked = true;
        self
    }

    /// Monitors it by the process that yields the command, before it runs.
    #[must_use]
    pub fn monitored(mut self) -> Start {
        self.monitored = true;
        self
    }

    fn options(&self, parent: Pid) -> Options {
        Options {
            capacity: self.capacity,
            trap: self.trap,
            name: self.name.clone(),
            parent: Some(parent),
            link: self.linked.then_some(parent),
            monitor: self.monitored.then_some(parent),
        }
    }
}

impl fmt::Debug for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Start")
            .field("kind", &self.kind)
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

/// The value of [`Start`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Started {
    /// The new process.
    pub pid: Pid,
    /// The monitor, if it is [monitored](Start::monitored).
    pub monitor: Option<MonitorRef>,
}

/// Starts a process and completes with its [`Exit`](crate::Exit).
///
/// # Examples
/// ```
/// use tress_actor::command::builtin::{Exec, Start};
/// use tress_actor::{Process, StepOutput};
///
/// fn run(worker: impl Process, out: &mut StepOutput) {
///     out.command(Exec(Start::new(worker).input(7_u64)), 1);
///     out.wait_for_yields();
/// }
/// ```
#[derive(Debug)]
pub struct Exec(pub Start);

/// Ends a process before its next step; see [`Host::terminate`](crate::Host::terminate).
///
/// # Examples
/// ```
/// use tress_actor::command::builtin::Terminate;
/// use tress_actor::{Pid, StepOutput};
///
/// fn end(pid: Pid, out: &mut StepOutput) {
///     out.command(Terminate(pid), 1);
/// }
/// # end("{local@main|0.1}".parse().unwrap(), &mut StepOutput::default());
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Terminate(pub Pid);

/// Asks a process to stop; see [`Host::cancel`](crate::Host::cancel).
///
/// # Examples
/// ```
/// use tress_actor::command::builtin::Cancel;
/// use tress_actor::{ExitReason, Pid, StepOutput};
///
/// fn stop(pid: Pid, out: &mut StepOutput) {
///     out.command(Cancel { pid, reason: ExitReason::Shutdown }, 1);
/// }
/// # stop("{local@main|0.1}".parse().unwrap(), &mut StepOutput::default());
/// ```
#[derive(Debug, Clone)]
pub struct Cancel {
    /// The process.
    pub pid: Pid,
    /// The reason that it is told.
    pub reason: ExitReason,
}

/// Monitors a process by the one that yields the command; see [`Host::monitor`](crate::Host::monitor).
///
/// # Examples
/// ```
/// use tress_actor::command::builtin::Monitor;
/// use tress_actor::{Pid, StepOutput};
///
/// fn observe(pid: Pid, out: &mut StepOutput) {
///     out.command(Monitor(pid), 1);
/// }
/// # observe("{local@main|0.1}".parse().unwrap(), &mut StepOutput::default());
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Monitor(pub Pid);

/// Removes a monitor; see [`Host::demonitor`](crate::Host::demonitor).
///
/// # Examples
/// ```
/// use tress_actor::command::builtin::Demonitor;
/// use tress_actor::{MonitorRef, Pid, StepOutput};
///
/// fn forget(pid: Pid, monitor: MonitorRef, out: &mut StepOutput) {
///     out.command(Demonitor { pid, monitor }, 1);
/// }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Demonitor {
    /// The process that is monitored.
    pub pid: Pid,
    /// The monitor.
    pub monitor: MonitorRef,
}

/// Links a process with the one that yields the command; see [`Host::link`](crate::Host::link).
///
/// # Examples
/// ```
/// use tress_actor::command::builtin::{Link, Unlink};
/// use tress_actor::{Pid, StepOutput};
///
/// fn tie(a: Pid, b: Pid, out: &mut StepOutput) {
///     out.command(Link(a), 1);
///     out.command(Unlink(b), 2);
/// }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Link(pub Pid);

/// Removes a link to the process that yields the command; see [`Host::unlink`](crate::Host::unlink).
#[derive(Debug, Clone, Copy)]
pub struct Unlink(pub Pid);

/// Completes after this time.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use tress_actor::StepOutput;
/// use tress_actor::command::builtin::Sleep;
///
/// fn nap(out: &mut StepOutput) {
///     out.command(Sleep(Duration::from_millis(5)), 1);
///     out.wait_for_yields();
/// }
/// # nap(&mut StepOutput::default());
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Sleep(pub Duration);

/// Reports each time that this period has passed, until it is [taken back](TakeBack).
///
/// There is at most one tick in the mailbox: those that are due before the process has taken it are skipped,
/// and not numbered. Numbers begin at 1. A period of zero is an error.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use tress_actor::StepOutput;
/// use tress_actor::command::builtin::{TakeBack, Tick};
///
/// const TICKS: u64 = 1;
///
/// fn begin(out: &mut StepOutput) {
///     out.command(Tick(Duration::from_secs(1)), TICKS);
/// }
///
/// fn end(out: &mut StepOutput) {
///     out.command(TakeBack(TICKS), 2);
/// }
/// # begin(&mut StepOutput::default());
/// # end(&mut StepOutput::default());
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Tick(pub Duration);

/// Takes back the command with this tag, which completes with [`CommandError::Abandoned`]. Completes with
/// `false` if no such command is running.
#[derive(Debug, Clone, Copy)]
pub struct TakeBack(pub u64);

/// Sends a value into a channel, and waits for room.
///
/// # Examples
/// ```
/// use tress::channel::Sender;
/// use tress_actor::command::builtin::ChannelSend;
/// use tress_actor::{Payload, StepOutput};
///
/// fn pass_on(sender: Sender<Payload>, n: u64, out: &mut StepOutput) {
///     out.command(ChannelSend { sender, value: Payload::new(n) }, 1);
///     out.wait_for_yields();
/// }
/// ```
#[derive(Debug)]
pub struct ChannelSend {
    /// The channel.
    pub sender: channel::Sender<Payload>,
    /// The value.
    pub value: Payload,
}

/// Receives a value from a channel, and waits until there is one.
///
/// # Examples
/// ```
/// use tress::channel::Receiver;
/// use tress_actor::command::builtin::ChannelReceive;
/// use tress_actor::{Payload, StepOutput};
///
/// fn next(receiver: Receiver<Payload>, out: &mut StepOutput) {
///     out.command(ChannelReceive(receiver), 1);
///     out.wait_for_yields();
/// }
/// ```
#[derive(Debug)]
pub struct ChannelReceive(pub channel::Receiver<Payload>);

fn answer<T, E>(result: Result<T, E>) -> Answer
where
    T: std::marker::Send + 'static,
    E: Into<ProcessError>,
{
    Answer::Now(result.map(Payload::new).map_err(CommandError::failed))
}

pub(crate) fn register(registry: &mut Registry) {
    registry.register(send);
    registry.register(start);
    registry.register(exec);
    registry.register(|call: Call<'_>, Terminate(pid)| answer(call.host().terminate(pid)));
    registry.register(|call: Call<'_>, Cancel { pid, reason }| {
        answer(call.host().cancel_from(Some(call.pid()), pid, reason))
    });
    registry.register(|call: Call<'_>, Monitor(pid)| answer(call.host().monitor(call.pid(), pid)));
    registry.register(|call: Call<'_>, Demonitor { pid, monitor }| {
        Answer::now(call.host().demonitor(pid, monitor))
    });
    registry.register(|call: Call<'_>, Link(pid)| answer(call.host().link(call.pid(), pid)));
    registry.register(|call: Call<'_>, Unlink(pid)| {
        call.host().unlink(call.pid(), pid);
        Answer::now(())
    });
    registry.register(|call: Call<'_>, Sleep(duration)| {
        call.spawn(async move {
            tress::time::sleep(duration).await;
            Ok(())
        })
    });
    registry.register(tick);
    registry.register(|mut call: Call<'_>, TakeBack(tag)| Answer::now(call.cancel(tag)));
    registry.register(|call: Call<'_>, ChannelSend { sender, value }| {
        call.spawn(async move {
            let sent = sender.send(value).await;
            sent.map_err(|error| CommandError::failed(error.to_string()))
        })
    });
    registry.register(|call: Call<'_>, ChannelReceive(receiver)| {
        let completer = call.completer();
        call.spawn_with(async move {
            let received = receiver.recv().await;
            completer.complete(received.map_err(|error| CommandError::failed(error.to_string())));
        })
    });
}

fn send(call: Call<'_>, Send { to, message }: Send) -> Answer {
    let message = message.from(call.pid());
    // Its place in line is taken here and now, so that the next message does not overtake it.
    match call.host().send_or_queue(to, message) {
        Ok(None) => Answer::now(()),
        Ok(Some(waits)) => call.spawn(async move { waits.await.map_err(CommandError::failed) }),
        Err(error) => Answer::failed(error),
    }
}

fn start(call: Call<'_>, start: Start) -> Answer {
    let options = start.options(call.pid());
    let spawn = call.host().boxed_process(start.process, start.kind);
    let body = spawn.method(&start.method).input_payload(start.input).body;
    let started = call.host().start(body, options, None);
    answer(started.map(|(pid, monitor)| Started { pid, monitor }))
}

fn exec(call: Call<'_>, Exec(start): Exec) -> Answer {
    let options = start.options(call.pid());
    let spawn = call.host().boxed_process(start.process, start.kind);
    let mut spawn = spawn.method(&start.method).input_payload(start.input);
    spawn.options = options;
    match spawn.exec() {
        Ok((_, exit)) => call.spawn(async move { Ok(exit.await) }),
        Err(error) => Answer::failed(error),
    }
}

fn tick(mut call: Call<'_>, Tick(every): Tick) -> Answer {
    if every.is_zero() {
        return Answer::failed("a ticker needs a period above zero");
    }
    let (completer, pace) = (call.completer(), call.pace());
    call.spawn_with(async move {
        let Some(first) = tress::time::Instant::now().checked_add(every) else {
            // The clock cannot reach the first tick.
            return std::future::pending().await;
        };
        let mut interval = tress::time::interval_at(first, every);
        interval.set_missed_tick_behavior(tress::time::MissedTickBehavior::Delay);
        for number in 1_u64.. {
            interval.tick().await;
            while !pace.begin() {
                interval.tick().await;
            }
            if !completer.emit(Payload::new(number)) {
                break;
            }
        }
    })
}
