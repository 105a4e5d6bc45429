//! Stacks: memory with a guard below it, from an arena, kept warm by each thread.
//!
//! The arena maps many stacks at once. Where the kernel has lightweight guards (`MADV_GUARD_INSTALL`,
//! Linux 6.13) they do not split the mapping: a hundred thousand stacks are a few thousand mappings,
//! and not twice as many as there are stacks, which `vm.max_map_count` would not allow. Elsewhere
//! `mprotect` makes the guards.
//!
//! A stack that is done goes to its thread's cache, which keeps the [`CACHED`] used last with their
//! memory. The one least recently used makes room: the arena takes it back and gives its memory to the
//! system, but keeps the address range, guard and all, for the next.

mod arena;
mod cache;

pub(super) use cache::{give, take};

use corosensei::stack::{self, StackPointer};
use std::ptr::{self, NonNull};

/// Stacks a thread keeps warm.
pub(super) const CACHED: usize = 64;

/// Bytes at the top of a stack that no frame uses: they are for whoever runs the coroutine. A switch
/// touches the two words below them, whose cache line they share.
// D-CORO-01
pub(super) const ROOM: usize = 112;

const _: () = assert!(ROOM % stack::STACK_ALIGNMENT == 0 && ROOM % 64 == 48);

/// A stack for one coroutine at a time.
#[derive(Debug)]
pub(super) struct Stack {
    /// The lowest address: that of the guard.
    bottom: StackPointer,
    /// One past the highest address.
    top: StackPointer,
}

impl Stack {
    /// The addresses whose use is an overflow.
    pub(super) fn guard(&self) -> std::ops::Range<usize> {
        self.bottom.get()..self.bottom.get() + arena::guard_size()
    }

    /// Bytes above the guard.
    pub(super) fn size(&self) -> usize {
        self.top.get() - self.guard().end
    }

    /// The [`ROOM`] at its top, where a `T` fits.
    pub(super) fn room<T>(&self) -> NonNull<T> {
        const { assert!(size_of::<T>() <= ROOM && align_of::<T>() <= stack::STACK_ALIGNMENT) };
        let room = ptr::with_exposed_provenance_mut(self.top.get() - ROOM);
        NonNull::new(room).expect("a stack is not at the bottom of memory")
    }
}

// SAFETY: the arena puts a guard at the bottom, and `rounded` sees to it that between that and the room at
// the top there is no less than the minimum. The ends are on page boundaries, the room keeps the alignment.
unsafe impl stack::Stack for Stack {
    #[inline]
    fn base(&self) -> StackPointer {
        // SAFETY: more than the room lies below the top.
        unsafe { StackPointer::new_unchecked(self.top.get() - ROOM) }
    }

    #[inline]
    fn limit(&self) -> StackPointer {
        self.bottom
    }
}

/// The size that a request for `size` bytes gives: whole pages, and enough for the switch itself and the
/// room at the top.
fn rounded(size: usize) -> usize {
    size.clamp(stack::MIN_STACK_SIZE + ROOM, isize::MAX as usize / 4)
        .next_multiple_of(arena::page_size())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_whole_pages_and_never_too_small() {
        let page = arena::page_size();
        let least = (stack::MIN_STACK_SIZE + ROOM).next_multiple_of(page);
        for (asked, given) in [
            (0, least),
            (1, least),
            (5 * page, 5 * page),
            (5 * page + 1, 6 * page),
        ] {
            let stack = take(asked).unwrap();
            assert_eq!(stack.size(), given);
            give(stack);
        }
    }

    #[test]
    fn a_thread_reuses_the_stack_it_used_last_and_keeps_so_many() {
        std::thread::spawn(|| {
            let size = 7 * arena::page_size();
            let stacks: Vec<_> = (0..CACHED + 3).map(|_| take(size).unwrap()).collect();
            let last = stacks.last().unwrap().top;
            stacks.into_iter().for_each(give);
            assert_eq!(cache::len(), CACHED);
            let again = take(size).unwrap();
            assert_eq!(again.top, last);
            // Of another size there is none.
            let other = take(size + 1).unwrap();
            assert_ne!(other.size(), again.size());
            assert_eq!(cache::len(), CACHED - 1);
            give(again);
            give(other);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_size_that_cannot_be_had_is_an_error() {
        assert!(take(usize::MAX).is_err());
    }

    #[test]
    fn a_stack_that_went_back_comes_again_zeroed() {
        std::thread::spawn(|| {
            let size = 5 * arena::page_size();
            let stacks: Vec<_> = (0..CACHED + 1).map(|_| take(size).unwrap()).collect();
            for stack in &stacks {
                // SAFETY: inside the stack, which nobody uses.
                unsafe {
                    std::ptr::with_exposed_provenance_mut::<u8>(stack.top.get() - 1).write(7)
                };
            }
            let first = stacks[0].top;
            stacks.into_iter().for_each(give);
            let mut found = false;
            let stacks: Vec<_> = (0..CACHED + 1).map(|_| take(size).unwrap()).collect();
            for stack in &stacks {
                // SAFETY: as above.
                let byte =
                    unsafe { std::ptr::with_exposed_provenance::<u8>(stack.top.get() - 1).read() };
                found |= stack.top == first;
                assert_eq!(byte, if stack.top == first { 0 } else { 7 });
            }
            assert!(found, "the arena has no other free one of that size");
            stacks.into_iter().for_each(give);
        })
        .join()
        .unwrap();
    }
}
