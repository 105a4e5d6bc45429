//! A file in the page cache, read in blocks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;
use std::{env, io, thread};

use crate::case::{Plan, Wrong, expect};
use crate::meter::process_cpu;

/// What is read at once.
pub const BLOCK: usize = 4096;

/// Blocks of the file.
const BLOCKS: usize = 256;

/// Blocks that a reader reads between two looks at whether it is over.
const BATCH: usize = 16;

/// The file, and what its readers have done.
pub struct Reading {
    path: PathBuf,
    contents: Vec<u8>,
    over: AtomicBool,
    reads: AtomicU64,
    failed: Mutex<Option<String>>,
}

impl Reading {
    /// Makes the file. Having been written just now it is in the page cache.
    pub fn new() -> io::Result<Self> {
        static NAMES: AtomicU64 = AtomicU64::new(0);
        let name = NAMES.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("bench-file-{}-{name}", process::id()));
        let words = 0..(BLOCKS * BLOCK / size_of::<u64>()) as u64;
        let contents: Vec<u8> = words.flat_map(u64::to_ne_bytes).collect();
        fs::write(&path, &contents)?;
        Ok(Reading {
            path,
            contents,
            over: AtomicBool::new(false),
            reads: AtomicU64::new(0),
            failed: Mutex::new(None),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Nanoseconds from one read to the next, and microseconds of CPU for one, while others read.
    pub fn measure(&self, plan: &Plan) -> Vec<f64> {
        thread::sleep(plan.warm_up);
        let at_start = (Instant::now(), process_cpu(), self.reads());
        thread::sleep(plan.measure);
        let (took, cpu) = (at_start.0.elapsed(), process_cpu() - at_start.1);
        let reads = (self.reads() - at_start.2) as f64;
        self.over.store(true, Ordering::Release);
        vec![
            took.as_nanos() as f64 / reads,
            cpu.as_secs_f64() * 1e6 / reads,
        ]
    }

    /// How many reads were right, if none was wrong; for the time after the readers have ended.
    pub fn checked(&self) -> Result<u64, Wrong> {
        let failed = self
            .failed
            .lock()
            .expect("nobody panics with the lock")
            .take();
        expect("a failed reader", failed, None)?;
        Ok(self.reads())
    }

    fn reads(&self) -> u64 {
        self.reads.load(Ordering::Acquire)
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        // A file that stays behind in the directory for such files is no wrong result.
        let _ = fs::remove_file(&self.path);
    }
}

/// Where a reader is.
pub struct Reader<'a> {
    reading: &'a Reading,
    block: usize,
    rounds: usize,
}

impl<'a> Reader<'a> {
    pub fn new(reading: &'a Reading) -> Self {
        Reader {
            reading,
            block: 0,
            rounds: 0,
        }
    }

    /// The position of the block to read.
    pub fn position(&self) -> u64 {
        (self.block * BLOCK) as u64
    }

    /// Checks the block that was read. Says whether to go on.
    pub fn check(&mut self, read: io::Result<&[u8]>) -> bool {
        let want = &self.reading.contents[self.block * BLOCK..][..BLOCK];
        let wrong = match read {
            Err(why) => Some(why.to_string()),
            // All of it in the first round, the ends of it from then on.
            Ok(got) if self.rounds == 0 => (got != want).then(|| "other bytes".into()),
            Ok(got) => {
                let same = got[..8] == want[..8] && got[BLOCK - 8..] == want[BLOCK - 8..];
                (!same).then(|| "other ends".into())
            }
        };
        if let Some(wrong) = wrong {
            let told = format!("block {}: {wrong}", self.block);
            *self
                .reading
                .failed
                .lock()
                .expect("nobody panics with the lock") = Some(told);
            return false;
        }
        self.block += 1;
        if self.block.is_multiple_of(BATCH) {
            self.reading.reads.fetch_add(BATCH as u64, Ordering::AcqRel);
            if self.block == BLOCKS {
                self.block = 0;
                self.rounds += 1;
            }
            return !self.reading.over.load(Ordering::Acquire);
        }
        true
    }
}
