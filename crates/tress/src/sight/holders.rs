//! Which tasks hold a lock, or permits.

use super::parts::Table;
use super::switch::is_on;
use super::waits::polled;
use crate::sys::clock::Clock;

/// Maximum number of holders of one lock that are kept.
const MOST_HOLDERS: usize = 4;

/// A task that holds something.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Holder {
    /// The number of the task; 0: something that is no task.
    pub(crate) task: u64,
    /// When it was acquired, in counts of the clock.
    pub(crate) since: u64,
}

/// The tasks that hold a lock: the first few of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Holders {
    holders: [Option<Holder>; MOST_HOLDERS],
    /// How many more there are.
    pub(crate) more: u32,
}

impl Holders {
    const NONE: Holders = Holders {
        holders: [None; MOST_HOLDERS],
        more: 0,
    };

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Holder> {
        self.holders.iter().flatten()
    }

    fn push(&mut self, holder: Holder) {
        match self.holders.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some(holder),
            None => self.more = self.more.saturating_add(1),
        }
    }

    /// Removes the holder of that number, else one that is not kept, else the first. Returns whether none is left.
    fn remove(&mut self, task: u64) -> bool {
        let own = |place: &&mut Option<Holder>| place.is_some_and(|holder| holder.task == task);
        if let Some(place) = self.holders.iter_mut().find(own) {
            *place = None;
        } else if self.more > 0 {
            self.more -= 1;
        } else if let Some(place) = self.holders.iter_mut().find(|place| place.is_some()) {
            *place = None;
        }
        self.more == 0 && self.holders.iter().all(Option::is_none)
    }
}

static LOCKS: Table<Holders> = Table::new();

/// Notes that the task that is being polled has acquired the lock at that address.
#[inline(always)]
pub(crate) fn acquired(resource: u64) {
    if is_on() {
        note_acquired(resource);
    }
}

#[cold]
#[inline(never)]
fn note_acquired(resource: u64) {
    let holder = Holder {
        task: polled(),
        since: Clock::new().now(),
    };
    LOCKS.change(resource, || Holders::NONE, |holders| holders.push(holder));
}

/// Notes that the lock at that address was released, once.
#[inline(always)]
pub(crate) fn released(resource: u64) {
    if is_on() {
        note_released(resource);
    }
}

#[cold]
#[inline(never)]
fn note_released(resource: u64) {
    let task = polled();
    LOCKS.change_or_remove(resource, |holders| holders.remove(task));
}

/// Returns the tasks that hold the lock at that address, if that is known.
pub(crate) fn holders_of(resource: u64) -> Option<Holders> {
    LOCKS.get(resource)
}

pub(super) fn forget_all() {
    LOCKS.clear();
}
