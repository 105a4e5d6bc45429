//! Events of the Windows console.
//!
//! - [`ctrl_c`] and [`ctrl_break`] come from the keyboard.
//! - [`ctrl_close`], [`ctrl_logoff`] and [`ctrl_shutdown`] announce the end of the process: the user
//!   closes the window of the console, logs off, or shuts the system down. The process then has until it
//!   returns from `main`, but no longer than the system allows, which is a few seconds.
//!
//! Listening needs no runtime.

use super::console::{Event, Place};
use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};

macro_rules! listener {
    ($function:ident, $Listener:ident, $event:ident, $what:literal, $effect:literal) => {
        #[doc = concat!("Creates a listener for ", $what, ".")]
        ///
        #[doc = $effect]
        ///
        /// Any number of listeners may exist. Each receives every event that arrives after it was
        /// created. An event that arrives between two listeners is received by the second one.
        ///
        /// # Errors
        ///
        /// Any error of `SetConsoleCtrlHandler`.
        ///
        /// # Examples
        ///
        /// ```no_run
        /// # #[tress::main]
        /// # async fn main() -> std::io::Result<()> {
        #[doc = concat!("let mut events = tress::signal::windows::", stringify!($function), "()?;")]
        /// events.recv().await;
        /// # Ok(())
        /// # }
        /// ```
        pub fn $function() -> io::Result<$Listener> {
            Place::listen(Event::$event).map($Listener)
        }

        #[doc = concat!("A listener for ", $what, ".")]
        ///
        #[doc = concat!("Returned by [`", stringify!($function), "`].")]
        ///
        /// Events that arrive between two calls of `recv` are coalesced into one.
        #[must_use = "events are reported to those who ask"]
        #[derive(Debug)]
        pub struct $Listener(Place);

        impl $Listener {
            /// Waits for the next event.
            ///
            /// Always returns `Some`: there is no end of events.
            ///
            /// # Cancel safety
            ///
            /// This method is cancel safe: an event that has arrived is returned by the next call.
            pub async fn recv(&mut self) -> Option<()> {
                poll_fn(|cx| self.poll_recv(cx)).await
            }

            /// Polls for the next event.
            ///
            /// When this returns `Poll::Pending`, the waker of the most recent call is woken by the
            /// next event.
            #[doc = concat!("See [`recv`](", stringify!($Listener), "::recv).")]
            pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<()>> {
                self.0.poll(cx).map(Some)
            }
        }
    };
}

listener!(
    ctrl_c,
    CtrlC,
    C,
    "Ctrl-C",
    "The first call in a process replaces the default effect, which is to end the process, for good."
);
listener!(
    ctrl_break,
    CtrlBreak,
    Break,
    "Ctrl-Break",
    "The first call in a process replaces the default effect, which is to end the process, for good."
);
listener!(
    ctrl_close,
    CtrlClose,
    Close,
    "the closing of the window of the console",
    "The event ends the process. While there is a listener, it does so only when the time limit of the system is over."
);
listener!(
    ctrl_logoff,
    CtrlLogoff,
    Logoff,
    "the logging off of the user, of which only services are notified",
    "The event ends the process. While there is a listener, it does so only when the time limit of the system is over."
);
listener!(
    ctrl_shutdown,
    CtrlShutdown,
    Shutdown,
    "the shutdown of the system, of which only services are notified",
    "The event ends the process. While there is a listener, it does so only when the time limit of the system is over."
);

/// Listens for the events that ask the process to end, and returns a future that waits for one.
pub(crate) fn asked_to_end() -> io::Result<impl Future<Output = ()>> {
    let (mut c, mut breaks) = (ctrl_c()?, ctrl_break()?);
    let (mut close, mut shutdown) = (ctrl_close()?, ctrl_shutdown()?);
    Ok(async move {
        crate::select! {
            _ = c.recv() => {}
            _ = breaks.recv() => {}
            _ = close.recv() => {}
            _ = shutdown.recv() => {}
        }
    })
}
