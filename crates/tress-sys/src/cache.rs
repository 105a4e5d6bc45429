use std::ops::Deref;
use std::ptr::NonNull;

/// Keeps its content off the cache lines of its neighbours.
///
/// 128 bytes: the adjacent-line prefetcher of x86-64 and the line size of several
/// aarch64 parts both make pairs of 64-byte lines travel together.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct CachePadded<T>(T);

impl<T> CachePadded<T> {
    /// Puts `value` on lines of its own.
    #[inline(always)]
    pub const fn new(value: T) -> Self {
        CachePadded(value)
    }
}

impl<T> Deref for CachePadded<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

/// Asks for the line at an address and the one behind it, to be in the cache by the time they are used.
/// A hint: the address need not be valid.
#[inline(always)]
pub fn prefetch<T>(at: NonNull<T>) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let at = at.as_ptr().cast::<i8>();
        // SAFETY: the instruction reads nothing that the program can see, and faults nowhere.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(at);
            _mm_prefetch::<_MM_HINT_T0>(at.wrapping_add(64));
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = at;
}

/// As [`prefetch`], for lines that are going to be written and may be in another core's cache: they come
/// without the copy staying behind that the write would have to call back.
#[inline(always)]
pub fn prefetch_to_write<T>(at: NonNull<T>) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let at = at.as_ptr().cast::<u8>();
        // SAFETY: as above. Processors that do not know the instruction take it for none.
        unsafe {
            std::arch::asm!(
                "prefetchw [{at}]",
                "prefetchw [{at} + 64]",
                at = in(reg) at,
                options(nostack, preserves_flags, readonly)
            );
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = at;
}
