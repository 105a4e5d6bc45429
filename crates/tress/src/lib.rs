//! An async runtime for futures, coroutines and processes, on one adaptive work-stealing scheduler.
//!
//! - **Futures** are spawned as tasks, with timers, synchronisation, channels, and I/O on io_uring or the
//!   readiness API of the system.
//! - **Coroutines** are blocking-style functions on small stacks of their own, which are tasks in every
//!   respect (feature `coroutine`).
//! - **Processes** are state machines with mailboxes, links and supervisors, in the crate `tress-actor`.
//!
//! The API uses Tokio's names where Tokio has the item.
//!
//! # Where to start
//!
//! | To | see |
//! |---|---|
//! | spawn tasks, wait for them, cancel them | [`spawn`], [`task`], [`join!`], [`select!`], [`future`] |
//! | wait for some time, or for a limited time | [`time`] |
//! | synchronise tasks and share data | [`sync`] |
//! | send messages to one receiver or to many | [`sync::mpsc`], [`channel`] |
//! | run code that blocks or computes for long | [`task::spawn_blocking`], [`dispatch`] |
//! | write blocking-style code | `coroutine` |
//! | use sockets, files, child processes and signals | `net`, `fs`, `process`, `signal`, with the traits of [`io`] |
//! | use streams and sinks | `stream` |
//! | shut down in an orderly way | [`shutdown`] |
//! | configure a runtime | [`runtime::Builder`] |
//! | observe a runtime | [`runtime::RuntimeMetrics`], [`trace`] |
//!
//! # Runtimes
//!
//! Tasks, timers and I/O belong to a [`runtime::Runtime`]. The attributes `#[tress::main]` and
//! `#[tress::test]` build one for a function; [`runtime::Builder`] builds one with other options.
//!
//! # Features
//!
//! | Feature | Adds |
//! |---|---|
//! | `fs`, `net`, `process`, `signal` | the modules of these names; on by default |
//! | `extra` | the modules `channel`, `dispatch`, `future` and `shutdown`, [`task::scope`](task::scope()), [`sync::CancellationToken`], sockets for sequenced packets, many datagrams in one call; on by default |
//! | `pooled` | `net::Pooled`; on by default |
//! | `macros` | `#[tress::main]` and `#[tress::test]`; on by default |
//! | `coroutine` | the module `coroutine`, on Unix |
//! | `driver` | `io::AsyncFd`; implied by `fs`, `net`, `process` and `signal` |
//! | `stream`, `sink` | the module `stream`: `Stream` for receivers, intervals and sets of tasks, and `Sink` for senders |
//! | `bytes` | reading into `BufMut` and writing from `Buf` |
//! | `futures-io` | `io::compat`: the I/O traits of that crate |
//! | `diagnostics` | names of functions in the backtraces of slow polls |
//! | `tokio-words` | panic messages in Tokio's words, for a facade with Tokio's API |
//!
//! # Examples
//!
//! ```
//! use tress::time::{sleep, Duration};
//!
//! #[tress::main]
//! async fn main() {
//!     let task = tress::spawn(async {
//!         sleep(Duration::from_millis(1)).await;
//!         "hello from a task"
//!     });
//!     println!("{}", task.await.unwrap());
//! }
//! ```

#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]
#![warn(missing_docs, missing_debug_implementations, rust_2018_idioms)]
#![cfg_attr(
    any(not(feature = "extra"), not(feature = "sight"), loom),
    allow(dead_code, unused_imports, reason = "parts that only its modules use")
)]

mod blocking;
#[cfg(feature = "pooled")]
mod buffers;
// The part of it that has models, which need no I/O.
#[cfg(all(test, loom, not(feature = "pooled")))]
mod buffers {
    #[allow(dead_code, reason = "buffers are filled by what is not modelled")]
    mod shelf;
}
#[cfg(feature = "extra")]
pub mod channel;
mod context;
#[cfg(all(feature = "coroutine", unix, not(loom)))]
pub mod coroutine;
#[cfg(all(feature = "extra", not(loom)))]
pub mod dispatch;
#[cfg(feature = "fs")]
pub mod fs;
#[cfg(feature = "extra")]
pub mod future;
mod identity;
pub mod io;
mod json;
#[doc(hidden)]
pub mod macros;
#[cfg(all(test, loom))]
mod model;
#[cfg(feature = "net")]
pub mod net;
#[cfg(all(any(unix, windows), feature = "process"))]
pub mod process;
mod queue;
pub mod runtime;
mod scheduler;
#[cfg(feature = "extra")]
mod scope;
#[cfg(feature = "extra")]
pub mod shutdown;
mod sight;
#[cfg(all(any(unix, windows), feature = "signal"))]
pub mod signal;
mod spans;
#[cfg(any(feature = "sink", feature = "stream"))]
pub mod stream;
pub mod sync;
pub mod task;
pub mod time;
mod timer;
pub mod trace;
mod wait;
mod words;

use tress_sys as sys;

pub use task::spawn;

#[cfg(feature = "macros")]
pub use tress_macros::{main, test};
