//! Operations that are [refused](crate::Driver::submit) on this system, because it has no io_uring.
//!
//! They are made and submitted as everywhere, and give back what was to be lent to the kernel.

pub(crate) use sealed::Prepare;

use super::buffer::{Buffer, BufferMut};
use super::leftover::Leftover;
use std::fmt;
use std::io;
use std::marker::{PhantomData, Send as SendMarker};

/// An operation for [`Driver::submit`](crate::Driver::submit). Implemented by the types of this module only.
pub trait Operation: Prepare {
    /// The result, with whatever was to be lent to the kernel.
    type Output;

    /// Returns the error, with what the operation owns.
    #[doc(hidden)]
    fn refuse(self, error: io::Error) -> Self::Output;
}

mod sealed {
    pub trait Prepare: Send + Sized + 'static {}
}

/// Operations on a descriptor `F` with a buffer.
macro_rules! transfers {
    ($($(#[$doc:meta])* $Name:ident with $Memory:ident { $($make:ident($($flag:ty),*)),* })*) => {$(
        $(#[$doc])*
        pub struct $Name<F, B> {
            buffer: B,
            on: PhantomData<F>,
        }

        impl<F, B> $Name<F, B> {
            $(
                /// Creates the operation.
                pub fn $make(_: F, buffer: B $(, _: $flag)*) -> Self {
                    $Name { buffer, on: PhantomData }
                }
            )*
        }

        impl<F: SendMarker + 'static, B: $Memory> Prepare for $Name<F, B> {}

        impl<F: SendMarker + 'static, B: $Memory> Operation for $Name<F, B> {
            type Output = (io::Result<usize>, B);

            fn refuse(self, error: io::Error) -> Self::Output {
                (Err(error), self.buffer)
            }
        }

        impl<F, B> fmt::Debug for $Name<F, B> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($Name))
            }
        }
    )*};
}

transfers! {
    /// Reads from a file or another descriptor.
    Read with BufferMut { at(u64), next() }
    /// Writes to a file or another descriptor.
    Write with Buffer { at(u64), next() }
    /// Receives from a socket.
    Recv with BufferMut { new(i32) }
    /// Sends on a socket.
    Send with Buffer { new(i32) }
}

impl<F, B> Read<F, B> {
    /// Changes nothing: the read is refused.
    pub fn apart(self) -> Self {
        self
    }

    /// Changes nothing: the read receives nothing.
    pub fn keeping(self, _: fn(&F) -> &Leftover) -> Self {
        self
    }
}

impl<F, B> Write<F, B> {
    /// Changes nothing: the write is refused.
    pub fn apart(self) -> Self {
        self
    }
}

impl<F, B> Recv<F, B> {
    /// Changes nothing: the receive receives nothing.
    pub fn keeping(self, _: fn(&F) -> &Leftover) -> Self {
        self
    }
}

/// Operations without a buffer.
macro_rules! requests {
    ($(
        $(#[$doc:meta])*
        $Name:ident$(<$F:ident>)? -> $Output:ty { $($make:ident($($part:ty),*)),* }
    )*) => {$(
        $(#[$doc])*
        pub struct $Name$(<$F>)?(PhantomData<($($F,)?)>);

        impl$(<$F>)? $Name$(<$F>)? {
            $(
                /// Creates the operation.
                pub fn $make($(_: $part),*) -> Self {
                    $Name(PhantomData)
                }
            )*
        }

        impl$(<$F: SendMarker + 'static>)? Prepare for $Name$(<$F>)? {}

        impl$(<$F: SendMarker + 'static>)? Operation for $Name$(<$F>)? {
            type Output = io::Result<$Output>;

            fn refuse(self, error: io::Error) -> Self::Output {
                Err(error)
            }
        }

        impl$(<$F>)? fmt::Debug for $Name$(<$F>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($Name))
            }
        }
    )*};
}

requests! {
    /// Waits until a file's contents have reached the disk.
    Fsync<F> -> () { all(F), data(F) }
    /// Changes the length of a file.
    Ftruncate<F> -> () { new(F, u64) }
}

#[cfg(target_os = "linux")]
pub use path::{LinkAt, MkDirAt, RenameAt, Statx, SymlinkAt, UnlinkAt};

#[cfg(target_os = "linux")]
mod path {
    use super::*;
    use std::ffi::CString;
    use std::os::fd::OwnedFd;
    use std::sync::Arc;

    type Directory = Option<Arc<OwnedFd>>;

    requests! {
        /// Asks for the metadata of a path.
        Statx -> Box<libc::statx> { new(Directory, CString, i32, u32) }
        /// Removes a name.
        UnlinkAt -> () { new(Directory, CString, i32) }
        /// Creates a directory.
        MkDirAt -> () { new(Directory, CString, u32) }
        /// Renames a file or directory.
        RenameAt -> () { new((Directory, CString), (Directory, CString), u32) }
        /// Creates another name of a file.
        LinkAt -> () { new((Directory, CString), (Directory, CString), i32) }
        /// Creates a symbolic link.
        SymlinkAt -> () { new(CString, (Directory, CString)) }
    }
}
