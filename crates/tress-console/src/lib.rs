//! A page in the browser that says what is wrong with a program on tress, served by the program itself.
//!
//! [`Console::builder`] starts the server, and [`from_environment`] starts it if the environment variable
//! `TRESS_CONSOLE` has an address. It runs on a thread of its own with a runtime of its own, so it answers while the
//! program is stuck.
//!
//! | path | answer |
//! |---|---|
//! | `/` | the page |
//! | `/api/snapshot` | findings, workers, spawn sites, locks and channels of all runtimes, as JSON |
//! | `/api/tasks` | tasks as JSON, with `runtime`, `site`, `state`, `q`, `offset` and `limit` |
//! | `/api/task/71` | one task, with the chain of what it waits for |
//! | `/api/events` | snapshots and what the workers do, as server-sent events |
//! | `/api/trace` | the last `seconds` of a `runtime`, in Perfetto's format |
//! | `/api/dump` | [`Handle::debug_dump`](tress::runtime::Handle::debug_dump) of all runtimes |
//! | `/metrics` | metrics in Prometheus's text format |
//!
//! Nothing here changes the program's state: there is no other method than GET and HEAD.
//!
//! # Security
//! The server listens on loopback addresses only, unless it has a token. With a token each request must carry it, as
//! `Authorization: Bearer …` or as `?token=…`. On a loopback address the `Host` header must name a loopback address or
//! `localhost`, so that a foreign page cannot reach the console under its own name. There is no encryption: use a
//! tunnel in networks that are not trusted.
//!
//! # Examples
//! ```
//! let console = tress_console::Console::builder().address("127.0.0.1:0").start()?;
//! println!("http://{}/", console.local_addr());
//! # Ok::<(), std::io::Error>(())
//! ```

#![warn(missing_docs, missing_debug_implementations)]
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

mod access;
mod builder;
mod connection;
mod console;
mod environment;
mod events;
mod feed;
mod json;
mod page;
mod prometheus;
mod recorded;
mod request;
mod response;
mod routes;
mod server;
mod source;
mod tasks;
mod watched;

pub use builder::Builder;
pub use console::Console;
pub use environment::from_environment;
