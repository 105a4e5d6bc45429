//! How long operations take, and which of them fail.

use super::Disk;
use super::content::BLOCK;
use super::inode::InodeId;
use crate::choices::{Kind, Made};
use crate::draw::Stream;
use crate::kernel::Errno;
use crate::time::Time;
use std::ops::RangeInclusive;
use std::time::Duration;

fn draw(stream: &mut Stream, made: &Made, range: &RangeInclusive<Duration>) -> Duration {
    let (least, most) = (*range.start(), *range.end());
    let drawn = stream.between(least, most);
    match made.is_usual(Kind::Latency) {
        true => least + most.saturating_sub(least) / 2,
        false => drawn,
    }
}

/// Draws which bit of a block that is read or written is not what it was, if any is.
pub(super) fn rotten_bit(stream: &mut Stream, made: &Made, probability: f64) -> Option<usize> {
    let bit = stream
        .happens(probability)
        .then(|| stream.below(BLOCK * 8))?;
    made.happens(|| format!("bit {bit} of a block is wrong"))
        .then_some(bit)
}

/// Draws whether something fails that fails with a probability, or because it is to fail next.
fn fails(
    stream: &mut Stream,
    made: &Made,
    next: &mut u32,
    probability: f64,
    what: impl FnOnce() -> String,
) -> Result<(), Errno> {
    if *next > 0 {
        *next -= 1;
        return Err(libc::EIO);
    }
    if made.goes_wrong(stream, probability, what) {
        Err(libc::EIO)
    } else {
        Ok(())
    }
}

/// Says what goes wrong.
fn what(host: &str, now: Time, what: &str) -> String {
    format!("at {now:?}: {what}, on {host}")
}

impl Disk {
    fn what(&self, what: &str) -> String {
        self::what(&self.host, self.now, what)
    }

    fn stall(&mut self) -> Duration {
        if !self.stream.happens(self.config.stall) {
            return Duration::ZERO;
        }
        let time = draw(&mut self.stream, &self.made, &self.config.stall_time);
        match self.made.happens(|| self.what("the disk stalls")) {
            true => time,
            false => Duration::ZERO,
        }
    }

    fn miss(&mut self, misses: bool) -> Duration {
        match misses {
            true => draw(&mut self.stream, &self.made, &self.config.read_latency),
            false => Duration::ZERO,
        }
    }

    /// Draws how long a read takes: no time if everything is in memory.
    pub(crate) fn read_delay(&mut self, id: InodeId, at: u64, length: u64) -> Duration {
        let misses = self
            .content(id)
            .is_ok_and(|content| content.misses(at, length));
        self.stall() + self.miss(misses)
    }

    /// Draws how long a write takes: no time unless a part of a block has to be read first.
    pub(crate) fn write_delay(&mut self, id: InodeId, at: u64, length: u64) -> Duration {
        let misses = self
            .content(id)
            .is_ok_and(|content| content.write_misses(at, length));
        self.stall() + self.miss(misses)
    }

    /// Draws how long a read or a write takes that goes around what is in memory.
    pub(crate) fn direct_delay(&mut self) -> Duration {
        self.stall() + self.miss(true)
    }

    /// Draws how long a sync takes.
    pub(crate) fn sync_delay(&mut self) -> Duration {
        self.stall() + draw(&mut self.stream, &self.made, &self.config.sync_latency)
    }

    pub(super) fn check_read(&mut self) -> Result<(), Errno> {
        let config = &mut self.config;
        fails(
            &mut self.stream,
            &self.made,
            &mut config.failing_reads,
            config.read_error,
            || what(&self.host, self.now, "a read fails"),
        )
    }

    pub(super) fn check_write(&mut self) -> Result<(), Errno> {
        let config = &mut self.config;
        fails(
            &mut self.stream,
            &self.made,
            &mut config.failing_writes,
            config.write_error,
            || what(&self.host, self.now, "a write fails"),
        )
    }

    pub(super) fn check_sync(&mut self) -> Result<(), Errno> {
        let config = &mut self.config;
        fails(
            &mut self.stream,
            &self.made,
            &mut config.failing_syncs,
            config.sync_error,
            || what(&self.host, self.now, "a sync fails"),
        )
    }

    /// Draws how much of that length a read or a write does, at least a byte of some.
    pub(super) fn shorten(&mut self, length: usize, probability: f64) -> usize {
        if length < 2 || !self.stream.happens(probability) {
            return length;
        }
        let short = 1 + self.stream.below(length - 1);
        let what = || self.what(&format!("{short} of {length} bytes are read or written"));
        match self.made.happens(what) {
            true => short,
            false => length,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ROOT;
    use super::super::tests::disk;
    use super::*;

    #[test]
    fn what_is_in_memory_takes_no_time() {
        let mut disk = disk(0);
        disk.write_file("/a", &[1; 10_000]).unwrap();
        let id = disk.look_up(ROOT, b"/a", true).unwrap();
        assert_eq!(disk.read_delay(id, 0, 10_000), Duration::ZERO);
        disk.power_loss(Time(1));
        let range = disk.config.read_latency.clone();
        assert!(range.contains(&disk.read_delay(id, 0, 10_000)));
        assert!(range.contains(&disk.write_delay(id, 1, 10)));
        assert!(
            disk.config
                .sync_latency
                .clone()
                .contains(&disk.sync_delay())
        );
    }

    #[test]
    fn stalls_at_times() {
        let mut disk = disk(0);
        disk.config.stall = 0.5;
        let delays: Vec<_> = (0..100).map(|_| disk.read_delay(ROOT, 0, 0)).collect();
        let stalled = delays
            .iter()
            .filter(|delay| **delay >= Duration::from_secs(1))
            .count();
        assert!((20..80).contains(&stalled), "{stalled}");
    }
}
