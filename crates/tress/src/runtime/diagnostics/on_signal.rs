//! Dumps when the process gets a signal: `TRESS_DUMP`.
//!
//! The handler writes a byte to a pipe. A thread of its own, which has nothing to do with any runtime, reads it and
//! writes the dumps, so it works whatever the runtimes' threads are stuck in. Other handlers of the signal stay in
//! effect.

use crate::runtime::Shared;
use crate::sys::handlers::{Handlers, UNFIT};
use crate::sys::plain::Mutex;
use crate::sys::{guarded, thread};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, OnceLock, Weak};

/// The end of the pipe that the handler writes to. Never closed.
static BELL: OnceLock<UnixStream> = OnceLock::new();
static RUNTIMES: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());
static HANDLERS: Handlers = Handlers::new();

/// Parses a signal: its name, with or without `SIG`, or its number.
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

/// Registers the runtime to be dumped when the signal comes, with all others for which this was called.
pub(crate) fn dump_on(signal: i32, shared: &Arc<Shared>) -> io::Result<()> {
    let mut runtimes = RUNTIMES.lock();
    if BELL.get().is_none() {
        BELL.set(start_thread()?)
            .expect("set once, under the lock of the runtimes");
    }
    HANDLERS.install(signal, ring)?;
    runtimes.retain(|runtime| runtime.strong_count() > 0);
    runtimes.push(Arc::downgrade(shared));
    Ok(())
}

/// Does no more than a load, and a write that does not block.
extern "C" fn ring(signal: libc::c_int, info: *mut libc::siginfo_t, state: *mut libc::c_void) {
    let ring = || {
        if let Some(mut bell) = BELL.get() {
            // A full pipe tells the same as one more byte.
            let _ = bell.write(&[0]);
        }
    };
    // SAFETY: the arguments are the system's.
    unsafe { HANDLERS.handle(signal, info, state, ring) };
}

/// Starts the thread that writes the dumps. Returns the end of its pipe.
fn start_thread() -> io::Result<UnixStream> {
    let (mut reader, bell) = UnixStream::pair()?;
    bell.set_nonblocking(true)?;
    thread::Builder::new("tress-dump".into()).spawn(move || {
        let mut byte = [0];
        while reader.read_exact(&mut byte).is_ok() {
            dump_all();
        }
    })?;
    Ok(bell)
}

fn dump_all() {
    let alive = || {
        let runtimes = RUNTIMES.lock();
        runtimes
            .iter()
            .filter_map(Weak::upgrade)
            .collect::<Vec<_>>()
    };
    for shared in alive() {
        let mut text = Vec::new();
        // Sections are foreign code: a panic in one has been printed, and must not end this thread.
        let dumped = guarded(|| shared.dump(&mut text));
        if !matches!(dumped, Some(Ok(()))) {
            text.extend_from_slice(b"the dump ends here: a section has failed\n");
        }
        // In one piece, so that several processes may share the output. A failure cannot be reported anywhere.
        let _ = io::stderr().write_all(&text);
    }
}
