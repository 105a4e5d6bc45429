//! Operations on paths.
//!
//! A path is relative to a directory if one is given, else to the current directory.
//!
//! None of these runs on the thread that hands it over, where a server that does not answer (FUSE, a network
//! file system) would block the driver's owner. For all but `OpenAt` the kernel takes care of that: statx,
//! unlinkat, renameat, mkdirat, linkat and symlinkat always run on its worker threads, as do fsync, ftruncate,
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

/// Opens or creates a file, on a worker thread of the kernel.
///
/// Resolves to the descriptor, which is close-on-exec. Fails with any error of `openat(2)`.
///
/// Without a worker thread the kernel would try to open an existing file on the submitting thread. That waits
/// for no lookup, but does wait for the file system's own `open`, which for FUSE asks a server; and the attempt
/// is made with `O_NONBLOCK`, which opens a FIFO without its other end.
///
/// # Examples
/// ```
/// use std::fs::File;
/// use std::sync::Arc;
/// use tress_driver::{Config, Driver, op};
/// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
/// # fn block_on<T>(driver: &Driver, future: impl Future<Output = T>) -> T {
/// #     let mut future = pin!(future);
/// #     loop {
/// #         if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
/// #             return value;
/// #         }
/// #         driver.park(None).unwrap();
/// #     }
/// # }
///
/// const O_RDONLY: i32 = 0;
///
/// let driver = Arc::new(Driver::new(&Config::new())?);
/// if driver.supports::<op::OpenAt>() {
///     let open = op::OpenAt::new(None, c"/dev/null".into(), O_RDONLY, 0);
///     let file = File::from(block_on(&driver, driver.submit(open))?);
///     assert!(!file.metadata()?.is_dir());
/// }
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct OpenAt {
    directory: Directory,
    path: CString,
    flags: i32,
    mode: u32,
}

impl OpenAt {
    /// Creates an operation with the flags and the mode of `openat(2)`. `O_CLOEXEC` is added to the flags.
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

/// Wraps the descriptor that an operation has created.
///
/// # Safety
/// It is the result of an operation that creates one, and is passed here once.
pub(super) unsafe fn new_descriptor(fd: u32) -> OwnedFd {
    // SAFETY: the kernel has created it for this operation, so it is open and has no other owner.
    unsafe { OwnedFd::from_raw_fd(fd as i32) }
}

/// Returns the metadata of a file.
///
/// Resolves to a boxed `libc::statx`. Fails with any error of `statx(2)`.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use tress_driver::{Config, Driver, op};
/// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
/// # fn block_on<T>(driver: &Driver, future: impl Future<Output = T>) -> T {
/// #     let mut future = pin!(future);
/// #     loop {
/// #         if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
/// #             return value;
/// #         }
/// #         driver.park(None).unwrap();
/// #     }
/// # }
///
/// const STATX_SIZE: u32 = 0x200;
///
/// let driver = Arc::new(Driver::new(&Config::new())?);
/// if driver.supports::<op::Statx>() {
///     let stat = op::Statx::new(None, c"/dev/null".into(), 0, STATX_SIZE);
///     let metadata = block_on(&driver, driver.submit(stat))?;
///     assert_eq!(metadata.stx_size, 0);
/// }
/// # std::io::Result::Ok(())
/// ```
pub struct Statx {
    directory: Directory,
    path: CString,
    flags: i32,
    mask: u32,
    answer: Box<MaybeUninit<libc::statx>>,
}

impl Statx {
    /// Creates an operation with the flags and the mask of `statx(2)`. With `AT_EMPTY_PATH` and an empty path
    /// it describes the directory's descriptor itself.
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

/// Removes a file or an empty directory (Linux 5.11).
///
/// Fails with any error of `unlinkat(2)`.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use tress_driver::{Config, Driver, op};
/// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
/// # fn block_on<T>(driver: &Driver, future: impl Future<Output = T>) -> T {
/// #     let mut future = pin!(future);
/// #     loop {
/// #         if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
/// #             return value;
/// #         }
/// #         driver.park(None).unwrap();
/// #     }
/// # }
///
/// let driver = Arc::new(Driver::new(&Config::new())?);
/// if driver.supports::<op::UnlinkAt>() {
///     let unlink = op::UnlinkAt::new(None, c"/no/such/file".into(), 0);
///     let error = block_on(&driver, driver.submit(unlink)).unwrap_err();
///     assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
/// }
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct UnlinkAt {
    directory: Directory,
    path: CString,
    flags: i32,
}

impl UnlinkAt {
    /// Creates an operation that removes a file, or with the flag `AT_REMOVEDIR` a directory.
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

/// Creates a directory (Linux 5.15).
///
/// Fails with any error of `mkdirat(2)`.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use tress_driver::{Config, Driver, op};
/// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
/// # fn block_on<T>(driver: &Driver, future: impl Future<Output = T>) -> T {
/// #     let mut future = pin!(future);
/// #     loop {
/// #         if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
/// #             return value;
/// #         }
/// #         driver.park(None).unwrap();
/// #     }
/// # }
///
/// let driver = Arc::new(Driver::new(&Config::new())?);
/// if driver.supports::<op::MkDirAt>() {
///     let make = op::MkDirAt::new(None, c"/".into(), 0o755);
///     let error = block_on(&driver, driver.submit(make)).unwrap_err();
///     assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
/// }
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct MkDirAt {
    directory: Directory,
    path: CString,
    mode: u32,
}

impl MkDirAt {
    /// Creates an operation that creates a directory with `mode`, from which the process's umask is taken.
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

/// A path, relative to a directory or to the current one.
type Place = (Directory, CString);

/// Renames a file or a directory (Linux 5.11).
///
/// Fails with any error of `renameat2(2)`.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use tress_driver::{Config, Driver, op};
/// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
/// # fn block_on<T>(driver: &Driver, future: impl Future<Output = T>) -> T {
/// #     let mut future = pin!(future);
/// #     loop {
/// #         if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
/// #             return value;
/// #         }
/// #         driver.park(None).unwrap();
/// #     }
/// # }
///
/// let driver = Arc::new(Driver::new(&Config::new())?);
/// if driver.supports::<op::RenameAt>() {
///     let (from, to) = (c"/no/such/file".into(), c"/no/other/file".into());
///     let rename = op::RenameAt::new((None, from), (None, to), 0);
///     let error = block_on(&driver, driver.submit(rename)).unwrap_err();
///     assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
/// }
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct RenameAt {
    from: Place,
    to: Place,
    flags: u32,
}

impl RenameAt {
    /// Creates an operation that renames `from` to `to`, with the flags of `renameat2(2)`.
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

/// Creates a hard link to a file (Linux 5.15).
///
/// Fails with any error of `linkat(2)`.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use tress_driver::{Config, Driver, op};
/// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
/// # fn block_on<T>(driver: &Driver, future: impl Future<Output = T>) -> T {
/// #     let mut future = pin!(future);
/// #     loop {
/// #         if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
/// #             return value;
/// #         }
/// #         driver.park(None).unwrap();
/// #     }
/// # }
///
/// let driver = Arc::new(Driver::new(&Config::new())?);
/// if driver.supports::<op::LinkAt>() {
///     let (from, to) = (c"/no/such/file".into(), c"/no/other/file".into());
///     let link = op::LinkAt::new((None, from), (None, to), 0);
///     let error = block_on(&driver, driver.submit(link)).unwrap_err();
///     assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
/// }
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct LinkAt {
    from: Place,
    to: Place,
    flags: i32,
}

impl LinkAt {
    /// Creates an operation that makes `to` a further name of the file `from`, with the flags of `linkat(2)`.
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

/// Creates a symbolic link (Linux 5.15).
///
/// Fails with any error of `symlinkat(2)`.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use tress_driver::{Config, Driver, op};
/// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
/// # fn block_on<T>(driver: &Driver, future: impl Future<Output = T>) -> T {
/// #     let mut future = pin!(future);
/// #     loop {
/// #         if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
/// #             return value;
/// #         }
/// #         driver.park(None).unwrap();
/// #     }
/// # }
///
/// let driver = Arc::new(Driver::new(&Config::new())?);
/// if driver.supports::<op::SymlinkAt>() {
///     let link = op::SymlinkAt::new(c"target".into(), (None, c"/".into()));
///     let error = block_on(&driver, driver.submit(link)).unwrap_err();
///     assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
/// }
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct SymlinkAt {
    target: CString,
    link: Place,
}

impl SymlinkAt {
    /// Creates an operation that makes `link` a symbolic link to `target`.
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
