//! Asynchronous child processes.
//!
//! - [`Command`] describes a program to run: its arguments, environment, directory and standard
//!   streams. It mirrors [`std::process::Command`].
//! - [`Child`] is a running program. It can be waited for and killed.
//! - [`ChildStdin`], [`ChildStdout`] and [`ChildStderr`] are the ends of the pipes to its standard
//!   streams, which implement the traits of [`io`](crate::io).
//!
//! To run a program and use its outcome, call [`Command::output`] or [`Command::status`]. To interact
//! with it while it runs, call [`Command::spawn`].
//!
//! # Dropping a child
//!
//! A child continues to run when its [`Child`] is dropped, unless
//! [`kill_on_drop`](Command::kill_on_drop) is set. In both cases it is reaped when it exits, so that no
//! zombie remains: by the runtime in which it is dropped, or, if it is dropped outside of one, by the
//! runtime that spawned it. If that runtime shuts down first, or is not driven, the child is reaped the
//! next time that this process spawns or drops a child, in any runtime.
//!
//! # Windows
//!
//! The blocking pool reads and writes the pipes to a child. A read that has started occupies a thread
//! of the pool, and delays the shutdown of the runtime, until the child writes something or closes its
//! side.
//!
//! # Examples
//!
//! ```
//! use tress::process::Command;
//!
//! # #[tress::main]
//! # async fn main() -> std::io::Result<()> {
//! let output = Command::new("echo").arg("hello").output().await?;
//! assert!(output.status.success());
//! assert_eq!(output.stdout, b"hello\n");
//! # Ok(())
//! # }
//! ```

mod child;
mod command;

#[cfg(unix)]
mod orphans;
#[cfg(unix)]
mod pipes;
#[cfg(unix)]
mod reaper;

#[cfg(windows)]
#[path = "windows/orphans.rs"]
mod orphans;
#[cfg(windows)]
#[path = "windows/pipes.rs"]
mod pipes;
#[cfg(windows)]
#[path = "windows/reaper.rs"]
mod reaper;

#[cfg(target_os = "linux")]
mod pidfd;
#[cfg(all(unix, not(target_os = "linux")))]
#[path = "no_pidfd.rs"]
mod pidfd;

pub use child::Child;
pub use command::Command;
pub use pipes::{ChildStderr, ChildStdin, ChildStdout};
#[doc(no_inline)]
pub use std::process::{ExitStatus, Output, Stdio};
