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

mod registry;
pub mod unix;

use std::io;

/// Waits for the next Ctrl-C (`SIGINT`), counted from the first poll; as for [`unix::signal`], one that
/// came while nobody listened counts too.
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
/// Outside of a runtime, or in one built without `enable_io`.
///
/// # Cancel safety
/// Dropping it loses nothing but the signal it would have returned for.
pub async fn ctrl_c() -> io::Result<()> {
    unix::signal(unix::SignalKind::interrupt())?.recv().await;
    Ok(())
}
