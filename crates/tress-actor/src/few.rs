//! A map for a few entries that copes with many.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;

/// Maximum number of entries that are searched one by one.
const FEW: usize = 16;

/// A map that is small for most processes and takes little memory then, but finds and removes quickly when it
/// is large. A small one is in the order of insertion, a large one in that of its keys.
pub(crate) enum Few<K, V> {
    List(Vec<(K, V)>),
    Tree(BTreeMap<K, V>),
}

impl<K: Ord, V> Few<K, V> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Few::List(list) => list.len(),
            Few::Tree(tree) => tree.len(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns `false`, and changes nothing, if the key is there.
    pub(crate) fn insert(&mut self, key: K, value: V) -> bool {
        if self.get(&key).is_some() {
            return false;
        }
        match self {
            Few::List(list) if list.len() == FEW => {
                let mut tree: BTreeMap<K, V> = list.drain(..).collect();
                tree.insert(key, value);
                *self = Few::Tree(tree);
            }
            Few::List(list) => list.push((key, value)),
            Few::Tree(tree) => {
                tree.insert(key, value);
            }
        }
        true
    }

    pub(crate) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        match self {
            Few::List(list) => {
                let found = list.iter().find(|(other, _)| other.borrow() == key);
                found.map(|(_, value)| value)
            }
            Few::Tree(tree) => tree.get(key),
        }
    }

    pub(crate) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        match self {
            Few::List(list) => {
                let at = list.iter().position(|(other, _)| other.borrow() == key)?;
                Some(list.remove(at).1)
            }
            Few::Tree(tree) => tree.remove(key),
        }
    }

    pub(crate) fn pop_first(&mut self) -> Option<(K, V)> {
        match self {
            Few::List(list) if list.is_empty() => None,
            Few::List(list) => Some(list.remove(0)),
            Few::Tree(tree) => tree.pop_first(),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        let (list, tree) = match self {
            Few::List(list) => (Some(list), None),
            Few::Tree(tree) => (None, Some(tree)),
        };
        let list = list.into_iter().flatten().map(|(key, value)| (key, value));
        list.chain(tree.into_iter().flatten())
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }
}

impl<K, V> Default for Few<K, V> {
    fn default() -> Few<K, V> {
        Few::List(Vec::new())
    }
}

impl<K: Ord + fmt::Debug, V> fmt::Debug for Few<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.keys()).finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_are_found_and_removed() {
        for count in [1, FEW, FEW + 1, 1000] {
            let mut few = Few::default();
            for n in (0..count).rev() {
                assert!(few.insert(n, 2 * n) && !few.insert(n, 0));
            }
            assert_eq!((few.len(), few.keys().count()), (count, count));
            for n in (0..count).filter(|n| n % 2 == 1) {
                assert_eq!(few.get(&n), Some(&(2 * n)));
                assert_eq!([few.remove(&n), few.remove(&n)], [Some(2 * n), None]);
            }
            let mut left: Vec<_> = std::iter::from_fn(|| few.pop_first()).collect();
            left.sort_unstable();
            let even: Vec<_> = (0..count).step_by(2).map(|n| (n, 2 * n)).collect();
            assert_eq!(left, even);
            assert!(few.is_empty());
        }
    }
}
