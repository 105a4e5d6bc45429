//! Which choices of a run are not those that its seed draws.
//!
//! A seed draws everything that is left to chance, in the order in which a run gets to it. The *choices* of a run say which of
//! its draws are not followed: a fault is left out, the first task in line is next, a packet takes the usual time. The streams
//! go on as if they were, so that other draws stay what they are. Choices are written as a text, the *choice string*, which with
//! the seed determines the run:
//!
//! ```text
//! v1/faults:0-2,4-/schedule:0-1199,1300-/latencies:0-
//! ```
//!
//! The choices of each kind are counted from 0 in each simulation, and the numbers are those of the choices that are the usual
//! ones. A kind that is not there is drawn. The first part is the version of the text.

mod made;
mod ranges;

pub(crate) use made::{Made, Table};
pub(crate) use ranges::Ranges;

use std::fmt;

/// A kind of choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// Whether a fault happens. The usual choice is that it does not. Those that find nothing to do are counted, too.
    Fault,
    /// Whether something goes wrong that goes wrong with some probability: a packet is lost, arrives twice or late, a link
    /// or a disk fails, `buggify!` is true. Only those that are drawn to go wrong are counted. The usual choice is that they do not.
    Accident,
    /// Which of several tasks that are ready is next. The usual choice is the first in line.
    Schedule,
    /// How long a poll takes. The usual choice is a short constant.
    Poll,
    /// How long a packet, a lookup of a name or an access to a disk takes. The usual choice is about the mean.
    Latency,
}

impl Kind {
    pub(crate) const NUMBER: usize = 5;

    /// All kinds, in the order in which failures are made simpler.
    pub(crate) const ALL: [Kind; Kind::NUMBER] = [
        Kind::Fault,
        Kind::Accident,
        Kind::Schedule,
        Kind::Poll,
        Kind::Latency,
    ];

    /// The name of its part of a choice string.
    fn name(self) -> &'static str {
        match self {
            Kind::Fault => "faults",
            Kind::Accident => "accidents",
            Kind::Schedule => "schedule",
            Kind::Poll => "polls",
            Kind::Latency => "latencies",
        }
    }
}

/// The first part of a choice string.
const VERSION: &str = "v1";

/// The environment variable with a choice string.
pub(crate) const VARIABLE: &str = "TRESS_SIM_CHOICES";

/// Maximum number of ranges of each kind.
pub(crate) const RANGES: usize = 64;

/// The choices of a run that are the usual ones instead of those that are drawn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Choices([Ranges; Kind::NUMBER]);

impl Choices {
    /// Returns the numbers of the usual choices of a kind.
    pub(crate) fn of(&self, kind: Kind) -> &Ranges {
        &self.0[kind as usize]
    }

    pub(crate) fn set(&mut self, kind: Kind, usual: Ranges) {
        self.0[kind as usize] = usual;
    }

    /// Returns whether everything is drawn.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(Ranges::is_empty)
    }

    /// Returns whether no kind has more ranges than a run can be told.
    pub(crate) fn fit(&self) -> bool {
        self.0
            .iter()
            .all(|ranges| ranges.as_slice().len() <= RANGES)
    }

    /// Returns whether a word looks like a choice string, right or wrong.
    pub(crate) fn is_meant_by(word: &str) -> bool {
        let version = word.strip_prefix('v').map(|rest| rest.split('/').next());
        version.flatten().is_some_and(|version| {
            !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit())
        })
    }

    /// Reads a choice string. An empty one says that everything is drawn.
    ///
    /// # Errors
    /// The text is no choice string; the error says why.
    pub(crate) fn parse(text: &str) -> Result<Choices, String> {
        let mut choices = Choices::default();
        let wrong = |why: String| format!("{text:?} is no choice string: {why}");
        let mut parts = text.trim().split('/');
        match parts.next() {
            None | Some("") if text.trim().is_empty() => return Ok(choices),
            Some(VERSION) => {}
            Some(other) if Choices::is_meant_by(other) => {
                let why = format!("its version is {other}, and this program knows {VERSION}");
                return Err(wrong(why));
            }
            _ => return Err(wrong(format!("it does not start with {VERSION}/"))),
        }
        for part in parts {
            let (name, numbers) = part
                .split_once(':')
                .ok_or_else(|| wrong(format!("{part:?} is no kind, colon and numbers")))?;
            let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name);
            let kind = kind.ok_or_else(|| {
                let kinds = Kind::ALL.map(Kind::name).join(", ");
                wrong(format!("{name:?} is none of its kinds: {kinds}"))
            })?;
            if !choices.of(kind).is_empty() {
                return Err(wrong(format!("it has {name} twice")));
            }
            choices.set(kind, Ranges::parse(numbers).map_err(wrong)?);
        }
        match choices.fit() {
            true => Ok(choices),
            false => Err(wrong(format!("a kind has more than {RANGES} ranges"))),
        }
    }
}

impl fmt::Display for Choices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return Ok(());
        }
        f.write_str(VERSION)?;
        for kind in Kind::ALL {
            if !self.of(kind).is_empty() {
                write!(f, "/{}:{}", kind.name(), self.of(kind))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choice_strings_are_read_and_written() {
        for text in [
            "",
            "v1/faults:0-2,4-",
            "v1/faults:0-2,4-/accidents:1/schedule:0-1199,1300-/polls:0-/latencies:0-",
        ] {
            let choices = Choices::parse(text).unwrap();
            assert_eq!(choices.to_string(), text);
            assert_eq!(choices.is_empty(), text.is_empty());
        }
        assert_eq!(Choices::parse("v1").unwrap(), Choices::default());
    }

    #[test]
    fn mistakes_are_named() {
        for (text, why) in [
            ("faults:1", "it does not start with v1/"),
            (
                "v2/faults:1",
                "its version is v2, and this program knows v1",
            ),
            ("v1/", "\"\" is no kind, colon and numbers"),
            (
                "v1/falts:1",
                "\"falts\" is none of its kinds: faults, accidents, schedule, polls, latencies",
            ),
            ("v1/faults:all", "\"all\" is neither a number nor a range"),
            ("v1/faults:3-1", "the range 3-1 ends before it starts"),
            ("v1/faults:1/faults:2", "it has faults twice"),
        ] {
            let error = Choices::parse(text).unwrap_err();
            assert!(error.contains(why), "{error}");
            assert!(
                error.starts_with(&format!("{text:?} is no choice string: ")),
                "{error}"
            );
        }
        let many: Vec<_> = (0..=RANGES)
            .map(|number| (2 * number).to_string())
            .collect();
        let error = Choices::parse(&format!("v1/polls:{}", many.join(","))).unwrap_err();
        assert!(error.ends_with("a kind has more than 64 ranges"), "{error}");
    }

    #[test]
    fn words_that_are_meant_as_choices_are_known() {
        for word in ["v1", "v1/faults:0-", "v1/nonsense", "v27/x"] {
            assert!(Choices::is_meant_by(word), "{word}");
        }
        for word in ["", "v", "failed:", "vain", "v1x/faults:0-", "panicked:"] {
            assert!(!Choices::is_meant_by(word), "{word}");
        }
    }
}
