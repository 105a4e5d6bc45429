//! Messages in a list of blocks, for unbounded queues and for large ones.
//!
//! Senders claim positions and link blocks as in `single.rs`. Receivers claim positions too, from
//! the head, and only if the tail says that there is a message: then it is theirs, and they wait for
//! its sender to put it in place. The receiver that claims the last slot of a block moves the head to the
//! next one. Blocks are given back by the last receiver that is done with them.
//!
//! # Memory ordering
//! As in `ring.rs`. The block's pointer changes only while the head says `MOVING`, and the position
//! has moved on then: a thread that finds the head unchanged has read the right pointer.

use super::arrivals::{Arrivals, Many, SENDERS_WAIT, Taken};
use super::block::{Block, Found};
use super::chain::{Chain, Chained, Fresh, Spare, free_from};
use super::claim::give_way;
use super::lane::{Lane, Queue};
use super::tail::{POSITION_MASK, Tail, after};
use crate::sys::atomic::{AtomicPtr, Ordering};
use crate::wait::Backoff;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// A flag in the word of the receivers' position: the last slot of a block was claimed, and its claimer is
/// moving on to the next block.
const MOVING: u64 = 1 << 62;

/// The flavour with as many slots as there are messages.
pub(crate) struct List<T>(PhantomData<T>);

pub(crate) struct Head<T> {
    /// The block of the next message.
    block: AtomicPtr<Block<T>>,
    spare: Spare<T>,
}

/// A claimed slot, which has to be filled.
#[must_use]
pub(crate) struct Spot<T> {
    block: NonNull<Block<T>>,
    position: u64,
    /// True if a receiver has to be called.
    waited: bool,
}

impl<T> Queue<List<T>> {
    /// Creates a queue for up to `capacity` messages, or any number if that is `UNBOUNDED`.
    #[track_caller]
    pub(crate) fn list(capacity: usize) -> Queue<List<T>> {
        let (chain, block) = Chain::new();
        let head = Head {
            block: AtomicPtr::new(block.as_ptr()),
            spare: Spare::new(),
        };
        Queue::with_parts(capacity, chain, head, Arrivals::new())
    }
}

impl<T> Lane for List<T> {
    type Message = T;
    type Spot = Spot<T>;
    type Fresh = Fresh<T>;
    type Tail = Chain<T>;
    type Head = Head<T>;
    type Shared = Arrivals;

    #[inline(always)]
    fn claim(
        queue: &Queue<Self>,
        tail: Tail,
        next: Tail,
        fresh: &mut Fresh<T>,
    ) -> Result<Spot<T>, Tail> {
        Ok(Spot {
            block: Chain::claim(queue, tail, next, fresh)?,
            position: tail.position(),
            waited: tail.is_waited(),
        })
    }

    #[inline(always)]
    fn claim_plainly(queue: &Queue<Self>, tail: Tail) -> Option<Spot<T>> {
        Some(Spot {
            block: Chain::claim_plainly(queue, tail)?,
            position: tail.position(),
            waited: tail.is_waited(),
        })
    }

    #[inline(always)]
    fn put_back(queue: &Queue<Self>, fresh: Fresh<T>) {
        fresh.put_back(Self::spare(queue));
    }

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

impl<T> Chained for List<T> {
    const RUNS: bool = false;

    #[inline(always)]
    fn chain(queue: &Queue<Self>) -> &Chain<T> {
        &queue.tail.lane
    }

    #[inline(always)]
    fn spare(queue: &Queue<Self>) -> &Spare<T> {
        &queue.head.lane.spare
    }
}

impl<T> Many for List<T> {
    fn arrivals(queue: &Queue<Self>) -> &Arrivals {
        &queue.shared.lane
    }

    #[inline]
    fn take(queue: &Queue<Self>) -> Taken<T> {
        let mut backoff = Backoff::new();
        let mut head = queue.head.position.load(Ordering::Acquire);
        loop {
            if head & MOVING != 0 {
                backoff.wait();
                head = queue.head.position.load(Ordering::Acquire);
                continue;
            }
            let position = head & POSITION_MASK;
            let tail = queue.tail();
            if tail.position() == position {
                return queue.nothing_at(tail);
            }
            // Subtle: out of date, and the block perhaps freed, if the head has moved on; it is used
            // only if the head is found unchanged.
            let block = queue.head.lane.block.load(Ordering::Acquire);
            let last = Block::<T>::is_last(position);
            let flags = (head & SENDERS_WAIT) | if last { MOVING } else { 0 };
            match queue.head.position.compare_exchange_weak(
                head,
                after(position) | flags,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => {
                    // SAFETY: the position is claimed by this receiver, and by a sender: the tail was read
                    // after the head, and so was not before it. The pointer is right, see the module
                    // documentation, and the block is not given back before this receiver is done with it.
                    let message =
                        unsafe { take_from(queue, NonNull::new_unchecked(block), position) };
                    if head & SENDERS_WAIT != 0 {
                        queue.hand_out();
                    }
                    return Taken::Message(message);
                }
                Err(actual) if actual == head => {}
                Err(_) => {
                    give_way();
                    head = queue.head.position.load(Ordering::Acquire);
                }
            }
        }
    }

    #[inline(always)]
    fn fill(queue: &Queue<Self>, spot: Spot<T>, message: T) {
        queue.has_grown();
        // SAFETY: a spot is a claimed slot, in a block that stays until all receivers are done with
        // it, and it is filled here for the only time.
        unsafe { spot.block.as_ref().slot(spot.position).put(message) };
        if spot.waited {
            queue.call();
        }
    }
}

/// Takes the message of a claimed position.
///
/// # Safety
/// The caller claimed it, a sender has claimed it, and `block` is the one in which it lies.
#[inline(always)]
unsafe fn take_from<T>(queue: &Queue<List<T>>, block: NonNull<Block<T>>, position: u64) -> T {
    // SAFETY: by the caller's promise it stays until this receiver is done with it.
    let this = unsafe { block.as_ref() };
    if Block::<T>::is_last(position) {
        move_on(queue, this);
    }
    let slot = this.slot(position);
    let mut backoff = Backoff::new();
    while slot.look() != Found::Ready {
        backoff.wait();
    }
    // SAFETY: ready, and claimed by this receiver.
    let message = unsafe { slot.take() };
    if this.is_done() {
        // SAFETY: all its senders have put their messages in place and all its receivers have taken
        // them; neither end of the list leads to it any more.
        unsafe { queue.head.lane.spare.recycle(block) };
    }
    message
}

/// Moves the head from this block, whose last slot was claimed, to the next one.
#[cold]
fn move_on<T>(queue: &Queue<List<T>>, block: &Block<T>) {
    let mut backoff = Backoff::new();
    let next = loop {
        let next = block.next();
        if !next.is_null() {
            break next;
        }
        backoff.wait();
    };
    queue.head.lane.block.store(next, Ordering::Release);
    queue.head.position.fetch_and(!MOVING, Ordering::Release);
}

impl<T> Drop for Head<T> {
    fn drop(&mut self) {
        // SAFETY: no other thread can reach the queue, and its messages have been taken: the blocks from
        // the head's on are all that is left.
        unsafe { free_from(self.block.load(Ordering::Acquire)) };
    }
}
