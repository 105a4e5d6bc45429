//! Many tasks at once: cells made in one go, queued under one lock, and one worker woken for them.

use super::multi::{Multi, current_worker};
use super::queue::CAPACITY;
use super::worker::{Core, Worker};
use crate::runtime::Shared;
use crate::task::{self, AnyOwner, Id, JoinHandle, Origin, Ready, Source};
use std::future::Future;
use std::panic::Location;
use std::vec::Drain;

/// Tasks that were made and are in no queue yet, and the handles of all made so far.
pub(crate) struct New<T> {
    tasks: Vec<Ready>,
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
        owner: &AnyOwner,
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
                // SAFETY: the core makes this thread the owner of its slab.
                unsafe { new.make(futures, &remote.owner, Source::Page, at) };
                core.schedule_batch(worker, &mut new.tasks);
            }
            None => {
                self.need_a_thread();
                // SAFETY: by the caller's promise.
                if unsafe { self.outside.make_batch(futures, at, new) } {
                    self.inject.push_batch_outside(new.tasks.drain(..));
                    self.notify_from_outside();
                } else {
                    // Their futures may be dropped here, where they came from.
                    new.tasks.drain(..).for_each(Ready::refuse);
                }
            }
        }
    }
}

impl Core {
    /// Queues new tasks on this worker, oldest first.
    fn schedule_batch(&self, worker: &Worker, tasks: &mut Vec<Ready>) {
        let multi = worker.multi();
        let remote = &multi.remotes[self.index()];
        remote.stats.local_schedules.add(tasks.len() as u64);
        let near = self.ring().room().saturating_sub(CAPACITY / 2);
        for task in tasks.drain(..near.min(tasks.len())) {
            let overflowed = self.ring().push(task, &multi.inject);
            assert!(!overflowed, "a ring with room for a task has overflowed");
        }
        let has_far = !tasks.is_empty();
        if has_far {
            multi.inject.push_batch(tasks.drain(..));
        }
        if has_far || multi.config.stealing {
            multi.notify();
        }
    }
}
