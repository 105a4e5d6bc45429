//! The run that this process is, if it is one.

use super::{fixed, page};
use crate::picture::{Recorder, Tape};
use crate::raw;
use std::env;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::Duration;

static IS_RUN: AtomicBool = AtomicBool::new(false);
static SEED: AtomicU64 = AtomicU64::new(0);
/// The state of the random numbers outside of hosts.
static ENTROPY: AtomicU64 = AtomicU64::new(0);
/// The real number of the thread that runs the test.
static THREAD: AtomicI32 = AtomicI32::new(0);

/// Makes this process the run of a seed. The calling thread is its only one.
pub(super) fn begin(seed: u64) {
    SEED.store(seed, Ordering::Relaxed);
    ENTROPY.store(seed.rotate_left(32), Ordering::Relaxed);
    THREAD.store(raw::gettid(), Ordering::Relaxed);
    IS_RUN.store(true, Ordering::Relaxed);
}

/// Returns whether this process is a run.
pub(crate) fn is_run() -> bool {
    IS_RUN.load(Ordering::Relaxed)
}

/// Returns the seed of the run that this process is, or that of the environment.
///
/// # Panics
/// The environment has one that is no number.
pub(crate) fn seed() -> Option<u64> {
    match is_run() {
        true => Some(SEED.load(Ordering::Relaxed)),
        false => number("TRESS_SIM_SEED"),
    }
}

/// Returns the virtual time that a simulation may take by the environment, as madsim has it.
///
/// # Panics
/// The environment has one that is no number.
pub(crate) fn duration() -> Option<Duration> {
    number("MADSIM_TEST_TIME_LIMIT").map(Duration::from_secs)
}

fn number(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    let number = text.trim().parse();
    Some(number.unwrap_or_else(|_| panic!("{name} is {text:?}, which is no number below 2^64")))
}

/// Fills the buffer with random numbers of the run, for what is no host: the same for each run of a seed. Returns false if
/// this process is no run.
pub(crate) fn draw(buffer: &mut [u8]) -> bool {
    if !is_run() {
        return false;
    }
    for chunk in buffer.chunks_mut(8) {
        // SplitMix64, as in `draw`.
        let mut z = ENTROPY.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let number = (z ^ (z >> 31)).to_le_bytes();
        chunk.copy_from_slice(&number[..chunk.len()]);
    }
    true
}

/// Returns whether that is the thread of a run that is no host's: messages of panics have its number, which would be
/// another one in each process.
pub(crate) fn is_thread_of_test(thread: libc::pid_t) -> bool {
    is_run() && THREAD.load(Ordering::Relaxed) == thread
}

/// Has a simulation of a run that is recorded write to the tape of it, unless another one does.
pub(crate) fn record(recorder: &Recorder, seed: u64) {
    if page::page().has(page::RECORD) {
        if let Some(tape) = Tape::shared() {
            recorder.begin_on(tape, seed);
        }
    }
}

/// Writes to the log of steps.
pub(crate) fn write_log(mut bytes: &[u8]) {
    while !bytes.is_empty() && page::page().has(page::LOG) {
        let (at, size) = (bytes.as_ptr() as libc::c_long, bytes.len() as libc::c_long);
        // SAFETY: the buffer has that size.
        let written =
            unsafe { raw::syscall(libc::SYS_write, [fixed::TRACE.into(), at, size, 0, 0, 0]) };
        match usize::try_from(written) {
            Ok(written) => bytes = &bytes[written..],
            Err(_) if written == -libc::c_long::from(libc::EINTR) => {}
            // The log is full, or gone: what it lacks shows as its end.
            Err(_) => return,
        }
    }
}
