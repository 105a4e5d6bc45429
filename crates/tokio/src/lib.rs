//! tress under Tokio's name.
//!
//! An application that patches this package in runs everything it has that is written for Tokio,
//! its own code and its dependencies, on tress:
//!
//! ```toml
//! [patch.crates-io]
//! tokio = { path = "…/tress/crates/tokio" }
//! ```
//!
//! Names, features and contracts are those of the Tokio version this package carries. The items are
//! tress's and documented there; only what Tokio's contract has differently is defined here.
//! `docs/TOKIO.md` in the repository tells how to make sure that the patch is used, what is not there
//! yet, and what is different on purpose.

#![warn(missing_docs, missing_debug_implementations, rust_2018_idioms)]

/// There is such a constant in no other package named `tokio`.
///
/// Cargo falls back to the real Tokio with a mere warning when a patch does not fit. A program that
/// must not be built that way says so:
///
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
