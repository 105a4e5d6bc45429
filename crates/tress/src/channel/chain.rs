//! The senders' way along a chain of blocks.

use super::block::Block;
use super::chan::{Chan, Lane};
use super::run;
use super::tail::{MAX_COUNTED, Tail, distance};
use crate::sys::atomic::{AtomicPtr, Ordering};
use std::ptr::{self, NonNull};

/// The block of the next position.
pub(crate) struct Chain<T>(AtomicPtr<Block<T>>);

/// What is used next: a drained block, or the rest of a run. Null if there is neither, or somebody takes
/// from it.
pub(crate) struct Spare<T>(AtomicPtr<Block<T>>);

/// A block got ready before its need is certain.
pub(crate) struct Fresh<T>(Option<NonNull<Block<T>>>);

/// A lane that keeps messages in a chain of blocks.
pub(crate) trait Chained: Lane {
    /// Does a long chain get its blocks in runs? Then the receivers must [leave](Chain::leave) them.
    const RUNS: bool;

    fn chain(chan: &Chan<Self>) -> &Chain<Self::Message>;
    fn spare(chan: &Chan<Self>) -> &Spare<Self::Message>;
}

impl<T> Chain<T> {
    /// An empty chain, and its first block.
    pub(crate) fn new() -> (Chain<T>, NonNull<Block<T>>) {
        let block = Block::allocate();
        (Chain(AtomicPtr::new(block.as_ptr())), block)
    }

    /// See [`Lane::claim`]. Returns the block that the claimed slot is in.
    #[inline(always)]
    pub(crate) fn claim<L: Chained<Message = T>>(
        chan: &Chan<L>,
        tail: Tail,
        next: Tail,
        fresh: &mut Fresh<T>,
    ) -> Result<NonNull<Block<T>>, Tail> {
        let position = tail.position();
        let chain = L::chain(chan);
        // Subtle: the pointer may be out of date, and the block even freed, if the word has moved
        // on; it is used only if the word is found unchanged.
        let block = chain.0.load(Ordering::Acquire);
        let last = Block::<T>::is_last(position);
        if last {
            fresh.get(chan, tail);
        }
        chan.tail.word.replace(tail, next.claim(last))?;
        // SAFETY: the position is ours and the block is the one it lies in, since the pointer
        // changes only while the word says INSTALLING, and then so does the position. The block
        // stays until all its slots have been received, which ours has not.
        let block = unsafe { NonNull::new_unchecked(block) };
        if last {
            let next = fresh.take();
            // SAFETY: as above.
            unsafe { block.as_ref() }.set_next(next);
            chain.0.store(next.as_ptr(), Ordering::Release);
            chan.tail.word.installed();
        }
        Ok(block)
    }

    /// See [`Lane::claim_plainly`]. `None` also for the last slot of a block.
    #[inline(always)]
    pub(crate) fn claim_plainly<L: Chained<Message = T>>(
        chan: &Chan<L>,
        tail: Tail,
    ) -> Option<NonNull<Block<T>>> {
        if Block::<T>::is_last(tail.position()) {
            return None;
        }
        // Subtle: as in `claim`.
        let block = L::chain(chan).0.load(Ordering::Acquire);
        if chan.move_on_from(tail) {
            // SAFETY: as in `claim`.
            Some(unsafe { NonNull::new_unchecked(block) })
        } else {
            None
        }
    }

    /// Replaces `tail`, which is not installing, by `next` with the end mark in its next position.
    /// True if the receiver waits for it and must be woken.
    pub(crate) fn end<L: Chained<Message = T>>(
        chan: &Chan<L>,
        tail: Tail,
        next: Tail,
    ) -> Result<bool, Tail> {
        // Subtle: as in `claim`. No block is hung in: nothing comes after the mark.
        let block = L::chain(chan).0.load(Ordering::Acquire);
        chan.tail.word.replace(tail, next.end())?;
        // SAFETY: as in `claim`.
        Ok(unsafe { (*block).slot(tail.position()).end() })
    }

    /// Replaces `tail`, which is open and where the only receiver is, by one behind a position that
    /// nobody uses, in a block by itself. The block of that position is the receiver's then: all before
    /// it was received, and no pointer to it is used. `None` if the word has changed.
    ///
    /// Until the receiver has moved its head, the channel looks as if it had a message.
    pub(crate) fn leave<L: Chained<Message = T>>(
        chan: &Chan<L>,
        tail: Tail,
    ) -> Option<NonNull<Block<T>>> {
        let block = Block::allocate();
        if chan.tail.word.replace(tail, tail.claim(true)).is_err() {
            // SAFETY: ours, and not hung in.
            unsafe { Block::free(block) };
            return None;
        }
        // Subtle: the position has moved, as always when the pointer changes. A sender that has read the
        // old pointer finds the word changed.
        L::chain(chan).0.store(block.as_ptr(), Ordering::Release);
        chan.tail.word.installed();
        Some(block)
    }
}

impl<T> Spare<T> {
    pub(crate) fn new() -> Spare<T> {
        Spare(AtomicPtr::new(ptr::null_mut()))
    }

    /// A block for a channel with so many messages, which are counted only if that matters.
    fn take(&self, messages: impl FnOnce() -> u64) -> NonNull<Block<T>> {
        match self.empty() {
            // SAFETY: it was in the place: nobody else has it.
            Some(block) if unsafe { block.as_ref() }.is_in_run() => unsafe { self.begin(block) },
            Some(block) => block,
            None => match run::blocks_for::<T>(messages()) {
                1 => Block::allocate(),
                // SAFETY: it is new.
                blocks => unsafe { self.begin(run::allocate(blocks)) },
            },
        }
    }

    /// Takes the first one from the rest of a run, and keeps the others.
    ///
    /// # Safety
    /// The rest is the caller's.
    unsafe fn begin(&self, block: NonNull<Block<T>>) -> NonNull<Block<T>> {
        // SAFETY: by the caller's promise.
        if let Some(rest) = unsafe { run::split(block) } {
            // SAFETY: what is behind the caller's is the caller's.
            unsafe { self.keep(rest) };
        }
        block
    }

    fn empty(&self) -> Option<NonNull<Block<T>>> {
        NonNull::new(self.0.swap(ptr::null_mut(), Ordering::Acquire))
    }

    /// Keeps a block instead of what came into the place in the meantime.
    ///
    /// # Safety
    /// It is not in use, and the caller's.
    unsafe fn keep(&self, block: NonNull<Block<T>>) {
        let other = self.0.swap(block.as_ptr(), Ordering::AcqRel);
        if let Some(other) = NonNull::new(other) {
            // SAFETY: it was in the place, so nobody else has it.
            unsafe { Block::free(other) };
        }
    }

    /// Takes a block back that was not used.
    ///
    /// # Safety
    /// It came from `take`, and is the caller's.
    #[cold]
    unsafe fn put_back(&self, block: NonNull<Block<T>>) {
        // SAFETY: ours, as is what we take out of the place.
        unsafe {
            if !block.as_ref().is_in_run() {
                return self.recycle(block);
            }
            match self.empty().map_or(Ok(()), |rest| run::join(block, rest)) {
                Ok(()) => self.keep(block),
                Err(other) => {
                    self.keep(other);
                    Block::free(block);
                }
            }
        }
    }

    /// Gives back what is left of a run, if nobody takes from it right now.
    pub(crate) fn leave_run(&self) {
        if let Some(block) = self.empty() {
            // SAFETY: it was in the place: in no chain, and ours.
            unsafe {
                if block.as_ref().is_in_run() {
                    Block::free(block);
                } else {
                    self.keep(block);
                }
            }
        }
    }

    /// Keeps a block for later, or frees it.
    ///
    /// # Safety
    /// Nobody else can reach the block, and its messages have been taken.
    pub(crate) unsafe fn recycle(&self, block: NonNull<Block<T>>) {
        // SAFETY: ours, by the caller's promise, until it is in the spare's place.
        unsafe {
            // One of a run would keep the others.
            if !block.as_ref().is_in_run() && self.0.load(Ordering::Relaxed).is_null() {
                Block::reset(block);
                let kept = self.0.compare_exchange(
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
}

impl<T> Drop for Spare<T> {
    fn drop(&mut self) {
        if let Some(spare) = NonNull::new(self.0.load(Ordering::Acquire)) {
            // SAFETY: the spare is in no chain, and nobody else has it.
            unsafe { Block::free(spare) };
        }
    }
}

impl<T> Default for Fresh<T> {
    #[inline(always)]
    fn default() -> Fresh<T> {
        Fresh(None)
    }
}

impl<T> Fresh<T> {
    #[cold]
    fn get<L: Chained<Message = T>>(&mut self, chan: &Chan<L>, tail: Tail) {
        if self.0.is_none() {
            let messages = || {
                let head = chan.head.position.load(Ordering::Acquire);
                let messages = distance(tail.position(), head);
                // The head may have overtaken this tail, which has changed then.
                if messages > MAX_COUNTED { 0 } else { messages }
            };
            let block = L::spare(chan).take(|| if L::RUNS { messages() } else { 0 });
            self.0 = Some(block);
        }
    }

    fn take(&mut self) -> NonNull<Block<T>> {
        self.0.take().expect("got ready for the last position")
    }

    #[inline(always)]
    pub(crate) fn put_back(self, spare: &Spare<T>) {
        if let Some(block) = self.0 {
            // SAFETY: it was ours, and was not hung in.
            unsafe { spare.put_back(block) };
        }
    }
}

/// Frees the blocks of a chain from `first` on.
///
/// # Safety
/// Nobody else can reach them, and their messages have been taken.
pub(crate) unsafe fn free_from<T>(first: *mut Block<T>) {
    let mut block = first;
    while let Some(this) = NonNull::new(block) {
        // SAFETY: ours, by the caller's promise; blocks are freed once, from the front.
        unsafe {
            block = this.as_ref().next();
            Block::free(this);
        }
    }
}
