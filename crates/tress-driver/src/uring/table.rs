//! The operations under way, by keys that are never mistaken for those of an earlier operation.

use std::fmt;

/// Entries with generations: a key of an entry that was removed finds nothing.
pub(crate) struct Table<T> {
    entries: Vec<Entry<T>>,
    free: Vec<u32>,
}

struct Entry<T> {
    generation: u32,
    value: Option<T>,
}

/// Generation in the upper half, index in the lower. Never all ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key(pub(crate) u64);

impl Key {
    fn new(index: u32, generation: u32) -> Key {
        Key(u64::from(generation) << 32 | u64::from(index))
    }

    fn index(self) -> usize {
        (self.0 & u64::from(u32::MAX)) as usize
    }

    fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

impl<T> Table<T> {
    pub(crate) fn new() -> Table<T> {
        Table {
            entries: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Reserves an entry. `fill` must be called with the key before anything else happens to the table.
    pub(crate) fn reserve(&mut self) -> Key {
        let index = self.free.pop().unwrap_or_else(|| {
            let index = u32::try_from(self.entries.len()).expect("fewer than 2^32 operations");
            assert_ne!(index, u32::MAX, "fewer than 2^32 operations");
            self.entries.push(Entry {
                generation: 0,
                value: None,
            });
            index
        });
        Key::new(index, self.entries[index as usize].generation)
    }

    pub(crate) fn fill(&mut self, key: Key, value: T) {
        let entry = &mut self.entries[key.index()];
        debug_assert_eq!(entry.generation, key.generation());
        entry.value = Some(value);
    }

    pub(crate) fn get(&self, key: Key) -> Option<&T> {
        let entry = self.entries.get(key.index())?;
        (entry.generation == key.generation())
            .then_some(entry.value.as_ref())
            .flatten()
    }

    pub(crate) fn remove(&mut self, key: Key) -> Option<T> {
        let entry = self.entries.get_mut(key.index())?;
        if entry.generation != key.generation() {
            return None;
        }
        let value = entry.value.take()?;
        entry.generation = entry.generation.wrapping_add(1);
        self.free.push(key.index() as u32);
        Some(value)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Key, &T)> {
        (0..u32::MAX)
            .zip(&self.entries)
            .filter_map(|(index, entry)| {
                let key = Key::new(index, entry.generation);
                entry.value.as_ref().map(|value| (key, value))
            })
    }
}

impl<T> fmt::Debug for Table<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("len", &self.len()).finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn keys_die_with_their_entries() {
        let mut table = Table::new();
        let first = table.reserve();
        table.fill(first, "first");
        assert_eq!(table.get(first), Some(&"first"));
        assert_eq!(table.remove(first), Some("first"));
        assert_eq!(table.get(first), None);
        assert_eq!(table.remove(first), None);
        let second = table.reserve();
        table.fill(second, "second");
        assert_eq!(first.index(), second.index());
        assert_eq!(
            (table.get(first), table.get(second)),
            (None, Some(&"second"))
        );
        assert_eq!(table.get(Key(u64::MAX)), None);
        assert_eq!(table.len(), 1);
        assert_eq!(table.iter().collect::<Vec<_>>(), [(second, &"second")]);
    }
}
