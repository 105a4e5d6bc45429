//! Where a file is when operations of a ring have ended.

use crate::fs::blocking;
use crate::fs::file::nowait;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::sync::Arc;

/// Where a file was when something began at its own position.
///
/// The kernel moves that when it makes a read or a write while somebody waits for it, or has a thread wait. One that
/// ends by itself, as direct input and output does, leaves the position where it was.
#[derive(Debug)]
pub(super) struct Position {
    file: Arc<File>,
    /// None for what has no position.
    from: Option<u64>,
}

impl Position {
    pub(super) fn of(file: &Arc<File>) -> Position {
        Position {
            from: (&**file).stream_position().ok(),
            file: file.clone(),
        }
    }

    /// So many bytes were read from there: sees that the position is behind them.
    pub(super) fn move_by(&self, n: usize) -> io::Result<()> {
        match self.left_behind(n)? {
            Some(from) => (&*self.file)
                .seek(SeekFrom::Start(from + n as u64))
                .map(drop),
            None => Ok(()),
        }
    }

    /// So many bytes were written there, or at the end if that is where all are written.
    pub(super) async fn move_by_write(self, n: usize) -> io::Result<()> {
        if self.left_behind(n)?.is_none() || !appends(&self.file) {
            return self.move_by(n);
        }
        // The end may have to be asked for over a network.
        blocking(move || (&*self.file).seek(SeekFrom::End(0)).map(drop)).await
    }

    /// Where the file was, if it is there still and should not be.
    fn left_behind(&self, n: usize) -> io::Result<Option<u64>> {
        let Some(from) = self.from.filter(|_| n > 0) else {
            return Ok(None);
        };
        let stayed = (&*self.file).stream_position()? == from;
        // Things that say where they are may be nowhere.
        Ok((stayed && has_position(&self.file)).then_some(from))
    }
}

/// Is it read and written at a position, as far as is known?
fn has_position(file: &File) -> bool {
    nowait::kind(file).is_none_or(|kind| matches!(kind, libc::S_IFREG | libc::S_IFBLK))
}

fn appends(file: &File) -> bool {
    // SAFETY: an open descriptor, and no memory.
    let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
    flags != -1 && flags & libc::O_APPEND != 0
}
