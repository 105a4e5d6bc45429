//! What the flight recorder keeps: records of the last seconds, in few bytes each and few bytes together.
//!
//! Records are appended to the open chunk of their track: differences to the record before, as varints, and labels as
//! numbers of a table. A chunk is closed when it is full or spans a second, and does not change from then on. The oldest
//! chunks are dropped when they are too old, or when all together are too large.

use super::event::What;
use super::perfetto::put_varint;
use super::record::Record;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// A chunk of this many bytes is full.
const FULL: usize = 16 << 10;
/// The maximum number of bytes that an open chunk has room for: room doubles, and the last record may exceed it.
const MOST_OPEN: usize = 2 * FULL;

/// Limits of a store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// The maximum number of bytes of all chunks, those that are open included.
    pub(crate) bytes: usize,
    /// How far back it reaches, in counts of the clock.
    pub(crate) span: u64,
    /// The counts after which a chunk is closed.
    pub(crate) chunk_span: u64,
}

/// Records of one track.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    pub(crate) track: usize,
    bytes: Vec<u8>,
    /// When its first record began, and its last ended.
    pub(crate) first: u64,
    pub(crate) last: u64,
}

/// What the next record of a chunk is compared with.
#[derive(Debug, Default, Clone, Copy)]
struct Before {
    at: u64,
    task: u64,
}

#[derive(Debug, Default)]
struct Open {
    chunk: Chunk,
    before: Before,
}

#[derive(Debug)]
pub(crate) struct Store {
    limits: Limits,
    open: Vec<Open>,
    closed: VecDeque<Arc<Chunk>>,
    closed_bytes: usize,
    /// Labels by their number. There are no more than a program has places that spawn, and names.
    labels: Vec<u64>,
    numbers: HashMap<u64, u64>,
    /// From when on nothing has been dropped.
    since: u64,
}

/// What a store had at one moment.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(crate) chunks: Vec<Arc<Chunk>>,
    pub(crate) labels: Vec<u64>,
}

impl Store {
    /// Creates a store that begins at `now`.
    pub(crate) fn new(limits: Limits, tracks: usize, now: u64) -> Store {
        let open = |track| Open {
            chunk: Chunk {
                track,
                ..Chunk::default()
            },
            before: Before::default(),
        };
        Store {
            limits,
            open: (0..tracks).map(open).collect(),
            closed: VecDeque::new(),
            closed_bytes: 0,
            labels: Vec::new(),
            numbers: HashMap::new(),
            since: now,
        }
    }

    /// Adds a record.
    pub(crate) fn push(&mut self, track: usize, record: &Record) {
        let label = self.number_of(record.label);
        let open = &mut self.open[track];
        let chunk = &mut open.chunk;
        if chunk.bytes.is_empty() {
            chunk.first = record.at;
            chunk.last = record.at;
        }
        encode(&mut chunk.bytes, &mut open.before, record, label);
        chunk.first = chunk.first.min(record.at);
        chunk.last = chunk.last.max(record.end());
        let is_old = chunk.last - chunk.first >= self.limits.chunk_span;
        if chunk.bytes.len() >= FULL || is_old {
            self.close(track);
        }
    }

    fn number_of(&mut self, label: u64) -> u64 {
        let next = self.labels.len() as u64;
        let number = *self.numbers.entry(label).or_insert(next);
        if number == next {
            self.labels.push(label);
        }
        number
    }

    fn close(&mut self, track: usize) {
        let open = &mut self.open[track];
        if open.chunk.bytes.is_empty() {
            return;
        }
        let empty = Chunk {
            track,
            ..Chunk::default()
        };
        let mut chunk = std::mem::replace(&mut open.chunk, empty);
        open.before = Before::default();
        chunk.bytes.shrink_to_fit();
        self.closed_bytes += chunk.bytes.len();
        self.closed.push_back(Arc::new(chunk));
        let room = self.open.len() * MOST_OPEN;
        while self.closed_bytes + room > self.limits.bytes && self.closed_bytes > 0 {
            self.drop_oldest();
        }
    }

    /// Returns the bytes of all chunks.
    pub(crate) fn bytes(&self) -> usize {
        let open: usize = self
            .open
            .iter()
            .map(|open| open.chunk.bytes.capacity())
            .sum();
        self.closed_bytes + open
    }

    fn drop_oldest(&mut self) {
        if let Some(chunk) = self.closed.pop_front() {
            self.closed_bytes -= chunk.bytes.len();
            self.since = self.since.max(chunk.last);
        }
    }

    /// Drops what is too old at `now`, and closes chunks of tracks that do nothing more.
    pub(crate) fn tidy(&mut self, now: u64) {
        for track in 0..self.open.len() {
            let first = self.open[track].chunk.first;
            if now.saturating_sub(first) >= self.limits.chunk_span {
                self.close(track);
            }
        }
        let oldest = now.saturating_sub(self.limits.span);
        while self.closed.front().is_some_and(|c| c.last < oldest) {
            self.drop_oldest();
        }
        self.since = self.since.max(oldest);
    }

    /// Says that something may be missing before `now`.
    pub(crate) fn begin_again(&mut self, now: u64) {
        self.since = self.since.max(now);
    }

    /// Returns from when on it has everything that was pushed.
    pub(crate) fn since(&self) -> u64 {
        self.since
    }

    /// Returns all that is kept and ended after `from`, without copying it.
    pub(crate) fn keep(&mut self, from: u64) -> Kept {
        for track in 0..self.open.len() {
            self.close(track);
        }
        let recent = self.closed.iter().filter(|chunk| chunk.last >= from);
        Kept {
            chunks: recent.cloned().collect(),
            labels: self.labels.clone(),
        }
    }
}

fn zigzag(difference: i64) -> u64 {
    (difference << 1 ^ difference >> 63) as u64
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// The bit of the first byte that says that a task follows.
const TASK: u8 = 0x80;
/// The bit of the first byte that says that a wait follows.
const WAIT: u8 = 0x40;

fn encode(bytes: &mut Vec<u8>, before: &mut Before, record: &Record, label: u64) {
    let What { kind, high, low } = record.what;
    let task = if record.task != 0 { TASK } else { 0 };
    let wait = if record.wait != 0 { WAIT } else { 0 };
    bytes.push(kind | task | wait);
    put_varint(bytes, zigzag(record.at.wrapping_sub(before.at) as i64));
    put_varint(bytes, high);
    put_varint(bytes, low);
    before.at = record.at;
    if record.task != 0 {
        put_varint(bytes, zigzag(record.task.wrapping_sub(before.task) as i64));
        put_varint(bytes, label);
        before.task = record.task;
    }
    if record.wait != 0 {
        put_varint(bytes, record.wait);
    }
}

/// Reads a chunk from its beginning.
pub(crate) struct Records<'a> {
    rest: &'a [u8],
    labels: &'a [u64],
    before: Before,
}

impl Kept {
    /// Returns the records of a chunk, in the order in which they were pushed.
    pub(crate) fn records<'a>(&'a self, chunk: &'a Chunk) -> Records<'a> {
        Records {
            rest: &chunk.bytes,
            labels: &self.labels,
            before: Before::default(),
        }
    }
}

impl Records<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

impl Iterator for Records<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        let first = self.byte()?;
        let at = unzigzag(self.varint()?);
        self.before.at = self.before.at.wrapping_add(at as u64);
        let what = What {
            kind: first & !(TASK | WAIT),
            high: self.varint()?,
            low: self.varint()?,
        };
        let mut record = Record {
            at: self.before.at,
            what,
            task: 0,
            label: 0,
            wait: 0,
        };
        if first & TASK != 0 {
            let task = unzigzag(self.varint()?);
            self.before.task = self.before.task.wrapping_add(task as u64);
            record.task = self.before.task;
            let label = self.varint()?;
            record.label = self.labels.get(label as usize).copied().unwrap_or(0);
        }
        if first & WAIT != 0 {
            record.wait = self.varint()?;
        }
        Some(record)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        bytes: 1 << 20,
        span: 30_000,
        chunk_span: 1_000,
    };

    fn poll(at: u64, took: u64, task: u64, label: u64) -> Record {
        let mut record = Record::new([at, What::poll(took, 3).pack(), task, label]);
        record.wait = took / 2;
        record
    }

    fn read(kept: &Kept, track: usize) -> Vec<Record> {
        let chunks = kept.chunks.iter().filter(|chunk| chunk.track == track);
        chunks.flat_map(|chunk| kept.records(chunk)).collect()
    }

    #[test]
    fn records_come_out_as_they_went_in() {
        let mut store = Store::new(LIMITS, 2, 0);
        let mut pushed = Vec::new();
        for n in 0..5000 {
            let record = match n % 4 {
                0 => poll(n * 10, n % 7, u64::MAX - n, 0x1000 + n % 5),
                1 => Record::new([n * 10 - 5, What::park((1 << 40) - 1).pack(), 0, 0]),
                2 => Record::new([n * 10, What::ready().pack(), n, 0x2000]),
                _ => Record::lost(n * 10, n),
            };
            store.push(1, &record);
            pushed.push(record);
        }
        let kept = store.keep(0);
        assert_eq!(read(&kept, 1), pushed);
        assert_eq!(read(&kept, 0), []);
        assert!(kept.chunks.len() > 1);
    }

    #[test]
    fn a_flood_stays_within_the_budget_and_says_what_it_covers() {
        let mut store = Store::new(LIMITS, 4, 0);
        let mut most = 0;
        let many = 1_000_000;
        for n in 0..many {
            store.push(n as usize % 4, &poll(n / 40, 1, n * 1000, 0x1000));
            most = most.max(store.bytes());
        }
        assert!(most <= LIMITS.bytes, "{most}");
        assert!(store.since() > 0);
        let kept = store.keep(0);
        // Everything since then is there, and little more.
        let from = |at: u64| (0..many).filter(move |n| n / 40 > at).count();
        let there: usize = kept
            .chunks
            .iter()
            .map(|chunk| kept.records(chunk).count())
            .sum();
        assert!(there >= from(store.since()));
        assert!(there < many as usize / 2);
    }

    #[test]
    fn the_old_is_dropped_as_time_goes_on() {
        let mut store = Store::new(LIMITS, 1, 0);
        for n in 0..100 {
            store.push(0, &poll(n * 1000, 1, 1, 0x1000));
        }
        store.tidy(100_000);
        assert_eq!(store.since(), 70_000);
        let kept = store.keep(0);
        assert!(read(&kept, 0).iter().all(|record| record.at >= 69_000));
        assert!(read(&kept, 0).len() >= 29);
        // Nothing happens any more, and nothing is left.
        store.tidy(200_000);
        assert!(store.keep(0).chunks.is_empty());
        assert_eq!(store.bytes(), 0);
    }

    #[test]
    fn only_what_is_recent_is_returned_if_asked_for() {
        let mut store = Store::new(LIMITS, 1, 0);
        for n in 0..100 {
            store.push(0, &poll(n * 500, 1, 1, 0x1000));
        }
        let recent = store.keep(40_000);
        assert!(recent.chunks.iter().all(|chunk| chunk.last >= 40_000));
        assert!(read(&recent, 0).iter().any(|record| record.at == 49_500));
    }
}
