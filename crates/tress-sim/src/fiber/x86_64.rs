//! Switching stacks on x86-64: the registers that a call keeps, the floating-point modes, the stack and the base of `fs`.

use super::{Context, Entry};
use std::arch::{asm, global_asm};
use std::ffi::c_void;
use std::sync::atomic::{AtomicU8, Ordering};

/// Whether the instruction `wrfsbase` may be used.
static HAS_INSTRUCTION: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 2;
/// The bit of `AT_HWCAP2` that says so.
const FSGSBASE: u64 = 1 << 1;

global_asm!(
    r#"
    .p2align 4
    .hidden tress_sim_switch_fs
    .globl tress_sim_switch_fs
    .type tress_sim_switch_fs, @function
tress_sim_switch_fs:
    .cfi_startproc
    push rbp
    push rbx
    push r12
    push r13
    push r14
    push r15
    sub rsp, 8
    stmxcsr [rsp]
    fnstcw [rsp + 4]
    mov [rdi], rsp
    mov rsp, [rsi]
    test edx, edx
    jz 2f
    mov rax, [rsi + 8]
    wrfsbase rax
    jmp 3f
2:
    mov rsi, [rsi + 8]
    mov edi, 0x1002
    mov eax, 158
    syscall
3:
    ldmxcsr [rsp]
    fldcw [rsp + 4]
    add rsp, 8
    pop r15
    pop r14
    pop r13
    pop r12
    pop rbx
    pop rbp
    ret
    .cfi_endproc
    .size tress_sim_switch_fs, . - tress_sim_switch_fs

    .p2align 4
    .hidden tress_sim_start
    .globl tress_sim_start
    .type tress_sim_start, @function
tress_sim_start:
    .cfi_startproc
    .cfi_undefined rip
    xor ebp, ebp
    mov rdi, r13
    call r12
    ud2
    .cfi_endproc
    .size tress_sim_start, . - tress_sim_start

    .weak __asan_unpoison_memory_region
    .p2align 4
    .hidden tress_sim_sanitizer
    .globl tress_sim_sanitizer
    .type tress_sim_sanitizer, @function
tress_sim_sanitizer:
    mov rax, [rip + __asan_unpoison_memory_region@GOTPCREL]
    ret
    .size tress_sim_sanitizer, . - tress_sim_sanitizer
"#
);

unsafe extern "C" {
    fn tress_sim_switch_fs(from: *mut Context, to: *const Context, has_instruction: u32);
    fn tress_sim_start();
}

/// As [`super::switch`].
pub(super) unsafe fn switch(from: *mut Context, to: *const Context) {
    let has_instruction = match HAS_INSTRUCTION.load(Ordering::Relaxed) {
        UNKNOWN => find_out(),
        known => known,
    };
    // SAFETY: the caller's promise. The thread pointer of the stack that is left never changes, so that it is written
    // here and not by the switch itself.
    unsafe {
        (*from).thread_pointer = thread_pointer();
        tress_sim_switch_fs(from, to, has_instruction.into());
    }
}

#[cold]
fn find_out() -> u8 {
    // SAFETY: it reads the auxiliary vector.
    let has = unsafe { libc::getauxval(libc::AT_HWCAP2) } & FSGSBASE != 0;
    HAS_INSTRUCTION.store(has.into(), Ordering::Relaxed);
    has.into()
}

/// Returns the running thread's pointer to its thread-local storage: the word that it points to itself.
pub(super) fn thread_pointer() -> usize {
    let pointer;
    // SAFETY: the first word of the thread control block is its address, by the ABI.
    unsafe { asm!("mov {}, fs:0", out(reg) pointer, options(nostack, readonly, preserves_flags)) };
    pointer
}

/// Makes the stack that ends at `top` one that [`switch`] can go on with. Returns its pointer.
pub(super) unsafe fn prepare(top: *mut u8, entry: Entry, argument: *mut c_void) -> *mut u8 {
    // From below: modes, r15, r14, r13, r12, rbx, rbp, where to return to, and one word so that the start is aligned.
    const MXCSR: u64 = 0x1f80;
    const CONTROL: u64 = 0x037f;
    let frame: [u64; 10] = [
        MXCSR | CONTROL << 32,
        0,
        0,
        argument as u64,
        entry as usize as u64,
        0,
        0,
        tress_sim_start as *const () as u64,
        0,
        0,
    ];
    let stack = top.wrapping_sub(size_of_val(&frame));
    // SAFETY: the space below `top` is this stack's, by the caller's promise, and `top` is aligned to 16.
    unsafe { stack.cast::<[u64; 10]>().write(frame) };
    stack
}
