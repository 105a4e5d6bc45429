//! Child processes.

#[cfg(unix)]
pub use tress::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
