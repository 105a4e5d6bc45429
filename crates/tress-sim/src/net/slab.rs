//! Values by keys that tell a value from its successor in the same place.

/// A place in a [`Slab`], and which of the values that it has held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key {
    index: u32,
    generation: u32,
}

/// A table whose places are used again.
#[derive(Debug)]
pub(super) struct Slab<T> {
    entries: Vec<Place<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Place<T> {
    generation: u32,
    value: Option<T>,
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab {
            entries: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slab<T> {
    /// Adds the value that `make` makes of its key.
    #[inline]
    pub(super) fn insert_with(&mut self, make: impl FnOnce(Key) -> T) -> Key {
        let index = self.free.pop().unwrap_or_else(|| {
            let place = Place {
                generation: 0,
                value: None,
            };
            self.entries.push(place);
            u32::try_from(self.entries.len() - 1).expect("less than 2^32 at once")
        });
        let place = &mut self.entries[index as usize];
        let generation = place.generation;
        let key = Key { index, generation };
        place.value = Some(make(key));
        key
    }

    #[inline]
    pub(super) fn get(&self, key: Key) -> Option<&T> {
        let place = self.entries.get(key.index as usize)?;
        place
            .value
            .as_ref()
            .filter(|_| place.generation == key.generation)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let place = self.entries.get_mut(key.index as usize)?;
        place
            .value
            .as_mut()
            .filter(|_| place.generation == key.generation)
    }

    #[inline]
    pub(super) fn remove(&mut self, key: Key) -> Option<T> {
        let place = self.entries.get_mut(key.index as usize)?;
        if place.generation != key.generation {
            return None;
        }
        let value = place.value.take()?;
        place.generation = place.generation.wrapping_add(1);
        self.free.push(key.index);
        Some(value)
    }

    /// Removes a value.
    #[inline]
    pub(super) fn discard(&mut self, key: Key) {
        let place = self.entries.get_mut(key.index as usize);
        if let Some(place) = place.filter(|place| place.generation == key.generation) {
            if place.value.is_some() {
                place.value = None;
                place.generation = place.generation.wrapping_add(1);
                self.free.push(key.index);
            }
        }
    }

    /// Returns all values, in the order of their places.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Key, &T)> {
        self.entries
            .iter()
            .enumerate()
            .filter_map(|(index, place)| {
                let generation = place.generation;
                let index = index as u32;
                place
                    .value
                    .as_ref()
                    .map(|value| (Key { index, generation }, value))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_does_not_find_its_successor() {
        let mut slab = Slab::default();
        let first = slab.insert_with(|_| 'a');
        assert_eq!(slab.remove(first), Some('a'));
        let second = slab.insert_with(|_| 'b');
        assert_eq!(first.index, second.index);
        assert_eq!((slab.get(first), slab.get(second)), (None, Some(&'b')));
        assert_eq!(slab.remove(first), None);
        assert_eq!(slab.iter().count(), 1);
        for _ in 0..2 {
            slab.discard(second);
            assert_eq!((slab.get(second), slab.free.len()), (None, 1));
        }
        let third = slab.insert_with(|_| 'c');
        slab.discard(second);
        assert_eq!(slab.get(third), Some(&'c'));
    }
}
