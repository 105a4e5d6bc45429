//! A system where a read or write cannot be told not to wait. The twin of `nowait`.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;

pub(in crate::fs) fn read(
    _: &File,
    _: &mut [MaybeUninit<u8>],
    _: Option<u64>,
) -> Option<io::Result<usize>> {
    None
}

pub(in crate::fs) fn write(_: &File, _: &[u8], _: Option<u64>) -> Option<io::Result<usize>> {
    None
}
