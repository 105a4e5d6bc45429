//! Frees from other threads against everything the owner does, in every order (`ci/loom`).
//!
//! A page holds one cell of the largest class here, or two of the next but one, so that every
//! allocation and every free meets an edge: a full page, an empty page, a page on the reclaim stack.
//!
//! Loom sees the atomic words, not the owner's plain cells nor the links inside free slots. Each slot
//! therefore has a loom cell beside it, entered by whoever uses the slot: if a slot is handed out
//! before its last user is seen to have left it, loom reports the two. The plain fields are left to
//! Miri and ThreadSanitizer on `tests.rs`. `for_each` needs state words in zeroed memory, which loom's
//! atomics are not; `task/model.rs` has the walk over live tasks.

use super::*;
use crate::task::model::explore;
use loom::thread;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering::SeqCst};

/// One cell to a page.
const WHOLE: Class = Class(21);
/// Two cells to a page.
const HALF: Class = Class(19);

const KEEP: Keep = Keep {
    retain: |slab| count(slab, 1),
    release: |slab| count(slab, -1),
};

/// A slab, and what is known about it.
#[repr(C)]
struct Barn {
    // First, so that a pointer to one is a pointer to the other.
    slab: Slab,
    pages: AtomicIsize,
    /// A cell for each slot ever handed out, by its address. Not loom's lock: no thread waits for it.
    users: std::sync::Mutex<HashMap<usize, Arc<loom::cell::UnsafeCell<()>>>>,
}

// SAFETY: the models call the owner's functions on one thread only.
unsafe impl Send for Barn {}
// SAFETY: as above.
unsafe impl Sync for Barn {}

fn count(slab: NonNull<Slab>, change: isize) {
    // SAFETY: every slab here is the first field of a `Barn`, which outlives its pages.
    unsafe { slab.cast::<Barn>().as_ref() }
        .pages
        .fetch_add(change, SeqCst);
}

/// A slot in use.
struct Slot(NonNull<u8>);

// SAFETY: a slot may be freed on any thread.
unsafe impl Send for Slot {}

impl Barn {
    fn new() -> Arc<Barn> {
        assert_eq!((PAGE_SIZE - FIRST_SLOT) / usize::from(SIZES[21]), 1);
        assert_eq!((PAGE_SIZE - FIRST_SLOT) / usize::from(SIZES[19]), 2);
        Arc::new(Barn {
            slab: Slab::new(),
            pages: AtomicIsize::new(0),
            users: std::sync::Mutex::default(),
        })
    }

    fn slab(&self) -> NonNull<Slab> {
        NonNull::from(self).cast()
    }

    /// Whoever has the slot is alone in it, after its last user.
    fn enter(&self, slot: NonNull<u8>) {
        let cell = {
            let mut users = self.users.lock().unwrap();
            let cell = users.entry(slot.as_ptr().addr());
            cell.or_insert_with(|| Arc::new(loom::cell::UnsafeCell::new(())))
                .clone()
        };
        cell.with_mut(|_| ());
    }

    /// The owner allocates.
    fn alloc(&self, class: Class) -> Slot {
        // SAFETY: the model's main thread is the owner.
        let slot = unsafe { Slab::alloc(self.slab(), class, &KEEP) };
        self.enter(slot);
        Slot(slot)
    }

    /// The owner frees.
    fn free(&self, slot: Slot) {
        self.enter(slot.0);
        // SAFETY: the slot came from `alloc` and is given up; the caller is the owner.
        unsafe { Slab::free(slot.0, Some(self.slab()), &KEEP) };
    }

    /// Somebody else frees.
    fn free_elsewhere(&self, slot: Slot) {
        self.enter(slot.0);
        // SAFETY: the slot came from `alloc` and is given up.
        unsafe { Slab::free(slot.0, None, &KEEP) };
    }

    fn tidy(&self) {
        // SAFETY: the caller is the owner.
        unsafe { self.slab.tidy(&KEEP) };
    }

    fn retire(&self) {
        // SAFETY: the caller is the owner, and is so no longer.
        unsafe { self.slab.retire(&KEEP) };
    }

    fn pages(&self) -> isize {
        self.pages.load(SeqCst)
    }

    /// Every page has been given back, once.
    fn finish(&self) {
        assert_eq!(self.pages(), 0, "pages not released, or released twice");
    }
}

fn free_on_a_thread(barn: &Arc<Barn>, slot: Slot) -> thread::JoinHandle<()> {
    let barn = barn.clone();
    thread::spawn(move || barn.free_elsewhere(slot))
}

/// The page is found full and tagged, or the free comes first and is collected.
#[test]
fn remote_free_vs_full_tag() {
    explore(5, || {
        let barn = Barn::new();
        let first = barn.alloc(WHOLE);
        let thread = free_on_a_thread(&barn, first);
        let second = barn.alloc(WHOLE);
        thread.join().unwrap();
        // Whichever way it went, one slot is free by now.
        let third = barn.alloc(WHOLE);
        assert!(barn.pages() <= 2, "a freed slot was forgotten");
        barn.free(second);
        barn.free(third);
        barn.retire();
        barn.finish();
    });
}

/// Two pages come back over the reclaim stack while the owner empties it.
#[test]
fn two_remote_frees_of_full_pages_vs_reclaim() {
    explore(4, || {
        let barn = Barn::new();
        let (first, second, third) = (barn.alloc(WHOLE), barn.alloc(WHOLE), barn.alloc(WHOLE));
        let threads = [
            free_on_a_thread(&barn, first),
            free_on_a_thread(&barn, second),
        ];
        let fourth = barn.alloc(WHOLE);
        for thread in threads {
            thread.join().unwrap();
        }
        let fifth = barn.alloc(WHOLE);
        assert!(barn.pages() <= 4);
        for slot in [third, fourth, fifth] {
            barn.free(slot);
        }
        barn.retire();
        barn.finish();
    });
}

/// Two frees of one page, which has lost a third cell to the owner's own list.
#[test]
fn two_remote_frees_vs_collect() {
    explore(4, || {
        let barn = Barn::new();
        let (first, second) = (barn.alloc(HALF), barn.alloc(HALF));
        let threads = [
            free_on_a_thread(&barn, first),
            free_on_a_thread(&barn, second),
        ];
        let (third, fourth) = (barn.alloc(HALF), barn.alloc(HALF));
        for thread in threads {
            thread.join().unwrap();
        }
        let (fifth, sixth) = (barn.alloc(HALF), barn.alloc(HALF));
        assert!(barn.pages() <= 2, "a freed slot was forgotten");
        for slot in [third, fourth, fifth, sixth] {
            barn.free(slot);
        }
        barn.retire();
        barn.finish();
    });
}

/// A full page gets a cell back from its owner and one from elsewhere: it is listed again, once.
#[test]
fn local_free_vs_remote_free_of_a_full_page() {
    explore(5, || {
        let barn = Barn::new();
        let (first, second) = (barn.alloc(HALF), barn.alloc(HALF));
        let third = barn.alloc(HALF);
        let thread = free_on_a_thread(&barn, first);
        barn.free(second);
        let fourth = barn.alloc(HALF);
        thread.join().unwrap();
        barn.tidy();
        let (fifth, sixth) = (barn.alloc(HALF), barn.alloc(HALF));
        assert!(barn.pages() <= 3);
        for slot in [third, fourth, fifth, sixth] {
            barn.free(slot);
        }
        barn.retire();
        barn.finish();
    });
}

#[test]
fn retire_vs_remote_free() {
    explore(5, || {
        let barn = Barn::new();
        let slot = barn.alloc(WHOLE);
        let thread = free_on_a_thread(&barn, slot);
        barn.retire();
        thread.join().unwrap();
        barn.finish();
    });
}

/// The freeing thread has taken the FULL tag off and has yet to push the page: the owner must not
/// let go of it, nor of itself, before that.
#[test]
fn retire_vs_remote_free_of_a_full_page() {
    explore(5, || {
        let barn = Barn::new();
        let (full, listed) = (barn.alloc(WHOLE), barn.alloc(WHOLE));
        let thread = free_on_a_thread(&barn, full);
        barn.retire();
        thread.join().unwrap();
        assert_eq!(barn.pages(), 1, "the page in use stays");
        barn.free_elsewhere(listed);
        barn.finish();
    });
}

/// The last cells of orphaned pages are freed while the pages become orphans.
#[test]
fn retire_vs_two_remote_frees() {
    explore(4, || {
        let barn = Barn::new();
        let (first, second) = (barn.alloc(HALF), barn.alloc(HALF));
        let third = barn.alloc(HALF);
        let threads = [
            free_on_a_thread(&barn, first),
            free_on_a_thread(&barn, third),
        ];
        barn.retire();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(barn.pages(), 1);
        barn.free_elsewhere(second);
        barn.finish();
    });
}

/// Two pages of a retiring owner are pushed for reclaim: listing one touches the other.
#[test]
fn retire_vs_two_remote_frees_of_full_pages() {
    explore(3, || {
        let barn = Barn::new();
        let (first, second, third) = (barn.alloc(WHOLE), barn.alloc(WHOLE), barn.alloc(WHOLE));
        let threads = [
            free_on_a_thread(&barn, first),
            free_on_a_thread(&barn, second),
        ];
        barn.retire();
        for thread in threads {
            thread.join().unwrap();
        }
        barn.free_elsewhere(third);
        barn.finish();
    });
}

/// Two threads give up the last two cells of an orphan: one of them releases it.
#[test]
fn two_last_frees_of_an_orphan() {
    explore(5, || {
        let barn = Barn::new();
        let (first, second) = (barn.alloc(HALF), barn.alloc(HALF));
        barn.retire();
        assert_eq!(barn.pages(), 1);
        let threads = [
            free_on_a_thread(&barn, first),
            free_on_a_thread(&barn, second),
        ];
        for thread in threads {
            thread.join().unwrap();
        }
        barn.finish();
    });
}

/// With more pages than an owner keeps, an empty one is released: not before its last remote free
/// has been collected.
#[test]
fn release_of_an_empty_page_vs_remote_free() {
    explore(3, || {
        let barn = Barn::new();
        let mut slots: Vec<Slot> = (0..=KEEP_EMPTY).map(|_| barn.alloc(WHOLE)).collect();
        assert_eq!(barn.pages(), KEEP_EMPTY as isize + 1);
        // One of a full page, and that of the page that is still listed.
        let threads = [
            free_on_a_thread(&barn, slots.remove(0)),
            free_on_a_thread(&barn, slots.pop().unwrap()),
        ];
        barn.tidy();
        barn.free(slots.pop().unwrap());
        barn.tidy();
        for thread in threads {
            thread.join().unwrap();
        }
        barn.tidy();
        assert_eq!(barn.pages(), KEEP_EMPTY as isize, "what is too much goes");
        slots.into_iter().for_each(|slot| barn.free(slot));
        barn.retire();
        barn.finish();
    });
}
