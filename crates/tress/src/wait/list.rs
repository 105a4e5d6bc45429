//! An intrusive list of waiters, in the order in which they came, each of which lives in its future.
//!
//! Waiting allocates nothing. A future that has to wait holds a [`Waiter`], pinned with it, and
//! links it into the [`WaitList`] of what it waits for. Three rules make that sound:
//!
//! 1. A list is guarded by one lock (each primitive puts its lists behind a `sys::Mutex`), and the
//!    links, the waker and the data of a linked waiter are written under that lock only.
//! 2. A future whose waiter is linked is pinned, and unlinks it, under the lock, before it goes.
//! 3. The side that wakes *settles* a waiter: it unlinks it, takes the waker, and as the very last
//!    access writes the outcome into the waiter's phase. From then on the waiter is its future's
//!    alone again, which may read the outcome without the lock.
//!
//! No foreign code runs under the lock: wakers are cloned before it is taken, and woken or dropped
//! after it is released, in a [`WakeBatch`](super::WakeBatch).
//!
//! # Memory ordering
//! The outcome is stored with release and loaded with acquire ordering: a future that sees that it
//! was settled also sees everything that the settling side had done.

use crate::sys::UnsafeCell;
use crate::sys::atomic::{AtomicU32, Ordering};
use std::fmt;
use std::marker::PhantomPinned;
use std::mem::{self, ManuallyDrop, MaybeUninit};
use std::ptr::NonNull;
use std::task::Waker;

/// Phase of a waiter: in no list; nothing was promised to it.
pub(crate) const IDLE: u32 = 0;
/// Phase of a waiter: in a list.
pub(crate) const WAITING: u32 = 1;
/// The lowest number that a primitive may use as an outcome.
pub(crate) const FIRST_OUTCOME: u32 = 2;

/// A place in a [`WaitList`], with `P` for what the waiter wants.
// The phase is all that is initialised in a new waiter. In front, it is written with the fields of
// the future before it; behind, the compiler moves futures about with loads that do not match the
// stores, which costs twice what the lock does (`repr(C)` keeps it there).
#[repr(C)]
pub(crate) struct Waiter<P> {
    phase: AtomicU32,
    /// Written by the waiter's future, under the lock. The settling side only copies it out, so
    /// the future may look at it without the lock. It holds a waker from the moment the waiter is
    /// linked; whether that waker still belongs to it is told by the phase.
    waker: UnsafeCell<MaybeUninit<Option<ManuallyDrop<Waker>>>>,
    linked: UnsafeCell<MaybeUninit<Linked<P>>>,
    _pinned: PhantomPinned,
}

/// Set when the waiter is linked, and guarded by the list's lock until it is unlinked.
struct Linked<P> {
    prev: Option<NonNull<Waiter<P>>>,
    next: Option<NonNull<Waiter<P>>>,
    data: P,
}

// SAFETY: the cells are accessed under the list's lock or by the one future that owns the waiter
// (see the module's rules), so moving or sharing a waiter moves or shares a `P` and a `Waker`.
unsafe impl<P: Send> Send for Waiter<P> {}
// SAFETY: as above; nothing but the phase is reachable through a shared reference without the lock
// or exclusive access to the future.
unsafe impl<P: Send> Sync for Waiter<P> {}

impl<P> Waiter<P> {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Waiter {
            phase: AtomicU32::new(IDLE),
            waker: UnsafeCell::new(MaybeUninit::uninit()),
            linked: UnsafeCell::new(MaybeUninit::uninit()),
            _pinned: PhantomPinned,
        }
    }

    /// Returns `IDLE`, `WAITING` or an outcome.
    #[inline(always)]
    pub(crate) fn phase(&self) -> u32 {
        self.phase.load(Ordering::Acquire)
    }

    /// Sets the phase of a waiter that is in no list; called by its own future.
    #[inline]
    pub(crate) fn set_phase(&self, phase: u32) {
        debug_assert_ne!(phase, WAITING);
        debug_assert_ne!(self.phase.load(Ordering::Relaxed), WAITING);
        self.phase.store(phase, Ordering::Relaxed);
    }

    /// Returns whether settling the waiter would wake this waker. Needs no lock.
    ///
    /// # Safety
    /// The caller is the waiter's future, which has linked the waiter at least once.
    pub(crate) unsafe fn wakes(&self, waker: &Waker) -> bool {
        // SAFETY: initialised when linked; only the caller writes the cell. If the waiter is being
        // settled right now the waker has been copied out and may be gone, but its two pointers,
        // which are all that is compared, are still in place.
        self.waker.with(|slot| unsafe {
            (*slot)
                .assume_init_ref()
                .as_ref()
                .is_some_and(|own| own.will_wake(waker))
        })
    }

    /// Copies the waker out.
    ///
    /// # Safety
    /// The lock is held, the waiter was linked, and the phase is about to leave `WAITING`: from then
    /// on the copy in the waiter counts as moved.
    unsafe fn take_waker(&self) -> Option<Waker> {
        // SAFETY: initialised when linked; the copy left behind is never used as a waker again.
        self.waker
            .with(|slot| unsafe { (*slot).assume_init_read() })
            .map(ManuallyDrop::into_inner)
    }

    /// # Safety
    /// The lock is held and the waiter is linked, or its future alone has it.
    unsafe fn with_linked<R>(&self, f: impl FnOnce(&mut Linked<P>) -> R) -> R {
        // SAFETY: initialised when linked, and exclusive by the caller's promise.
        self.linked
            .with_mut(|linked| f(unsafe { (*linked).assume_init_mut() }))
    }
}

impl<P> fmt::Debug for Waiter<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phase = match self.phase() {
            IDLE => "idle",
            WAITING => "waiting",
            _ => "settled",
        };
        f.debug_struct("Waiter").field("phase", &phase).finish()
    }
}

/// The waiters, the one that has waited longest first. See the module documentation for the rules.
pub(crate) struct WaitList<P> {
    head: Option<NonNull<Waiter<P>>>,
    tail: Option<NonNull<Waiter<P>>>,
}

// SAFETY: the list points to waiters that stay in place while they are linked, and touches them
// under the lock that guards the list; which thread holds that lock does not matter.
unsafe impl<P: Send> Send for WaitList<P> {}

impl<P> WaitList<P> {
    pub(crate) const fn new() -> Self {
        WaitList {
            head: None,
            tail: None,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.head.is_none()
    }

    /// Adds a waiter at the end.
    ///
    /// # Safety
    /// The waiter is in no list, the caller is its future, and the waiter stays where it is until
    /// it was settled, or removed under the lock that guards this list. All lists that the waiter
    /// gets into are guarded by that same lock.
    pub(crate) unsafe fn push_back(&mut self, waiter: &Waiter<P>, waker: Option<Waker>, data: P) {
        let this = NonNull::from(waiter);
        // SAFETY: unlinked, so its cells are the caller's. The old content of the waker's slot was
        // moved out when the waiter left its last list.
        unsafe {
            waiter.waker.with_mut(|slot| {
                (*slot).write(waker.map(ManuallyDrop::new));
            });
            waiter.linked.with_mut(|linked| {
                (*linked).write(Linked {
                    prev: self.tail,
                    next: None,
                    data,
                });
            });
        }
        waiter.phase.store(WAITING, Ordering::Relaxed);
        match self.tail.replace(this) {
            // SAFETY: linked waiters stay in place; we have the lock.
            Some(tail) => unsafe { tail.as_ref().with_linked(|l| l.next = Some(this)) },
            None => self.head = Some(this),
        }
    }

    /// Takes a waiter out; its phase is `IDLE` then. Returns its waker, to be dropped without the
    /// lock, and its data.
    ///
    /// # Safety
    /// The waiter is in this list, and the caller is its future.
    pub(crate) unsafe fn remove(&mut self, waiter: &Waiter<P>) -> (Option<Waker>, P) {
        // SAFETY: by the caller's promise.
        unsafe { self.unlink(waiter, IDLE) }
    }

    /// Puts another waker in place; returns the old one, to be dropped without the lock.
    ///
    /// # Safety
    /// The waiter is in this list, and the caller is its future.
    pub(crate) unsafe fn replace_waker(
        &mut self,
        waiter: &Waiter<P>,
        waker: Waker,
    ) -> Option<Waker> {
        let new = Some(ManuallyDrop::new(waker));
        // SAFETY: linked, so initialised; we have the lock, and only the caller reads without it.
        waiter
            .waker
            .with_mut(|slot| unsafe { mem::replace((*slot).assume_init_mut(), new) })
            .map(ManuallyDrop::into_inner)
    }

    /// Calls `f` with the data of the first waiter.
    pub(crate) fn with_front<R>(&mut self, f: impl FnOnce(&mut P) -> R) -> Option<R> {
        // SAFETY: linked waiters are in place; `&mut self` proves the lock.
        self.head
            .map(|head| unsafe { head.as_ref().with_linked(|l| f(&mut l.data)) })
    }

    /// Takes the first waiter out and tells it the outcome. Returns its waker, if it has one.
    #[inline]
    pub(crate) fn settle_front(&mut self, outcome: u32) -> Option<(Option<Waker>, P)> {
        // SAFETY: as above; a settled waiter is not touched again.
        self.head
            .map(|head| unsafe { self.unlink(head.as_ref(), outcome) })
    }

    /// Calls `f` with the data of each waiter in turn, takes out the first for which it returns true, and
    /// tells it the outcome.
    pub(crate) fn settle_first(
        &mut self,
        outcome: u32,
        mut f: impl FnMut(&mut P) -> bool,
    ) -> Option<(Option<Waker>, P)> {
        let mut next = self.head;
        while let Some(waiter) = next {
            // SAFETY: linked waiters are in place; `&mut self` proves the lock. A settled waiter is
            // not touched again.
            unsafe {
                let waiter = waiter.as_ref();
                let (yes, behind) = waiter.with_linked(|l| (f(&mut l.data), l.next));
                if yes {
                    return Some(self.unlink(waiter, outcome));
                }
                next = behind;
            }
        }
        None
    }

    /// Returns whether `f` returns true for the data of any waiter.
    pub(crate) fn any(&mut self, mut f: impl FnMut(&mut P) -> bool) -> bool {
        let mut next = self.head;
        while let Some(waiter) = next {
            // SAFETY: linked waiters are in place; `&mut self` proves the lock.
            let (yes, behind) =
                unsafe { waiter.as_ref().with_linked(|l| (f(&mut l.data), l.next)) };
            if yes {
                return true;
            }
            next = behind;
        }
        false
    }

    /// Does what `settle_front` does, for the last waiter.
    pub(crate) fn settle_back(&mut self, outcome: u32) -> Option<(Option<Waker>, P)> {
        // SAFETY: as above.
        self.tail
            .map(|tail| unsafe { self.unlink(tail.as_ref(), outcome) })
    }

    /// Moves all waiters of `other` behind those of this list. Both are guarded by the same lock.
    pub(crate) fn append(&mut self, other: &mut WaitList<P>) {
        let Some(head) = other.head.take() else {
            return;
        };
        let tail = other.tail.take();
        match self.tail {
            Some(own) => {
                // SAFETY: linked waiters are in place; `&mut` to both lists proves the lock.
                unsafe {
                    own.as_ref().with_linked(|l| l.next = Some(head));
                    head.as_ref().with_linked(|l| l.prev = Some(own));
                }
            }
            None => self.head = Some(head),
        }
        self.tail = tail;
    }

    /// # Safety
    /// The waiter is in this list.
    #[inline]
    unsafe fn unlink(&mut self, waiter: &Waiter<P>, phase: u32) -> (Option<Waker>, P) {
        // SAFETY: linked, so its cells are initialised and, with the lock, ours; so are those of
        // its neighbours. What is copied out here is not used in place again: the waiter is
        // written anew before it is linked the next time.
        unsafe {
            let Linked { prev, next, data } =
                waiter.linked.with(|linked| (*linked).assume_init_read());
            match prev {
                Some(prev) => prev.as_ref().with_linked(|l| l.next = next),
                None => self.head = next,
            }
            match next {
                Some(next) => next.as_ref().with_linked(|l| l.prev = prev),
                None => self.tail = prev,
            }
            let waker = waiter.take_waker();
            // Subtle: nothing may touch the waiter after this; its future may be gone at once.
            waiter.phase.store(phase, Ordering::Release);
            (waker, data)
        }
    }
}

impl<P> Default for WaitList<P> {
    fn default() -> Self {
        WaitList::new()
    }
}

impl<P> fmt::Debug for WaitList<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitList")
            .field("is_empty", &self.is_empty())
            .finish()
    }
}
