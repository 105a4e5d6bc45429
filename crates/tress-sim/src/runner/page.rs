//! A page of memory that the process of a run shares with the one that has started it.
//!
//! The run writes to it how far it has got and how it has ended, so that both are known however it ends.

use crate::choices::{Choices, Kind, Table};
use std::cell::UnsafeCell;
use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, Ordering};

/// How a run has ended, as its page says it.
pub(super) mod state {
    pub(in crate::runner) const RUNNING: u64 = 0;
    pub(in crate::runner) const PASSED: u64 = 1;
    pub(in crate::runner) const FAILED: u64 = 2;
    pub(in crate::runner) const PANICKED: u64 = 3;
}

/// The run's output is part of its digest.
pub(crate) const DIGEST_OUTPUT: u64 = 1;
/// Every step is written to the log.
pub(crate) const LOG: u64 = 2;
/// The detector is on, as with `TRESS_SIM_STRICT=1`.
pub(crate) const STRICT: u64 = 4;
/// Accidents are told in words, as faults always are.
pub(crate) const TELL: u64 = 8;

/// Maximum number of sites of `tress_chaos` that a run reports.
pub(crate) const SITES: usize = 8192;

const TEXT: usize = 16 * 1024;
const PLACE: usize = 512;
/// Bytes of the texts of faults.
const FAULTS: usize = 64 * 1024;

/// What is shared. Only the run changes it while it runs; the numbers are atomic since both map it.
#[repr(C)]
pub(crate) struct Page {
    /// A digest of all steps.
    hash: AtomicU64,
    steps: AtomicU64,
    /// The virtual time of the last step, in nanoseconds.
    time: AtomicU64,
    flags: AtomicU64,
    /// The step whose backtrace is wanted, if it is not zero.
    backtrace_at: AtomicU64,
    pub(super) state: AtomicU64,
    /// Real time that the run may take, in milliseconds.
    pub(super) limit: AtomicU64,
    text_length: AtomicU64,
    text: UnsafeCell<[u8; TEXT]>,
    /// The choices that are the usual ones.
    pub(crate) choices: Table,
    /// How many choices of each kind the run has made.
    pub(crate) choices_made: [AtomicU64; Kind::NUMBER],
    /// Where the panic was that the run has ended with.
    place_length: AtomicU64,
    place: UnsafeCell<[u8; PLACE]>,
    /// The faults and accidents that have happened, a line each.
    faults_length: AtomicU64,
    faults: UnsafeCell<[u8; FAULTS]>,
    /// What became of each site: bits of `chaos`.
    sites: [AtomicU8; SITES],
}

// SAFETY: all but the texts is atomic. A text is written by the run, before it stores its length, and read by the other
// process after the run has ended.
unsafe impl Sync for Page {}

/// The page of what is no run: written, but not read.
static NOWHERE: Page = Page::new();

static PRESENT: AtomicPtr<Page> = AtomicPtr::new(ptr::from_ref(&NOWHERE).cast_mut());

/// Returns the page of the run that this process is.
#[inline]
pub(crate) fn page() -> &'static Page {
    // SAFETY: it is `NOWHERE` or what `set` was given, which lives for ever.
    unsafe { &*PRESENT.load(Ordering::Relaxed) }
}

/// Makes this the page of the run that this process is.
pub(super) fn set(page: &'static Page) {
    PRESENT.store(ptr::from_ref(page).cast_mut(), Ordering::Relaxed);
}

/// An odd number without a pattern in its bits: the golden ratio's fraction.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

#[inline]
fn mix(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(FACTOR).rotate_left(29)
}

/// Returns a digest of bytes.
pub(crate) fn digest(bytes: &[u8]) -> u64 {
    let words = bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    words.fold(bytes.len() as u64, mix)
}

impl Page {
    pub(crate) const fn new() -> Page {
        Page {
            hash: AtomicU64::new(0),
            steps: AtomicU64::new(0),
            time: AtomicU64::new(0),
            flags: AtomicU64::new(0),
            backtrace_at: AtomicU64::new(0),
            state: AtomicU64::new(0),
            limit: AtomicU64::new(0),
            text_length: AtomicU64::new(0),
            text: UnsafeCell::new([0; TEXT]),
            choices: Table::new(),
            choices_made: [const { AtomicU64::new(0) }; Kind::NUMBER],
            place_length: AtomicU64::new(0),
            place: UnsafeCell::new([0; PLACE]),
            faults_length: AtomicU64::new(0),
            faults: UnsafeCell::new([0; FAULTS]),
            sites: [const { AtomicU8::new(0) }; SITES],
        }
    }

    /// Returns whether this is the page of what is no run.
    pub(crate) fn is_nowhere(&self) -> bool {
        ptr::eq(self, &NOWHERE)
    }

    /// Adds a step to the digest. Returns whether it is to be written to the log.
    #[inline]
    pub(crate) fn note(&self, time: u64, what: u64, detail: u64) -> bool {
        let hash = self.hash.load(Ordering::Relaxed);
        let hash = mix(mix(mix(hash, time), what), detail);
        self.hash.store(hash, Ordering::Relaxed);
        self.time.store(time, Ordering::Relaxed);
        let steps = self.steps.load(Ordering::Relaxed);
        self.steps.store(steps + 1, Ordering::Relaxed);
        self.flags.load(Ordering::Relaxed) & LOG != 0
    }

    pub(crate) fn has(&self, flag: u64) -> bool {
        self.flags.load(Ordering::Relaxed) & flag != 0
    }

    pub(crate) fn hash(&self) -> u64 {
        self.hash.load(Ordering::Relaxed)
    }

    pub(crate) fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// Returns the virtual time of the last step, in nanoseconds.
    pub(crate) fn time(&self) -> u64 {
        self.time.load(Ordering::Relaxed)
    }

    /// Returns whether a backtrace of the last step is wanted: of that one, and of the one before it.
    pub(crate) fn wants_backtrace(&self) -> bool {
        let (at, steps) = (self.backtrace_at.load(Ordering::Relaxed), self.steps());
        at == steps || at == steps + 1
    }

    /// Makes the page ready for another run.
    pub(super) fn clear(&self, flags: u64, backtrace_at: u64, choices: &Choices) {
        for number in [
            &self.hash,
            &self.steps,
            &self.time,
            &self.text_length,
            &self.place_length,
            &self.faults_length,
        ]
        .into_iter()
        .chain(&self.choices_made)
        {
            number.store(0, Ordering::Relaxed);
        }
        self.choices.store(choices);
        for site in &self.sites {
            site.store(0, Ordering::Relaxed);
        }
        self.flags.store(flags, Ordering::Relaxed);
        self.backtrace_at.store(backtrace_at, Ordering::Relaxed);
        self.state.store(state::RUNNING, Ordering::Relaxed);
    }

    /// Notes a fault or an accident that has happened. What does not fit is left out.
    pub(crate) fn note_happened(&self, what: &str) {
        if self.is_nowhere() {
            // Simulations of other threads would write at the same time.
            return;
        }
        let length = self.faults_length.load(Ordering::Relaxed) as usize;
        let line = format!("{what}\n");
        if length + line.len() <= FAULTS {
            // SAFETY: only this process writes, by the one thread that runs its simulations; the range is in the array.
            unsafe {
                let to = self.faults.get().cast::<u8>().add(length);
                ptr::copy_nonoverlapping(line.as_ptr(), to, line.len());
            }
            self.faults_length
                .store((length + line.len()) as u64, Ordering::Relaxed);
        }
    }

    /// Returns the faults and the accidents that have happened in a run that has ended.
    pub(super) fn happened(&self) -> (Vec<String>, Vec<String>) {
        // SAFETY: the run has ended, so that nothing writes.
        unsafe { read(&self.faults, &self.faults_length) }
            .lines()
            .map(str::to_string)
            // Faults are numbered.
            .partition(|line| line.starts_with('#'))
    }

    /// Says how the run has ended, and where the panic was, if it was one. Texts that are too long are cut.
    pub(super) fn end(&self, state: u64, text: &str, place: &str) {
        let length = text.floor_char_boundary_at(TEXT);
        // SAFETY: only this process writes, and this is the only call of it.
        unsafe { ptr::copy_nonoverlapping(text.as_ptr(), self.text.get().cast(), length) };
        self.text_length.store(length as u64, Ordering::Relaxed);
        let length = place.floor_char_boundary_at(PLACE);
        // SAFETY: as above.
        unsafe { ptr::copy_nonoverlapping(place.as_ptr(), self.place.get().cast(), length) };
        self.place_length.store(length as u64, Ordering::Relaxed);
        self.state.store(state, Ordering::Relaxed);
    }

    /// Returns what was said at the end of a run that has ended.
    pub(super) fn text(&self) -> String {
        // SAFETY: the run has ended, so that nothing writes.
        unsafe { read(&self.text, &self.text_length) }
    }

    /// Returns where the panic was that a run has ended with, or nothing.
    pub(super) fn place(&self) -> String {
        // SAFETY: as above.
        unsafe { read(&self.place, &self.place_length) }
    }

    /// Adds to what has become of a site.
    pub(crate) fn mark_site(&self, site: usize, bits: u8) {
        if let Some(site) = self.sites.get(site) {
            site.fetch_or(bits, Ordering::Relaxed);
        }
    }

    pub(crate) fn site(&self, site: usize) -> u8 {
        self.sites
            .get(site)
            .map_or(0, |site| site.load(Ordering::Relaxed))
    }
}

/// Reads a text of the page.
///
/// # Safety
/// Nothing writes to it.
unsafe fn read<const SIZE: usize>(text: &UnsafeCell<[u8; SIZE]>, length: &AtomicU64) -> String {
    let length = (length.load(Ordering::Relaxed) as usize).min(SIZE);
    let mut bytes = vec![0; length];
    // SAFETY: the array has that length, and the caller's promise.
    unsafe { ptr::copy_nonoverlapping(text.get().cast(), bytes.as_mut_ptr(), length) };
    String::from_utf8_lossy(&bytes).into_owned()
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Page")
            .field("steps", &self.steps())
            .field("hash", &self.hash())
            .finish_non_exhaustive()
    }
}

/// `str::floor_char_boundary`, which not every supported compiler has.
trait FloorCharBoundary {
    fn floor_char_boundary_at(&self, at: usize) -> usize;
}

impl FloorCharBoundary for str {
    fn floor_char_boundary_at(&self, at: usize) -> usize {
        let mut at = at.min(self.len());
        while !self.is_char_boundary(at) {
            at -= 1;
        }
        at
    }
}
