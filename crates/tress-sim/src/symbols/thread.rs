//! Threads: those that a host starts are simulated ones.

use super::real;
use crate::kernel::{enter, here, is_here};
use crate::raw;
use libc::{c_char, c_int, pthread_attr_t, pthread_t, size_t, stack_t};
use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::mem;
use std::ptr;
use std::sync::atomic::AtomicPtr;

/// `pthread_create(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    start: raw::Start,
    argument: *mut c_void,
) -> c_int {
    let Some(mut kernel) = enter() else {
        // SAFETY: the caller's promise.
        return unsafe { raw::pthread_create(thread, attributes, start, argument) };
    };
    let process = kernel.running_process();
    // SAFETY: the caller's promise.
    unsafe {
        match kernel.start_thread(process, attributes, start, argument) {
            Ok(started) => {
                thread.write(started);
                0
            }
            Err(errno) => errno,
        }
    }
}

/// `pthread_join(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_join(thread: pthread_t, result: *mut *mut c_void) -> c_int {
    let Some(mut kernel) = enter() else {
        type Join = unsafe extern "C" fn(pthread_t, *mut *mut c_void) -> c_int;
        static NEXT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
        // SAFETY: the function of that name has this type; the rest is the caller's promise.
        return unsafe {
            let join: Join = mem::transmute(raw::next(&NEXT, c"pthread_join"));
            join(thread, result)
        };
    };
    match kernel.join(thread) {
        Ok(returned) => {
            if !result.is_null() {
                // SAFETY: the caller's promise.
                unsafe { result.write(returned) };
            }
            0
        }
        Err(errno) => errno,
    }
}

/// `pthread_detach(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_detach(thread: pthread_t) -> c_int {
    let Some(mut kernel) = here() else {
        type Detach = unsafe extern "C" fn(pthread_t) -> c_int;
        static NEXT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
        // SAFETY: the function of that name has this type; the rest is the caller's promise.
        return unsafe {
            let detach: Detach = mem::transmute(raw::next(&NEXT, c"pthread_detach"));
            detach(thread)
        };
    };
    kernel.threads.detach(thread).err().unwrap_or(0)
}

/// Room for the name of a thread, with the zero at its end.
const NAME: usize = 16;

/// `pthread_setname_np(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_setname_np(thread: pthread_t, name: *const c_char) -> c_int {
    let Some(mut kernel) = here() else {
        type Set = unsafe extern "C" fn(pthread_t, *const c_char) -> c_int;
        static NEXT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
        // SAFETY: the function of that name has this type; the rest is the caller's promise.
        return unsafe {
            let set: Set = mem::transmute(raw::next(&NEXT, c"pthread_setname_np"));
            set(thread, name)
        };
    };
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) };
    if name.count_bytes() >= NAME {
        return libc::ERANGE;
    }
    match kernel.threads.set_name(thread, name.to_owned()) {
        true => 0,
        false => libc::ESRCH,
    }
}

/// `pthread_getname_np(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_getname_np(
    thread: pthread_t,
    name: *mut c_char,
    size: size_t,
) -> c_int {
    let Some(kernel) = here() else {
        type Get = unsafe extern "C" fn(pthread_t, *mut c_char, size_t) -> c_int;
        static NEXT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
        // SAFETY: the function of that name has this type; the rest is the caller's promise.
        return unsafe {
            let get: Get = mem::transmute(raw::next(&NEXT, c"pthread_getname_np"));
            get(thread, name, size)
        };
    };
    let Some(found) = kernel.threads.name(thread) else {
        return libc::ESRCH;
    };
    if size < NAME {
        return libc::ERANGE;
    }
    // SAFETY: the caller's promise: there is room for that many bytes, and a name is shorter.
    unsafe {
        ptr::copy_nonoverlapping(found.as_ptr(), name, found.count_bytes() + 1);
    }
    0
}

/// `sched_yield(2)`.
#[unsafe(no_mangle)]
pub extern "C" fn sched_yield() -> c_int {
    match enter() {
        Some(mut kernel) => {
            kernel.give_way();
            0
        }
        None => real!(SYS_sched_yield) as c_int,
    }
}

thread_local! {
    /// What a thread of a host has set. The stack for signals is that of the simulation's own thread, which runs it.
    static SIGNAL_STACK: Cell<stack_t> = const {
        Cell::new(stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 })
    };
}

/// `sigaltstack(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaltstack(new: *const stack_t, old: *mut stack_t) -> c_int {
    if !is_here() {
        return real!(SYS_sigaltstack, new, old) as c_int;
    }
    // SAFETY: the caller's promise.
    unsafe {
        let present = match new.is_null() {
            true => SIGNAL_STACK.get(),
            false => SIGNAL_STACK.replace(new.read()),
        };
        if !old.is_null() {
            old.write(present);
        }
    }
    0
}
