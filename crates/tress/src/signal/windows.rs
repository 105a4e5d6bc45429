//! The events of the console, as Windows has them.
//!
//! [`ctrl_c`] and [`ctrl_break`] come from the keyboard. The other three come before the process is ended:
//! by the user who closes the console's window, logs off or shuts the system down. The process lives as
//! long as it takes to return from `main`, but no longer than the system allows, which is some seconds.
//!
//! No runtime is needed to listen, and none holds a listener up when it ends.

use super::console::{Event, Place};
use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};

macro_rules! listener {
    ($function:ident, $Listener:ident, $event:ident, $what:literal, $effect:literal) => {
        #[doc = concat!("Listens for ", $what, ".")]
        ///
        #[doc = $effect]
        /// Any number may listen; each hears of every event that comes after this call. One that came
        /// while nobody listened, after the first call, is heard by the next who does.
        ///
        /// ```no_run
        /// # #[tress::main]
        /// # async fn main() -> std::io::Result<()> {
        #[doc = concat!("let mut events = tress::signal::windows::", stringify!($function), "()?;")]
        /// events.recv().await;
        /// # Ok(())
        /// # }
        /// ```
        ///
        /// # Errors
        /// If the system takes no handler.
        pub fn $function() -> io::Result<$Listener> {
            Place::listen(Event::$event).map($Listener)
        }

        #[doc = concat!("A listener for ", $what, "; made by [`", stringify!($function), "`].")]
        ///
        /// Events that come before it is asked again are one.
        #[must_use = "events are reported to those who ask"]
        #[derive(Debug)]
        pub struct $Listener(Place);

        impl $Listener {
            /// Waits for the event. It is always `Some`: there is no end of them.
            ///
            /// # Cancel safety
            /// Cancel safe: an event that came is reported by the next call.
            pub async fn recv(&mut self) -> Option<()> {
                poll_fn(|cx| self.poll_recv(cx)).await
            }

            #[doc = concat!("As [`recv`](", stringify!($Listener), "::recv). The last waker is woken.")]
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
    "The first call in a process takes its usual effect away for good, which is to end the process."
);
listener!(
    ctrl_break,
    CtrlBreak,
    Break,
    "Ctrl-Break",
    "The first call in a process takes its usual effect away for good, which is to end the process."
);
listener!(
    ctrl_close,
    CtrlClose,
    Close,
    "the closing of the console's window",
    "It ends the process, but for one that listens not before the system's limit is over."
);
listener!(
    ctrl_logoff,
    CtrlLogoff,
    Logoff,
    "the user's logging off, which only services hear of",
    "It ends the process, but for one that listens not before the system's limit is over."
);
listener!(
    ctrl_shutdown,
    CtrlShutdown,
    Shutdown,
    "the system's shutting down, which only services hear of",
    "It ends the process, but for one that listens not before the system's limit is over."
);

/// Waits until the process is asked to end.
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
