//! The memory of the registrations' slots.
//!
//! Slots live in pages that double in size and never move, so an event finds its slot without a lock. A slot is
//! initialised when it is first used, so a page costs memory only as far as it is used. Slots that are given
//! back are used again, last in first out; pages are freed with the driver.

use crate::slot::Slot;
use crate::sys::Mutex;
use crate::sys::atomic::{AtomicU32, Ordering};
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::OnceLock;

/// Number of slots in the first page, as a power of two.
const FIRST_BITS: u32 = 6;
/// Number of bits of a key that hold the slot's index; the others hold its generation.
const INDEX_BITS: u32 = if usize::BITS >= 64 { 31 } else { 20 };
const PAGES: usize = (INDEX_BITS - FIRST_BITS) as usize;
/// Maximum number of slots in use at a time.
const LIMIT: u32 = ((1 << PAGES) - 1) << FIRST_BITS;

/// A slot in one of its generations, as a token of the selector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key(pub(crate) usize);

impl Key {
    fn new(index: u32, generation: u32) -> Key {
        // The bits that do not fit are shifted out; `is_generation` compares those that do. The
        // highest is never set: those keys are the driver's own tokens.
        Key((generation as usize) << INDEX_BITS & (usize::MAX >> 1) | index as usize)
    }

    fn index(self) -> u32 {
        (self.0 & ((1 << INDEX_BITS) - 1)) as u32
    }

    fn is_generation(self, generation: u32) -> bool {
        self == Key::new(self.index(), generation)
    }
}

pub(crate) struct Slots {
    pages: [OnceLock<Page>; PAGES],
    /// Slots below this index are initialised.
    watermark: AtomicU32,
    free: Mutex<Free>,
}

/// The first of a page's slots, of which those below the watermark are initialised.
struct Page(NonNull<MaybeUninit<Slot>>);

// SAFETY: a slot is written by one thread, which has the lock of the free list, before the watermark
// is raised above it with release ordering; it is read only below the watermark. Slots are `Sync`.
unsafe impl Sync for Page {}
// SAFETY: the page owns slots, which are `Send`.
unsafe impl Send for Page {}

impl Page {
    const fn slots(page: usize) -> usize {
        1 << (page as u32 + FIRST_BITS)
    }

    fn new(page: usize) -> Page {
        let slots: Box<[MaybeUninit<Slot>]> = Box::new_uninit_slice(Page::slots(page));
        let first = Box::into_raw(slots).cast::<MaybeUninit<Slot>>();
        Page(NonNull::new(first).expect("a box is not null"))
    }
}

struct Free {
    indices: Vec<u32>,
    closed: bool,
}

/// Why `take` has no slot.
#[derive(Debug)]
pub(crate) enum Refused {
    Closed,
    Full,
}

impl Slots {
    pub(crate) fn new() -> Slots {
        Slots {
            pages: [const { OnceLock::new() }; PAGES],
            watermark: AtomicU32::new(0),
            free: Mutex::new(Free {
                indices: Vec::new(),
                closed: false,
            }),
        }
    }

    fn place(index: u32) -> (usize, usize) {
        let shifted = u64::from(index) + (1 << FIRST_BITS);
        let page = shifted.ilog2() - FIRST_BITS;
        (
            page as usize,
            (shifted - (1 << (page + FIRST_BITS))) as usize,
        )
    }

    fn get(&self, index: u32) -> Option<&Slot> {
        if index >= self.watermark.load(Ordering::Acquire) {
            return None;
        }
        let (page, at) = Slots::place(index);
        let first = self.pages[page].get()?.0;
        // SAFETY: the slot lies in the page; it is below the watermark, so written, and not written
        // again before the slab is dropped.
        Some(unsafe { first.add(at).as_ref().assume_init_ref() })
    }

    /// Takes a slot for a new source.
    pub(crate) fn take(&self) -> Result<(Key, NonNull<Slot>), Refused> {
        let mut free = self.free.lock();
        if free.closed {
            return Err(Refused::Closed);
        }
        let index = match free.indices.pop() {
            Some(index) => index,
            None => self.grow()?,
        };
        let slot = self
            .get(index)
            .expect("slots of the free list are initialised");
        Ok((Key::new(index, slot.generation()), NonNull::from(slot)))
    }

    /// Initialises the slot at the watermark; the lock of the free list is held.
    fn grow(&self) -> Result<u32, Refused> {
        let index = self.watermark.load(Ordering::Relaxed);
        if index >= LIMIT {
            return Err(Refused::Full);
        }
        let (page, at) = Slots::place(index);
        let first = self.pages[page].get_or_init(|| Page::new(page)).0;
        // SAFETY: the slot lies in the page and at the watermark: no thread reads it yet, and no other thread
        // writes one, since we have the lock.
        unsafe { first.add(at).as_mut().write(Slot::new()) };
        self.watermark.store(index + 1, Ordering::Release);
        Ok(index)
    }

    /// Gives a slot back. The key's owner calls this once.
    pub(crate) fn give_back(&self, key: Key) {
        let slot = self.get(key.index()).expect("the slot was taken");
        slot.retire();
        self.free.lock().indices.push(key.index());
    }

    /// The slot for which an event is meant, if it is not for an earlier generation.
    pub(crate) fn find(&self, key: Key) -> Option<(&Slot, impl Fn(u32) -> bool)> {
        self.get(key.index())
            .map(|slot| (slot, move |generation| key.is_generation(generation)))
    }

    /// Refuses new sources from now on. Returns all slots that are, or were once, in use.
    pub(crate) fn close(&self) -> impl Iterator<Item = &Slot> {
        self.free.lock().closed = true;
        let used = self.watermark.load(Ordering::Acquire);
        (0..used).filter_map(|index| self.get(index))
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.free.lock().closed
    }
}

/// Gives a slot back when it is dropped: a guard for the time in which foreign code runs.
pub(crate) struct Place<'a>(pub(crate) &'a Slots, pub(crate) Key);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.give_back(self.1);
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        let mut used = self.watermark.load(Ordering::Relaxed) as usize;
        for (page, cell) in self.pages.iter_mut().enumerate() {
            let Some(Page(first)) = cell.take() else {
                break;
            };
            let slots = Page::slots(page);
            let slice = std::ptr::slice_from_raw_parts_mut(first.as_ptr(), slots);
            // SAFETY: made by `Page::new` with this length, and given up here.
            let mut slots_of_page = unsafe { Box::from_raw(slice) };
            for slot in slots_of_page.iter_mut().take(used) {
                // SAFETY: below the watermark, so written; dropped once.
                unsafe { slot.assume_init_drop() };
            }
            used = used.saturating_sub(slots);
        }
    }
}

impl fmt::Debug for Slots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slots")
            .field("used", &self.watermark.load(Ordering::Relaxed))
            .finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
