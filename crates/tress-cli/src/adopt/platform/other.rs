//! Where Ctrl-C reaches every process of a console by itself, and files need no lock of ours.

use std::fs::File;
use std::io;
use std::process::Command;

/// Does nothing: children of a console hear Ctrl-C themselves.
pub(crate) fn own_group(_command: &mut Command) {}

/// Does nothing: children of a console hear Ctrl-C themselves.
pub(crate) fn end_group(_leader: u32) {}

/// Returns true: two of these commands in one repository are not told apart here.
///
/// # Errors
/// Never.
pub(crate) fn claim(_file: &File) -> io::Result<bool> {
    Ok(true)
}

/// Waits for Ctrl-C, calling `ready` before; returns the exit code for it.
///
/// # Errors
/// Any error of the system's registration of the handler.
pub(crate) async fn until_asked_to_end(ready: impl FnOnce()) -> io::Result<i32> {
    ready();
    tress::signal::ctrl_c().await?;
    Ok(130)
}
