//! The lane of a channel with one receiver, and its end.
//!
//! Places, the line of senders and the chain of blocks are those of `crate::channel`; the receiver is
//! alone, so it takes messages without an atomic operation on the head, and sleeps at a slot.

use super::waker::ReceiverWaker;
use crate::channel::block::{Block, Filled};
use crate::channel::chain::{Chain, Chained, Fresh, Spare, free_from};
use crate::channel::chan::Count;
use crate::channel::tail::{Tail, after};
use crate::sys::atomic::{AtomicPtr, Ordering};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

pub(super) use crate::channel::chan::{Lane, Refusal, UNBOUNDED};

pub(super) type Chan<T> = crate::channel::chan::Chan<Single<T>>;
pub(super) type Acquire<'a, T> = crate::channel::acquire::Acquire<'a, Single<T>>;

/// For one receiver.
pub(super) struct Single<T>(PhantomData<T>);

pub(super) struct Head<T> {
    spare: Spare<T>,
    waker: ReceiverWaker,
    /// The first block that is left when the receiver goes.
    left: AtomicPtr<Block<T>>,
}

pub(super) struct Senders {
    pub(super) strong: Count,
    pub(super) weak: Count,
}

/// A slot that was claimed and has to be filled.
#[must_use]
pub(super) struct Spot<T> {
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
        chan: &Chan<T>,
        tail: Tail,
        next: Tail,
        fresh: &mut Fresh<T>,
    ) -> Result<Spot<T>, Tail> {
        Ok(Spot {
            block: Chain::claim(chan, tail, next, fresh)?,
            position: tail.position(),
        })
    }

    #[inline(always)]
    fn claim_plainly(chan: &Chan<T>, tail: Tail) -> Option<Spot<T>> {
        Some(Spot {
            block: Chain::claim_plainly(chan, tail)?,
            position: tail.position(),
        })
    }

    #[inline(always)]
    fn put_back(chan: &Chan<T>, fresh: Fresh<T>) {
        fresh.put_back(Self::spare(chan));
    }

    fn end(chan: &Chan<T>, tail: Tail, next: Tail) -> Result<(), Tail> {
        if tail.is_installing() {
            return Err(chan.wait_for_block());
        }
        if Chain::end(chan, tail, next)? {
            chan.wake_receiver();
        }
        Ok(())
    }

    // The receiver finds the line by `waiting`, with a fence: see `places_freed`.
    fn line_forms(_: &Chan<T>) {}
    fn line_is_gone(_: &Chan<T>) {}
}

impl<T> Chained for Single<T> {
    const RUNS: bool = true;

    #[inline(always)]
    fn chain(chan: &Chan<T>) -> &Chain<T> {
        &chan.tail.lane
    }

    #[inline(always)]
    fn spare(chan: &Chan<T>) -> &Spare<T> {
        &chan.head.lane.spare
    }
}

impl<T> Chan<T> {
    /// An empty channel with one sender, and its first block.
    pub(super) fn new(capacity: usize) -> (Chan<T>, NonNull<Block<T>>) {
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
        (Chan::with_parts(capacity, chain, head, senders), block)
    }

    pub(super) fn senders(&self) -> &Senders {
        &self.shared.lane
    }

    /// Fills a claimed slot. The message comes back if the receiver went in between.
    #[inline(always)]
    pub(super) fn send(&self, spot: Spot<T>, message: T) -> Result<(), T> {
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

    /// A sender goes. The last one puts the end mark.
    pub(super) fn remove_sender(&self) {
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

    // What follows is for the receiver.

    pub(super) fn waker(&self) -> &ReceiverWaker {
        &self.head.lane.waker
    }

    #[inline(always)]
    pub(super) fn set_head(&self, position: u64) {
        self.head.position.store(position, Ordering::Release);
        if self.is_bounded() {
            self.places_freed();
        }
    }

    /// Keeps a block for later, or frees it.
    ///
    /// # Safety
    /// Nobody else can reach the block, and its messages have been taken.
    pub(super) unsafe fn recycle(&self, block: NonNull<Block<T>>) {
        // SAFETY: by the caller's promise.
        unsafe { self.head.lane.spare.recycle(block) };
    }

    /// For a receiver that is at `position`, in a block that is part of a run, and has found nothing there.
    /// Makes the next message go into a block by itself, and returns that one: the receiver moves on to it,
    /// and to the next position, and has its block to itself.
    #[cold]
    pub(super) fn leave_run(&self, position: u64) -> Option<NonNull<Block<T>>> {
        let tail = self.tail();
        if tail.position() != position || !tail.is_open() {
            return None;
        }
        self.head.lane.spare.leave_run();
        // Reserved places may be all there are: the position that is left out would be one too many.
        if tail.reserved() > 0 {
            return None;
        }
        let block = Chain::leave(self, tail)?;
        self.set_head(after(position));
        Some(block)
    }

    /// The receiver goes, and leaves the blocks from this one on to the channel.
    pub(super) fn leave_blocks(&self, first: NonNull<Block<T>>) {
        self.head.lane.left.store(first.as_ptr(), Ordering::Release);
    }
}

impl<T> Drop for Head<T> {
    fn drop(&mut self) {
        // SAFETY: nobody refers to the channel any more. The receiver left the chain from the first
        // block that it did not recycle, and saw to the messages in it.
        unsafe { free_from(self.left.load(Ordering::Acquire)) };
    }
}
