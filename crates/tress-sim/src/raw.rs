//! The real system, past the symbols that this crate defines.

use std::arch::global_asm;
use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::mem;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::time::Duration;

#[cfg(target_arch = "x86_64")]
global_asm!(
    r#"
    .p2align 4
    .hidden tress_sim_door
    .globl tress_sim_door
    .type tress_sim_door, @function
tress_sim_door:
    .cfi_startproc
    mov rax, rdi
    mov rdi, rsi
    mov rsi, rdx
    mov rdx, rcx
    mov r10, r8
    mov r8, r9
    mov r9, [rsp + 8]
    syscall
    ret
    .cfi_endproc
    .hidden tress_sim_door_end
    .globl tress_sim_door_end
tress_sim_door_end:
    .size tress_sim_door, . - tress_sim_door
"#
);

#[cfg(target_arch = "aarch64")]
global_asm!(
    r#"
    .p2align 4
    .hidden tress_sim_door
    .globl tress_sim_door
    .type tress_sim_door, @function
tress_sim_door:
    .cfi_startproc
    mov x8, x0
    mov x0, x1
    mov x1, x2
    mov x2, x3
    mov x3, x4
    mov x4, x5
    mov x5, x6
    svc #0
    ret
    .cfi_endproc
    .hidden tress_sim_door_end
    .globl tress_sim_door_end
tress_sim_door_end:
    .size tress_sim_door, . - tress_sim_door
"#
);

unsafe extern "C" {
    /// The only place from which this crate makes system calls, by which the detector of leaks knows them.
    fn tress_sim_door(
        number: c_long,
        a: c_long,
        b: c_long,
        c: c_long,
        d: c_long,
        e: c_long,
        f: c_long,
    ) -> c_long;
    fn tress_sim_door_end();
}

/// Where the code is that makes this crate's system calls.
pub(crate) fn door() -> Range<usize> {
    tress_sim_door as *const () as usize..tress_sim_door_end as *const () as usize + 1
}

/// Makes a system call of the real kernel. Returns what it returns: a negative number is an error.
///
/// # Safety
/// As for that system call.
pub(crate) unsafe fn syscall(number: c_long, arguments: [c_long; 6]) -> c_long {
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: the caller's promise.
    unsafe { tress_sim_door(number, a, b, c, d, e, f) }
}

/// As the C library's `syscall`: an error is -1, with its number in `errno`.
///
/// # Safety
/// As for that system call.
pub(crate) unsafe fn call(number: c_long, arguments: [c_long; 6]) -> c_long {
    // SAFETY: the caller's promise.
    let result = unsafe { syscall(number, arguments) };
    if (-4095..0).contains(&result) {
        set_errno(-result as c_int);
        return -1;
    }
    result
}

/// Returns `errno` of this thread.
pub(crate) fn errno() -> c_int {
    // SAFETY: the C library returns a pointer to this thread's own.
    unsafe { *libc::__errno_location() }
}

/// Returns the number of this thread.
pub(crate) fn gettid() -> libc::pid_t {
    // SAFETY: only returns a number.
    unsafe { syscall(libc::SYS_gettid, [0; 6]) as libc::pid_t }
}

/// Sets `errno` of this thread.
pub(crate) fn set_errno(errno: c_int) {
    // SAFETY: the C library returns a pointer to this thread's own.
    unsafe { *libc::__errno_location() = errno };
}

/// Sleeps while the word has that value. May return early.
pub(crate) fn futex_wait(word: &AtomicU32, value: u32) {
    let operation = (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG).into();
    let word = word.as_ptr() as c_long;
    // SAFETY: the word lives for the whole call.
    unsafe { syscall(libc::SYS_futex, [word, operation, value.into(), 0, 0, 0]) };
}

/// Sleeps for a real time.
pub(crate) fn sleep(time: Duration) {
    let time = libc::timespec {
        tv_sec: time.as_secs() as _,
        tv_nsec: time.subsec_nanos().into(),
    };
    let time = ptr::from_ref(&time) as c_long;
    // SAFETY: the kernel reads a local value.
    unsafe { syscall(libc::SYS_nanosleep, [time, 0, 0, 0, 0, 0]) };
}

/// Wakes a thread that sleeps on the word.
pub(crate) fn futex_wake(word: &AtomicU32) {
    let operation = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG).into();
    // SAFETY: the kernel uses the address only to find the thread.
    unsafe {
        syscall(
            libc::SYS_futex,
            [word.as_ptr() as c_long, operation, 1, 0, 0, 0],
        )
    };
}

/// Keeps all signals from this thread for good, but those that its own instructions cause: the detector's, which would end the
/// process if they were blocked. The C library makes calls when a thread ends.
pub(crate) fn block_signals() {
    let bit = |signal: libc::c_int| 1u64 << (signal - 1);
    let all = !(bit(libc::SIGSYS) | bit(libc::SIGSEGV));
    let set = ptr::from_ref(&all) as c_long;
    let size = size_of::<u64>() as c_long;
    // SAFETY: the kernel reads a set of that size.
    unsafe {
        syscall(
            libc::SYS_rt_sigprocmask,
            [libc::SIG_SETMASK.into(), set, 0, size, 0, 0],
        )
    };
}

/// Gives the calling thread a name, of which the system keeps 15 bytes.
pub(crate) fn name_thread(name: &CStr) {
    let arguments = [
        libc::PR_SET_NAME.into(),
        name.as_ptr() as c_long,
        0,
        0,
        0,
        0,
    ];
    // SAFETY: the kernel reads a C string.
    unsafe { syscall(libc::SYS_prctl, arguments) };
}

/// Returns the C library's own function of that name, past ours.
pub(crate) fn next(known: &AtomicPtr<c_void>, name: &CStr) -> *mut c_void {
    let found = known.load(Ordering::Relaxed);
    if !found.is_null() {
        return found;
    }
    // SAFETY: the name is a C string.
    let found = unsafe { dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    assert!(!found.is_null(), "the C library has no {name:?}");
    known.store(found, Ordering::Relaxed);
    found
}

/// The C library's `dlsym`.
///
/// # Safety
/// As for that function.
pub(crate) unsafe fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    type Look = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
    static FOUND: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
    let mut found = FOUND.load(Ordering::Relaxed);
    if found.is_null() {
        // It has had these versions; its own name would lead to ours.
        let versions = [c"GLIBC_2.34", c"GLIBC_2.17", c"GLIBC_2.2.5"];
        // SAFETY: both are C strings.
        let of = |version: &CStr| unsafe {
            libc::dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), version.as_ptr())
        };
        let all = versions.into_iter().map(of);
        found = all
            .into_iter()
            .find(|found| !found.is_null())
            .expect("the C library has dlsym");
        FOUND.store(found, Ordering::Relaxed);
    }
    // SAFETY: the function of that name has this type; the rest is the caller's promise.
    unsafe {
        let look: Look = mem::transmute(found);
        look(handle, name)
    }
}

/// The start of a thread.
pub(crate) type Start = extern "C" fn(*mut c_void) -> *mut c_void;

/// The C library's `pthread_create`.
///
/// # Safety
/// As for that function.
pub(crate) unsafe fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    type Create = unsafe extern "C" fn(
        *mut libc::pthread_t,
        *const libc::pthread_attr_t,
        Start,
        *mut c_void,
    ) -> c_int;
    static NEXT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
    // SAFETY: the function of that name has this type; the rest is the caller's promise.
    unsafe {
        let create: Create = mem::transmute(next(&NEXT, c"pthread_create"));
        create(thread, attributes, start, argument)
    }
}

/// The C library's `pthread_join`, for a thread whose result does not matter.
///
/// # Safety
/// As for that function.
pub(crate) unsafe fn pthread_join(thread: libc::pthread_t) -> c_int {
    type Join = unsafe extern "C" fn(libc::pthread_t, *mut *mut c_void) -> c_int;
    static NEXT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
    // SAFETY: the function of that name has this type; the rest is the caller's promise.
    unsafe {
        let join: Join = mem::transmute(next(&NEXT, c"pthread_join"));
        join(thread, ptr::null_mut())
    }
}

/// Runs the destructors of this thread's thread-local variables.
pub(crate) fn run_thread_local_destructors() {
    type Run = unsafe extern "C" fn();
    static NEXT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
    // SAFETY: the C library calls it at the end of a thread, and so do we; a second call finds none.
    unsafe {
        let run: Run = mem::transmute(next(&NEXT, c"__call_tls_dtors"));
        run();
    }
}
