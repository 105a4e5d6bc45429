//! Sorting by a number. The sorting itself is one function for all kinds of items: it is long, and would be compiled
//! anew for each of them.

/// Sorts the items by their keys. Items with the same key keep their order.
pub(crate) fn by_key<T>(items: &mut [T], key: impl Fn(&T) -> u64) {
    let mut keys = Vec::with_capacity(items.len());
    for item in &*items {
        keys.push((key(item), keys.len()));
    }
    arrange(keys, &mut |a, b| items.swap(a, b));
}

/// Sorts keys that know their places, and lets `swap` do the same to the items.
fn arrange(mut keys: Vec<(u64, usize)>, swap: &mut dyn FnMut(usize, usize)) {
    keys.sort_unstable();
    let mut target = vec![0; keys.len()];
    for (to, (_, from)) in keys.into_iter().enumerate() {
        target[from] = to;
    }
    for place in 0..target.len() {
        // Each swap brings one item to where it stays.
        while target[place] != place {
            let to = target[place];
            swap(place, to);
            target.swap(place, to);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn items_come_in_order_and_equals_as_they_were() {
        let mut items = vec![(3, 'a'), (1, 'b'), (3, 'c'), (0, 'd'), (1, 'e')];
        by_key(&mut items, |(key, _)| *key);
        let letters: String = items.into_iter().map(|(_, letter)| letter).collect();
        assert_eq!(letters, "dbeac");
        let mut many: Vec<u64> = (0..1000).map(|n| n * 389 % 1000).collect();
        by_key(&mut many, |key| *key);
        assert!(many.is_sorted());
        by_key(&mut [], |key| *key);
    }
}
