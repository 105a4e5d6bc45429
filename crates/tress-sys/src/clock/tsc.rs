//! The time-stamp counter of x86-64.

use std::arch::x86_64::{__cpuid, _rdtsc};

/// Does it count at one rate, whatever the processor's frequency and sleep states?
#[allow(
    unused_unsafe,
    reason = "unsafe in older versions of the standard library"
)]
pub(super) fn is_steady() -> bool {
    const EXTENDED: u32 = 0x8000_0000;
    const POWER: u32 = 0x8000_0007;
    const INVARIANT: u32 = 1 << 8;
    // SAFETY: every x86-64 processor has the instruction, and the leaf asked for exists.
    unsafe { __cpuid(EXTENDED).eax >= POWER && __cpuid(POWER).edx & INVARIANT != 0 }
}

#[inline(always)]
pub(super) fn read() -> u64 {
    // SAFETY: every x86-64 processor has the instruction. A system that forbids it to programs ends
    // them; none that Rust's standard library runs on does.
    unsafe { _rdtsc() }
}
