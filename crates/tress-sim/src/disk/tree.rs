//! Names: what makes, moves and removes them, and what is known of what they refer to.

use super::Disk;
use super::content::{BLOCK, Content};
use super::inode::{Directory, InodeId, Meta, Node, ROOT};
use super::path::{AtEnd, Last, Place};
use crate::kernel::Errno;
use std::time::Duration;

/// What is known of a file. Times are since 1970.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attributes {
    pub(crate) inode: InodeId,
    /// Type and permissions.
    pub(crate) mode: u32,
    pub(crate) links: u32,
    pub(crate) user: u32,
    pub(crate) group: u32,
    pub(crate) size: u64,
    /// Blocks that it takes, of `block_size` bytes.
    pub(crate) blocks: u64,
    pub(crate) block_size: u32,
    pub(crate) accessed: Duration,
    pub(crate) modified: Duration,
    pub(crate) changed: Duration,
    pub(crate) created: Duration,
}

/// What becomes of a file whose name another one gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rename {
    Replace,
    /// There must not be one.
    Keep,
    /// It gets the name of the other one.
    Exchange,
}

/// An entry of a directory: its name, what it refers to, and the type of that as a mode has it.
pub(crate) type Listed = (Vec<u8>, InodeId, u32);

impl Disk {
    /// Finds where something new is to be made.
    fn find_free(&self, base: InodeId, path: &[u8], is_directory: bool) -> Result<Place, Errno> {
        let place = self.find(base, path, AtEnd::Name)?;
        if place.inode.is_some() {
            return Err(libc::EEXIST);
        }
        if place.must_be_directory && !is_directory {
            return Err(libc::ENOENT);
        }
        self.check_exists(place.directory)?;
        Ok(place)
    }

    /// Nothing can be made in a directory that was removed.
    fn check_exists(&self, directory: InodeId) -> Result<(), Errno> {
        match self.inode(directory)?.links {
            0 => Err(libc::ENOENT),
            _ => Ok(()),
        }
    }

    fn add(&mut self, place: Place, node: Node, mode: u32) -> InodeId {
        let inode = self.add_inode(node, mode);
        self.change(vec![(place.directory, place.name, Some(inode))]);
        inode
    }

    /// Finds the file that is to be opened, or makes it, as `open(2)` does.
    pub(crate) fn open(
        &mut self,
        base: InodeId,
        path: &[u8],
        flags: libc::c_int,
        mode: u32,
    ) -> Result<InodeId, Errno> {
        let has = |flag: libc::c_int| flags & flag == flag;
        if has(libc::O_TMPFILE) {
            return Err(libc::EOPNOTSUPP);
        }
        let is_new_only = has(libc::O_CREAT | libc::O_EXCL);
        let stays = has(libc::O_NOFOLLOW) || is_new_only;
        let at_end = match (has(libc::O_CREAT), stays) {
            (false, false) => AtEnd::Follow,
            (false, true) => AtEnd::Stay,
            (true, false) => AtEnd::Create,
            (true, true) => AtEnd::Name,
        };
        let place = self.find(base, path, at_end)?;
        if has(libc::O_CREAT) && place.must_be_directory && place.last == Last::Name {
            return Err(libc::EISDIR);
        }
        let id = match place.inode {
            Some(_) if is_new_only => return Err(libc::EEXIST),
            Some(id) => id,
            None if !has(libc::O_CREAT) => return Err(libc::ENOENT),
            None => {
                self.check_exists(place.directory)?;
                let mode = mode & !self.mask;
                return Ok(self.add(place, Node::File(Content::default()), mode));
            }
        };
        let writes = flags & libc::O_ACCMODE != libc::O_RDONLY;
        match &self.inode(id)?.node {
            Node::Directory(_) if writes || has(libc::O_CREAT) => return Err(libc::EISDIR),
            Node::Link(_) if !has(libc::O_PATH) => return Err(libc::ELOOP),
            Node::Directory(_) => {}
            _ if has(libc::O_DIRECTORY) => return Err(libc::ENOTDIR),
            Node::File(_) if has(libc::O_TRUNC) && !has(libc::O_PATH) => self.truncate(id, 0)?,
            _ => {}
        }
        Ok(id)
    }

    pub(crate) fn make_directory(
        &mut self,
        base: InodeId,
        path: &[u8],
        mode: u32,
    ) -> Result<(), Errno> {
        let place = self.find_free(base, path, true)?;
        let node = Node::Directory(Directory::new(place.directory));
        let mode = mode & (!self.mask | 0o1000);
        self.add(place, node, mode);
        Ok(())
    }

    /// Makes a symbolic link.
    pub(crate) fn make_link(
        &mut self,
        target: &[u8],
        base: InodeId,
        path: &[u8],
    ) -> Result<(), Errno> {
        if target.is_empty() {
            return Err(libc::ENOENT);
        }
        let place = self.find_free(base, path, false)?;
        self.add(place, Node::Link(target.to_vec()), 0o777);
        Ok(())
    }

    /// Gives a file another name.
    pub(crate) fn link(&mut self, inode: InodeId, base: InodeId, path: &[u8]) -> Result<(), Errno> {
        let place = self.find_free(base, path, false)?;
        if self.is_directory(inode) {
            return Err(libc::EPERM);
        }
        self.check_exists(inode)?;
        self.change(vec![(place.directory, place.name, Some(inode))]);
        Ok(())
    }

    pub(crate) fn unlink(&mut self, base: InodeId, path: &[u8]) -> Result<(), Errno> {
        let place = self.find(base, path, AtEnd::Name)?;
        let inode = place.inode.ok_or(libc::ENOENT)?;
        if self.is_directory(inode) {
            return Err(libc::EISDIR);
        }
        if place.must_be_directory {
            return Err(libc::ENOTDIR);
        }
        self.change(vec![(place.directory, place.name, None)]);
        Ok(())
    }

    pub(crate) fn remove_directory(&mut self, base: InodeId, path: &[u8]) -> Result<(), Errno> {
        let place = self.find(base, path, AtEnd::Name)?;
        match place.last {
            Last::Name => {}
            Last::Same => return Err(libc::EINVAL),
            Last::Parent => return Err(libc::ENOTEMPTY),
            Last::Root => return Err(libc::EBUSY),
        }
        let inode = place.inode.ok_or(libc::ENOENT)?;
        if !self.directory(inode)?.entries.is_empty() {
            return Err(libc::ENOTEMPTY);
        }
        self.change(vec![(place.directory, place.name, None)]);
        Ok(())
    }

    /// Returns whether `inner` is `outer`, or below it.
    fn is_within(&self, mut inner: InodeId, outer: InodeId) -> Result<bool, Errno> {
        while inner != outer && inner != ROOT {
            inner = self.directory(inner)?.parent;
        }
        Ok(inner == outer)
    }

    pub(crate) fn rename(
        &mut self,
        (from_base, from): (InodeId, &[u8]),
        (to_base, to): (InodeId, &[u8]),
        how: Rename,
    ) -> Result<(), Errno> {
        let from = self.find(from_base, from, AtEnd::Name)?;
        let to = self.find(to_base, to, AtEnd::Name)?;
        if from.last != Last::Name || to.last != Last::Name {
            return Err(libc::EBUSY);
        }
        let moved = from.inode.ok_or(libc::ENOENT)?;
        let (from_name, to_name) = (from.name, to.name);
        self.check_exists(to.directory)?;
        let moves_directory = self.is_directory(moved);
        match (how, to.inode) {
            (Rename::Keep, Some(_)) => return Err(libc::EEXIST),
            (Rename::Exchange, None) => return Err(libc::ENOENT),
            _ => {}
        }
        if (from.must_be_directory || to.must_be_directory) && !moves_directory {
            return Err(libc::ENOTDIR);
        }
        if moves_directory && self.is_within(to.directory, moved)? {
            return Err(libc::EINVAL);
        }
        let replaces = to.inode.filter(|inode| self.is_directory(*inode));
        if let Some(replaced) = replaces {
            if self.is_within(from.directory, replaced)? {
                return Err(if how == Rename::Exchange {
                    libc::EINVAL
                } else {
                    libc::ENOTEMPTY
                });
            }
        }
        match (how, to.inode) {
            (_, Some(replaced)) if replaced == moved => return Ok(()),
            (Rename::Exchange, Some(other)) => {
                self.change(vec![
                    (from.directory, from_name, Some(other)),
                    (to.directory, to_name, Some(moved)),
                ]);
                return Ok(());
            }
            (_, Some(replaced)) => match (moves_directory, self.directory(replaced)) {
                (true, Err(_)) => return Err(libc::ENOTDIR),
                (false, Ok(_)) => return Err(libc::EISDIR),
                (true, Ok(replaced)) if !replaced.entries.is_empty() => {
                    return Err(libc::ENOTEMPTY);
                }
                _ => {}
            },
            (_, None) => {}
        }
        self.change(vec![
            (to.directory, to_name, Some(moved)),
            (from.directory, from_name, None),
        ]);
        Ok(())
    }

    /// Returns where a symbolic link leads.
    pub(crate) fn target(&self, inode: InodeId) -> Result<&[u8], Errno> {
        match &self.inode(inode)?.node {
            Node::Link(target) => Ok(target),
            _ => Err(libc::EINVAL),
        }
    }

    /// Lists a directory, in an order that looks as arbitrary as that of real ones.
    pub(crate) fn list(&self, id: InodeId) -> Result<Vec<Listed>, Errno> {
        let directory = self.directory(id)?;
        let mut listed = Vec::new();
        for (name, inode) in &directory.entries {
            listed.push((name.clone(), *inode, self.inode(*inode)?.kind()));
        }
        let hash = |name: &[u8]| {
            let step = |hash: u64, byte: &u8| {
                (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
            };
            name.iter().fold(self.salt, step).rotate_left(32)
        };
        listed.sort_by_key(|(name, ..)| hash(name));
        let own = [(b".".to_vec(), id), (b"..".to_vec(), directory.parent)];
        let own = own.map(|(name, inode)| (name, inode, libc::S_IFDIR));
        listed.splice(0..0, own);
        Ok(listed)
    }

    pub(crate) fn attributes(&self, id: InodeId) -> Result<Attributes, Errno> {
        let inode = self.inode(id)?;
        let (links, blocks) = match &inode.node {
            Node::Directory(directory) => {
                let children = directory
                    .entries
                    .values()
                    .filter(|child| self.is_directory(**child));
                (inode.links * 2 + children.count() as u32, 1)
            }
            Node::File(content) => (inode.links, content.allocated()),
            Node::Link(_) | Node::Device(_) => (inode.links, 0),
        };
        let Meta {
            mode,
            user,
            group,
            accessed,
            modified,
            changed,
            created,
        } = inode.meta;
        Ok(Attributes {
            inode: id,
            mode: inode.kind() | mode,
            links,
            user,
            group,
            size: inode.size(),
            blocks,
            block_size: BLOCK as u32,
            accessed,
            modified,
            changed,
            created,
        })
    }

    pub(crate) fn set_mode(&mut self, id: InodeId, mode: u32) -> Result<(), Errno> {
        self.change_meta(id, |meta| meta.mode = mode & 0o7777)
    }

    /// Sets the owner; none stays.
    pub(crate) fn set_owner(
        &mut self,
        id: InodeId,
        user: Option<u32>,
        group: Option<u32>,
    ) -> Result<(), Errno> {
        self.change_meta(id, |meta| {
            meta.user = user.unwrap_or(meta.user);
            meta.group = group.unwrap_or(meta.group);
        })
    }

    /// Sets when it was read and written last; none stays.
    pub(crate) fn set_times(
        &mut self,
        id: InodeId,
        accessed: Option<Duration>,
        modified: Option<Duration>,
    ) -> Result<(), Errno> {
        self.change_meta(id, |meta| {
            meta.accessed = accessed.unwrap_or(meta.accessed);
            meta.modified = modified.unwrap_or(meta.modified);
        })
    }

    /// Returns the wall clock.
    pub(crate) fn wall(&self) -> Duration {
        self.wall
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::disk;
    use super::super::{ROOT, View};
    use super::*;

    const NEW: i32 = libc::O_CREAT | libc::O_RDWR;

    fn names(disk: &Disk, path: &str) -> Vec<String> {
        let id = disk.look_up(ROOT, path.as_bytes(), true).unwrap();
        let listed = disk
            .list(id)
            .unwrap()
            .into_iter()
            .map(|(name, ..)| String::from_utf8(name).unwrap());
        let mut names: Vec<_> = listed.filter(|name| !name.starts_with('.')).collect();
        names.sort();
        names
    }

    fn rename(disk: &mut Disk, from: &str, to: &str) -> Result<(), Errno> {
        disk.rename(
            (ROOT, from.as_bytes()),
            (ROOT, to.as_bytes()),
            Rename::Replace,
        )
    }

    #[test]
    fn opens_what_is_there_and_makes_what_is_not() {
        let mut disk = disk(0);
        let id = disk.open(ROOT, b"/tmp/a", NEW, 0o666).unwrap();
        assert_eq!(disk.attributes(id).unwrap().mode, libc::S_IFREG | 0o644);
        assert_eq!(disk.open(ROOT, b"tmp/a", libc::O_RDONLY, 0), Ok(id));
        assert_eq!(
            disk.open(ROOT, b"/tmp/a", NEW | libc::O_EXCL, 0),
            Err(libc::EEXIST)
        );
        assert_eq!(
            disk.open(ROOT, b"/tmp/b", libc::O_RDONLY, 0),
            Err(libc::ENOENT)
        );
        assert_eq!(disk.open(ROOT, b"/tmp/a/b", NEW, 0), Err(libc::ENOTDIR));
        assert_eq!(disk.open(ROOT, b"/tmp/x/b", NEW, 0), Err(libc::ENOENT));
        assert_eq!(disk.open(ROOT, b"/tmp", libc::O_RDWR, 0), Err(libc::EISDIR));
        assert_eq!(
            disk.open(ROOT, b"/tmp/a", libc::O_DIRECTORY, 0),
            Err(libc::ENOTDIR)
        );
        assert_eq!(
            disk.open(ROOT, &[b'x'; 300], NEW, 0),
            Err(libc::ENAMETOOLONG)
        );
    }

    #[test]
    fn follows_links() {
        let mut disk = disk(0);
        disk.write_file("/data/file", b"text").unwrap();
        disk.make_link(b"/data", ROOT, b"/link").unwrap();
        disk.make_link(b"file", ROOT, b"/data/other").unwrap();
        disk.make_link(b"/loop", ROOT, b"/loop").unwrap();
        assert_eq!(
            disk.read_file("/link/../link/other", View::Memory).unwrap(),
            b"text"
        );
        assert_eq!(disk.real_path(ROOT, b"/link/other").unwrap(), b"/data/file");
        assert_eq!(disk.look_up(ROOT, b"/loop", true), Err(libc::ELOOP));
        let link = disk.look_up(ROOT, b"/link", false).unwrap();
        assert_eq!(disk.target(link).unwrap(), b"/data");
        assert_ne!(disk.look_up(ROOT, b"/link/", false).unwrap(), link);
        let flags = libc::O_NOFOLLOW;
        assert_eq!(disk.open(ROOT, b"/link", flags, 0), Err(libc::ELOOP));
    }

    #[test]
    fn renames_as_posix_has_it() {
        let mut disk = disk(0);
        disk.write_file("/a", b"a").unwrap();
        disk.write_file("/b", b"b").unwrap();
        disk.write_file("/d/e/f", b"f").unwrap();
        rename(&mut disk, "/a", "/b").unwrap();
        assert_eq!(disk.read_file("/b", View::Memory).unwrap(), b"a");
        assert_eq!(rename(&mut disk, "/a", "/b"), Err(libc::ENOENT));
        assert_eq!(rename(&mut disk, "/b", "/d"), Err(libc::EISDIR));
        assert_eq!(rename(&mut disk, "/d", "/b"), Err(libc::ENOTDIR));
        assert_eq!(rename(&mut disk, "/d", "/d/e/g"), Err(libc::EINVAL));
        assert_eq!(rename(&mut disk, "/tmp", "/d"), Err(libc::ENOTEMPTY));
        rename(&mut disk, "/d/e", "/tmp/e").unwrap();
        assert_eq!(disk.real_path(ROOT, b"/tmp/e/../e/f").unwrap(), b"/tmp/e/f");
        let keep = disk.rename((ROOT, b"/b"), (ROOT, b"/tmp/e/f"), Rename::Keep);
        assert_eq!(keep, Err(libc::EEXIST));
        disk.rename((ROOT, b"/b"), (ROOT, b"/tmp/e/f"), Rename::Exchange)
            .unwrap();
        assert_eq!(disk.read_file("/b", View::Memory).unwrap(), b"f");
        assert_eq!(disk.read_file("/tmp/e/f", View::Memory).unwrap(), b"a");
    }

    #[test]
    fn removes_and_counts_links() {
        let mut disk = disk(0);
        disk.write_file("/d/a", b"a").unwrap();
        let a = disk.look_up(ROOT, b"/d/a", true).unwrap();
        disk.link(a, ROOT, b"/d/b").unwrap();
        assert_eq!(disk.attributes(a).unwrap().links, 2);
        assert_eq!(names(&disk, "/d"), ["a", "b"]);
        assert_eq!(disk.remove_directory(ROOT, b"/d"), Err(libc::ENOTEMPTY));
        assert_eq!(disk.unlink(ROOT, b"/d"), Err(libc::EISDIR));
        disk.unlink(ROOT, b"/d/a").unwrap();
        disk.unlink(ROOT, b"/d/b").unwrap();
        assert_eq!(disk.unlink(ROOT, b"/d/b"), Err(libc::ENOENT));
        disk.remove_directory(ROOT, b"/d").unwrap();
        assert_eq!(disk.remove_directory(ROOT, b"/"), Err(libc::EBUSY));
        disk.sync_all();
        assert!(disk.attributes(a).is_err());
    }

    #[test]
    fn lists_in_an_order_of_its_own() {
        let orders = (0..10).map(|seed| {
            let mut disk = disk(seed);
            for name in ["/d/a", "/d/b", "/d/c", "/d/e"] {
                disk.write_file(name, b"").unwrap();
            }
            let id = disk.look_up(ROOT, b"/d", true).unwrap();
            disk.list(id)
                .unwrap()
                .into_iter()
                .map(|(name, ..)| name)
                .collect::<Vec<_>>()
        });
        let orders: std::collections::BTreeSet<_> = orders.collect();
        assert!(orders.len() > 1);
    }
}
