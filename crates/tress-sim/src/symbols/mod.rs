//! The C library's functions, as this crate defines them for the programs that it is linked into.
//!
//! Each asks whether the calling thread is one of a simulated host: then the simulated kernel answers. Everywhere else
//! it makes the real system call. None allocates or takes a lock before it knows.
// D-SIM-01

mod absent;
mod attribute;
mod clock;
mod descriptor;
mod directory;
mod entropy;
mod epoll;
mod exit;
mod file;
mod futex;
mod identity;
// Sanitizers look symbols up before code that they have instrumented can run. This is set where one is used.
#[cfg(not(tress_no_slab))]
mod look_up;
mod names;
mod numbers;
mod path;
mod process;
mod real_path;
mod signal;
mod socket;
mod stat;
mod stream;
mod thread;
mod working;

pub(crate) use exit::UNKNOWN_STATUS;
pub(crate) use numbers::simulated;

use crate::kernel::{self, Descriptors, Errno, Here};
use crate::raw;
use crate::time::Time;
use libc::{c_int, c_long, ssize_t, timespec};
use std::time::Duration;

/// References to every symbol, so that a linker that leaves out what nothing refers to keeps them.
pub(crate) fn keep() {
    #[cfg(not(tress_no_slab))]
    std::hint::black_box(look_up::dlsym as *const ());
    std::hint::black_box((
        absent::getxattr as *const (),
        attribute::chmod as *const (),
        clock::clock_gettime as *const (),
        descriptor::close as *const (),
        directory::opendir as *const (),
        file::fsync as *const (),
        path::open64 as *const (),
        stat::statx as *const (),
        entropy::getrandom as *const (),
        epoll::epoll_wait as *const (),
        exit::exit as *const (),
        numbers::syscall as *const (),
        process::fork as *const (),
        stream::isatty as *const (),
        identity::getpid as *const (),
        names::getaddrinfo as *const (),
        signal::sigaction as *const (),
        socket::socket as *const (),
        thread::pthread_create as *const (),
        working::chdir as *const (),
    ));
}

/// Enters the kernel if the descriptor is a simulated one.
fn enter_for(fd: c_int) -> Option<Here> {
    Descriptors::is_ours(fd).then(kernel::enter).flatten()
}

/// As `enter_for`, also for the thread that owns a simulation, between two steps of it: for calls that do not wait, by which
/// a test wakes tasks of hosts and drops what they have made.
fn reach(fd: c_int) -> Option<Here> {
    enter_for(fd).or_else(|| {
        Descriptors::is_ours(fd)
            .then(|| kernel::beside(fd))
            .flatten()
    })
}

/// The result of a call that returns a number, or -1 and an error number.
fn answer(result: Result<c_int, Errno>) -> c_int {
    result.unwrap_or_else(|errno| {
        raw::set_errno(errno);
        -1
    })
}

/// As `answer`, for calls that return a length.
fn length(result: Result<usize, Errno>) -> ssize_t {
    match result {
        Ok(length) => length as ssize_t,
        Err(errno) => {
            raw::set_errno(errno);
            -1
        }
    }
}

/// A real system call: an error is -1.
macro_rules! real {
    ($number:ident $(, $argument:expr)* $(,)?) => {{
        let arguments = crate::symbols::six([$($argument as libc::c_long),*]);
        // SAFETY: the arguments are the caller's of the symbol, whose promise is that of the system call.
        unsafe { crate::raw::call(libc::$number, arguments) }
    }};
}
use real;

/// Fills up the arguments of a call.
fn six<const N: usize>(given: [c_long; N]) -> [c_long; 6] {
    let mut six = [0; 6];
    six[..N].copy_from_slice(&given);
    six
}

/// Reads a duration, or returns `EINVAL`.
///
/// # Safety
/// The pointer can be read.
unsafe fn duration(time: *const timespec) -> Result<Duration, Errno> {
    // SAFETY: the caller's promise.
    let time = unsafe { time.read() };
    let seconds = u64::try_from(time.tv_sec).map_err(|_| libc::EINVAL)?;
    match u32::try_from(time.tv_nsec) {
        Ok(nanos) if nanos < 1_000_000_000 => Ok(Duration::new(seconds, nanos)),
        _ => Err(libc::EINVAL),
    }
}

fn timespec(time: Duration) -> timespec {
    timespec {
        tv_sec: time.as_secs() as _,
        tv_nsec: c_long::from(time.subsec_nanos()),
    }
}

/// The moment that many milliseconds from now; with a negative number none.
fn after_millis(kernel: &Here, millis: c_int) -> Option<Time> {
    let millis = u64::try_from(millis).ok()?;
    Some(kernel.now + Duration::from_millis(millis))
}
