//! Many tasks at once: cells made in one go, queued under one lock, and one worker woken for them.

use super::multi::{Multi, current_worker};
use super::queue::CAPACITY;
use super::worker::{Core, Worker};
use crate::runtime::Shared;
use crate::task::{self, Header, Id, JoinHandle, Origin, Owner, Source, TaskRef};
use std::future::Future;
use std::panic::Location;
use std::ptr::NonNull;
use std::vec::Drain;

/// Tasks that were made and are in no queue yet, and the handles of all made so far.
pub(crate) struct New<T> {
    tasks: Vec<NonNull<Header>>,
    pub(crate) handles: Vec<JoinHandle<T>>,
}

impl<T> New<T> {
    /// Room for `each` tasks at a time, and for the handles of `all`.
    pub(crate) fn with_capacity(each: usize, all: usize) -> New<T> {
        New {
            tasks: Vec::with_capacity(each),
            handles: Vec::with_capacity(all),
        }
    }

    /// # Safety
    /// As for `task::new`.
    pub(super) unsafe fn make<F: Future<Output = T>>(
        &mut self,
        futures: Drain<'_, F>,
        owner: NonNull<Owner>,
        source: Source,
        at: &'static Location<'static>,
    ) {
        for future in futures {
            // SAFETY: by the caller's promise.
            let (task, handle) =
                unsafe { task::new(future, owner, source, Id::next(), Origin::unnamed(at)) };
            self.tasks.push(task);
            self.handles.push(handle);
        }
    }
}

impl Multi {
    /// Makes a task of each future and queues them, in order, on the current worker if this thread is
    /// one; what would fill more than half of its ring goes to the global queue.
    ///
    /// # Safety
    /// As for `spawn`, for each future.
    pub(crate) unsafe fn spawn_batch<F: Future>(
        &self,
        shared: &Shared,
        futures: Drain<'_, F>,
        at: &'static Location<'static>,
        new: &mut New<F::Output>,
    ) {
        let here = current_worker(shared).and_then(|worker| Some((worker, worker.core()?)));
        match here.filter(|_| !self.is_closing()) {
            Some((worker, core)) => {
                let remote = &self.remotes[core.index()];
                remote.stats.spawned.add(futures.len() as u64);
                let owner = NonNull::from(&remote.owner);
                // SAFETY: the core makes this thread the owner of its slab.
                unsafe { new.make(futures, owner, Source::Page, at) };
                core.schedule_batch(worker, &new.tasks);
            }
            None => {
                self.need_a_thread();
                // SAFETY: by the caller's promise. Refused tasks are in no queue, and their futures
                // may be dropped here, where they came from.
                unsafe {
                    if self.outside.make_batch(futures, at, new) {
                        self.inject.push_batch_outside(&new.tasks);
                        self.notify_from_outside();
                    } else {
                        new.tasks.iter().for_each(|&task| TaskRef::refuse(task));
                    }
                }
            }
        }
        new.tasks.clear();
    }
}

impl Core {
    /// Queues new tasks on this worker, oldest first.
    fn schedule_batch(&self, worker: &Worker, tasks: &[NonNull<Header>]) {
        let multi = worker.multi();
        let remote = &multi.remotes[self.index()];
        remote.stats.local_schedules.add(tasks.len() as u64);
        let (near, far) = tasks.split_at(
            self.ring()
                .room()
                .saturating_sub(CAPACITY / 2)
                .min(tasks.len()),
        );
        for &task in near {
            let overflowed = self.ring().push(task, &multi.inject);
            debug_assert!(!overflowed);
        }
        if !far.is_empty() {
            multi.inject.push_batch(far.iter().copied());
        }
        if !far.is_empty() || multi.config.stealing {
            multi.notify();
        }
    }
}
