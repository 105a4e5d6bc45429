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

const _: () = assert!(
    size_of::<(u64, Holders)>() <= 112,
    "see the module's documentation"
);

/// Notes that the task that is being polled is one of those that hold the lock at that address. To be called after
/// the lock was taken.
#[inline(always)]
pub(crate) fn acquired(resource: u64) {
    if is_on() {
        note_acquired(resource, false);
    }
}

/// Notes that the task that is being polled is the only one that holds the lock at that address. To be called after
/// the lock was taken.
#[inline(always)]
pub(crate) fn acquired_alone(resource: u64) {
    if is_on() {
        note_acquired(resource, true);
    }
}

#[cold]
#[inline(never)]
fn note_acquired(resource: u64, alone: bool) {
    let holder = Holder {
        task: polled(),
        since: Clock::new().now(),
    };
    LOCKS.change(
        resource,
        || is_on().then_some(Holders::NONE),
        |holders| {
            if alone {
                *holders = Holders::NONE;
            }
            holders.push(holder);
        },
    );
}

/// Notes that one hold of the lock at that address ends. To be called before the lock is given back: after it, the
/// next holder may have been noted.
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

/// Forgets the holders of a lock that is dropped.
#[inline(always)]
pub(crate) fn forget_lock(resource: u64) {
    if is_on() {
        note_dropped(resource);
    }
}

#[cold]
#[inline(never)]
fn note_dropped(resource: u64) {
    LOCKS.change_or_remove(resource, |_| true);
}

/// Returns the tasks that hold the lock at that address, if that is known.
pub(crate) fn holders_of(resource: u64) -> Option<Holders> {
    LOCKS.get(resource)
}

pub(super) fn forget_all() {
    LOCKS.clear();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sight::Switch;

    /// An address that no lock has.
    fn address(of: &u64) -> u64 {
        std::ptr::from_ref(of) as u64
    }

    fn tasks(resource: u64) -> Vec<u64> {
        let holders = holders_of(resource);
        holders
            .iter()
            .flat_map(Holders::iter)
            .map(|held| held.task)
            .collect()
    }

    #[test]
    fn a_holder_is_noted_until_it_releases() {
        let _on = Switch::on();
        let lock = 0;
        let lock = address(&lock);
        acquired_alone(lock);
        assert_eq!(tasks(lock), [0]);
        released(lock);
        assert!(holders_of(lock).is_none());
    }

    #[test]
    fn an_exclusive_hold_ends_all_others() {
        let _on = Switch::on();
        let lock = 0;
        let lock = address(&lock);
        acquired(lock);
        acquired(lock);
        acquired_alone(lock);
        assert_eq!(tasks(lock), [0]);
        forget_lock(lock);
        assert!(holders_of(lock).is_none());
    }

    #[test]
    fn holders_beyond_the_first_are_counted() {
        let _on = Switch::on();
        let lock = 0;
        let lock = address(&lock);
        for _ in 0..MOST_HOLDERS + 2 {
            acquired(lock);
        }
        assert_eq!(holders_of(lock).expect("held").more, 2);
        for left in (0..MOST_HOLDERS + 2).rev() {
            released(lock);
            assert_eq!(holders_of(lock).is_none(), left == 0);
        }
    }
}
