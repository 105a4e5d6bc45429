//! Whether two failures are the same one.

use super::pool::{Finished, Outcome};
use std::process::ExitStatus;

/// What a failure is, without what another run of it has differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Symptom {
    /// An error, by the first line of its text.
    Failed(String),
    /// A panic, by its place.
    PanickedAt(String),
    /// A panic at an unknown place, by the first line of its message.
    PanickedWith(String),
    TimedOut,
    Ended(ExitStatus),
}

impl Symptom {
    /// Returns that of a run, if it has failed.
    pub(super) fn of(finished: &Finished) -> Option<Symptom> {
        Some(match &finished.outcome {
            Outcome::Passed => return None,
            Outcome::Failed(text) => Symptom::Failed(without_numbers(text)),
            Outcome::Panicked(text) if finished.place.is_empty() => {
                Symptom::PanickedWith(without_numbers(text))
            }
            Outcome::Panicked(_) => Symptom::PanickedAt(finished.place.clone()),
            Outcome::TimedOut => Symptom::TimedOut,
            Outcome::Ended(status) => Symptom::Ended(*status),
        })
    }
}

/// Returns the first line of a text with zeros for its numbers, and without units of time that stand at numbers.
fn without_numbers(text: &str) -> String {
    let mut rest = text.lines().next().unwrap_or_default();
    let mut plain = String::new();
    while let Some(first) = rest.chars().next() {
        let word = &rest[..length_of(rest, char::is_alphanumeric)];
        if is_hexadecimal(word) {
            plain.push('0');
            rest = &rest[word.len()..];
        } else if first.is_ascii_digit() {
            plain.push('0');
            rest = after_number(rest);
        } else {
            // The rest of a word that has digits inside is looked at again.
            let letters = length_of(word, |character| !character.is_ascii_digit());
            let (taken, left) = rest.split_at(letters.max(first.len_utf8()));
            plain += taken;
            rest = left;
        }
    }
    plain
}

/// Returns how long the part of a text is, from its start, that has only such characters.
fn length_of(text: &str, is_such: impl Fn(char) -> bool) -> usize {
    text.find(|character| !is_such(character))
        .unwrap_or(text.len())
}

/// Returns whether a word is a number in hexadecimal notation, rather than a name.
fn is_hexadecimal(word: &str) -> bool {
    let digits = word.strip_prefix("0x").unwrap_or(word);
    digits.len() >= 4
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        && digits.bytes().any(|byte| byte.is_ascii_digit())
        && digits.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Returns what follows the number that a text starts with, and its unit.
fn after_number(text: &str) -> &str {
    let digits = |text: &str| length_of(text, |character| character.is_ascii_digit());
    let mut rest = &text[digits(text)..];
    if let Some(fraction) = rest.strip_prefix('.').filter(|text| digits(text) > 0) {
        rest = &fraction[digits(fraction)..];
    }
    let units = ["ns", "µs", "ms", "s"].into_iter();
    let mut after = units.filter_map(|unit| rest.strip_prefix(unit));
    let ends = |text: &&str| !text.starts_with(char::is_alphanumeric);
    after.find(ends).unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_do_not_count() {
        for (one, other) in [
            ("17 after 18 were added", "3 after 4 were added"),
            ("took 1.5s", "took 27ms"),
            ("took 12µs, then 4", "took 3ns, then 5"),
            ("a\nb", "a\nc"),
            ("ffea0016 is no message", "16 is no message"),
            ("at 0x7f12ab", "at 0x10c4"),
            ("host17 is gone", "host2 is gone"),
            ("", ""),
        ] {
            assert_eq!(without_numbers(one), without_numbers(other));
        }
        for (one, other) in [
            ("lost", "found"),
            ("3 seeds", "3 trees"),
            ("took 3 m", "took 3 s"),
            ("no 5", "no"),
            ("face", "cafe"),
            ("a1 is gone", "b1 is gone"),
        ] {
            assert_ne!(without_numbers(one), without_numbers(other));
        }
        assert_eq!(without_numbers("1.x 2s. 3sx µ4µ"), "0.x 0. 0sx µ0µ");
    }
}
