//! The twin of `ring` for systems without io_uring, where the blocking pool does everything.

use super::file::{Memory, Refusal};
use std::fs::File;
use std::future::Ready;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// An operation in progress, which never exists here.
type UnderWay<T> = Ready<T>;

pub(super) fn exists(_: &Path) -> Option<UnderWay<io::Result<bool>>> {
    None
}

pub(super) fn remove_file(_: &Path) -> Option<UnderWay<io::Result<()>>> {
    None
}

pub(super) fn remove_dir(_: &Path) -> Option<UnderWay<io::Result<()>>> {
    None
}

#[cfg(unix)]
pub(super) fn create_dir(_: &Path, _: u32) -> Option<UnderWay<io::Result<()>>> {
    None
}

pub(super) fn rename(_: &Path, _: &Path) -> Option<UnderWay<io::Result<()>>> {
    None
}

pub(super) fn hard_link(_: &Path, _: &Path) -> Option<UnderWay<io::Result<()>>> {
    None
}

#[cfg(unix)]
pub(super) fn symlink(_: &Path, _: &Path) -> Option<UnderWay<io::Result<()>>> {
    None
}

pub(super) fn sync_all(_: &Arc<File>) -> Option<UnderWay<io::Result<()>>> {
    None
}

pub(super) fn sync_data(_: &Arc<File>) -> Option<UnderWay<io::Result<()>>> {
    None
}

/// A change of the length of a file, in progress.
pub(super) type SetLen = UnderWay<io::Result<()>>;

pub(super) fn set_len(_: &Arc<File>, _: u64) -> Option<SetLen> {
    None
}

/// A read at the position of the file, in progress.
pub(super) type Read = UnderWay<io::Result<Memory>>;

pub(super) fn read(_: &Arc<File>, bytes: Memory, _: usize, _: Refusal) -> Result<Read, Memory> {
    Err(bytes)
}

pub(super) fn read_into<B>(
    _: &Arc<File>,
    buffer: B,
    _: Option<u64>,
    _: Refusal,
) -> Result<UnderWay<(io::Result<usize>, B)>, B> {
    Err(buffer)
}

pub(super) fn write_from<B>(
    _: &Arc<File>,
    buffer: B,
    _: Option<u64>,
    _: Refusal,
) -> Result<UnderWay<(io::Result<usize>, B)>, B> {
    Err(buffer)
}
