//! Sets of numbers, as ranges.

use std::fmt;

/// A set of numbers: ranges in ascending order that neither meet nor overlap. A range that ends at [`END`] has no end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Ranges(Vec<(u64, u64)>);

/// The end of a range that has none.
pub(crate) const END: u64 = u64::MAX;

impl Ranges {
    /// Returns the set of the numbers below that one.
    pub(crate) fn below(end: u64) -> Ranges {
        [(0, end)].into_iter().collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the ranges, each from its first number to the one after its last.
    pub(crate) fn as_slice(&self) -> &[(u64, u64)] {
        &self.0
    }

    /// Returns how many numbers are in the set.
    pub(crate) fn len(&self) -> u64 {
        self.0.iter().map(|(from, to)| to - from).sum()
    }

    /// Returns the numbers, in ascending order.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u64> {
        self.0.iter().flat_map(|&(from, to)| from..to)
    }

    /// Returns the numbers that are not in the set.
    pub(crate) fn others(&self) -> Ranges {
        let mut others = Vec::new();
        let mut from = 0;
        for &(first, end) in &self.0 {
            if from < first {
                others.push((from, first));
            }
            from = end;
        }
        if from < END {
            others.push((from, END));
        }
        Ranges(others)
    }

    /// Returns the numbers that are in both sets.
    pub(crate) fn and(&self, other: &Ranges) -> Ranges {
        let both = self.0.iter().flat_map(|&(from, to)| {
            let others = other.0.iter();
            others.map(move |&(first, end)| (from.max(first), to.min(end)))
        });
        both.collect()
    }

    /// Returns the numbers of this set that are not in the other.
    pub(crate) fn without(&self, other: &Ranges) -> Ranges {
        self.and(&other.others())
    }

    /// Returns `length` numbers of the set in ascending order, without the first `skipped`.
    pub(crate) fn part(&self, skipped: u64, length: u64) -> Ranges {
        let mut before = 0;
        let parts = self.0.iter().map(|&(from, to)| {
            let (start, end) = (before, before + (to - from));
            before = end;
            let first = skipped.clamp(start, end) - start;
            let last = skipped.saturating_add(length).clamp(start, end) - start;
            (from + first, from + last)
        });
        parts.collect()
    }

    /// Reads numbers and ranges with commas between them, such as `0-2,5,9-`: the last has no end.
    ///
    /// # Errors
    /// The text is something else; the error says what.
    pub(crate) fn parse(text: &str) -> Result<Ranges, String> {
        text.split(',').map(parse_range).collect()
    }
}

fn parse_range(text: &str) -> Result<(u64, u64), String> {
    let number = |digits: &str| {
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.parse().ok().filter(|number| *number < END);
        number.filter(|_| is_number).ok_or_else(|| {
            format!("{text:?} is neither a number nor a range, such as 7, 7-9 or 7-")
        })
    };
    let (from, to) = match text.split_once('-') {
        None => (number(text)?, number(text)? + 1),
        Some((from, "")) => (number(from)?, END),
        Some((from, last)) => (number(from)?, number(last)? + 1),
    };
    match from < to {
        true => Ok((from, to)),
        false => Err(format!("the range {text} ends before it starts")),
    }
}

impl FromIterator<(u64, u64)> for Ranges {
    /// Takes ranges in any order, each from its first number to the one after its last. Empty ones are left out.
    fn from_iter<I: IntoIterator<Item = (u64, u64)>>(ranges: I) -> Ranges {
        let mut sorted: Vec<_> = ranges.into_iter().filter(|(from, to)| from < to).collect();
        sorted.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (from, to) in sorted {
            match joined.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => joined.push((from, to)),
            }
        }
        Ranges(joined)
    }
}

impl fmt::Display for Ranges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, &(from, to)) in self.0.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            match to {
                END => write!(f, "{comma}{from}-")?,
                _ if to == from + 1 => write!(f, "{comma}{from}")?,
                _ => write!(f, "{comma}{from}-{}", to - 1)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(text: &str) -> Ranges {
        Ranges::parse(text).unwrap()
    }

    #[test]
    fn texts_are_read_and_written() {
        for text in ["0", "7-9", "0-", "0-2,5,9-", "3,5,7"] {
            assert_eq!(ranges(text).to_string(), text);
        }
        // In order, and joined.
        assert_eq!(ranges("9-,5,0-2,3,4-4").to_string(), "0-5,9-");
        for text in [
            "",
            "x",
            "-",
            "-3",
            "3-1",
            "1,,2",
            "1 ",
            "+1",
            "18446744073709551615",
        ] {
            assert!(Ranges::parse(text).is_err(), "{text:?}");
        }
        assert_eq!(
            Ranges::parse("5-3").unwrap_err(),
            "the range 5-3 ends before it starts"
        );
    }

    #[test]
    fn sets_are_sets() {
        assert_eq!(ranges("3-4,7").others(), ranges("0-2,5-6,8-"));
        assert_eq!(ranges("0-").others(), Ranges::default());
        assert_eq!(Ranges::default().others(), ranges("0-"));
        assert_eq!(ranges("0-5,8-").and(&ranges("3-9")), ranges("3-5,8-9"));
        assert_eq!(ranges("0-9").without(&ranges("2,5-")), ranges("0-1,3-4"));
        assert_eq!(Ranges::below(0), Ranges::default());
        assert!(ranges("1,4-6").numbers().eq([1, 4, 5, 6]));
        assert_eq!((Ranges::below(5).len(), ranges("1,4-6").len()), (5, 4));
    }

    #[test]
    fn parts_are_counted_by_numbers() {
        let all = ranges("1,4-6,9-10");
        assert_eq!(all.part(0, 2), ranges("1,4"));
        assert_eq!(all.part(2, 2), ranges("5-6"));
        assert_eq!(all.part(3, 100), ranges("6,9-10"));
        assert!(all.part(6, 1).is_empty());
    }
}
