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

/// Stacks a thread keeps warm.
pub(super) const CACHED: usize = 64;

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

    /// Bytes that can be used.
    pub(super) fn size(&self) -> usize {
        self.top.get() - self.guard().end
    }
}

// SAFETY: the arena puts a guard at the bottom and hands out no less than the minimum above it, both
// ends on page boundaries.
unsafe impl stack::Stack for Stack {
    fn base(&self) -> StackPointer {
        self.top
    }

    fn limit(&self) -> StackPointer {
        self.bottom
    }
}

/// The size that a request for `size` bytes gives: whole pages, and enough for the switch itself.
fn rounded(size: usize) -> usize {
    let page = arena::page_size();
    size.clamp(stack::MIN_STACK_SIZE.max(page), isize::MAX as usize / 4)
        .next_multiple_of(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_whole_pages_and_never_too_small() {
        let page = arena::page_size();
        for (asked, given) in [(0, page), (1, page), (page, page), (page + 1, 2 * page)] {
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
