//! How much there is room for, and what is behind the inbox: what has come out of it and not been
//! taken, and the senders that found no room.

use super::chain::Chain;
use super::node::Parcel;
use super::ticket::Ticket;
use crate::event::Event;
use crate::exit::ExitReason;
use crate::sys::Arc;
use crate::sys::atomic::{AtomicU32, Ordering};
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

/// How many messages there are, and how many there may be. A message has its place in here from
/// before it is put in until it is taken, dropped or given back.
#[derive(Debug)]
pub(super) struct Room {
    taken: AtomicU32,
    most: AtomicU32,
    overflow: AtomicU32,
}

impl Room {
    pub(super) fn new() -> Room {
        Room {
            taken: AtomicU32::new(0),
            most: AtomicU32::new(0),
            overflow: AtomicU32::new(0),
        }
    }

    /// For the next process. Whoever still brings something to the last one gives its place back.
    pub(super) fn open(&self, capacity: Capacity) {
        self.most.store(capacity.messages, Ordering::Relaxed);
        self.overflow
            .store(capacity.overflow as u32, Ordering::Relaxed);
    }

    pub(super) fn overflow(&self) -> Overflow {
        const WAIT: u32 = Overflow::Wait as u32;
        const REJECT: u32 = Overflow::Reject as u32;
        match self.overflow.load(Ordering::Relaxed) {
            WAIT => Overflow::Wait,
            REJECT => Overflow::Reject,
            _ => Overflow::DropOldest,
        }
    }

    #[inline]
    pub(super) fn drops_oldest(&self) -> bool {
        self.overflow.load(Ordering::Relaxed) == Overflow::DropOldest as u32
    }

    /// A place for a message, if there is one. Never more than there may be, not even for a moment:
    /// somebody else would be refused for it.
    #[inline]
    pub(super) fn reserve(&self) -> bool {
        let most = self.most.load(Ordering::Relaxed);
        let mut taken = self.taken.load(Ordering::Relaxed);
        while taken < most {
            match self.taken.compare_exchange_weak(
                taken,
                taken + 1,
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(now) => taken = now,
            }
        }
        false
    }

    #[inline]
    pub(super) fn give_back(&self, places: u32) {
        if places > 0 {
            self.taken.fetch_sub(places, Ordering::AcqRel);
        }
    }

    pub(super) fn taken(&self) -> u32 {
        self.taken.load(Ordering::Relaxed)
    }
}

/// Messages that wait for room, in turn; boxed, since most mailboxes never have one.
type Line = VecDeque<(Parcel, Arc<Ticket>)>;

/// What is behind the inbox, under a lock.
#[derive(Debug, Default)]
pub(super) struct Back {
    /// Out of the inbox, in order, and not yet the process's.
    pub(super) sorted: Chain,
    /// Messages that wait for room, in turn. Not empty only if there is none.
    line: Option<Box<Line>>,
    /// The process's task, from its first turn on.
    pub(super) waker: Option<Waker>,
    /// What most processes never have.
    pub(super) rare: Option<Box<Rare>>,
}

#[derive(Debug, Default)]
pub(super) struct Rare {
    /// A part of the process that waits for events and is not polled whenever the task is.
    pub(super) part: Option<Waker>,
    /// What it was killed for.
    pub(super) kill: Option<ExitReason>,
    pub(super) rejected: u64,
    pub(super) dropped: u64,
    pub(super) waited: u64,
}

impl Back {
    pub(super) fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    pub(super) fn join_line(&mut self, message: Parcel) -> Arc<Ticket> {
        let ticket = Ticket::new();
        self.rare().waited += 1;
        let line = self.line.get_or_insert_default();
        line.push_back((message, ticket.clone()));
        ticket
    }

    pub(super) fn has_line(&self) -> bool {
        self.line.is_some()
    }

    pub(super) fn in_line(&self) -> usize {
        self.line.as_ref().map_or(0, |line| line.len())
    }

    /// Lets at most `places` of those in line have the places of messages that were taken. What is
    /// left of the places.
    #[cold]
    pub(super) fn let_in(
        &mut self,
        mut places: u32,
        generation: u32,
        told: &mut Vec<Arc<Ticket>>,
    ) -> u32 {
        let Some(mut line) = self.line.take() else {
            return places;
        };
        while places > 0 {
            let Some((Parcel(mut node), ticket)) = line.pop_front() else {
                return places;
            };
            node.generation = generation;
            self.sorted.push_node(node);
            told.push(ticket);
            places -= 1;
        }
        if !line.is_empty() {
            self.line = Some(line);
        }
        places
    }

    /// Takes a message out of the line, if it is still there.
    pub(super) fn leave_line(&mut self, ticket: &Arc<Ticket>) -> Option<Parcel> {
        let line = self.line.as_mut()?;
        let at = line
            .iter()
            .position(|(_, other)| Arc::ptr_eq(other, ticket))?;
        let (message, _) = line.remove(at)?;
        if line.is_empty() {
            self.line = None;
        }
        Some(message)
    }

    /// Empties everything for the next process in this place.
    pub(super) fn close(&mut self) -> Leftovers {
        Leftovers {
            events: std::mem::take(&mut self.sorted),
            line: self.line.take().map_or_else(VecDeque::new, |line| *line),
            waker: self.waker.take(),
            rare: self.rare.take(),
        }
    }
}

/// What was still there when a process ended.
#[derive(Debug)]
pub(crate) struct Leftovers {
    pub(super) events: Chain,
    pub(crate) line: Line,
    /// Dropped outside of the lock.
    waker: Option<Waker>,
    rare: Option<Box<Rare>>,
}

impl Leftovers {
    /// The next event, with the generation that it was for; that may be an older one's.
    pub(crate) fn next_event(&mut self) -> Option<(u32, Event)> {
        loop {
            let node = self.events.pop_node()?;
            let generation = node.generation;
            if let Some(event) = node.into_event() {
                return Some((generation, event));
            }
        }
    }

    /// Lets go of the wakers.
    pub(crate) fn drop_wakers(&mut self) {
        self.waker = None;
        self.rare = None;
    }
}
