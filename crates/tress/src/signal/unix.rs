//! Signals as Unix has them.

use super::registry::Place;
use crate::io::source::Source;
use crate::runtime::driver::IoHandle;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};
use tress_driver::{Direction, Gone, Interest};

/// Which signal.
///
/// ```
/// use tress::signal::unix::SignalKind;
///
/// assert_eq!(SignalKind::from_raw(SignalKind::hangup().as_raw_value()), SignalKind::hangup());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SignalKind(libc::c_int);

macro_rules! kinds {
    ($($(#[$cfg:meta])? $name:ident = $signal:ident, $what:literal;)*) => {
        $(
            #[doc = concat!("`", stringify!($signal), "`: ", $what)]
            ///
            /// ```
            /// use tress::signal::unix::{SignalKind, signal};
            ///
            /// # #[tress::main]
            /// # async fn main() -> std::io::Result<()> {
            #[doc = concat!("let kind = SignalKind::", stringify!($name), "();")]
            /// let mut listener = signal(kind)?;
            /// # unsafe extern "C" { fn raise(signal: i32) -> i32; }
            /// # // SAFETY: the signal is handled.
            /// # unsafe { raise(kind.as_raw_value()) };
            /// listener.recv().await;
            /// # Ok(())
            /// # }
            /// ```
            $(#[$cfg])?
            pub const fn $name() -> SignalKind {
                SignalKind(libc::$signal)
            }
        )*
    };
}

impl SignalKind {
    /// A signal by its number: also those that have no name here.
    ///
    /// ```
    /// use tress::signal::unix::SignalKind;
    ///
    /// const TERMINATE: SignalKind = SignalKind::from_raw(15);
    /// assert_eq!(TERMINATE, SignalKind::terminate());
    /// ```
    pub const fn from_raw(signum: std::os::raw::c_int) -> SignalKind {
        SignalKind(signum)
    }

    /// Its number.
    ///
    /// ```
    /// use tress::signal::unix::SignalKind;
    ///
    /// assert_eq!(SignalKind::interrupt().as_raw_value(), 2);
    /// ```
    pub const fn as_raw_value(&self) -> std::os::raw::c_int {
        self.0
    }

    kinds! {
        alarm = SIGALRM, "a timer has run out. Ends the process by default.";
        child = SIGCHLD, "the state of a child process has changed. Ignored by default.";
        hangup = SIGHUP, "the terminal is gone; for many services: read the configuration again. \
            Ends the process by default.";
        #[cfg(any(
            target_os = "dragonfly",
            target_os = "freebsd",
            target_os = "macos",
            target_os = "netbsd",
            target_os = "openbsd",
            target_os = "illumos"
        ))]
        info = SIGINFO, "somebody wants to know how far it is. Ignored by default.";
        interrupt = SIGINT, "Ctrl-C. Ends the process by default.";
        #[cfg(target_os = "haiku")]
        io = SIGPOLL, "I/O is possible. Ends the process by default.";
        #[cfg(not(target_os = "haiku"))]
        io = SIGIO, "I/O is possible. Ends the process by default.";
        pipe = SIGPIPE, "something was written that nobody can read. Ends the process by default, \
            but Rust programs ignore it.";
        quit = SIGQUIT, "Ctrl-\\\\. Ends the process with a core dump by default.";
        terminate = SIGTERM, "please end. Ends the process by default.";
        user_defined1 = SIGUSR1, "whatever the program likes. Ends the process by default.";
        user_defined2 = SIGUSR2, "whatever the program likes. Ends the process by default.";
        window_change = SIGWINCH, "the terminal has another size. Ignored by default.";
    }
}

impl From<std::os::raw::c_int> for SignalKind {
    fn from(signum: std::os::raw::c_int) -> SignalKind {
        SignalKind::from_raw(signum)
    }
}

impl From<SignalKind> for std::os::raw::c_int {
    fn from(kind: SignalKind) -> std::os::raw::c_int {
        kind.as_raw_value()
    }
}

/// Listens for a signal.
///
/// The first call for a signal in a process takes its usual effect away for good, also after all listeners
/// are gone: the handler stays. One that somebody else had installed goes on being called. Any number may
/// listen, in any number of runtimes; each hears of every signal that comes after this call. One that came
/// while nobody listened, after the first call, is heard by the next who does; so is one that the only listener was
/// dropped with.
///
/// ```
/// use tress::signal::unix::{SignalKind, signal};
///
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// let mut resized = signal(SignalKind::window_change())?;
/// # unsafe extern "C" { fn raise(signal: i32) -> i32; }
/// # // SAFETY: the signal is handled.
/// # unsafe { raise(SignalKind::window_change().as_raw_value()) };
/// resized.recv().await;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// `InvalidInput` for signals that cannot be listened for: `SIGKILL`, `SIGSTOP`, and those for which the
/// faulting instruction would be run again: `SIGILL`, `SIGFPE`, `SIGSEGV`, `SIGBUS`. What the system says
/// for numbers that are no signals, or if there are too many open files.
///
/// # Panics
/// Outside of a runtime, or in one built without `enable_io`.
#[track_caller]
pub fn signal(kind: SignalKind) -> io::Result<Signal> {
    // A runtime first: without one nothing may change.
    let runtime = IoHandle::current("listening for a signal");
    if runtime.is_closing() {
        return Err(Gone.into());
    }
    signal_in(runtime, kind)
}

/// As `signal`, in any runtime, whatever has become of it.
pub(crate) fn signal_in(runtime: IoHandle, kind: SignalKind) -> io::Result<Signal> {
    let place = Place::listen(kind.0)?;
    let source = Source::lazy_in(runtime, place, Interest::READABLE);
    Ok(Signal { source, kind })
}

/// A listener for a signal; made by [`signal`].
///
/// Signals that come before it is asked again are one.
///
/// ```no_run
/// use tress::signal::unix::{SignalKind, signal};
///
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// let mut hangup = signal(SignalKind::hangup())?;
/// while hangup.recv().await.is_some() {
///     println!("reading the configuration again");
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "signals are reported to those who ask"]
pub struct Signal {
    source: Source<Place>,
    kind: SignalKind,
}

impl Signal {
    /// Waits for the signal, in whichever runtime this is called. Outside of one, the runtime where it was
    /// called last has to run, at first that of [`signal`]. `None` if no signal can be heard any more:
    /// that runtime has shut down, and there is no other here.
    ///
    /// # Cancel safety
    /// Cancel safe: a signal that came is reported by the next call.
    pub async fn recv(&mut self) -> Option<()> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// As [`recv`](Signal::recv). The last waker is woken.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<()>> {
        self.source.follow();
        let taken = self
            .source
            .poll_io(cx, Direction::Read, |place| place.take_bytes());
        taken.map(Result::ok)
    }
}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signal").field("kind", &self.kind).finish()
    }
}

/// Waits until the process is asked to end.
pub(crate) fn asked_to_end() -> io::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        crate::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}
