//! A place for a process: its state word, its mailbox and its relations.
//!
//! Places are never freed while their host lives, and are used again and again; the generation in
//! the word says for whom. Everything that comes from outside names the generation it is meant for
//! and is compared with the word under the mailbox's lock, under which alone the generation changes.
//! So a late message or completion changes nothing in the life of the next process.

mod mailbox;
mod state;
mod ticket;

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;

pub use mailbox::{Capacity, MailboxCounters, Overflow};
pub use state::ProcessState;

pub(crate) use mailbox::Leftovers;
pub(crate) use state::{Pause, Rest, Start};
pub(crate) use ticket::{Outcome, Ticket};

use crate::event::Event;
use crate::exit::ExitReason;
use crate::link::Relations;
use crate::sys::atomic::{AtomicU64, Ordering};
use crate::sys::{Arc, Mutex, MutexGuard};
use mailbox::{Mailbox, Taken};
use state::{Wake, Word};
use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::task::Waker;

#[derive(Debug)]
pub(crate) struct Slot {
    word: Word,
    mailbox: Mutex<Mailbox>,
    /// Links, monitors, names and groups, once there are any. Locked before the mailbox, if both.
    pub(crate) relations: Mutex<Relations>,
    /// Steps or polls so far; written by the process alone.
    steps: AtomicU64,
}

/// What a process left in its mailbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    Nothing,
    More,
}

/// Why a message did not get in.
#[derive(Debug)]
pub(crate) enum Refused {
    Gone(Event),
    Full(Event),
}

/// How a message got in.
#[must_use]
#[derive(Debug)]
pub(crate) enum Sent {
    In,
    /// This older one had to make room.
    InFor(Event),
    /// It waits for room.
    Waits(Arc<Ticket>),
}

impl Slot {
    pub(crate) fn new() -> Slot {
        Slot {
            word: Word::new(),
            mailbox: Mutex::new(Mailbox::new()),
            relations: Mutex::new(Relations::default()),
            steps: AtomicU64::new(0),
        }
    }

    /// A new process begins here; its generation.
    pub(crate) fn open(&self, capacity: Capacity, trap: bool) -> NonZeroU32 {
        let mut mailbox = self.mailbox.lock();
        mailbox.open(capacity);
        self.steps.store(0, Ordering::Relaxed);
        self.word.open(trap)
    }

    /// Tells the process that something came, and gives up the lock.
    #[inline]
    fn wake(&self, mut mailbox: MutexGuard<'_, Mailbox>, wake: Wake) {
        let part = mailbox.part.take();
        if wake == Wake::Task {
            // A reference of our own, since the next process may have this place once the lock is
            // free. It is there: only a process that had a turn can have gone to rest.
            let waker = mailbox.waker.clone();
            drop(mailbox);
            if let Some(waker) = waker {
                waker.wake();
            }
        } else {
            drop(mailbox);
        }
        if let Some(part) = part {
            part.wake();
        }
    }

    /// Sends a message; waits in line if there is no room and `may_wait`.
    #[inline]
    pub(crate) fn send(
        &self,
        generation: u32,
        event: Event,
        may_wait: bool,
    ) -> Result<Sent, Refused> {
        let mut mailbox = self.mailbox.lock();
        if !self.word.is_alive(generation) {
            return Err(Refused::Gone(event));
        }
        let sent = match mailbox.offer(event, may_wait) {
            Taken::In => Sent::In,
            Taken::InFor(oldest) => Sent::InFor(oldest),
            Taken::Full(event) => return Err(Refused::Full(event)),
            // A full mailbox is looked into without being told.
            Taken::Waits(ticket) => return Ok(Sent::Waits(ticket)),
        };
        let wake = self.word.wake();
        self.wake(mailbox, wake);
        Ok(sent)
    }

    /// Brings what always finds room: the end of a command, or news from the system. Gives it back
    /// if the process has ended.
    #[inline]
    pub(crate) fn tell(&self, generation: u32, event: Event) -> Result<(), Event> {
        let mut mailbox = self.mailbox.lock();
        if !self.word.is_alive(generation) {
            return Err(event);
        }
        mailbox.push(event);
        let wake = self.word.wake();
        self.wake(mailbox, wake);
        Ok(())
    }

    /// Ends the process before its next step. False if it has ended already.
    pub(crate) fn kill(&self, generation: u32, reason: ExitReason) -> bool {
        let mut mailbox = self.mailbox.lock();
        if !self.word.is_alive(generation) {
            return false;
        }
        mailbox.kill.get_or_insert(reason);
        let wake = self.word.kill();
        self.wake(mailbox, wake);
        true
    }

    /// What the process was killed for.
    pub(crate) fn killed_for(&self) -> ExitReason {
        let reason = self.mailbox.lock().kill.clone();
        reason.unwrap_or(ExitReason::Terminated)
    }

    /// The process makes a step.
    #[inline]
    pub(crate) fn count_step(&self) {
        let steps = self.steps.load(Ordering::Relaxed);
        self.steps.store(steps + 1, Ordering::Relaxed);
    }

    pub(crate) fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// The process begins a turn.
    #[inline]
    pub(crate) fn start(&self) -> Start {
        self.word.start()
    }

    /// The process takes at most `most` events.
    #[inline]
    #[must_use = "a process may not rest on a mailbox that is not empty"]
    pub(crate) fn drain(&self, into: &mut VecDeque<Event>, most: usize) -> Left {
        // Allocates only if somebody waited.
        let mut accepted = Vec::new();
        let mut mailbox = self.mailbox.lock();
        mailbox.drain(into, most, &mut accepted);
        let left = if mailbox.is_empty() {
            Left::Nothing
        } else {
            Left::More
        };
        drop(mailbox);
        for ticket in accepted {
            ticket.accept();
        }
        left
    }

    /// From now on the process can be woken. To be called before it first rests.
    pub(crate) fn register(&self, waker: &Waker) {
        self.mailbox.lock().waker = Some(waker.clone());
    }

    /// A part of the process that is not polled whenever its task is waits for events. False if
    /// there are some.
    pub(crate) fn await_events(&self, waker: &Waker) -> bool {
        let mut mailbox = self.mailbox.lock();
        if !mailbox.is_empty() {
            return false;
        }
        let task = mailbox.waker.as_ref();
        if !task.is_some_and(|task| task.will_wake(waker)) {
            mailbox.part = Some(waker.clone());
        }
        true
    }

    #[inline]
    pub(crate) fn rest(&self, pause: Pause) -> Rest {
        self.word.rest(pause)
    }

    #[inline]
    pub(crate) fn requeue(&self) {
        self.word.requeue();
    }

    /// False if the process has ended.
    pub(crate) fn set_trap(&self, generation: u32, trap: bool) -> bool {
        let _mailbox = self.mailbox.lock();
        let alive = self.word.is_alive(generation);
        if alive {
            self.word.set_trap(trap);
        }
        alive
    }

    pub(crate) fn traps(&self) -> bool {
        self.word.traps()
    }

    /// The sender of a waiting message gives up. None if it is in, or on its way back.
    pub(crate) fn leave_line(&self, ticket: &Arc<Ticket>) -> Option<Event> {
        self.mailbox.lock().leave(ticket)
    }

    /// The process has ended: from now on its PID is nobody's.
    pub(crate) fn complete(&self) -> Leftovers {
        let mut mailbox = self.mailbox.lock();
        self.word.complete();
        mailbox.close()
    }

    #[inline]
    pub(crate) fn is_alive(&self, generation: u32) -> bool {
        self.word.is_alive(generation)
    }

    pub(crate) fn look(&self) -> Option<(NonZeroU32, ProcessState)> {
        self.word.look()
    }

    /// Messages inside and in line, and the counters.
    pub(crate) fn depth(&self) -> ((usize, usize), MailboxCounters) {
        let mailbox = self.mailbox.lock();
        (mailbox.depth(), mailbox.counters())
    }
}
