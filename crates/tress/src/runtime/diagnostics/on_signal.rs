//! Dumps and traces when the process gets a signal: `TRESS_DUMP`, `TRESS_RECORD`.
//!
//! The handler writes the signal's number to a pipe. A thread of its own, which has nothing to do with any runtime, reads it
//! and writes the dumps, or asks the flight recorders for their files, so it works whatever the runtimes' threads are stuck in. Other handlers of the signal stay in
//! effect.

use super::Asked;
use crate::runtime::Shared;
use crate::runtime::flight::Reason;
use crate::sys::handlers::{Handlers, UNFIT};
use crate::sys::plain::Mutex;
use crate::sys::{guarded, thread};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, OnceLock, Weak};

/// The end of the pipe that the handler writes to. Never closed.
static BELL: OnceLock<UnixStream> = OnceLock::new();
static RUNTIMES: Mutex<Vec<Listed>> = Mutex::new(Vec::new());
static HANDLERS: Handlers = Handlers::new();

/// A runtime of which a signal asks something.
struct Listed {
    signal: i32,
    asked: Asked,
    runtime: Weak<Shared>,
}

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

/// Registers what the signal asks of the runtime, with all others for which this was called.
pub(super) fn on_signal(signal: i32, asked: Asked, shared: &Arc<Shared>) -> io::Result<()> {
    let mut runtimes = RUNTIMES.lock();
    if BELL.get().is_none() {
        BELL.set(start_thread()?)
            .expect("set once, under the lock of the runtimes");
    }
    HANDLERS.install(signal, ring)?;
    runtimes.retain(|listed| listed.runtime.strong_count() > 0);
    runtimes.push(Listed {
        signal,
        asked,
        runtime: Arc::downgrade(shared),
    });
    Ok(())
}

/// Does no more than a load, and a write that does not block.
extern "C" fn ring(signal: libc::c_int, info: *mut libc::siginfo_t, state: *mut libc::c_void) {
    let ring = || {
        if let Some(mut bell) = BELL.get() {
            // Of a pipe that is full the thread has enough to do.
            let _ = bell.write(&[signal as u8]);
        }
    };
    // SAFETY: the arguments are the system's.
    unsafe { HANDLERS.handle(signal, info, state, ring) };
}

/// Starts the thread that answers signals. Returns the end of its pipe.
fn start_thread() -> io::Result<UnixStream> {
    let (mut reader, bell) = UnixStream::pair()?;
    bell.set_nonblocking(true)?;
    thread::Builder::new("tress-dump".into()).spawn(move || {
        let mut byte = [0];
        while reader.read_exact(&mut byte).is_ok() {
            answer(byte[0].into());
        }
    })?;
    Ok(bell)
}

/// Does what the signal asks of each runtime.
fn answer(signal: i32) {
    let asked = || {
        let runtimes = RUNTIMES.lock();
        let listed = runtimes.iter().filter(|listed| listed.signal == signal);
        let alive = listed.filter_map(|listed| Some((listed.asked, listed.runtime.upgrade()?)));
        alive.collect::<Vec<_>>()
    };
    for (asked, shared) in asked() {
        if asked == Asked::Record {
            shared.flight.ask(Reason::Signal);
            continue;
        }
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
