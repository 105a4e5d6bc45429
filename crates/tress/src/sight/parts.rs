//! A table in parts, each with a lock of its own.

use crate::sys::{CachePadded, Mutex};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

const PARTS: usize = 64;
/// Maximum number of entries of a part. Further ones are left out, and counted.
const MOST_IN_A_PART: usize = 16 * 1024;

/// Keys are numbers: of tasks, or addresses. They are spread by a multiplication.
#[derive(Default)]
pub(super) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are numbers")
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = spread(key);
    }
}

/// Fibonacci hashing, after Knuth; the high bits are the good ones, and both ends are used.
fn spread(key: u64) -> u64 {
    let product = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    product ^ product >> 32
}

type Map<T> = HashMap<u64, T, BuildHasherDefault<Spread>>;

#[derive(Default)]
struct Part<T> {
    entries: Map<T>,
    left_out: u64,
}

pub(super) struct Table<T> {
    parts: [CachePadded<Mutex<Option<Part<T>>>>; PARTS],
}

impl<T> Table<T> {
    pub(super) const fn new() -> Table<T> {
        Table {
            parts: [const { CachePadded::new(Mutex::new(None)) }; PARTS],
        }
    }

    fn part(&self, key: u64) -> &Mutex<Option<Part<T>>> {
        &self.parts[(spread(key) >> 58) as usize]
    }

    /// Calls `f` with the entry of a key, made by `make` if there is none. Leaves it out if there are too many, or
    /// `make` makes none.
    ///
    /// `make` is called with the part's lock held. What it sees there of the switch is what `clear` has left behind.
    pub(super) fn change(
        &self,
        key: u64,
        make: impl FnOnce() -> Option<T>,
        f: impl FnOnce(&mut T),
    ) {
        let mut part = self.part(key).lock();
        let part = part.get_or_insert_with(|| Part {
            entries: Map::default(),
            left_out: 0,
        });
        if let Some(entry) = part.entries.get_mut(&key) {
            return f(entry);
        }
        if part.entries.len() >= MOST_IN_A_PART {
            part.left_out += 1;
            return;
        }
        if let Some(made) = make() {
            f(part.entries.entry(key).or_insert(made));
        }
    }

    /// Calls `f` with the entry of a key, if there is one, and removes it if `f` returns true.
    pub(super) fn change_or_remove(&self, key: u64, f: impl FnOnce(&mut T) -> bool) {
        let mut part = self.part(key).lock();
        let Some(part) = part.as_mut() else { return };
        if let Some(entry) = part.entries.get_mut(&key) {
            if f(entry) {
                part.entries.remove(&key);
            }
        }
    }

    /// Returns a copy of the entry of a key. Returns `None` also if its lock cannot be had soon.
    pub(super) fn get(&self, key: u64) -> Option<T>
    where
        T: Clone,
    {
        let part = self.part(key).lock_soon()?;
        part.as_ref()?.entries.get(&key).cloned()
    }

    /// Returns copies of all entries, and how many were left out. Parts whose lock cannot be had soon are skipped.
    pub(super) fn all(&self) -> (Vec<(u64, T)>, u64)
    where
        T: Clone,
    {
        let mut all = Vec::new();
        let mut left_out = 0;
        for part in &self.parts {
            if let Some(part) = part.lock_soon().as_deref().and_then(Option::as_ref) {
                all.extend(
                    part.entries
                        .iter()
                        .map(|(key, entry)| (*key, entry.clone())),
                );
                left_out += part.left_out;
            }
        }
        (all, left_out)
    }

    pub(super) fn clear(&self) {
        for part in &self.parts {
            *part.lock() = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_kept_changed_and_removed() {
        static TABLE: Table<u32> = Table::new();
        for key in 1..=1000 {
            TABLE.change(key, || Some(0), |n| *n += 1);
        }
        TABLE.change(7, || Some(0), |n| *n += 1);
        assert_eq!(TABLE.get(7), Some(2));
        assert_eq!(TABLE.get(8), Some(1));
        TABLE.change_or_remove(7, |_| true);
        TABLE.change_or_remove(8, |n| {
            *n = 5;
            false
        });
        assert_eq!((TABLE.get(7), TABLE.get(8)), (None, Some(5)));
        TABLE.change(7, || None, |n| *n += 1);
        assert_eq!(TABLE.get(7), None);
        assert_eq!(TABLE.all().0.len(), 999);
        TABLE.clear();
        assert_eq!(TABLE.all().0.len(), 0);
    }

    #[test]
    fn a_table_has_a_limit_and_counts_what_is_beyond() {
        static TABLE: Table<()> = Table::new();
        let most = PARTS * MOST_IN_A_PART;
        for key in 0..2 * most as u64 {
            TABLE.change(key, || Some(()), |()| ());
        }
        let (all, left_out) = TABLE.all();
        assert!(all.len() <= most);
        assert_eq!(all.len() as u64 + left_out, 2 * most as u64);
    }
}
