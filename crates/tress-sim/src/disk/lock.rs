//! Locks of files: those of `flock(2)`, and those of ranges that belong to an open file.
//!
//! A host runs one program. So the locks of ranges that belong to a program never conflict, and there are none.

use super::inode::InodeId;
use crate::kernel::{ObjectId, ThreadId};

/// Two kinds of locks that know nothing of each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Of `flock(2)`: the whole file.
    Whole,
    /// Of `F_OFD_SETLK`: a range.
    Range,
}

/// Bytes of a file, without the last number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Range {
    pub(crate) const WHOLE: Range = Range {
        start: 0,
        end: u64::MAX,
    };

    fn overlaps(self, other: Range) -> bool {
        self.start < other.end && other.start < self.end
    }
}

#[derive(Debug, Clone, Copy)]
struct Lock {
    inode: InodeId,
    owner: ObjectId,
    kind: Kind,
    range: Range,
    is_exclusive: bool,
}

/// The locks of a host.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    held: Vec<Lock>,
    /// Threads that wait for one.
    pub(crate) waiting: Vec<ThreadId>,
}

impl Locks {
    /// Returns the range of a lock that another open file has and that is in the way, and whether it is exclusive.
    pub(crate) fn conflict(
        &self,
        inode: InodeId,
        owner: ObjectId,
        kind: Kind,
        range: Range,
        exclusive: bool,
    ) -> Option<(Range, bool)> {
        let is_in_the_way = |lock: &&Lock| {
            let is_about_it =
                lock.inode == inode && lock.kind == kind && lock.range.overlaps(range);
            is_about_it && lock.owner != owner && (exclusive || lock.is_exclusive)
        };
        let lock = self.held.iter().find(is_in_the_way)?;
        Some((lock.range, lock.is_exclusive))
    }

    /// Takes a lock in place of what its owner has of that range. Returns false if another one is in the way.
    pub(crate) fn take(
        &mut self,
        inode: InodeId,
        owner: ObjectId,
        kind: Kind,
        range: Range,
        exclusive: bool,
    ) -> bool {
        if self
            .conflict(inode, owner, kind, range, exclusive)
            .is_some()
        {
            return false;
        }
        self.give_back(inode, owner, kind, range);
        self.held.push(Lock {
            inode,
            owner,
            kind,
            range,
            is_exclusive: exclusive,
        });
        true
    }

    /// Gives back what its owner has of a range.
    pub(crate) fn give_back(&mut self, inode: InodeId, owner: ObjectId, kind: Kind, range: Range) {
        let mut left = Vec::new();
        self.held.retain(|lock| {
            let is_about_it = lock.inode == inode && lock.owner == owner && lock.kind == kind;
            if !is_about_it || !lock.range.overlaps(range) {
                return true;
            }
            let before = Range {
                start: lock.range.start,
                end: range.start,
            };
            let after = Range {
                start: range.end,
                end: lock.range.end,
            };
            let parts = [before, after]
                .into_iter()
                .filter(|part| part.start < part.end);
            left.extend(parts.map(|range| Lock { range, ..*lock }));
            false
        });
        self.held.extend(left);
    }

    /// Gives back everything that an open file has, which is closed.
    pub(crate) fn forget(&mut self, owner: ObjectId) {
        self.held.retain(|lock| lock.owner != owner);
    }
}
