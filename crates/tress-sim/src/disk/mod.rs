//! The disk of a host: files and directories, in memory and on the medium.
//!
//! Whatever programs change, they change in memory. It becomes *durable* by a sync of the file or of the directory, or by
//! itself some seconds later. A loss of power leaves what is durable, and of the rest a part that is drawn: every
//! block, every size and every change of a directory survives or not. A sync of a file says nothing about its name, which is
//! its directory's.
//!
//! Everything here is plain data. What is done takes no time; [`fault`] says how long it should take, and the kernel lets
//! that pass.

mod config;
mod content;
mod fault;
mod file;
mod inode;
mod journal;
mod lock;
mod loss;
mod path;
mod tree;

pub use config::DiskConfig;
pub(crate) use inode::{Device, InodeId, ROOT};
pub(crate) use lock::{Kind as LockKind, Range as LockRange};
pub(crate) use tree::{Attributes, Listed, Rename};

use crate::draw::Stream;
use crate::kernel::Errno;
use crate::time::Time;
use content::{Content, When};
use inode::{Directory, Inode, Meta, Node};
use journal::{Edit, Journal};
use lock::Locks;
use std::collections::BTreeMap;
use std::time::Duration;

/// The only authority that programs find on a host's disk, so that clients of TLS that want at least one can start. Nobody
/// has its key. A test that needs TLS writes its own.
const AUTHORITY: &str = include_str!("authority.crt");

/// A disk, and what the system of its host holds of it in memory.
#[derive(Debug)]
pub(crate) struct Disk {
    pub(crate) config: DiskConfig,
    stream: Stream,
    host: String,
    now: Time,
    /// The wall clock of the host, since 1970.
    wall: Duration,
    inodes: BTreeMap<InodeId, Inode>,
    next_inode: u64,
    journal: Journal,
    /// Decides the order in which directories are listed.
    salt: u64,
    pub(crate) locks: Locks,
    /// The working directory of the host's program.
    pub(crate) working: InodeId,
    /// Permissions that new files of the host's program do not get.
    pub(crate) mask: u32,
    /// Counts the programs that have used it: files that an earlier one has opened are closed.
    pub(crate) uses: u64,
}

/// Which state of a disk is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    /// What programs see.
    Memory,
    /// What is durable.
    Durable,
}

impl Disk {
    /// Creates a disk with the directories that every system has.
    pub(crate) fn new(mut stream: Stream, config: DiskConfig, host: &str) -> Disk {
        let salt = stream.number();
        let mut disk = Disk {
            config,
            stream,
            host: host.to_string(),
            now: Time::START,
            wall: Duration::ZERO,
            inodes: BTreeMap::new(),
            next_inode: ROOT.0 + 1,
            journal: Journal::default(),
            salt,
            locks: Locks::default(),
            working: ROOT,
            mask: 0o022,
            uses: 0,
        };
        disk.format();
        disk
    }

    /// Makes the directories that every system has, on an empty disk.
    fn format(&mut self) {
        let root = Inode {
            links: 1,
            durable_links: 1,
            ..Inode::new(
                Node::Directory(Directory::new(ROOT)),
                Meta::new(0o755, self.wall),
            )
        };
        self.inodes.insert(ROOT, root);
        for directory in [
            "dev",
            "etc",
            "etc/ssl",
            "etc/ssl/certs",
            "home",
            "proc",
            "tmp",
            "var",
            "var/tmp",
        ] {
            let mode = if directory.ends_with("tmp") {
                0o1777
            } else {
                0o755
            };
            let made = self.make_directory(ROOT, directory.as_bytes(), mode);
            made.expect("the disk is empty");
        }
        let devices = [
            ("null", Device::Null),
            ("zero", Device::Zero),
            ("random", Device::Random),
            ("urandom", Device::Random),
        ];
        let dev = self.look_up(ROOT, b"/dev", true).expect("just made");
        for (name, device) in devices {
            let inode = self.add_inode(Node::Device(device), 0o666);
            self.change(vec![(dev, name.into(), Some(inode))]);
        }
        self.sync_all();
        let host = self.host.clone();
        let hosts = format!("127.0.0.1\tlocalhost\n::1\tlocalhost\n127.0.1.1\t{host}\n");
        for (path, text) in [
            ("/etc/hostname", format!("{host}\n")),
            ("/etc/hosts", hosts),
            ("/etc/resolv.conf", String::new()),
            ("/etc/ssl/certs/ca-certificates.crt", AUTHORITY.into()),
        ] {
            self.write_file(path, text.as_bytes())
                .expect("the disk is empty");
        }
    }

    /// Sets the present, before anything is done. Times are since 1970.
    pub(crate) fn at(&mut self, now: Time, wall: Duration) -> &mut Disk {
        (self.now, self.wall) = (now, wall);
        self
    }

    fn inode(&self, id: InodeId) -> Result<&Inode, Errno> {
        // It is missing after a wipe, or a loss of power.
        self.inodes.get(&id).ok_or(libc::EIO)
    }

    fn inode_mut(&mut self, id: InodeId) -> Result<&mut Inode, Errno> {
        self.inodes.get_mut(&id).ok_or(libc::EIO)
    }

    fn directory(&self, id: InodeId) -> Result<&Directory, Errno> {
        match &self.inode(id)?.node {
            Node::Directory(directory) => Ok(directory),
            _ => Err(libc::ENOTDIR),
        }
    }

    fn content(&self, id: InodeId) -> Result<&Content, Errno> {
        match &self.inode(id)?.node {
            Node::File(content) => Ok(content),
            Node::Directory(_) => Err(libc::EISDIR),
            Node::Link(_) | Node::Device(_) => Err(libc::EINVAL),
        }
    }

    fn content_mut(&mut self, id: InodeId) -> Result<&mut Content, Errno> {
        match &mut self.inode_mut(id)?.node {
            Node::File(content) => Ok(content),
            Node::Directory(_) => Err(libc::EISDIR),
            Node::Link(_) | Node::Device(_) => Err(libc::EINVAL),
        }
    }

    /// Returns the device that an inode is.
    pub(crate) fn device(&self, id: InodeId) -> Option<Device> {
        match self.inodes.get(&id)?.node {
            Node::Device(device) => Some(device),
            _ => None,
        }
    }

    pub(crate) fn is_directory(&self, id: InodeId) -> bool {
        self.directory(id).is_ok()
    }

    fn add_inode(&mut self, node: Node, mode: u32) -> InodeId {
        let id = InodeId(self.next_inode);
        self.next_inode += 1;
        let inode = Inode::new(node, Meta::new(mode, self.wall));
        self.inodes.insert(id, inode);
        id
    }

    /// Draws when a change that is made now is written in the background.
    fn when(&mut self) -> When {
        let (least, most) = (
            *self.config.write_back.start(),
            *self.config.write_back.end(),
        );
        let due = self.now + self.stream.between(least, most);
        When { now: self.now, due }
    }

    /// Changes metadata.
    fn change_meta(&mut self, id: InodeId, change: impl FnOnce(&mut Meta)) -> Result<(), Errno> {
        let When { now, due } = self.when();
        let wall = self.wall;
        let inode = self.inode_mut(id)?;
        inode.settle_meta(now);
        change(&mut inode.meta);
        inode.meta.changed = wall;
        inode.meta_due.get_or_insert(due);
        Ok(())
    }

    /// Changes what names refer to, all at once.
    fn change(&mut self, edits: Vec<(InodeId, Vec<u8>, Option<InodeId>)>) {
        self.settle_journal();
        let due = self.when().due;
        let wall = self.wall;
        let mut gone = Vec::new();
        for (directory, name, to) in &edits {
            if let Some(inode) = to.and_then(|to| self.inodes.get_mut(&to)) {
                inode.links += 1;
                inode.coming_links += 1;
                inode.meta.changed = wall;
                if let Node::Directory(moved) = &mut inode.node {
                    moved.parent = *directory;
                }
            }
            let Some(inode) = self.inodes.get_mut(directory) else {
                continue;
            };
            (inode.meta.modified, inode.meta.changed) = (wall, wall);
            let Node::Directory(directory) = &mut inode.node else {
                continue;
            };
            let old = match to {
                Some(to) => directory.entries.insert(name.clone(), *to),
                None => directory.entries.remove(name),
            };
            if let Some(inode) = old.and_then(|old| self.inodes.get_mut(&old)) {
                inode.links -= 1;
                inode.meta.changed = wall;
            }
            gone.extend(old);
        }
        let edit = |(directory, name, to)| Edit {
            directory,
            name,
            to,
        };
        self.journal.add(edits.into_iter().map(edit).collect(), due);
        for inode in gone {
            self.discard_if_unreachable(inode);
        }
    }

    fn discard_if_unreachable(&mut self, id: InodeId) {
        if id == ROOT || !self.inodes.get(&id).is_some_and(Inode::is_unreachable) {
            return;
        }
        let inode = self.inodes.remove(&id);
        if let Some(Node::Directory(directory)) = inode.map(|inode| inode.node) {
            for (_, child) in directory.durable {
                if let Some(inode) = self.inodes.get_mut(&child) {
                    inode.durable_links -= 1;
                }
                self.discard_if_unreachable(child);
            }
        }
    }

    /// Returns an error unless that is a directory.
    pub(crate) fn check_directory(&mut self, directory: InodeId) -> Result<(), Errno> {
        self.directory(directory).map(|_| ())
    }

    /// Keeps an inode while a file is open.
    pub(crate) fn hold(&mut self, id: InodeId) {
        if let Some(inode) = self.inodes.get_mut(&id) {
            inode.opens += 1;
        }
    }

    /// A file that was open is closed.
    pub(crate) fn release(&mut self, id: InodeId) {
        if let Some(inode) = self.inodes.get_mut(&id) {
            inode.opens -= 1;
        }
        self.discard_if_unreachable(id);
    }

    /// The program has ended, whatever it had open. Memory stays.
    pub(crate) fn close_all(&mut self) {
        self.uses += 1;
        (self.working, self.mask) = (ROOT, 0o022);
        self.locks = Locks::default();
        let ids: Vec<_> = self.inodes.keys().copied().collect();
        for id in ids {
            if let Some(inode) = self.inodes.get_mut(&id) {
                inode.opens = 0;
            }
            self.discard_if_unreachable(id);
        }
    }

    /// Returns what a file holds.
    pub(crate) fn read_file(&mut self, path: &str, view: View) -> Option<Vec<u8>> {
        if view == View::Memory {
            let id = self.look_up(ROOT, path.as_bytes(), true).ok()?;
            return Some(self.content(id).ok()?.bytes(false));
        }
        self.settle();
        let mut id = ROOT;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            id = *self.directory(id).ok()?.durable.get(name.as_bytes())?;
        }
        Some(self.content(id).ok()?.bytes(true))
    }

    /// Makes a file with that content, and what is missing of its directories. All of it is durable.
    ///
    /// # Errors
    /// A part of the path is not a directory, or its end is one.
    pub(crate) fn write_file(&mut self, path: &str, bytes: &[u8]) -> Result<(), Errno> {
        let mut at = ROOT;
        let mut names = path.split('/').filter(|name| !name.is_empty()).peekable();
        while let Some(name) = names.next() {
            let found = self.directory(at)?.entries.get(name.as_bytes()).copied();
            let is_last = names.peek().is_none();
            let next = match found {
                Some(found) => found,
                None => {
                    let (node, mode) = match is_last {
                        true => (Node::File(Content::default()), 0o644),
                        false => (Node::Directory(Directory::new(at)), 0o755),
                    };
                    let made = self.add_inode(node, mode);
                    self.change(vec![(at, name.into(), Some(made))]);
                    made
                }
            };
            self.sync_directory(at)?;
            at = next;
        }
        let when = self.when();
        let content = self.content_mut(at)?;
        content.truncate(0, when);
        content.write(0, bytes, when, || None);
        content.sync();
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn disk(seed: u64) -> Disk {
        Disk::new(
            Stream::new(seed, "disk of test"),
            DiskConfig::default(),
            "test",
        )
    }

    #[test]
    fn has_what_every_system_has() {
        let mut disk = disk(0);
        assert_eq!(
            disk.read_file("/etc/hostname", View::Durable).unwrap(),
            b"test\n"
        );
        assert_eq!(disk.read_file("/etc/nothing", View::Memory), None);
        for path in ["/tmp", "/home", "/proc", "/dev/null"] {
            assert!(disk.look_up(ROOT, path.as_bytes(), true).is_ok(), "{path}");
        }
    }

    #[test]
    fn a_file_that_is_written_from_outside_is_durable() {
        let mut disk = disk(0);
        disk.write_file("/a/b/c", b"text").unwrap();
        disk.power_loss(Time(1));
        assert_eq!(disk.read_file("/a/b/c", View::Memory).unwrap(), b"text");
        assert_eq!(disk.write_file("/a/b/c/d", b""), Err(libc::ENOTDIR));
        assert_eq!(disk.write_file("/a/b", b""), Err(libc::EISDIR));
    }

    #[test]
    fn an_open_file_outlives_its_name_and_not_its_program() {
        let mut disk = disk(0);
        disk.write_file("/a", b"text").unwrap();
        let id = disk.look_up(ROOT, b"/a", true).unwrap();
        disk.hold(id);
        disk.unlink(ROOT, b"/a").unwrap();
        disk.sync_directory(ROOT).unwrap();
        assert!(disk.content(id).is_ok());
        disk.close_all();
        assert!(disk.content(id).is_err());
    }

    #[test]
    fn what_is_not_durably_gone_comes_back() {
        let mut disk = disk(0);
        disk.config.survival = Some(0.0);
        disk.write_file("/a", b"text").unwrap();
        disk.unlink(ROOT, b"/a").unwrap();
        assert_eq!(disk.read_file("/a", View::Memory), None);
        assert_eq!(disk.read_file("/a", View::Durable).unwrap(), b"text");
        disk.power_loss(Time(1));
        assert_eq!(disk.read_file("/a", View::Memory).unwrap(), b"text");
    }
}
