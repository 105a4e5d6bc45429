//! The state that the two ends of a watch channel share: the value, its version, and the waiting
//! tasks.

use crate::sight::WaitKind;
use crate::sys::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::sys::{RwLock, RwLockReadGuard as ReadGuard, RwLockWriteGuard as WriteGuard};
use crate::wait::Bell;

pub(super) type Guard<'a, T> = ReadGuard<'a, T>;

const CLOSED: u64 = 1;
const STEP: u64 = 2;

/// The number of changes of the value. It may wrap, since versions are only compared for equality.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version(u64);

impl Version {
    /// Returns the version before this one.
    pub(super) fn previous(self) -> Version {
        Version(self.0.wrapping_sub(STEP))
    }
}

/// The version at some moment, and whether all senders had gone by then.
#[derive(Clone, Copy)]
pub(super) struct Snapshot(u64);

impl Snapshot {
    #[inline(always)]
    pub(super) fn version(self) -> Version {
        Version(self.0 & !CLOSED)
    }

    #[inline(always)]
    pub(super) fn is_closed(self) -> bool {
        self.0 & CLOSED != 0
    }
}

pub(super) struct Shared<T> {
    value: RwLock<T>,
    /// The version changes only while the value is locked for writing, so the two match for as long as
    /// it is locked for reading.
    state: AtomicU64,
    senders: AtomicUsize,
    receivers: AtomicUsize,
    /// Rung when the version has changed or the last sender has gone.
    pub(super) changed: Bell,
    /// Rung when the last receiver has gone.
    pub(super) abandoned: Bell,
}

impl<T> Shared<T> {
    /// Creates the state of a channel with one sender and `receivers` receivers.
    #[track_caller]
    pub(super) fn new(value: T, receivers: usize) -> Shared<T> {
        Shared {
            value: RwLock::new(value),
            state: AtomicU64::new(0),
            senders: AtomicUsize::new(1),
            receivers: AtomicUsize::new(receivers),
            changed: Bell::new(WaitKind::WatchChange),
            abandoned: Bell::new(WaitKind::WatchClosed),
        }
    }

    /// Locks the value for reading.
    ///
    /// The lock does not poison: a panic under it, which only the user's closures can cause, leaves
    /// a value of the right type.
    pub(super) fn read(&self) -> ReadGuard<'_, T> {
        self.value.read()
    }

    pub(super) fn write(&self) -> WriteGuard<'_, T> {
        self.value.write()
    }

    #[inline(always)]
    pub(super) fn state(&self) -> Snapshot {
        Snapshot(self.state.load(Ordering::Acquire))
    }

    /// Counts a change of the value. The caller has it locked, and rings afterwards.
    pub(super) fn advance(&self) {
        self.state.fetch_add(STEP, Ordering::Release);
    }

    pub(super) fn senders(&self) -> usize {
        self.senders.load(Ordering::Relaxed)
    }

    pub(super) fn receivers(&self) -> usize {
        self.receivers.load(Ordering::Acquire)
    }

    pub(super) fn add_sender(&self) {
        self.senders.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn remove_sender(&self) {
        if self.senders.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.state.fetch_or(CLOSED, Ordering::Release);
            self.changed.ring();
        }
    }

    pub(super) fn add_receiver(&self) {
        self.receivers.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn remove_receiver(&self) {
        if self.receivers.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.abandoned.ring();
        }
    }
}
