//! Runtimes, which run tasks and drive timers and I/O.
//!
//! - [`Runtime`] runs tasks on worker threads, or on the thread that calls `block_on`.
//! - [`LocalRuntime`] stays on one thread, and runs tasks that are not `Send`.
//! - [`Builder`] configures and builds both.
//! - [`Handle`] refers to a running runtime.
//!
//! [`Runtime`], [`LocalRuntime`] and [`Builder`] follow Tokio's contract. The other types are those
//! of [`tress::runtime`].

mod builder;
#[cfg(feature = "console")]
mod console;
mod local;
#[allow(clippy::module_inception)]
mod runtime;
mod seed;

#[cfg(feature = "taskdump")]
pub mod dump {
    //! Dumps of tasks: where each task of a runtime waits; see [`tress::runtime::task_dump`].

    pub use tress::runtime::task_dump::{
        Backtrace, BacktraceFrame, BacktraceSymbol, Dump, Root, Task, Tasks, Trace, TraceMeta,
        trace_with,
    };
}

pub use builder::Builder;
#[cfg(feature = "taskdump")]
pub use dump::Dump;
pub use local::LocalRuntime;
pub use runtime::Runtime;
pub use seed::RngSeed;
pub use tress::runtime::{
    EnterGuard, Handle, HistogramConfiguration, HistogramScale, Id, InvalidHistogramConfiguration,
    LocalOptions, LogHistogram, LogHistogramBuilder, RuntimeFlavor, RuntimeMetrics, TaskMeta,
    TryCurrentError, UnhandledPanic, worker_index,
};

/// Returns `true` if the error was returned by an I/O operation because its runtime has shut down.
///
/// # Examples
/// ```
/// let error = std::io::Error::other("something else");
/// assert!(!tokio::runtime::is_rt_shutdown_err(&error));
/// ```
pub fn is_rt_shutdown_err(error: &std::io::Error) -> bool {
    tress::runtime::is_shutdown_error(error)
}
