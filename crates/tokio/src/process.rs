//! Asynchronous child processes; see [`tress::process`].

#[cfg(any(unix, windows))]
pub use tress::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
