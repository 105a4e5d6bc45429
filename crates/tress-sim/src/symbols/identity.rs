//! What a program learns of its machine and of itself.

use super::real;
use crate::kernel::here;
use crate::raw;
use libc::{c_int, c_long, pid_t, size_t};
use std::ffi::c_void;
use std::mem;
use std::ptr;
use std::sync::atomic::AtomicPtr;

/// The number that threads are counted from.
pub(super) const FIRST_THREAD: pid_t = 100_000;

/// `getpid(2)`: a number for each start of a host, and for each child.
#[unsafe(no_mangle)]
pub extern "C" fn getpid() -> pid_t {
    match here() {
        Some(kernel) => kernel.processes.number(kernel.running_process()),
        None => real!(SYS_getpid) as pid_t,
    }
}

/// `getppid(2)`.
#[unsafe(no_mangle)]
pub extern "C" fn getppid() -> pid_t {
    match here() {
        Some(kernel) => kernel.processes.parent_number(kernel.running_process()),
        None => real!(SYS_getppid) as pid_t,
    }
}

/// `gettid(2)`.
#[unsafe(no_mangle)]
pub extern "C" fn gettid() -> pid_t {
    match here() {
        Some(kernel) => FIRST_THREAD + kernel.threads.number(kernel.running().0),
        None => match real!(SYS_gettid) as pid_t {
            thread if crate::runner::is_thread_of_test(thread) => 1,
            thread => thread,
        },
    }
}

/// `sched_getaffinity(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_getaffinity(
    process: pid_t,
    size: size_t,
    set: *mut libc::cpu_set_t,
) -> c_int {
    let Some(kernel) = here() else {
        let result = real!(SYS_sched_getaffinity, process, size, set);
        // The C library returns zero and clears what the kernel has not written.
        if result > 0 && (result as size_t) < size {
            // SAFETY: the caller's promise: the set has that size.
            unsafe {
                ptr::write_bytes(
                    set.cast::<u8>().add(result as usize),
                    0,
                    size - result as usize,
                )
            };
        }
        return result.min(0) as c_int;
    };
    let (_, host) = kernel.running();
    let processors = kernel.hosts[host.0].processors;
    // SAFETY: the caller's promise: the set has that size; no bit beyond it is set.
    unsafe {
        ptr::write_bytes(set.cast::<u8>(), 0, size);
        for processor in 0..processors.min(size * 8) {
            *set.cast::<u8>().add(processor / 8) |= 1 << (processor % 8);
        }
    }
    0
}

/// `uname(2)`: a host is a machine with Linux 6.1, and has its own name.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uname(names: *mut libc::utsname) -> c_int {
    let Some(kernel) = here() else {
        return real!(SYS_uname, names) as c_int;
    };
    let (_, host) = kernel.running();
    // Copies a name, as much as fits before the end mark.
    fn set(field: &mut [libc::c_char], name: &str) {
        let room = field.len() - 1;
        for (to, from) in field[..room].iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
    }
    // SAFETY: the caller's promise; zeros are valid.
    let names = unsafe {
        ptr::write_bytes(names, 0, 1);
        &mut *names
    };
    set(&mut names.sysname, "Linux");
    set(&mut names.nodename, &kernel.hosts[host.0].name);
    set(&mut names.release, "6.1.0");
    set(&mut names.version, "#1 SMP");
    set(&mut names.machine, std::env::consts::ARCH);
    set(&mut names.domainname, "(none)");
    0
}

/// `sysconf(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sysconf(name: c_int) -> c_long {
    if let (libc::_SC_NPROCESSORS_ONLN | libc::_SC_NPROCESSORS_CONF, Some(kernel)) = (name, here())
    {
        let (_, host) = kernel.running();
        return kernel.hosts[host.0].processors as c_long;
    }
    type Sysconf = unsafe extern "C" fn(c_int) -> c_long;
    static NEXT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
    // SAFETY: the function of that name has this type; the rest is the caller's promise.
    unsafe {
        let sysconf: Sysconf = mem::transmute(raw::next(&NEXT, c"sysconf"));
        sysconf(name)
    }
}

/// `getrusage(2)`: time on a processor is virtual time.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getrusage(who: c_int, usage: *mut libc::rusage) -> c_int {
    let Some(kernel) = here() else {
        return real!(SYS_getrusage, who, usage) as c_int;
    };
    let now = kernel.now.elapsed();
    // SAFETY: the caller's promise; zeros are valid.
    unsafe {
        ptr::write_bytes(usage, 0, 1);
        (*usage).ru_utime = libc::timeval {
            tv_sec: now.as_secs() as _,
            tv_usec: now.subsec_micros().into(),
        };
    }
    0
}
