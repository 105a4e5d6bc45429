//! The shared half of a registration: one word of readiness, and who waits for it.
//!
//! # The word
//!
//! | bits | field | rule |
//! |---|---|---|
//! | 0..8 | readiness | set by events, cleared by [`Slot::clear`] and [`Slot::would_block`] |
//! | 8 | shutdown | set once when the driver closes; ends every wait |
//! | 16..32 | tick | goes up by one with every event |
//! | 32..64 | generation | goes up by one when the slot is given back |
//!
//! Events, shutdown and giving back change the word under the lock of the waiters; the two that clear do so
//! without it. A waiter enters the list and looks at the word under one hold of the lock, so an event
//! either comes before, and is seen, or after, and finds the waiter.
//!
//! An event names the generation it is for: late ones for a slot that was given back change nothing.
//! Who clears names the tick it has seen: if another event came meanwhile it changes nothing. (The tick
//! wraps after 65,536 events, all of which would have to come between one `poll` and its `clear`.)

use crate::ready::Ready;
use crate::registration::Direction;
use crate::sys::atomic::{AtomicU64, Ordering};
use crate::sys::{Mutex, UnsafeCell};
use crate::wakers::Wakers;
use std::fmt;
use std::marker::PhantomPinned;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};

const READY: u64 = 0xFF;
const SHUTDOWN: u64 = 1 << 8;
const TICK_SHIFT: u32 = 16;
const TICK: u64 = 0xFFFF << TICK_SHIFT;
const GENERATION_SHIFT: u32 = 32;

/// A value of the word.
#[derive(Clone, Copy)]
struct Word(u64);

impl Word {
    fn fresh(generation: u32) -> Word {
        Word(u64::from(generation) << GENERATION_SHIFT)
    }

    fn ready(self) -> Ready {
        Ready::from_bits((self.0 & READY) as u8)
    }

    fn is_shut_down(self) -> bool {
        self.0 & SHUTDOWN != 0
    }

    fn tick(self) -> u16 {
        ((self.0 & TICK) >> TICK_SHIFT) as u16
    }

    fn generation(self) -> u32 {
        (self.0 >> GENERATION_SHIFT) as u32
    }

    fn with_event(self, ready: Ready) -> Word {
        let tick = u64::from(self.tick().wrapping_add(1)) << TICK_SHIFT;
        Word((self.0 & !TICK) | tick | u64::from(ready.bits()))
    }

    fn without(self, ready: Ready) -> Word {
        Word(self.0 & !u64::from(ready.bits()))
    }

    /// The event that somebody who waits for `mask` is to see, if there is one.
    fn event(self, mask: Ready) -> Option<ReadyEvent> {
        let ready = self.ready() & mask;
        (!ready.is_empty() || self.is_shut_down()).then_some(ReadyEvent {
            ready,
            tick: self.tick(),
            shut_down: self.is_shut_down(),
        })
    }
}

/// Readiness that was seen, and when; [`Registration::clear`](crate::Registration::clear) takes it.
#[derive(Debug, Clone, Copy)]
pub struct ReadyEvent {
    ready: Ready,
    tick: u16,
    shut_down: bool,
}

impl ReadyEvent {
    /// What the source is ready for, of what was asked.
    pub fn ready(&self) -> Ready {
        self.ready
    }

    /// The same moment, with less (or other) readiness: what to clear if only a part was used up.
    #[must_use]
    pub fn with_ready(self, ready: Ready) -> ReadyEvent {
        ReadyEvent { ready, ..self }
    }

    pub(crate) fn is_shut_down(&self) -> bool {
        self.shut_down
    }
}

/// One line of the cache: with many sources each event finds its slot in memory further away.
#[cfg_attr(not(loom), repr(align(64)))]
pub(crate) struct Slot {
    word: AtomicU64,
    waiters: Mutex<Waiters>,
}

#[derive(Default)]
struct Waiters {
    reader: Option<Waker>,
    writer: Option<Waker>,
    list: NodeList,
}

impl Waiters {
    fn of(&mut self, direction: Direction) -> &mut Option<Waker> {
        match direction {
            Direction::Read => &mut self.reader,
            Direction::Write => &mut self.writer,
        }
    }

    fn take(&mut self, ready: Ready, wakers: &mut Wakers) {
        if ready.is_readable() {
            wakers.push(self.reader.take());
        }
        if ready.is_writable() {
            wakers.push(self.writer.take());
        }
        self.list.take(ready, wakers);
    }
}

impl Slot {
    pub(crate) fn new() -> Slot {
        Slot {
            word: AtomicU64::new(0),
            waiters: Mutex::new(Waiters::default()),
        }
    }

    fn load(&self) -> Word {
        Word(self.word.load(Ordering::Acquire))
    }

    pub(crate) fn generation(&self) -> u32 {
        self.load().generation()
    }

    /// An event. Does nothing if `is_for` denies the slot's generation.
    pub(crate) fn set_ready(
        &self,
        is_for: impl Fn(u32) -> bool,
        ready: Ready,
        wakers: &mut Wakers,
    ) {
        let mut waiters = self.waiters.lock();
        // Generations change under the lock only.
        if is_for(self.generation()) {
            self.update(|word| Some(word.with_event(ready)));
            waiters.take(ready, wakers);
        }
    }

    /// The driver closes: every wait ends, now and later.
    pub(crate) fn shut_down(&self, wakers: &mut Wakers) {
        let mut waiters = self.waiters.lock();
        self.update(|word| Some(Word(word.0 | SHUTDOWN)));
        waiters.take(Ready::ALL, wakers);
        waiters.list.take_all(wakers);
    }

    /// The slot is given back: what was known of its source is forgotten, and events that are
    /// still under way will find another generation.
    pub(crate) fn retire(&self) {
        let mut left = Wakers::default();
        let mut waiters = self.waiters.lock();
        self.update(|word| Some(Word::fresh(word.generation().wrapping_add(1))));
        let slots = (waiters.reader.take(), waiters.writer.take());
        waiters.list.take_all(&mut left);
        drop(waiters);
        // Foreign code runs when a waker is dropped: not under the lock.
        drop((slots, left));
    }

    pub(crate) fn event(&self, mask: Ready) -> Option<ReadyEvent> {
        self.load().event(mask)
    }

    pub(crate) fn poll(&self, cx: &mut Context<'_>, direction: Direction) -> Poll<ReadyEvent> {
        let mask = direction.mask();
        if let Some(event) = self.event(mask) {
            return Poll::Ready(event);
        }
        let mut waiters = self.waiters.lock();
        let mut old = None;
        if waiters
            .of(direction)
            .as_ref()
            .is_none_or(|waker| !waker.will_wake(cx.waker()))
        {
            // Foreign code runs when a waker is cloned: not under the lock.
            drop(waiters);
            let new = cx.waker().clone();
            waiters = self.waiters.lock();
            old = waiters.of(direction).replace(new);
        }
        // Events change the word under the lock: one that is not seen here will find the waker.
        let event = self.event(mask);
        drop(waiters);
        drop(old);
        event.map_or(Poll::Pending, Poll::Ready)
    }

    /// Clears what `event` says, unless another event came since. The closed states stay.
    pub(crate) fn clear(&self, event: ReadyEvent) {
        let used_up = event.ready - Ready::CLOSED;
        if used_up.is_empty() {
            return;
        }
        self.take_back(event, used_up);
    }

    /// The source was found to block: clears all that `event` says, unless another event came since.
    pub(crate) fn would_block(&self, event: ReadyEvent) {
        self.take_back(event, event.ready);
    }

    fn take_back(&self, event: ReadyEvent, ready: Ready) {
        self.update(|word| (word.tick() == event.tick).then(|| word.without(ready)));
    }

    fn update(&self, f: impl Fn(Word) -> Option<Word>) {
        // A failed update is one that had nothing to do.
        let _ = self
            .word
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |word| {
                f(Word(word)).map(|new| new.0)
            });
    }

    /// Waits with a node of its own, for any mask.
    ///
    /// # Safety
    /// The node is pinned, and `leave` is called with it before it goes. It is used with this slot
    /// only.
    pub(crate) unsafe fn poll_node(
        &self,
        node: &Node,
        mask: Ready,
        cx: &mut Context<'_>,
    ) -> Poll<ReadyEvent> {
        if let Some(event) = self.event(mask) {
            return Poll::Ready(event);
        }
        let waker = cx.waker().clone();
        let mut waiters = self.waiters.lock();
        // Looked at under the lock, as in `poll`.
        if let Some(event) = self.event(mask) {
            drop(waiters);
            return Poll::Ready(event);
        }
        // SAFETY: we have the lock; pinned by the caller's promise.
        let old = unsafe { waiters.list.enter(node, waker, mask) };
        drop(waiters);
        drop(old);
        Poll::Pending
    }

    /// Takes a node out of the list, if it is in it.
    ///
    /// # Safety
    /// The node has been used with this slot only.
    pub(crate) unsafe fn leave(&self, node: &Node) {
        let mut waiters = self.waiters.lock();
        // SAFETY: we have the lock; it is in this list or in none.
        let waker = unsafe { waiters.list.leave(node) };
        drop(waiters);
        drop(waker);
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.load();
        f.debug_struct("Slot")
            .field("ready", &word.ready())
            .field("tick", &word.tick())
            .field("shut_down", &word.is_shut_down())
            .field("generation", &word.generation())
            .finish()
    }
}

/// A waiter's place in the list; lives, pinned, in its future.
#[derive(Debug)]
pub(crate) struct Node {
    links: UnsafeCell<Links>,
    _pinned: PhantomPinned,
}

#[derive(Debug)]
struct Links {
    linked: bool,
    prev: Option<NonNull<Node>>,
    next: Option<NonNull<Node>>,
    mask: Ready,
    waker: Option<Waker>,
}

// SAFETY: the links are touched under the lock of the slot only, from whichever thread.
unsafe impl Send for Node {}
// SAFETY: as above; a shared reference gives no access without that lock.
unsafe impl Sync for Node {}

impl Node {
    pub(crate) fn new() -> Node {
        Node {
            links: UnsafeCell::new(Links {
                linked: false,
                prev: None,
                next: None,
                mask: Ready::EMPTY,
                waker: None,
            }),
            _pinned: PhantomPinned,
        }
    }

    /// # Safety
    /// The lock of the slot is held, and `f` touches no other access to this node's links.
    unsafe fn with<R>(&self, f: impl FnOnce(&mut Links) -> R) -> R {
        // SAFETY: exclusive by the caller's promise.
        self.links.with_mut(|links| f(unsafe { &mut *links }))
    }
}

/// The waiting nodes, the longest waiting first. Every method needs the lock of the slot.
#[derive(Default)]
struct NodeList {
    head: Option<NonNull<Node>>,
    tail: Option<NonNull<Node>>,
}

// SAFETY: nodes stay in place while linked and are touched under the slot's lock only.
unsafe impl Send for NodeList {}

impl NodeList {
    /// Links the node, or renews its waker; returns the old waker.
    ///
    /// # Safety
    /// The lock is held; the node is in this list or in none, and pinned until it has left.
    unsafe fn enter(&mut self, node: &Node, waker: Waker, mask: Ready) -> Option<Waker> {
        let this = NonNull::from(node);
        let tail = self.tail;
        // SAFETY: the lock is held.
        let (was_linked, old) = unsafe {
            node.with(|links| {
                let was_linked = std::mem::replace(&mut links.linked, true);
                if !was_linked {
                    links.prev = tail;
                    links.next = None;
                }
                links.mask = mask;
                (was_linked, links.waker.replace(waker))
            })
        };
        if !was_linked {
            match self.tail.replace(this) {
                // SAFETY: linked nodes stay in place; the lock is held.
                Some(tail) => unsafe { tail.as_ref().with(|links| links.next = Some(this)) },
                None => self.head = Some(this),
            }
        }
        old
    }

    /// Unlinks the node if it is linked; returns its waker.
    ///
    /// # Safety
    /// The lock is held; the node is in this list or in none.
    unsafe fn leave(&mut self, node: &Node) -> Option<Waker> {
        // SAFETY: the lock is held.
        let (was_linked, prev, next, waker) = unsafe {
            node.with(|links| {
                (
                    std::mem::replace(&mut links.linked, false),
                    links.prev.take(),
                    links.next.take(),
                    links.waker.take(),
                )
            })
        };
        if was_linked {
            // SAFETY: neighbours of a linked node are linked, so in place; the lock is held.
            unsafe {
                match prev {
                    Some(prev) => prev.as_ref().with(|links| links.next = next),
                    None => self.head = next,
                }
                match next {
                    Some(next) => next.as_ref().with(|links| links.prev = prev),
                    None => self.tail = prev,
                }
            }
        }
        waker
    }

    /// Unlinks every node that waits for any of `ready`.
    fn take(&mut self, ready: Ready, wakers: &mut Wakers) {
        self.take_if(|mask| !(mask & ready).is_empty(), wakers);
    }

    fn take_all(&mut self, wakers: &mut Wakers) {
        self.take_if(|_| true, wakers);
    }

    fn take_if(&mut self, wanted: impl Fn(Ready) -> bool, wakers: &mut Wakers) {
        let mut at = self.head;
        while let Some(node) = at {
            // SAFETY: linked nodes are in place, and stay while the lock is held, which `&mut self`
            // proves: the list lies behind it.
            let node = unsafe { node.as_ref() };
            // SAFETY: as above.
            let (next, mask) = unsafe { node.with(|links| (links.next, links.mask)) };
            if wanted(mask) {
                // SAFETY: it is in this list.
                wakers.push(unsafe { self.leave(node) });
            }
            at = next;
        }
    }
}

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;
