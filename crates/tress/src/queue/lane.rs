//! What all queues have in common, and what a flavour adds to it.
//!
//! A queue has three groups of fields, each on cache lines of its own: what senders write with every message,
//! what receivers write with every message, and what both mostly only read. A sender looks at the receivers'
//! head only when the head that was seen last says that the queue is full.
//!
//! A flavour is a [`Lane`]: how messages are kept, and how receivers come to them.

use super::acquire::Request;
use super::tail::{MAX_RESERVED, Tail, TailWord, distance};
use crate::sight::{self, Site, WaitKind};
use crate::sys::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sys::{CachePadded, Mutex};
use crate::wait::{Bell, Listener, WaitList};
use std::future::poll_fn;
use std::panic::Location;
use std::pin::pin;

/// The capacity of an unbounded queue.
pub(crate) const UNBOUNDED: usize = usize::MAX;

/// How a queue keeps its messages.
pub(crate) trait Lane: Sized {
    type Message;
    /// A claim of a slot, which has to be filled.
    type Spot;
    /// What a claim may need, prepared before it is known whether the claim succeeds.
    type Fresh: Default;

    /// Kept beside the senders' word.
    type Tail;
    /// Kept beside the receivers' position.
    type Head;
    /// Kept with what both sides mostly only read.
    type Shared;

    /// Claims the position of `tail`, which is not installing: replaces it by `next` with that position
    /// taken. On failure, returns the tail to try again with.
    fn claim(
        queue: &Queue<Self>,
        tail: Tail,
        next: Tail,
        fresh: &mut Self::Fresh,
    ) -> Result<Self::Spot, Tail>;

    /// Does what `claim` does where nothing has to be prepared. Returns `None` if something has to be, or if
    /// the word has changed.
    fn claim_plainly(queue: &Queue<Self>, tail: Tail) -> Option<Self::Spot>;

    /// Takes back what was prepared and a claim did not need.
    fn put_back(queue: &Queue<Self>, fresh: Self::Fresh);

    /// Replaces `tail` by `next`, which gives the last reservation of a closed queue back, and tells
    /// receivers that wait that no message will come.
    fn end(queue: &Queue<Self>, tail: Tail, next: Tail) -> Result<(), Tail>;

    /// Called when a sender is about to get in line, with the line's lock held.
    fn line_forms(queue: &Queue<Self>);

    /// Called when the last sender has left the line, with the line's lock held.
    fn line_is_gone(queue: &Queue<Self>);
}

/// A queue of messages with places, an order and an end; `L` is its flavour.
pub(crate) struct Queue<L: Lane> {
    pub(super) tail: CachePadded<SenderPart<L::Tail>>,
    pub(super) head: CachePadded<ReceiverPart<L::Head>>,
    pub(super) shared: CachePadded<SharedPart<L::Shared>>,
}

pub(super) struct SenderPart<P> {
    pub(super) word: TailWord,
    /// The head that a sender saw last.
    pub(super) head_seen: AtomicU64,
    pub(super) lane: P,
}

pub(super) struct ReceiverPart<P> {
    /// The position of the next message to be received, and the flags that the lane puts above it.
    pub(super) position: AtomicU64,
    pub(super) lane: P,
}

pub(super) struct SharedPart<P> {
    /// The capacity that the user gave, or `UNBOUNDED`.
    pub(super) capacity: usize,
    /// True if there are senders in line. Written under the lock.
    pub(super) waiting: AtomicBool,
    /// The senders that wait for places.
    pub(super) line: Mutex<WaitList<Request>>,
    /// Rung when the queue is closed.
    pub(super) closing: Bell,
    /// Where the queue was created.
    pub(super) site: Site,
    pub(super) lane: P,
}

// SAFETY: the queue owns messages, which pass from thread to thread; everything else in it is
// atomic, behind a lock, or handed over by the protocols of the lanes.
unsafe impl<L: Lane> Send for Queue<L> where L::Message: Send {}
// SAFETY: as above. No `&Message` is ever shared between threads.
unsafe impl<L: Lane> Sync for Queue<L> where L::Message: Send {}

impl<L: Lane> Queue<L> {
    #[track_caller]
    pub(super) fn with_parts(
        capacity: usize,
        tail: L::Tail,
        head: L::Head,
        shared: L::Shared,
    ) -> Queue<L> {
        Queue {
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
                closing: Bell::new(WaitKind::ChannelClosed),
                site: Location::caller(),
                lane: shared,
            }),
        }
    }

    /// Notes that the running task waits at the queue for what `kind` says, and whether it `begins` to wait.
    #[inline(always)]
    pub(super) fn waits(&self, begins: bool, kind: WaitKind) {
        sight::waits_if(begins, kind, sight::address(self), Some(self.shared.site));
    }

    /// Notes that a wait, if the poll that is under way has noted one, is given up.
    #[inline(always)]
    pub(super) fn gives_up(&self, kind: WaitKind) {
        sight::gives_up(kind, sight::address(self));
    }

    /// Notes how long the queue is after a message was sent, if it has no limit.
    #[inline(always)]
    pub(crate) fn has_grown(&self) {
        if sight::is_on() {
            self.note_length();
        }
    }

    #[cold]
    #[inline(never)]
    fn note_length(&self) {
        if !self.is_bounded() {
            // The head first: the tail is not before it then.
            let head = self.head.position.load(Ordering::Acquire);
            let length = distance(self.tail().position(), head) as usize;
            let address = sight::address(self);
            sight::grown(
                WaitKind::ChannelReceive,
                address,
                Some(self.shared.site),
                length,
            );
        }
    }

    /// Notes that a receiver has found the queue empty, or that it is dropped.
    #[inline(always)]
    pub(super) fn is_empty_now(&self) {
        sight::emptied(sight::address(self));
    }

    pub(crate) fn max_capacity(&self) -> usize {
        self.shared.capacity
    }

    #[inline(always)]
    pub(crate) fn is_bounded(&self) -> bool {
        self.shared.capacity != UNBOUNDED
    }

    /// Returns the maximum number of places that can be reserved at the same time.
    pub(crate) fn max_reserved(&self) -> usize {
        self.shared.capacity.min(MAX_RESERVED as usize)
    }

    #[inline(always)]
    pub(super) fn tail(&self) -> Tail {
        self.tail.word.load()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.tail().is_closed()
    }

    pub(super) fn line(&self) -> &Mutex<WaitList<Request>> {
        &self.shared.line
    }

    /// Waits until the queue is closed.
    pub(crate) async fn closed(&self) {
        let mut listener = pin!(Listener::new(&self.shared.closing));
        poll_fn(|cx| {
            listener
                .as_mut()
                .poll_until(cx, || self.is_closed().then_some(()))
        })
        .await
    }
}
