//! The part that all buffering channels share: its layout, and claiming positions.
//!
//! Three groups of fields, each on cache lines of its own: what senders write with every message,
//! what receivers write with every message, and what both mostly only read. A sender looks at the
//! receivers' head only when the head it remembers says that the channel is full.
//!
//! What differs is a [`Lane`]: how messages are kept, and how receivers come to them. `sync::mpsc`
//! has one, for a single receiver; the channels of this module have two, for many.

use super::acquire::Request;
use super::tail::{MAX_RESERVED, Tail, TailWord};
use crate::sync::bell::{Bell, Listener};
use crate::sync::wait_list::WaitList;
use crate::sys::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use crate::sys::{CachePadded, Mutex, thread};
use crate::task::coop;
use std::future::poll_fn;
use std::pin::pin;
use std::task::ready;

/// The capacity of an unbounded channel.
pub(crate) const UNBOUNDED: usize = usize::MAX;

/// How a channel keeps its messages.
pub(crate) trait Lane: Sized {
    type Message;
    /// A slot that was claimed and has to be filled.
    type Spot;
    /// What a claim may need is got ready before the need is certain.
    type Fresh: Default;

    /// Kept beside the senders' word.
    type Tail;
    /// Kept beside the receivers' position.
    type Head;
    /// Kept with what both sides mostly only read.
    type Shared;

    /// Replaces `tail`, which is not installing, by `next` with its position claimed. `Err` tells the
    /// tail to try again with.
    fn claim(
        chan: &Chan<Self>,
        tail: Tail,
        next: Tail,
        fresh: &mut Self::Fresh,
    ) -> Result<Self::Spot, Tail>;

    /// As `claim`, where nothing has to be got ready; `None` if something has, or the word has changed.
    fn claim_plainly(chan: &Chan<Self>, tail: Tail) -> Option<Self::Spot>;

    /// Takes back what a claim did not need.
    fn put_back(chan: &Chan<Self>, fresh: Self::Fresh);

    /// Replaces `tail` by `next`, of a closed channel whose last reservation that gives back: nothing
    /// comes any more, and receivers that wait are told.
    fn end(chan: &Chan<Self>, tail: Tail, next: Tail) -> Result<(), Tail>;

    /// A sender is about to get in line. Called with the line's lock held.
    fn line_forms(chan: &Chan<Self>);

    /// The last sender has left the line. Called with the line's lock held.
    fn line_is_gone(chan: &Chan<Self>);
}

pub(crate) struct Chan<L: Lane> {
    pub(crate) tail: CachePadded<SenderPart<L::Tail>>,
    pub(crate) head: CachePadded<ReceiverPart<L::Head>>,
    pub(crate) shared: CachePadded<SharedPart<L::Shared>>,
}

pub(crate) struct SenderPart<P> {
    pub(crate) word: TailWord,
    /// A head that some sender has seen.
    pub(crate) head_seen: AtomicU64,
    pub(crate) lane: P,
}

pub(crate) struct ReceiverPart<P> {
    /// The position of the next message to be received, and whatever flags the lane puts above it.
    pub(crate) position: AtomicU64,
    pub(crate) lane: P,
}

pub(crate) struct SharedPart<P> {
    /// As the user gave it, or `UNBOUNDED`.
    pub(crate) capacity: usize,
    /// Are there senders in line? Written under the lock.
    pub(crate) waiting: AtomicBool,
    /// Senders that wait for places.
    pub(crate) line: Mutex<WaitList<Request>>,
    /// Rung when the channel is closed.
    pub(crate) closing: Bell,
    pub(crate) lane: P,
}

/// Why there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// None is free, or others are in line.
    Full,
    Closed,
}

// SAFETY: the channel owns messages, which pass from thread to thread; everything else in it is
// atomic, behind a lock, or handed over by the protocols of the lanes.
unsafe impl<L: Lane> Send for Chan<L> where L::Message: Send {}
// SAFETY: as above. No `&Message` is ever shared between threads.
unsafe impl<L: Lane> Sync for Chan<L> where L::Message: Send {}

impl<L: Lane> Chan<L> {
    pub(crate) fn with_parts(
        capacity: usize,
        tail: L::Tail,
        head: L::Head,
        shared: L::Shared,
    ) -> Chan<L> {
        Chan {
            tail: CachePadded::new(SenderPart {
                word: TailWord::new(),
                head_seen: AtomicU64::new(0),
                lane: tail,
            }),
            head: CachePadded::new(ReceiverPart {
                position: AtomicU64::new(0),
                lane: head,
            }),
            shared: CachePadded::new(SharedPart {
                capacity,
                waiting: AtomicBool::new(false),
                line: Mutex::new(WaitList::new()),
                closing: Bell::new(),
                lane: shared,
            }),
        }
    }

    pub(crate) fn max_capacity(&self) -> usize {
        self.shared.capacity
    }

    #[inline(always)]
    pub(crate) fn is_bounded(&self) -> bool {
        self.shared.capacity != UNBOUNDED
    }

    /// The most that can be reserved at once.
    pub(crate) fn max_reserved(&self) -> usize {
        self.shared.capacity.min(MAX_RESERVED as usize)
    }

    #[inline(always)]
    pub(crate) fn tail(&self) -> Tail {
        self.tail.word.load()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.tail().is_closed()
    }

    pub(crate) fn line(&self) -> &Mutex<WaitList<Request>> {
        &self.shared.line
    }

    pub(crate) async fn closed(&self) {
        let mut listener = pin!(Listener::new(&self.shared.closing));
        poll_fn(|cx| {
            let proceed = ready!(coop::poll_proceed(cx));
            let closed = listener
                .as_mut()
                .poll_until(cx, || self.is_closed().then_some(()));
            if closed.is_ready() {
                proceed.made_progress();
            }
            closed
        })
        .await
    }

    /// Claims a position for a message that has no reservation.
    #[inline(always)]
    pub(crate) fn try_claim(&self) -> Result<L::Spot, Refusal> {
        match self.claim_quickly() {
            Some(spot) => Ok(spot),
            None => self.claim_slowly(),
        }
    }

    /// As `try_claim`, if nothing is in the way.
    #[inline(always)]
    pub(crate) fn claim_quickly(&self) -> Option<L::Spot> {
        let tail = self.tail();
        let free = !self.is_bounded()
            || (!self.shared.waiting.load(Ordering::Relaxed) && self.places(tail, 1) > 0);
        if tail.is_open() && free {
            L::claim_plainly(self, tail)
        } else {
            None
        }
    }

    /// Claims the position of `tail`, for a message that is not the last of its block. False if the
    /// word has changed; others were given way to then.
    #[inline(always)]
    #[must_use]
    pub(crate) fn move_on_from(&self, tail: Tail) -> bool {
        match self.tail.word.replace(tail, tail.claim(false)) {
            Ok(()) => true,
            Err(actual) => {
                if actual != tail {
                    give_way();
                }
                false
            }
        }
    }

    /// Claims the position of `tail`, which is open and has a free place; `None` if it has changed.
    fn claim_at(&self, tail: Tail) -> Option<L::Spot> {
        let mut fresh = L::Fresh::default();
        let claimed = L::claim(self, tail, tail, &mut fresh);
        L::put_back(self, fresh);
        if claimed.as_ref().is_err_and(|actual| *actual != tail) {
            give_way();
        }
        claimed.ok()
    }

    /// As `try_claim`, whatever the channel's state.
    #[cold]
    fn claim_slowly(&self) -> Result<L::Spot, Refusal> {
        if self.is_bounded() && self.shared.waiting.load(Ordering::Relaxed) {
            return Err(if self.is_closed() {
                Refusal::Closed
            } else {
                Refusal::Full
            });
        }
        let mut tail = self.tail();
        loop {
            if !tail.is_open() {
                if tail.is_closed() {
                    return Err(Refusal::Closed);
                }
                tail = self.wait_for_block();
                continue;
            }
            if self.is_bounded() && self.places(tail, 1) == 0 {
                let current = self.tail();
                if current == tail {
                    return Err(Refusal::Full);
                }
                tail = current;
                continue;
            }
            if let Some(spot) = self.claim_at(tail) {
                return Ok(spot);
            }
            tail = self.tail();
        }
    }

    /// Turns a reservation into a position. `None` if no receiver is left; the reservation is used
    /// up either way.
    #[inline]
    pub(crate) fn claim_reserved(&self) -> Option<L::Spot> {
        let mut fresh = L::Fresh::default();
        let mut tail = self.tail();
        loop {
            if tail.is_installing() {
                tail = self.wait_for_block();
                continue;
            }
            let claimed = if tail.is_gone() {
                self.tail
                    .word
                    .replace(tail, tail.unreserve(1))
                    .map(|()| None)
            } else {
                L::claim(self, tail, tail.unreserve(1), &mut fresh).map(Some)
            };
            match claimed {
                Ok(spot) => {
                    L::put_back(self, fresh);
                    return spot;
                }
                Err(actual) => tail = actual,
            }
        }
    }

    /// Another sender is hanging the next block in.
    #[cold]
    pub(crate) fn wait_for_block(&self) -> Tail {
        let mut pause = Pause::new();
        loop {
            let tail = self.tail();
            if !tail.is_installing() {
                return tail;
            }
            pause.wait();
        }
    }
}

/// Waiting for another thread that is a handful of instructions from being done, unless it lost its
/// core.
pub(crate) struct Pause(u32);

impl Pause {
    pub(crate) fn new() -> Pause {
        Pause(0)
    }

    /// True if it took no more than a few looks so far.
    pub(crate) fn wait(&mut self) -> bool {
        self.0 += 1;
        let brief = self.0 < 64 && !cfg!(loom);
        if brief {
            std::hint::spin_loop();
        } else {
            thread::yield_now();
        }
        brief
    }
}

/// Gives way to another core that writes the same word, which was changed under our hands. In the time
/// in which both would do a few operations in turns, one alone does a hundred, on a word that stays in
/// its cache: so the pause is long.
#[cold]
pub(crate) fn give_way() {
    /// Of the processor, at some forty nanoseconds each.
    const PAUSES: u32 = if cfg!(loom) { 0 } else { 64 };
    for _ in 0..PAUSES {
        std::hint::spin_loop();
    }
}

/// How many there are of a kind that keeps a channel alive.
pub(crate) struct Count(AtomicUsize);

impl Count {
    pub(crate) fn new(count: usize) -> Count {
        Count(AtomicUsize::new(count))
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }

    pub(crate) fn add(&self) {
        if self.0.fetch_add(1, Ordering::Relaxed) > usize::MAX / 2 {
            std::process::abort();
        }
    }

    /// Adds one unless there is none.
    #[must_use]
    pub(crate) fn try_add(&self) -> bool {
        let mut count = self.get();
        while count != 0 {
            match self.0.compare_exchange_weak(
                count,
                count + 1,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return true,
                Err(actual) => count = actual,
            }
        }
        false
    }

    /// True if it was the last one.
    pub(crate) fn remove(&self) -> bool {
        self.0.fetch_sub(1, Ordering::AcqRel) == 1
    }
}
