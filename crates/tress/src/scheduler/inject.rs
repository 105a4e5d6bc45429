//! The global queue: tasks from outside, and what overflows from the rings.
//!
//! An intrusive list behind a lock, with an atomic length so that finding it empty costs a load.

use super::queue::Local;
use crate::sys::Mutex;
use crate::sys::atomic::{AtomicUsize, Ordering};
use crate::task::Header;
use std::ptr::NonNull;

/// Fewest tasks fetched at once, to be worth the lock (seed 002's `MIN_GLOBAL_QUEUE_BATCH_SIZE`).
const MIN_BATCH: usize = 4;
/// Most tasks fetched at once (seed 002's `MAX_GLOBAL_QUEUE_BATCH_SIZE`).
const MAX_BATCH: usize = 64;

pub(crate) struct Inject {
    list: Mutex<List>,
    len: AtomicUsize,
}

struct List {
    ends: Option<(NonNull<Header>, NonNull<Header>)>,
}

// SAFETY: the list holds queue entries of tasks that may run on any thread.
unsafe impl Send for List {}

impl Inject {
    pub(crate) fn new() -> Inject {
        Inject {
            list: Mutex::new(List { ends: None }),
            len: AtomicUsize::new(0),
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

    /// Adds a task at the end.
    pub(crate) fn push(&self, task: NonNull<Header>) {
        // SAFETY: the task is about to be ours alone, as the caller's entry was.
        unsafe {
            Header::set_queue_next(task, None);
            self.push_batch(task, task, 1);
        }
    }

    /// Adds a chain of `n` tasks under one lock.
    ///
    /// # Safety
    /// The tasks from `first` to `last` are linked, in no queue, and `last` links to nothing.
    pub(crate) unsafe fn push_batch(
        &self,
        first: NonNull<Header>,
        last: NonNull<Header>,
        n: usize,
    ) {
        let mut list = self.list.lock();
        let head = match list.ends {
            None => first,
            Some((head, tail)) => {
                // SAFETY: the tail is in this list, so its link is ours.
                unsafe { Header::set_queue_next(tail, Some(first)) };
                head
            }
        };
        list.ends = Some((head, last));
        // Under the lock, so a plain read-and-store.
        let len = self.len.load(Ordering::Relaxed);
        self.len.store(len + n, Ordering::Release);
    }

    /// Takes the oldest task.
    pub(crate) fn pop(&self) -> Option<NonNull<Header>> {
        if self.is_empty() {
            return None;
        }
        let mut list = self.list.lock();
        let task = list.pop()?;
        let len = self.len.load(Ordering::Relaxed);
        self.len.store(len - 1, Ordering::Release);
        Some(task)
    }

    /// Takes one worker's fair share: the oldest task is returned, the others go to `into`.
    pub(crate) fn pop_batch(&self, into: &Local, workers: usize) -> Option<NonNull<Header>> {
        if self.is_empty() {
            return None;
        }
        let room = into.room();
        let mut list = self.list.lock();
        let len = self.len.load(Ordering::Relaxed);
        let first = list.pop()?;
        let share = (len / workers).clamp(MIN_BATCH, MAX_BATCH).min(len);
        let mut taken = 1;
        // The ring only gains room while we fill it: nobody else pushes.
        while taken < share && taken <= room {
            let Some(task) = list.pop() else { break };
            let overflowed = into.push(task, self);
            debug_assert!(!overflowed);
            taken += 1;
        }
        self.len.store(len - taken, Ordering::Release);
        Some(first)
    }
}

impl List {
    fn pop(&mut self) -> Option<NonNull<Header>> {
        let (head, tail) = self.ends?;
        // SAFETY: the head is in this list, so its link is ours.
        let next = unsafe { Header::queue_next(head) };
        self.ends = next.map(|next| (next, tail));
        // SAFETY: as above; the mark of a taken output after completion relies on a clear link.
        unsafe { Header::set_queue_next(head, None) };
        Some(head)
    }
}
