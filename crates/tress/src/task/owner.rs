//! What a task belongs to: where its cell lives, and what queues it when it is woken.
//!
//! Every worker has an owner, every runtime one more for spawns from outside, every current-thread runtime and every
//! `LocalSet` one. A task stays with its owner for life; wake-ups always go back through it. An owner is part of a
//! larger structure held in an `Arc` ([`Parent::Whole`]) and keeps that alive as long as it has cells: per page for
//! small cells, per cell for large ones, so that an ordinary spawn touches no shared count.

use super::header::Header;
use super::parent::{Parent, Woken};
use super::ready::Ready;
use super::shield::Further;
use super::slab::{Class, Keep, Slab};
use crate::context;
use crate::sys::atomic::Ordering;
use crate::sys::plain::AtomicPtr;
use crate::sys::{Mutex, MutexGuard};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::sync::{Arc, OnceLock};

/// The functions that know the parent's type.
struct VTable {
    /// Puts a task into a queue. Its owner is one of that parent's.
    schedule: unsafe fn(Ready),
    keep: Keep,
}

/// See the module documentation.
#[repr(transparent)]
pub(crate) struct Owner<P: Parent> {
    any: AnyOwner,
    _parent: PhantomData<fn(P)>,
}

/// An owner, whatever it is part of.
#[repr(C)]
pub(crate) struct AnyOwner {
    // First, so that a pointer to one is a pointer to the other.
    slab: Slab,
    /// A `&'static VTable`.
    vtable: AtomicPtr<VTable>,
    whole: AtomicPtr<()>,
    large: Mutex<LargeList>,
    /// Shields that its tasks' state words have no room for.
    pub(super) shields: Further,
    /// Called when a task of it has panicked, before its handle hears of it.
    on_panic: OnceLock<OnPanic>,
}

/// What a panic of a task does besides going to its handle.
pub(crate) type OnPanic = Arc<dyn Fn() + Send + Sync>;

// SAFETY: the slab's owner-only part is reached through unsafe functions whose callers promise to
// be the one owning thread; everything else is atomic or behind a lock.
unsafe impl Send for AnyOwner {}
// SAFETY: as above.
unsafe impl Sync for AnyOwner {}

struct LargeList {
    head: *mut Large,
}

/// Precedes the header of a cell that is not in a page.
struct Large {
    prev: *mut Large,
    next: *mut Large,
    task: NonNull<Header>,
}

impl<P: Parent> Owner<P> {
    const KEEP: Keep = Keep {
        retain: retain::<P>,
        release: release::<P>,
    };
    const VTABLE: &'static VTable = &VTable {
        schedule: schedule::<P>,
        keep: Self::KEEP,
    };
    /// Of an owner whose tasks are stamped when they become ready.
    const STAMPING: &'static VTable = &VTable {
        schedule: stamp_and_schedule::<P>,
        keep: Self::KEEP,
    };

    pub(crate) fn new() -> Owner<P> {
        Owner {
            any: AnyOwner {
                slab: Slab::new(),
                vtable: AtomicPtr::new(ptr::from_ref(Self::VTABLE).cast_mut()),
                whole: AtomicPtr::new(ptr::null_mut()),
                large: Mutex::new(LargeList {
                    head: ptr::null_mut(),
                }),
                shields: Further::new(),
                on_panic: OnceLock::new(),
            },
            _parent: PhantomData,
        }
    }

    /// Sets what the owner is part of, before the first task comes.
    pub(crate) fn set_whole(&self, whole: &Arc<P::Whole>) {
        let whole = Arc::as_ptr(whole).cast_mut().cast();
        self.any.whole.store(whole, Ordering::Relaxed);
    }

    /// Lets each task be stamped when it becomes ready, if it is one that is tracked. Called before the first task comes.
    pub(crate) fn stamp_tasks(&self) {
        let vtable = ptr::from_ref(Self::STAMPING).cast_mut();
        self.any.vtable.store(vtable, Ordering::Relaxed);
    }

    /// Returns what the owner is part of; null before `set_whole`.
    pub(crate) fn whole(&self) -> *const P::Whole {
        self.any.whole()
    }
}

impl<P: Parent> Deref for Owner<P> {
    type Target = AnyOwner;

    fn deref(&self) -> &AnyOwner {
        &self.any
    }
}

/// # Safety
/// The task's owner is an `Owner<P>`.
unsafe fn schedule<P: Parent>(task: Ready) {
    // SAFETY: by the caller's promise.
    P::schedule(unsafe { Woken::new(task) });
}

/// # Safety
/// As for `schedule`.
unsafe fn stamp_and_schedule<P: Parent>(task: Ready) {
    task.header().stamp();
    // SAFETY: by the caller's promise.
    unsafe { schedule::<P>(task) }
}

/// # Safety
/// The slab is that of an `Owner<P>` which has its whole.
unsafe fn retain<P: Parent>(slab: NonNull<Slab>) {
    // SAFETY: a caller that asks an owner for memory keeps what the owner is part of.
    unsafe { P::retain(AnyOwner::of_slab(slab).as_ref().whole()) }
}

/// # Safety
/// As for `retain`, with which it pairs.
unsafe fn release<P: Parent>(slab: NonNull<Slab>) {
    // SAFETY: by the caller's promise.
    unsafe { P::release(AnyOwner::of_slab(slab).as_ref().whole()) }
}

impl AnyOwner {
    #[inline(always)]
    fn vtable(&self) -> &'static VTable {
        // SAFETY: only ever set from references to one of the two tables.
        unsafe { &*self.vtable.load(Ordering::Relaxed) }
    }

    pub(super) fn whole<T>(&self) -> *const T {
        self.whole.load(Ordering::Relaxed).cast_const().cast()
    }

    /// Sets what a panic of a task does besides going to its handle.
    pub(crate) fn set_on_panic(&self, f: OnPanic) {
        let first = self.on_panic.set(f);
        assert!(first.is_ok(), "an owner is told once what a panic does");
    }

    /// Returns what a panic of a task does besides going to its handle, if anything.
    pub(crate) fn on_panic(&self) -> Option<&OnPanic> {
        self.on_panic.get()
    }

    /// Returns the owner whose slab this is.
    fn of_slab(slab: NonNull<Slab>) -> NonNull<AnyOwner> {
        slab.cast()
    }

    pub(crate) fn slab(&self) -> NonNull<Slab> {
        // A pointer to all of it: see `of_slab`.
        NonNull::from(self).cast()
    }

    /// Puts a task into the queue that its owner chooses.
    #[inline]
    pub(super) fn schedule(task: Ready) {
        // SAFETY: an unfinished task's owner is alive, and its vtable was made for the owner's parent.
        unsafe {
            let owner = task.header().owner;
            (owner.as_ref().vtable().schedule)(task);
        }
    }

    /// Allocates a cell, from a page where the class allows it.
    ///
    /// # Safety
    /// The owner has its whole, and the caller owns its slab.
    #[inline]
    pub(super) unsafe fn alloc(
        this: NonNull<AnyOwner>,
        layout: Layout,
        class: Option<Class>,
    ) -> NonNull<Header> {
        // SAFETY: by the caller's promise.
        unsafe {
            match class {
                Some(class) => Slab::alloc(this.cast(), class, &this.as_ref().vtable().keep).cast(),
                None => AnyOwner::alloc_large(this, layout),
            }
        }
    }

    /// Allocates a cell from the system allocator; any thread may call it.
    ///
    /// # Safety
    /// The owner has its whole.
    pub(super) unsafe fn alloc_large(this: NonNull<AnyOwner>, cell: Layout) -> NonNull<Header> {
        let (layout, offset) = large_layout(cell);
        // SAFETY: the layout has a size; the cell lies behind the links inside the allocation. The
        // whole is alive during the call, so its count may be raised.
        unsafe {
            let Some(links) = NonNull::new(alloc(layout).cast::<Large>()) else {
                handle_alloc_error(layout)
            };
            let task = links.cast::<u8>().add(offset).cast::<Header>();
            let owner = this.as_ref();
            (owner.vtable().keep.retain)(this.cast());
            // The walker must see a count of zero until the cell is initialised.
            super::cell::mark_free(task);
            let mut list = owner.large.lock();
            links.as_ptr().write(Large {
                prev: ptr::null_mut(),
                next: list.head,
                task,
            });
            if let Some(next) = NonNull::new(list.head) {
                (*next.as_ptr()).prev = links.as_ptr();
            }
            list.head = links.as_ptr();
            task
        }
    }

    /// # Safety
    /// `task` was allocated by this owner with the same layout and class, nothing refers to it, and
    /// its fields have been dropped.
    #[inline]
    pub(super) unsafe fn free(
        this: NonNull<AnyOwner>,
        task: NonNull<Header>,
        layout: Layout,
        class: Option<Class>,
        in_page: bool,
    ) {
        // SAFETY: by the caller's promise; the owner lives until its last cell is released.
        unsafe {
            if in_page && class.is_some() {
                let here = context::with(|cx| cx.slab.get());
                Slab::free(task.cast(), here, &this.as_ref().vtable().keep);
            } else {
                AnyOwner::free_large(this, task, layout);
            }
        }
    }

    /// # Safety
    /// As for `free`.
    unsafe fn free_large(this: NonNull<AnyOwner>, task: NonNull<Header>, cell: Layout) {
        let (layout, offset) = large_layout(cell);
        // SAFETY: the links stand `offset` before the cell; the list's lock guards them all.
        unsafe {
            let owner = this.as_ref();
            let links = task.cast::<u8>().sub(offset).cast::<Large>();
            {
                let mut list = owner.large.lock();
                let Large { prev, next, .. } = *links.as_ptr();
                match NonNull::new(prev) {
                    Some(prev) => (*prev.as_ptr()).next = next,
                    None => list.head = next,
                }
                if let Some(next) = NonNull::new(next) {
                    (*next.as_ptr()).prev = prev;
                }
            }
            dealloc(links.as_ptr().cast(), layout);
            (owner.vtable().keep.release)(this.cast());
        }
    }

    /// Returns every task that can still be referenced, each with a reference that the caller owns.
    pub(crate) fn live_tasks(&self) -> Vec<super::TaskRef> {
        let mut tasks = Vec::new();
        // SAFETY: the counts were raised for us.
        self.slab
            .for_each(|task| tasks.push(unsafe { super::TaskRef::from_raw(task) }));
        AnyOwner::walk_large(&self.large.lock(), &mut tasks);
        tasks
    }

    /// As `live_tasks`, without waiting for a lock: returns false if a list could not be had, whose tasks are then
    /// missing.
    pub(crate) fn try_live_tasks(&self, tasks: &mut Vec<super::TaskRef>) -> bool {
        // SAFETY: the counts were raised for us.
        let small = self
            .slab
            .try_for_each(|task| tasks.push(unsafe { super::TaskRef::from_raw(task) }));
        let large = self.large.lock_soon();
        small
            && large
                .map(|list| AnyOwner::walk_large(&list, tasks))
                .is_some()
    }

    fn walk_large(list: &MutexGuard<'_, LargeList>, tasks: &mut Vec<super::TaskRef>) {
        let mut next = list.head;
        while let Some(links) = NonNull::new(next) {
            // SAFETY: linked cells are allocated and their state word is initialised; the lock
            // keeps them so.
            unsafe {
                let large = links.as_ref();
                if Header::state_of(large.task).try_ref_inc() {
                    tasks.push(super::TaskRef::from_raw(large.task));
                }
                next = large.next;
            }
        }
    }

    /// Collects remote frees and gives empty pages back.
    ///
    /// # Safety
    /// The caller owns the slab.
    pub(crate) unsafe fn tidy(&self) {
        // SAFETY: by the caller's promise.
        unsafe { self.slab.tidy(&self.vtable().keep) }
    }

    /// Ends the ownership of the slab, for good.
    ///
    /// # Safety
    /// The caller owns the slab and holds a reference to the whole.
    pub(crate) unsafe fn retire(&self) {
        // SAFETY: by the caller's promise.
        unsafe { self.slab.retire(&self.vtable().keep) }
    }
}

fn large_layout(cell: Layout) -> (Layout, usize) {
    let (layout, offset) = Layout::new::<Large>()
        .extend(cell)
        .expect("a future's size is far from the address space's");
    (layout.pad_to_align(), offset)
}
