//! Signals of the operating system.

#[cfg(unix)]
pub use tress::signal::ctrl_c;
#[cfg(unix)]
pub use tress::signal::unix;
