//! The choices that a simulation makes, one after the other.

use super::{Choices, Kind, RANGES, Ranges, VARIABLE};
use crate::draw::Stream;
use crate::runner::page::{self, Page, page};
use std::cell::Cell;
use std::env;
use std::rc::Rc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The choices of a run as numbers, in memory that it shares with the process that has started it: a run that is told choices
/// allocates nothing for them, so that its addresses stay what they are.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Table {
    lengths: [AtomicU64; Kind::NUMBER],
    /// The first number and the end of each range.
    ranges: [[[AtomicU64; 2]; RANGES]; Kind::NUMBER],
}

impl Table {
    /// Returns a table of no choices: everything is drawn.
    pub(crate) const fn new() -> Table {
        Table {
            lengths: [const { AtomicU64::new(0) }; Kind::NUMBER],
            ranges: [const { [const { [const { AtomicU64::new(0) }; 2] }; RANGES] }; Kind::NUMBER],
        }
    }

    /// Replaces what is there. Choices that do not [fit](Choices::fit) are cut.
    pub(crate) fn store(&self, choices: &Choices) {
        for kind in Kind::ALL {
            let ranges = choices.of(kind).as_slice();
            let length = ranges.len().min(RANGES);
            for (words, (from, to)) in self.ranges[kind as usize].iter().zip(ranges) {
                words[0].store(*from, Ordering::Relaxed);
                words[1].store(*to, Ordering::Relaxed);
            }
            self.lengths[kind as usize].store(length as u64, Ordering::Relaxed);
        }
    }

    fn range(&self, kind: Kind, at: usize) -> Option<(u64, u64)> {
        let length = self.lengths[kind as usize].load(Ordering::Relaxed) as usize;
        let words = self.ranges[kind as usize][..length.min(RANGES)].get(at)?;
        Some((
            words[0].load(Ordering::Relaxed),
            words[1].load(Ordering::Relaxed),
        ))
    }
}

/// Counts the choices of a simulation, and says which of them are the usual ones.
#[derive(Debug)]
pub(crate) struct Made {
    page: &'static Page,
    /// False for a simulation that is no part of what is tested.
    is_counted: Cell<bool>,
    kinds: [Counted; Kind::NUMBER],
}

#[derive(Debug, Default)]
struct Counted {
    /// Number of choices so far.
    made: Cell<u64>,
    /// The first range that does not lie before them.
    range: Cell<usize>,
}

impl Made {
    /// Starts to count, for a new simulation.
    ///
    /// # Panics
    /// This process is no run of its own, and the environment has something that is no choice string.
    pub(crate) fn new() -> Rc<Made> {
        let page = page();
        if page.is_nowhere() {
            static READ: OnceLock<Result<(), String>> = OnceLock::new();
            let read = || {
                let text = env::var_os(VARIABLE).unwrap_or_default();
                page.choices
                    .store(&Choices::parse(&text.to_string_lossy())?);
                Ok(())
            };
            if let Err(error) = READ.get_or_init(read) {
                panic!("{VARIABLE}: {error}");
            }
        }
        Rc::new(Made {
            page,
            is_counted: Cell::new(true),
            kinds: Default::default(),
        })
    }

    /// Leaves this simulation out: everything is drawn, and nothing counted.
    pub(crate) fn leave_out(&self) {
        self.is_counted.set(false);
    }

    /// Returns whether this simulation is part of what is tested.
    pub(crate) fn is_counted(&self) -> bool {
        self.is_counted.get()
    }

    /// Counts a choice. Returns whether it is the usual one instead of what is drawn.
    #[inline]
    pub(crate) fn is_usual(&self, kind: Kind) -> bool {
        if !self.is_counted.get() {
            return false;
        }
        let counted = &self.kinds[kind as usize];
        let number = counted.made.get();
        counted.made.set(number + 1);
        self.page.note_choice(kind, number + 1);
        loop {
            let at = counted.range.get();
            match self.page.choices.range(kind, at) {
                Some((_, end)) if end <= number => counted.range.set(at + 1),
                Some((from, _)) => return from <= number,
                None => return false,
            }
        }
    }

    /// Draws whether something goes wrong that does with that probability. `what` says what it is.
    #[inline]
    pub(crate) fn goes_wrong(
        &self,
        stream: &mut Stream,
        probability: f64,
        what: impl FnOnce() -> String,
    ) -> bool {
        // What is certain is no accident.
        stream.happens(probability) && (probability >= 1.0 || self.happens(what))
    }

    /// Counts an accident that is drawn to happen. Returns whether it does. `what` says what it is, for a run that tells.
    pub(crate) fn happens(&self, what: impl FnOnce() -> String) -> bool {
        let happens = !self.is_usual(Kind::Accident);
        if happens && self.page.has(page::TELL) && self.is_counted() {
            self.page.note_happened(&what());
        }
        happens
    }
}

impl Page {
    /// Returns the numbers of all choices of a kind that a run has made.
    pub(crate) fn made(&self, kind: Kind) -> Ranges {
        Ranges::below(self.choices_made[kind as usize].load(Ordering::Relaxed))
    }

    /// Notes how many choices a simulation has made. Of several simulations, that with most counts.
    #[inline]
    fn note_choice(&self, kind: Kind, number: u64) {
        let made = &self.choices_made[kind as usize];
        if made.load(Ordering::Relaxed) < number {
            made.store(number, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(choices: &str) -> (&'static Page, Made) {
        let page: &'static Page = Box::leak(Box::new(Page::new()));
        page.choices.store(&Choices::parse(choices).unwrap());
        let made = Made {
            page,
            is_counted: Cell::new(true),
            kinds: Default::default(),
        };
        (page, made)
    }

    #[test]
    fn choices_of_ranges_are_usual() {
        let (page, made) = made("v1/schedule:1-2,4,6-");
        let usual: Vec<_> = (0..8).map(|_| made.is_usual(Kind::Schedule)).collect();
        assert_eq!(usual, [false, true, true, false, true, false, true, true]);
        assert!(!made.is_usual(Kind::Poll));
        assert_eq!(page.made(Kind::Schedule), Ranges::below(8));
        assert_eq!(page.made(Kind::Poll), Ranges::below(1));
        assert!(page.made(Kind::Fault).is_empty());
    }

    #[test]
    fn what_is_left_out_is_drawn() {
        let (page, made) = made("v1/polls:0-");
        made.leave_out();
        assert!(!made.is_usual(Kind::Poll));
        assert!(page.made(Kind::Poll).is_empty());
    }

    #[test]
    fn only_what_goes_wrong_is_counted() {
        let (page, made) = made("v1/accidents:0-");
        let mut stream = Stream::new(7, "test");
        let what = || "it goes wrong".to_string();
        assert!((0..100).all(|_| !made.goes_wrong(&mut stream, 0.5, what)));
        let counted = page.made(Kind::Accident).len();
        assert!((30..70).contains(&counted), "{counted}");
        // What is certain is neither drawn nor counted.
        assert!(
            made.goes_wrong(&mut stream, 1.0, what) && !made.goes_wrong(&mut stream, 0.0, what)
        );
        assert_eq!(page.made(Kind::Accident).len(), counted);
    }
}
