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
