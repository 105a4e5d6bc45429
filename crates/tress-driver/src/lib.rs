//! I/O for async runtimes: readiness by epoll, kqueue or IOCP, and operations by io_uring, behind one small
//! interface that knows wakers and nothing else.
//!
//! A [`Driver`] belongs to one thread, its owner, which [parks](Driver::park) in it when it has nothing to do.
//! One wait covers I/O, a timeout and [`unpark`](Driver::unpark) from other threads. There are two ways to use
//! it:
//!
//! - **Readiness**, on every system: [`Driver::register`] watches a non-blocking source, and the
//!   [`Registration`] wakes tasks when the source can be read or written.
//! - **Operations**, on Linux 5.7 and later: [`Driver::submit`] gives a read, a write or another operation of
//!   the module [`op`] to io_uring. The [`Submission`] is a future of the result, and returns the buffer with
//!   it. Elsewhere they are refused.
//!
//! # What is here
//!
//! - [`Config`], [`Choice`], [`Backend`]: which backend a driver has. The environment variable
//!   [`TRESS_IO`](ENVIRONMENT) overrides the default.
//! - [`Driver`], [`Turn`], [`Metrics`], [`Report`]: driving, waking, observing and closing.
//! - [`Source`], [`Interest`], [`Registration`], [`Readiness`], [`ReadyEvent`], [`Ready`], [`Direction`]:
//!   readiness.
//! - [`op`], [`Submission`]: operations with one result. [`Buffer`], [`BufferMut`] and [`Slice`] describe the
//!   memory that is lent to the kernel.
//! - [`MultiOperation`], [`Multishot`], [`AcceptMulti`], [`RecvMulti`], [`Pool`], [`PoolBuffer`]: operations
//!   with many results, and the buffers that they share.
//! - [`Leftover`]: keeps what a dropped read has received.
//! - [`Loan`]: a driver that the owner of another one drives.
//! - [`Gone`]: the error of everything after [`Driver::close`].
//!
//! # Driving
//!
//! Nothing happens unless a thread drives. The owner alternates between running tasks and
//! [`park`](Driver::park), and may take a [`turn`](Driver::turn) between tasks. If it is stuck in a task,
//! another thread can take a turn for it with [`try_adopt`](Driver::try_adopt).
//!
//! # Examples
//!
//! An executor for one task, which reads from a socket:
//! ```
//! # #[cfg(unix)] {
//! use std::future::Future;
//! use std::io::{Read, Write};
//! use std::os::unix::net::UnixStream;
//! use std::pin::pin;
//! use std::sync::Arc;
//! use std::task::{Context, Poll, Wake};
//! use tress_driver::{Config, Driver, Interest};
//!
//! /// A waker that unparks the driver, in which the executor parks.
//! struct Unpark(Arc<Driver>);
//! impl Wake for Unpark {
//!     fn wake(self: Arc<Self>) {
//!         self.0.unpark();
//!     }
//! }
//! fn block_on<T>(driver: &Arc<Driver>, future: impl Future<Output = T>) -> T {
//!     let waker = Arc::new(Unpark(driver.clone())).into();
//!     let mut future = pin!(future);
//!     loop {
//!         if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
//!             return value;
//!         }
//!         driver.park(None).expect("the driver can wait");
//!     }
//! }
//!
//! let driver = Arc::new(Driver::new(&Config::new())?);
//! let (mut near, mut far) = UnixStream::pair()?;
//! near.set_nonblocking(true)?;
//! let registration = driver.register(&mut near, Interest::READABLE)?;
//! let writer = std::thread::spawn(move || far.write_all(b"hello"));
//! let mut buffer = [0; 16];
//! let read = block_on(
//!     &driver,
//!     registration.async_io(Interest::READABLE, || near.read(&mut buffer)),
//! )?;
//! assert_eq!(&buffer[..read], b"hello");
//! # writer.join().unwrap()?;
//! # }
//! # std::io::Result::Ok(())
//! ```
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]
#![warn(missing_docs, missing_debug_implementations)]

mod config;
mod driver;
mod gone;
mod handover;
mod interest;
mod loan;
mod ready;
mod registration;
mod slot;
mod slots;
mod source;
mod token;
// The architectures for which the crate io-uring brings the kernel's definitions, as in Cargo.toml.
#[cfg_attr(
    not(all(
        target_os = "linux",
        any(
            target_arch = "x86_64",
            target_arch = "aarch64",
            target_arch = "riscv64",
            target_arch = "loongarch64",
            target_arch = "powerpc64"
        )
    )),
    path = "no_uring/mod.rs"
)]
mod uring;
mod wakers;

use tress_sys as sys;

pub use config::{Backend, Choice, Config, ENVIRONMENT};
pub use driver::{Driver, Metrics, Report, Turn};
pub use gone::Gone;
pub use interest::Interest;
pub use loan::Loan;
pub use ready::Ready;
pub use registration::{Direction, Readiness, Registration};
pub use slot::ReadyEvent;
pub use source::Source;
// All that is public there. The twin for systems without a ring lacks what no portable code names.
pub use uring::*;
