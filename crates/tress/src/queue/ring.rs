//! Messages in a ring: a fixed number of slots, each with a stamp that says which side may use it.
//!
//! This is Dmitry Vyukov's bounded MPMC queue, in which each slot has a sequence number that senders and
//! receivers wait for in turns. Three things differ. The stamp of a slot is twice the position for which it is
//! free, or, with the message in place, one more, so that a ring of one slot works too. A sender claims its
//! position in the tail word, which also counts reservations, and so the capacity can be less than the number
//! of slots. And a claim can fail because the queue is closed.
//!
//! A sender waits only for a receiver that is taking the message of the last lap out of the slot. A receiver
//! looks at the stamp first, and claims the message by moving the head on. Neither side looks at the other's
//! word while the ring is neither full nor empty.
//!
//! # Memory ordering
//! A stamp is stored with release and loaded with acquire ordering: it hands the slot over, with the
//! message, and on the way back without. The head moves by read-modify-writes only, which acquire and
//! release, so that a thread that sees the new head sees the place that was freed.

use super::arrivals::{Arrivals, Many, SENDERS_WAIT, Taken};
use super::claim::give_way;
use super::lane::{Lane, Queue};
use super::tail::{POSITION_MASK, Tail, after, beyond};
use crate::sys::UnsafeCell;
use crate::sys::atomic::{AtomicU64, Ordering};
use crate::wait::Backoff;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// The maximum size of a ring, in bytes.
const RING_BYTES_MAX: usize = 4 << 20;

/// The flavour with a fixed number of slots.
pub(crate) struct Ring<T>(PhantomData<T>);

/// Room for one message in the ring.
struct StampedSlot<T> {
    stamp: AtomicU64,
    message: UnsafeCell<MaybeUninit<T>>,
}

pub(crate) struct Slots<T> {
    /// As many as a power of two, so that positions may wrap.
    slots: Box<[StampedSlot<T>]>,
    arrivals: Arrivals,
}

/// A claimed slot, which has to be filled.
#[must_use]
pub(crate) struct Spot<T> {
    slot: NonNull<StampedSlot<T>>,
    position: u64,
    /// True if a receiver has to be called.
    waited: bool,
}

/// Returns the stamp of a slot that is free for the message of this position.
fn free_for(position: u64) -> u64 {
    position * 2
}

/// Returns the stamp of a slot with the message of this position in place.
fn filled_at(position: u64) -> u64 {
    position * 2 + 1
}

impl<T> Slots<T> {
    #[inline(always)]
    fn slot(&self, position: u64) -> &StampedSlot<T> {
        &self.slots[position as usize & (self.slots.len() - 1)]
    }
}

impl<T> Queue<Ring<T>> {
    /// Creates a queue for up to `capacity` messages, at least one. Returns `None` if the ring would be too
    /// large.
    #[track_caller]
    pub(crate) fn ring(capacity: usize) -> Option<Queue<Ring<T>>> {
        if capacity > RING_BYTES_MAX / size_of::<StampedSlot<T>>() / 2 {
            return None;
        }
        let slots = (0..capacity.next_power_of_two() as u64).map(|position| StampedSlot {
            stamp: AtomicU64::new(free_for(position)),
            message: UnsafeCell::new(MaybeUninit::uninit()),
        });
        let ring = Slots {
            slots: slots.collect(),
            arrivals: Arrivals::new(),
        };
        Some(Queue::with_parts(capacity, (), (), ring))
    }

    /// Takes the first message if nothing is in the way.
    #[inline(always)]
    pub(crate) fn take_quickly(&self) -> Option<T> {
        take_at(self, self.head.position.load(Ordering::Acquire))
    }
}

impl<T> Lane for Ring<T> {
    type Message = T;
    type Spot = Spot<T>;
    type Fresh = ();
    type Tail = ();
    type Head = ();
    type Shared = Slots<T>;

    fn claim(queue: &Queue<Self>, tail: Tail, next: Tail, (): &mut ()) -> Result<Spot<T>, Tail> {
        let position = tail.position();
        let slot = queue.shared.lane.slot(position);
        if slot.stamp.load(Ordering::Acquire) != free_for(position) {
            return Err(wait_for_slot(queue, tail));
        }
        queue.tail.word.replace(tail, next.claim(false))?;
        Ok(Spot {
            slot: NonNull::from(slot),
            position,
            waited: tail.is_waited(),
        })
    }

    #[inline(always)]
    fn claim_plainly(queue: &Queue<Self>, tail: Tail) -> Option<Spot<T>> {
        let position = tail.position();
        let slot = queue.shared.lane.slot(position);
        let free = slot.stamp.load(Ordering::Acquire) == free_for(position);
        (free && queue.move_on_from(tail)).then(|| Spot {
            slot: NonNull::from(slot),
            position,
            waited: tail.is_waited(),
        })
    }

    #[inline(always)]
    fn put_back(_: &Queue<Self>, (): ()) {}

    fn end(queue: &Queue<Self>, tail: Tail, next: Tail) -> Result<(), Tail> {
        queue.tail.word.replace(tail, next)?;
        queue.call_all();
        Ok(())
    }

    fn line_forms(queue: &Queue<Self>) {
        queue.head.position.fetch_or(SENDERS_WAIT, Ordering::AcqRel);
    }

    fn line_is_gone(queue: &Queue<Self>) {
        queue
            .head
            .position
            .fetch_and(!SENDERS_WAIT, Ordering::Relaxed);
    }
}

/// Waits for the slot at `tail`, which is not free though there is a place: the word has moved on, or a
/// receiver is taking the last lap's message out. Returns the tail to try again with.
#[cold]
fn wait_for_slot<T>(queue: &Queue<Ring<T>>, tail: Tail) -> Tail {
    let free = free_for(tail.position());
    let slot = queue.shared.lane.slot(tail.position());
    let mut backoff = Backoff::new();
    loop {
        let actual = queue.tail();
        if actual != tail || slot.stamp.load(Ordering::Acquire) == free {
            return actual;
        }
        backoff.wait();
    }
}

impl<T> Many for Ring<T> {
    fn arrivals(queue: &Queue<Self>) -> &Arrivals {
        &queue.shared.lane.arrivals
    }

    #[inline(always)]
    fn take(queue: &Queue<Self>) -> Taken<T> {
        match queue.take_quickly() {
            Some(message) => Taken::Message(message),
            None => take_slowly(queue),
        }
    }

    #[inline(always)]
    fn fill(queue: &Queue<Self>, spot: Spot<T>, message: T) {
        // SAFETY: in the queue's box, which lives as long as the queue.
        let slot = unsafe { spot.slot.as_ref() };
        // SAFETY: the stamp gave the slot to the thread that claimed the position, until it is stored.
        slot.message.with_mut(|place| unsafe {
            (*place).write(message);
        });
        slot.stamp
            .store(filled_at(spot.position), Ordering::Release);
        if spot.waited {
            queue.call();
        }
    }
}

/// Takes the message at `head`. Returns `None` if it is not in place, or if the head has changed.
#[inline(always)]
fn take_at<T>(queue: &Queue<Ring<T>>, head: u64) -> Option<T> {
    let ring = &queue.shared.lane;
    let position = head & POSITION_MASK;
    let slot = ring.slot(position);
    if slot.stamp.load(Ordering::Acquire) != filled_at(position) {
        return None;
    }
    let next = after(position) | (head & SENDERS_WAIT);
    if let Err(actual) =
        queue
            .head
            .position
            .compare_exchange_weak(head, next, Ordering::AcqRel, Ordering::Acquire)
    {
        if actual != head {
            give_way();
        }
        return None;
    }
    // SAFETY: filled, and claimed by this thread alone, since the position moves on only once from here;
    // the stamp gives the slot back only below.
    let message = slot
        .message
        .with(|place| unsafe { (*place).assume_init_read() });
    let lap = ring.slots.len() as u64;
    slot.stamp
        .store(free_for(beyond(position, lap)), Ordering::Release);
    if head & SENDERS_WAIT != 0 {
        queue.hand_out();
    }
    Some(message)
}

/// Takes a message when there may be none, or another thread is putting it in place or taking it.
#[cold]
fn take_slowly<T>(queue: &Queue<Ring<T>>) -> Taken<T> {
    let mut backoff = Backoff::new();
    loop {
        let head = queue.head.position.load(Ordering::Acquire);
        if let Some(message) = take_at(queue, head) {
            return Taken::Message(message);
        }
        let tail = queue.tail();
        if tail.position() == head & POSITION_MASK {
            // The head is never beyond the tail: it was at this position, with nothing behind it.
            return queue.nothing_at(tail);
        }
        if queue.head.position.load(Ordering::Acquire) == head {
            backoff.wait();
        }
    }
}
