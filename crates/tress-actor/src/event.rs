//! What arrives at a process: messages, completions of commands, and events of the system.

use crate::command::CommandError;
use crate::exit::ExitReason;
use crate::link::MonitorRef;
use crate::payload::Payload;
use crate::pid::Pid;
use crate::topic::Topic;

/// What a [`Process`](crate::Process) is stepped with.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// A message has arrived.
    Message(Message),
    /// A command that the process has yielded is complete, or reports something.
    Completion(Completion),
}

/// A message: a payload, with its topic and its sender.
///
/// # Examples
/// ```
/// use tress_actor::{Message, Topic};
///
/// let message = Message::new(7_u8).on(Topic::new("orders")?);
/// assert_eq!(message.source, None);
/// assert!(message.payload.is::<u8>());
/// # Ok::<(), tress_actor::AtomError>(())
/// ```
#[derive(Debug)]
pub struct Message {
    /// The sender, if it is a process.
    pub source: Option<Pid>,
    /// What the message is about.
    pub topic: Topic,
    /// The value.
    pub payload: Payload,
}

impl Message {
    /// Creates a message to the [inbox](Topic::INBOX), without a sender.
    pub fn new<T: Send + 'static>(value: T) -> Message {
        Message {
            source: None,
            topic: Topic::INBOX,
            payload: Payload::new(value),
        }
    }

    /// Returns the message with another topic.
    #[must_use]
    pub fn on(self, topic: Topic) -> Message {
        Message { topic, ..self }
    }

    /// Returns the message with `source` as its sender.
    #[must_use]
    pub fn from(self, source: Pid) -> Message {
        Message {
            source: Some(source),
            ..self
        }
    }

    /// A message to the inbox with an empty payload.
    #[inline]
    pub(crate) fn empty() -> Message {
        Message {
            source: None,
            topic: Topic::INBOX,
            payload: Payload::empty(),
        }
    }

    pub(crate) fn system(source: Option<Pid>, event: SystemEvent) -> Message {
        Message {
            source,
            topic: Topic::EVENTS,
            payload: Payload::new(event),
        }
    }
}

/// The result of a command that a [`Process`](crate::Process) has yielded.
///
/// A command that reports several times, such as [`Tick`](crate::command::builtin::Tick), sends one with
/// [`more`](Completion::more) each time.
#[derive(Debug)]
pub struct Completion {
    /// The tag that the command was yielded with.
    pub tag: u64,
    /// The value of the command, or why it has none.
    pub result: Result<Payload, CommandError>,
    /// Whether further completions will come under this tag.
    pub more: bool,
}

/// An event of the system, sent to a process on the topic [`@pid/events`](Topic::EVENTS).
///
/// Events do not count against the mailbox's [capacity](crate::Capacity). [`Cx::next`](crate::Cx::next) and
/// [`Actor::event`](crate::Actor::event) deliver them.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum SystemEvent {
    /// The process is asked to stop.
    ///
    /// It should end soon. One that goes on is left alone until the host shuts down or its supervisor
    /// terminates it.
    Cancel {
        /// The process that asks, if it is one.
        from: Option<Pid>,
        /// Why it is asked.
        reason: ExitReason,
    },
    /// A process that this one [monitors](crate::Host::monitor) has ended.
    Down {
        /// The monitor.
        monitor: MonitorRef,
        /// The process that has ended.
        pid: Pid,
        /// Why it has ended.
        reason: ExitReason,
    },
    /// A process that this one is [linked](crate::Host::link) to has ended abnormally.
    ///
    /// Only processes that [trap exits](crate::Host::trap_exits) receive it; others end too.
    LinkDown {
        /// The process that has ended.
        pid: Pid,
        /// Why it has ended.
        reason: ExitReason,
    },
    /// The members of a group that this process [watches](crate::Host::watch_group) have changed.
    Group(crate::groups::GroupChange),
}

impl Event {
    /// Whether it counts against the mailbox's capacity.
    #[inline]
    pub(crate) fn counts(&self) -> bool {
        matches!(self, Event::Message(message) if message.topic != Topic::EVENTS)
    }
}
