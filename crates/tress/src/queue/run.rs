//! Memory for several blocks at once, for queues that have grown long.
//!
//! A long queue that is filled block by block spends most of its time on getting memory: small pieces at
//! the end of the heap go back to the system as soon as they are free, and come back one page fault at a
//! time. So a long queue asks for twice as many blocks as it has, up to a [bound](RUN_BYTES). The last
//! run is then most of the queue's memory, and allocators keep as much as they saw in one piece: glibc
//! keeps twice the largest piece that it got back. Blocks that are never used cost addresses and no memory.
//!
//! The blocks of a run are used one after the other. The first one that has not been used stands for those
//! behind it: its owner owns them all, so they pass from thread to thread as one (see `Spare`). Used
//! blocks come back one by one, from any thread, and are counted: the run is freed with the last.
//!
//! No block of a run is used twice, and a receiver that has caught up makes the queue leave it (see
//! `Chain::leave`): an idle queue keeps no run.

use super::block::{Block, SLOTS};
use crate::sys::atomic::{AtomicU32, Ordering};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// The maximum size of a run: what a queue that is not empty may keep beyond its need.
const RUN_BYTES: usize = 1024 * 1024;

/// The number of blocks in a queue from which on it gets runs. A queue for a thousand messages never does.
// D-SYNC-04
const LONG: u64 = if cfg!(loom) {
    2
} else if cfg!(miri) {
    4
} else {
    64
};

/// The header at the start of a run.
struct Header {
    /// The number of blocks that have not come back.
    out: AtomicU32,
    /// The number of blocks in the run.
    blocks: u32,
}

/// Returns how many blocks a queue with this number of messages asks for.
pub(super) fn blocks_for<T>(messages: u64) -> usize {
    let present = messages / SLOTS as u64;
    let most = if cfg!(loom) {
        2
    } else {
        (RUN_BYTES / size_of::<Block<T>>()).min(usize::from(u16::MAX))
    };
    if present < LONG || most < 2 {
        1
    } else {
        usize::try_from(2 * present).map_or(most, |wanted| wanted.min(most))
    }
}

/// Allocates a run of at least two blocks. Returns the first one, which stands for all.
pub(super) fn allocate<T>(blocks: usize) -> NonNull<Block<T>> {
    let layout = layout::<T>(blocks);
    let behind = u16::try_from(blocks - 1).expect("a run is short");
    // SAFETY: it has a size, that of the header at least.
    let Some(start) = NonNull::new(unsafe { alloc(layout) }) else {
        handle_alloc_error(layout);
    };
    // SAFETY: fresh memory of the right layout, of which the header and the first block are initialised.
    unsafe {
        start.cast::<Header>().write(Header {
            out: AtomicU32::new(u32::from(behind) + 1),
            blocks: u32::from(behind) + 1,
        });
        let first = start.byte_add(first::<T>()).cast::<Block<T>>();
        Block::initialise(first, 1, behind);
        first
    }
}

/// Separates a block from those behind it, and returns the first of these. Returns `None` if there are none.
///
/// # Safety
/// The block belongs to the caller, and is not in use.
pub(super) unsafe fn split<T>(block: NonNull<Block<T>>) -> Option<NonNull<Block<T>>> {
    // SAFETY: the caller's, and so is the memory of the same run behind it.
    unsafe {
        let (place, behind) = Block::part_from_rest(block);
        if behind == 0 {
            return None;
        }
        let next = block.add(1);
        Block::initialise(next, place + 1, behind - 1);
        Some(next)
    }
}

/// Undoes `split`. Returns `rest` as an error if it is not what was behind the block.
///
/// # Safety
/// Both belong to the caller, and are not in use; nothing is behind `block`, which is one of a run.
pub(super) unsafe fn join<T>(
    block: NonNull<Block<T>>,
    rest: NonNull<Block<T>>,
) -> Result<(), NonNull<Block<T>>> {
    // SAFETY: by the caller's promise. A block by itself may lie behind a run, but has no place; so the
    // two are of the same run.
    unsafe {
        let place = block.as_ref().place();
        if rest != block.add(1) || rest.as_ref().place() != place + 1 {
            return Err(rest);
        }
        let (_, behind) = Block::part_from_rest(rest);
        rest.drop_in_place();
        Block::initialise(block, place, behind + 1);
    }
    Ok(())
}

/// Gives a block of a run back, with those behind it.
///
/// # Safety
/// It is the one at `place`, counted from one. It was initialised, the `behind` ones behind it were not,
/// and all of them belong to the caller.
pub(super) unsafe fn give_back<T>(block: NonNull<Block<T>>, place: u16, behind: u16) {
    let count = u32::from(behind) + 1;
    let offset = first::<T>() + (usize::from(place) - 1) * size_of::<Block<T>>();
    // SAFETY: by the caller's promise; the header is there until the last block is back. Acquire and
    // release: the last one comes after all accesses to the others.
    unsafe {
        block.drop_in_place();
        let header = block.byte_sub(offset).cast::<Header>();
        if header.as_ref().out.fetch_sub(count, Ordering::AcqRel) == count {
            let layout = layout::<T>(header.as_ref().blocks as usize);
            header.drop_in_place();
            dealloc(header.cast().as_ptr(), layout);
        }
    }
}

/// The offset of the first block.
const fn first<T>() -> usize {
    size_of::<Header>().next_multiple_of(align_of::<Block<T>>())
}

fn layout<T>(blocks: usize) -> Layout {
    let blocks = Layout::array::<Block<T>>(blocks).expect("a run is short");
    let (whole, start) = Layout::new::<Header>()
        .extend(blocks)
        .expect("a run is short");
    debug_assert_eq!(start, first::<T>());
    whole
}

#[cfg(all(test, not(loom)))]
mod tests;
