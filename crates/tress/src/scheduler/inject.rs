//! The global queue: tasks from outside, and what overflows from the rings.
//!
//! Blocks of pointers behind a lock, with an atomic length so that finding it empty costs one load. Blocks rather
//! than a list through the tasks: a batch is then copied from a few cache lines, where a list would fetch each task's
//! own line, cold from the thread that made it, while others wait for the lock.

use super::queue::Local;
use crate::sys::atomic::{AtomicUsize, Ordering};
use crate::sys::{Counter, Mutex};
use crate::task::{Header, Ready};
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::vec::Drain;

/// Minimum of a worker's share, to be worth the lock.
pub(super) const MIN_BATCH: u32 = 4;
/// Maximum of a worker's share.
const MAX_BATCH: usize = 64;
/// Tasks in a block; only 2 under the model, so that blocks come and go.
// D-SCHED-11
const BLOCK: usize = if cfg!(loom) { 2 } else { 256 };

/// In this order and on a line of its own: a push touches the first line, and the block that it pushes to.
#[repr(C, align(64))]
pub(crate) struct Inject {
    len: AtomicUsize,
    /// Tasks pushed by threads that are not workers. Written under the lock.
    from_outside: Counter,
    list: Mutex<List>,
}

/// First in, first out, in blocks: tasks in it are never moved, and the memory of a burst is given back.
#[repr(C)]
struct List {
    /// The block being filled.
    last: Vec<NonNull<Header>>,
    /// The block being emptied, and how many tasks have been taken from it.
    first: Vec<NonNull<Header>>,
    taken: usize,
    /// The full blocks between them.
    between: VecDeque<Vec<NonNull<Header>>>,
    /// An empty block, so that a queue whose length goes up and down allocates nothing.
    spare: Vec<NonNull<Header>>,
}

// SAFETY: the list holds what `Ready::into_raw` gave, which is `Send`.
unsafe impl Send for List {}

impl Inject {
    pub(crate) fn new() -> Inject {
        Inject {
            len: AtomicUsize::new(0),
            from_outside: Counter::default(),
            list: Mutex::new(List {
                last: Vec::new(),
                first: Vec::new(),
                taken: 0,
                between: VecDeque::new(),
                spare: Vec::new(),
            }),
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many tasks came from threads that are not workers.
    pub(crate) fn outside_pushes(&self) -> u64 {
        self.from_outside.get()
    }

    /// Adds a task that was made ready by a thread that is not a worker.
    pub(crate) fn push_outside(&self, task: Ready) {
        let mut list = self.list.lock();
        self.from_outside.bump();
        list.push(task);
        let len = self.len.load(Ordering::Relaxed);
        self.len.store(len + 1, Ordering::Release);
    }

    /// As [`push_outside`](Inject::push_outside), for many under one lock.
    pub(crate) fn push_batch_outside(&self, tasks: Drain<'_, Ready>) {
        let mut list = self.list.lock();
        let n = tasks.len();
        self.from_outside.add(n as u64);
        for task in tasks {
            list.push(task);
        }
        let len = self.len.load(Ordering::Relaxed);
        self.len.store(len + n, Ordering::Release);
    }

    /// Adds a task at the end.
    pub(crate) fn push(&self, task: Ready) {
        self.push_batch([task]);
    }

    /// Adds tasks, in order, under one lock.
    pub(crate) fn push_batch(&self, tasks: impl IntoIterator<Item = Ready>) {
        let mut list = self.list.lock();
        let mut n = 0;
        for task in tasks {
            list.push(task);
            n += 1;
        }
        // Under the lock, so a plain read-and-store.
        let len = self.len.load(Ordering::Relaxed);
        self.len.store(len + n, Ordering::Release);
    }

    /// Takes the oldest task.
    pub(crate) fn pop(&self) -> Option<Ready> {
        if self.is_empty() {
            return None;
        }
        let mut list = self.list.lock();
        let task = list.pop()?;
        let len = self.len.load(Ordering::Relaxed);
        self.len.store(len - 1, Ordering::Release);
        Some(task)
    }

    /// Takes all tasks, in order.
    #[cold]
    pub(crate) fn pop_all(&self, into: &mut VecDeque<Ready>) {
        let mut list = self.list.lock();
        while let Some(task) = list.pop() {
            into.push_back(task);
        }
        self.len.store(0, Ordering::Release);
    }

    /// Takes one worker's fair share, but at most `most` tasks: returns the oldest one and the number taken; the
    /// others go to `into`.
    pub(crate) fn pop_batch(
        &self,
        into: &Local,
        workers: usize,
        most: u32,
    ) -> Option<(Ready, u32)> {
        if self.is_empty() {
            return None;
        }
        let room = into.room();
        let mut list = self.list.lock();
        let len = self.len.load(Ordering::Relaxed);
        let first = list.pop()?;
        let share = share(len, workers).min(most) as usize;
        let share = share.min(len);
        let mut taken = 1;
        // The ring only gains room while we fill it: no other thread pushes to it.
        while taken < share && taken <= room {
            let Some(task) = list.pop() else { break };
            let overflowed = into.push(task, self);
            assert!(!overflowed, "a ring with room for a task has overflowed");
            taken += 1;
        }
        self.len.store(len - taken, Ordering::Release);
        Some((first, taken as u32))
    }
}

/// Returns one worker's fair share of `len` tasks: enough to be worth the lock, and not too many.
pub(super) fn share(len: usize, workers: usize) -> u32 {
    (len / workers).clamp(MIN_BATCH as usize, MAX_BATCH) as u32
}

impl List {
    #[inline]
    fn push(&mut self, task: Ready) {
        if self.last.len() == self.last.capacity() {
            self.begin_block();
        }
        self.last.push(task.into_raw());
    }

    /// Begins a new block: the last one is full, or there is none yet.
    #[cold]
    fn begin_block(&mut self) {
        let mut block = std::mem::take(&mut self.spare);
        block.reserve_exact(BLOCK);
        let full = std::mem::replace(&mut self.last, block);
        if !full.is_empty() {
            self.between.push_back(full);
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<Ready> {
        if self.taken == self.first.len() {
            self.end_block();
        }
        let task = *self.first.get(self.taken)?;
        self.taken += 1;
        // SAFETY: `push` put it there, and it will not be read again.
        Some(unsafe { Ready::from_raw(task) })
    }

    /// Drops the first block, which is empty, and goes on to the next.
    fn end_block(&mut self) {
        self.first.clear();
        self.taken = 0;
        match self.between.pop_front() {
            Some(next) => self.spare = std::mem::replace(&mut self.first, next),
            None => std::mem::swap(&mut self.first, &mut self.last),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::queue;
    use super::*;

    /// The queue only stores addresses.
    fn address(n: usize) -> NonNull<Header> {
        NonNull::new(std::ptr::without_provenance_mut(n + 1)).expect("not zero")
    }

    fn task(n: usize) -> Ready {
        // SAFETY: not a task at all, but nothing looks into it.
        unsafe { Ready::from_raw(address(n)) }
    }

    fn empty(ring: Local) {
        while let Some(task) = ring.pop() {
            task.into_raw();
        }
    }

    #[test]
    fn keeps_the_order_over_blocks() {
        let inject = Inject::new();
        let (mut pushed, mut popped) = (0, 0);
        // Lengths on both sides of the block size, and back to empty in between.
        for (push, pop) in [
            (1, 1),
            (BLOCK, BLOCK),
            (3 * BLOCK + 1, BLOCK),
            (7, 2 * BLOCK + 8),
        ] {
            inject.push_batch((pushed..pushed + push).map(task));
            pushed += push;
            for _ in 0..pop {
                assert_eq!(inject.pop().map(Ready::into_raw), Some(address(popped)));
                popped += 1;
            }
            assert_eq!(inject.len(), pushed - popped);
        }
        assert!(inject.pop().is_none());
    }

    #[test]
    fn a_batch_is_a_fair_share_and_no_more_than_asked_for() {
        for (len, workers, most, expected) in [
            (1, 2, 64, 1),
            (6, 2, 64, 4),
            (6, 2, 1, 1),
            (40, 2, 64, 20),
            (40, 2, 16, 16),
            (400, 2, 128, 64),
        ] {
            let inject = Inject::new();
            inject.push_batch((0..len).map(task));
            let (ring, _steal) = queue::ring();
            let (first, taken) = inject.pop_batch(&ring, workers, most).expect("not empty");
            assert_eq!(
                (first.into_raw(), taken),
                (address(0), expected),
                "of {len}"
            );
            assert_eq!(ring.len(), expected - 1);
            assert_eq!(inject.len(), len - expected as usize);
            empty(ring);
        }
    }

    #[test]
    fn a_batch_leaves_what_the_ring_has_no_room_for() {
        let inject = Inject::new();
        inject.push_batch((0..100).map(task));
        let (ring, _steal) = queue::ring();
        for n in 0..queue::CAPACITY - 3 {
            assert!(!ring.push(task(n), &inject));
        }
        let (first, taken) = inject.pop_batch(&ring, 1, 64).expect("not empty");
        first.into_raw();
        assert_eq!(taken, 4);
        assert_eq!(inject.len(), 96);
        empty(ring);
    }
}
