//! Switching stacks on AArch64: the registers that a call keeps, the stack and `tpidr_el0`.

use super::{Context, Entry};
use std::arch::{asm, global_asm};
use std::ffi::c_void;

global_asm!(
    r#"
    .p2align 4
    .hidden tress_sim_switch
    .globl tress_sim_switch
    .type tress_sim_switch, @function
tress_sim_switch:
    .cfi_startproc
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    ldp x9, x10, [x1]
    mov sp, x9
    msr tpidr_el0, x10
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
    .cfi_endproc
    .size tress_sim_switch, . - tress_sim_switch

    .p2align 4
    .hidden tress_sim_start
    .globl tress_sim_start
    .type tress_sim_start, @function
tress_sim_start:
    .cfi_startproc
    .cfi_undefined x30
    mov x0, x20
    blr x19
    brk #1
    .cfi_endproc
    .size tress_sim_start, . - tress_sim_start

    .weak __asan_unpoison_memory_region
    .p2align 4
    .hidden tress_sim_sanitizer
    .globl tress_sim_sanitizer
    .type tress_sim_sanitizer, @function
tress_sim_sanitizer:
    adrp x0, :got:__asan_unpoison_memory_region
    ldr x0, [x0, :got_lo12:__asan_unpoison_memory_region]
    ret
    .size tress_sim_sanitizer, . - tress_sim_sanitizer
"#
);

unsafe extern "C" {
    fn tress_sim_switch(from: *mut Context, to: *const Context);
    fn tress_sim_start();
}

/// As [`super::switch`].
pub(super) unsafe fn switch(from: *mut Context, to: *const Context) {
    // SAFETY: the caller's promise.
    unsafe {
        (*from).thread_pointer = thread_pointer();
        tress_sim_switch(from, to);
    }
}

/// Returns the running thread's pointer to its thread-local storage.
pub(super) fn thread_pointer() -> usize {
    let pointer;
    // SAFETY: reading that register has no effect.
    unsafe {
        asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nostack, nomem, preserves_flags))
    };
    pointer
}

/// Makes the stack that ends at `top` one that [`switch`] can go on with. Returns its pointer.
pub(super) unsafe fn prepare(top: *mut u8, entry: Entry, argument: *mut c_void) -> *mut u8 {
    let mut frame = [0u64; 20];
    frame[0] = entry as usize as u64;
    frame[1] = argument as u64;
    frame[11] = tress_sim_start as *const () as u64;
    let stack = top.wrapping_sub(size_of_val(&frame));
    // SAFETY: the space below `top` is this stack's, by the caller's promise, and `top` is aligned to 16.
    unsafe { stack.cast::<[u64; 20]>().write(frame) };
    stack
}
