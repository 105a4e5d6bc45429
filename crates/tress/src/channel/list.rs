//! Messages in a chain of blocks, for unbounded channels and for large ones.
//!
//! Senders claim positions and hang blocks in as in `sync::mpsc`. Receivers claim positions too, from
//! the head, and only if the tail says that there is a message: then it is theirs, and they wait for
//! its sender to put it in place. Who claims the last slot of a block moves the head to the next one.
//! Blocks are given back by the last receiver that is done with them.
//!
//! # Memory ordering
//! As in `ring.rs`. The block's pointer changes only while the head says `MOVING`, and the position
//! has moved on then: who finds the head unchanged has read the right pointer.

use super::arrivals::{Arrivals, Many, SENDERS_WAIT, Taken};
use super::block::{Block, Found};
use super::chain::{Chain, Chained, Fresh, Spare, free_from};
use super::chan::{Chan, Lane, Pause, give_way};
use super::tail::{POSITION_MASK, Tail, after};
use crate::sys::atomic::{AtomicPtr, Ordering};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// In the word of the receivers' position: the last slot of a block was claimed, and its claimer is
/// moving on to the next block.
const MOVING: u64 = 1 << 62;

/// A lane of as many slots as it takes.
pub(super) struct List<T>(PhantomData<T>);

pub(super) struct Head<T> {
    /// The block of the next message.
    block: AtomicPtr<Block<T>>,
    spare: Spare<T>,
}

#[must_use]
pub(super) struct Spot<T> {
    block: NonNull<Block<T>>,
    position: u64,
    /// Somebody is to be called.
    waited: bool,
}

impl<T> Chan<List<T>> {
    pub(super) fn list(capacity: usize) -> Chan<List<T>> {
        let (chain, block) = Chain::new();
        let head = Head {
            block: AtomicPtr::new(block.as_ptr()),
            spare: Spare::new(),
        };
        Chan::with_parts(capacity, chain, head, Arrivals::new())
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
        chan: &Chan<Self>,
        tail: Tail,
        next: Tail,
        fresh: &mut Fresh<T>,
    ) -> Result<Spot<T>, Tail> {
        Ok(Spot {
            block: Chain::claim(chan, tail, next, fresh)?,
            position: tail.position(),
            waited: tail.is_waited(),
        })
    }

    #[inline(always)]
    fn claim_plainly(chan: &Chan<Self>, tail: Tail) -> Option<Spot<T>> {
        Some(Spot {
            block: Chain::claim_plainly(chan, tail)?,
            position: tail.position(),
            waited: tail.is_waited(),
        })
    }

    #[inline(always)]
    fn put_back(chan: &Chan<Self>, fresh: Fresh<T>) {
        fresh.put_back(Self::spare(chan));
    }

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

impl<T> Chained for List<T> {
    const RUNS: bool = false;

    #[inline(always)]
    fn chain(chan: &Chan<Self>) -> &Chain<T> {
        &chan.tail.lane
    }

    #[inline(always)]
    fn spare(chan: &Chan<Self>) -> &Spare<T> {
        &chan.head.lane.spare
    }
}

impl<T> Many for List<T> {
    fn arrivals(chan: &Chan<Self>) -> &Arrivals {
        &chan.shared.lane
    }

    #[inline]
    fn take(chan: &Chan<Self>) -> Taken<T> {
        let mut pause = Pause::new();
        let mut head = chan.head.position.load(Ordering::Acquire);
        loop {
            if head & MOVING != 0 {
                pause.wait();
                head = chan.head.position.load(Ordering::Acquire);
                continue;
            }
            let position = head & POSITION_MASK;
            let tail = chan.tail();
            if tail.position() == position {
                return chan.nothing_at(tail);
            }
            // Subtle: out of date, and the block perhaps freed, if the head has moved on; it is used
            // only if the head is found unchanged.
            let block = chan.head.lane.block.load(Ordering::Acquire);
            let last = Block::<T>::is_last(position);
            let flags = (head & SENDERS_WAIT) | if last { MOVING } else { 0 };
            match chan.head.position.compare_exchange_weak(
                head,
                after(position) | flags,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => {
                    // SAFETY: the position is ours, and a sender's: the tail was read after the head,
                    // and so was not before it. The pointer is right, see the module documentation,
                    // and the block is not given back before we said that we are done with it.
                    let message =
                        unsafe { take_from(chan, NonNull::new_unchecked(block), position) };
                    if head & SENDERS_WAIT != 0 {
                        chan.hand_out();
                    }
                    return Taken::Message(message);
                }
                Err(actual) if actual == head => {}
                Err(_) => {
                    give_way();
                    head = chan.head.position.load(Ordering::Acquire);
                }
            }
        }
    }

    #[inline(always)]
    fn fill(chan: &Chan<Self>, spot: Spot<T>, message: T) {
        // SAFETY: a spot is a claimed slot, in a block that stays until all receivers are done with
        // it, and it is filled here for the only time.
        unsafe { spot.block.as_ref().slot(spot.position).put(message) };
        if spot.waited {
            chan.call();
        }
    }
}

/// Takes the message of a claimed position.
///
/// # Safety
/// The caller claimed it, from senders and receivers both, and `block` is the one it lies in.
#[inline(always)]
unsafe fn take_from<T>(chan: &Chan<List<T>>, block: NonNull<Block<T>>, position: u64) -> T {
    // SAFETY: by the caller's promise it stays until we are done.
    let this = unsafe { block.as_ref() };
    if Block::<T>::is_last(position) {
        move_on(chan, this);
    }
    let slot = this.slot(position);
    let mut pause = Pause::new();
    while slot.look() != Found::Ready {
        pause.wait();
    }
    // SAFETY: ready, and ours.
    let message = unsafe { slot.take() };
    if this.is_done() {
        // SAFETY: all its senders have put their messages in place and all its receivers have taken
        // them; neither list leads to it any more.
        unsafe { chan.head.lane.spare.recycle(block) };
    }
    message
}

#[cold]
fn move_on<T>(chan: &Chan<List<T>>, block: &Block<T>) {
    let mut pause = Pause::new();
    let next = loop {
        let next = block.next();
        if !next.is_null() {
            break next;
        }
        pause.wait();
    };
    chan.head.lane.block.store(next, Ordering::Release);
    chan.head.position.fetch_and(!MOVING, Ordering::Release);
}

impl<T> Drop for Head<T> {
    fn drop(&mut self) {
        // SAFETY: nobody refers to the channel any more, and its messages have been taken: what is
        // left are the blocks from the head's on.
        unsafe { free_from(self.block.load(Ordering::Acquire)) };
    }
}
