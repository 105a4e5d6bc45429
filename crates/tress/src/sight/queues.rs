//! Queues that have grown long.

use super::parts::Table;
use super::switch::is_on;
use super::{Site, WaitKind};
use crate::sys::atomic::Ordering;
use crate::sys::clock::Clock;
use crate::sys::plain::AtomicBool;

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

/// Whether any queue was noted since sight was switched on. Until then no receiver that finds its queue empty has to look.
static ANY: AtomicBool = AtomicBool::new(false);

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
    ANY.store(true, Ordering::Relaxed);
    QUEUES.change(resource, || is_on().then_some(now), |grown| *grown = now);
}

/// Returns the queues that have grown long, by address.
pub(crate) fn grown_queues() -> Vec<(u64, Grown)> {
    QUEUES.all().0
}

/// Forgets a queue: it is dropped, or empty.
#[inline(always)]
pub(crate) fn emptied(resource: u64) {
    if is_on() && ANY.load(Ordering::Relaxed) {
        note_emptied(resource);
    }
}

#[cold]
#[inline(never)]
fn note_emptied(resource: u64) {
    QUEUES.change_or_remove(resource, |_| true);
}

pub(super) fn forget_all() {
    ANY.store(false, Ordering::Relaxed);
    QUEUES.clear();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sight::Switch;

    #[test]
    fn a_queue_is_noted_when_it_is_long_and_forgotten_when_it_is_empty() {
        let _on = Switch::on();
        let queue = 0_u64;
        let address = std::ptr::from_ref(&queue) as u64;
        let length = || {
            let all = grown_queues();
            all.iter()
                .find(|(at, _)| *at == address)
                .map(|(_, grown)| grown.length)
        };
        for len in 1..LONG {
            grown(WaitKind::ChannelReceive, address, None, len);
        }
        assert_eq!(length(), None);
        for len in LONG..3 * LONG {
            grown(WaitKind::ChannelReceive, address, None, len);
        }
        assert_eq!(length(), Some(2 * LONG));
        emptied(address);
        assert_eq!(length(), None);
    }
}
