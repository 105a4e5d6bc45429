//! The content of a file: what memory holds of it, and what the disk does.
//!
//! Both are blocks. A block in memory that differs from the disk's is *dirty* until it is written: by a sync, or in the
//! background at a time that was drawn when it became dirty. The latter is not an event: it is looked at when it matters.

use crate::draw::Stream;
use crate::time::Time;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

/// Size of a block, and of a page in memory.
pub(super) const BLOCK: usize = 4096;
/// What a disk writes all of, or nothing.
const SECTOR: usize = 512;

type Bytes = Rc<[u8; BLOCK]>;

/// The moment of a change, and when it is written in the background.
#[derive(Debug, Clone, Copy)]
pub(super) struct When {
    pub(super) now: Time,
    pub(super) due: Time,
}

/// What a file holds. Bytes of blocks beyond its size are zero.
#[derive(Debug, Default)]
pub(super) struct Content {
    size: u64,
    /// Blocks in memory, by number. None is a hole, where the disk may have something.
    pages: BTreeMap<u64, Option<Bytes>>,
    /// Which of them are to be written, and when.
    dirty: BTreeMap<u64, Time>,
    /// Number of blocks that are no holes.
    allocated: u64,
    /// What the disk has.
    durable: BTreeMap<u64, Bytes>,
    durable_size: u64,
    /// When the size is written, if it is to be.
    size_due: Option<Time>,
}

/// A block that a loss of power may have left half written, and what was there before.
#[derive(Debug)]
pub(super) struct Survivor {
    index: u64,
    before: Option<Bytes>,
}

fn blocks(at: u64, length: u64) -> Range<u64> {
    let block = BLOCK as u64;
    at / block..at.saturating_add(length).div_ceil(block)
}

impl Content {
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Number of blocks that take room.
    pub(super) fn allocated(&self) -> u64 {
        self.allocated
    }

    /// Returns whether something of that range has to be read from the disk.
    pub(super) fn misses(&self, at: u64, length: u64) -> bool {
        let length = length.min(self.size.saturating_sub(at));
        let range = blocks(at, length);
        !range.is_empty()
            && self
                .durable
                .range(range)
                .any(|(index, _)| !self.pages.contains_key(index))
    }

    /// Returns whether writing that range has to read from the disk first: blocks that are written in part.
    pub(super) fn write_misses(&self, at: u64, length: u64) -> bool {
        let block = BLOCK as u64;
        let end = at.saturating_add(length);
        let is_partial = |edge: u64| edge % block != 0;
        let is_missing = |edge: u64| {
            let index = edge / block;
            !self.pages.contains_key(&index) && self.durable.contains_key(&index)
        };
        length > 0
            && [at, end]
                .into_iter()
                .any(|edge| is_partial(edge) && is_missing(edge))
    }

    fn is_hole(&self, index: u64) -> bool {
        match self.pages.get(&index) {
            Some(page) => page.is_none(),
            None => !self.durable.contains_key(&index),
        }
    }

    /// Returns how many bytes of a write fit in that many further blocks.
    pub(super) fn fits(&self, at: u64, length: u64, room: u64) -> u64 {
        let mut holes = blocks(at, length).filter(|index| self.is_hole(*index));
        match holes.nth(usize::try_from(room).unwrap_or(usize::MAX)) {
            Some(first) => (first * BLOCK as u64).saturating_sub(at),
            None => length,
        }
    }

    /// Brings a block into memory, unless it is a hole. `rot` draws a bit that has flipped.
    fn load(&mut self, index: u64, rot: &mut impl FnMut() -> Option<usize>) -> Option<&Bytes> {
        if !self.pages.contains_key(&index) {
            let durable = self.durable.get_mut(&index)?;
            if let Some(bit) = rot() {
                Rc::make_mut(durable)[bit / 8 % BLOCK] ^= 1 << (bit % 8);
            }
            self.pages.insert(index, Some(durable.clone()));
        }
        self.pages.get(&index)?.as_ref()
    }

    /// Reads, up to the end of the file. Returns how many bytes.
    pub(super) fn read(
        &mut self,
        at: u64,
        into: &mut [u8],
        mut rot: impl FnMut() -> Option<usize>,
    ) -> usize {
        let length = self.size.saturating_sub(at).min(into.len() as u64) as usize;
        let mut done = 0;
        while done < length {
            let place = at + done as u64;
            let (index, offset) = (place / BLOCK as u64, place as usize % BLOCK);
            let part = (BLOCK - offset).min(length - done);
            let to = &mut into[done..done + part];
            match self.load(index, &mut rot) {
                Some(bytes) => to.copy_from_slice(&bytes[offset..offset + part]),
                None => to.fill(0),
            }
            done += part;
        }
        length
    }

    /// Writes a block in the background if that was due before now.
    fn settle_block(&mut self, index: u64, now: Time) {
        if self.dirty.get(&index).is_some_and(|due| *due <= now) {
            self.dirty.remove(&index);
            self.write_block(index);
        }
    }

    /// Makes the disk's block that of memory.
    fn write_block(&mut self, index: u64) {
        match self.pages.get(&index) {
            Some(Some(bytes)) => {
                self.durable.insert(index, bytes.clone());
            }
            Some(None) => {
                self.durable.remove(&index);
                self.pages.remove(&index);
            }
            None => {}
        }
    }

    /// Changes bytes of a block in memory.
    fn change(&mut self, index: u64, when: When, change: impl FnOnce(&mut [u8; BLOCK])) {
        self.settle_block(index, when.now);
        let page = self.pages.entry(index).or_default();
        if page.is_none() {
            self.allocated += 1;
        }
        change(Rc::make_mut(
            page.get_or_insert_with(|| Rc::new([0; BLOCK])),
        ));
        self.dirty.entry(index).or_insert(when.due);
    }

    /// Writes to memory.
    pub(super) fn write(
        &mut self,
        at: u64,
        bytes: &[u8],
        when: When,
        mut rot: impl FnMut() -> Option<usize>,
    ) {
        let mut done = 0;
        while done < bytes.len() {
            let place = at + done as u64;
            let (index, offset) = (place / BLOCK as u64, place as usize % BLOCK);
            let part = (BLOCK - offset).min(bytes.len() - done);
            // What stays of the block has to be known.
            let _ = self.load(index, &mut rot);
            let from = &bytes[done..done + part];
            self.change(index, when, |block| {
                block[offset..offset + part].copy_from_slice(from)
            });
            done += part;
        }
        let end = at + bytes.len() as u64;
        if end > self.size {
            self.set_size(end, when);
        }
    }

    fn set_size(&mut self, size: u64, when: When) {
        self.settle_size(when.now);
        self.size = size;
        self.size_due.get_or_insert(when.due);
    }

    fn settle_size(&mut self, now: Time) {
        if self.size_due.is_some_and(|due| due <= now) {
            self.size_due = None;
            self.durable_size = self.size;
        }
    }

    fn make_hole(&mut self, index: u64, when: When) {
        self.settle_block(index, when.now);
        if self.is_hole(index) {
            return;
        }
        self.allocated -= 1;
        if self.durable.contains_key(&index) {
            self.pages.insert(index, None);
            self.dirty.entry(index).or_insert(when.due);
        } else {
            self.pages.remove(&index);
            self.dirty.remove(&index);
        }
    }

    /// Makes zeros of a range within the file, and holes of its whole blocks.
    pub(super) fn punch(&mut self, at: u64, length: u64, when: When) {
        let block = BLOCK as u64;
        let end = at
            .saturating_add(length)
            .min(self.size.next_multiple_of(block));
        if at >= end {
            return;
        }
        let range = blocks(at, end - at);
        let present = self.pages.range(range.clone()).map(|(index, _)| *index);
        let present = present.chain(self.durable.range(range).map(|(index, _)| *index));
        let mut present: Vec<u64> = present.collect();
        present.sort_unstable();
        present.dedup();
        for index in present {
            let start = index * block;
            let zeros = at.max(start)..end.min(start + block);
            if zeros == (start..start + block) {
                self.make_hole(index, when);
            } else if self.load(index, &mut || None).is_some() {
                let zeros = (zeros.start - start) as usize..(zeros.end - start) as usize;
                self.change(index, when, |block| block[zeros].fill(0));
            }
        }
    }

    /// Sets the size. What is new is a hole.
    pub(super) fn truncate(&mut self, size: u64, when: When) {
        if size < self.size {
            let whole = self.size.next_multiple_of(BLOCK as u64);
            self.punch(size, whole - size, when);
        }
        if size != self.size {
            self.set_size(size, when);
        }
    }

    /// Returns the next place, from that one on, that is a hole or is none. The end of the file counts as a hole.
    pub(super) fn seek(&self, from: u64, hole: bool) -> Option<u64> {
        let range = blocks(from, self.size.saturating_sub(from));
        let found = (from < self.size)
            .then(|| range.into_iter().find(|index| self.is_hole(*index) == hole))?;
        let found = found.map(|index| from.max(index * BLOCK as u64));
        if hole {
            Some(found.unwrap_or(self.size))
        } else {
            found
        }
    }

    /// Takes room for a range, with zeros where there are holes.
    pub(super) fn allocate(&mut self, at: u64, length: u64, when: When) {
        for index in blocks(at, length) {
            if self.is_hole(index) {
                self.change(index, when, |_| ());
            }
        }
    }

    /// Writes the dirty blocks of a range to the disk.
    pub(super) fn sync_range(&mut self, at: u64, length: u64) {
        let dirty = self
            .dirty
            .range(blocks(at, length))
            .map(|(index, _)| *index);
        for index in dirty.collect::<Vec<_>>() {
            self.dirty.remove(&index);
            self.write_block(index);
        }
    }

    /// Writes everything to the disk.
    pub(super) fn sync(&mut self) {
        for (index, _) in std::mem::take(&mut self.dirty) {
            self.write_block(index);
        }
        self.durable_size = self.size;
        self.size_due = None;
    }

    /// Forgets that blocks are to be written, as a system does that could not write them. Memory keeps them.
    pub(super) fn fail_sync(&mut self) {
        self.dirty.clear();
    }

    /// Forgets what memory holds of blocks that are not to be written. The next read has the disk's.
    pub(super) fn forget_clean(&mut self) {
        let dirty = &self.dirty;
        self.pages.retain(|index, _| dirty.contains_key(index));
        self.count();
    }

    fn count(&mut self) {
        let added = self
            .pages
            .iter()
            .filter(|(index, page)| page.is_some() && !self.durable.contains_key(index));
        let removed = self
            .pages
            .iter()
            .filter(|(index, page)| page.is_none() && self.durable.contains_key(index));
        self.allocated = (self.durable.len() + added.count() - removed.count()) as u64;
    }

    /// Writes what was due in the background.
    pub(super) fn settle(&mut self, now: Time) {
        let due = self
            .dirty
            .iter()
            .filter(|(_, due)| **due <= now)
            .map(|(index, _)| *index);
        for index in due.collect::<Vec<_>>() {
            self.settle_block(index, now);
        }
        self.settle_size(now);
    }

    /// Draws what of that which is not written survives a loss of power. [`recover`](Self::recover) follows.
    pub(super) fn lose_power(&mut self, stream: &mut Stream, survival: f64) -> Vec<Survivor> {
        let mut survivors = Vec::new();
        for (index, _) in std::mem::take(&mut self.dirty) {
            if stream.happens(survival) {
                let before = self.durable.get(&index).cloned();
                self.write_block(index);
                survivors.push(Survivor { index, before });
            }
        }
        if self.size != self.durable_size {
            if stream.happens(survival) {
                self.durable_size = self.size;
            } else if self.size > self.durable_size && stream.happens(survival) {
                // It had got to one of the blocks in between.
                let range = blocks(self.durable_size, self.size - self.durable_size);
                let index = range.start + stream.below((range.end - range.start) as usize) as u64;
                self.durable_size = self.durable_size.max(index * BLOCK as u64);
            }
        }
        survivors
    }

    /// Has a block that survived written only in part.
    pub(super) fn tear(&mut self, survivor: Survivor, stream: &mut Stream) {
        let Some(block) = self.durable.get_mut(&survivor.index) else {
            return;
        };
        let written = SECTOR * (1 + stream.below(BLOCK / SECTOR - 1));
        let block = &mut Rc::make_mut(block)[written..];
        match survivor.before {
            Some(before) => block.copy_from_slice(&before[written..]),
            None => block.fill(0),
        }
    }

    /// Begins anew with what the disk has.
    pub(super) fn recover(&mut self) {
        self.pages.clear();
        self.dirty.clear();
        (self.size, self.size_due) = (self.durable_size, None);
        let end = self.size.div_ceil(BLOCK as u64);
        self.durable.split_off(&end);
        let used = self.size as usize % BLOCK;
        if let Some(last) = self
            .durable
            .get_mut(&(end.saturating_sub(1)))
            .filter(|_| used > 0)
        {
            Rc::make_mut(last)[used..].fill(0);
        }
        self.count();
    }

    /// Returns everything that is in memory, or that the disk has.
    pub(super) fn bytes(&self, durable: bool) -> Vec<u8> {
        let size = if durable {
            self.durable_size
        } else {
            self.size
        };
        let mut bytes = vec![0; size as usize];
        for (index, part) in (0..).zip(bytes.chunks_mut(BLOCK)) {
            let page = self.pages.get(&index).filter(|_| !durable);
            let block = match page {
                Some(page) => page.as_ref(),
                None => self.durable.get(&index),
            };
            if let Some(block) = block {
                part.copy_from_slice(&block[..part.len()]);
            }
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHEN: When = When {
        now: Time(0),
        due: Time(100),
    };

    fn written(bytes: &[u8]) -> Content {
        let mut content = Content::default();
        content.write(0, bytes, WHEN, || None);
        content
    }

    fn stream(seed: u64) -> Stream {
        Stream::new(seed, "test")
    }

    fn read(content: &mut Content, at: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![1; length];
        let n = content.read(at, &mut bytes, || None);
        bytes.truncate(n);
        bytes
    }

    #[test]
    fn reads_what_was_written_over_blocks() {
        let bytes: Vec<u8> = (0..10_000).map(|n| (n % 251) as u8).collect();
        let mut content = written(&bytes);
        assert_eq!(read(&mut content, 0, 20_000), bytes);
        assert_eq!(read(&mut content, 4090, 20), bytes[4090..4110]);
        assert_eq!(read(&mut content, 10_000, 5), b"");
        assert_eq!(content.bytes(false), bytes);
        assert_eq!(content.bytes(true), b"");
    }

    #[test]
    fn holes_are_zeros_and_take_no_room() {
        let mut content = Content::default();
        content.write(3 * BLOCK as u64, b"x", WHEN, || None);
        assert_eq!(content.allocated(), 1);
        assert_eq!(read(&mut content, 0, BLOCK), vec![0; BLOCK]);
        content.allocate(0, 2 * BLOCK as u64, WHEN);
        assert_eq!(content.allocated(), 3);
        content.punch(0, BLOCK as u64, WHEN);
        assert_eq!(content.allocated(), 2);
    }

    #[test]
    fn what_was_cut_off_does_not_come_back() {
        let mut content = written(&[7; 3 * BLOCK]);
        content.sync();
        content.truncate(10, WHEN);
        content.truncate(2 * BLOCK as u64, WHEN);
        let mut expected = vec![0; 2 * BLOCK];
        expected[..10].fill(7);
        assert_eq!(content.bytes(false), expected);
        assert_eq!(content.bytes(true), vec![7; 3 * BLOCK]);
        assert_eq!(content.allocated(), 1);
        content.sync();
        content.recover();
        assert_eq!(content.bytes(false), expected);
    }

    #[test]
    fn a_sync_makes_durable_and_a_failed_one_does_not() {
        let mut content = written(b"old");
        content.sync();
        content.write(0, b"new", WHEN, || None);
        content.fail_sync();
        // Memory still has it, and nothing is left to be written.
        assert_eq!(read(&mut content, 0, 3), b"new");
        content.sync();
        assert_eq!(content.bytes(true), b"old");
        content.forget_clean();
        assert_eq!(read(&mut content, 0, 3), b"old");
    }

    #[test]
    fn what_is_due_is_written_before_it_changes_again() {
        let mut content = written(b"one");
        let later = When {
            now: Time(100),
            due: Time(200),
        };
        content.write(0, b"two", later, || None);
        content.settle(Time(150));
        assert_eq!(content.bytes(true), b"one");
        content.settle(Time(200));
        assert_eq!(content.bytes(true), b"two");
    }

    #[test]
    fn each_block_survives_or_not() {
        let mut results = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let mut content = written(&[1; 2 * BLOCK]);
            content.sync();
            content.write(0, &[2; 2 * BLOCK], WHEN, || None);
            content.lose_power(&mut stream(seed), 0.5);
            content.recover();
            let bytes = content.bytes(false);
            assert_eq!(bytes.len(), 2 * BLOCK);
            results.insert((bytes[0], bytes[BLOCK]));
        }
        assert_eq!(results.len(), 4);
    }

    #[test]
    fn a_size_survives_whole_in_part_or_not() {
        let mut sizes = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let mut content = written(&[1; 3 * BLOCK - 5]);
            content.lose_power(&mut stream(seed), 0.5);
            content.recover();
            sizes.insert(content.size());
        }
        let block = BLOCK as u64;
        assert_eq!(Vec::from_iter(sizes), [0, block, 2 * block, 3 * block - 5]);
    }

    #[test]
    fn a_torn_block_is_new_up_to_a_sector() {
        let mut content = written(&[1; BLOCK]);
        content.sync();
        content.write(0, &[2; BLOCK], WHEN, || None);
        let survivor = content.lose_power(&mut stream(0), 1.0).pop().unwrap();
        content.tear(survivor, &mut stream(0));
        content.recover();
        let bytes = content.bytes(false);
        let new = bytes.iter().filter(|byte| **byte == 2).count();
        assert!(new > 0 && new < BLOCK && new % SECTOR == 0, "{new}");
        assert!(bytes[..new].iter().all(|byte| *byte == 2));
    }

    #[test]
    fn a_flipped_bit_stays() {
        let mut content = written(&[0; 10]);
        content.sync();
        content.recover();
        let mut bytes = [0; 10];
        content.read(0, &mut bytes, || Some(8));
        assert_eq!(bytes[..3], [0, 1, 0]);
        content.recover();
        assert_eq!(read(&mut content, 0, 3), [0, 1, 0]);
    }

    #[test]
    fn blocks_are_missed_until_they_are_read() {
        let mut content = written(&[1; 2 * BLOCK]);
        assert!(!content.misses(0, 100));
        content.sync();
        content.recover();
        assert!(content.misses(0, 100));
        assert!(content.write_misses(5, 10) && !content.write_misses(0, BLOCK as u64));
        read(&mut content, 0, 100);
        assert!(!content.misses(0, 100) && content.misses(0, 5000));
    }

    #[test]
    fn a_write_takes_what_fits() {
        let content = written(&[1; 100]);
        let block = BLOCK as u64;
        assert_eq!(content.fits(0, 3 * block, 1), 2 * block);
        assert_eq!(content.fits(50, 3 * block, 0), block - 50);
        assert_eq!(content.fits(block, 1, 0), 0);
        assert_eq!(content.fits(0, 100, 0), 100);
    }
}
