//! Queues that have grown long.

use super::parts::Table;
use super::switch::is_on;
use super::{Site, WaitKind};
use crate::sys::clock::Clock;

/// The length from which on a queue is noted, each time it has doubled.
const LONG: usize = 256;

/// A queue that is long, or has been.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grown {
    pub(crate) kind: WaitKind,
    pub(crate) site: Option<Site>,
    /// The length when it was last noted.
    pub(crate) length: usize,
    /// When it was first noted at this length or above, in counts of the clock.
    pub(crate) since: u64,
}

static QUEUES: Table<Grown> = Table::new();

/// Notes the length of the queue at that address, after something was added to it.
#[inline(always)]
pub(crate) fn grown(kind: WaitKind, resource: u64, site: Option<Site>, length: usize) {
    if is_on() && length >= LONG && length.is_power_of_two() {
        note(kind, resource, site, length);
    }
}

#[cold]
#[inline(never)]
fn note(kind: WaitKind, resource: u64, site: Option<Site>, length: usize) {
    let now = Grown {
        kind,
        site,
        length,
        since: Clock::new().now(),
    };
    QUEUES.change(resource, || now, |grown| *grown = now);
}

/// Returns the queues that have grown long, by address.
pub(crate) fn grown_queues() -> Vec<(u64, Grown)> {
    QUEUES.all().0
}

/// Forgets a queue: it is dropped, or empty.
#[inline(always)]
pub(crate) fn emptied(resource: u64) {
    if is_on() {
        QUEUES.change_or_remove(resource, |_| true);
    }
}

pub(super) fn forget_all() {
    QUEUES.clear();
}
