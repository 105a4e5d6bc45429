//! Files and directories.
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
//!
//! # How it is done
//! Operating systems have no readiness for files: a call returns when it is done. Three ways around
//! that, of which each operation takes the first it can:
//!
//! 1. Reads and writes that touch nothing but memory are made at once (Linux: `RWF_NOWAIT`). A file
//!    that is in the page cache is read as fast as the system call.
//! 2. What io_uring can do, in a runtime with I/O and a kernel that has it, is an operation of the
//!    worker's ring: reading, positional writing, syncing, truncating, and removing, renaming, linking
//!    and making single names.
//! 3. The rest is done by the blocking pool. So is opening, which the kernel would either try on the worker,
//!    where a file system that does not answer stops it, or leave to a slower pool of its own. So is
//!    everything that takes several calls, such as [`read`](read()) or [`copy`]: one way to a thread and
//!    back costs less than three to the kernel. And so are a [`File`]'s writes that would wait: they are
//!    promised to be made even if the runtime is shut down, and operations of a ring end with it. So is
//!    what a file does at a position that it [shares](File).
//!
//! What an operation does is the same on each way.
//!
//! # Cancel safety
//! Dropping the future of an operation that has begun does not undo it. On the blocking pool it goes on;
//! on a ring it is cancelled, and may have happened or not. [`File`] says what that means for its
//! position and contents.
//!
//! # Panics
//! Everything here that has to wait needs a [runtime](crate::runtime), and panics without one.

mod dir_builder;
mod file;
mod names;
mod open_options;
mod read_dir;
mod whole;

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
mod ring;
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
#[path = "no_ring.rs"]
mod ring;

pub use dir_builder::DirBuilder;
pub use file::File;
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
pub use std::fs::{FileTimes, FileType, Metadata, Permissions};
pub use whole::{copy, read, read_to_string, write};

use crate::io::offload;
use std::io;

/// Has the blocking pool do it.
async fn blocking<R: Send + 'static>(
    f: impl FnOnce() -> io::Result<R> + Send + 'static,
) -> io::Result<R> {
    offload::spawn(f, false)?.await.map_err(offload::lost)?
}
