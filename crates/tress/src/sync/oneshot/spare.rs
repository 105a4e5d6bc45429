//! Memory of cells that were freed on this thread, for the next ones that are allocated on it.
//!
//! Most oneshot channels are short-lived, and the allocator costs more than the rest of their life.
//! So each thread keeps a few pieces of memory, all of one size, which suffices for cells of small
//! values. They are ordinary memory of the global allocator: a cell may be freed on another thread
//! than it was allocated on, and surplus pieces, and those left at the end of a thread, are given
//! back.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr::{self, NonNull};

/// The layout of a piece.
const PIECE: Layout = match Layout::from_size_align(64, 16) {
    Ok(layout) => layout,
    Err(_) => unreachable!(),
};

/// The maximum number of pieces that a thread keeps: none where a tool is to see every cell come and go.
// D-SYNC-09
pub(super) const MOST: usize = if cfg!(any(loom, miri, tress_no_slab)) {
    0
} else {
    32
};

/// Pieces that are not in use, the last freed first.
struct Spares {
    /// One piece at hand, so that a thread that allocates and frees cells in turns touches nothing else.
    last: Cell<*mut Spare>,
    more: Cell<*mut Spare>,
    /// The number of pieces in `more`.
    count: Cell<usize>,
}

/// The content of a piece that is not in use.
struct Spare {
    next: *mut Spare,
}

thread_local! {
    static SPARES: Spares = const {
        Spares {
            last: Cell::new(ptr::null_mut()),
            more: Cell::new(ptr::null_mut()),
            count: Cell::new(0),
        }
    };
}

/// Returns `true` if a piece suffices for this layout.
const fn fits(layout: Layout) -> bool {
    MOST > 0 && layout.size() <= PIECE.size() && layout.align() <= PIECE.align()
}

/// Allocates memory for a `T`, which is not of size zero.
#[inline(always)]
pub(super) fn allocate<T>() -> NonNull<T> {
    let layout = const { Layout::new::<T>() };
    if const { fits(Layout::new::<T>()) } {
        // At the end of a thread there are none.
        match SPARES.try_with(Spares::take) {
            Ok(Some(piece)) => piece.cast(),
            _ => from_allocator(PIECE).cast(),
        }
    } else {
        from_allocator(layout).cast()
    }
}

/// Gives memory back.
///
/// # Safety
/// It was made by `allocate::<T>`, on whichever thread, and is not used any more.
#[inline(always)]
pub(super) unsafe fn free<T>(memory: NonNull<T>) {
    if const { fits(Layout::new::<T>()) } {
        // SAFETY: a piece that is not used any more.
        let kept = SPARES.try_with(|spares| unsafe { spares.keep(memory.cast()) });
        if kept != Ok(true) {
            // SAFETY: a piece came from the allocator with this layout.
            unsafe { to_allocator(memory.cast(), PIECE) };
        }
    } else {
        // SAFETY: it came from the allocator with this layout.
        unsafe { to_allocator(memory.cast(), Layout::new::<T>()) };
    }
}

#[cold]
fn from_allocator(layout: Layout) -> NonNull<u8> {
    // SAFETY: not of size zero, by the promise of `allocate`.
    let memory = unsafe { alloc(layout) };
    NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout))
}

/// # Safety
/// As for `dealloc`.
#[cold]
unsafe fn to_allocator(memory: NonNull<u8>, layout: Layout) {
    // SAFETY: by the caller's promise.
    unsafe { dealloc(memory.as_ptr(), layout) };
}

impl Spares {
    #[inline(always)]
    fn take(&self) -> Option<NonNull<Spare>> {
        match NonNull::new(self.last.replace(ptr::null_mut())) {
            None => self.take_more(),
            last => last,
        }
    }

    fn take_more(&self) -> Option<NonNull<Spare>> {
        let first = NonNull::new(self.more.get())?;
        // SAFETY: kept pieces are ours, and those in the list hold a `Spare`.
        self.more.set(unsafe { first.as_ref().next });
        self.count.set(self.count.get() - 1);
        Some(first)
    }

    /// Keeps a piece, or returns `false` if there are enough.
    ///
    /// # Safety
    /// It is a piece, and the caller's until it is kept.
    #[inline(always)]
    unsafe fn keep(&self, piece: NonNull<Spare>) -> bool {
        if self.last.get().is_null() {
            self.last.set(piece.as_ptr());
            return true;
        }
        // SAFETY: by the caller's promise.
        unsafe { self.keep_more(piece) }
    }

    /// # Safety
    /// As for `keep`.
    unsafe fn keep_more(&self, piece: NonNull<Spare>) -> bool {
        let count = self.count.get();
        if count + 1 >= MOST {
            return false;
        }
        let next = self.more.get();
        // SAFETY: ours, large enough, and aligned.
        unsafe { piece.write(Spare { next }) };
        self.more.set(piece.as_ptr());
        self.count.set(count + 1);
        true
    }
}

impl Drop for Spares {
    fn drop(&mut self) {
        while let Some(piece) = self.take() {
            // SAFETY: a piece that is not in use, from the allocator with this layout.
            unsafe { to_allocator(piece.cast(), PIECE) };
        }
    }
}
