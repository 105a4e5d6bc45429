//! Dumps when the process gets a signal: `TRESS_DUMP`.
//!
//! The handler writes a byte to a pipe. A thread of its own, which has nothing to do with any runtime, reads
//! it and writes the dumps, so it works whatever the runtimes' threads are stuck in.

use crate::runtime::Shared;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The end of the pipe that the handler writes to.
static BELL: AtomicI32 = AtomicI32::new(-1);
static RUNTIMES: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());
/// The signals that have the handler; held while one is installed.
static HANDLED: Mutex<Vec<i32>> = Mutex::new(Vec::new());

/// A signal by its name, with or without `SIG`, or by its number.
pub(crate) fn parse(text: &str) -> Option<i32> {
    let name = text.to_ascii_uppercase();
    Some(match name.strip_prefix("SIG").unwrap_or(&name) {
        "HUP" => libc::SIGHUP,
        "INT" => libc::SIGINT,
        "QUIT" => libc::SIGQUIT,
        "USR1" => libc::SIGUSR1,
        "USR2" => libc::SIGUSR2,
        "ALRM" => libc::SIGALRM,
        "TERM" => libc::SIGTERM,
        "WINCH" => libc::SIGWINCH,
        number => number.parse().ok().filter(|n| (1..128).contains(n))?,
    })
    .filter(|signal| !UNFIT.contains(signal))
}

/// Cannot be handled, or mean that the thread cannot go on.
const UNFIT: [i32; 6] = [
    libc::SIGKILL,
    libc::SIGSTOP,
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
];

/// Has the runtime dumped, with all others for which this was called, when the signal comes.
pub(crate) fn dump_on(signal: i32, shared: &Arc<Shared>) -> io::Result<()> {
    let mut handled = HANDLED.lock().unwrap_or_else(PoisonError::into_inner);
    if BELL.load(Ordering::Acquire) < 0 {
        start_thread()?;
    }
    if !handled.contains(&signal) {
        // SAFETY: plain data, and a handler that only writes to a pipe.
        let installed = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = ring as *const () as usize;
            action.sa_flags = libc::SA_RESTART;
            libc::sigemptyset(&mut action.sa_mask);
            libc::sigaction(signal, &action, std::ptr::null_mut())
        };
        if installed != 0 {
            return Err(io::Error::last_os_error());
        }
        handled.push(signal);
    }
    let mut runtimes = RUNTIMES.lock().unwrap_or_else(PoisonError::into_inner);
    runtimes.retain(|runtime| runtime.strong_count() > 0);
    runtimes.push(Arc::downgrade(shared));
    Ok(())
}

extern "C" fn ring(_: i32) {
    let byte = 0_u8;
    // SAFETY: one byte that is there; the pipe is never closed. What was interrupted may be about to
    // read its error.
    unsafe {
        let before = io::Error::last_os_error().raw_os_error();
        libc::write(BELL.load(Ordering::Acquire), (&raw const byte).cast(), 1);
        set_errno(before.unwrap_or(0));
    }
}

/// # Safety
/// None but that it is this thread's.
unsafe fn set_errno(value: i32) {
    #[cfg(any(target_os = "linux", target_os = "emscripten", target_os = "hurd"))]
    let errno = libc::__errno_location;
    #[cfg(target_os = "android")]
    let errno = libc::__errno;
    #[cfg(any(
        target_vendor = "apple",
        target_os = "freebsd",
        target_os = "dragonfly"
    ))]
    let errno = libc::__error;
    #[cfg(any(target_os = "netbsd", target_os = "openbsd"))]
    let errno = libc::__errno;
    #[cfg(any(target_os = "illumos", target_os = "solaris"))]
    let errno = libc::___errno;
    // SAFETY: the address of this thread's own.
    unsafe { *errno() = value };
}

fn start_thread() -> io::Result<()> {
    let (reader, writer) = pipe()?;
    let mut reader = File::from(reader);
    std::thread::Builder::new()
        .name("tress-dump".into())
        .spawn(move || {
            let mut byte = [0];
            while reader.read_exact(&mut byte).is_ok() {
                dump_all();
            }
        })?;
    BELL.store(writer.into_raw_fd(), Ordering::Release);
    Ok(())
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: room for both; each is ours alone once it is there.
    unsafe {
        if libc::pipe(ends.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        for end in ends {
            // Children are not to ring.
            libc::fcntl(end, libc::F_SETFD, libc::FD_CLOEXEC);
        }
        Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}

fn dump_all() {
    let runtimes = RUNTIMES.lock().unwrap_or_else(PoisonError::into_inner);
    let runtimes: Vec<_> = runtimes.iter().filter_map(Weak::upgrade).collect();
    for shared in runtimes {
        let mut text = Vec::new();
        let dumped = shared.dump(&mut text);
        // In one piece, so that several processes may share the output. There is nobody to tell if
        // that does not work.
        let _ = dumped.and_then(|()| io::stderr().write_all(&text));
    }
}
