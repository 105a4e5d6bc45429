//! The memory that events are written to, oldest first, of which the oldest are overwritten.
//!
//! It has a fixed size, and can be shared with the process that has started a run: what was written is there however the run ends. Writing
//! allocates nothing, so that a run that is recorded finds the same memory as one that is not.
//!
//! There are three lanes. Names of hosts are kept from the start on. What happens rarely, faults and crashes, has a lane of its
//! own, so that packets do not overwrite it. A lane is two halves: when one is full the other one is emptied and written.

use super::code::{Reader, Writer};
use crate::time::Time;
use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Where an event is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    Rare = 0,
    Frequent = 1,
}

const LANES: [Lane; 2] = [Lane::Rare, Lane::Frequent];

impl Lane {
    /// Bytes of a half.
    const fn half(self) -> usize {
        match self {
            Lane::Rare => 512 * 1024,
            Lane::Frequent => 8 * 1024 * 1024,
        }
    }

    const fn offset(self) -> usize {
        match self {
            Lane::Rare => size_of::<Head>() + NAMES,
            Lane::Frequent => Lane::Rare.offset() + 2 * Lane::Rare.half(),
        }
    }
}

/// Bytes of the names of hosts.
const NAMES: usize = 256 * 1024;

/// Bytes of a tape. Those that are not written take no memory.
pub(crate) const SIZE: usize = Lane::Frequent.offset() + 2 * Lane::Frequent.half();

/// Maximum size of an event.
pub(super) const LARGEST: usize = 2048;

/// What a tape begins with. Zeros are an empty one.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct Head {
    seed: u64,
    /// Number of events that were written.
    written: u64,
    /// Bytes of names.
    names: u64,
    /// A name had no room.
    names_are_cut: u64,
    /// For each lane, the half that is written, and the bytes in both.
    halves: [u64; 2],
    lengths: [[u64; 2]; 2],
}

/// A tape.
pub(crate) struct Tape {
    /// Aligned for a head, and `SIZE` bytes from there on.
    at: *mut u8,
    memory: Memory,
}

/// Whose memory a tape is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Memory {
    Owned,
    /// Of the tape that this process shares, which only one may write to.
    Taken,
    /// Of another one.
    Borrowed,
}

/// The tape that this process shares with the one that has started it, while nothing writes to it.
static SHARED: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());

impl Tape {
    /// Returns a tape in memory of this process.
    pub(super) fn new() -> Tape {
        let words = vec![0u64; SIZE.div_ceil(8)].into_boxed_slice();
        let at = Box::into_raw(words).cast::<u8>();
        let memory = Memory::Owned;
        Tape { at, memory }
    }

    /// Returns a tape in memory that belongs to something else.
    ///
    /// # Safety
    /// There are `SIZE` bytes, aligned for `u64`, which stay there; nothing else uses them while this does.
    pub(crate) unsafe fn at(at: *mut u8) -> Tape {
        let memory = Memory::Borrowed;
        Tape { at, memory }
    }

    /// Makes this the tape that the process shares.
    ///
    /// # Safety
    /// As for [`at`](Self::at), for as long as the process lives.
    pub(crate) unsafe fn share(at: *mut u8) {
        SHARED.store(at, Ordering::Relaxed);
    }

    /// Takes the tape that the process shares, if there is one and nothing else has it. Dropping it gives it back.
    pub(crate) fn shared() -> Option<Tape> {
        let at = SHARED.swap(ptr::null_mut(), Ordering::Relaxed);
        let memory = Memory::Taken;
        (!at.is_null()).then_some(Tape { at, memory })
    }

    fn head(&self) -> Head {
        // SAFETY: a head is at the start, and any bytes are one.
        unsafe { self.at.cast::<Head>().read() }
    }

    fn set_head(&mut self, head: Head) {
        // SAFETY: there is room for a head at the start.
        unsafe { self.at.cast::<Head>().write(head) }
    }

    /// Removes everything from the tape.
    pub(crate) fn clear(&mut self, seed: u64) {
        let head = Head::default();
        self.set_head(Head { seed, ..head });
    }

    /// Adds the name of the next host. Where one does not fit, it and those behind it are left out.
    pub(super) fn add_name(&mut self, name: &str) {
        let mut head = self.head();
        let start = head.names as usize;
        let end = start + name.len() + 1;
        if end > NAMES || head.names_are_cut != 0 {
            head.names_are_cut = 1;
        } else {
            let one_line = name
                .bytes()
                .map(|byte| if byte == b'\n' { b' ' } else { byte });
            for (at, byte) in one_line.chain([b'\n']).enumerate() {
                // SAFETY: it is in the area of names.
                unsafe { self.at.add(size_of::<Head>() + start + at).write(byte) };
            }
            head.names = end as u64;
        }
        self.set_head(head);
    }

    /// Adds an event: its size, number and time, and what `write` writes.
    pub(super) fn add(&mut self, lane: Lane, time: Time, write: impl FnOnce(&mut Writer<'_>)) {
        let mut head = self.head();
        let mut buffer = [0; LARGEST];
        let mut writer = Writer::new(&mut buffer);
        writer.u16(0);
        writer.u64(head.written);
        writer.u64(time.0);
        write(&mut writer);
        let length = writer.length();
        Writer::new(&mut buffer).u16(length as u16);

        let index = lane as usize;
        let mut half = (head.halves[index] & 1) as usize;
        if head.lengths[index][half] as usize + length > lane.half() {
            half ^= 1;
            head.halves[index] = half as u64;
            head.lengths[index][half] = 0;
        }
        let start = head.lengths[index][half] as usize;
        // SAFETY: the half has room for it, as was just made sure.
        unsafe {
            let to = self.at.add(lane.offset() + half * lane.half() + start);
            ptr::copy_nonoverlapping(buffer.as_ptr(), to, length);
        }
        head.lengths[index][half] = (start + length) as u64;
        head.written += 1;
        self.set_head(head);
    }

    /// Returns what is on the tape, however its writer has ended.
    pub(super) fn contents(&self) -> Contents {
        let head = self.head();
        let names = self.bytes(size_of::<Head>(), (head.names as usize).min(NAMES));
        let names = String::from_utf8_lossy(&names);
        let mut events = Vec::new();
        for lane in LANES {
            let index = lane as usize;
            let newest = (head.halves[index] & 1) as usize;
            for half in [newest ^ 1, newest] {
                let length = (head.lengths[index][half] as usize).min(lane.half());
                let bytes = self.bytes(lane.offset() + half * lane.half(), length);
                events.extend(entries(&bytes));
            }
        }
        events.sort_by_key(|entry| entry.number);
        Contents {
            seed: head.seed,
            names: names.lines().map(str::to_string).collect(),
            overwritten: head.written.saturating_sub(events.len() as u64),
            entries: events,
        }
    }

    fn bytes(&self, start: usize, length: usize) -> Vec<u8> {
        debug_assert!(start + length <= SIZE);
        let mut bytes = vec![0; length];
        // SAFETY: the range is on the tape, and nothing writes to it now.
        unsafe { ptr::copy_nonoverlapping(self.at.add(start), bytes.as_mut_ptr(), length) };
        bytes
    }
}

impl Drop for Tape {
    fn drop(&mut self) {
        match self.memory {
            Memory::Owned => {
                let words = ptr::slice_from_raw_parts_mut(self.at.cast::<u64>(), SIZE.div_ceil(8));
                // SAFETY: made by `new`, of that many words.
                drop(unsafe { Box::from_raw(words) });
            }
            Memory::Taken => SHARED.store(self.at, Ordering::Relaxed),
            Memory::Borrowed => {}
        }
    }
}

impl fmt::Debug for Tape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tape")
            .field("head", &self.head())
            .finish_non_exhaustive()
    }
}

/// What is on a tape.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) seed: u64,
    pub(super) names: Vec<String>,
    /// In the order in which they were written.
    pub(super) entries: Vec<Entry>,
    /// Number of events that are not there any more.
    pub(super) overwritten: u64,
}

/// An event, as it was written.
#[derive(Debug)]
pub(super) struct Entry {
    number: u64,
    pub(super) time: Time,
    pub(super) bytes: Vec<u8>,
}

/// Reads events, as far as they make sense.
fn entries(bytes: &[u8]) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut rest = bytes;
    while let Some(length) = Reader::new(rest).u16() {
        let length = usize::from(length);
        let Some(one) = rest.get(..length).filter(|one| one.len() <= LARGEST) else {
            break;
        };
        let mut reader = Reader::new(one);
        let (Some(_), Some(number), Some(time)) = (reader.u16(), reader.u64(), reader.u64()) else {
            break;
        };
        let time = Time(time);
        let bytes = reader.rest().to_vec();
        entries.push(Entry {
            number,
            time,
            bytes,
        });
        rest = &rest[length..];
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(entry: &Entry) -> u64 {
        Reader::new(&entry.bytes).u64().expect("a number")
    }

    #[test]
    fn the_oldest_are_overwritten() {
        let mut tape = Tape::new();
        tape.clear(7);
        tape.add_name("a");
        tape.add(Lane::Rare, Time(1), |writer| writer.u64(u64::MAX));
        let all = 100_000;
        for at in 0..all {
            tape.add(Lane::Frequent, Time(at), |writer| {
                writer.u64(at);
                writer.bytes(&[0; 300]);
            });
        }
        let contents = tape.contents();
        assert_eq!(
            (contents.seed, &contents.names[..]),
            (7, &["a".to_string()][..])
        );
        let kept = contents.entries.len() as u64;
        assert_eq!(kept + contents.overwritten, all + 1);
        assert!((20_000..60_000).contains(&kept), "{kept}");
        // The rare one is still there, and is the first.
        assert_eq!(number(&contents.entries[0]), u64::MAX);
        let numbers: Vec<_> = contents.entries[1..].iter().map(number).collect();
        assert_eq!(numbers, (all + 1 - kept..all).collect::<Vec<_>>());
    }

    #[test]
    fn what_makes_no_sense_is_the_end() {
        let mut tape = Tape::new();
        tape.add(Lane::Rare, Time(1), |writer| writer.u64(5));
        // SAFETY: the tape has that many bytes.
        unsafe {
            let mut head = tape.head();
            head.lengths = [[u64::MAX; 2]; 2];
            head.names = u64::MAX;
            head.halves = [u64::MAX - 1; 2];
            tape.set_head(head);
            tape.at.add(Lane::Frequent.offset()).write_bytes(0xff, 64);
        }
        let contents = tape.contents();
        assert_eq!(contents.entries.len(), 1);
    }

    #[test]
    fn names_that_do_not_fit_are_left_out() {
        let mut tape = Tape::new();
        let long = "x".repeat(NAMES - 3);
        for name in ["a\nb", &long, "c"] {
            tape.add_name(name);
        }
        assert_eq!(tape.contents().names, ["a b"]);
        assert_eq!(tape.contents().entries.len(), 0);
    }
}
