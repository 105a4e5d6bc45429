//! What is done with the content of files.

use super::Disk;
use super::content::BLOCK;
use super::fault::rotten_bit;
use super::inode::{InodeId, Node};
use crate::kernel::Errno;

/// The largest file, in bytes: as with ext4.
const LARGEST: u64 = (1 << 44) - BLOCK as u64;

impl Disk {
    /// Returns how many blocks are free; none is no limit.
    fn room(&self) -> Option<u64> {
        let capacity = self.config.capacity? / BLOCK as u64;
        let used = self
            .inodes
            .values()
            .filter(|inode| inode.links + inode.opens > 0);
        let used = used.map(|inode| match &inode.node {
            Node::File(content) => content.allocated(),
            _ => 0,
        });
        Some(capacity.saturating_sub(used.sum()))
    }

    /// Returns how many bytes the disk has, and how many of them are free.
    pub(crate) fn space(&self) -> (u64, u64) {
        let block = BLOCK as u64;
        match (self.config.capacity, self.room()) {
            (Some(capacity), Some(room)) => (capacity, room * block),
            _ => (1 << 40, 1 << 39),
        }
    }

    /// Reads into buffers, one after the other. Returns how many bytes.
    ///
    /// # Errors
    /// `EISDIR`, or `EIO` if a fault was drawn.
    pub(crate) fn read(
        &mut self,
        id: InodeId,
        at: u64,
        buffers: &mut [&mut [u8]],
    ) -> Result<usize, Errno> {
        self.content(id)?;
        self.check_read()?;
        let wanted = buffers.iter().map(|buffer| buffer.len()).sum();
        let length = self.shorten(wanted, self.config.short_read);
        let (rate, wall) = (self.config.bit_rot, self.wall);
        let Disk {
            stream,
            made,
            inodes,
            ..
        } = self;
        let inode = inodes.get_mut(&id).ok_or(libc::EIO)?;
        let Node::File(content) = &mut inode.node else {
            return Err(libc::EIO);
        };
        let mut rot = || rotten_bit(stream, made, rate);
        let mut done = 0;
        for buffer in buffers {
            let part = buffer.len().min(length - done);
            let read = content.read(at + done as u64, &mut buffer[..part], &mut rot);
            done += read;
            if read < buffer.len() {
                break;
            }
        }
        inode.meta.note_access(wall);
        Ok(done)
    }

    /// Writes buffers, one after the other. Returns how many bytes.
    ///
    /// # Errors
    /// `ENOSPC`, `EFBIG`, or `EIO` if a fault was drawn.
    pub(crate) fn write(
        &mut self,
        id: InodeId,
        at: u64,
        buffers: &[&[u8]],
    ) -> Result<usize, Errno> {
        self.content(id)?;
        let wanted = buffers.iter().map(|buffer| buffer.len()).sum();
        if wanted == 0 {
            return Ok(0);
        }
        if at >= LARGEST {
            return Err(libc::EFBIG);
        }
        self.check_write()?;
        let mut length = self.shorten(wanted, self.config.short_write) as u64;
        length = length.min(LARGEST - at);
        if let Some(room) = self.room() {
            length = self.content(id)?.fits(at, length, room);
            if length == 0 {
                return Err(libc::ENOSPC);
            }
        }
        let when = self.when();
        let rate = self.config.bit_rot;
        let Disk {
            stream,
            made,
            inodes,
            ..
        } = self;
        let inode = inodes.get_mut(&id).ok_or(libc::EIO)?;
        let Node::File(content) = &mut inode.node else {
            return Err(libc::EIO);
        };
        let mut rot = || rotten_bit(stream, made, rate);
        let mut done = 0;
        for buffer in buffers {
            let part = (buffer.len() as u64).min(length - done) as usize;
            content.write(at + done, &buffer[..part], when, &mut rot);
            done += part as u64;
        }
        self.touch(id)?;
        Ok(done as usize)
    }

    /// Reads as a page of memory is filled: nothing goes wrong, and it is no access. Returns how many bytes.
    pub(crate) fn look(&mut self, id: InodeId, at: u64, into: &mut [u8]) -> Result<usize, Errno> {
        Ok(self.content_mut(id)?.read(at, into, || None))
    }

    /// Writes as a page of memory is written back, to a part of the file that there is.
    ///
    /// # Errors
    /// `ENOSPC`.
    pub(crate) fn write_back(&mut self, id: InodeId, at: u64, bytes: &[u8]) -> Result<(), Errno> {
        let length = bytes.len() as u64;
        if let Some(room) = self.room() {
            if self.content(id)?.fits(at, length, room) < length {
                return Err(libc::ENOSPC);
            }
        }
        let when = self.when();
        self.content_mut(id)?.write(at, bytes, when, || None);
        self.touch(id)
    }

    /// The content has changed now.
    fn touch(&mut self, id: InodeId) -> Result<(), Errno> {
        let wall = self.wall;
        self.change_meta(id, |meta| meta.modified = wall)
    }

    pub(crate) fn size(&self, id: InodeId) -> Result<u64, Errno> {
        Ok(self.inode(id)?.size())
    }

    pub(crate) fn truncate(&mut self, id: InodeId, size: u64) -> Result<(), Errno> {
        if size > LARGEST {
            return Err(libc::EFBIG);
        }
        let when = self.when();
        self.content_mut(id)?.truncate(size, when);
        self.touch(id)
    }

    /// `fallocate(2)`.
    pub(crate) fn allocate(
        &mut self,
        id: InodeId,
        mode: libc::c_int,
        at: u64,
        length: u64,
    ) -> Result<(), Errno> {
        const PUNCH: libc::c_int = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        const ZERO: libc::c_int = libc::FALLOC_FL_ZERO_RANGE;
        const ZERO_WITHIN: libc::c_int = ZERO | libc::FALLOC_FL_KEEP_SIZE;
        let end = at
            .checked_add(length)
            .filter(|end| *end <= LARGEST)
            .ok_or(libc::EFBIG)?;
        let when = self.when();
        let content = self.content(id)?;
        let keeps_size = mode & libc::FALLOC_FL_KEEP_SIZE != 0;
        match mode {
            PUNCH => {}
            0 | libc::FALLOC_FL_KEEP_SIZE | ZERO | ZERO_WITHIN => {
                if self
                    .room()
                    .is_some_and(|room| content.fits(at, length, room) < length)
                {
                    return Err(libc::ENOSPC);
                }
            }
            _ => return Err(libc::EOPNOTSUPP),
        }
        let content = self.content_mut(id)?;
        if mode & (libc::FALLOC_FL_PUNCH_HOLE | ZERO) != 0 {
            content.punch(at, length, when);
        }
        if mode != PUNCH {
            content.allocate(at, length, when);
            if !keeps_size && end > content.size() {
                content.truncate(end, when);
            }
        }
        self.touch(id)
    }

    /// Returns the next place at which there is data, or a hole, as `lseek(2)` does.
    pub(crate) fn seek(&self, id: InodeId, from: u64, hole: bool) -> Result<u64, Errno> {
        let content = self.content(id)?;
        content.seek(from, hole).ok_or(libc::ENXIO)
    }

    /// Makes a file or a directory durable: its content, not its name.
    ///
    /// # Errors
    /// `EIO` if a fault was drawn: what was to be written never is then, unless it changes again.
    pub(crate) fn sync(&mut self, id: InodeId) -> Result<(), Errno> {
        let result = self.check_sync();
        let now = self.now;
        let inode = self.inode_mut(id)?;
        if let Node::File(content) = &mut inode.node {
            content.settle(now);
            if result.is_err() {
                content.fail_sync();
            } else {
                content.sync();
            }
        }
        result?;
        let inode = self.inode_mut(id)?;
        (inode.durable_meta, inode.meta_due) = (inode.meta, None);
        match self.is_directory(id) {
            true => self.sync_directory(id),
            false => Ok(()),
        }
    }

    /// Makes the names of a directory durable.
    pub(super) fn sync_directory(&mut self, id: InodeId) -> Result<(), Errno> {
        self.directory(id)?;
        for change in self.journal.take_of(id) {
            self.make_durable(change);
        }
        Ok(())
    }

    /// Writes the changed blocks of a range. The size of the file is not written.
    pub(crate) fn sync_range(&mut self, id: InodeId, at: u64, length: u64) -> Result<(), Errno> {
        self.check_sync()?;
        self.content_mut(id)?.sync_range(at, length);
        Ok(())
    }

    /// Makes everything durable.
    pub(crate) fn sync_all(&mut self) {
        for inode in self.inodes.values_mut() {
            if let Node::File(content) = &mut inode.node {
                content.sync();
            }
            (inode.durable_meta, inode.meta_due) = (inode.meta, None);
        }
        for change in self.journal.take_all() {
            self.make_durable(change);
        }
    }

    /// Forgets what memory holds of a file and the disk has as well.
    pub(crate) fn forget_clean(&mut self, id: InodeId) -> Result<(), Errno> {
        self.content_mut(id)?.forget_clean();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::disk;
    use super::super::{ROOT, View};
    use super::*;
    use crate::time::Time;

    fn with_file(seed: u64) -> (Disk, InodeId) {
        let mut disk = disk(seed);
        disk.write_file("/a", b"").unwrap();
        let id = disk.look_up(ROOT, b"/a", true).unwrap();
        (disk, id)
    }

    fn durable(disk: &mut Disk) -> Vec<u8> {
        disk.read_file("/a", View::Durable).unwrap()
    }

    #[test]
    fn reads_and_writes_several_buffers() {
        let (mut disk, id) = with_file(0);
        assert_eq!(disk.write(id, 0, &[b"one", b"", b"two"]), Ok(6));
        let (mut first, mut second) = ([0; 4], [0; 4]);
        assert_eq!(disk.read(id, 1, &mut [&mut first, &mut second]), Ok(5));
        assert_eq!((&first, &second[..1]), (b"netw", &b"o"[..]));
        assert_eq!(disk.read(ROOT, 0, &mut []), Err(libc::EISDIR));
    }

    #[test]
    fn faults_happen_once_when_asked_for() {
        let (mut disk, id) = with_file(0);
        let config = &mut disk.config;
        (config.failing_reads, config.failing_writes) = (1, 1);
        assert_eq!(disk.write(id, 0, &[b"x"]), Err(libc::EIO));
        assert_eq!(disk.write(id, 0, &[b"x"]), Ok(1));
        assert_eq!(disk.read(id, 0, &mut [&mut [0]]), Err(libc::EIO));
        assert_eq!(disk.read(id, 0, &mut [&mut [0]]), Ok(1));
    }

    #[test]
    fn faults_happen_with_a_probability() {
        let (mut disk, id) = with_file(0);
        disk.config.write_error = 0.5;
        let failed = (0..100)
            .filter(|_| disk.write(id, 0, &[b"x"]).is_err())
            .count();
        assert!((20..80).contains(&failed), "{failed}");
    }

    #[test]
    fn a_failed_sync_is_not_repeated() {
        let (mut disk, id) = with_file(0);
        disk.write(id, 0, &[b"text"]).unwrap();
        disk.config.failing_syncs = 1;
        assert_eq!(disk.sync(id), Err(libc::EIO));
        assert_eq!(disk.sync(id), Ok(()));
        assert_eq!(durable(&mut disk), [0; 4]);
        assert_eq!(disk.read_file("/a", View::Memory).unwrap(), b"text");
    }

    #[test]
    fn a_full_disk_takes_what_fits() {
        let (mut disk, id) = with_file(0);
        let used = disk.space();
        assert_eq!(used, (1 << 40, 1 << 39));
        disk.config.capacity = Some(1 << 20);
        let (_, free) = disk.space();
        let much = vec![1; 2 << 20];
        assert_eq!(disk.write(id, 0, &[&much]), Ok(free as usize));
        assert_eq!(disk.write(id, free, &[b"x"]), Err(libc::ENOSPC));
        assert_eq!(disk.write(id, 0, &[b"x"]), Ok(1));
        assert_eq!(disk.allocate(id, 0, free, 1), Err(libc::ENOSPC));
        disk.truncate(id, 0).unwrap();
        assert_eq!(disk.space().1, free);
    }

    #[test]
    fn reads_and_writes_may_be_short() {
        let (mut disk, id) = with_file(0);
        disk.write(id, 0, &[&[1; 1000]]).unwrap();
        (disk.config.short_read, disk.config.short_write) = (1.0, 1.0);
        let (mut one, mut two) = ([0; 500], [0; 500]);
        let read = disk.read(id, 0, &mut [&mut one, &mut two]).unwrap();
        assert!((1..1000).contains(&read));
        assert!((1..1000).contains(&disk.write(id, 0, &[&[1; 1000]]).unwrap()));
    }

    #[test]
    fn is_written_in_the_background() {
        let (mut disk, id) = with_file(0);
        disk.write(id, 0, &[b"text"]).unwrap();
        assert_eq!(durable(&mut disk), b"");
        disk.now = Time(4_000_000_000);
        assert_eq!(durable(&mut disk), b"");
        disk.now = Time(30_000_000_000);
        assert_eq!(durable(&mut disk), b"text");
    }

    #[test]
    fn bits_rot() {
        let (mut disk, id) = with_file(0);
        disk.write(id, 0, &[&[0; BLOCK]]).unwrap();
        disk.sync(id).unwrap();
        disk.power_loss(Time(1));
        disk.config.bit_rot = 1.0;
        let mut bytes = [0; BLOCK];
        disk.read(id, 0, &mut [&mut bytes]).unwrap();
        assert_eq!(bytes.iter().map(|byte| byte.count_ones()).sum::<u32>(), 1);
        assert_eq!(durable(&mut disk), bytes);
    }

    #[test]
    fn finds_data_and_holes() {
        let (mut disk, id) = with_file(0);
        let block = BLOCK as u64;
        disk.write(id, 2 * block, &[&[1; BLOCK]]).unwrap();
        disk.truncate(id, 4 * block).unwrap();
        assert_eq!(disk.seek(id, 0, false), Ok(2 * block));
        assert_eq!(disk.seek(id, 0, true), Ok(0));
        assert_eq!(disk.seek(id, 2 * block + 5, true), Ok(3 * block));
        assert_eq!(disk.seek(id, 3 * block, false), Err(libc::ENXIO));
        assert_eq!(disk.seek(id, 4 * block, true), Err(libc::ENXIO));
        disk.allocate(id, 0, 0, block).unwrap();
        assert_eq!(disk.seek(id, 0, false), Ok(0));
    }
}
