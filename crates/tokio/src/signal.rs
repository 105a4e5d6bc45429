//! Signals of the operating system.

#[cfg(any(unix, windows))]
pub use tress::signal::ctrl_c;
#[cfg(unix)]
pub use tress::signal::unix;
#[cfg(windows)]
pub use tress::signal::windows;
