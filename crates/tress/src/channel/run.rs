//! Memory for several blocks at once, for channels that have grown long.
//!
//! A long channel that is filled block by block spends more time on getting memory than on anything else:
//! small pieces at the end of the heap go back to the system as soon as they are free, and come back one
//! page fault at a time. So a channel that is long asks for twice as many blocks as it has, up to a
//! [bound](RUN_BYTES). The last run is then most of the channel's memory, and allocators keep as much as
//! they saw in one piece: glibc keeps twice the largest piece that it got back. What is asked for and not
//! used costs addresses and no memory.
//!
//! The blocks of a run are used one after the other. The first one that has not been used stands for those
//! behind it: whoever has it has them all, so they pass from hand to hand as one (see `Spare`). Used blocks
//! come back one by one, from whatever thread, and are counted: the run is freed with the last.
//!
//! Nothing of a run is used twice, and a receiver that has caught up makes the channel leave it (see
//! `Chain::leave`): an idle channel keeps no run.

use super::block::{Block, SLOTS};
use crate::sys::atomic::{AtomicU32, Ordering};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// The most for a run: what a channel that is not empty may keep beyond its need.
const RUN_BYTES: usize = 1024 * 1024;

/// Blocks in a channel, from which on it gets runs. A channel for a thousand messages never does.
const LONG: u64 = if cfg!(loom) {
    2
} else if cfg!(miri) {
    4
} else {
    64
};

/// At the start of a run.
struct Header {
    /// Blocks that have not come back.
    out: AtomicU32,
    blocks: u32,
}

/// How many blocks a channel with so many messages asks for.
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

/// A run of at least two blocks, by its first.
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

/// Takes a block from those behind it. `None` if there are none.
///
/// # Safety
/// The block is the caller's, and not in use.
pub(super) unsafe fn split<T>(block: NonNull<Block<T>>) -> Option<NonNull<Block<T>>> {
    // SAFETY: ours, and what is behind it is memory of the same run that nobody else has.
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

/// Undoes `split`. `Err` if `rest` is not what was behind the block.
///
/// # Safety
/// Both are the caller's, and not in use; nothing is behind `block`, which is one of a run.
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

/// A block of a run comes back, with those behind it.
///
/// # Safety
/// It is the one at `place`, counted from one. It was initialised, the `behind` ones behind it were not,
/// and all of them are the caller's.
pub(super) unsafe fn give_back<T>(block: NonNull<Block<T>>, place: u16, behind: u16) {
    let count = u32::from(behind) + 1;
    let offset = first::<T>() + (usize::from(place) - 1) * size_of::<Block<T>>();
    // SAFETY: by the caller's promise; the header is there until the last block is back. Acquire and
    // release: the last one comes after everything that was done with the others.
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

/// Where the first block is.
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
