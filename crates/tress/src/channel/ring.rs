//! Messages in a ring: a fixed number of slots, each with a stamp that says whose turn it is.
//!
//! The stamp of a slot is twice the position that it is free for, or, with the message in place, one
//! more. A sender claims a position from the tail word and waits for nobody but a receiver that is
//! just taking the last lap's message out; a receiver looks at the stamp first, and claims the
//! message by moving the head on. Neither side looks at the other's word while the ring is neither
//! full nor empty.
//!
//! # Memory ordering
//! A stamp is stored with release and loaded with acquire ordering: it hands the slot over, with the
//! message, and on the way back without. The head moves by read-modify-writes only, which acquire and
//! release, so that a place which was freed is seen with it.

use super::arrivals::{Arrivals, Many, SENDERS_WAIT, Taken};
use super::chan::{Chan, Lane, Pause, give_way};
use super::shared::Held;
use super::tail::{POSITION_MASK, Tail, after, beyond};
use crate::sys::UnsafeCell;
use crate::sys::atomic::{AtomicU64, Ordering};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// The largest ring, in bytes.
const MOST_BYTES: usize = 4 << 20;

/// A lane of a fixed number of slots.
pub(super) struct Ring<T>(PhantomData<T>);

struct Slot<T> {
    stamp: AtomicU64,
    message: UnsafeCell<MaybeUninit<T>>,
}

pub(super) struct Shared<T> {
    /// A power of two, so that positions may wrap.
    slots: Box<[Slot<T>]>,
    arrivals: Arrivals,
}

#[must_use]
pub(super) struct Spot<T> {
    slot: NonNull<Slot<T>>,
    position: u64,
    /// Somebody is to be called.
    waited: bool,
}

fn free_for(position: u64) -> u64 {
    position * 2
}

fn filled_at(position: u64) -> u64 {
    position * 2 + 1
}

impl<T> Shared<T> {
    #[inline(always)]
    fn slot(&self, position: u64) -> &Slot<T> {
        &self.slots[position as usize & (self.slots.len() - 1)]
    }
}

impl<T> Chan<Ring<T>> {
    /// For up to `capacity` messages, at least one. `None` if that would make too large a ring.
    pub(super) fn ring(capacity: usize) -> Option<Chan<Ring<T>>> {
        if capacity > MOST_BYTES / size_of::<Slot<T>>() / 2 {
            return None;
        }
        let slots = (0..capacity.next_power_of_two() as u64).map(|position| Slot {
            stamp: AtomicU64::new(free_for(position)),
            message: UnsafeCell::new(MaybeUninit::uninit()),
        });
        let shared = Shared {
            slots: slots.collect(),
            arrivals: Arrivals::new(),
        };
        Some(Chan::with_parts(capacity, (), (), shared))
    }

    /// Sends what is held if nothing is in the way. To be put in line, where its caller is.
    #[inline(always)]
    pub(super) fn send_quickly(&self, held: &mut Held<'_, T>) -> bool {
        // Before a place is claimed, which has to be filled then.
        let message = held.take();
        match self.claim_quickly() {
            Some(spot) => {
                Ring::fill(self, spot, message);
                true
            }
            None => {
                held.put_back(message);
                false
            }
        }
    }

    /// Takes the first message if nothing is in the way.
    #[inline(always)]
    pub(super) fn take_quickly(&self) -> Option<T> {
        take_at(self, self.head.position.load(Ordering::Acquire))
    }
}

impl<T> Lane for Ring<T> {
    type Message = T;
    type Spot = Spot<T>;
    type Fresh = ();
    type Tail = ();
    type Head = ();
    type Shared = Shared<T>;

    fn claim(chan: &Chan<Self>, tail: Tail, next: Tail, (): &mut ()) -> Result<Spot<T>, Tail> {
        let position = tail.position();
        let slot = chan.shared.lane.slot(position);
        if slot.stamp.load(Ordering::Acquire) != free_for(position) {
            return Err(wait_for_slot(chan, tail));
        }
        chan.tail.word.replace(tail, next.claim(false))?;
        Ok(Spot {
            slot: NonNull::from(slot),
            position,
            waited: tail.is_waited(),
        })
    }

    #[inline(always)]
    fn claim_plainly(chan: &Chan<Self>, tail: Tail) -> Option<Spot<T>> {
        let position = tail.position();
        let slot = chan.shared.lane.slot(position);
        let free = slot.stamp.load(Ordering::Acquire) == free_for(position);
        (free && chan.move_on_from(tail)).then(|| Spot {
            slot: NonNull::from(slot),
            position,
            waited: tail.is_waited(),
        })
    }

    #[inline(always)]
    fn put_back(_: &Chan<Self>, (): ()) {}

    fn end(chan: &Chan<Self>, tail: Tail, next: Tail) -> Result<(), Tail> {
        chan.tail.word.replace(tail, next)?;
        chan.call_all();
        Ok(())
    }

    fn line_forms(chan: &Chan<Self>) {
        chan.head.position.fetch_or(SENDERS_WAIT, Ordering::AcqRel);
    }

    fn line_is_gone(chan: &Chan<Self>) {
        chan.head
            .position
            .fetch_and(!SENDERS_WAIT, Ordering::Relaxed);
    }
}

/// The slot at `tail` is not free, though there is a place: the word has moved on, or a receiver is
/// just taking the last message out.
#[cold]
fn wait_for_slot<T>(chan: &Chan<Ring<T>>, tail: Tail) -> Tail {
    let free = free_for(tail.position());
    let slot = chan.shared.lane.slot(tail.position());
    let mut pause = Pause::new();
    loop {
        let actual = chan.tail();
        if actual != tail || slot.stamp.load(Ordering::Acquire) == free {
            return actual;
        }
        pause.wait();
    }
}

impl<T> Many for Ring<T> {
    fn arrivals(chan: &Chan<Self>) -> &Arrivals {
        &chan.shared.lane.arrivals
    }

    #[inline(always)]
    fn take(chan: &Chan<Self>) -> Taken<T> {
        match chan.take_quickly() {
            Some(message) => Taken::Message(message),
            None => take_slowly(chan),
        }
    }

    #[inline(always)]
    fn fill(chan: &Chan<Self>, spot: Spot<T>, message: T) {
        // SAFETY: in the channel's box, which lives as long as the channel.
        let slot = unsafe { spot.slot.as_ref() };
        // SAFETY: the stamp was ours when the position was claimed, and stays so until it is stored.
        slot.message.with_mut(|place| unsafe {
            (*place).write(message);
        });
        slot.stamp
            .store(filled_at(spot.position), Ordering::Release);
        if spot.waited {
            chan.call();
        }
    }
}

/// Takes the message at `head`; `None` if it is not in place, or the head has changed.
#[inline(always)]
fn take_at<T>(chan: &Chan<Ring<T>>, head: u64) -> Option<T> {
    let shared = &chan.shared.lane;
    let position = head & POSITION_MASK;
    let slot = shared.slot(position);
    if slot.stamp.load(Ordering::Acquire) != filled_at(position) {
        return None;
    }
    let next = after(position) | (head & SENDERS_WAIT);
    if let Err(actual) =
        chan.head
            .position
            .compare_exchange_weak(head, next, Ordering::AcqRel, Ordering::Acquire)
    {
        if actual != head {
            give_way();
        }
        return None;
    }
    // SAFETY: filled, and claimed by us alone, since the position moves on only once from here; the
    // stamp gives the slot back only below.
    let message = slot
        .message
        .with(|place| unsafe { (*place).assume_init_read() });
    let lap = shared.slots.len() as u64;
    slot.stamp
        .store(free_for(beyond(position, lap)), Ordering::Release);
    if head & SENDERS_WAIT != 0 {
        chan.hand_out();
    }
    Some(message)
}

/// Takes a message when there is perhaps none, or somebody is just at it.
#[cold]
fn take_slowly<T>(chan: &Chan<Ring<T>>) -> Taken<T> {
    let mut pause = Pause::new();
    loop {
        let head = chan.head.position.load(Ordering::Acquire);
        if let Some(message) = take_at(chan, head) {
            return Taken::Message(message);
        }
        let tail = chan.tail();
        if tail.position() == head & POSITION_MASK {
            // The head is not beyond the tail: it was here, and nothing behind it.
            return chan.nothing_at(tail);
        }
        if chan.head.position.load(Ordering::Acquire) == head {
            pause.wait();
        }
    }
}
