//! Operations that can be [submitted](crate::Driver::submit) to the kernel.
//!
//! - Open files: [`Read`], [`Write`], [`Readv`], [`Writev`], [`Fsync`], [`Ftruncate`], [`Fallocate`],
//!   [`Splice`], [`Close`].
//! - Paths: [`OpenAt`], [`Statx`], [`UnlinkAt`], [`MkDirAt`], [`RenameAt`], [`LinkAt`], [`SymlinkAt`].
//! - Sockets: [`Accept`], [`Connect`], [`Recv`], [`Send`], [`RecvMsg`], [`SendMsg`], [`Shutdown`], with
//!   [`Address`].
//! - Waiting: [`Poll`] for a descriptor, [`WaitId`] for a child process.
//!
//! An operation owns its buffers and descriptors until the kernel is done with them. A descriptor is any owned
//! type that is [`AsFd`](std::os::fd::AsFd), such as a `File`, or an `Arc<OwnedFd>` that is shared with others.
//!
//! Results are those of the system call of the same name: reads and writes may be short, and errors are those
//! that its manual page lists. An operation that a signal interrupts, or that is cancelled because the thread
//! that submitted it has exited, is repeated by the driver.
//!
//! Every ring that a driver uses (Linux 5.7) knows an operation unless its page names a later version.
//! [`Driver::supports`](crate::Driver::supports) tells whether the running kernel knows one.
//!
//! # Examples
//! ```
//! use std::fs::File;
//! use std::sync::Arc;
//! use tress_driver::{Config, Driver, op};
//! # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
//! # fn block_on<T>(driver: &Driver, future: impl Future<Output = T>) -> T {
//! #     let mut future = pin!(future);
//! #     loop {
//! #         if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
//! #             return value;
//! #         }
//! #         driver.park(None).unwrap();
//! #     }
//! # }
//!
//! let driver = Arc::new(Driver::new(&Config::new())?);
//! if driver.supports::<op::Write<Arc<File>, &'static str>>() {
//!     let file = Arc::new(File::create("/dev/null")?);
//!     let write = driver.submit(op::Write::next(file.clone(), "hello"));
//!     let (written, _text) = block_on(&driver, write);
//!     assert_eq!(written?, 5);
//! }
//! # std::io::Result::Ok(())
//! ```

mod file;
mod path;
mod process;
mod socket;

pub use file::{Close, Fallocate, Fsync, Ftruncate, Read, Readv, Splice, Write, Writev};
pub use path::{LinkAt, MkDirAt, OpenAt, RenameAt, Statx, SymlinkAt, UnlinkAt};
pub use process::{ChildState, Poll, WaitId};
pub use socket::{Accept, Address, Connect, Recv, RecvMsg, Send, SendMsg, Shutdown};

pub(crate) use sealed::Prepare;

use super::buffer::BufferMut;
use super::leftover::{Leftover, Orphan};
use io_uring::types;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// An operation for [`Driver::submit`](crate::Driver::submit). Implemented by the types of this module only.
///
/// What the kernel has answered can be claimed by the driver only:
/// ```compile_fail,E0133
/// use std::fs::File;
/// use tress_driver::op::{self, Operation};
///
/// let read = op::Read::at(File::open("/dev/null")?, Vec::with_capacity(8), 0);
/// let (_, longer_than_its_memory) = read.finish(Ok(1 << 20));
/// # std::io::Result::Ok(())
/// ```
/// ```compile_fail,E0133
/// fn close_another_descriptor<O: tress_driver::op::Operation>(mut op: O) {
///     op.discard(2);
/// }
/// ```
pub trait Operation: Prepare {
    /// The result, with whatever was lent to the kernel.
    type Output;

    /// Converts the kernel's result to the output.
    ///
    /// # Safety
    /// If the result is `Ok`, it is what the kernel has answered to this operation, which the kernel does not
    /// have any more. Descriptors and bytes are believed to be there.
    #[doc(hidden)]
    unsafe fn finish(self, result: io::Result<u32>) -> Self::Output;
}

mod sealed {
    use io_uring::squeue::Entry;

    /// How an operation is described to the kernel.
    pub trait Prepare: Send + Sized + 'static {
        const OPCODE: u8;

        /// Whether an operation that a signal has interrupted can be repeated.
        const REPEATS_IF_INTERRUPTED: bool = true;

        /// Maximum number of times that it is handed over again if the kernel says that it was cancelled,
        /// although the driver did not ask for that. Most likely the thread that had handed it over has exited;
        /// but a file system (a FUSE server, say) may give the same answer each time.
        const REPEATS_IF_CANCELLED: u32 = 8;

        /// Returns the entry. Called once. What it points to is owned by `self`, which stays in place until the
        /// last result. The entry stays valid each time the kernel gives the operation back undone.
        fn entry(&mut self) -> Entry;

        /// Notes that the kernel has answered, with whatever result.
        fn answered(&mut self) {}

        /// Undoes what a result stands for that will not be fetched. The value is the kernel's: a descriptor,
        /// for instance, or a negative error number.
        ///
        /// # Safety
        /// It is what the kernel has answered to this operation, and was passed to nothing else.
        unsafe fn discard(&mut self, _value: i32) {}
    }
}

/// No limit: for operations that no file system answers, and that may wait for longer than many threads live.
const AS_OFTEN_AS_IT_TAKES: u32 = u32::MAX;

/// Maximum number of bytes that the kernel takes in one operation.
const LONGEST: usize = 0x7FFF_F000;

fn length(bytes: usize) -> u32 {
    bytes.min(LONGEST) as u32
}

pub(super) fn descriptor(fd: &impl AsFd) -> types::Fd {
    types::Fd(fd.as_fd().as_raw_fd())
}

/// Returns where a descriptor keeps the bytes of its dropped reads.
type KeptBy<F> = fn(&F) -> &Leftover;

/// Keeps what a dropped read has received.
///
/// # Safety
/// It is the result of a read into this buffer.
unsafe fn keep(leftover: &Leftover, buffer: &mut impl BufferMut, value: i32) {
    Orphan::new(leftover).keep(value, |n| {
        // With `MSG_TRUNC` the kernel reports more than there was room for.
        let n = n.min(buffer.room());
        // SAFETY: by the caller's promise the kernel has filled that much.
        unsafe { buffer.set_filled(n) };
        &buffer.bytes()[..n]
    });
}
