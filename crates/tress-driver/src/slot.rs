//! The shared half of a registration: one word of readiness, and the tasks that wait for it.
//!
//! # The word
//!
//! | bits | field | rule |
//! |---|---|---|
//! | 0..8 | readiness | set by events, cleared by [`Slot::clear`] and [`Slot::would_block`] |
//! | 8 | shutdown | set once when the driver closes; ends every wait |
//! | 16..32 | tick | incremented by every event |
//! | 32..64 | generation | incremented when the slot is given back |
//!
//! Events, shutdown and giving back change the word under the lock of the waiters; clearing does not take it. A
//! waiter enters the list and looks at the word under one hold of the lock, so an event either comes before,
//! and is seen, or comes after, and finds the waiter.
//!
//! An event names the generation it is for: a late one for a slot that was given back changes nothing. Clearing
//! names the tick that was seen: if another event came meanwhile it changes nothing. (The tick wraps after
//! 65,536 events, all of which would have to come between one `poll` and its `clear`.)

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

    /// The event that a waiter for `mask` is to see, if there is one.
    fn event(self, mask: Ready) -> Option<ReadyEvent> {
        let ready = self.ready() & mask;
        (!ready.is_empty() || self.is_shut_down()).then_some(ReadyEvent {
            ready,
            tick: self.tick(),
            shut_down: self.is_shut_down(),
        })
    }
}

/// Readiness that was seen at one moment.
///
/// [`Registration::clear`](crate::Registration::clear) and
/// [`Registration::would_block`](crate::Registration::would_block) take it: they clear nothing if another event
/// has arrived since.
///
/// # Examples
/// ```
/// # #[cfg(unix)] {
/// use std::os::unix::net::UnixStream;
/// use std::sync::Arc;
/// use tress_driver::{Config, Driver, Interest, Ready};
///
/// let driver = Arc::new(Driver::new(&Config::new())?);
/// let (mut near, _far) = UnixStream::pair()?;
/// near.set_nonblocking(true)?;
/// let both = Interest::READABLE | Interest::WRITABLE;
/// let registration = driver.register(&mut near, both)?;
/// registration.assume_ready(Ready::READABLE | Ready::WRITABLE);
///
/// let event = registration.ready_now(both).expect("assumed");
/// registration.clear(event.with_ready(Ready::READABLE));
/// let left = registration.ready_now(both).expect("still writable");
/// assert_eq!(left.ready(), Ready::WRITABLE);
/// # }
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ReadyEvent {
    ready: Ready,
    tick: u16,
    shut_down: bool,
}

impl ReadyEvent {
    /// Returns the conditions that the source is ready for, among those that were asked for.
    pub fn ready(&self) -> Ready {
        self.ready
    }

    /// Returns an event of the same moment with other readiness, to clear only a part of it.
    #[must_use]
    pub fn with_ready(self, ready: Ready) -> ReadyEvent {
        ReadyEvent { ready, ..self }
    }

    pub(crate) fn is_shut_down(&self) -> bool {
        self.shut_down
    }
}

/// Aligned to a cache line: with many sources, the slot of each event is likely to be far away in memory.
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

    /// Applies an event. Does nothing if `is_for` rejects the slot's generation.
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

    /// Ends every wait, now and later, because the driver closes.
    pub(crate) fn shut_down(&self, wakers: &mut Wakers) {
        let mut waiters = self.waiters.lock();
        self.update(|word| Some(Word(word.0 | SHUTDOWN)));
        waiters.take(Ready::ALL, wakers);
        waiters.list.take_all(wakers);
    }

    /// Gives the slot back: forgets what was known of its source, and changes the generation so that late
    /// events do not match.
    pub(crate) fn retire(&self) {
        let mut left = Wakers::default();
        let mut waiters = self.waiters.lock();
        self.update(|word| Some(Word::fresh(word.generation().wrapping_add(1))));
        let slots = (waiters.reader.take(), waiters.writer.take());
        waiters.list.take_all(&mut left);
        drop(waiters);
        // Dropping a waker runs foreign code, so it happens after the lock is released.
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
            // Cloning a waker runs foreign code, so it happens without the lock.
            drop(waiters);
            let new = cx.waker().clone();
            waiters = self.waiters.lock();
            old = waiters.of(direction).replace(new);
        }
        // Events change the word under the lock: one that is not seen here finds the waker.
        let event = self.event(mask);
        drop(waiters);
        drop(old);
        event.map_or(Poll::Pending, Poll::Ready)
    }

    /// Clears the readiness of `event` except the closed states, unless another event came since.
    pub(crate) fn clear(&self, event: ReadyEvent) {
        let used_up = event.ready - Ready::CLOSED;
        if used_up.is_empty() {
            return;
        }
        self.take_back(event, used_up);
    }

    /// Clears all readiness of `event`, unless another event came since: the source was found to block.
    pub(crate) fn would_block(&self, event: ReadyEvent) {
        self.take_back(event, event.ready);
    }

    fn take_back(&self, event: ReadyEvent, ready: Ready) {
        self.update(|word| (word.tick() == event.tick).then(|| word.without(ready)));
    }

    fn update(&self, f: impl Fn(Word) -> Option<Word>) {
        // `None` from `f` means that there is nothing to do.
        let _ = self
            .word
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |word| {
                f(Word(word)).map(|new| new.0)
            });
    }

    /// Waits with a node of the caller's, for any mask.
    ///
    /// # Safety
    /// The node is pinned, and `leave` is called with it before it is dropped. It is used with this slot only.
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

/// The waiting nodes, oldest first. Every method needs the lock of the slot.
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
