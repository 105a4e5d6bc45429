//! Open files: what descriptors of files and directories refer to, and what is done with them.

#[cfg(test)]
mod tests;

use super::descriptor::Object;
use super::{Errno, Here, HostId, Kernel, ObjectId};
use crate::disk::{
    Attributes, Device, Disk, DiskConfig, InodeId, Listed, LockKind, LockRange, Rename,
};
use crate::draw::Stream;
use crate::time::Time;
use libc::c_int;
use std::time::Duration;

/// A file, a directory or a device that has been opened.
#[derive(Debug)]
pub(crate) struct File {
    inode: InodeId,
    position: u64,
    /// Those of `open(2)` that say how it may be used.
    flags: c_int,
    /// Which use of the disk it belongs to.
    of_use: u64,
    /// What a directory held when it was read from its start. The position is a number of these.
    listed: Vec<Listed>,
}

/// Flags that `fcntl(2)` returns.
const KEPT: c_int = libc::O_ACCMODE | libc::O_APPEND | libc::O_SYNC | libc::O_PATH | libc::O_DIRECT;

/// A file, by a descriptor, a path, or both.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Name<'a> {
    pub(crate) directory: c_int,
    pub(crate) path: &'a [u8],
    /// A symbolic link at the end of the path is followed.
    pub(crate) follow: bool,
    /// No path means the descriptor.
    pub(crate) may_be_empty: bool,
}

impl Kernel {
    /// Adds the disk of the host that was added last.
    pub(crate) fn add_disk(&mut self, name: &str) {
        let stream = Stream::new(self.seed, &format!("disk of {name}"));
        let mut disk = Disk::new(stream, DiskConfig::default(), name);
        disk.at(self.now, self.epoch);
        self.disks.push(disk);
    }

    /// The disk of the host whose thread runs.
    ///
    /// # Errors
    /// `EIO`: the host has no power.
    fn disk(&mut self) -> Result<&mut Disk, Errno> {
        let (_, id) = self.running();
        let host = &self.hosts[id.0];
        if !host.is_up {
            return Err(libc::EIO);
        }
        let wall =
            (self.epoch + self.now.elapsed()).as_nanos() as i128 + host.clock_error(self.now);
        let wall = Duration::from_nanos(u64::try_from(wall).unwrap_or(0));
        Ok(self.disks[id.0].at(self.now, wall))
    }

    /// The open file of a descriptor, if it belongs to the program that runs.
    fn file(&mut self, fd: c_int) -> Result<&mut File, Errno> {
        let id = self.descriptors.object(fd)?;
        let host = self.descriptors.entry(id).host;
        let uses = self.disks[host.0].uses;
        match &mut self.descriptors.entry(id).object {
            Object::File(file) if file.of_use == uses => Ok(file),
            Object::File(_) => Err(libc::EIO),
            _ => Err(libc::EINVAL),
        }
    }

    fn inode(&mut self, fd: c_int) -> Result<InodeId, Errno> {
        Ok(self.file(fd)?.inode)
    }

    /// The inode of a file that may be read, or written to.
    fn inode_for(&mut self, fd: c_int, writing: bool) -> Result<InodeId, Errno> {
        let file = self.file(fd)?;
        let unfit = if writing {
            libc::O_RDONLY
        } else {
            libc::O_WRONLY
        };
        if file.flags & libc::O_ACCMODE == unfit || file.flags & libc::O_PATH != 0 {
            return Err(libc::EBADF);
        }
        Ok(file.inode)
    }

    /// The directory that the running process works in.
    pub(super) fn working(&mut self) -> Result<InodeId, Errno> {
        let process = self.running_process();
        let of_process = self.processes.of(process).working;
        let of_program = self.disk()?.working;
        Ok(of_process.unwrap_or(of_program))
    }

    /// Sets the directory that the running process works in.
    pub(crate) fn work_in(&mut self, name: Name<'_>) -> Result<(), Errno> {
        let directory = self.directory_named(name)?;
        let process = self.running_process();
        match &mut self.processes.of(process).working {
            Some(working) => *working = directory,
            None => self.disk()?.working = directory,
        }
        Ok(())
    }

    /// Returns the directory that a name refers to.
    pub(super) fn directory_named(&mut self, name: Name<'_>) -> Result<InodeId, Errno> {
        let directory = self.resolve(name)?;
        self.disk()?.check_directory(directory)?;
        Ok(directory)
    }

    /// The directory that a path begins at.
    fn base(&mut self, directory: c_int, path: &[u8]) -> Result<InodeId, Errno> {
        if directory == libc::AT_FDCWD || path.starts_with(b"/") {
            return self.working();
        }
        self.inode(directory).map_err(|errno| match errno {
            libc::EINVAL => libc::ENOTDIR,
            errno => errno,
        })
    }

    /// Returns what a name refers to.
    fn resolve(&mut self, name: Name<'_>) -> Result<InodeId, Errno> {
        if name.path.is_empty() && name.may_be_empty {
            return match name.directory {
                libc::AT_FDCWD => self.working(),
                fd => self.inode(fd),
            };
        }
        let base = self.base(name.directory, name.path)?;
        self.disk()?.look_up(base, name.path, name.follow)
    }

    /// `open(2)`.
    pub(crate) fn open_file(
        &mut self,
        directory: c_int,
        path: &[u8],
        flags: c_int,
        mode: u32,
    ) -> Result<c_int, Errno> {
        let base = self.base(directory, path)?;
        let disk = self.disk()?;
        let inode = disk.open(base, path, flags, mode)?;
        disk.hold(inode);
        let file = File {
            inode,
            position: 0,
            flags: flags & KEPT,
            of_use: disk.uses,
            listed: Vec::new(),
        };
        let opened = self.open(Object::File(file), flags & libc::O_NONBLOCK != 0);
        if opened.is_err() {
            self.disk()?.release(inode);
        }
        opened.map(|(fd, _)| fd)
    }

    /// The last descriptor of an open file is closed.
    pub(super) fn close_file(&mut self, id: ObjectId, host: HostId, file: File) {
        let disk = &mut self.disks[host.0];
        if disk.uses == file.of_use {
            disk.locks.forget(id);
            disk.release(file.inode);
            self.wake_lockers(host);
        }
    }

    fn wake_lockers(&mut self, host: HostId) {
        let mut waiting = std::mem::take(&mut self.disks[host.0].locks.waiting);
        self.wake_all(&mut waiting);
    }

    /// `stat(2)`.
    pub(crate) fn attributes(&mut self, name: Name<'_>) -> Result<Attributes, Errno> {
        let inode = self.resolve(name)?;
        self.disk()?.attributes(inode)
    }

    /// Does something to the inode that a name refers to.
    pub(crate) fn with_inode<R>(
        &mut self,
        name: Name<'_>,
        f: impl FnOnce(&mut Disk, InodeId) -> Result<R, Errno>,
    ) -> Result<R, Errno> {
        let inode = self.resolve(name)?;
        f(self.disk()?, inode)
    }

    /// Does something with a path, which need not refer to anything, and the directory that it begins at.
    pub(crate) fn with_path<R>(
        &mut self,
        directory: c_int,
        path: &[u8],
        f: impl FnOnce(&mut Disk, InodeId) -> Result<R, Errno>,
    ) -> Result<R, Errno> {
        let base = self.base(directory, path)?;
        f(self.disk()?, base)
    }

    /// `renameat2(2)`.
    pub(crate) fn rename(
        &mut self,
        (from_directory, from): (c_int, &[u8]),
        (to_directory, to): (c_int, &[u8]),
        how: Rename,
    ) -> Result<(), Errno> {
        let from_base = self.base(from_directory, from)?;
        let to_base = self.base(to_directory, to)?;
        self.disk()?.rename((from_base, from), (to_base, to), how)
    }

    /// `linkat(2)`.
    pub(crate) fn link(
        &mut self,
        from: Name<'_>,
        directory: c_int,
        path: &[u8],
    ) -> Result<(), Errno> {
        let inode = self.resolve(from)?;
        let base = self.base(directory, path)?;
        self.disk()?.link(inode, base, path)
    }

    /// Returns the flags of an open file.
    pub(crate) fn file_flags(&mut self, fd: c_int) -> Result<c_int, Errno> {
        Ok(self.file(fd)?.flags)
    }

    /// Sets those of the flags of an open file that can be set.
    pub(crate) fn set_file_flags(&mut self, fd: c_int, flags: c_int) -> Result<(), Errno> {
        const CHANGES: c_int = libc::O_APPEND | libc::O_DIRECT;
        let file = self.file(fd)?;
        file.flags = file.flags & !CHANGES | flags & CHANGES;
        Ok(())
    }

    /// Returns whether a descriptor refers to a file, a directory or a device.
    pub(crate) fn is_file(&self, fd: c_int) -> bool {
        let object = self.descriptors.object(fd);
        object.is_ok_and(|id| matches!(self.object_of(id), Object::File(_)))
    }

    /// `lseek(2)`.
    pub(crate) fn seek_file(
        &mut self,
        fd: c_int,
        offset: i64,
        whence: c_int,
    ) -> Result<u64, Errno> {
        let inode = self.inode(fd)?;
        let position = self.file(fd)?.position;
        let disk = self.disk()?;
        let from = match whence {
            libc::SEEK_SET => 0,
            libc::SEEK_CUR => position,
            libc::SEEK_END => disk.size(inode)?,
            libc::SEEK_DATA | libc::SEEK_HOLE => {
                let from = u64::try_from(offset).map_err(|_| libc::ENXIO)?;
                let found = disk.seek(inode, from, whence == libc::SEEK_HOLE)?;
                self.file(fd)?.position = found;
                return Ok(found);
            }
            _ => return Err(libc::EINVAL),
        };
        let position = from
            .checked_add_signed(offset)
            .filter(|position| i64::try_from(*position).is_ok());
        let position = position.ok_or(libc::EINVAL)?;
        self.file(fd)?.position = position;
        Ok(position)
    }

    /// `getdents64(2)`: calls `take` with what is left of a directory, which returns how many it has taken.
    pub(crate) fn read_directory<R>(
        &mut self,
        fd: c_int,
        take: impl FnOnce(u64, &[Listed]) -> Result<(usize, R), Errno>,
    ) -> Result<R, Errno> {
        let inode = self.inode(fd)?;
        if self.file(fd)?.position == 0 {
            self.file(fd)?.listed = self.disk()?.list(inode)?;
        }
        let file = self.file(fd)?;
        let left = file
            .listed
            .get(file.position as usize..)
            .unwrap_or_default();
        let (taken, result) = take(file.position, left)?;
        file.position += taken as u64;
        Ok(result)
    }

    fn read_device(&mut self, device: Device, buffers: &mut [&mut [u8]]) -> usize {
        let (_, host) = self.running();
        let mut done = 0;
        for buffer in buffers {
            match device {
                Device::Null => continue,
                Device::Zero => buffer.fill(0),
                Device::Random => self.hosts[host.0].entropy.fill(buffer),
            }
            done += buffer.len();
        }
        done
    }
}

/// Checks a read or a write that goes around what is in memory: it is of whole sectors.
///
/// # Errors
/// `EINVAL`: it is not.
fn check_sectors(start: u64, mut lengths: impl Iterator<Item = usize>) -> Result<(), Errno> {
    const SECTOR: usize = 512;
    match start % SECTOR as u64 == 0 && lengths.all(|length| length % SECTOR == 0) {
        true => Ok(()),
        false => Err(libc::EINVAL),
    }
}

/// Where a read or a write is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct At {
    /// None is the position of the open file.
    pub(crate) offset: Option<u64>,
    /// It fails with `EAGAIN` rather than wait.
    pub(crate) no_wait: bool,
}

impl At {
    /// The position of the open file.
    pub(crate) const POSITION: At = At {
        offset: None,
        no_wait: false,
    };

    pub(crate) fn offset(offset: i64) -> Result<At, Errno> {
        let offset = u64::try_from(offset).map_err(|_| libc::EINVAL)?;
        Ok(At {
            offset: Some(offset),
            no_wait: false,
        })
    }
}

impl Here {
    /// Lets the time pass that the disk takes.
    fn let_pass(&mut self, delay: Duration) {
        let (thread, _) = self.running();
        // The simulation's own thread does not wait.
        if delay > Duration::ZERO && self.threads.number(thread) != 0 {
            let until: Time = self.now + delay;
            self.sleep_until(until);
        }
    }

    /// `read(2)` and the like.
    pub(crate) fn read_file(
        &mut self,
        fd: c_int,
        at: At,
        buffers: &mut [&mut [u8]],
    ) -> Result<usize, Errno> {
        let inode = self.inode_for(fd, false)?;
        if let Some(device) = self.disk()?.device(inode) {
            return Ok(self.read_device(device, buffers));
        }
        let length = buffers.iter().map(|buffer| buffer.len() as u64).sum();
        let (position, flags) = self.file(fd).map(|file| (file.position, file.flags))?;
        let start = at.offset.unwrap_or(position);
        let delay = match flags & libc::O_DIRECT {
            0 => self.disk()?.read_delay(inode, start, length),
            _ => {
                check_sectors(start, buffers.iter().map(|buffer| buffer.len()))?;
                self.disk()?.direct_delay()
            }
        };
        if at.no_wait && delay > Duration::ZERO {
            return Err(libc::EAGAIN);
        }
        self.let_pass(delay);
        // Others may have used the position meanwhile.
        let position = self.file(fd)?.position;
        let read = self
            .disk()?
            .read(inode, at.offset.unwrap_or(position), buffers)?;
        if at.offset.is_none() {
            self.file(fd)?.position = position + read as u64;
        }
        Ok(read)
    }

    /// `write(2)` and the like.
    pub(crate) fn write_file(
        &mut self,
        fd: c_int,
        at: At,
        buffers: &[&[u8]],
    ) -> Result<usize, Errno> {
        let inode = self.inode_for(fd, true)?;
        let length = buffers.iter().map(|buffer| buffer.len() as u64).sum();
        // Writing nothing does not even move the position.
        if length == 0 || self.disk()?.device(inode).is_some() {
            return Ok(length as usize);
        }
        let flags = self.file(fd)?.flags;
        let is_synced = flags & libc::O_DSYNC != 0;
        let place = |kernel: &mut Here| {
            let position = kernel.file(fd)?.position;
            match flags & libc::O_APPEND {
                0 => Ok(at.offset.unwrap_or(position)),
                _ => kernel.disk()?.size(inode),
            }
        };
        let start = place(self)?;
        let delay = match flags & libc::O_DIRECT {
            0 => self.disk()?.write_delay(inode, start, length),
            _ => {
                check_sectors(start, buffers.iter().map(|buffer| buffer.len()))?;
                self.disk()?.direct_delay()
            }
        };
        if at.no_wait && (delay > Duration::ZERO || is_synced) {
            return Err(libc::EAGAIN);
        }
        self.let_pass(delay);
        let start = place(self)?;
        let written = self.disk()?.write(inode, start, buffers)?;
        if at.offset.is_none() {
            self.file(fd)?.position = start + written as u64;
        }
        if is_synced {
            self.sync_inode(inode)?;
        }
        Ok(written)
    }

    fn sync_inode(&mut self, inode: InodeId) -> Result<(), Errno> {
        // What it makes durable becomes so at its end: until then a loss of power may leave a part.
        let delay = self.disk()?.sync_delay();
        self.let_pass(delay);
        self.disk()?.sync(inode)
    }

    /// `fsync(2)`. `fdatasync(2)` is the same: it is allowed to do more than it must.
    pub(crate) fn sync_file(&mut self, fd: c_int) -> Result<(), Errno> {
        let inode = self.inode(fd)?;
        if self.disk()?.device(inode).is_some() {
            return Err(libc::EINVAL);
        }
        self.sync_inode(inode)
    }

    /// `sync_file_range(2)`.
    pub(crate) fn sync_file_range(&mut self, fd: c_int, at: u64, length: u64) -> Result<(), Errno> {
        let inode = self.inode(fd)?;
        let delay = self.disk()?.sync_delay();
        self.let_pass(delay);
        let length = if length == 0 { u64::MAX } else { length };
        self.disk()?.sync_range(inode, at, length)
    }

    /// `sync(2)`.
    pub(crate) fn sync_disk(&mut self) -> Result<(), Errno> {
        let delay = self.disk()?.sync_delay();
        self.let_pass(delay);
        self.disk()?.sync_all();
        Ok(())
    }

    /// Does something with the inode of a file that may be written to.
    pub(crate) fn with_writable<R>(
        &mut self,
        fd: c_int,
        f: impl FnOnce(&mut Disk, InodeId) -> Result<R, Errno>,
    ) -> Result<R, Errno> {
        // As the system has it: a file that may only be read cannot be cut.
        let inode = self.inode_for(fd, true).map_err(|errno| match errno {
            libc::EBADF => libc::EINVAL,
            errno => errno,
        })?;
        f(self.disk()?, inode)
    }

    /// Forgets what memory holds of a file and the disk has as well.
    pub(crate) fn forget_clean(&mut self, fd: c_int) -> Result<(), Errno> {
        let inode = self.inode(fd)?;
        self.disk()?.forget_clean(inode)
    }

    /// Takes a lock for an open file, or gives it back: `exclusive` is none then.
    pub(crate) fn lock_file(
        &mut self,
        fd: c_int,
        kind: LockKind,
        range: LockRange,
        exclusive: Option<bool>,
        waits: bool,
    ) -> Result<(), Errno> {
        let (inode, owner) = (self.inode(fd)?, self.descriptors.object(fd)?);
        let (thread, host) = self.running();
        let Some(exclusive) = exclusive else {
            self.disk()?.locks.give_back(inode, owner, kind, range);
            self.wake_lockers(host);
            return Ok(());
        };
        let attempt = |kernel: &mut Kernel| {
            let disk = match kernel.disk() {
                Ok(disk) => disk,
                Err(errno) => return Some(Err(errno)),
            };
            if disk.locks.take(inode, owner, kind, range, exclusive) {
                return Some(Ok(()));
            }
            if !waits {
                return Some(Err(libc::EAGAIN));
            }
            disk.locks.waiting.push(thread);
            None
        };
        let taken = self.wait_for(None, attempt);
        // An exclusive lock may have become a shared one.
        self.wake_lockers(host);
        taken.unwrap_or(Err(libc::EINTR))
    }

    /// Returns the lock that would be in the way of one of a range: its range, and whether it is exclusive.
    pub(crate) fn lock_in_the_way(
        &mut self,
        fd: c_int,
        range: LockRange,
        exclusive: bool,
    ) -> Result<Option<(LockRange, bool)>, Errno> {
        let (inode, owner) = (self.inode(fd)?, self.descriptors.object(fd)?);
        let locks = &self.disk()?.locks;
        Ok(locks.conflict(inode, owner, LockKind::Range, range, exclusive))
    }

    /// Returns where the open file is, for ranges that are relative to it.
    pub(crate) fn position_and_size(&mut self, fd: c_int) -> Result<(u64, u64), Errno> {
        let (inode, position) = (self.inode(fd)?, self.file(fd)?.position);
        Ok((position, self.disk()?.size(inode)?))
    }
}
