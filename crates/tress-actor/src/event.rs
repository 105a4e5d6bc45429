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
    /// A message came.
    Message(Message),
    /// A command that the process yielded has something to tell.
    Completion(Completion),
}

/// A message, as it is received.
#[derive(Debug)]
pub struct Message {
    /// Who sent it, if it was a process.
    pub source: Option<Pid>,
    /// What it is about.
    pub topic: Topic,
    /// What it says.
    pub payload: Payload,
}

impl Message {
    /// A message to the inbox.
    pub fn new<T: Send + 'static>(value: T) -> Message {
        Message {
            source: None,
            topic: Topic::INBOX,
            payload: Payload::new(value),
        }
    }

    /// The same message on another topic.
    #[must_use]
    pub fn on(self, topic: Topic) -> Message {
        Message { topic, ..self }
    }

    /// The same message from a process.
    #[must_use]
    pub fn from(self, source: Pid) -> Message {
        Message {
            source: Some(source),
            ..self
        }
    }

    /// A message to the inbox that says nothing.
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

/// The end of a command, or one of its [signs of life](Completion::more).
#[derive(Debug)]
pub struct Completion {
    /// The tag that the command was yielded with.
    pub tag: u64,
    /// What came of it.
    pub result: Result<Payload, CommandError>,
    /// Does more come under this tag, as from a ticker?
    pub more: bool,
}

/// What the system tells a process, on the topic [`@pid/events`](Topic::EVENTS).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum SystemEvent {
    /// Please stop. Whoever does not is left alone, until the host shuts down.
    Cancel {
        /// Who asks, if it is a process.
        from: Option<Pid>,
        /// Why.
        reason: ExitReason,
    },
    /// A process that this one monitors ended.
    Down {
        /// Which monitor this is about.
        monitor: MonitorRef,
        /// The process.
        pid: Pid,
        /// Why it ended.
        reason: ExitReason,
    },
    /// A process that this one is linked to ended abnormally. Only for those that
    /// [trap](crate::Host::trap_exits) exits: others end, too.
    LinkDown {
        /// The process.
        pid: Pid,
        /// Why it ended.
        reason: ExitReason,
    },
    /// The members of a group that this process [watches](crate::Host::watch_group) changed.
    Group(crate::groups::GroupChange),
}

impl Event {
    /// Does it count against the mailbox's capacity?
    #[inline]
    pub(crate) fn counts(&self) -> bool {
        matches!(self, Event::Message(message) if message.topic != Topic::EVENTS)
    }
}
