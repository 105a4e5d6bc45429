//! What an owner is part of, as a type: where a task goes when it is READY.

use super::header::Header;
use super::ready::{LocalReady, Ready};
use std::marker::PhantomData;
use std::sync::Arc;

/// Something that queues tasks. The [`Owner`](super::Owner)s of its tasks are part of a larger structure in an
/// `Arc`, which they keep alive as long as they have cells.
pub(crate) trait Parent: Sized {
    /// That structure.
    type Whole;

    /// Queues a task that was woken or aborted, from any thread.
    fn schedule(task: Woken<Self>);

    /// Keeps the whole alive.
    ///
    /// # Safety
    /// It is alive.
    unsafe fn retain(whole: *const Self::Whole) {
        // SAFETY: by the caller's promise; an owner's whole is in an `Arc`.
        unsafe { Arc::increment_strong_count(whole) }
    }

    /// Undoes a `retain`. The whole may be gone afterwards.
    ///
    /// # Safety
    /// Pairs with a `retain`.
    unsafe fn release(whole: *const Self::Whole) {
        // SAFETY: by the caller's promise.
        unsafe { Arc::decrement_strong_count(whole) }
    }
}

/// A parent whose tasks may be run by whoever takes them out of its queues.
///
/// # Safety
/// Its tasks' futures are `Send`, or whoever spawns one that is not makes sure that it is taken out of the queues
/// on the right thread only.
pub(crate) unsafe trait Roaming: Parent {}

/// A task that is READY and in the caller's hands, and goes to its parent's queue.
#[repr(transparent)]
pub(crate) struct Woken<P: Parent> {
    task: Ready,
    _parent: PhantomData<fn(P)>,
}

impl<P: Parent> Woken<P> {
    /// # Safety
    /// The task's owner is an `Owner<P>`.
    #[inline(always)]
    pub(super) unsafe fn new(task: Ready) -> Woken<P> {
        Woken {
            task,
            _parent: PhantomData,
        }
    }

    #[inline(always)]
    pub(crate) fn header(&self) -> &Header {
        self.task.header()
    }

    /// The whole that the task's owner is part of. It is borrowed from the task: once that is in a queue it may
    /// finish at any moment, and take the whole's last reference with it.
    #[inline(always)]
    pub(crate) fn parent(&self) -> &P::Whole {
        // SAFETY: an unfinished task keeps its owner, and with it the whole; its type is known from `new`.
        unsafe { &*self.header().parent::<P::Whole>() }
    }

    /// A reference to the whole that outlives the task.
    pub(crate) fn hold(&self) -> Arc<P::Whole> {
        let whole = self.header().parent::<P::Whole>();
        // SAFETY: as in `parent`, and the pointer is one to what is in an `Arc`.
        unsafe {
            Arc::increment_strong_count(whole);
            Arc::from_raw(whole)
        }
    }

    #[inline(always)]
    pub(crate) fn into_ready(self) -> Ready
    where
        P: Roaming,
    {
        self.task
    }

    /// Of a task that stays on one thread.
    ///
    /// # Safety
    /// This is that thread.
    pub(super) unsafe fn into_local(self) -> LocalReady {
        self.task.into()
    }
}
