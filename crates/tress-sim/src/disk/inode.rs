//! What names of a disk refer to.

use super::content::Content;
use crate::time::Time;
use std::collections::BTreeMap;
use std::time::Duration;

/// A file, a directory or something else with a name. Numbers are not used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct InodeId(pub(crate) u64);

/// The directory that all others are below.
pub(crate) const ROOT: InodeId = InodeId(2);

/// A special file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Device {
    /// Takes everything, has nothing.
    Null,
    /// Has zeros.
    Zero,
    /// Has random bytes.
    Random,
}

/// What an inode is.
#[derive(Debug)]
pub(super) enum Node {
    File(Content),
    Directory(Directory),
    /// A symbolic link, and where it leads.
    Link(Vec<u8>),
    Device(Device),
}

/// Names, in memory and on the disk.
#[derive(Debug)]
pub(super) struct Directory {
    pub(super) entries: BTreeMap<Vec<u8>, InodeId>,
    pub(super) durable: BTreeMap<Vec<u8>, InodeId>,
    pub(super) parent: InodeId,
}

impl Directory {
    pub(super) fn new(parent: InodeId) -> Directory {
        Directory {
            entries: BTreeMap::new(),
            durable: BTreeMap::new(),
            parent,
        }
    }
}

/// What is known of an inode besides its content. Times are since 1970.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meta {
    /// Permissions.
    pub(super) mode: u32,
    pub(super) user: u32,
    pub(super) group: u32,
    pub(super) accessed: Duration,
    pub(super) modified: Duration,
    pub(super) changed: Duration,
    pub(super) created: Duration,
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

impl Meta {
    pub(super) fn new(mode: u32, now: Duration) -> Meta {
        Meta {
            mode: mode & 0o7777,
            user: 0,
            group: 0,
            accessed: now,
            modified: now,
            changed: now,
            created: now,
        }
    }

    /// Notes that a file was read, as disks are mounted by default (`relatime`): if it was changed since it was read last,
    /// or if that was a day ago.
    pub(super) fn note_access(&mut self, now: Duration) {
        let is_old = now.saturating_sub(self.accessed) >= DAY;
        if self.accessed <= self.modified.max(self.changed) || is_old {
            self.accessed = now;
        }
    }
}

#[derive(Debug)]
pub(super) struct Inode {
    pub(super) node: Node,
    pub(super) meta: Meta,
    pub(super) durable_meta: Meta,
    /// When the present one becomes durable, if it is not.
    pub(super) meta_due: Option<Time>,
    /// Names that refer to it.
    pub(super) links: u32,
    /// Names on the disk that refer to it.
    pub(super) durable_links: u32,
    /// Names that refer to it in changes that are not on the disk yet.
    pub(super) coming_links: u32,
    /// Open files that refer to it.
    pub(super) opens: u32,
}

impl Inode {
    pub(super) fn new(node: Node, meta: Meta) -> Inode {
        Inode {
            node,
            meta,
            durable_meta: meta,
            meta_due: None,
            links: 0,
            durable_links: 0,
            coming_links: 0,
            opens: 0,
        }
    }

    /// Returns whether nothing can ever come to it again.
    pub(super) fn is_unreachable(&self) -> bool {
        self.links == 0 && self.durable_links == 0 && self.coming_links == 0 && self.opens == 0
    }

    /// The type, as the mode of a file has it.
    pub(super) fn kind(&self) -> u32 {
        match self.node {
            Node::File(_) => libc::S_IFREG,
            Node::Directory(_) => libc::S_IFDIR,
            Node::Link(_) => libc::S_IFLNK,
            Node::Device(_) => libc::S_IFCHR,
        }
    }

    pub(super) fn size(&self) -> u64 {
        match &self.node {
            Node::File(content) => content.size(),
            Node::Directory(_) => super::content::BLOCK as u64,
            Node::Link(target) => target.len() as u64,
            Node::Device(_) => 0,
        }
    }

    /// Writes the metadata if that was due.
    pub(super) fn settle_meta(&mut self, now: Time) {
        if self.meta_due.is_some_and(|due| due <= now) {
            self.meta_due = None;
            self.durable_meta = self.meta;
        }
    }
}
