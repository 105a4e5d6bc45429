//! Files in memory: `mmap`.
//!
//! The mapped part of a file is in memory of the real system, one piece for each file of a host, which all maps of that
//! file share; a private map is a private map of it. A program reads and writes it without any call. What it has changed is found
//! by comparing with the file, and written to it, whenever the host could tell a difference: when it reads the file,
//! syncs it or cuts it, unmaps it, and when the host is switched off. What is written to the file by calls is written
//! there, too. So maps and calls see the same bytes, and a loss of power takes of the changes what was not synced.
//!
//! Two things are not as they are on Linux: memory past the end of a file reads as zeros, where there would be a signal, and
//! a change that finds no room on the disk is lost.

use super::{Errno, Here, HostId, Kernel, SYSCALL};
use crate::disk::{Disk, InodeId};
use crate::raw;
use libc::{c_int, c_long};
use std::collections::BTreeMap;
use std::ops::Range;

/// The size of what is compared and copied at once.
const CHUNK: usize = 64 * 1024;
/// The size of what is written to a file if any of it has changed.
const PAGE: usize = 4096;

/// All that is mapped.
#[derive(Debug, Default)]
pub(crate) struct Maps {
    files: BTreeMap<(HostId, InodeId), Mapped>,
    /// By their first address.
    ranges: BTreeMap<usize, Map>,
}

/// A file that is mapped at least once.
#[derive(Debug)]
struct Mapped {
    memory: Memory,
    /// A program may have changed it.
    is_writable: bool,
}

/// A range of addresses.
#[derive(Debug, Clone, Copy)]
struct Map {
    end: usize,
    host: HostId,
    inode: InodeId,
    /// The place in the file that its start shows.
    offset: u64,
}

/// What `mmap` is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) address: usize,
    pub(crate) size: usize,
    pub(crate) protection: c_int,
    pub(crate) flags: c_int,
    pub(crate) offset: i64,
}

/// Memory that has a descriptor of the real system.
#[derive(Debug)]
struct Memory {
    descriptor: c_long,
    length: u64,
}

/// Makes a real system call.
fn call(number: c_long, arguments: [c_long; 6]) -> Result<c_long, Errno> {
    // SAFETY: the callers in this file pass descriptors that they own, and memory that lasts for the call or is the program's
    // to map.
    match unsafe { raw::syscall(number, arguments) } {
        error @ -4095..0 => Err(-error as Errno),
        result => Ok(result),
    }
}

impl Memory {
    fn new() -> Result<Memory, Errno> {
        let name = c"a file of a simulated host".as_ptr() as c_long;
        let flags = c_long::from(libc::MFD_CLOEXEC);
        let descriptor = call(libc::SYS_memfd_create, [name, flags, 0, 0, 0, 0])?;
        Ok(Memory {
            descriptor,
            length: 0,
        })
    }

    fn grow(&mut self, length: u64) -> Result<(), Errno> {
        if length > self.length {
            let arguments = [self.descriptor, length as c_long, 0, 0, 0, 0];
            call(libc::SYS_ftruncate, arguments)?;
            self.length = length;
        }
        Ok(())
    }

    /// Reads, up to the end.
    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), Errno> {
        let mut done = 0;
        while done < into.len() {
            let part = &mut into[done..];
            let (place, size) = (part.as_mut_ptr() as c_long, part.len() as c_long);
            let from = (at + done as u64) as c_long;
            match call(
                libc::SYS_pread64,
                [self.descriptor, place, size, from, 0, 0],
            )? {
                0 => break,
                read => done += read as usize,
            }
        }
        into[done..].fill(0);
        Ok(())
    }

    /// Writes what is not past its end.
    fn write(&self, at: u64, bytes: &[u8]) -> Result<(), Errno> {
        let room = self.length.saturating_sub(at).min(bytes.len() as u64);
        let mut left = &bytes[..room as usize];
        let mut at = at;
        while !left.is_empty() {
            let (place, size) = (left.as_ptr() as c_long, left.len() as c_long);
            let arguments = [self.descriptor, place, size, at as c_long, 0, 0];
            let written = call(libc::SYS_pwrite64, arguments)? as usize;
            at += written as u64;
            left = &left[written..];
        }
        Ok(())
    }

    /// Fills a range with zeros.
    fn clear(&self, range: Range<u64>) -> Result<(), Errno> {
        let end = range.end.min(self.length);
        if range.start >= end {
            return Ok(());
        }
        let how = c_long::from(libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE);
        let (at, size) = (range.start as c_long, (end - range.start) as c_long);
        call(libc::SYS_fallocate, [self.descriptor, how, at, size, 0, 0]).map(drop)
    }

    /// Returns the first place, from one on, that has ever been written to.
    fn next_data(&self, from: u64) -> Option<u64> {
        let whence = libc::SEEK_DATA.into();
        let arguments = [self.descriptor, from as c_long, whence, 0, 0, 0];
        call(libc::SYS_lseek, arguments).ok().map(|at| at as u64)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // It is closed whatever the call says. What is mapped stays.
        let _ = call(libc::SYS_close, [self.descriptor, 0, 0, 0, 0, 0]);
    }
}

impl Mapped {
    /// Copies a range of the file to memory that holds nothing there.
    fn fill(&self, disk: &mut Disk, inode: InodeId, range: Range<u64>) -> Result<(), Errno> {
        let end = range.end.min(disk.size(inode)?);
        let mut chunk = vec![0; CHUNK];
        let mut at = range.start;
        // What is a hole stays one.
        while let Ok(data) = disk.seek(inode, at, false) {
            if data >= end {
                break;
            }
            let size = (end - data).min(CHUNK as u64) as usize;
            let size = disk.look(inode, data, &mut chunk[..size])?;
            self.memory.write(data, &chunk[..size])?;
            at = data + size as u64;
        }
        Ok(())
    }

    /// Writes what of a range was changed in memory to the file.
    fn write_back(&self, disk: &mut Disk, inode: InodeId, range: Range<u64>) -> Result<(), Errno> {
        if !self.is_writable {
            return Ok(());
        }
        let end = range.end.min(disk.size(inode)?).min(self.memory.length);
        let (mut here, mut there) = (vec![0; CHUNK], vec![0; CHUNK]);
        let mut at = range.start - range.start % PAGE as u64;
        while let Some(data) = self.memory.next_data(at).filter(|data| *data < end) {
            let size = (end - data).min(CHUNK as u64) as usize;
            let (here, there) = (&mut here[..size], &mut there[..size]);
            self.memory.read(data, here)?;
            disk.look(inode, data, there)?;
            for (page, (here, there)) in here.chunks(PAGE).zip(there.chunks(PAGE)).enumerate() {
                if here != there {
                    disk.write_back(inode, data + (page * PAGE) as u64, here)?;
                }
            }
            at = data + size as u64;
        }
        Ok(())
    }
}

/// The size of a page of the real system.
fn page_size() -> usize {
    // SAFETY: it only returns a number.
    unsafe { libc::getauxval(libc::AT_PAGESZ) as usize }
}

/// The end of a range of whole pages.
///
/// # Errors
/// `EINVAL`: it is empty. `ENOMEM`: there is no such range.
fn end_of(address: usize, size: usize) -> Result<usize, Errno> {
    if size == 0 || address % page_size() != 0 {
        return Err(libc::EINVAL);
    }
    let size = size.checked_next_multiple_of(page_size());
    let end = size.and_then(|size| address.checked_add(size));
    end.ok_or(libc::ENOMEM)
}

impl Maps {
    /// Returns the first addresses of the maps that a range overlaps.
    fn overlapping(&self, range: &Range<usize>) -> Vec<usize> {
        let before = self.ranges.range(..range.end).rev();
        let overlapping = before.take_while(|(_, map)| map.end > range.start);
        overlapping.map(|(start, _)| *start).collect()
    }

    /// Returns whether a range overlaps any map.
    fn has(&self, range: &Range<usize>) -> bool {
        let before = self.ranges.range(..range.end).next_back();
        before.is_some_and(|(_, map)| map.end > range.start)
    }

    /// Takes a range of addresses out of all maps. Returns the files that had a part in it.
    fn take_out(&mut self, range: &Range<usize>) -> Vec<(HostId, InodeId)> {
        let mut files = Vec::new();
        for start in self.overlapping(range) {
            let Some(map) = self.ranges.remove(&start) else {
                continue;
            };
            files.push((map.host, map.inode));
            if start < range.start {
                let end = range.start;
                self.ranges.insert(start, Map { end, ..map });
            }
            if range.end < map.end {
                let offset = map.offset + (range.end - start) as u64;
                self.ranges.insert(range.end, Map { offset, ..map });
            }
        }
        files
    }
}

impl Kernel {
    /// Writes what was changed in a mapped file, in a range of it.
    pub(super) fn write_back(
        &mut self,
        host: HostId,
        inode: InodeId,
        range: Range<u64>,
    ) -> Result<(), Errno> {
        match self.maps.files.get(&(host, inode)) {
            Some(mapped) => {
                let disk =
                    Kernel::disk_at(&mut self.disks, &self.hosts, host, self.now, self.epoch);
                mapped.write_back(disk, inode, range)
            }
            None => Ok(()),
        }
    }

    /// Writes what was changed in all mapped files of a host. What does not get there is lost.
    pub(crate) fn write_back_all(&mut self, host: HostId) {
        for (_, inode) in self.mapped_by(host) {
            // There is nobody to tell.
            let _ = self.write_back(host, inode, 0..u64::MAX);
        }
    }

    fn mapped_by(&self, host: HostId) -> Vec<(HostId, InodeId)> {
        let files = self.maps.files.keys();
        files.filter(|(of, _)| *of == host).copied().collect()
    }

    /// A host is switched off. Its memory stays mapped, since there are stacks that refer to it, but nothing comes of it any
    /// more.
    pub(super) fn end_maps(&mut self, host: HostId) {
        self.write_back_all(host);
        for key in self.mapped_by(host) {
            self.maps.files.remove(&key);
        }
        self.maps.ranges.retain(|_, map| map.host != host);
    }

    /// Something was written to a file by a call: it is in memory as well.
    pub(super) fn was_written(
        &mut self,
        inode: InodeId,
        size_before: u64,
        start: u64,
        bytes: &[&[u8]],
        written: usize,
    ) -> Result<(), Errno> {
        let (_, host) = self.running();
        let Some(mapped) = self.maps.files.get(&(host, inode)) else {
            return Ok(());
        };
        mapped.memory.clear(size_before..start)?;
        let (mut at, mut left) = (start, written);
        for part in bytes {
            let part = &part[..part.len().min(left)];
            mapped.memory.write(at, part)?;
            at += part.len() as u64;
            left -= part.len();
        }
        Ok(())
    }

    /// A file was changed in another way: its memory shows what it is now.
    pub(super) fn was_changed(&mut self, inode: InodeId) -> Result<(), Errno> {
        let (_, host) = self.running();
        let Some(mapped) = self.maps.files.get(&(host, inode)) else {
            return Ok(());
        };
        mapped.memory.clear(0..u64::MAX)?;
        mapped.fill(&mut self.disks[host.0], inode, 0..mapped.memory.length)
    }

    /// Has a file in memory, up to that place.
    fn bring_in(
        &mut self,
        host: HostId,
        inode: InodeId,
        length: u64,
    ) -> Result<&mut Mapped, Errno> {
        let key = (host, inode);
        if !self.maps.files.contains_key(&key) {
            let mapped = Mapped {
                memory: Memory::new()?,
                is_writable: false,
            };
            self.disks[host.0].hold(inode);
            self.maps.files.insert(key, mapped);
        }
        let mapped = self.maps.files.get_mut(&key).expect("is there by now");
        let before = mapped.memory.length;
        if length > before {
            mapped.memory.grow(length)?;
            let filled = mapped.fill(&mut self.disks[host.0], inode, before..length);
            if let Err(errno) = filled {
                // What was not filled must not be written back.
                mapped.memory.length = before;
                return Err(errno);
            }
        }
        Ok(mapped)
    }

    /// Forgets a file that is not mapped any more, after it was written back.
    fn forget_unmapped(&mut self, host: HostId, inode: InodeId) -> Result<(), Errno> {
        let mut maps = self.maps.ranges.values();
        if maps.any(|map| (map.host, map.inode) == (host, inode)) {
            return Ok(());
        }
        let result = self.write_back(host, inode, 0..u64::MAX);
        if self.maps.files.remove(&(host, inode)).is_some() {
            self.disks[host.0].release(inode);
        }
        result
    }

    /// Takes a range out of all maps, as another map in its place or its end does.
    fn take_out(&mut self, range: &Range<usize>) {
        for (host, inode) in self.maps.take_out(range) {
            // As on Linux, the end of a map does not fail because of the disk.
            let _ = self.forget_unmapped(host, inode);
        }
    }
}

impl Here {
    /// `mmap(2)` of a file of the running thread's host.
    pub(crate) fn map(&mut self, fd: c_int, wanted: Wanted) -> Result<usize, Errno> {
        let (_, host) = self.running();
        let inode = self.mappable(fd, &wanted)?;
        let size = wanted.size.checked_next_multiple_of(page_size());
        let size = size.filter(|size| *size > 0).ok_or(libc::ENOMEM)?;
        let offset = wanted.offset as u64;
        let length = offset.checked_add(size as u64);
        let length = length.filter(|length| i64::try_from(*length).is_ok());
        let length = length.ok_or(libc::EOVERFLOW)?;
        let shared = wanted.flags & libc::MAP_TYPE != libc::MAP_PRIVATE;
        let mapped = self.bring_in(host, inode, length);
        let result = mapped.and_then(|mapped| {
            let flags = match shared {
                true => wanted.flags & !libc::MAP_TYPE | libc::MAP_SHARED,
                false => wanted.flags,
            };
            let arguments = [
                wanted.address as c_long,
                size as c_long,
                wanted.protection.into(),
                flags.into(),
                mapped.memory.descriptor,
                wanted.offset,
            ];
            call(libc::SYS_mmap, arguments)
        });
        let start = match result {
            Ok(start) => start as usize,
            Err(errno) => {
                // It may have been brought in for this.
                let _ = self.forget_unmapped(host, inode);
                return Err(errno);
            }
        };
        let range = start..start + size;
        // Kept first: what was there may have been the same file.
        let of_file = self.maps.take_out(&range);
        let map = Map {
            end: range.end,
            host,
            inode,
            offset,
        };
        self.maps.ranges.insert(start, map);
        for (host, inode) in of_file {
            let _ = self.forget_unmapped(host, inode);
        }
        // A map that is only read now may be written to later, if the file may.
        if shared && self.file_flags(fd)? & libc::O_ACCMODE == libc::O_RDWR {
            let mapped = self.maps.files.get_mut(&(host, inode));
            mapped.expect("is mapped").is_writable = true;
        }
        Ok(start)
    }

    /// Returns the file that is to be mapped, if it may be.
    fn mappable(&mut self, fd: c_int, wanted: &Wanted) -> Result<InodeId, Errno> {
        if wanted.size == 0 || wanted.offset < 0 || wanted.offset % page_size() as i64 != 0 {
            return Err(libc::EINVAL);
        }
        let shared = match wanted.flags & libc::MAP_TYPE {
            libc::MAP_SHARED => true,
            libc::MAP_PRIVATE => false,
            libc::MAP_SHARED_VALIDATE if wanted.flags & libc::MAP_SYNC != 0 => {
                return Err(libc::EOPNOTSUPP);
            }
            libc::MAP_SHARED_VALIDATE => true,
            _ => return Err(libc::EINVAL),
        };
        // What is no file has no memory.
        if !self.is_file(fd) {
            return Err(libc::ENODEV);
        }
        let flags = self.file_flags(fd)?;
        if flags & libc::O_PATH != 0 {
            return Err(libc::EBADF);
        }
        let access = flags & libc::O_ACCMODE;
        let writes = shared && wanted.protection & libc::PROT_WRITE != 0;
        if access == libc::O_WRONLY || writes && access != libc::O_RDWR {
            return Err(libc::EACCES);
        }
        let inode = self.inode(fd)?;
        let disk = self.disk()?;
        match disk.device(inode).is_some() || disk.is_directory(inode) {
            true => Err(libc::ENODEV),
            false => Ok(inode),
        }
    }

    /// `munmap(2)`. None if nothing there is a file's.
    pub(crate) fn unmap(&mut self, address: usize, size: usize) -> Option<Result<(), Errno>> {
        let range = address..end_of(address, size).ok()?;
        if !self.maps.has(&range) {
            return None;
        }
        self.charge(SYSCALL);
        // Its memory has a descriptor, too, by which it is read.
        let arguments = [address as c_long, size as c_long, 0, 0, 0, 0];
        let unmapped = call(libc::SYS_munmap, arguments);
        if unmapped.is_ok() {
            self.take_out(&range);
        }
        Some(unmapped.map(drop))
    }

    /// `msync(2)`. None if nothing there is a file's.
    pub(crate) fn sync_map(
        &mut self,
        address: usize,
        size: usize,
        flags: c_int,
    ) -> Option<Result<(), Errno>> {
        let range = address..end_of(address, size).ok()?;
        if !self.maps.has(&range) {
            return None;
        }
        self.charge(SYSCALL);
        Some(self.sync_range(&range, flags))
    }

    fn sync_range(&mut self, range: &Range<usize>, flags: c_int) -> Result<(), Errno> {
        const BOTH: c_int = libc::MS_SYNC | libc::MS_ASYNC;
        if flags & !(BOTH | libc::MS_INVALIDATE) != 0 || flags & BOTH == BOTH {
            return Err(libc::EINVAL);
        }
        let (_, running) = self.running();
        let mut result = Ok(());
        for start in self.maps.overlapping(range) {
            let Some(map) = self.maps.ranges.get(&start).copied() else {
                // It was unmapped while another one was synced.
                continue;
            };
            let shown = |address: usize| map.offset + (address - start) as u64;
            let part = shown(range.start.max(start))..shown(range.end.min(map.end));
            result = result.and(self.write_back(map.host, map.inode, part));
            if flags & libc::MS_SYNC != 0 && map.host == running {
                result = result.and(self.sync_inode(map.inode));
            }
        }
        result
    }

    /// `mremap(2)` of a whole map. None if nothing there is a file's.
    pub(crate) fn remap(
        &mut self,
        address: usize,
        size: usize,
        new_size: usize,
        flags: c_int,
        new_address: usize,
    ) -> Option<Result<usize, Errno>> {
        let range = address..end_of(address, size).ok()?;
        if !self.maps.has(&range) {
            return None;
        }
        let map = self.maps.ranges.get(&address).copied();
        Some(match map.filter(|map| map.end == range.end) {
            Some(map) => self.remap_whole(map, &range, new_size, flags, new_address),
            None => Err(libc::EINVAL),
        })
    }

    fn remap_whole(
        &mut self,
        map: Map,
        range: &Range<usize>,
        new_size: usize,
        flags: c_int,
        new_address: usize,
    ) -> Result<usize, Errno> {
        const KNOWN: c_int = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        let new_size = new_size.checked_next_multiple_of(page_size());
        let new_size = new_size.filter(|size| *size > 0 && flags & !KNOWN == 0);
        let new_size = new_size.ok_or(libc::EINVAL)?;
        let length = map.offset.checked_add(new_size as u64);
        self.bring_in(map.host, map.inode, length.ok_or(libc::EINVAL)?)?;
        let arguments = [
            range.start as c_long,
            range.len() as c_long,
            new_size as c_long,
            flags.into(),
            new_address as c_long,
            0,
        ];
        let start = call(libc::SYS_mremap, arguments)? as usize;
        let end = start + new_size;
        self.maps.ranges.remove(&range.start);
        let replaced = self.maps.take_out(&(start..end));
        self.maps.ranges.insert(start, Map { end, ..map });
        for (host, inode) in replaced {
            let _ = self.forget_unmapped(host, inode);
        }
        Ok(start)
    }
}
