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

/// Is this error one of I/O whose runtime has shut down?
pub fn is_rt_shutdown_err(error: &std::io::Error) -> bool {
    tress::runtime::is_shutdown_error(error)
}
