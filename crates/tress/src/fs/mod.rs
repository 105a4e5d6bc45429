//! Asynchronous access to files and directories.
//!
//! The functions and types of this module do what their namesakes in [`std::fs`] do, without blocking
//! the thread that runs the task.
//!
//! | To | use |
//! |---|---|
//! | read or write a whole file | [`read`](read()), [`read_to_string`], [`write`](write()), [`copy`] |
//! | work on an open file | [`File`], [`OpenOptions`] |
//! | create directories | [`create_dir`], [`create_dir_all`], [`DirBuilder`] |
//! | list a directory | [`read_dir`] |
//! | remove | [`remove_file`], [`remove_dir`], [`remove_dir_all`] |
//! | rename and link | [`rename`], [`hard_link`], `symlink` (on Windows `symlink_dir` and `symlink_file`), [`read_link`] |
//! | ask about a path | [`metadata`], [`symlink_metadata`], [`try_exists`], [`canonicalize`] |
//! | change permissions | [`set_permissions`], [`File::set_permissions`] |
//!
//! A small file is best read and written as a whole: [`read`](read()) makes one trip to the blocking
//! pool, where a [`File`] makes one per operation that has to wait. Wrap a [`File`] that is read or
//! written in small pieces in a [`BufReader`](crate::io::BufReader) or a
//! [`BufWriter`](crate::io::BufWriter).
//!
//! # How operations are performed
//!
//! Operating systems do not report when a file is ready, as they do for sockets: a call returns when it
//! is done. Each operation therefore takes the first of these ways that is open to it:
//!
//! 1. Directly on the worker, if nothing but memory is involved (`RWF_NOWAIT` on Linux). A file in the
//!    page cache is read at the cost of the system call.
//! 2. As an operation of the worker's io_uring, in a runtime with I/O and on a kernel that supports it:
//!    reading, writing at an offset, syncing, truncating, and creating, renaming, linking and removing a
//!    single name.
//! 3. On the [blocking pool](crate::task::spawn_blocking).
//!
//! The blocking pool also performs some operations that io_uring knows:
//!
//! - Opening a file. The kernel would either try it on the worker, which a file system that does not
//!   answer would then block, or hand it to a slower pool of its own.
//! - Operations that consist of several calls, such as [`read`](read()) and [`copy`]: one trip to a
//!   thread and back costs less than three to the kernel.
//! - Writes of a [`File`] that would have to wait. They complete even if the runtime is shut down, and
//!   operations of a ring end with it.
//! - Operations at a position that a file [shares](File#shared-positions) with another.
//!
//! The outcome of an operation does not depend on the way it takes.
//!
//! # Errors
//!
//! In addition to the errors of the operating system, an operation fails with
//! [`ErrorKind::Other`](std::io::ErrorKind::Other) if the runtime shuts down before it is performed
//! (see [`is_shutdown_error`](crate::runtime::is_shutdown_error)) or if the queue of the blocking pool
//! is full.
//!
//! # Cancel safety
//!
//! Dropping the future of an operation that has started does not undo it. On the blocking pool the
//! operation runs to completion; on a ring it is cancelled, and may or may not have taken effect.
//! [`File`] describes what that means for its position and contents.
//!
//! # Panics
//!
//! Operations that have to wait panic outside of a [runtime](crate::runtime).
//!
//! # Examples
//!
//! ```
//! use tress::fs;
//! use tress::io::AsyncWriteExt;
//!
//! # #[tress::main]
//! # async fn main() -> std::io::Result<()> {
//! # let directory = std::env::temp_dir().join(format!("tress-doc-fs-{}", std::process::id()));
//! fs::create_dir_all(&directory).await?;
//! let path = directory.join("greeting");
//! let mut file = fs::File::create(&path).await?;
//! file.write_all(b"hello").await?;
//! file.flush().await?;
//! assert_eq!(fs::read_to_string(&path).await?, "hello");
//! fs::remove_dir_all(&directory).await?;
//! # Ok(())
//! # }
//! ```

mod dir_builder;
mod file;
mod file_times;
mod names;
mod open_options;
mod read_dir;
mod whole;

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod ring;
#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
#[path = "no_ring.rs"]
mod ring;

pub use dir_builder::DirBuilder;
pub use file::File;
pub use file_times::FileTimes;
#[cfg(unix)]
pub use names::symlink;
pub use names::{
    canonicalize, create_dir, create_dir_all, hard_link, metadata, read_link, remove_dir,
    remove_dir_all, remove_file, rename, set_permissions, symlink_metadata, try_exists,
};
#[cfg(windows)]
pub use names::{symlink_dir, symlink_file};
pub use open_options::OpenOptions;
pub use read_dir::{DirEntry, ReadDir, read_dir};
#[doc(no_inline)]
pub use std::fs::{FileType, Metadata, Permissions};
pub use whole::{copy, read, read_to_string, write};

use crate::io::offload;
use std::io;

/// Runs `f` on the blocking pool and waits for its result.
async fn blocking<R: Send + 'static>(
    f: impl FnOnce() -> io::Result<R> + Send + 'static,
) -> io::Result<R> {
    offload::spawn(f)?.await.map_err(offload::lost)?
}
