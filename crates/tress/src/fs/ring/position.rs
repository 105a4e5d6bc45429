//! The position of a file after operations of a ring have ended.

use crate::fs::blocking;
use crate::fs::file::nowait;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::sync::Arc;

/// The position of a file when an operation at it started.
///
/// The kernel moves the position if it performs a read or a write synchronously, or on a thread of its
/// own. An operation that completes asynchronously, as direct I/O does, leaves it unchanged.
#[derive(Debug)]
pub(super) struct Position {
    file: Arc<File>,
    /// `None` for files without a position.
    from: Option<u64>,
}

impl Position {
    pub(super) fn of(file: &Arc<File>) -> Position {
        Position {
            from: (&**file).stream_position().ok(),
            file: file.clone(),
        }
    }

    /// Moves the position behind the `n` bytes that were read, unless the kernel has.
    pub(super) fn move_by(&self, n: usize) -> io::Result<()> {
        match self.left_behind(n)? {
            Some(from) => (&*self.file)
                .seek(SeekFrom::Start(from + n as u64))
                .map(drop),
            None => Ok(()),
        }
    }

    /// Moves the position behind the `n` bytes that were written, which is the end of a file that is
    /// open for appending.
    pub(super) async fn move_by_write(self, n: usize) -> io::Result<()> {
        if self.left_behind(n)?.is_none() || !appends(&self.file) {
            return self.move_by(n);
        }
        // Finding the end may need the network.
        blocking(move || (&*self.file).seek(SeekFrom::End(0)).map(drop)).await
    }

    /// Returns the old position if the file is still there although `n` bytes were moved.
    fn left_behind(&self, n: usize) -> io::Result<Option<u64>> {
        let Some(from) = self.from.filter(|_| n > 0) else {
            return Ok(None);
        };
        let stayed = (&*self.file).stream_position()? == from;
        // Some files report a position although they have none.
        Ok((stayed && has_position(&self.file)).then_some(from))
    }
}

/// Returns whether the file is read and written at a position, as far as is known.
fn has_position(file: &File) -> bool {
    nowait::kind(file).is_none_or(|kind| matches!(kind, libc::S_IFREG | libc::S_IFBLK))
}

fn appends(file: &File) -> bool {
    // SAFETY: an open descriptor, and no memory.
    let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
    flags != -1 && flags & libc::O_APPEND != 0
}
