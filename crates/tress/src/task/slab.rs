//! Memory for task cells: per-owner pages of equal slots, with remote frees.
//!
//! A worker allocates and frees its own tasks' cells without an atomic operation. A cell freed on
//! another thread is pushed onto its page's remote list with one compare-exchange and collected
//! by the owner later. Pages are aligned to their size, so a cell's page is found by masking its
//! address. Slots stay slots as long as the page lives: that is what lets [`Slab::for_each`] walk
//! over the live tasks while others come and go.
//!
//! Why not the system allocator: on the machine this was built on, 100,000 cells of 128 bytes
//! cost 95–125 ns each to allocate and 23 ns to free, more than everything else in a spawn.
//!
//! # The life of a page
//! - *listed*: it may have a free slot; its owner allocates from the first listed page of a class.
//! - *full*: found without a free slot, it leaves the list with the FULL tag in its remote word. The first remote
//!   free takes the tag off and pushes the page onto the owner's reclaim stack; the first local free lists it again.
//! - *empty*: released to the system, except for a few that stay with their owner.
//! - *orphaned*: the owner retired (its runtime has shut down) while cells were still referenced.
//!   The remote word carries the ORPHAN tag for ever, and the last free releases the page.
//!
//! # Memory ordering
//! A remote free releases and the owner's collecting swap acquires, so whatever the last user of a cell did happens
//! before its reuse. The reclaim stack hands over pages the same way. The FULL tag hands the page's link in that
//! stack from the owner to the thread that takes the tag off.

use super::header::Header;
use crate::sys::atomic::{AtomicPtr, AtomicU64, Ordering};
use crate::sys::{Mutex, MutexGuard};
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;

/// Under the model a page holds one cell of the largest class, so that every free hits an edge case.
const PAGE_SIZE: usize = if cfg!(loom) { 4 * 1024 } else { 64 * 1024 };
const FIRST_SLOT: usize = size_of::<Page>().next_multiple_of(128);
/// Empty pages an owner keeps for the next burst.
const KEEP_EMPTY: usize = 16;
/// Listed pages looked at for remote frees each time the owner is about to sleep.
const TIDY_PAGES: usize = 32;

// D-TASK-01
const SIZES: [u16; 22] = [
    96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448, 480, 512, 640, 768, 896, 1024, 1280,
    1536, 1792, 2048,
];

const NIL: u32 = u32::MAX;

/// A size class, if cells of this layout live in pages at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Class(u8);

impl Class {
    pub(crate) const fn of(layout: Layout) -> Option<Class> {
        if cfg!(any(loom, tress_no_slab)) || layout.align() > 32 {
            return None;
        }
        let mut i = 0;
        while i < SIZES.len() {
            if layout.size() <= SIZES[i] as usize {
                return Some(Class(i as u8));
            }
            i += 1;
        }
        None
    }
}

/// The remote word: head slot of the list, its length, and the page's tags.
#[derive(Clone, Copy)]
struct Remote(u64);

impl Remote {
    const FULL: u64 = 1 << 62;
    const ORPHAN: u64 = 1 << 63;
    const EMPTY: Remote = Remote(NIL as u64);

    fn head(self) -> u32 {
        self.0 as u32
    }

    fn len(self) -> u32 {
        (self.0 >> 32) as u32 & 0xFFFF
    }

    fn push(self, slot: u32) -> Remote {
        Remote(u64::from(slot) | (u64::from(self.len() + 1) << 32))
    }
}

#[repr(C)]
pub(crate) struct Page {
    slab: NonNull<Slab>,
    slot_size: u32,
    capacity: u32,
    class: Class,

    // The owner's fields.
    free: Cell<u32>,
    fresh: Cell<u32>,
    used: Cell<u32>,
    listed: Cell<bool>,
    prev: Cell<*mut Page>,
    next: Cell<*mut Page>,

    // Fields of all threads.
    remote: AtomicU64,
    reclaim_next: Cell<*mut Page>,
    /// Live cells of an orphaned page; `BIAS` until the owner has counted them.
    remaining: AtomicU64,
}

const BIAS: u64 = 1 << 32;

const _: () = assert!(FIRST_SLOT == 128 || cfg!(loom));

/// What a free slot holds: a state word whose count is zero, which stays untouched, then the link.
#[repr(C)]
struct FreeSlot {
    state: MaybeUninit<u64>,
    next: u32,
}

impl Page {
    fn layout() -> Layout {
        Layout::from_size_align(PAGE_SIZE, PAGE_SIZE).expect("a power of two")
    }

    /// The page of a cell that lives in one.
    fn of(cell: NonNull<u8>) -> NonNull<Page> {
        let page = cell.as_ptr().map_addr(|a| a & !(PAGE_SIZE - 1));
        // A page is never at address zero.
        NonNull::new(page).expect("pages have an address").cast()
    }

    /// # Safety
    /// `this` is a live page and `index` is below its capacity.
    unsafe fn slot(this: NonNull<Page>, index: u32) -> NonNull<u8> {
        // SAFETY: the page is live, and slots below the capacity lie inside its allocation.
        unsafe {
            let size = (*this.as_ptr()).slot_size as usize;
            this.cast::<u8>().add(FIRST_SLOT + index as usize * size)
        }
    }

    /// # Safety
    /// `cell` is a slot of the live page `this`.
    unsafe fn index_of(this: NonNull<Page>, cell: NonNull<u8>) -> u32 {
        // SAFETY: the page is live.
        let size = unsafe { (*this.as_ptr()).slot_size } as usize;
        let offset = cell.as_ptr().addr() - this.as_ptr().addr() - FIRST_SLOT;
        (offset / size) as u32
    }

    /// Takes a slot, if the owner can have one without looking at the remote list.
    ///
    /// # Safety
    /// `this` is a live page and the caller is its owner.
    #[inline]
    unsafe fn pop(this: NonNull<Page>) -> Option<NonNull<u8>> {
        // SAFETY: the page is live; the fields below are the owner's, which the caller is.
        let page = unsafe { &*this.as_ptr() };
        let index = page.free.get();
        let slot = if index != NIL {
            // SAFETY: a free slot's index is below the capacity, its link is initialised, and only the owner reads
            // it.
            unsafe {
                let slot = Page::slot(this, index);
                page.free.set((*slot.cast::<FreeSlot>().as_ptr()).next);
                slot
            }
        } else {
            let fresh = page.fresh.get();
            if fresh == page.capacity {
                return None;
            }
            page.fresh.set(fresh + 1);
            // SAFETY: checked against the capacity just now.
            unsafe { Page::slot(this, fresh) }
        };
        page.used.set(page.used.get() + 1);
        Some(slot)
    }

    /// Moves what others freed onto the owner's list. True if there was anything.
    ///
    /// # Safety
    /// As for `pop`; and the page is listed.
    unsafe fn collect(this: NonNull<Page>) -> bool {
        // SAFETY: the page is live.
        let page = unsafe { &*this.as_ptr() };
        if page.remote.load(Ordering::Relaxed) as u32 == NIL {
            return false;
        }
        let taken = Remote(page.remote.swap(Remote::EMPTY.0, Ordering::Acquire));
        assert!(
            taken.0 & (Remote::FULL | Remote::ORPHAN) == 0,
            "a page that its owner collects is listed and has an owner"
        );
        let rest = page.free.replace(taken.head());
        page.used.set(page.used.get() - taken.len());
        if rest != NIL {
            // SAFETY: the taken list is the owner's now; its links are indices of free slots.
            unsafe {
                let mut last = taken.head();
                loop {
                    let link = &raw mut (*Page::slot(this, last).cast::<FreeSlot>().as_ptr()).next;
                    if *link == NIL {
                        *link = rest;
                        break;
                    }
                    last = *link;
                }
            }
        }
        true
    }
}

/// The pages of one owner.
pub(crate) struct Slab {
    // The owner's fields.
    listed: [Cell<*mut Page>; SIZES.len()],
    count: Cell<usize>,
    tidy_at: Cell<usize>,

    // Fields of all threads.
    reclaim: AtomicPtr<Page>,
    /// Every page, for enumeration. Taken to add and to remove one, and by `for_each`, which
    /// thereby keeps the pages it walks over alive.
    pages: Mutex<Vec<NonNull<Page>>>,
}

/// Called when a slab's first cells come and its last ones go.
pub(crate) struct Keep {
    pub(crate) retain: unsafe fn(NonNull<Slab>),
    pub(crate) release: unsafe fn(NonNull<Slab>),
}

impl Slab {
    pub(crate) fn new() -> Slab {
        Slab {
            listed: std::array::from_fn(|_| Cell::new(ptr::null_mut())),
            count: Cell::new(0),
            tidy_at: Cell::new(0),
            reclaim: AtomicPtr::new(ptr::null_mut()),
            pages: Mutex::new(Vec::new()),
        }
    }

    /// A slot of the class. Its state word reads as free until the caller initialises it.
    ///
    /// # Safety
    /// The caller is the slab's owner: no other thread calls the owner's functions meanwhile, and
    /// `this` stays at its address as long as `keep` says it is retained.
    #[inline]
    pub(crate) unsafe fn alloc(this: NonNull<Slab>, class: Class, keep: &Keep) -> NonNull<u8> {
        // SAFETY: live by the caller's promise; listed pages are live, and the caller owns them.
        unsafe {
            let head = this.as_ref().listed[class.0 as usize].get();
            if let Some(page) = NonNull::new(head) {
                if let Some(slot) = Page::pop(page) {
                    return slot;
                }
            }
            Slab::alloc_slow(this, class, keep)
        }
    }

    /// # Safety
    /// As for `alloc`.
    #[cold]
    unsafe fn alloc_slow(this: NonNull<Slab>, class: Class, keep: &Keep) -> NonNull<u8> {
        // SAFETY: live by the caller's promise.
        let slab = unsafe { this.as_ref() };
        let listed = &slab.listed[class.0 as usize];
        let mut reclaimed = false;
        loop {
            // SAFETY: pages on the list are live and the caller owns them.
            unsafe {
                while let Some(page) = NonNull::new(listed.get()) {
                    if let Some(slot) = Page::pop(page) {
                        return slot;
                    }
                    if !Page::collect(page) {
                        slab.set_full(page);
                    }
                }
                if !reclaimed {
                    reclaimed = true;
                    slab.take_reclaimed();
                    continue;
                }
                let page = Slab::new_page(this, class, keep);
                slab.list(page);
            }
        }
    }

    /// # Safety
    /// As for `alloc`.
    // D-TASK-02
    unsafe fn new_page(this: NonNull<Slab>, class: Class, keep: &Keep) -> NonNull<Page> {
        let layout = Page::layout();
        // SAFETY: the layout has a size. Zeroed memory makes every slot's state word read as free.
        let raw = unsafe { alloc_zeroed(layout) };
        let Some(page) = NonNull::new(raw.cast::<Page>()) else {
            handle_alloc_error(layout)
        };
        let slot_size = u32::from(SIZES[class.0 as usize]);
        // SAFETY: fresh memory large and aligned enough for a `Page`, which the first slot follows.
        unsafe {
            page.as_ptr().write(Page {
                slab: this,
                slot_size,
                capacity: (PAGE_SIZE - FIRST_SLOT) as u32 / slot_size,
                class,
                free: Cell::new(NIL),
                fresh: Cell::new(0),
                used: Cell::new(0),
                listed: Cell::new(false),
                prev: Cell::new(ptr::null_mut()),
                next: Cell::new(ptr::null_mut()),
                remote: AtomicU64::new(Remote::EMPTY.0),
                reclaim_next: Cell::new(ptr::null_mut()),
                remaining: AtomicU64::new(BIAS),
            });
            (keep.retain)(this);
            let slab = this.as_ref();
            slab.count.set(slab.count.get() + 1);
            slab.pages.lock().push(page);
        }
        page
    }

    /// Gives a slot back from any thread. `here` is the slab that the calling thread owns, if any. The state word's
    /// count must be zero already.
    ///
    /// # Safety
    /// `cell` came from `alloc` of a slab with the same `keep` and is not used any more.
    #[inline]
    pub(crate) unsafe fn free(cell: NonNull<u8>, here: Option<NonNull<Slab>>, keep: &Keep) {
        let page = Page::of(cell);
        // SAFETY: the page lives as long as one of its slots is in use, as this one still is.
        unsafe {
            let index = Page::index_of(page, cell);
            let link = &raw mut (*cell.cast::<FreeSlot>().as_ptr()).next;
            let p = page.as_ref();
            if here == Some(p.slab) {
                link.write(p.free.get());
                p.free.set(index);
                let used = p.used.get() - 1;
                p.used.set(used);
                if used == 0 || !p.listed.get() {
                    Slab::free_slow(page, keep);
                }
            } else {
                Slab::free_remote(page, index, link, keep);
            }
        }
    }

    /// # Safety
    /// The caller owns the page's slab, and the page has just got a slot back.
    #[cold]
    unsafe fn free_slow(page: NonNull<Page>, keep: &Keep) {
        // SAFETY: live, and the caller owns it. An unlisted page carries the FULL tag or is on its way through the
        // reclaim stack; in the second case the thread that empties the stack lists it.
        unsafe {
            let p = page.as_ref();
            let slab = p.slab.as_ref();
            if !p.listed.get() && p.remote.load(Ordering::Relaxed) & Remote::FULL != 0 {
                let cleared = p.remote.compare_exchange(
                    Remote::EMPTY.0 | Remote::FULL,
                    Remote::EMPTY.0,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                );
                if cleared.is_ok() {
                    slab.list(page);
                }
            }
            if p.used.get() == 0 && p.listed.get() {
                slab.drop_empty(page, keep);
            }
        }
    }

    /// # Safety
    /// `link` belongs to slot `index` of the live page, which the caller gives up.
    unsafe fn free_remote(page: NonNull<Page>, index: u32, link: *mut u32, keep: &Keep) {
        // SAFETY: the page is live until this slot is back, which the exchange below publishes;
        // after it the page is only touched if the exchange made it ours to push (FULL) or if
        // the orphan count says so.
        unsafe {
            let p = page.as_ref();
            let mut current = Remote(p.remote.load(Ordering::Relaxed));
            loop {
                if current.0 & Remote::ORPHAN != 0 {
                    return Slab::free_orphan(page, 1, keep);
                }
                link.write(current.head());
                let slab = p.slab;
                // Acquire for the case of FULL: what the owner did with the page's link before it
                // set the tag comes before what we do with it.
                match p.remote.compare_exchange_weak(
                    current.0,
                    current.push(index).0,
                    Ordering::AcqRel,
                    Ordering::Relaxed,
                ) {
                    Ok(_) if current.0 & Remote::FULL != 0 => {
                        // The page is in no list: without this push the owner would never look at it again, so it
                        // cannot have gone away.
                        return slab.as_ref().push_reclaimed(page);
                    }
                    Ok(_) => return,
                    Err(actual) => current = Remote(actual),
                }
            }
        }
    }

    /// # Safety
    /// The page is orphaned and `count` of its cells are given up by the caller.
    unsafe fn free_orphan(page: NonNull<Page>, count: u64, keep: &Keep) {
        // SAFETY: live until the count reaches zero, which exactly one caller sees.
        unsafe {
            let prev = page.as_ref().remaining.fetch_sub(count, Ordering::AcqRel);
            if prev == count {
                Slab::release(page, keep);
            }
        }
    }

    /// # Safety
    /// No cell of the page is in use and no thread will look at it again.
    unsafe fn release(page: NonNull<Page>, keep: &Keep) {
        // SAFETY: the slab is retained by this very page until the last line.
        unsafe {
            let slab = page.as_ref().slab;
            slab.as_ref().pages.lock().retain(|&p| p != page);
            dealloc(page.as_ptr().cast(), Page::layout());
            (keep.release)(slab);
        }
    }

    fn push_reclaimed(&self, page: NonNull<Page>) {
        let mut head = self.reclaim.load(Ordering::Relaxed);
        loop {
            // SAFETY: the caller took the FULL tag off, which makes the link its own until the
            // push below hands it to the owner.
            unsafe { page.as_ref().reclaim_next.set(head) };
            match self.reclaim.compare_exchange_weak(
                head,
                page.as_ptr(),
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(actual) => head = actual,
            }
        }
    }

    /// # Safety
    /// The caller owns the slab.
    unsafe fn take_reclaimed(&self) {
        if self.reclaim.load(Ordering::Relaxed).is_null() {
            return;
        }
        let mut next = self.reclaim.swap(ptr::null_mut(), Ordering::Acquire);
        while let Some(page) = NonNull::new(next) {
            // SAFETY: pages on the stack are live and, once taken, the owner's.
            unsafe {
                next = page.as_ref().reclaim_next.get();
                if !page.as_ref().listed.get() {
                    self.list(page);
                }
            }
        }
    }

    /// # Safety
    /// The caller owns the slab and the page is live and unlisted.
    unsafe fn list(&self, page: NonNull<Page>) {
        // SAFETY: the owner's fields, by the caller's promise.
        unsafe {
            let p = page.as_ref();
            assert!(!p.listed.get(), "a page is listed once");
            let head = &self.listed[p.class.0 as usize];
            let next = head.get();
            p.prev.set(ptr::null_mut());
            p.next.set(next);
            if let Some(next) = NonNull::new(next) {
                next.as_ref().prev.set(page.as_ptr());
            }
            head.set(page.as_ptr());
            p.listed.set(true);
        }
    }

    /// # Safety
    /// The caller owns the slab and the page is live and listed.
    unsafe fn unlist(&self, page: NonNull<Page>) {
        // SAFETY: the owner's fields, by the caller's promise.
        unsafe {
            let p = page.as_ref();
            assert!(p.listed.get(), "a page is unlisted once");
            let (prev, next) = (p.prev.get(), p.next.get());
            match NonNull::new(prev) {
                Some(prev) => prev.as_ref().next.set(next),
                None => self.listed[p.class.0 as usize].set(next),
            }
            if let Some(next) = NonNull::new(next) {
                next.as_ref().prev.set(prev);
            }
            p.listed.set(false);
        }
    }

    /// Takes a page without a free slot off its list, unless a remote free comes first.
    ///
    /// # Safety
    /// As for `unlist`; the owner's list of the page is empty.
    unsafe fn set_full(&self, page: NonNull<Page>) {
        // SAFETY: live and owned, by the caller's promise. Unlisted before the tag is set: from
        // then on a remote free may push the page for reclaim.
        unsafe {
            self.unlist(page);
            let tagged = page.as_ref().remote.compare_exchange(
                Remote::EMPTY.0,
                Remote::EMPTY.0 | Remote::FULL,
                // Hands the link in the page to the thread that takes the tag off.
                Ordering::Release,
                Ordering::Relaxed,
            );
            if tagged.is_err() {
                self.list(page);
            }
        }
    }

    /// # Safety
    /// The caller owns the slab; the page is listed and has no cell in use.
    unsafe fn drop_empty(&self, page: NonNull<Page>, keep: &Keep) {
        if self.count.get() <= KEEP_EMPTY {
            return;
        }
        self.count.set(self.count.get() - 1);
        // SAFETY: as the caller promises. With no cell in use no remote free can be under way.
        unsafe {
            self.unlist(page);
            Slab::release(page, keep);
        }
    }

    /// Collects remote frees and releases empty pages; for an owner that has nothing else to do.
    ///
    /// # Safety
    /// The caller owns the slab, which is retained by the caller too.
    pub(crate) unsafe fn tidy(&self, keep: &Keep) {
        // SAFETY: pages are only removed by the owner, so the copied pointers stay live until we
        // release them ourselves.
        unsafe {
            self.take_reclaimed();
            if self.count.get() <= KEEP_EMPTY {
                return;
            }
            let some: Vec<NonNull<Page>> = {
                let pages = self.pages.lock();
                let start = self.tidy_at.get() % pages.len();
                self.tidy_at.set(start + TIDY_PAGES);
                pages
                    .iter()
                    .cycle()
                    .skip(start)
                    .take(TIDY_PAGES.min(pages.len()))
                    .copied()
                    .collect()
            };
            for page in some {
                let p = page.as_ref();
                if p.listed.get() {
                    Page::collect(page);
                    if p.used.get() == 0 {
                        self.drop_empty(page, keep);
                    }
                }
            }
        }
    }

    /// Calls `f` with every cell whose count could be raised; `f` owns that reference.
    pub(crate) fn for_each(&self, f: impl FnMut(NonNull<Header>)) {
        Slab::walk(&self.pages.lock(), f);
    }

    /// As `for_each`, unless the lock on the pages cannot be had soon. Returns true if it could.
    pub(crate) fn try_for_each(&self, f: impl FnMut(NonNull<Header>)) -> bool {
        let pages = self.pages.lock_soon();
        pages.map(|pages| Slab::walk(&pages, f)).is_some()
    }

    fn walk(pages: &MutexGuard<'_, Vec<NonNull<Page>>>, mut f: impl FnMut(NonNull<Header>)) {
        for &page in pages.iter() {
            // SAFETY: pages in the vector are live while its lock is held. A slot's state word is an initialised
            // atomic from the page's creation on; a live count means an initialised header, because the word is
            // published last.
            unsafe {
                for index in 0..page.as_ref().capacity {
                    let slot = Page::slot(page, index).cast::<Header>();
                    if Header::state_of(slot).try_ref_inc() {
                        f(slot);
                    }
                }
            }
        }
    }

    /// Ends ownership: pages in use free themselves with their last cell from now on.
    ///
    /// # Safety
    /// The caller owns the slab and no thread will own it again. The caller retains it for the call.
    pub(crate) unsafe fn retire(&self, keep: &Keep) {
        // SAFETY: the owner's functions and fields, by the caller's promise.
        unsafe {
            let pages: Vec<NonNull<Page>> = self.pages.lock().clone();
            let orphan = Remote::EMPTY.0 | Remote::ORPHAN;
            let taken: Vec<Remote> = pages
                .iter()
                .map(|page| Remote(page.as_ref().remote.swap(orphan, Ordering::AcqRel)))
                .collect();
            // Subtle: an unlisted page that had lost its FULL tag is about to be pushed for
            // reclaim by a thread that will touch it, and this slab, once more. Wait until it has,
            // while all pages are still there: listing one touches its neighbours.
            for (page, taken) in pages.iter().zip(&taken) {
                while taken.0 & Remote::FULL == 0 && !page.as_ref().listed.get() {
                    self.take_reclaimed();
                    crate::sys::thread::yield_now();
                }
            }
            for (&page, taken) in pages.iter().zip(&taken) {
                let live = u64::from(page.as_ref().used.get() - taken.len());
                // Frees by others have been counting down from BIAS since the swap; taking the
                // rest of it away leaves the number of cells still in use.
                Slab::free_orphan(page, BIAS - live, keep);
            }
        }
    }
}
