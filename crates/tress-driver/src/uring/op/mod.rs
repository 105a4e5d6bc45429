//! What can be asked of the kernel.
//!
//! An operation owns its buffers and keeps its descriptors open until the kernel is done. A descriptor is
//! anything that is [`AsFd`](std::os::fd::AsFd) and owned, such as an `Arc<OwnedFd>` shared with others.
//! Results are what the system call of the same name returns: reads and writes may be short.

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

/// An operation that [`Driver::submit`](crate::Driver::submit) takes. Those of this module, no others.
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
/// fn close_a_stranger<O: tress_driver::op::Operation>(mut op: O) {
///     op.discard(2);
/// }
/// ```
pub trait Operation: Prepare {
    /// The result, with whatever was lent to the kernel.
    type Output;

    /// # Safety
    /// If the result is `Ok` it is what the kernel has answered to this operation, which it does not have any
    /// more. Descriptors and bytes are believed to be there.
    #[doc(hidden)]
    unsafe fn finish(self, result: io::Result<u32>) -> Self::Output;
}

mod sealed {
    use io_uring::squeue::Entry;

    /// How an operation is put before the kernel.
    pub trait Prepare: Send + Sized + 'static {
        const OPCODE: u8;

        /// Whether an operation that a signal has interrupted can be done again.
        const REPEATS_IF_INTERRUPTED: bool = true;

        /// How often it is handed over again if the kernel says that it was cancelled, by nobody's wish. Most
        /// likely the thread that had handed it over is gone; but a file system (FUSE's server, say) may answer
        /// so too, as often as it is asked.
        const REPEATS_IF_CANCELLED: u32 = 8;

        /// The entry; asked for once. What it points to is in `self`, which stays where it is until the last result,
        /// or owned by it. It is good for as often as the kernel gives the operation back undone.
        fn entry(&mut self) -> Entry;

        /// The kernel has had it and has answered, whatever.
        fn answered(&mut self) {}

        /// Undoes what a result that nobody will hear of stands for. As the kernel gave it: a descriptor,
        /// for instance, or a negative number.
        ///
        /// # Safety
        /// It is what the kernel has answered to this operation, and nobody has seen it before.
        unsafe fn discard(&mut self, _value: i32) {}
    }
}

/// For what no file system answers, and what may wait for longer than any number of threads lives.
const AS_OFTEN_AS_IT_TAKES: u32 = u32::MAX;

/// The kernel takes no more than this in one go.
const LONGEST: usize = 0x7FFF_F000;

fn length(bytes: usize) -> u32 {
    bytes.min(LONGEST) as u32
}

pub(super) fn descriptor(fd: &impl AsFd) -> types::Fd {
    types::Fd(fd.as_fd().as_raw_fd())
}

/// Finds where the rest of a descriptor's reads is kept.
type KeptBy<F> = fn(&F) -> &Leftover;

/// Keeps what a read has received that nobody waits for.
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
