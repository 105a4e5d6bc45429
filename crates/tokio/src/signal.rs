//! Asynchronous handling of signals; see [`tress::signal`].

#[cfg(any(unix, windows))]
pub use tress::signal::ctrl_c;
#[cfg(unix)]
pub use tress::signal::unix;
#[cfg(windows)]
pub use tress::signal::windows;
