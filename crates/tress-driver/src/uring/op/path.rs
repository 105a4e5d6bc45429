//! Operations on names in file systems.
//!
//! A name is relative to a directory if one is given, else to the current one.
//!
//! None of these is done on the thread that hands it over, where a server that does not answer (FUSE, a
//! network) would hold up the driver's owner. The kernel sees to that itself for all but `OpenAt`: statx,
//! unlinkat, renameat, mkdirat, linkat and symlinkat go to its own threads always, as do fsync, ftruncate,
//! fallocate and splice of the operations on open files, and a close that has something to flush.

use super::{Operation, Prepare};
use io_uring::squeue::{Entry, Flags};
use io_uring::{opcode, types};
use std::ffi::CString;
use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;

type Directory = Option<Arc<OwnedFd>>;

fn directory(directory: &Directory) -> types::Fd {
    types::Fd(
        directory
            .as_ref()
            .map_or(libc::AT_FDCWD, |fd| fd.as_raw_fd()),
    )
}

/// Opens or creates a file, on a thread of the kernel's.
///
/// Left to itself the kernel would try at once to open a file that it need not make or empty. That waits for
/// no lookup, but for the file system's own `open`: FUSE's asks its server. And the attempt is one with
/// `O_NONBLOCK`, by which a FIFO opens without its other end.
#[derive(Debug)]
pub struct OpenAt {
    directory: Directory,
    path: CString,
    flags: i32,
    mode: u32,
}

impl OpenAt {
    /// With the flags and the mode of `openat`. The descriptor is always closed on `exec`.
    pub fn new(directory: Option<Arc<OwnedFd>>, path: CString, flags: i32, mode: u32) -> Self {
        OpenAt {
            directory,
            path,
            flags: flags | libc::O_CLOEXEC,
            mode,
        }
    }
}

impl Prepare for OpenAt {
    const OPCODE: u8 = opcode::OpenAt::CODE;

    fn entry(&mut self) -> Entry {
        opcode::OpenAt::new(directory(&self.directory), self.path.as_ptr())
            .flags(self.flags)
            .mode(self.mode)
            .build()
            .flags(Flags::ASYNC)
    }

    unsafe fn discard(&mut self, value: i32) {
        // SAFETY: by the caller's promise it is the result, or an error.
        drop(u32::try_from(value).map(|fd| unsafe { new_descriptor(fd) }));
    }
}

impl Operation for OpenAt {
    type Output = io::Result<OwnedFd>;

    unsafe fn finish(self, result: io::Result<u32>) -> Self::Output {
        // SAFETY: by the caller's promise it is the result.
        result.map(|fd| unsafe { new_descriptor(fd) })
    }
}

/// The descriptor that an operation has made.
///
/// # Safety
/// It is the result of an operation that makes one, and this is the only look at it.
pub(super) unsafe fn new_descriptor(fd: u32) -> OwnedFd {
    // SAFETY: the kernel has made it for this operation, so it is open and nobody else's.
    unsafe { OwnedFd::from_raw_fd(fd as i32) }
}

/// Asks for what is known about a file.
pub struct Statx {
    directory: Directory,
    path: CString,
    flags: i32,
    mask: u32,
    answer: Box<MaybeUninit<libc::statx>>,
}

impl Statx {
    /// With the flags and the mask of `statx`. With `AT_EMPTY_PATH` and an empty path it asks about the
    /// descriptor itself.
    pub fn new(directory: Option<Arc<OwnedFd>>, path: CString, flags: i32, mask: u32) -> Self {
        Statx {
            directory,
            path,
            flags,
            mask,
            answer: Box::new(MaybeUninit::zeroed()),
        }
    }
}

impl Prepare for Statx {
    const OPCODE: u8 = opcode::Statx::CODE;

    fn entry(&mut self) -> Entry {
        opcode::Statx::new(
            directory(&self.directory),
            self.path.as_ptr(),
            self.answer.as_mut_ptr().cast(),
        )
        .flags(self.flags)
        .mask(self.mask)
        .build()
    }
}

impl Operation for Statx {
    type Output = io::Result<Box<libc::statx>>;

    unsafe fn finish(self, result: io::Result<u32>) -> Self::Output {
        // SAFETY: all integers, zeroed at first and then written by the kernel.
        result.map(|_| unsafe { self.answer.assume_init() })
    }
}

impl fmt::Debug for Statx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Statx")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// Removes a name.
#[derive(Debug)]
pub struct UnlinkAt {
    directory: Directory,
    path: CString,
    flags: i32,
}

impl UnlinkAt {
    /// Of a file, or with `AT_REMOVEDIR` of a directory.
    pub fn new(directory: Option<Arc<OwnedFd>>, path: CString, flags: i32) -> Self {
        UnlinkAt {
            directory,
            path,
            flags,
        }
    }
}

impl Prepare for UnlinkAt {
    const OPCODE: u8 = opcode::UnlinkAt::CODE;

    fn entry(&mut self) -> Entry {
        opcode::UnlinkAt::new(directory(&self.directory), self.path.as_ptr())
            .flags(self.flags)
            .build()
    }
}

impl Operation for UnlinkAt {
    type Output = io::Result<()>;

    unsafe fn finish(self, result: io::Result<u32>) -> Self::Output {
        result.map(drop)
    }
}

/// Makes a directory.
#[derive(Debug)]
pub struct MkDirAt {
    directory: Directory,
    path: CString,
    mode: u32,
}

impl MkDirAt {
    /// With this mode.
    pub fn new(directory: Option<Arc<OwnedFd>>, path: CString, mode: u32) -> Self {
        MkDirAt {
            directory,
            path,
            mode,
        }
    }
}

impl Prepare for MkDirAt {
    const OPCODE: u8 = opcode::MkDirAt::CODE;

    fn entry(&mut self) -> Entry {
        opcode::MkDirAt::new(directory(&self.directory), self.path.as_ptr())
            .mode(self.mode)
            .build()
    }
}

impl Operation for MkDirAt {
    type Output = io::Result<()>;

    unsafe fn finish(self, result: io::Result<u32>) -> Self::Output {
        result.map(drop)
    }
}

/// A name in a directory, or in the current one.
type Place = (Directory, CString);

/// Gives a file another name.
#[derive(Debug)]
pub struct RenameAt {
    from: Place,
    to: Place,
    flags: u32,
}

impl RenameAt {
    /// With the flags of `renameat2`.
    pub fn new(
        from: (Option<Arc<OwnedFd>>, CString),
        to: (Option<Arc<OwnedFd>>, CString),
        flags: u32,
    ) -> Self {
        RenameAt { from, to, flags }
    }
}

impl Prepare for RenameAt {
    const OPCODE: u8 = opcode::RenameAt::CODE;

    fn entry(&mut self) -> Entry {
        opcode::RenameAt::new(
            directory(&self.from.0),
            self.from.1.as_ptr(),
            directory(&self.to.0),
            self.to.1.as_ptr(),
        )
        .flags(self.flags)
        .build()
    }
}

impl Operation for RenameAt {
    type Output = io::Result<()>;

    unsafe fn finish(self, result: io::Result<u32>) -> Self::Output {
        result.map(drop)
    }
}

/// Gives a file one more name.
#[derive(Debug)]
pub struct LinkAt {
    from: Place,
    to: Place,
    flags: i32,
}

impl LinkAt {
    /// With the flags of `linkat`.
    pub fn new(
        from: (Option<Arc<OwnedFd>>, CString),
        to: (Option<Arc<OwnedFd>>, CString),
        flags: i32,
    ) -> Self {
        LinkAt { from, to, flags }
    }
}

impl Prepare for LinkAt {
    const OPCODE: u8 = opcode::LinkAt::CODE;

    fn entry(&mut self) -> Entry {
        opcode::LinkAt::new(
            directory(&self.from.0),
            self.from.1.as_ptr(),
            directory(&self.to.0),
            self.to.1.as_ptr(),
        )
        .flags(self.flags)
        .build()
    }
}

impl Operation for LinkAt {
    type Output = io::Result<()>;

    unsafe fn finish(self, result: io::Result<u32>) -> Self::Output {
        result.map(drop)
    }
}

/// Makes a symbolic link.
#[derive(Debug)]
pub struct SymlinkAt {
    target: CString,
    link: Place,
}

impl SymlinkAt {
    /// At `link`, leading to `target`.
    pub fn new(target: CString, link: (Option<Arc<OwnedFd>>, CString)) -> Self {
        SymlinkAt { target, link }
    }
}

impl Prepare for SymlinkAt {
    const OPCODE: u8 = opcode::SymlinkAt::CODE;

    fn entry(&mut self) -> Entry {
        opcode::SymlinkAt::new(
            directory(&self.link.0),
            self.target.as_ptr(),
            self.link.1.as_ptr(),
        )
        .build()
    }
}

impl Operation for SymlinkAt {
    type Output = io::Result<()>;

    unsafe fn finish(self, result: io::Result<u32>) -> Self::Output {
        result.map(drop)
    }
}
