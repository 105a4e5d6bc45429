//! The capacity of a mailbox, and what is behind the inbox: events that have come out of it and were not taken,
//! and the senders that found no room.

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
///
/// # Examples
/// ```
/// use tress_actor::{Capacity, Cx, Host, Overflow, SendFailure};
///
/// # #[tress::main]
/// # async fn main() {
/// let host = Host::builder("main").start().unwrap();
/// let busy = host.future(|_: Cx<u8>| std::future::pending::<()>());
/// let pid = busy.mailbox(Capacity::new(1, Overflow::Reject)).spawn().unwrap();
/// host.send(pid, 1_u8).unwrap();
/// assert_eq!(host.send(pid, 2_u8).unwrap_err().why(), SendFailure::Full(pid));
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Overflow {
    /// [`Host::send_waiting`](crate::Host::send_waiting) waits until there is room;
    /// [`Host::send`](crate::Host::send), which cannot wait, is refused.
    #[default]
    Wait,
    /// The message is refused.
    Reject,
    /// The oldest message is dropped to make room, and reported as
    /// [undeliverable](crate::Lifecycle::on_undeliverable).
    DropOldest,
}

/// The number of messages that a mailbox holds, and what happens when it is full.
///
/// Only messages count. Completions, of which there are as many as the process has commands under way, and
/// events of the system always find room.
///
/// # Examples
/// ```
/// use tress_actor::{Capacity, Overflow};
///
/// let capacity = Capacity::new(100, Overflow::DropOldest);
/// assert_eq!(Capacity::default(), Capacity::new(1024, Overflow::Wait));
/// # let _ = capacity;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    pub(crate) messages: u32,
    pub(crate) overflow: Overflow,
}

impl Capacity {
    /// Creates a capacity of `messages` messages.
    ///
    /// # Panics
    /// If `messages` is 0.
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

/// Counters of a mailbox, in a [`ProcessInfo`](crate::ProcessInfo).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MailboxCounters {
    /// Number of messages that were accepted.
    pub accepted: u64,
    /// Number of messages that were refused because it was full.
    pub rejected: u64,
    /// Number of messages that were dropped to make room for newer ones.
    pub dropped: u64,
    /// Number of messages whose senders had to wait.
    pub waited: u64,
}

/// The number of messages and its maximum. A message has its place here from before it is put in until it is
/// taken, dropped or returned.
///
/// Places belong to one process, whose generation stands beside their number, and end with it: a late sender
/// neither takes nor gives back a place of the next process.
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

/// The answer to a request for a place.
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

    /// Opens it for the next process.
    pub(super) fn open(&self, generation: u32, capacity: Capacity) {
        self.most.store(capacity.messages, Ordering::Relaxed);
        self.overflow
            .store(capacity.overflow as u32, Ordering::Relaxed);
        // An exchange, here and below, so that the release sequence continues for senders that take a place.
        let empty = u64::from(generation) << GENERATION_SHIFT;
        self.taken.swap(empty, Ordering::AcqRel);
    }

    /// Ends every place, because the process has ended.
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

    /// Takes a place for a message, if there is one. Never exceeds the maximum, not even for a moment, because
    /// another sender would be refused for it.
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

    /// Gives places back. For [`Slot::give_back`](super::Slot::give_back) alone, under the lock.
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
    /// Events out of the inbox, in order, which the process has not taken.
    pub(super) sorted: Chain,
    /// The senders that wait for room; `None` if there are none. Boxed, since most mailboxes never have one.
    line: Option<Box<Line>>,
    /// The waker of the process's task, from its first turn on.
    pub(super) waker: Option<Waker>,
    /// State that most processes never need.
    pub(super) rare: Option<Box<Rare>>,
}

#[derive(Debug, Default)]
pub(super) struct Rare {
    /// The waker of a part of the process that waits for events and is not polled whenever the task is.
    pub(super) part: Option<Waker>,
    /// The reason that it was killed for.
    pub(super) kill: Option<ExitReason>,
    /// Number of places that are kept for senders which have not yet put their messages in.
    pub(super) kept: u32,
    pub(super) rejected: u64,
    pub(super) dropped: u64,
    pub(super) waited: u64,
}

impl Back {
    pub(super) fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Adds a sender to the line; its message as well, unless the sender puts it in itself.
    pub(super) fn join_line(&mut self, message: Option<Parcel>) -> Arc<Ticket> {
        self.rare().waited += 1;
        self.line.get_or_insert_default().join(message)
    }

    pub(super) fn has_line(&self) -> bool {
        self.line.is_some()
    }

    /// Number of senders that wait for room, or have a place and have not yet put their messages in.
    pub(super) fn waiting(&self) -> usize {
        let kept = self.rare.as_ref().map_or(0, |rare| rare.kept as usize);
        self.line.as_ref().map_or(0, |line| line.len()) + kept
    }

    /// Gives a place to the first sender in line, if there is one.
    pub(super) fn grant(&mut self) -> Option<Next> {
        let next = self.line.as_mut()?.grant();
        self.close_line();
        next
    }

    /// Notes that a sender in line has given up.
    pub(super) fn note_left(&mut self) {
        if let Some(line) = &mut self.line {
            line.note_left();
        }
        self.close_line();
    }

    fn close_line(&mut self) {
        self.line.take_if(|line| line.len() == 0);
    }

    /// Whether an event wakes this waker now.
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

/// What was still there when a process ended. To be handled without a lock, since all of it is foreign.
#[derive(Debug)]
pub(crate) struct Leftovers {
    events: Chain,
    /// Wakers of the senders that waited for room.
    senders: Vec<Waker>,
    task: Option<Waker>,
    rare: Option<Box<Rare>>,
}

impl Leftovers {
    /// Takes the next event, with the generation that it was for, which may be an earlier one.
    pub(crate) fn next_event(&mut self) -> Option<(u32, Event)> {
        loop {
            let node = self.events.pop_node()?;
            let generation = node.generation;
            if let Some(event) = node.into_event() {
                return Some((generation, event));
            }
        }
    }

    /// Wakes the senders, and drops what is left.
    pub(crate) fn settle(self) {
        for sender in self.senders {
            contain(|| sender.wake());
        }
        contain(|| drop(self.task));
        contain(|| drop(self.rare));
    }
}
