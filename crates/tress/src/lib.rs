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
mod sys;
pub mod task;
pub mod time;
pub mod trace;
mod words;

pub use task::spawn;

#[cfg(feature = "macros")]
pub use tress_macros::{main, test};
