//! The virtual counter of AArch64, which runs at a fixed rate on every processor.

use std::arch::asm;

pub(super) fn is_steady() -> bool {
    true
}

#[inline(always)]
pub(super) fn read() -> u64 {
    let count: u64;
    // SAFETY: reads a register that programs may read, and changes nothing.
    unsafe { asm!("mrs {}, cntvct_el0", out(reg) count, options(nomem, nostack, preserves_flags)) };
    count
}
