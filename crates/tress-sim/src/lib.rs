//! Deterministic simulation of unmodified programs.
//!
//! A service that is written for Tokio or for the standard library runs here as several *hosts* in one thread, on virtual
//! time, over a simulated network. Everything that it could see of the outside world is decided by one seed: the same
//! seed gives the same run.
//!
//! ```
//! use std::time::Duration;
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//! use tokio::net::{TcpListener, TcpStream};
//! use tress_sim::Builder;
//!
//! let mut sim = Builder::new().build();
//! sim.host("server", || async {
//!     let listener = TcpListener::bind("0.0.0.0:80").await?;
//!     loop {
//!         let (mut stream, _) = listener.accept().await?;
//!         tokio::spawn(async move { stream.write_all(b"hello").await });
//!     }
//! });
//! sim.client("client", async {
//!     let mut stream = TcpStream::connect("server:80").await?;
//!     let mut text = String::new();
//!     stream.read_to_string(&mut text).await?;
//!     assert_eq!(text, "hello");
//!     // A day takes no time.
//!     tokio::time::sleep(Duration::from_secs(24 * 60 * 60)).await;
//!     Ok(())
//! });
//! sim.set_duration(Duration::from_secs(100_000));
//! sim.run()?;
//! # Ok::<(), tress_sim::Error>(())
//! ```
//!
//! # How it works
//! This crate defines functions of the C library, such as `clock_gettime`, `connect`, `epoll_wait` and `pthread_create`,
//! in the program that it is linked into. On a thread of a simulated host they lead to a simulated kernel, on every other
//! thread to the real one. So no dependency has to be changed, renamed or configured: whatever a host's code calls,
//! the clock, the sockets and the threads that it gets are simulated.
//!
//! All threads of all hosts take turns on one thread of the system. One that waits lets the next one run; when all wait, time
//! jumps to the next event.
//!
//! # Systems
//! Linux on x86-64 and AArch64, with the GNU C library. On other systems this crate is empty.

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
#![warn(missing_docs, missing_debug_implementations)]
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

mod builder;
mod chaos;
mod disk;
mod draw;
mod faults;
mod fiber;
mod host;
mod kernel;
mod link;
mod name;
mod net;
mod program;
mod raw;
pub mod runner;
mod sim;
mod storage;
mod strict;
mod symbols;
mod time;
mod world;

pub use builder::{Builder, IpVersion, Policy};
pub use disk::DiskConfig;
pub use faults::{Fault, Faults, Happened};
pub use host::Ending;
pub use link::{Links, Packet, Protocol, Sent};
pub use name::{Matching, ToIpAddr, ToIpAddrs};
pub use net::{Latency, PacketKind};
pub use program::Args;
pub use sim::Sim;
pub use storage::Disk;
pub use tress_chaos::{assert_always, assert_sometimes, buggify, reachable, unreached};
pub use tress_macros::sim_test as test;
pub use world::{
    elapsed, established_tcp_stream_count, established_tcp_stream_count_on, hold, in_simulation,
    lookup, lookup_many, partition, partition_oneway, release, repair, repair_oneway,
    reverse_lookup, sim_elapsed, since_epoch,
};

/// What a host's program may fail with.
pub type Error = Box<dyn std::error::Error>;

/// What a host's program returns.
pub type Result<T = ()> = std::result::Result<T, Error>;
