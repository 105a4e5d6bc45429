//! What waits for a process: its events, and the senders that found it full.

use super::ticket::Ticket;
use crate::event::Event;
use crate::exit::ExitReason;
use crate::sys::Arc;
use std::collections::VecDeque;
use std::task::Waker;

/// What happens to a message for a mailbox that is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Overflow {
    /// The sender waits until there is room. Who cannot wait is refused.
    #[default]
    Wait,
    /// The message is refused.
    Reject,
    /// The oldest message makes room, and is reported as undeliverable.
    DropOldest,
}

/// How much a mailbox holds, and what happens when it is full.
///
/// Only messages count. The ends of commands are as many as the process has asked for, and what the
/// system tells a process always finds room.
///
/// ```
/// use tress_actor::{Capacity, Overflow};
///
/// let capacity = Capacity::new(100, Overflow::DropOldest);
/// assert_eq!(Capacity::default(), Capacity::new(1024, Overflow::Wait));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    pub(crate) messages: u32,
    pub(crate) overflow: Overflow,
}

impl Capacity {
    /// Room for so many messages.
    ///
    /// # Panics
    /// If there is to be room for none.
    pub const fn new(messages: u32, overflow: Overflow) -> Capacity {
        assert!(
            messages > 0,
            "a mailbox needs room for at least one message"
        );
        Capacity { messages, overflow }
    }
}

impl Default for Capacity {
    fn default() -> Capacity {
        Capacity::new(1024, Overflow::Wait)
    }
}

/// What has happened at a mailbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MailboxCounters {
    /// Messages that were taken in.
    pub accepted: u64,
    /// Messages that were refused because it was full.
    pub rejected: u64,
    /// Messages that made room for newer ones.
    pub dropped: u64,
    /// Messages whose senders had to wait.
    pub waited: u64,
}

/// Messages that wait for room, in turn; boxed, since most mailboxes never have one.
type Line = VecDeque<(Event, Arc<Ticket>)>;

#[derive(Debug)]
pub(crate) struct Mailbox {
    queue: VecDeque<Event>,
    /// How many of them count against the capacity.
    messages: u32,
    capacity: Capacity,
    /// Messages that wait for room, in turn. Not empty only if the mailbox is full.
    line: Option<Box<Line>>,
    /// The process's task, from its first turn on.
    pub(super) waker: Option<Waker>,
    /// A part of it that waits for events and is not polled whenever the task is.
    pub(super) part: Option<Waker>,
    /// What it was killed for.
    pub(super) kill: Option<ExitReason>,
    counters: MailboxCounters,
}

/// What became of a message.
#[must_use]
#[derive(Debug)]
pub(crate) enum Taken {
    In,
    /// It is in, and this one is out.
    InFor(Event),
    /// There is no room, and the caller does not wait.
    Full(Event),
    /// It waits in line.
    Waits(Arc<Ticket>),
}

impl Mailbox {
    pub(crate) fn new() -> Mailbox {
        Mailbox {
            queue: VecDeque::new(),
            messages: 0,
            capacity: Capacity::default(),
            line: None,
            waker: None,
            part: None,
            kill: None,
            counters: MailboxCounters::default(),
        }
    }

    pub(super) fn open(&mut self, capacity: Capacity) {
        debug_assert!(self.queue.is_empty() && self.messages == 0 && self.line.is_none());
        self.capacity = capacity;
        self.counters = MailboxCounters::default();
    }

    /// Takes in what always finds room.
    #[inline]
    pub(super) fn push(&mut self, event: Event) {
        if self.queue.capacity() == 0 {
            // Most processes that wait for long have one message at a time.
            self.queue.reserve_exact(1);
        }
        self.queue.push_back(event);
    }

    #[inline]
    pub(super) fn offer(&mut self, event: Event, may_wait: bool) -> Taken {
        if self.messages < self.capacity.messages {
            self.accept(event);
            return Taken::In;
        }
        match self.capacity.overflow {
            Overflow::DropOldest => {
                let oldest = self.queue.iter().position(Event::counts);
                let oldest = oldest.and_then(|at| self.queue.remove(at));
                self.messages -= 1;
                self.counters.dropped += 1;
                self.accept(event);
                Taken::InFor(oldest.expect("a full mailbox has a message"))
            }
            Overflow::Wait if may_wait => {
                let ticket = Ticket::new();
                self.counters.waited += 1;
                let line = self.line.get_or_insert_default();
                line.push_back((event, ticket.clone()));
                Taken::Waits(ticket)
            }
            Overflow::Wait | Overflow::Reject => {
                self.counters.rejected += 1;
                Taken::Full(event)
            }
        }
    }

    #[inline]
    fn accept(&mut self, event: Event) {
        self.messages += 1;
        self.counters.accepted += 1;
        self.push(event);
    }

    /// Moves at most `most` events to `into`, and lets as many of the waiting in as there is room
    /// for. Their tickets are handed to `accepted`.
    #[inline]
    pub(super) fn drain(
        &mut self,
        into: &mut VecDeque<Event>,
        most: usize,
        accepted: &mut Vec<Arc<Ticket>>,
    ) {
        let count = most.min(self.queue.len());
        for event in self.queue.drain(..count) {
            self.messages -= u32::from(event.counts());
            into.push_back(event);
        }
        if self.line.is_some() {
            self.let_in(accepted);
        }
    }

    #[cold]
    fn let_in(&mut self, accepted: &mut Vec<Arc<Ticket>>) {
        let Some(mut line) = self.line.take() else {
            return;
        };
        while self.messages < self.capacity.messages {
            match line.pop_front() {
                Some((event, ticket)) => {
                    self.accept(event);
                    accepted.push(ticket);
                }
                None => return,
            }
        }
        if !line.is_empty() {
            self.line = Some(line);
        }
    }

    /// Takes a message out of the line, if it is still there.
    pub(super) fn leave(&mut self, ticket: &Arc<Ticket>) -> Option<Event> {
        let line = self.line.as_mut()?;
        let at = line
            .iter()
            .position(|(_, other)| Arc::ptr_eq(other, ticket))?;
        let (event, _) = line.remove(at)?;
        if line.is_empty() {
            self.line = None;
        }
        Some(event)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(super) fn depth(&self) -> (usize, usize) {
        (
            self.messages as usize,
            self.line.as_ref().map_or(0, |line| line.len()),
        )
    }

    pub(super) fn counters(&self) -> MailboxCounters {
        self.counters
    }

    /// Empties everything for the next process in this place.
    pub(super) fn close(&mut self) -> Leftovers {
        self.messages = 0;
        self.kill = None;
        Leftovers {
            events: std::mem::take(&mut self.queue),
            line: self.line.take().map_or_else(VecDeque::new, |line| *line),
            wakers: (self.waker.take(), self.part.take()),
        }
    }
}

/// What was still there when a process ended.
#[derive(Debug)]
pub(crate) struct Leftovers {
    pub(crate) events: VecDeque<Event>,
    pub(crate) line: Line,
    /// Dropped outside of the lock.
    pub(crate) wakers: (Option<Waker>, Option<Waker>),
}
