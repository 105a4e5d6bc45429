//! Asynchronous handling of signals.
//!
//! - [`ctrl_c`] waits for Ctrl-C, on every system.
//! - `unix` listens for any signal of Unix, such as `SIGTERM` or `SIGHUP`.
//! - `windows` listens for the events of the Windows console.
//!
//! To shut a program down in an orderly way when it is asked to end, use
//! [`Shutdown::trigger_on_signals`](crate::shutdown::Shutdown::trigger_on_signals).
//!
//! # Default effects
//!
//! The first listener for a signal replaces the default effect of the signal for the rest of the life of
//! the process, even after all listeners have been dropped. A signal that arrives while there is no
//! listener is kept for the next one: a program that listens, handles and listens again misses none.
//!
//! # Examples
//!
//! ```no_run
//! # #[tress::main]
//! # async fn main() -> std::io::Result<()> {
//! tress::signal::ctrl_c().await?;
//! println!("that was Ctrl-C");
//! # Ok(())
//! # }
//! ```

#[cfg(windows)]
mod console;
#[cfg(unix)]
mod registry;
#[cfg(unix)]
pub mod unix;
#[cfg(windows)]
pub mod windows;

#[cfg(unix)]
pub(crate) use unix::asked_to_end;
#[cfg(windows)]
pub(crate) use windows::asked_to_end;

use std::io;

/// Waits for Ctrl-C (`SIGINT` on Unix).
///
/// The listener is registered by the first poll. The first call in a process replaces the default effect
/// of the signal, which is to end the process, for good: this remains so after the future has completed
/// or was dropped. A signal that arrives between two calls completes the second one.
///
/// # Errors
///
/// Any error of `unix::signal` or, on Windows, of `SetConsoleCtrlHandler`.
///
/// # Panics
///
/// On Unix, if polled outside of a runtime, or in a runtime that was built without
/// [`enable_io`](crate::runtime::Builder::enable_io).
///
/// # Cancel safety
///
/// This function is cancel safe: a signal for which a dropped future would have completed is kept for
/// the next call, unless another listener has received it.
///
/// # Examples
///
/// ```no_run
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// tress::select! {
///     result = tress::signal::ctrl_c() => result?,
///     () = std::future::pending() => {} // the program itself
/// }
/// # Ok(())
/// # }
/// ```
pub async fn ctrl_c() -> io::Result<()> {
    #[cfg(unix)]
    let mut interrupt = unix::signal(unix::SignalKind::interrupt())?;
    #[cfg(windows)]
    let mut interrupt = windows::ctrl_c()?;
    interrupt.recv().await;
    Ok(())
}
