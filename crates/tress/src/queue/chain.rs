//! The chain of blocks that senders fill: claiming slots, linking blocks, and the blocks kept for later.

use super::block::Block;
use super::lane::{Lane, Queue};
use super::run;
use super::tail::{MAX_COUNTED, Tail, distance};
use crate::sys::atomic::{AtomicPtr, Ordering};
use std::ptr::{self, NonNull};

/// The end of a chain of blocks: the block of the next position.
pub(crate) struct Chain<T>(AtomicPtr<Block<T>>);

/// A place for what is used next: a drained block, or the rest of a run. Null if there is neither, or if a
/// thread is taking from it.
pub(crate) struct Spare<T>(AtomicPtr<Block<T>>);

/// A block that was prepared before it is known whether it is needed.
pub(crate) struct Fresh<T>(Option<NonNull<Block<T>>>);

/// A lane that keeps messages in a chain of blocks.
pub(crate) trait Chained: Lane {
    /// True if a long chain gets its blocks in runs. The receivers must [leave](Chain::leave) them then.
    const RUNS: bool;

    fn chain(queue: &Queue<Self>) -> &Chain<Self::Message>;
    fn spare(queue: &Queue<Self>) -> &Spare<Self::Message>;
}

impl<T> Chain<T> {
    /// Creates an empty chain. Also returns its first block.
    pub(crate) fn new() -> (Chain<T>, NonNull<Block<T>>) {
        let block = Block::allocate();
        (Chain(AtomicPtr::new(block.as_ptr())), block)
    }

    /// Implements [`Lane::claim`]. Returns the block of the claimed slot.
    #[inline(always)]
    pub(crate) fn claim<L: Chained<Message = T>>(
        queue: &Queue<L>,
        tail: Tail,
        next: Tail,
        fresh: &mut Fresh<T>,
    ) -> Result<NonNull<Block<T>>, Tail> {
        let position = tail.position();
        let chain = L::chain(queue);
        // Subtle: the pointer may be out of date, and the block even freed, if the word has moved
        // on; it is used only if the word is found unchanged.
        let block = chain.0.load(Ordering::Acquire);
        let last = Block::<T>::is_last(position);
        if last {
            fresh.prepare(queue, tail);
        }
        queue.tail.word.replace(tail, next.claim(last))?;
        // SAFETY: the caller has the position, and the block is the one in which it lies, since the
        // pointer changes only while the word says INSTALLING, and the position changes with it. The block
        // stays until all its slots have been received, which this one has not.
        let block = unsafe { NonNull::new_unchecked(block) };
        if last {
            let next = fresh.take();
            // SAFETY: as above.
            unsafe { block.as_ref() }.set_next(next);
            chain.0.store(next.as_ptr(), Ordering::Release);
            queue.tail.word.installed();
        }
        Ok(block)
    }

    /// Implements [`Lane::claim_plainly`]. Returns `None` for the last slot of a block, too.
    #[inline(always)]
    pub(crate) fn claim_plainly<L: Chained<Message = T>>(
        queue: &Queue<L>,
        tail: Tail,
    ) -> Option<NonNull<Block<T>>> {
        if Block::<T>::is_last(tail.position()) {
            return None;
        }
        // Subtle: as in `claim`.
        let block = L::chain(queue).0.load(Ordering::Acquire);
        if queue.move_on_from(tail) {
            // SAFETY: as in `claim`.
            Some(unsafe { NonNull::new_unchecked(block) })
        } else {
            None
        }
    }

    /// Replaces `tail`, which is not installing, by `next` with the end mark in its next position.
    /// Returns true if the receiver waits for it and must be woken.
    pub(crate) fn end<L: Chained<Message = T>>(
        queue: &Queue<L>,
        tail: Tail,
        next: Tail,
    ) -> Result<bool, Tail> {
        // Subtle: as in `claim`. No block is linked: nothing comes after the mark.
        let block = L::chain(queue).0.load(Ordering::Acquire);
        queue.tail.word.replace(tail, next.end())?;
        // SAFETY: as in `claim`.
        Ok(unsafe { (*block).slot(tail.position()).end() })
    }

    /// Replaces `tail`, which is open and where the only receiver is, by one behind a position that is
    /// never used, and returns the block of the new tail, which was allocated by itself. The block of the
    /// skipped position belongs to the receiver then: all messages before it were received, and no pointer
    /// to it is used. Returns `None` if the word has changed.
    ///
    /// Until the receiver has moved its head, the queue looks as if it had a message.
    pub(crate) fn leave<L: Chained<Message = T>>(
        queue: &Queue<L>,
        tail: Tail,
    ) -> Option<NonNull<Block<T>>> {
        let block = Block::allocate();
        if queue.tail.word.replace(tail, tail.claim(true)).is_err() {
            // SAFETY: allocated here, and not linked.
            unsafe { Block::free(block) };
            return None;
        }
        // Subtle: the position has moved, as always when the pointer changes. A sender that has read the
        // old pointer finds the word changed.
        L::chain(queue).0.store(block.as_ptr(), Ordering::Release);
        queue.tail.word.installed();
        Some(block)
    }
}

impl<T> Spare<T> {
    pub(crate) fn new() -> Spare<T> {
        Spare(AtomicPtr::new(ptr::null_mut()))
    }

    /// Takes a block for a queue whose number of messages `messages` returns. It is called only if the number
    /// matters.
    fn take(&self, messages: impl FnOnce() -> u64) -> NonNull<Block<T>> {
        match self.empty() {
            // SAFETY: it was in the place: no other thread has it.
            Some(block) if unsafe { block.as_ref() }.is_in_run() => unsafe { self.begin(block) },
            Some(block) => block,
            None => match run::blocks_for::<T>(messages()) {
                1 => Block::allocate(),
                // SAFETY: it is new.
                blocks => unsafe { self.begin(run::allocate(blocks)) },
            },
        }
    }

    /// Takes the first block from the rest of a run, and keeps the others.
    ///
    /// # Safety
    /// The rest belongs to the caller.
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

    /// Keeps a block, and frees what came into the place in the meantime.
    ///
    /// # Safety
    /// It is not in use, and belongs to the caller.
    unsafe fn keep(&self, block: NonNull<Block<T>>) {
        let other = self.0.swap(block.as_ptr(), Ordering::AcqRel);
        if let Some(other) = NonNull::new(other) {
            // SAFETY: it was in the place, so no other thread has it.
            unsafe { Block::free(other) };
        }
    }

    /// Takes a block back that was not used.
    ///
    /// # Safety
    /// It came from `take`, and belongs to the caller.
    #[cold]
    unsafe fn put_back(&self, block: NonNull<Block<T>>) {
        // SAFETY: the caller's, and so is what is taken out of the place.
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

    /// Frees what is left of a run, unless a thread is taking from it.
    pub(crate) fn leave_run(&self) {
        if let Some(block) = self.empty() {
            // SAFETY: it was in the place: it is in no chain, and no other thread has it.
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
    /// No other thread can reach the block, and its messages have been taken.
    pub(crate) unsafe fn recycle(&self, block: NonNull<Block<T>>) {
        // SAFETY: the caller's, by its promise, until it is in the spare's place.
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
            // SAFETY: the spare is in no chain, and no other thread has it.
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
    fn prepare<L: Chained<Message = T>>(&mut self, queue: &Queue<L>, tail: Tail) {
        if self.0.is_none() {
            let messages = || {
                let head = queue.head.position.load(Ordering::Acquire);
                let messages = distance(tail.position(), head);
                // If the head has overtaken this tail, the word has changed.
                if messages > MAX_COUNTED { 0 } else { messages }
            };
            let block = L::spare(queue).take(|| if L::RUNS { messages() } else { 0 });
            self.0 = Some(block);
        }
    }

    fn take(&mut self) -> NonNull<Block<T>> {
        self.0.take().expect("prepared for the last position")
    }

    #[inline(always)]
    pub(crate) fn put_back(self, spare: &Spare<T>) {
        if let Some(block) = self.0 {
            // SAFETY: it was prepared by this thread, and not linked.
            unsafe { spare.put_back(block) };
        }
    }
}

/// Frees the blocks of a chain from `first` on.
///
/// # Safety
/// No other thread can reach them, and their messages have been taken.
pub(crate) unsafe fn free_from<T>(first: *mut Block<T>) {
    let mut block = first;
    while let Some(this) = NonNull::new(block) {
        // SAFETY: the caller's, by its promise; blocks are freed once, from the front.
        unsafe {
            block = this.as_ref().next();
            Block::free(this);
        }
    }
}
