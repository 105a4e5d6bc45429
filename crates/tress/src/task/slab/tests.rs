//! The life of pages: one owner, and the frees of others, for real. Under Miri and ThreadSanitizer
//! this is what checks the plain fields that `model.rs` cannot see.

use super::*;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};
use std::thread;

const KEEP: Keep = Keep {
    retain: |slab| count(slab, 1),
    release: |slab| count(slab, -1),
};

/// A slab that counts its pages.
#[repr(C)]
struct Barn {
    // First, so that a pointer to one is a pointer to the other.
    slab: Slab,
    pages: AtomicIsize,
}

// SAFETY: the tests call the owner's functions on one thread at a time.
unsafe impl Send for Barn {}
// SAFETY: as above.
unsafe impl Sync for Barn {}

fn count(slab: NonNull<Slab>, change: isize) {
    // SAFETY: every slab here is the first field of a `Barn`, which outlives its pages.
    let pages = unsafe { &(*slab.cast::<Barn>().as_ptr()).pages };
    pages.fetch_add(change, SeqCst);
}

/// A slot in use: its first word is a live state, the rest is filled with a pattern.
struct Slot {
    at: NonNull<u8>,
    size: usize,
    pattern: u8,
}

// SAFETY: a slot may be freed on any thread.
unsafe impl Send for Slot {}

impl Slot {
    fn state(&self) -> &AtomicU64 {
        // SAFETY: the slot is ours, aligned, and its first word is an atomic.
        unsafe { self.at.cast().as_ref() }
    }

    /// What lies behind the state.
    fn payload(&self) -> (NonNull<u8>, usize) {
        let state = size_of::<u64>();
        // SAFETY: inside the slot, which is ours.
        (unsafe { self.at.add(state) }, self.size - state)
    }

    fn fill(&self) {
        // One reference: alive, for those who walk.
        self.state().store(1 << 40, Ordering::Release);
        let (at, len) = self.payload();
        // SAFETY: the slot is ours, and nobody else looks behind its state.
        unsafe { at.write_bytes(self.pattern, len) };
    }

    /// Gives the reference up, and the slot with it unless a walker has one too.
    fn release(self, here: Option<NonNull<Slab>>) {
        let (at, len) = self.payload();
        // SAFETY: as above; `fill` has initialised it.
        let bytes = unsafe { std::slice::from_raw_parts(at.as_ptr(), len) };
        let intact = [self.pattern; SIZES[SIZES.len() - 1] as usize];
        assert_eq!(bytes, &intact[..len], "overwritten");
        release(self.at.cast(), here);
    }
}

/// Gives up a reference to a live slot, as the last holder of a task's cell does.
fn release(task: NonNull<Header>, here: Option<NonNull<Slab>>) {
    // SAFETY: alive by the caller's reference; the last one frees. It came from a slab with this
    // `Keep`.
    unsafe {
        if Header::state_of(task).ref_dec() {
            Slab::free(task.cast(), here, &KEEP);
        }
    }
}

impl Barn {
    fn new() -> Arc<Barn> {
        Arc::new(Barn {
            slab: Slab::new(),
            pages: AtomicIsize::new(0),
        })
    }

    fn slab(self: &Arc<Self>) -> NonNull<Slab> {
        // From the pointer to the whole: the counter behind the slab is reached through it too.
        NonNull::new(Arc::as_ptr(self).cast_mut()).unwrap().cast()
    }

    fn alloc(self: &Arc<Self>, class: Class, pattern: u8) -> Slot {
        // SAFETY: the test's thread is the owner.
        let at = unsafe { Slab::alloc(self.slab(), class, &KEEP) };
        let size = usize::from(SIZES[usize::from(class.0)]);
        let slot = Slot { at, size, pattern };
        assert_eq!(
            slot.state().load(Ordering::Relaxed) >> 40,
            0,
            "handed out while in use"
        );
        slot.fill();
        slot
    }

    fn free(self: &Arc<Self>, slot: Slot) {
        slot.release(Some(self.slab()));
    }

    fn tidy(&self) {
        // SAFETY: the caller is the owner.
        unsafe { self.slab.tidy(&KEEP) };
    }

    fn retire(&self) {
        // SAFETY: the caller is the owner, and is so no longer.
        unsafe { self.slab.retire(&KEEP) };
    }

    fn pages(&self) -> usize {
        self.pages.load(SeqCst).try_into().unwrap()
    }

    /// The live slots, as a walk over the tasks sees them.
    fn live(&self) -> HashSet<usize> {
        let mut seen = HashSet::new();
        self.slab.for_each(|task| {
            assert!(seen.insert(task.as_ptr().addr()), "seen twice");
            // SAFETY: `for_each` raised the count for us, so the slot is alive.
            let last = unsafe { Header::state_of(task) }.ref_dec();
            assert!(!last, "nobody else is here to free it");
        });
        seen
    }
}

fn free_elsewhere(slot: Slot) {
    slot.release(None);
}

fn capacity(class: Class) -> usize {
    (PAGE_SIZE - FIRST_SLOT) / usize::from(SIZES[usize::from(class.0)])
}

const LARGEST: Class = Class(SIZES.len() as u8 - 1);
const SMALLEST: Class = Class(0);

#[test]
fn classes_fit() {
    if cfg!(tress_no_slab) {
        return;
    }
    for size in (1..=2048).step_by(7) {
        let class = Class::of(Layout::from_size_align(size, 8).unwrap()).unwrap();
        let slot = usize::from(SIZES[usize::from(class.0)]);
        assert!(slot >= size);
        assert_eq!(slot % 32, 0, "slots keep the alignment that is promised");
    }
    assert_eq!(Class::of(Layout::from_size_align(2049, 8).unwrap()), None);
    assert_eq!(Class::of(Layout::from_size_align(64, 64).unwrap()), None);
}

#[test]
fn slots_are_distinct_aligned_and_inside_their_page() {
    let barn = Barn::new();
    for class in [SMALLEST, Class(7), LARGEST] {
        let n = 2 * capacity(class) + 1;
        let slots: Vec<Slot> = (0..n).map(|i| barn.alloc(class, i as u8)).collect();
        let size = usize::from(SIZES[usize::from(class.0)]);
        let mut starts: Vec<usize> = slots.iter().map(|slot| slot.at.as_ptr().addr()).collect();
        starts.sort_unstable();
        for pair in starts.windows(2) {
            assert!(pair[1] - pair[0] >= size, "overlap");
        }
        for start in &starts {
            assert_eq!(start % 32, 0);
            assert_eq!(start / PAGE_SIZE, (start + size - 1) / PAGE_SIZE);
        }
        slots.into_iter().for_each(|slot| barn.free(slot));
    }
    barn.retire();
    assert_eq!(barn.pages(), 0);
}

#[test]
fn a_freed_slot_is_the_next_one() {
    let barn = Barn::new();
    let first = barn.alloc(SMALLEST, 1);
    let at = first.at;
    barn.free(first);
    let second = barn.alloc(SMALLEST, 2);
    assert_eq!(second.at, at);
    assert_eq!(barn.pages(), 1);
    barn.free(second);
    barn.retire();
    assert_eq!(barn.pages(), 0);
}

#[test]
fn remote_frees_are_reused_before_a_new_page_is_made() {
    let barn = Barn::new();
    let n = capacity(LARGEST);
    for round in 0..3 {
        let slots: Vec<Slot> = (0..n).map(|_| barn.alloc(LARGEST, round)).collect();
        slots.into_iter().for_each(free_elsewhere);
    }
    assert_eq!(barn.pages(), 1);
    barn.retire();
    assert_eq!(barn.pages(), 0);
}

/// Full pages are in no list; a free brings them back, whoever does it.
#[test]
fn a_full_page_comes_back() {
    let barn = Barn::new();
    let n = capacity(LARGEST);
    let mut slots: Vec<Slot> = (0..3 * n).map(|_| barn.alloc(LARGEST, 3)).collect();
    assert_eq!(barn.pages(), 3);
    let last = slots.pop().unwrap();
    free_elsewhere(slots.remove(0));
    barn.free(slots.remove(n));
    barn.free(last);
    for _ in 0..3 {
        slots.push(barn.alloc(LARGEST, 4));
    }
    assert_eq!(barn.pages(), 3, "a free slot was forgotten");
    slots.push(barn.alloc(LARGEST, 5));
    assert_eq!(barn.pages(), 4);
    slots.into_iter().for_each(|slot| barn.free(slot));
    barn.retire();
    assert_eq!(barn.pages(), 0);
}

#[test]
fn empty_pages_are_given_back_but_for_a_few() {
    let barn = Barn::new();
    let n = capacity(LARGEST);
    let slots: Vec<Slot> = (0..n * (KEEP_EMPTY + 20))
        .map(|_| barn.alloc(LARGEST, 6))
        .collect();
    assert_eq!(barn.pages(), KEEP_EMPTY + 20);
    for (i, slot) in slots.into_iter().enumerate() {
        match i % 3 {
            0 => free_elsewhere(slot),
            _ => barn.free(slot),
        }
    }
    for _ in 0..20 {
        barn.tidy();
    }
    assert_eq!(barn.pages(), KEEP_EMPTY);
    barn.retire();
    assert_eq!(barn.pages(), 0);
}

#[test]
fn an_orphaned_page_goes_with_its_last_cell() {
    let barn = Barn::new();
    let n = capacity(LARGEST);
    let mut slots: Vec<Slot> = (0..n + 1).map(|_| barn.alloc(LARGEST, 7)).collect();
    free_elsewhere(slots.pop().unwrap());
    free_elsewhere(slots.pop().unwrap());
    barn.retire();
    assert_eq!(barn.pages(), 1, "the empty one is gone");
    let last = slots.pop().unwrap();
    slots.into_iter().for_each(free_elsewhere);
    assert_eq!(barn.pages(), 1);
    assert_eq!(barn.live().len(), 1);
    free_elsewhere(last);
    assert_eq!(barn.pages(), 0);
}

#[test]
fn the_walk_sees_the_live_slots_and_no_others() {
    let barn = Barn::new();
    let mut expected = HashSet::new();
    let mut slots = Vec::new();
    for i in 0..100 {
        let class = Class(i % SIZES.len() as u8);
        let slot = barn.alloc(class, i);
        if i % 3 == 0 {
            barn.free(slot);
        } else if i % 3 == 1 {
            free_elsewhere(slot);
        } else {
            expected.insert(slot.at.as_ptr().addr());
            slots.push(slot);
        }
    }
    assert_eq!(barn.live(), expected);
    slots.into_iter().for_each(|slot| barn.free(slot));
    assert_eq!(barn.live(), HashSet::new());
    barn.retire();
}

/// An owner that allocates, frees, tidies and retires, and threads that free and walk meanwhile.
#[test]
fn owner_against_everybody() {
    let rounds = if cfg!(miri) { 3 } else { 40 };
    let slots_per_round = if cfg!(miri) { 100 } else { 3000 };
    for round in 0..rounds {
        let barn = Barn::new();
        let begin = Arc::new(Barrier::new(4));
        let done = Arc::new(AtomicBool::new(false));
        let freeing: Vec<(Sender<Slot>, thread::JoinHandle<()>)> = (0..2)
            .map(|_| {
                let (give, take): (Sender<Slot>, Receiver<Slot>) = channel();
                let begin = begin.clone();
                let thread = thread::spawn(move || {
                    begin.wait();
                    take.into_iter().for_each(free_elsewhere);
                });
                (give, thread)
            })
            .collect();
        let walker = {
            let (barn, begin, done) = (barn.clone(), begin.clone(), done.clone());
            thread::spawn(move || {
                begin.wait();
                while !done.load(SeqCst) {
                    let mut tasks = Vec::new();
                    barn.slab.for_each(|task| tasks.push(task));
                    // The walker's references may be the last to go.
                    tasks.into_iter().for_each(|task| release(task, None));
                }
            })
        };
        begin.wait();
        let mut random = 0x9E37_79B9_7F4A_7C15u64 + round;
        let mut kept = Vec::new();
        for i in 0..slots_per_round {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let class = Class((random >> 20) as u8 % SIZES.len() as u8);
            let slot = barn.alloc(class, i as u8);
            match (random >> 40) % 8 {
                0..=2 => freeing[0].0.send(slot).unwrap(),
                3..=4 => freeing[1].0.send(slot).unwrap(),
                5 => barn.free(slot),
                _ => kept.push(slot),
            }
            if random >> 60 == 0 {
                barn.tidy();
            }
            if kept.len() > 200 {
                for slot in kept.drain(..100) {
                    barn.free(slot);
                }
            }
        }
        for slot in kept.drain(..) {
            freeing[0].0.send(slot).unwrap();
        }
        // Under way while the pages become orphans.
        barn.retire();
        for (give, thread) in freeing {
            drop(give);
            thread.join().unwrap();
        }
        done.store(true, SeqCst);
        walker.join().unwrap();
        assert_eq!(barn.pages(), 0, "pages not released, or released twice");
    }
}
