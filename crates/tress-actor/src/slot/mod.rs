//! The slot of a process: its state word, its mailbox and its relations.
//!
//! Slots are never freed while their host lives, and are used again and again; the generation in the word tells
//! their processes apart. Everything that comes from outside names the generation it is meant for. It is
//! compared with the word before an event is put in, and again when the process takes it out: an event that was
//! on its way when its process ended, and arrived at the next one, is sorted out there. So a late message or
//! completion has no effect on the next process.
//!
//! Events go through the [inbox](inbox), which is one word and has no lock. The lock is for what comes after:
//! the process takes it once for a batch, a sender only to wake a process that rests, or if there is no room.
//!
//! # Why nothing waits for what is there
//! **No sender waits for room that there is.** A sender joins the line under the lock, after it has found every
//! place taken. Places belong to one process: they are created with it, and end with it, when all waiting
//! senders are told ([`complete`](Slot::complete)). In between a place becomes free only through
//! [`give_back`](Slot::give_back), under the same lock, which looks at the line first. It is called for a
//! message that was taken out, and for a place that was kept for a sender that gave up. Every place comes to
//! one of these ends, or to that of the process: it belongs to a message that is in, or that a running sender
//! is about to put in, or it is kept for a sender that was woken for it.
//!
//! **No process rests on an event that it has not seen.** It rests only by [`rest`](Slot::rest), on an inbox
//! that is empty. Every event arrives through the inbox, also a message out of the line; what is behind the
//! inbox was put there by the process itself when it looked.
//!
//! # Foreign code and the lock
//! Only code of this crate runs under the lock. Wakers, messages and reasons are handed out, to be cloned,
//! woken and dropped without it. The one exception is the waker of the process's own task, which is the
//! runtime's.

mod chain;
mod inbox;
mod line;
mod mailbox;
mod node;
mod places;
mod state;
mod ticket;

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;

pub use mailbox::{Capacity, MailboxCounters, Overflow};
pub use state::ProcessState;

pub(crate) use chain::Chain;
pub(crate) use mailbox::Leftovers;
pub(crate) use node::Parcel;
pub(crate) use state::{Pause, Rest, Start};
pub(crate) use ticket::{Outcome, Ticket};

use crate::event::Event;
use crate::exit::ExitReason;
use crate::link::Relations;
use crate::sys::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::sys::{Arc, Mutex};
use inbox::{Inbox, Wake};
use mailbox::{Back, Reserved, Room};
use node::Node;
use places::Owed;
use state::Word;
use std::num::NonZeroU32;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;
use tress::trace::{WaitKind, note};

#[derive(Debug)]
pub(crate) struct Slot {
    word: Word,
    inbox: Inbox,
    room: Room,
    /// What the process did last. Only the process writes it.
    doing: AtomicU32,
    /// Number of steps or polls so far. Only the process writes it.
    steps: AtomicU64,
    /// Number of messages taken so far. Only the process writes it.
    received: AtomicU64,
    back: Mutex<Back>,
    /// Links, monitors, names and groups, once there are any. If both locks are taken, this one comes first.
    pub(crate) relations: Mutex<Relations>,
}

const QUEUED: u32 = 0;
const RUNS: u32 = 1;
const BLOCKED: u32 = 2;
const IDLE: u32 = 3;
/// A flag besides one of the others: a part of the process waits for events.
const PART: u32 = 1 << 2;

/// Whether a process has left events in its mailbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    Nothing,
    More,
}

/// What a process has taken out.
#[must_use = "a process may not rest on a mailbox that is not empty"]
#[derive(Debug)]
pub(crate) struct Drained {
    pub(crate) left: Left,
    /// Events for earlier processes of this slot, with their generations.
    pub(crate) late: Vec<(u32, Event)>,
}

/// Why a message did not get in.
#[derive(Debug)]
pub(crate) enum Refused {
    Gone(Parcel),
    Full(Parcel),
}

/// How a message got in.
#[must_use]
#[derive(Debug)]
pub(crate) enum Sent {
    In,
    /// It is in, and this older one made room for it.
    InFor(Event),
    /// There is no room yet. The message is returned if the sender is to put it in.
    Waits(Arc<Ticket>, Option<Parcel>),
}

/// What happens to a message if there is no room, and senders may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IfFull {
    /// It is refused.
    Refuse,
    /// The sender waits in line for a place and puts the message in itself; nothing is sent before.
    Wait,
    /// The message waits in line, and is put in as soon as there is a place.
    Queue,
}

/// Adds to a counter that has only one writer.
fn add(counter: &AtomicU64, more: u64) {
    let count = counter.load(Ordering::Relaxed);
    counter.store(count + more, Ordering::Relaxed);
}

impl Slot {
    pub(crate) fn new() -> Slot {
        Slot {
            word: Word::new(),
            inbox: Inbox::new(),
            room: Room::new(),
            doing: AtomicU32::new(QUEUED),
            steps: AtomicU64::new(0),
            received: AtomicU64::new(0),
            back: Mutex::new(Back::default()),
            relations: Mutex::new(Relations::default()),
        }
    }

    /// Begins a new process. Returns its generation.
    pub(crate) fn open(&self, capacity: Capacity, trap: bool) -> NonZeroU32 {
        let _back = self.back.lock();
        self.room.open(self.word.generation(), capacity);
        self.doing.store(QUEUED, Ordering::Relaxed);
        self.steps.store(0, Ordering::Relaxed);
        self.received.store(0, Ordering::Relaxed);
        self.inbox.open();
        self.word.open(trap)
    }

    /// Puts a node in. Returns it if the process has ended.
    #[inline]
    fn put(&self, node: Box<Node>) -> Result<(), Box<Node>> {
        if self.inbox.push(node)? == Wake::Task {
            self.wake();
        }
        Ok(())
    }

    fn wake(&self) {
        // Cloned, since the next process may have this slot once the lock is free. There is a waker: only a
        // process that had a turn can rest.
        let waker = self.back.lock().waker.clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Puts in a message that has its place.
    #[inline]
    fn put_message(&self, generation: u32, mut message: Parcel) -> Result<(), Refused> {
        message.0.generation = generation;
        // If it is not put in, the process has ended, and the place with it.
        self.put(message.0)
            .map_err(|node| Refused::Gone(Parcel(node)))
    }

    /// Puts in a message that has its place, under the lock, so that the process is there.
    fn put_locked(&self, generation: u32, mut message: Parcel) -> Wake {
        message.0.generation = generation;
        let pushed = self.inbox.push(message.0);
        pushed.expect("it is closed under the lock")
    }

    /// Sends a message.
    #[inline]
    pub(crate) fn send(
        &self,
        generation: u32,
        message: Parcel,
        if_full: IfFull,
    ) -> Result<Sent, Refused> {
        if !self.word.is_alive(generation) {
            return Err(Refused::Gone(message));
        }
        if self.room.drops_oldest() {
            return self.send_dropping(generation, message);
        }
        match self.room.reserve(generation) {
            Reserved::Place => {
                note::grown(WaitKind::Mailbox, self, || self.room.taken() as usize);
                self.put_message(generation, message)?;
            }
            Reserved::Full => return self.send_full(generation, message, if_full),
            Reserved::Gone => return Err(Refused::Gone(message)),
        }
        Ok(Sent::In)
    }

    #[cold]
    fn send_full(
        &self,
        generation: u32,
        message: Parcel,
        if_full: IfFull,
    ) -> Result<Sent, Refused> {
        let mut back = self.back.lock();
        if !self.word.is_alive(generation) {
            return Err(Refused::Gone(message));
        }
        // Places are given back under the lock: if there is none now, the thread that gives one back finds this
        // sender in line. While there is a line, no place is free.
        if self.room.reserve(generation) == Reserved::Place {
            let wake = self.put_locked(generation, message);
            drop(back);
            if wake == Wake::Task {
                self.wake();
            }
            return Ok(Sent::In);
        }
        if self.room.overflow() == Overflow::Wait {
            match if_full {
                IfFull::Refuse => {}
                IfFull::Wait => return Ok(Sent::Waits(back.join_line(None), Some(message))),
                IfFull::Queue => return Ok(Sent::Waits(back.join_line(Some(message)), None)),
            }
        }
        back.rare().rejected += 1;
        Err(Refused::Full(message))
    }

    /// Sends a message that may push out the oldest. Under the lock from end to end, so that every message that
    /// has a place is there to be dropped.
    #[cold]
    fn send_dropping(&self, generation: u32, message: Parcel) -> Result<Sent, Refused> {
        let mut back = self.back.lock();
        let mut oldest = None;
        match self.room.reserve(generation) {
            Reserved::Place => {}
            Reserved::Full => {
                // The new message has the place of the oldest, and is put in below, which wakes the process if
                // it rests on what is sorted here.
                self.inbox.take(&mut back.sorted);
                let counts = |node: &Node| node.counts_for(generation);
                let node = back.sorted.remove_first(counts);
                oldest = node.expect("every place is a message's").into_event();
                back.rare().dropped += 1;
            }
            Reserved::Gone => return Err(Refused::Gone(message)),
        }
        let wake = self.put_locked(generation, message);
        drop(back);
        if wake == Wake::Task {
            self.wake();
        }
        Ok(oldest.map_or(Sent::In, Sent::InFor))
    }

    /// Puts in what always finds room: a completion or an event of the system. Returns it if the process has
    /// ended.
    #[inline]
    pub(crate) fn tell(&self, generation: u32, event: Event) -> Result<(), Event> {
        if !self.word.is_alive(generation) {
            return Err(event);
        }
        self.put(Node::new(generation, Some(event)))
            .map_err(|node| node.into_event().expect("it was put in with the node"))
    }

    /// Ends the process before its next step. Returns `false` if it has ended already.
    pub(crate) fn kill(&self, generation: u32, reason: ExitReason) -> bool {
        let mut unused = Some(reason);
        let mut back = self.back.lock();
        let alive = self.word.is_alive(generation);
        if alive {
            let kill = &mut back.rare().kill;
            if kill.is_none() {
                *kill = unused.take();
            }
            self.word.kill();
        }
        drop(back);
        if alive {
            // An empty node makes the process look; if it cannot be put in, the process has ended.
            let _ = self.put(Node::new(generation, None));
        }
        alive
    }

    /// Whether the process is to end before its next step.
    #[inline]
    pub(crate) fn is_killed(&self) -> bool {
        self.word.is_killed()
    }

    /// The reason that the process was killed for.
    pub(crate) fn killed_for(&self) -> ExitReason {
        let back = self.back.lock();
        let reason = back.rare.as_ref().and_then(|rare| rare.kill.clone());
        reason.unwrap_or(ExitReason::Terminated)
    }

    /// Counts a step.
    #[inline]
    pub(crate) fn count_step(&self) {
        add(&self.steps, 1);
    }

    pub(crate) fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    #[inline]
    fn set_doing(&self, doing: u32) {
        let part = self.doing.load(Ordering::Relaxed) & PART;
        self.doing.store(doing | part, Ordering::Relaxed);
    }

    /// Begins a turn of the process.
    #[inline]
    pub(crate) fn start(&self) -> Start {
        self.inbox.rouse();
        self.set_doing(RUNS);
        self.wake_part();
        if self.word.is_killed() {
            return Start::Killed;
        }
        Start::Run
    }

    /// Wakes the part of the process that waits for events, if there are any.
    #[inline]
    fn wake_part(&self) {
        let doing = self.doing.load(Ordering::Relaxed);
        if doing & PART != 0 && self.inbox.has_events() {
            self.doing.store(doing & !PART, Ordering::Relaxed);
            let mut back = self.back.lock();
            let part = back.rare.as_mut().and_then(|rare| rare.part.take());
            drop(back);
            let Some(part) = part else { return };
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| part.wake())) {
                // The waker is the process's own, and it would wait for ever.
                self.kill(self.word.generation(), ExitReason::panicked(panic));
            }
        }
    }

    /// Sets the waker of a part of the process, to be woken besides its task. Only the process itself sets it
    /// or takes it, so it may be cloned and dropped without the lock.
    #[cold]
    fn set_part(&self, waker: &Waker) {
        let waker = waker.clone();
        let old = self.back.lock().rare().part.replace(waker);
        let doing = self.doing.load(Ordering::Relaxed);
        self.doing.store(doing | PART, Ordering::Relaxed);
        drop(old);
    }

    /// Takes at most `most` events, for the process.
    #[inline]
    pub(crate) fn drain(&self, into: &mut Chain, most: usize) -> Drained {
        let mut back = self.back.lock();
        let (drained, owed) = self.take_out(&mut back, into, most);
        drop(back);
        self.settle(owed);
        drained
    }

    /// As [`drain`](Slot::drain). If there is nothing, `waker` is woken when something arrives, even if it is
    /// not the task's but that of a part of it.
    #[inline]
    pub(crate) fn receive(&self, into: &mut Chain, most: usize, waker: &Waker) -> Drained {
        let mut back = self.back.lock();
        let (drained, owed) = self.take_out(&mut back, into, most);
        let known = !into.is_empty() || back.wakes(waker);
        drop(back);
        self.settle(owed);
        if !known {
            self.set_part(waker);
        }
        drained
    }

    /// Notes that the running task, which is the process's, has found its mailbox empty, and waits for an event.
    #[inline(always)]
    pub(crate) fn is_waited_for(&self) {
        note::waits(true, WaitKind::Mailbox, self);
        note::emptied(self);
    }

    /// Takes events out. If none comes out, none is left.
    #[inline]
    fn take_out(&self, back: &mut Back, into: &mut Chain, most: usize) -> (Drained, Owed) {
        self.inbox.take(&mut back.sorted);
        // Does not allocate in the life of most processes.
        let mut late = Vec::new();
        if back.sorted.is_empty() {
            let left = Left::Nothing;
            return (Drained { left, late }, Owed::default());
        }
        let generation = self.word.generation();
        let mut places = 0;
        // Events for earlier processes do not count, so that the process never finds nothing where there is
        // more.
        let full = into.len() + most;
        while into.len() < full {
            let Some(node) = back.sorted.pop_node() else {
                break;
            };
            if node.generation == generation && node.event.is_some() {
                places += u32::from(node.counts_for(generation));
                into.push_node(node);
            } else {
                let of = node.generation;
                late.extend(node.into_event().map(|event| (of, event)));
            }
        }
        add(&self.received, u64::from(places));
        let owed = self.give_back(back, places);
        let left = if back.sorted.is_empty() {
            Left::Nothing
        } else {
            Left::More
        };
        (Drained { left, late }, owed)
    }

    /// Sets the waker of the process. To be called before it first rests.
    pub(crate) fn register(&self, waker: &Waker) {
        let waker = Some(waker.clone());
        let old = std::mem::replace(&mut self.back.lock().waker, waker);
        drop(old);
    }

    /// Lets the process rest, unless something has arrived since it last looked.
    #[inline]
    pub(crate) fn rest(&self, pause: Pause) -> Rest {
        self.set_doing(match pause {
            Pause::Blocked => BLOCKED,
            Pause::Idle => IDLE,
        });
        let rests = !self.word.is_killed() && self.inbox.rest();
        if rests {
            return Rest::Resting;
        }
        self.set_doing(RUNS);
        self.wake_part();
        // Killing sets the flag before it makes the process look.
        if self.word.is_killed() {
            return Rest::Killed;
        }
        // From here on they are known: a process that does not want them now may rest on them.
        self.inbox.take(&mut self.back.lock().sorted);
        Rest::Awake
    }

    /// Notes that the process goes to the tail of the queue.
    #[inline]
    pub(crate) fn requeue(&self) {
        self.set_doing(QUEUED);
    }

    /// Returns `false` if the process has ended.
    pub(crate) fn set_trap(&self, generation: u32, trap: bool) -> bool {
        let _back = self.back.lock();
        let alive = self.word.is_alive(generation);
        if alive {
            self.word.set_trap(trap);
        }
        alive
    }

    pub(crate) fn traps(&self) -> bool {
        self.word.traps()
    }

    /// Ends the process: from now on its PID belongs to none.
    pub(crate) fn complete(&self) -> Leftovers {
        let mut back = self.back.lock();
        self.word.complete();
        self.room.close();
        note::emptied(self);
        self.inbox.close(&mut back.sorted);
        back.close()
    }

    /// Whether the slot has had as many processes as it can have.
    pub(crate) fn is_used_up(&self) -> bool {
        self.word.is_used_up()
    }

    /// Acts as if the slot had had all earlier processes. No process is here.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn skip_to(&self, generation: u32) {
        self.word.skip_to(generation);
    }

    /// Generation of the process that is here, or comes next.
    pub(crate) fn generation(&self) -> u32 {
        self.word.generation()
    }

    #[inline]
    pub(crate) fn is_alive(&self, generation: u32) -> bool {
        self.word.is_alive(generation)
    }

    /// Returns the generation of the process that is here, and what it is doing. Never waits.
    pub(crate) fn look(&self) -> Option<(NonZeroU32, ProcessState)> {
        let generation = self.word.look()?;
        let doing = self.doing.load(Ordering::Relaxed) & !PART;
        let state = match doing {
            RUNS => ProcessState::Running,
            BLOCKED if self.inbox.is_resting() => ProcessState::Blocked,
            IDLE if self.inbox.is_resting() => ProcessState::Idle,
            _ => ProcessState::Ready,
        };
        Some((generation, state))
    }

    /// Returns the number of messages inside and in line, and the counters. Never waits: if the lock is taken,
    /// the numbers behind it are zero.
    pub(crate) fn depth(&self) -> ((usize, usize), MailboxCounters) {
        let mut inside = self.room.taken();
        let mut counters = MailboxCounters::default();
        let mut waiting = 0;
        if let Some(back) = self.back.try_lock() {
            waiting = back.waiting();
            if let Some(rare) = &back.rare {
                inside = inside.saturating_sub(rare.kept);
                counters.accepted = rare.dropped;
                counters.rejected = rare.rejected;
                counters.dropped = rare.dropped;
                counters.waited = rare.waited;
            }
        }
        counters.accepted += self.received.load(Ordering::Relaxed) + u64::from(inside);
        ((inside as usize, waiting), counters)
    }
}
