//! tress: one runtime for futures, coroutines and processes, on one adaptive work-stealing scheduler.
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
//!
//! | to … | see |
//! |---|---|
//! | run tasks, wait for them, end them | [`task`], [`spawn`], [`select!`], [`join!`] |
//! | wait for time to pass, or no longer | [`time`] |
//! | talk between tasks, share, limit | [`sync`]; many receivers: [`channel`] |
//! | write what blocks, or computes for long | [`task::spawn_blocking`], [`dispatch`] |
//! | write it without `async` | `coroutine` |
//! | use sockets, files, child processes, signals | `net`, `fs`, `process`, `signal`, by the traits of [`io`] |
//! | end a program in good order | [`shutdown`] |
//! | choose threads and limits, or see what they do | [`runtime::Builder`], [`trace`] |
//! | have processes with mailboxes and supervisors | the crate `tress-actor` |
//!
//! # Features
//! | feature | what it adds |
//! |---|---|
//! | `fs`, `net`, `process`, `signal`, `macros` | the modules of these names, and `#[tress::main]` and `#[tress::test]`; on by default |
//! | `coroutine` | the module `coroutine`, on Unix |
//! | `driver` | `io::AsyncFd` alone; the first four bring it along |
//! | `stream`, `sink` | `Stream` for receivers, intervals and sets of tasks; `Sink` for senders |
//! | `bytes` | `Buf` and `BufMut` for reading and writing |
//! | `futures-io`, `hyper` | `io::compat`, `io::hyper`: the traits of these crates |
//! | `diagnostics` | names of functions in the backtraces of slow polls |
//! | `tokio-words` | panics in Tokio's words, for the facade of that name |

#![warn(missing_docs, missing_debug_implementations, rust_2018_idioms)]

mod blocking;
pub mod channel;
#[cfg(all(feature = "coroutine", unix, not(loom)))]
pub mod coroutine;
#[cfg(not(loom))]
pub mod dispatch;
// What of it has models.
#[cfg(all(test, loom))]
mod dispatch {
    mod ready;
}
#[cfg(feature = "fs")]
pub mod fs;
pub mod future;
pub mod io;
mod json;
#[doc(hidden)]
pub mod macros;
#[cfg(feature = "net")]
pub mod net;
// What of it has models, which do without I/O.
#[cfg(all(test, loom, not(feature = "net")))]
mod net {
    mod pooled {
        #[allow(dead_code, reason = "buffers are filled by what is not modelled")]
        mod shelf;
    }
}
#[cfg(all(any(unix, windows), feature = "process"))]
pub mod process;
pub mod runtime;
mod scheduler;
pub mod shutdown;
#[cfg(all(any(unix, windows), feature = "signal"))]
pub mod signal;
#[cfg(any(feature = "sink", feature = "stream"))]
pub mod stream;
pub mod sync;
pub mod task;
pub mod time;
pub mod trace;
mod words;

use tress_sys as sys;

pub use task::spawn;

#[cfg(feature = "macros")]
pub use tress_macros::{main, test};
