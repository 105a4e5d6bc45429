//! Child processes.
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
//!
//! A child that is dropped goes on, unless [`kill_on_drop`](Command::kill_on_drop) says otherwise. Either
//! way it is reaped when it ends, so that no zombie stays: by the runtime where it is dropped, or outside of
//! one by that which spawned it. If that one ends first, or nobody drives it, the next child of the process
//! that is spawned or dropped sees to it, in any runtime.
//!
//! On Windows the pipes to a child are read and written by the blocking pool: a read that has begun keeps a
//! thread, and the end of the runtime, waiting until the child writes something or closes its side.

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
