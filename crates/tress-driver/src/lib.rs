//! I/O for async runtimes: readiness by epoll, kqueue or IOCP, operations by io_uring, behind one
//! small interface that knows wakers and nothing else.
//!
//! A [`Driver`] is made for one thread, its owner, which [parks](Driver::park) in it when it has nothing
//! to do: one wait covers I/O, a timeout and [`unpark`](Driver::unpark). Sources that are
//! [registered](Driver::register) wake the wakers of those who wait for them. If the owner is stuck,
//! others may [take a turn](Driver::try_adopt) for it.
//!
//! # Examples
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
//! /// An executor of one task: parks in the driver, is woken by unparking it.
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
#[cfg(all(
    target_os = "linux",
    any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64",
        target_arch = "loongarch64",
        target_arch = "powerpc64"
    )
))]
mod uring;
#[cfg(not(all(
    target_os = "linux",
    any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64",
        target_arch = "loongarch64",
        target_arch = "powerpc64"
    )
)))]
#[path = "no_uring.rs"]
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
#[cfg(all(
    target_os = "linux",
    any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64",
        target_arch = "loongarch64",
        target_arch = "powerpc64"
    )
))]
pub use uring::{
    AcceptMulti, Leftover, MultiOperation, Multishot, Pool, PoolBuffer, RecvMulti, Submission, op,
};
pub use uring::{Buffer, BufferMut, Slice};
