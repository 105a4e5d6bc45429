//! The twin of `nowait` for systems where a read or write cannot be told not to wait.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;

/// The call is not possible without waiting.
#[derive(Debug, Clone, Copy)]
pub(in crate::fs) struct Refusal;

pub(in crate::fs) fn read(
    _: &File,
    _: &mut [MaybeUninit<u8>],
    _: Option<u64>,
) -> Result<io::Result<usize>, Refusal> {
    Err(Refusal)
}

pub(in crate::fs) fn write(
    _: &File,
    _: &[u8],
    _: Option<u64>,
) -> Result<io::Result<usize>, Refusal> {
    Err(Refusal)
}

/// Assumes a regular file: the type is not known without waiting.
pub(in crate::fs) fn is_regular(_: &File) -> bool {
    true
}
