//! The tress runtime under Tokio's name.
//!
//! An application that patches this package in runs its own code and its dependencies, as far as
//! they are written for Tokio, on tress:
//!
//! ```toml
//! [patch.crates-io]
//! tokio = { path = "…/tress/crates/tokio" }
//! ```
//!
//! Names, features and contracts are those of the Tokio version that this package carries. Most
//! items are re-exports of tress, and documented there. Only what Tokio's contract defines
//! differently is defined here, such as [`runtime::Runtime`] and [`runtime::Builder`].
//!
//! `docs/TOKIO.md` in the repository describes how to make sure that the patch is used, and
//! `docs/TOKIO-DIFFERENCES.md` what is different.
//!
//! - [`runtime`]: runtimes and their builder.
//! - [`task`]: tasks, sets of tasks, cooperative scheduling.
//! - [`sync`]: channels, locks, notifications.
//! - [`time`]: sleeping, timeouts, intervals.
//! - [`io`]: traits and helpers for asynchronous reading and writing.
//! - [`net`], [`fs`], [`process`], [`signal`]: what the operating system offers.

#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]
#![warn(missing_docs, missing_debug_implementations, rust_2018_idioms)]

/// A constant that no other package named `tokio` has.
///
/// Cargo falls back to the real Tokio, with a warning only, if a patch does not fit. A program that
/// must not be built that way can refer to this constant:
/// ```
/// const _: () = tokio::__tress;
/// ```
#[allow(non_upper_case_globals)]
pub const __tress: () = ();

#[cfg(feature = "fs")]
pub mod fs;

pub mod io;

#[cfg(feature = "net")]
pub mod net;
#[cfg(feature = "process")]
pub mod process;

#[cfg(feature = "rt")]
pub mod runtime;

#[cfg(feature = "signal")]
pub mod signal;

#[cfg(feature = "sync")]
pub mod sync;

#[cfg(feature = "rt")]
pub mod task;

#[cfg(feature = "time")]
pub mod time;

pub mod stream {
    //! Empty: `Stream` and what belongs to it live in crates of their own, such as `tokio-stream`.
}

#[doc(hidden)]
pub mod macros;

pub use tress::pin;

#[cfg(feature = "macros")]
pub use tress::{join, select, try_join};

#[cfg(feature = "rt")]
pub use task::spawn;
#[cfg(feature = "rt")]
pub use tress::task_local;

#[cfg(feature = "macros")]
#[cfg(feature = "rt-multi-thread")]
#[doc(no_inline)]
pub use tokio_macros::{main, test};

#[cfg(feature = "macros")]
#[cfg(all(feature = "rt", not(feature = "rt-multi-thread")))]
#[doc(no_inline)]
pub use tokio_macros::{main_rt as main, test_rt as test};

// These say which feature is missing.
#[cfg(feature = "macros")]
#[cfg(not(feature = "rt"))]
#[doc(no_inline)]
pub use tokio_macros::{main_fail as main, test_fail as test};
