//! Signals of Unix.
//!
//! [`signal`] creates a listener for the signal that a [`SignalKind`] names; [`Signal::recv`] waits for
//! it.
//!
//! # Examples
//!
//! ```no_run
//! use tress::signal::unix::{SignalKind, signal};
//!
//! # #[tress::main]
//! # async fn main() -> std::io::Result<()> {
//! let mut terminate = signal(SignalKind::terminate())?;
//! terminate.recv().await;
//! println!("asked to end");
//! # Ok(())
//! # }
//! ```

use super::registry::Place;
use crate::io::source::Source;
use crate::runtime::driver::IoHandle;
use crate::sight::WaitKind;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};
use tress_driver::{Direction, Gone, Interest};

/// A kind of signal.
///
/// # Examples
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
            #[doc = concat!("Returns the kind for `", stringify!($signal), "`, ", $what)]
            ///
            /// # Examples
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
    /// Creates a kind from the number of a signal.
    ///
    /// This allows for signals that have no constructor here, such as real-time signals.
    ///
    /// # Examples
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

    /// Returns the number of the signal.
    ///
    /// # Examples
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
        alarm = SIGALRM, "sent when a timer expires. Ends the process by default.";
        child = SIGCHLD, "sent when the state of a child process changes. Ignored by default.";
        hangup = SIGHUP, "sent when the terminal is closed. Many services reload their \
            configuration on it. Ends the process by default.";
        #[cfg(any(
            target_os = "dragonfly",
            target_os = "freebsd",
            target_os = "macos",
            target_os = "netbsd",
            target_os = "openbsd",
            target_os = "illumos"
        ))]
        info = SIGINFO, "sent to request a status report. Ignored by default.";
        interrupt = SIGINT, "sent by Ctrl-C. Ends the process by default.";
        #[cfg(target_os = "haiku")]
        io = SIGPOLL, "sent when I/O is possible. Ends the process by default.";
        #[cfg(not(target_os = "haiku"))]
        io = SIGIO, "sent when I/O is possible. Ends the process by default.";
        pipe = SIGPIPE, "sent by a write to a pipe or socket that has no reader. Ends the process by \
            default, but Rust programs ignore it.";
        quit = SIGQUIT, "sent by Ctrl-\\\\. Ends the process with a core dump by default.";
        terminate = SIGTERM, "sent to ask the process to end. Ends the process by default.";
        user_defined1 = SIGUSR1, "whose meaning is up to the program. Ends the process by default.";
        user_defined2 = SIGUSR2, "whose meaning is up to the program. Ends the process by default.";
        window_change = SIGWINCH, "sent when the size of the terminal changes. Ignored by default.";
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

/// Creates a listener for a signal.
///
/// Any number of listeners may exist, in any number of runtimes. Each receives every signal that arrives
/// after it was created.
///
/// The first listener for a signal in a process installs a handler, which replaces the default effect of
/// the signal and stays installed after all listeners have been dropped. A handler that other code had
/// installed before continues to be called. A signal that arrives while there is no listener, or that
/// the only listener had not received when it was dropped, is received by the next one.
///
/// # Errors
///
/// - [`InvalidInput`](io::ErrorKind::InvalidInput) for signals that cannot be listened for: `SIGKILL`
///   and `SIGSTOP`, and `SIGILL`, `SIGFPE`, `SIGSEGV` and `SIGBUS`, after which the faulting instruction
///   would run again.
/// - Any error of `sigaction(2)`, such as `EINVAL` for a number that is no signal, and of `pipe(2)`,
///   such as `EMFILE`.
/// - The runtime is shutting down.
///
/// # Panics
///
/// If called outside of a runtime, or in a runtime that was built without
/// [`enable_io`](crate::runtime::Builder::enable_io).
///
/// # Examples
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
#[track_caller]
pub fn signal(kind: SignalKind) -> io::Result<Signal> {
    // A runtime first: without one nothing may change.
    let runtime = IoHandle::current("listening for a signal");
    if runtime.is_closing() {
        return Err(Gone.into());
    }
    signal_in(runtime, kind)
}

/// Creates a listener in the given runtime, even if that is shutting down.
pub(crate) fn signal_in(runtime: IoHandle, kind: SignalKind) -> io::Result<Signal> {
    let place = Place::listen(kind.0)?;
    let source = Source::lazy_in(runtime, place, Interest::READABLE).known_as(WaitKind::Signal);
    Ok(Signal { source, kind })
}

/// A listener for a signal.
///
/// Returned by [`signal`]. Signals that arrive between two calls of [`recv`](Signal::recv) are coalesced
/// into one. When the listener is dropped, the signal does not regain its default effect.
///
/// # Examples
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
    /// Waits for the next signal.
    ///
    /// Returns `None` if no more signals can be received, because the runtime that watches for them has shut
    /// down and there is no current runtime to replace it.
    ///
    /// The listener can be used in any runtime. Outside of a runtime, the one in which this was last called
    /// has to run; at first that is the one in which [`signal`] was called.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe: a signal that has arrived is returned by the next call.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::signal::unix::{SignalKind, signal};
    ///
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut usr1 = signal(SignalKind::user_defined1())?;
    /// # unsafe extern "C" { fn raise(signal: i32) -> i32; }
    /// # // SAFETY: the signal is handled.
    /// # unsafe { raise(SignalKind::user_defined1().as_raw_value()) };
    /// assert!(usr1.recv().await.is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn recv(&mut self) -> Option<()> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// Polls for the next signal.
    ///
    /// When this returns `Poll::Pending`, the waker of the most recent call is woken by the next signal. See
    /// [`recv`](Signal::recv).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::future::poll_fn;
    /// use tress::signal::unix::{SignalKind, signal};
    ///
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut usr2 = signal(SignalKind::user_defined2())?;
    /// # unsafe extern "C" { fn raise(signal: i32) -> i32; }
    /// # // SAFETY: the signal is handled.
    /// # unsafe { raise(SignalKind::user_defined2().as_raw_value()) };
    /// assert!(poll_fn(|cx| usr2.poll_recv(cx)).await.is_some());
    /// # Ok(())
    /// # }
    /// ```
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

/// Listens for the signals that ask the process to end, and returns a future that waits for one.
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
