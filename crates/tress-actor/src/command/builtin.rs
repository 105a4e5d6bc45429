//! The commands that every host handles.
//!
//! | number | command | completes with |
//! |---|---|---|
//! | 1 | [`Send`] | `()` |
//! | 2 | [`Start`] | [`Started`] |
//! | 3 | [`Terminate`] | `()` |
//! | 4 | [`Cancel`] | `()` |
//! | 5 | [`Monitor`] | [`MonitorRef`] |
//! | 6 | [`Demonitor`] | `bool`: was it there? |
//! | 7 | [`Link`] | `()` |
//! | 8 | [`Unlink`] | `()` |
//! | 9 | [`Exec`] | [`Exit`](crate::Exit) |
//! | 10 | [`Sleep`] | `()` |
//! | 11 | [`Tick`] | `u64`, again and again: the number of the tick |
//! | 12 | [`TakeBack`] | `bool`: did it still run? |
//! | 20 | [`ChannelSend`] | `()` |
//! | 21 | [`ChannelReceive`] | what was received |
//!
//! Those for TCP and files are in [`stream`](super::stream).

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

/// Sends a message in the process's own name, and waits for room if the mailbox says so. Messages to
/// the same process arrive in the order in which they were yielded. One that is [taken back](TakeBack)
/// may have been sent, if there was room by then.
#[derive(Debug)]
pub struct Send {
    /// To whom.
    pub to: Pid,
    /// What; its source is filled in.
    pub message: Message,
}

/// Starts a process, as a child of the one that asks.
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
    /// A process whose method is `main` and whose input is empty.
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

    /// Which of its methods it runs.
    #[must_use]
    pub fn method(mut self, method: &str) -> Start {
        self.method = method.into();
        self
    }

    /// What it is given.
    #[must_use]
    pub fn input<T: std::marker::Send + 'static>(mut self, input: T) -> Start {
        self.input = Payload::new(input);
        self
    }

    /// What it is called. See [`Host::register`](crate::Host::register).
    #[must_use]
    pub fn name(mut self, name: &str) -> Start {
        self.name = Some(name.into());
        self
    }

    /// The room of its mailbox.
    #[must_use]
    pub fn mailbox(mut self, capacity: Capacity) -> Start {
        self.capacity = Some(capacity);
        self
    }

    /// The end of processes that it is linked to comes to it as an event.
    #[must_use]
    pub fn trap_exits(mut self) -> Start {
        self.trap = true;
        self
    }

    /// Linked to the process that asks.
    #[must_use]
    pub fn linked(mut self) -> Start {
        self.linked = true;
        self
    }

    /// Monitored by the process that asks.
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

/// What [`Start`] completes with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Started {
    /// The process.
    pub pid: Pid,
    /// The monitor, if it is monitored.
    pub monitor: Option<MonitorRef>,
}

/// Starts a process and waits for its end.
#[derive(Debug)]
pub struct Exec(pub Start);

/// Ends a process before its next step.
#[derive(Debug, Clone, Copy)]
pub struct Terminate(pub Pid);

/// Asks a process to stop.
#[derive(Debug, Clone)]
pub struct Cancel {
    /// Which.
    pub pid: Pid,
    /// Why.
    pub reason: ExitReason,
}

/// Asks to be told when a process ends.
#[derive(Debug, Clone, Copy)]
pub struct Monitor(pub Pid);

/// Takes a monitor back.
#[derive(Debug, Clone, Copy)]
pub struct Demonitor {
    /// The process that is monitored.
    pub pid: Pid,
    /// The monitor.
    pub monitor: MonitorRef,
}

/// Links the process that asks with another.
#[derive(Debug, Clone, Copy)]
pub struct Link(pub Pid);

/// Undoes a link.
#[derive(Debug, Clone, Copy)]
pub struct Unlink(pub Pid);

/// Completes after a while.
#[derive(Debug, Clone, Copy)]
pub struct Sleep(pub Duration);

/// Tells the process that time has passed, again and again, until it is [taken back](TakeBack).
///
/// There is at most one tick in the mailbox: those that come due before the process has taken it are
/// left out, and not numbered.
#[derive(Debug, Clone, Copy)]
pub struct Tick(pub Duration);

/// Takes back the command with this tag: it ends with [`CommandError::Abandoned`].
#[derive(Debug, Clone, Copy)]
pub struct TakeBack(pub u64);

/// Sends a value into a channel, when there is room.
#[derive(Debug)]
pub struct ChannelSend {
    /// The channel.
    pub sender: channel::Sender<Payload>,
    /// The value.
    pub value: Payload,
}

/// Receives a value from a channel, when there is one.
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
            // The clock does not reach the first.
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
