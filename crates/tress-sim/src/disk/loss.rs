//! What becomes durable, and what is lost.

use super::Disk;
use super::inode::{Node, ROOT};
use super::journal::{Change, Journal};
use crate::time::Time;
use std::collections::{BTreeMap, BTreeSet};

impl Disk {
    /// Makes a change of directories durable.
    pub(super) fn make_durable(&mut self, change: Change) {
        let mut gone = Vec::new();
        for edit in change.edits {
            let target = edit.to.and_then(|to| self.inodes.get_mut(&to));
            if let Some(inode) = target {
                inode.coming_links -= 1;
            }
            let inode = self.inodes.get_mut(&edit.directory);
            let Some(Node::Directory(directory)) = inode.map(|inode| &mut inode.node) else {
                // The directory is gone for good.
                gone.extend(edit.to);
                continue;
            };
            let old = match edit.to {
                Some(to) => directory.durable.insert(edit.name, to),
                None => directory.durable.remove(&edit.name),
            };
            if let Some(inode) = edit.to.and_then(|to| self.inodes.get_mut(&to)) {
                inode.durable_links += 1;
            }
            if let Some(inode) = old.and_then(|old| self.inodes.get_mut(&old)) {
                inode.durable_links -= 1;
            }
            gone.extend(old);
        }
        for inode in gone {
            self.discard_if_unreachable(inode);
        }
    }

    /// Writes the changes of directories that were due in the background.
    pub(super) fn settle_journal(&mut self) {
        while let Some(change) = self.journal.take_due(self.now) {
            self.make_durable(change);
        }
    }

    /// Writes everything that was due in the background.
    pub(super) fn settle(&mut self) {
        self.settle_journal();
        let now = self.now;
        for inode in self.inodes.values_mut() {
            inode.settle_meta(now);
            if let Node::File(content) = &mut inode.node {
                content.settle(now);
            }
        }
    }

    /// Takes the power: memory is gone, and of what was not durable a part that is drawn.
    pub(crate) fn power_loss(&mut self, now: Time) {
        self.now = now;
        self.settle();
        let survival = match self.config.survival {
            Some(survival) => survival,
            None => self.stream.fraction(),
        };
        let Disk { stream, inodes, .. } = self;
        let mut survivors = Vec::new();
        for (id, inode) in inodes.iter_mut() {
            if inode.meta_due.is_some() && !stream.happens(survival) {
                inode.meta = inode.durable_meta;
            }
            if let Node::File(content) = &mut inode.node {
                let of_file = content.lose_power(stream, survival);
                survivors.extend(of_file.into_iter().map(|survivor| (*id, survivor)));
            }
        }
        if !survivors.is_empty() && self.stream.happens(self.config.tear) {
            let (id, survivor) = survivors.swap_remove(self.stream.below(survivors.len()));
            let inode = self.inodes.get_mut(&id).map(|inode| &mut inode.node);
            if let Some(Node::File(content)) = inode {
                content.tear(survivor, &mut self.stream);
            }
        }
        for change in self.journal.take_survivors(&mut self.stream, survival) {
            for edit in change.edits {
                let inode = self.inodes.get_mut(&edit.directory);
                let Some(Node::Directory(directory)) = inode.map(|inode| &mut inode.node) else {
                    continue;
                };
                match edit.to {
                    Some(to) => directory.durable.insert(edit.name, to),
                    None => directory.durable.remove(&edit.name),
                };
            }
        }
        self.recover();
        self.close_all();
    }

    /// Begins anew with what is durable.
    fn recover(&mut self) {
        for inode in self.inodes.values_mut() {
            (inode.links, inode.durable_links, inode.coming_links) = (0, 0, 0);
            (inode.durable_meta, inode.meta_due) = (inode.meta, None);
            match &mut inode.node {
                Node::File(content) => content.recover(),
                Node::Directory(directory) => directory.entries.clear(),
                Node::Link(_) | Node::Device(_) => {}
            }
        }
        let mut found = BTreeSet::from([ROOT]);
        let mut left = vec![ROOT];
        while let Some(id) = left.pop() {
            let inode = self.inodes.get_mut(&id).map(|inode| &mut inode.node);
            let Some(Node::Directory(directory)) = inode else {
                continue;
            };
            let mut names = std::mem::take(&mut directory.durable);
            names.retain(|_, child| {
                let Some(inode) = self.inodes.get_mut(child) else {
                    return false;
                };
                let is_new = found.insert(*child);
                if let Node::Directory(directory) = &mut inode.node {
                    if !is_new {
                        // A directory has one name.
                        return false;
                    }
                    directory.parent = id;
                    left.push(*child);
                }
                inode.links += 1;
                inode.durable_links += 1;
                true
            });
            let inode = self.inodes.get_mut(&id).map(|inode| &mut inode.node);
            if let Some(Node::Directory(directory)) = inode {
                directory.entries.clone_from(&names);
                directory.durable = names;
            }
        }
        self.inodes.retain(|id, _| found.contains(id));
        if let Some(root) = self.inodes.get_mut(&ROOT) {
            (root.links, root.durable_links) = (1, 1);
        }
    }

    /// Replaces the disk by an empty one.
    pub(crate) fn wipe(&mut self) {
        self.inodes = BTreeMap::new();
        self.journal = Journal::default();
        self.close_all();
        self.format();
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::disk;
    use super::super::{Rename, View};
    use super::*;

    fn write(disk: &mut Disk, path: &str, bytes: &[u8]) -> super::super::InodeId {
        let flags = libc::O_CREAT | libc::O_RDWR | libc::O_TRUNC;
        let id = disk.open(ROOT, path.as_bytes(), flags, 0o644).unwrap();
        disk.write(id, 0, &[bytes]).unwrap();
        id
    }

    fn replace(disk: &mut Disk) {
        disk.rename((ROOT, b"/tmp/new"), (ROOT, b"/tmp/file"), Rename::Replace)
            .unwrap();
    }

    /// Replaces a file by one of three blocks, with syncs of both or without, and takes the power. Returns what is there.
    fn replaced(seed: u64, syncs: bool) -> Vec<u8> {
        let mut disk = disk(seed);
        disk.write_file("/tmp/file", b"old").unwrap();
        let id = write(&mut disk, "/tmp/new", &[b'n'; 10_000]);
        if syncs {
            disk.sync(id).unwrap();
        }
        replace(&mut disk);
        if syncs {
            let directory = disk.look_up(ROOT, b"/tmp", true).unwrap();
            disk.sync(directory).unwrap();
        }
        disk.power_loss(Time(1));
        disk.read_file("/tmp/file", View::Memory)
            .expect("a rename is never half")
    }

    #[test]
    fn a_rename_without_syncs_has_any_result() {
        let results: BTreeSet<_> = (0..300).map(|seed| replaced(seed, false)).collect();
        assert!(results.contains(b"old".as_slice()), "the rename is lost");
        assert!(results.contains(b"".as_slice()), "the content is lost");
        assert!(
            results.contains([b'n'; 10_000].as_slice()),
            "nothing is lost"
        );
        assert!(
            results.iter().any(|bytes| bytes.len() == 4096),
            "it is short"
        );
        assert!(
            results
                .iter()
                .any(|bytes| bytes.len() == 10_000 && bytes.contains(&0)),
            "it has holes"
        );
    }

    #[test]
    fn a_rename_with_syncs_is_certain() {
        for seed in 0..300 {
            assert_eq!(replaced(seed, true), [b'n'; 10_000]);
        }
    }

    #[test]
    fn a_sync_of_a_file_does_not_save_its_name() {
        let survived = |seed| {
            let mut disk = disk(seed);
            let id = write(&mut disk, "/tmp/file", b"text");
            disk.sync(id).unwrap();
            disk.power_loss(Time(1));
            disk.read_file("/tmp/file", View::Memory)
        };
        let results: BTreeSet<_> = (0..100).map(survived).collect();
        assert_eq!(Vec::from_iter(results), [None, Some(b"text".to_vec())]);
    }

    #[test]
    fn what_the_background_has_written_survives() {
        for seed in 0..50 {
            let mut disk = disk(seed);
            write(&mut disk, "/tmp/file", b"text");
            disk.power_loss(Time(30_000_000_000));
            assert_eq!(disk.read_file("/tmp/file", View::Memory).unwrap(), b"text");
        }
    }

    #[test]
    fn a_removed_directory_comes_back_with_what_was_in_it() {
        let mut disk = disk(0);
        disk.config.survival = Some(0.0);
        disk.write_file("/d/e/f", b"text").unwrap();
        disk.unlink(ROOT, b"/d/e/f").unwrap();
        disk.remove_directory(ROOT, b"/d/e").unwrap();
        disk.remove_directory(ROOT, b"/d").unwrap();
        disk.power_loss(Time(1));
        assert_eq!(disk.read_file("/d/e/f", View::Memory).unwrap(), b"text");
        let e = disk.look_up(ROOT, b"/d/e", true).unwrap();
        assert_eq!(disk.path_of(e).unwrap(), b"/d/e");
    }

    #[test]
    fn is_torn_at_a_sector() {
        let torn = |seed| {
            let mut disk = disk(seed);
            disk.write_file("/a", &[1; 4096]).unwrap();
            let id = disk.look_up(ROOT, b"/a", true).unwrap();
            disk.write(id, 0, &[&[2; 4096]]).unwrap();
            disk.power_loss(Time(1));
            let bytes = disk.read_file("/a", View::Memory).unwrap();
            bytes.iter().filter(|byte| **byte == 2).count()
        };
        let results: BTreeSet<_> = (0..200).map(torn).collect();
        assert!(results.iter().all(|new| new % 512 == 0));
        assert!(results.len() > 3, "{results:?}");
    }

    #[test]
    fn the_same_seed_loses_the_same() {
        for seed in 0..20 {
            assert_eq!(replaced(seed, false), replaced(seed, false));
        }
    }

    #[test]
    fn a_wiped_disk_is_as_new() {
        let mut disk = disk(0);
        disk.write_file("/var/file", b"text").unwrap();
        disk.wipe();
        assert_eq!(disk.read_file("/var/file", View::Memory), None);
        assert!(disk.look_up(ROOT, b"/home", true).is_ok());
    }

    #[test]
    fn permissions_are_durable_by_a_sync() {
        let mut disk = disk(0);
        disk.config.survival = Some(0.0);
        disk.write_file("/a", b"").unwrap();
        let id = disk.look_up(ROOT, b"/a", true).unwrap();
        disk.set_mode(id, 0o600).unwrap();
        disk.sync(id).unwrap();
        disk.set_mode(id, 0o400).unwrap();
        assert_eq!(disk.attributes(id).unwrap().mode & 0o777, 0o400);
        disk.power_loss(Time(1));
        assert_eq!(disk.attributes(id).unwrap().mode & 0o777, 0o600);
    }
}
