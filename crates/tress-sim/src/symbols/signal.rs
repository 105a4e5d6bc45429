//! Signals: those of a host's program are its own, and those of the process are left alone.

use super::{answer, duration, real};
use crate::kernel::process::ProcessId;
use crate::kernel::signal::{Action, LAST};
use crate::kernel::{Errno, Here, enter, here, is_here};
use crate::raw;
use libc::{c_int, c_void, pid_t, pthread_t, sighandler_t, siginfo_t, sigset_t, timespec};
use std::mem;
use std::ptr;
use std::sync::atomic::AtomicPtr;

/// Calls the C library's own function, past ours.
macro_rules! next {
    ($name:literal, fn($($type:ty),*) -> $result:ty, $($argument:expr),*) => {{
        type Function = unsafe extern "C" fn($($type),*) -> $result;
        static NEXT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
        // SAFETY: the function of that name has this type; the rest is the caller's promise.
        unsafe {
            let next: Function = mem::transmute(raw::next(&NEXT, $name));
            next($($argument),*)
        }
    }};
}
pub(super) use next;

/// Reads a set, of which the system knows the first 64 signals.
///
/// # Safety
/// It can be read.
unsafe fn read(set: *const sigset_t) -> u64 {
    // SAFETY: the caller's promise; a set is at least as large.
    unsafe { set.cast::<u64>().read() }
}

/// Writes a set, unless the pointer is null.
///
/// # Safety
/// Else it can be written to.
unsafe fn write(to: *mut sigset_t, set: u64) {
    if !to.is_null() {
        // SAFETY: the caller's promise; zeros are an empty set.
        unsafe {
            to.write(mem::zeroed());
            to.cast::<u64>().write(set);
        }
    }
}

/// `sigaction(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    let Some(mut kernel) = enter() else {
        type Pointer = *const libc::sigaction;
        return next!(
            c"sigaction",
            fn(c_int, Pointer, *mut libc::sigaction) -> c_int,
            signal,
            new,
            old
        );
    };
    // SAFETY: the caller's promise.
    let new = unsafe { new.as_ref() }.map(|new| Action {
        handler: new.sa_sigaction,
        flags: new.sa_flags,
        // SAFETY: it is part of what was read.
        mask: unsafe { read(&new.sa_mask) },
    });
    answer(kernel.signal_action(signal, new).map(|past| {
        if !old.is_null() {
            // SAFETY: the caller's promise; zeros are a valid action.
            unsafe {
                old.write(mem::zeroed());
                (*old).sa_sigaction = past.handler;
                (*old).sa_flags = past.flags;
                write(&raw mut (*old).sa_mask, past.mask);
            }
        }
        0
    }))
}

/// `signal(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn signal(signal: c_int, handler: sighandler_t) -> sighandler_t {
    let Some(mut kernel) = enter() else {
        return next!(
            c"signal",
            fn(c_int, sighandler_t) -> sighandler_t,
            signal,
            handler
        );
    };
    let action = Action {
        handler,
        flags: libc::SA_RESTART,
        mask: 0,
    };
    match kernel.signal_action(signal, Some(action)) {
        Ok(past) => past.handler,
        Err(errno) => {
            raw::set_errno(errno);
            libc::SIG_ERR
        }
    }
}

/// Changes the mask of the running thread, and handles what it does not block any more.
///
/// # Safety
/// The pointers are null, or can be read and written.
unsafe fn change_mask(
    kernel: &mut Here,
    how: c_int,
    new: *const sigset_t,
    old: *mut sigset_t,
) -> Result<(), Errno> {
    let past = kernel.signal_mask(|mask| mask);
    if !new.is_null() {
        // SAFETY: the caller's promise.
        let set = unsafe { read(new) };
        let mask = match how {
            libc::SIG_BLOCK => past | set,
            libc::SIG_UNBLOCK => past & !set,
            libc::SIG_SETMASK => set,
            _ => return Err(libc::EINVAL),
        };
        kernel.signal_mask(|_| mask);
    }
    // SAFETY: the caller's promise.
    unsafe { write(old, past) };
    kernel.handle_signals();
    Ok(())
}

/// Makes a call that waits with another mask, unless the pointer is null.
///
/// # Errors
/// `EINTR`: a signal that the mask lets through was there already.
///
/// # Safety
/// Else it can be read.
pub(super) unsafe fn with_mask<R>(
    kernel: &mut Here,
    mask: *const sigset_t,
    call: impl FnOnce(&mut Here) -> Result<R, Errno>,
) -> Result<R, Errno> {
    if mask.is_null() {
        return call(kernel);
    }
    // SAFETY: the caller's promise.
    let mask = unsafe { read(mask) };
    let past = kernel.signal_mask(|_| mask);
    let result = match kernel.handle_signals() {
        true => Err(libc::EINTR),
        false => call(kernel),
    };
    kernel.signal_mask(|_| past);
    result
}

/// `sigsuspend(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigsuspend(mask: *const sigset_t) -> c_int {
    let Some(mut kernel) = enter() else {
        return next!(c"sigsuspend", fn(*const sigset_t) -> c_int, mask);
    };
    let wait = |kernel: &mut Here| kernel.wait_or_signal(None, false, |_| None::<()>);
    // SAFETY: the caller's promise.
    answer(unsafe { with_mask(&mut kernel, mask, wait) }.map(|_| 0))
}

/// `pthread_sigmask(3)`, which returns its error.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_sigmask(
    how: c_int,
    new: *const sigset_t,
    old: *mut sigset_t,
) -> c_int {
    let Some(mut kernel) = enter() else {
        return next!(
            c"pthread_sigmask",
            fn(c_int, *const sigset_t, *mut sigset_t) -> c_int,
            how,
            new,
            old
        );
    };
    // SAFETY: the caller's promise.
    unsafe { change_mask(&mut kernel, how, new, old) }
        .err()
        .unwrap_or(0)
}

/// `sigprocmask(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigprocmask(
    how: c_int,
    new: *const sigset_t,
    old: *mut sigset_t,
) -> c_int {
    let Some(mut kernel) = enter() else {
        return next!(
            c"sigprocmask",
            fn(c_int, *const sigset_t, *mut sigset_t) -> c_int,
            how,
            new,
            old
        );
    };
    // SAFETY: the caller's promise.
    answer(unsafe { change_mask(&mut kernel, how, new, old) }.map(|()| 0))
}

/// `sigpending(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigpending(set: *mut sigset_t) -> c_int {
    let Some(mut kernel) = enter() else {
        return next!(c"sigpending", fn(*mut sigset_t) -> c_int, set);
    };
    let pending = kernel.pending_signals();
    // SAFETY: the caller's promise.
    unsafe { write(set, pending) };
    0
}

/// `sigtimedwait(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigtimedwait(
    set: *const sigset_t,
    info: *mut siginfo_t,
    time: *const timespec,
) -> c_int {
    let Some(mut kernel) = enter() else {
        return next!(
            c"sigtimedwait",
            fn(*const sigset_t, *mut siginfo_t, *const timespec) -> c_int,
            set,
            info,
            time
        );
    };
    let until = match time.is_null() {
        true => Ok(None),
        // SAFETY: the caller's promise.
        false => unsafe { duration(time) }.map(|time| Some(kernel.now + time)),
    };
    // SAFETY: the caller's promise.
    let taken = until.and_then(|until| kernel.wait_for_signal(unsafe { read(set) }, until));
    answer(taken.inspect(|signal| {
        if !info.is_null() {
            // SAFETY: the caller's promise; zeros are valid.
            unsafe {
                info.write(mem::zeroed());
                (*info).si_signo = *signal;
            }
        }
    }))
}

/// `sigwaitinfo(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigwaitinfo(set: *const sigset_t, info: *mut siginfo_t) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { sigtimedwait(set, info, ptr::null()) }
}

/// `sigwait(3)`, which returns its error.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigwait(set: *const sigset_t, signal: *mut c_int) -> c_int {
    loop {
        // SAFETY: the caller's promise.
        match unsafe { sigtimedwait(set, ptr::null_mut(), ptr::null()) } {
            -1 if raw::errno() == libc::EINTR => {}
            -1 => return raw::errno(),
            taken => {
                // SAFETY: the caller's promise.
                unsafe { signal.write(taken) };
                return 0;
            }
        }
    }
}

/// `signalfd(2)`: fails on a host.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn signalfd(fd: c_int, set: *const sigset_t, flags: c_int) -> c_int {
    match is_here() {
        true => answer(Err(libc::ENOSYS)),
        false => real!(SYS_signalfd4, fd, set, size_of::<u64>(), flags) as c_int,
    }
}

/// Returns the process that a call means by a number: those of a group are those of its first one, and none is its own.
fn meant(kernel: &Here, number: pid_t) -> Result<ProcessId, Errno> {
    let (_, host) = kernel.running();
    match number {
        0 => Ok(kernel.running_process()),
        // All processes.
        -1 => Err(libc::EPERM),
        number => {
            let number = number.checked_abs().ok_or(libc::ESRCH)?;
            kernel.processes.find(host, number).ok_or(libc::ESRCH)
        }
    }
}

fn check(signal: c_int) -> Result<(), Errno> {
    match (0..=LAST).contains(&signal) {
        true => Ok(()),
        false => Err(libc::EINVAL),
    }
}

/// `kill(2)`: a host's program reaches the processes of its host.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kill(process: pid_t, signal: c_int) -> c_int {
    let Some(mut kernel) = enter() else {
        return real!(SYS_kill, process, signal) as c_int;
    };
    let process = check(signal).and_then(|()| meant(&kernel, process));
    answer(process.map(|process| {
        kernel.send(|kernel| kernel.send_signal(process, signal));
        0
    }))
}

/// `raise(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn raise(signal: c_int) -> c_int {
    let Some(mut kernel) = enter() else {
        return next!(c"raise", fn(c_int) -> c_int, signal);
    };
    let (thread, _) = kernel.running();
    answer(check(signal).map(|()| {
        kernel.send(|kernel| kernel.send_to_thread(thread, signal));
        0
    }))
}

/// `pthread_kill(3)`, which returns its error.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_kill(thread: pthread_t, signal: c_int) -> c_int {
    let Some(mut kernel) = enter() else {
        return next!(
            c"pthread_kill",
            fn(pthread_t, c_int) -> c_int,
            thread,
            signal
        );
    };
    let thread = kernel.threads.find(thread).ok_or(libc::ESRCH);
    match check(signal).and(thread) {
        Ok(thread) => {
            kernel.send(|kernel| kernel.send_to_thread(thread, signal));
            0
        }
        Err(errno) => errno,
    }
}

/// `tgkill(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tgkill(process: pid_t, thread: pid_t, signal: c_int) -> c_int {
    let Some(mut kernel) = here() else {
        return real!(SYS_tgkill, process, thread, signal) as c_int;
    };
    let found = check(signal).and_then(|()| meant(&kernel, process));
    let number = thread - super::identity::FIRST_THREAD;
    let thread = found.and_then(|process| {
        let thread = kernel.threads.numbered(process, number);
        thread.ok_or(libc::ESRCH)
    });
    answer(thread.map(|thread| {
        kernel.send(|kernel| kernel.send_to_thread(thread, signal));
        0
    }))
}
