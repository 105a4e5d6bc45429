//! Runtimes.

mod builder;
mod local;
#[allow(clippy::module_inception)]
mod runtime;

pub use builder::Builder;
pub use local::LocalRuntime;
pub use runtime::Runtime;
pub use tress::runtime::{
    EnterGuard, Handle, Id, LocalOptions, RuntimeFlavor, RuntimeMetrics, TryCurrentError,
    worker_index,
};

#[cfg(any(
    feature = "fs",
    feature = "net",
    feature = "process",
    feature = "signal"
))]
const IS_SHUTDOWN: fn(&std::io::Error) -> bool = tress::runtime::is_shutdown_error;
/// Where nothing has a driver, nothing loses it.
#[cfg(not(any(
    feature = "fs",
    feature = "net",
    feature = "process",
    feature = "signal"
)))]
const IS_SHUTDOWN: fn(&std::io::Error) -> bool = |_| false;

/// Is this error one of I/O whose runtime has shut down?
pub fn is_rt_shutdown_err(error: &std::io::Error) -> bool {
    IS_SHUTDOWN(error)
}
