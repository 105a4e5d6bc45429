use crate::sys::env;
use std::ffi::OsStr;
use std::fmt;
use std::io;

/// The environment variable that overrides [`Choice::Auto`].
pub const ENVIRONMENT: &str = "TRESS_IO";

const MAX_ENTRIES: u32 = 32_768;
const MAX_EVENTS: usize = 1 << 20;

/// Which backend to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Choice {
    /// io_uring if it can be had, else readiness; `TRESS_IO=uring|readiness|auto` overrides it.
    #[default]
    Auto,
    /// io_uring, or an error that says why not.
    Uring,
    /// The system's selector only: epoll, kqueue or IOCP.
    Readiness,
}

impl Choice {
    /// Resolves `Auto` by the value of `TRESS_IO`.
    fn resolve(self, value: Option<&OsStr>) -> io::Result<Choice> {
        if self != Choice::Auto {
            return Ok(self);
        }
        match value.map(OsStr::to_str) {
            None | Some(Some("auto" | "")) => Ok(Choice::Auto),
            Some(Some("uring")) => Ok(Choice::Uring),
            Some(Some("readiness")) => Ok(Choice::Readiness),
            Some(_) => Err(invalid(format!(
                "{ENVIRONMENT}={:?} names no I/O backend: set it to uring, readiness or auto, or unset it",
                value.unwrap_or_default()
            ))),
        }
    }
}

/// How a [`Driver`](crate::Driver) is made.
///
/// # Examples
/// ```
/// use tress_driver::{Choice, Config, Driver};
///
/// let driver = Driver::new(Config::new().backend(Choice::Readiness).events(64))?;
/// # drop(driver);
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug, Clone)]
pub struct Config {
    choice: Choice,
    entries: u32,
    events: usize,
}

impl Config {
    /// `Auto`, a ring of 256 entries, at most 256 events a turn.
    pub fn new() -> Config {
        Config {
            choice: Choice::Auto,
            entries: 256,
            events: 256,
        }
    }

    /// Which backend to use.
    pub fn backend(&mut self, choice: Choice) -> &mut Config {
        self.choice = choice;
        self
    }

    /// How many operations can be handed to the kernel in one go (1 to 32,768; the kernel rounds up to a
    /// power of two). More are handed over in several. Small rings are better: their memory is
    /// locked, and there is one per worker.
    pub fn entries(&mut self, entries: u32) -> &mut Config {
        self.entries = entries;
        self
    }

    /// How many readiness events one turn takes from the kernel at most (1 to 1,048,576). The rest
    /// stays for the next turn.
    pub fn events(&mut self, events: usize) -> &mut Config {
        self.events = events;
        self
    }

    /// Checks the limits and resolves `Auto` by the environment.
    pub(crate) fn resolve(&self) -> io::Result<Resolved> {
        if self.entries == 0 || self.entries > MAX_ENTRIES {
            return Err(invalid(format!(
                "a ring of {} entries cannot be made: choose 1 to {MAX_ENTRIES}",
                self.entries
            )));
        }
        if self.events == 0 || self.events > MAX_EVENTS {
            return Err(invalid(format!(
                "a turn of {} events cannot be made: choose 1 to {MAX_EVENTS}",
                self.events
            )));
        }
        Ok(Resolved {
            choice: self.choice.resolve(env::var_os(ENVIRONMENT).as_deref())?,
            entries: self.entries,
            events: self.events,
        })
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::new()
    }
}

/// A checked configuration.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) choice: Choice,
    pub(crate) entries: u32,
    pub(crate) events: usize,
}

/// The backend that a driver uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// Readiness by the system's selector, and operations by io_uring.
    Uring,
    /// Readiness only.
    Readiness,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Backend::Uring => "uring",
            Backend::Readiness => "readiness",
        })
    }
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn resolve(choice: Choice, value: &str) -> io::Result<Choice> {
        choice.resolve(Some(OsStr::new(value)))
    }

    #[test]
    fn the_environment_decides_for_auto_only() {
        assert_eq!(Choice::Auto.resolve(None).unwrap(), Choice::Auto);
        assert_eq!(resolve(Choice::Auto, "").unwrap(), Choice::Auto);
        assert_eq!(resolve(Choice::Auto, "auto").unwrap(), Choice::Auto);
        assert_eq!(resolve(Choice::Auto, "uring").unwrap(), Choice::Uring);
        assert_eq!(
            resolve(Choice::Auto, "readiness").unwrap(),
            Choice::Readiness
        );
        assert_eq!(
            resolve(Choice::Readiness, "uring").unwrap(),
            Choice::Readiness
        );
        assert_eq!(resolve(Choice::Uring, "nonsense").unwrap(), Choice::Uring);
    }

    #[test]
    fn a_bad_value_says_what_to_do() {
        let error = resolve(Choice::Auto, "epoll").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        let text = error.to_string();
        assert!(
            text.contains("epoll") && text.contains("readiness"),
            "{text}"
        );
    }

    #[test]
    fn limits_at_their_edges() {
        for (entries, fine) in [(0, false), (1, true), (32_768, true), (32_769, false)] {
            assert_eq!(
                Config::new().entries(entries).resolve().is_ok(),
                fine,
                "{entries}"
            );
        }
        for (events, fine) in [
            (0, false),
            (1, true),
            (1 << 20, true),
            ((1 << 20) + 1, false),
        ] {
            assert_eq!(
                Config::new().events(events).resolve().is_ok(),
                fine,
                "{events}"
            );
        }
    }
}
