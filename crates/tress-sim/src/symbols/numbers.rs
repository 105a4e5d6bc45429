//! System calls by their number: those that programs make by `syscall`, and those that the detector has caught.

use super::{
    answer, attribute, clock, descriptor, directory, entropy, epoll, file, futex, identity, path,
    process, signal, socket, stat, thread, working,
};
use crate::kernel;
use crate::raw;
use crate::strict;
use libc::c_long;

/// The number of `fchmodat2`, which the crate `libc` does not have for all architectures.
const SYS_FCHMODAT2: c_long = 452;

/// `syscall(2)`. Its arguments are passed alike whether they are named or not.
///
/// # Safety
/// As for the system call of that number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall(
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    let arguments = [a, b, c, d, e, f];
    if kernel::is_here() {
        // SAFETY: the caller's promise.
        if let Some(result) = unsafe { simulated(number, arguments) } {
            return result;
        }
        strict::passes(number, "made by `syscall`");
    }
    if number == libc::SYS_futex {
        futex::wake_hosts(arguments);
    }
    // SAFETY: the caller's promise.
    unsafe { raw::call(number, arguments) }
}

/// Makes a call on the simulated kernel, if it has it. Called on a thread of a host.
///
/// # Safety
/// As for the system call of that number.
pub(crate) unsafe fn simulated(number: c_long, arguments: [c_long; 6]) -> Option<c_long> {
    let [a, b, c, d, e, f] = arguments;
    /// Converts each argument to the type that the function has there.
    macro_rules! call {
        ($function:path $(, $argument:ident)*) => { $function($($argument as _),*) as c_long };
    }
    // SAFETY: the caller's promise: each function is that of the call, with its arguments.
    Some(unsafe {
        match number {
            libc::SYS_futex => futex::futex(arguments),
            libc::SYS_getrandom => call!(entropy::getrandom, a, b, c),
            libc::SYS_clock_gettime => call!(clock::clock_gettime, a, b),
            libc::SYS_gettimeofday => call!(clock::gettimeofday, a, b),
            libc::SYS_nanosleep => call!(clock::nanosleep, a, b),
            libc::SYS_clock_nanosleep => {
                match clock::clock_nanosleep(a as _, b as _, c as _, d as _) {
                    0 => 0,
                    errno => answer(Err(errno)).into(),
                }
            }
            libc::SYS_gettid => identity::gettid().into(),
            libc::SYS_getpid => identity::getpid().into(),
            libc::SYS_getppid => identity::getppid().into(),
            libc::SYS_kill => call!(signal::kill, a, b),
            libc::SYS_wait4 => call!(process::wait4, a, b, c, d),
            libc::SYS_waitid => call!(process::waitid, a, b, c, d),
            libc::SYS_pidfd_open => process::pidfd_open(a).into(),
            libc::SYS_pidfd_send_signal => process::pidfd_send_signal(a, b).into(),
            libc::SYS_tgkill => call!(signal::tgkill, a, b, c),
            libc::SYS_sched_getaffinity => match call!(identity::sched_getaffinity, a, b, c) {
                // The system call itself says how much it has written.
                0 => b.min(8),
                error => error,
            },
            libc::SYS_uname => call!(identity::uname, a),
            libc::SYS_getrusage => call!(identity::getrusage, a, b),
            libc::SYS_sched_yield => thread::sched_yield().into(),
            libc::SYS_sigaltstack => call!(thread::sigaltstack, a, b),
            libc::SYS_read => call!(descriptor::read, a, b, c),
            libc::SYS_write => call!(descriptor::write, a, b, c),
            libc::SYS_readv => call!(descriptor::readv, a, b, c),
            libc::SYS_writev => call!(descriptor::writev, a, b, c),
            libc::SYS_close => call!(descriptor::close, a),
            libc::SYS_dup => call!(descriptor::dup, a),
            libc::SYS_fcntl => call!(descriptor::fcntl, a, b, c),
            libc::SYS_ioctl => call!(descriptor::ioctl, a, b, c),
            libc::SYS_ppoll => call!(descriptor::ppoll, a, b, c, d),
            libc::SYS_epoll_create1 => epoll::epoll_create1(a as _).into(),
            libc::SYS_epoll_ctl => call!(epoll::epoll_ctl, a, b, c, d),
            libc::SYS_epoll_pwait => call!(epoll::epoll_pwait, a, b, c, d, e),
            libc::SYS_eventfd2 => epoll::eventfd(a as _, b as _).into(),
            libc::SYS_timerfd_create => epoll::timerfd_create(a as _, b as _).into(),
            libc::SYS_timerfd_settime => call!(epoll::timerfd_settime, a, b, c, d),
            libc::SYS_timerfd_gettime => call!(epoll::timerfd_gettime, a, b),
            libc::SYS_io_uring_setup
            | libc::SYS_io_uring_enter
            | libc::SYS_io_uring_register
            | libc::SYS_epoll_pwait2
            | libc::SYS_futex_waitv => answer(Err(libc::ENOSYS)).into(),
            libc::SYS_socket => call!(socket::socket, a, b, c),
            libc::SYS_socketpair => call!(socket::socketpair, a, b, c, d),
            libc::SYS_pipe2 => call!(socket::pipe2, a, b),
            libc::SYS_bind => call!(socket::bind, a, b, c),
            libc::SYS_listen => call!(socket::listen, a, b),
            libc::SYS_accept => call!(socket::accept, a, b, c),
            libc::SYS_accept4 => call!(socket::accept4, a, b, c, d),
            libc::SYS_connect => call!(socket::connect, a, b, c),
            libc::SYS_getsockname => call!(socket::getsockname, a, b, c),
            libc::SYS_getpeername => call!(socket::getpeername, a, b, c),
            libc::SYS_getsockopt => call!(socket::getsockopt, a, b, c, d, e),
            libc::SYS_setsockopt => call!(socket::setsockopt, a, b, c, d, e),
            libc::SYS_shutdown => call!(socket::shutdown, a, b),
            libc::SYS_sendto => call!(socket::sendto, a, b, c, d, e, f),
            libc::SYS_recvfrom => call!(socket::recvfrom, a, b, c, d, e, f),
            libc::SYS_sendmsg => call!(socket::sendmsg, a, b, c),
            libc::SYS_recvmsg => call!(socket::recvmsg, a, b, c),
            libc::SYS_sendmmsg => call!(socket::sendmmsg, a, b, c, d),
            libc::SYS_recvmmsg => call!(socket::recvmmsg, a, b, c, d, e),
            libc::SYS_openat2 | SYS_FCHMODAT2 | libc::SYS_inotify_init1 => {
                answer(Err(libc::ENOSYS)).into()
            }
            libc::SYS_getdents64 => call!(directory::getdents64, a, b, c),
            libc::SYS_lseek => call!(descriptor::lseek64, a, b, c),
            libc::SYS_pread64 => call!(file::pread64, a, b, c, d),
            libc::SYS_pwrite64 => call!(file::pwrite64, a, b, c, d),
            libc::SYS_preadv => call!(file::preadv64, a, b, c, d),
            libc::SYS_pwritev => call!(file::pwritev64, a, b, c, d),
            libc::SYS_preadv2 => call!(file::preadv64v2, a, b, c, d, f),
            libc::SYS_pwritev2 => call!(file::pwritev64v2, a, b, c, d, f),
            libc::SYS_fsync => call!(file::fsync, a),
            libc::SYS_fdatasync => call!(file::fdatasync, a),
            libc::SYS_sync_file_range => call!(file::sync_file_range, a, b, c, d),
            libc::SYS_syncfs => call!(file::syncfs, a),
            libc::SYS_ftruncate => call!(file::ftruncate64, a, b),
            libc::SYS_fallocate => call!(file::fallocate64, a, b, c, d),
            libc::SYS_flock => call!(file::flock, a, b),
            libc::SYS_openat => call!(path::openat64, a, b, c, d),
            libc::SYS_mkdirat => call!(path::mkdirat, a, b, c),
            libc::SYS_unlinkat => call!(path::unlinkat, a, b, c),
            libc::SYS_renameat2 => call!(path::renameat2, a, b, c, d, e),
            libc::SYS_linkat => call!(path::linkat, a, b, c, d, e),
            libc::SYS_symlinkat => call!(path::symlinkat, a, b, c),
            libc::SYS_readlinkat => call!(path::readlinkat, a, b, c, d),
            libc::SYS_truncate => call!(path::truncate64, a, b),
            libc::SYS_faccessat => attribute::faccessat(a as _, b as _, c as _, 0).into(),
            libc::SYS_faccessat2 => call!(attribute::faccessat, a, b, c, d),
            libc::SYS_fchmodat => attribute::fchmodat(a as _, b as _, c as _, 0).into(),
            libc::SYS_fchmod => call!(attribute::fchmod, a, b),
            libc::SYS_fchownat => call!(attribute::fchownat, a, b, c, d, e),
            libc::SYS_fchown => call!(attribute::fchown, a, b, c),
            libc::SYS_utimensat => call!(attribute::utimensat, a, b, c, d),
            libc::SYS_chdir => call!(working::chdir, a),
            libc::SYS_fchdir => call!(working::fchdir, a),
            libc::SYS_statx => call!(stat::statx, a, b, c, d, e),
            libc::SYS_newfstatat => call!(stat::fstatat64, a, b, c, d),
            libc::SYS_fstat => call!(stat::fstat64, a, b),
            libc::SYS_statfs => call!(stat::statfs64, a, b),
            libc::SYS_fstatfs => call!(stat::fstatfs64, a, b),
            _ => return None,
        }
    })
}
