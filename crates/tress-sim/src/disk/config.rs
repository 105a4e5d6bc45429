//! What a disk is like, and what goes wrong with it.

use std::ops::RangeInclusive;
use std::time::Duration;

/// What the disk of a host is like. Faults are off by default; probabilities are between 0 and 1.
///
/// Reached by [`Disk::config`](crate::Disk::config).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DiskConfig {
    /// Probability that a read fails with `EIO`.
    pub read_error: f64,
    /// Probability that a write fails with `EIO`.
    pub write_error: f64,
    /// Probability that a sync fails with `EIO`. What it should have written counts as written from then on.
    pub sync_error: f64,
    /// Number of reads that will fail next.
    pub failing_reads: u32,
    /// Number of writes that will fail next.
    pub failing_writes: u32,
    /// Number of syncs that will fail next.
    pub failing_syncs: u32,
    /// Probability that a read returns less than it could.
    pub short_read: f64,
    /// Probability that a write takes less than it could.
    pub short_write: f64,
    /// Bytes that fit, without limit if none. Names take no room.
    pub capacity: Option<u64>,
    /// How long it takes to read what is not in memory.
    pub read_latency: RangeInclusive<Duration>,
    /// How long a sync takes.
    pub sync_latency: RangeInclusive<Duration>,
    /// Probability that an operation stalls.
    pub stall: f64,
    /// How long a stall is.
    pub stall_time: RangeInclusive<Duration>,
    /// Probability, for each block that is read from the disk, that one of its bits has flipped.
    pub bit_rot: f64,
    /// When what is not synced is written in the background.
    pub write_back: RangeInclusive<Duration>,
    /// Probability that something that was not written yet survives a loss of power. Drawn anew for each loss if none.
    pub survival: Option<f64>,
    /// Probability that a loss of power leaves a block half written.
    pub tear: f64,
}

impl Default for DiskConfig {
    fn default() -> DiskConfig {
        DiskConfig {
            read_error: 0.0,
            write_error: 0.0,
            sync_error: 0.0,
            failing_reads: 0,
            failing_writes: 0,
            failing_syncs: 0,
            short_read: 0.0,
            short_write: 0.0,
            capacity: None,
            read_latency: Duration::from_micros(50)..=Duration::from_micros(200),
            sync_latency: Duration::from_micros(500)..=Duration::from_millis(10),
            stall: 0.0,
            stall_time: Duration::from_secs(1)..=Duration::from_secs(5),
            bit_rot: 0.0,
            write_back: Duration::from_secs(5)..=Duration::from_secs(30),
            survival: None,
            tear: 0.5,
        }
    }
}
