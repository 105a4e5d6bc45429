//! The environment of the process.

use std::env::VarError;
use std::ffi::OsString;

/// Returns a variable.
///
/// # Errors
/// It is not set, or is not Unicode.
pub fn var(name: &str) -> Result<String, VarError> {
    std::env::var(name)
}

/// Returns a variable, if it is set.
pub fn var_os(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}
