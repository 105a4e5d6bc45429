//! How much there is room for, and what is behind the inbox: what has come out of it and not been
//! taken, and the senders that found no room.

use super::chain::Chain;
use super::line::Line;
use super::node::Parcel;
use super::ticket::{Next, Ticket};
use crate::contain::contain;
use crate::event::Event;
use crate::exit::ExitReason;
use crate::sys::Arc;
use crate::sys::atomic::{AtomicU32, AtomicU64, Ordering};
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
///
/// Places are those of one process, whose generation stands beside their number, and end with it: who
/// comes late neither takes nor gives back one of the next process's.
///
/// | bits | field |
/// |---|---|
/// | 0..32 | places that are taken |
/// | 32..64 | generation of the process; 0 if there is none |
#[derive(Debug)]
pub(super) struct Room {
    taken: AtomicU64,
    most: AtomicU32,
    overflow: AtomicU32,
}

const GENERATION_SHIFT: u32 = 32;

/// What became of who wants a place.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reserved {
    Place,
    Full,
    /// The process has ended.
    Gone,
}

impl Room {
    pub(super) fn new() -> Room {
        Room {
            taken: AtomicU64::new(0),
            most: AtomicU32::new(0),
            overflow: AtomicU32::new(0),
        }
    }

    /// For the next process.
    pub(super) fn open(&self, generation: u32, capacity: Capacity) {
        self.most.store(capacity.messages, Ordering::Relaxed);
        self.overflow
            .store(capacity.overflow as u32, Ordering::Relaxed);
        // An exchange, here and below: whoever takes a place goes on from it.
        let empty = u64::from(generation) << GENERATION_SHIFT;
        self.taken.swap(empty, Ordering::AcqRel);
    }

    /// The process has ended, and with it every place, whoever has it.
    pub(super) fn close(&self) {
        self.taken.swap(0, Ordering::AcqRel);
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
    pub(super) fn reserve(&self, generation: u32) -> Reserved {
        let most = self.most.load(Ordering::Relaxed);
        let mut taken = self.taken.load(Ordering::Relaxed);
        loop {
            if (taken >> GENERATION_SHIFT) as u32 != generation {
                return Reserved::Gone;
            }
            if taken as u32 >= most {
                return Reserved::Full;
            }
            match self.taken.compare_exchange_weak(
                taken,
                taken + 1,
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Reserved::Place,
                Err(now) => taken = now,
            }
        }
    }

    /// For [`Slot::give_back`](super::Slot::give_back) alone, under the lock.
    #[inline]
    pub(super) fn give_back(&self, places: u32) {
        if places > 0 {
            self.taken.fetch_sub(u64::from(places), Ordering::AcqRel);
        }
    }

    pub(super) fn taken(&self) -> u32 {
        self.taken.load(Ordering::Relaxed) as u32
    }
}

/// What is behind the inbox, under a lock.
#[derive(Debug, Default)]
pub(super) struct Back {
    /// Out of the inbox, in order, and not yet the process's.
    pub(super) sorted: Chain,
    /// The senders that wait for room. `None` if nobody does; somebody only if there is none. Boxed,
    /// since most mailboxes never have one.
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
    /// Places that are kept for senders who have not yet put their messages in.
    pub(super) kept: u32,
    pub(super) rejected: u64,
    pub(super) dropped: u64,
    pub(super) waited: u64,
}

impl Back {
    pub(super) fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// A sender joins the line; its message as well, if it is not to put it in itself.
    pub(super) fn join_line(&mut self, message: Option<Parcel>) -> Arc<Ticket> {
        self.rare().waited += 1;
        self.line.get_or_insert_default().join(message)
    }

    pub(super) fn has_line(&self) -> bool {
        self.line.is_some()
    }

    /// How many wait for room, or have a place and have not yet put their messages in.
    pub(super) fn waiting(&self) -> usize {
        let kept = self.rare.as_ref().map_or(0, |rare| rare.kept as usize);
        self.line.as_ref().map_or(0, |line| line.len()) + kept
    }

    /// There is a place for whoever is first in line, if anybody is.
    pub(super) fn grant(&mut self) -> Option<Next> {
        let next = self.line.as_mut()?.grant();
        self.close_line();
        next
    }

    /// A sender that was in line has given up.
    pub(super) fn note_left(&mut self) {
        if let Some(line) = &mut self.line {
            line.note_left();
        }
        self.close_line();
    }

    fn close_line(&mut self) {
        self.line.take_if(|line| line.len() == 0);
    }

    /// Does an event wake this one as things are?
    #[inline]
    pub(super) fn wakes(&self, waker: &Waker) -> bool {
        let is = |known: &Option<Waker>| known.as_ref().is_some_and(|known| known.will_wake(waker));
        is(&self.waker) || self.rare.as_ref().is_some_and(|rare| is(&rare.part))
    }

    /// Empties everything for the next process in this place.
    pub(super) fn close(&mut self) -> Leftovers {
        Leftovers {
            events: std::mem::take(&mut self.sorted),
            senders: self.line.take().map_or_else(Vec::new, |line| line.refuse()),
            task: self.waker.take(),
            rare: self.rare.take(),
        }
    }
}

/// What was still there when a process ended: for somebody who holds no lock, since all of it is
/// foreign.
#[derive(Debug)]
pub(crate) struct Leftovers {
    events: Chain,
    /// Who waited for room and is to be told.
    senders: Vec<Waker>,
    task: Option<Waker>,
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

    /// Tells the senders, and lets go of what is left.
    pub(crate) fn settle(self) {
        for sender in self.senders {
            contain(|| sender.wake());
        }
        contain(|| drop(self.task));
        contain(|| drop(self.rare));
    }
}
