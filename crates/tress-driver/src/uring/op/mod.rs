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

use io_uring::types;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// An operation that [`Driver::submit`](crate::Driver::submit) takes. Those of this module, no others.
pub trait Operation: Prepare {
    /// The result, with whatever was lent to the kernel.
    type Output;

    #[doc(hidden)]
    fn finish(self, result: io::Result<u32>) -> Self::Output;
}

mod sealed {
    use io_uring::squeue::Entry;

    /// How an operation is put before the kernel.
    pub trait Prepare: Send + Sized + 'static {
        const OPCODE: u8;

        /// Whether an operation that a signal has interrupted can be done again.
        const REPEATS_IF_INTERRUPTED: bool = true;

        /// The entry. What it points to is in `self`, which stays where it is until the last result, or
        /// owned by it.
        fn entry(&mut self) -> Entry;

        /// Undoes what a result that nobody will hear of stands for. As the kernel gave it: a descriptor,
        /// for instance, or a negative number.
        fn discard(&mut self, _value: i32) {}
    }
}

/// The kernel takes no more than this in one go.
const LONGEST: usize = 0x7FFF_F000;

fn length(bytes: usize) -> u32 {
    bytes.min(LONGEST) as u32
}

pub(super) fn descriptor(fd: &impl AsFd) -> types::Fd {
    types::Fd(fd.as_fd().as_raw_fd())
}
