//! Signals of the operating system.
//!
//! ```no_run
//! # #[tress::main]
//! # async fn main() -> std::io::Result<()> {
//! tress::signal::ctrl_c().await?;
//! println!("that was Ctrl-C");
//! # Ok(())
//! # }
//! ```
//!
//! To end a program in good order on one, see
//! [`Shutdown::trigger_on_signals`](crate::shutdown::Shutdown::trigger_on_signals).

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

/// Waits for the next Ctrl-C (`SIGINT` on Unix), counted from the first poll; one that came while nobody
/// listened, after the first call, counts too.
///
/// The first call in a process takes the signal's usual effect away for good: the program is not ended by
/// it any more, also after this has returned or was dropped.
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
///
/// # Errors
/// If the signal cannot be handled.
///
/// # Panics
/// On Unix outside of a runtime, or in one built without `enable_io`.
///
/// # Cancel safety
/// Dropping it loses nothing: on Unix a signal that it would have returned for counts for the next call, unless somebody
/// else has heard of it.
pub async fn ctrl_c() -> io::Result<()> {
    #[cfg(unix)]
    let mut interrupt = unix::signal(unix::SignalKind::interrupt())?;
    #[cfg(windows)]
    let mut interrupt = windows::ctrl_c()?;
    interrupt.recv().await;
    Ok(())
}
