//! Sorting by a number. The sorting itself is one function for all kinds of items: it is long, and would be compiled
//! anew for each of them.

/// Returns the items in order of their keys. Items with the same key keep their order.
pub(crate) fn by_key<T>(items: Vec<T>, key: impl Fn(&T) -> u64) -> Vec<T> {
    let places = places(items.iter().map(key).collect());
    let mut items: Vec<Option<T>> = items.into_iter().map(Some).collect();
    places
        .into_iter()
        .filter_map(|place| items[place].take())
        .collect()
}

/// Returns where the smallest key is, the next one, and so on.
fn places(keys: Vec<u64>) -> Vec<usize> {
    let mut numbered: Vec<(u64, usize)> = keys.into_iter().zip(0..).collect();
    numbered.sort_unstable();
    numbered.into_iter().map(|(_, place)| place).collect()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn items_come_in_order_and_equals_as_they_were() {
        let items = vec![(3, 'a'), (1, 'b'), (3, 'c'), (0, 'd'), (1, 'e')];
        let sorted = by_key(items, |(key, _)| *key);
        let letters: String = sorted.into_iter().map(|(_, letter)| letter).collect();
        assert_eq!(letters, "dbeac");
        assert!(by_key(Vec::<u64>::new(), |key| *key).is_empty());
    }
}
