//! Tasks made by threads that own no slab of the runtime: other threads' spawns, blocking closures.

use super::batch::New;
use super::stats::Counter;
use crate::sys::Mutex;
use crate::task::{self, Id, JoinHandle, Origin, Owner, Parent, Ready, Source};
use std::future::Future;
use std::panic::Location;
use std::vec::Drain;

/// An owner that any thread may use, one at a time.
pub(super) struct Outside<P: Parent> {
    owner: Owner<P>,
    /// Guards the owner's slab; true once no task may be added any more.
    closed: Mutex<bool>,
    /// Tasks accepted. Written under the lock.
    spawned: Counter,
}

impl<P: Parent> Outside<P> {
    pub(super) fn new() -> Outside<P> {
        Outside {
            owner: Owner::new(),
            closed: Mutex::new(false),
            spawned: Counter::default(),
        }
    }

    pub(super) fn owner(&self) -> &Owner<P> {
        &self.owner
    }

    pub(super) fn spawned(&self) -> u64 {
        self.spawned.get()
    }

    /// Makes a task. False: it came too late, and must be refused instead of queued.
    ///
    /// # Safety
    /// As for `task::new`, except for the slab.
    pub(super) unsafe fn make<F: Future>(
        &self,
        future: F,
        id: Id,
        origin: Origin,
    ) -> (Ready, JoinHandle<F::Output>, bool) {
        let closed = self.closed.lock();
        // The slab has been retired, or will be: the system allocator serves any thread.
        let source = if *closed {
            Source::System
        } else {
            self.spawned.bump();
            Source::Page
        };
        // SAFETY: by the caller's promise; the lock makes this thread the slab's owner.
        let (task, handle) = unsafe { task::new(future, &self.owner, source, id, origin) };
        (task, handle, !*closed)
    }

    /// Makes a task of each future, under one lock. False: they came too late, and must be refused.
    ///
    /// # Safety
    /// As for `make`.
    pub(super) unsafe fn make_batch<F: Future>(
        &self,
        futures: Drain<'_, F>,
        at: &'static Location<'static>,
        batch: &mut New<F::Output>,
    ) -> bool {
        let closed = self.closed.lock();
        let source = if *closed {
            Source::System
        } else {
            self.spawned.add(futures.len() as u64);
            Source::Page
        };
        // SAFETY: as in `make`.
        unsafe { batch.make(futures, &self.owner, source, at) };
        !*closed
    }

    /// Accepts no more tasks.
    pub(super) fn close(&self) {
        *self.closed.lock() = true;
    }

    /// Ends the ownership of the slab. The caller holds a reference to the runtime.
    pub(super) fn retire(&self) {
        let mut closed = self.closed.lock();
        *closed = true;
        // SAFETY: the lock makes this thread the owner, and its value keeps others away for good.
        unsafe { self.owner.retire() };
    }
}
