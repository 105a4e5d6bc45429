//! How many tasks were spawned at each place.
//!
//! A table of fixed size, whose keys are never removed: a spawn finds its place in it by looking at few entries. Each
//! worker has one of its own, which only it writes; all other threads share one.

use crate::identity::Label;
use crate::sys::Counter;
use crate::sys::atomic::Ordering;
use crate::sys::plain::AtomicU64;

/// Places that a table has room for.
pub(crate) const PLACES: usize = 4096;
/// Entries that are looked at. If all belong to other places, the spawn is counted under no place.
const LOOKS: usize = 16;

#[derive(Debug, Default)]
struct Entry {
    /// A label's word; 0: free.
    label: AtomicU64,
    spawned: Counter,
}

#[derive(Debug)]
pub(crate) struct Spawns {
    entries: Box<[Entry]>,
    elsewhere: Counter,
}

impl Spawns {
    pub(crate) fn new() -> Spawns {
        Spawns {
            entries: (0..PLACES).map(|_| Entry::default()).collect(),
            elsewhere: Counter::default(),
        }
    }

    fn counter(&self, label: Label) -> &Counter {
        let word = label.word();
        let start = (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize;
        for look in 0..LOOKS {
            let entry = &self.entries[(start + look) & (PLACES - 1)];
            let found = entry.label.load(Ordering::Relaxed);
            if found == word {
                return &entry.spawned;
            }
            if found == 0 {
                let claimed =
                    entry
                        .label
                        .compare_exchange(0, word, Ordering::Relaxed, Ordering::Relaxed);
                match claimed {
                    Ok(_) => return &entry.spawned,
                    Err(other) if other == word => return &entry.spawned,
                    Err(_) => {}
                }
            }
        }
        &self.elsewhere
    }

    /// Counts spawns of the thread that owns the table.
    #[inline]
    pub(crate) fn add_own(&self, label: Label, tasks: u64) {
        self.counter(label).add(tasks);
    }

    /// Counts spawns of any thread.
    pub(crate) fn add_shared(&self, label: Label, tasks: u64) {
        self.counter(label).add_shared(tasks);
    }

    /// Calls `f` with the label and number of each place, and with 0 and the number of those counted under none.
    pub(crate) fn each(&self, mut f: impl FnMut(u64, u64)) {
        for entry in &self.entries {
            let label = entry.label.load(Ordering::Relaxed);
            if label != 0 {
                f(label, entry.spawned.get());
            }
        }
        f(0, self.elsewhere.get());
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use std::panic::Location;

    #[test]
    fn each_place_has_its_number_whichever_threads_count() {
        let spawns = Spawns::new();
        let here: [&'static Location<'static>; 2] = [Location::caller(), place()];
        let label = |n: usize| Label::spawned_at(here[n]);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for n in 0..1000 {
                        spawns.add_shared(label(n % 2), 1);
                    }
                });
            }
        });
        let mut counts = HashMap::new();
        spawns.each(|label, number| {
            counts.insert(label, number);
        });
        assert_eq!(counts[&label(0).word()], 2000);
        assert_eq!(counts[&label(1).word()], 2000);
        assert_eq!(counts[&0], 0);
    }

    #[track_caller]
    fn place() -> &'static Location<'static> {
        Location::caller()
    }

    #[test]
    fn more_places_than_there_is_room_for_are_counted_together() {
        let spawns = Spawns::new();
        let places: Vec<&'static Location<'static>> = (0..2 * PLACES)
            .map(|_| &*Box::leak(Box::new(*Location::caller())))
            .collect();
        for place in &places {
            spawns.add_own(Label::spawned_at(place), 1);
        }
        let mut sum = 0;
        spawns.each(|_, number| sum += number);
        assert_eq!(sum, places.len() as u64);
    }
}
