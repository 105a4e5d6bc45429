//! Tasks made by threads that own no slab of the runtime: spawns from other threads, and blocking closures.

use super::Scheduler;
use crate::sys::{Counter, Mutex, MutexGuard};
use crate::task::{AnyOwner, Owner, Source};

/// An owner that any thread may use, one thread at a time.
pub(super) struct Outside {
    owner: Owner<Scheduler>,
    /// Guards the owner's slab; true once no more tasks may be added.
    closed: Mutex<bool>,
    /// Tasks accepted. Written under the lock.
    spawned: Counter,
}

/// Lets one thread at a time make tasks in an [`Outside`].
pub(crate) struct Door<'a> {
    owner: &'a Owner<Scheduler>,
    closed: MutexGuard<'a, bool>,
}

impl<'a> Door<'a> {
    pub(crate) fn owner(&self) -> &'a AnyOwner {
        self.owner
    }

    pub(crate) fn source(&self) -> Source {
        match *self.closed {
            false => Source::Page,
            // The slab is retired, or will be: the system allocator serves any thread.
            true => Source::System,
        }
    }

    /// Lets the next thread in. Returns false if the tasks came too late: they must be refused instead of queued.
    pub(super) fn leave(self) -> bool {
        !*self.closed
    }
}

impl Outside {
    pub(super) fn new() -> Outside {
        Outside {
            owner: Owner::new(),
            closed: Mutex::new(false),
            spawned: Counter::default(),
        }
    }

    pub(super) fn owner(&self) -> &Owner<Scheduler> {
        &self.owner
    }

    pub(super) fn spawned(&self) -> u64 {
        self.spawned.get()
    }

    /// Locks the owner to make that many tasks.
    pub(super) fn enter(&self, tasks: usize) -> Door<'_> {
        let closed = self.closed.lock();
        if !*closed {
            self.spawned.add(tasks as u64);
        }
        Door {
            owner: &self.owner,
            closed,
        }
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
