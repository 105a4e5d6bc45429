//! The senders' way along a chain of blocks.

use super::block::Block;
use super::chan::{Chan, Lane};
use super::tail::Tail;
use crate::sys::atomic::{AtomicPtr, Ordering};
use std::ptr::{self, NonNull};

/// The block of the next position.
pub(crate) struct Chain<T>(AtomicPtr<Block<T>>);

/// A drained block, to be used again.
pub(crate) struct Spare<T>(AtomicPtr<Block<T>>);

/// A block got ready before its need is certain.
pub(crate) struct Fresh<T>(Option<NonNull<Block<T>>>);

/// A lane that keeps messages in a chain of blocks.
pub(crate) trait Chained: Lane {
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
            fresh.get(L::spare(chan));
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
}

impl<T> Spare<T> {
    pub(crate) fn new() -> Spare<T> {
        Spare(AtomicPtr::new(ptr::null_mut()))
    }

    /// Keeps a block for later, or frees it.
    ///
    /// # Safety
    /// Nobody else can reach the block, and its messages have been taken.
    pub(crate) unsafe fn recycle(&self, block: NonNull<Block<T>>) {
        // SAFETY: ours, by the caller's promise, until it is in the spare's place.
        unsafe {
            if self.0.load(Ordering::Relaxed).is_null() {
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
    fn get(&mut self, spare: &Spare<T>) {
        if self.0.is_none() {
            let spare = spare.0.swap(ptr::null_mut(), Ordering::Acquire);
            self.0 = Some(NonNull::new(spare).unwrap_or_else(Block::allocate));
        }
    }

    fn take(&mut self) -> NonNull<Block<T>> {
        self.0.take().expect("got ready for the last position")
    }

    #[inline(always)]
    pub(crate) fn put_back(self, spare: &Spare<T>) {
        if let Some(block) = self.0 {
            // SAFETY: it was ours, and was not hung in.
            unsafe { spare.recycle(block) };
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
