//! The shared part of a channel: its layout, claiming positions and filling them, and its end.
//!
//! Three groups of fields, each on cache lines of its own: what senders write with every message,
//! what the receiver writes with every message, and what both mostly only read. A sender looks at
//! the receiver's head only when the head it remembers says that the channel is full.

use super::acquire::Request;
use super::block::{Block, Filled, Slot};
use super::tail::{MAX_RESERVED, Tail, TailWord};
use super::waker::ReceiverWaker;
use crate::sync::bell::{Bell, Listener};
use crate::sync::wait_list::WaitList;
use crate::sys::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use crate::sys::{CachePadded, Mutex, thread};
use crate::task::coop;
use std::future::poll_fn;
use std::pin::pin;
use std::ptr::{self, NonNull};
use std::task::ready;

/// The capacity of an unbounded channel.
pub(super) const UNBOUNDED: usize = usize::MAX;

pub(super) struct Chan<T> {
    pub(super) tail: CachePadded<SenderPart<T>>,
    pub(super) head: CachePadded<ReceiverPart<T>>,
    pub(super) shared: CachePadded<SharedPart>,
}

pub(super) struct SenderPart<T> {
    pub(super) word: TailWord,
    /// The block of the next position.
    pub(super) block: AtomicPtr<Block<T>>,
    /// A head that some sender has seen.
    pub(super) head_seen: AtomicU64,
}

pub(super) struct ReceiverPart<T> {
    /// The position of the next message to be received. Written by the receiver only.
    pub(super) position: AtomicU64,
    /// A drained block, to be used again.
    spare: AtomicPtr<Block<T>>,
    waker: ReceiverWaker,
    /// The first block that is left when the receiver goes.
    left: AtomicPtr<Block<T>>,
}

pub(super) struct SharedPart {
    /// As the user gave it, or `UNBOUNDED`.
    pub(super) capacity: usize,
    /// Are there senders in line? Written under the lock.
    pub(super) waiting: AtomicBool,
    senders: AtomicUsize,
    weak_senders: AtomicUsize,
    /// Senders that wait for places.
    pub(super) line: Mutex<WaitList<Request>>,
    /// Rung when the channel is closed.
    pub(super) closing: Bell,
}

/// Why there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// None is free, or others are in line.
    Full,
    Closed,
}

/// A slot that was claimed and has to be filled.
#[must_use]
pub(super) struct Spot<T>(NonNull<Slot<T>>);

// SAFETY: the channel owns messages, which pass from thread to thread; everything else in it is
// atomic, behind a lock, or handed over by the protocols of `block.rs` and `ReceiverWaker`.
unsafe impl<T: Send> Send for Chan<T> {}
// SAFETY: as above. No `&T` is ever shared between threads.
unsafe impl<T: Send> Sync for Chan<T> {}

impl<T> Chan<T> {
    /// An empty channel with one sender, and its first block.
    pub(super) fn new(capacity: usize) -> (Chan<T>, NonNull<Block<T>>) {
        let block = Block::allocate();
        let chan = Chan {
            tail: CachePadded::new(SenderPart {
                word: TailWord::new(),
                block: AtomicPtr::new(block.as_ptr()),
                head_seen: AtomicU64::new(0),
            }),
            head: CachePadded::new(ReceiverPart {
                position: AtomicU64::new(0),
                spare: AtomicPtr::new(ptr::null_mut()),
                waker: ReceiverWaker::new(),
                left: AtomicPtr::new(ptr::null_mut()),
            }),
            shared: CachePadded::new(SharedPart {
                capacity,
                waiting: AtomicBool::new(false),
                senders: AtomicUsize::new(1),
                weak_senders: AtomicUsize::new(0),
                line: Mutex::new(WaitList::new()),
                closing: Bell::new(),
            }),
        };
        (chan, block)
    }

    pub(super) fn max_capacity(&self) -> usize {
        self.shared.capacity
    }

    fn is_bounded(&self) -> bool {
        self.shared.capacity != UNBOUNDED
    }

    /// The most that can be reserved at once.
    pub(super) fn max_reserved(&self) -> usize {
        self.shared.capacity.min(MAX_RESERVED as usize)
    }

    pub(super) fn tail(&self) -> Tail {
        self.tail.word.load()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.tail().is_closed()
    }

    pub(super) fn line(&self) -> &Mutex<WaitList<Request>> {
        &self.shared.line
    }

    pub(super) async fn closed(&self) {
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
    #[inline]
    pub(super) fn try_claim(&self) -> Result<Spot<T>, Refusal> {
        if self.is_bounded() && self.shared.waiting.load(Ordering::Relaxed) {
            return Err(if self.is_closed() {
                Refusal::Closed
            } else {
                Refusal::Full
            });
        }
        let mut fresh = Fresh::none();
        let mut tail = self.tail();
        loop {
            if !tail.is_open() {
                if tail.is_closed() {
                    fresh.put_back(self);
                    return Err(Refusal::Closed);
                }
                tail = self.wait_for_block();
                continue;
            }
            if self.is_bounded() && self.places(tail, 1) == 0 {
                let current = self.tail();
                if current == tail {
                    fresh.put_back(self);
                    return Err(Refusal::Full);
                }
                tail = current;
                continue;
            }
            match self.claim(tail, tail, &mut fresh) {
                Ok(spot) => {
                    fresh.put_back(self);
                    return Ok(spot);
                }
                Err(actual) => tail = actual,
            }
        }
    }

    /// Turns a reservation into a position. `None` if the receiver is gone; the reservation is used
    /// up either way.
    #[inline]
    pub(super) fn claim_reserved(&self) -> Option<Spot<T>> {
        let mut fresh = Fresh::none();
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
                self.claim(tail, tail.unreserve(1), &mut fresh).map(Some)
            };
            match claimed {
                Ok(spot) => {
                    fresh.put_back(self);
                    return spot;
                }
                Err(actual) => tail = actual,
            }
        }
    }

    /// Replaces `tail`, which is not installing, by `next` with its position claimed.
    #[inline(always)]
    fn claim(&self, tail: Tail, next: Tail, fresh: &mut Fresh<T>) -> Result<Spot<T>, Tail> {
        let position = tail.position();
        // Subtle: the pointer may be out of date, and the block even freed, if the word has moved
        // on; it is used only if the word is found unchanged.
        let block = self.tail.block.load(Ordering::Acquire);
        let last = Block::<T>::is_last(position);
        if last {
            fresh.get(self);
        }
        self.tail.word.replace(tail, next.claim(last))?;
        // SAFETY: the position is ours and the block is the one it lies in, since the pointer
        // changes only while the word says INSTALLING, and then so does the position. The block
        // stays until all its slots have been received, which ours has not.
        let block = unsafe { &*block };
        if last {
            let next = fresh.take();
            block.set_next(next);
            self.tail.block.store(next.as_ptr(), Ordering::Release);
            self.tail.word.installed();
        }
        Ok(Spot(NonNull::from(block.slot(position))))
    }

    /// Another sender is hanging the next block in.
    #[cold]
    fn wait_for_block(&self) -> Tail {
        let mut looks = 0;
        loop {
            let tail = self.tail();
            if !tail.is_installing() {
                return tail;
            }
            // The other one needs a handful of instructions, unless it lost its core.
            looks += 1;
            if looks < 64 && !cfg!(loom) {
                std::hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
    }

    /// Fills a claimed slot. The message comes back if the receiver went in between.
    #[inline(always)]
    pub(super) fn send(&self, spot: Spot<T>, message: T) -> Result<(), T> {
        // SAFETY: a spot is a claimed slot, in a block that stays until it was received, and it is
        // filled here for the only time.
        match unsafe { spot.0.as_ref().fill(message) } {
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
        unsafe { self.head.waker.take() }.wake();
    }

    /// Replaces `tail` by `next` with the end mark in its next position.
    pub(super) fn try_end(&self, tail: Tail, next: Tail) -> Result<(), Tail> {
        if tail.is_installing() {
            return Err(self.wait_for_block());
        }
        // Subtle: as in `claim`. No block is hung in: nothing comes after the mark.
        let block = self.tail.block.load(Ordering::Acquire);
        self.tail.word.replace(tail, next.end())?;
        // SAFETY: as in `claim`.
        let must_wake = unsafe { (*block).slot(tail.position()).end() };
        if must_wake {
            self.wake_receiver();
        }
        Ok(())
    }

    pub(super) fn senders(&self) -> usize {
        self.shared.senders.load(Ordering::Acquire)
    }

    pub(super) fn weak_senders(&self) -> usize {
        self.shared.weak_senders.load(Ordering::Acquire)
    }

    pub(super) fn add_sender(&self) {
        if self.shared.senders.fetch_add(1, Ordering::Relaxed) > usize::MAX / 2 {
            std::process::abort();
        }
    }

    /// Adds a sender unless there is none.
    pub(super) fn try_add_sender(&self) -> bool {
        let mut senders = self.senders();
        while senders != 0 {
            match self.shared.senders.compare_exchange_weak(
                senders,
                senders + 1,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return true,
                Err(actual) => senders = actual,
            }
        }
        false
    }

    pub(super) fn remove_sender(&self) {
        if self.shared.senders.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        let mut tail = self.tail();
        while !tail.is_ended() && !tail.is_gone() {
            match self.try_end(tail, tail) {
                Ok(()) => return,
                Err(actual) => tail = actual,
            }
        }
    }

    pub(super) fn add_weak_sender(&self) {
        self.shared.weak_senders.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn remove_weak_sender(&self) {
        self.shared.weak_senders.fetch_sub(1, Ordering::AcqRel);
    }

    // What follows is for the receiver.

    pub(super) fn waker(&self) -> &ReceiverWaker {
        &self.head.waker
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
        let spare = &self.head.spare;
        // SAFETY: ours, by the caller's promise, until it is in the spare's place.
        unsafe {
            if spare.load(Ordering::Relaxed).is_null() {
                Block::reset(block);
                let kept = spare.compare_exchange(
                    ptr::null_mut(),
                    block.as_ptr(),
                    Ordering::Release,
                    Ordering::Relaxed,
                );
                if kept.is_ok() {
                    return;
                }
            }
            Block::free(block);
        }
    }

    /// The receiver goes, and leaves the blocks from this one on to the channel.
    pub(super) fn leave_blocks(&self, first: NonNull<Block<T>>) {
        self.head.left.store(first.as_ptr(), Ordering::Release);
    }
}

impl<T> Drop for Chan<T> {
    fn drop(&mut self) {
        let mut block = self.head.left.load(Ordering::Acquire);
        // SAFETY: nobody refers to the channel any more. The receiver left the list of blocks from
        // the first that it did not recycle, and saw to the messages in them; the spare is in no
        // list.
        unsafe {
            while let Some(this) = NonNull::new(block) {
                block = this.as_ref().next();
                Block::free(this);
            }
            if let Some(spare) = NonNull::new(self.head.spare.load(Ordering::Acquire)) {
                Block::free(spare);
            }
        }
    }
}

/// A block got ready before its need is certain.
struct Fresh<T>(Option<NonNull<Block<T>>>);

impl<T> Fresh<T> {
    #[inline(always)]
    fn none() -> Fresh<T> {
        Fresh(None)
    }

    #[cold]
    fn get(&mut self, chan: &Chan<T>) {
        if self.0.is_none() {
            let spare = chan.head.spare.swap(ptr::null_mut(), Ordering::Acquire);
            self.0 = Some(NonNull::new(spare).unwrap_or_else(Block::allocate));
        }
    }

    fn take(&mut self) -> NonNull<Block<T>> {
        self.0.take().expect("got ready for the last position")
    }

    #[inline(always)]
    fn put_back(self, chan: &Chan<T>) {
        if let Some(block) = self.0 {
            // SAFETY: it was ours, and was not hung in.
            unsafe { chan.recycle(block) };
        }
    }
}
