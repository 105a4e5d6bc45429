//! Messages in a list of blocks, for one receiver.
//!
//! Places, the line of senders and the chain of blocks are those of the other flavours. The receiver is
//! alone, so it takes messages without a read-modify-write of the head, and sleeps at the slot of the next
//! message: see [`Consumer`] and `block.rs`.

mod consumer;
mod waker;

pub(crate) use consumer::Consumer;

use super::block::{Block, Filled};
use super::chain::{Chain, Chained, Fresh, Spare, free_from};
use super::count::Count;
use super::lane::{Lane, Queue};
use super::tail::{Tail, after};
use crate::sys::Arc;
use crate::sys::atomic::{AtomicPtr, Ordering};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use waker::ReceiverWaker;

/// The flavour with one receiver.
pub(crate) struct Single<T>(PhantomData<T>);

pub(crate) struct Head<T> {
    spare: Spare<T>,
    waker: ReceiverWaker,
    /// The first block that is left when the receiver is dropped.
    left: AtomicPtr<Block<T>>,
}

/// The number of handles that send, and of those that may become such.
pub(crate) struct Senders {
    pub(crate) strong: Count,
    pub(crate) weak: Count,
}

/// A claimed slot, which has to be filled.
#[must_use]
pub(crate) struct Spot<T> {
    block: NonNull<Block<T>>,
    position: u64,
}

impl<T> Lane for Single<T> {
    type Message = T;
    type Spot = Spot<T>;
    type Fresh = Fresh<T>;
    type Tail = Chain<T>;
    type Head = Head<T>;
    type Shared = Senders;

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
        })
    }

    #[inline(always)]
    fn claim_plainly(queue: &Queue<Self>, tail: Tail) -> Option<Spot<T>> {
        Some(Spot {
            block: Chain::claim_plainly(queue, tail)?,
            position: tail.position(),
        })
    }

    #[inline(always)]
    fn put_back(queue: &Queue<Self>, fresh: Fresh<T>) {
        fresh.put_back(Self::spare(queue));
    }

    fn end(queue: &Queue<Self>, tail: Tail, next: Tail) -> Result<(), Tail> {
        if tail.is_installing() {
            return Err(queue.wait_for_block());
        }
        if Chain::end(queue, tail, next)? {
            queue.wake_receiver();
        }
        Ok(())
    }

    // The receiver finds the line by `waiting`, with a fence: see `places_freed`.
    fn line_forms(_: &Queue<Self>) {}
    fn line_is_gone(_: &Queue<Self>) {}
}

impl<T> Chained for Single<T> {
    const RUNS: bool = true;

    #[inline(always)]
    fn chain(queue: &Queue<Self>) -> &Chain<T> {
        &queue.tail.lane
    }

    #[inline(always)]
    fn spare(queue: &Queue<Self>) -> &Spare<T> {
        &queue.head.lane.spare
    }
}

impl<T> Queue<Single<T>> {
    /// Creates an empty queue with one sender, and its receiver.
    #[track_caller]
    pub(crate) fn single(capacity: usize) -> (Arc<Queue<Single<T>>>, Consumer<T>) {
        let (chain, block) = Chain::new();
        let head = Head {
            spare: Spare::new(),
            waker: ReceiverWaker::new(),
            left: AtomicPtr::new(ptr::null_mut()),
        };
        let senders = Senders {
            strong: Count::new(1),
            weak: Count::new(0),
        };
        let queue = Arc::new(Queue::with_parts(capacity, chain, head, senders));
        // SAFETY: the first block, and the only receiver.
        let consumer = unsafe { Consumer::new(queue.clone(), block) };
        (queue, consumer)
    }

    pub(crate) fn senders(&self) -> &Senders {
        &self.shared.lane
    }

    /// Fills a claimed slot. Returns the message as an error if the receiver was dropped in between.
    #[inline(always)]
    pub(crate) fn send(&self, spot: Spot<T>, message: T) -> Result<(), T> {
        // SAFETY: a spot is a claimed slot, in a block that stays until it was received, and it is
        // filled here for the only time.
        match unsafe { spot.block.as_ref().slot(spot.position).fill(message) } {
            Filled::Done => Ok(()),
            Filled::Wake => {
                self.wake_receiver();
                Ok(())
            }
            Filled::Unwanted(message) => Err(message),
        }
    }

    fn wake_receiver(&self) {
        // SAFETY: called by the sender that found the receiver waiting at its slot.
        unsafe { self.head.lane.waker.take() }.wake();
    }

    /// Removes a sender. The last one puts the end mark.
    pub(crate) fn remove_sender(&self) {
        if !self.senders().strong.remove() {
            return;
        }
        let mut tail = self.tail();
        while !tail.is_ended() && !tail.is_gone() {
            match Single::end(self, tail, tail) {
                Ok(()) => return,
                Err(actual) => tail = actual,
            }
        }
    }

    // The functions below are for the receiver.

    fn waker(&self) -> &ReceiverWaker {
        &self.head.lane.waker
    }

    #[inline(always)]
    fn set_head(&self, position: u64) {
        self.head.position.store(position, Ordering::Release);
        if self.is_bounded() {
            self.places_freed();
        }
    }

    /// Keeps a block for later, or frees it.
    ///
    /// # Safety
    /// No other thread can reach the block, and its messages have been taken.
    unsafe fn recycle(&self, block: NonNull<Block<T>>) {
        // SAFETY: by the caller's promise.
        unsafe { self.head.lane.spare.recycle(block) };
    }

    /// Makes the next message go into a block by itself, for a receiver that is at `position`, in a block of a
    /// run, and has found nothing there. Returns that block: the receiver moves on to it, and to the next
    /// position, and its old block belongs to it alone.
    #[cold]
    fn leave_run(&self, position: u64) -> Option<NonNull<Block<T>>> {
        let tail = self.tail();
        if tail.position() != position || !tail.is_open() {
            return None;
        }
        self.head.lane.spare.leave_run();
        // If all places are reserved, the skipped position would be one too many.
        if tail.reserved() > 0 {
            return None;
        }
        let block = Chain::leave(self, tail)?;
        self.set_head(after(position));
        Some(block)
    }

    /// Leaves the blocks from this one on to the queue, for a receiver that is dropped.
    fn leave_blocks(&self, first: NonNull<Block<T>>) {
        self.head.lane.left.store(first.as_ptr(), Ordering::Release);
    }
}

impl<T> Drop for Head<T> {
    fn drop(&mut self) {
        // SAFETY: no other thread can reach the queue. The receiver left the chain from the first block
        // that it did not recycle, and took or refused the messages in it.
        unsafe { free_from(self.left.load(Ordering::Acquire)) };
    }
}
