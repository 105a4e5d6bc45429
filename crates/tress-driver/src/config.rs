//! How a driver is configured: the backend, the size of its ring, the number of events in a turn.

use crate::sys::env;
use std::ffi::OsStr;
use std::fmt;
use std::io;

/// Name of the environment variable that overrides [`Choice::Auto`].
///
/// Its value is `uring`, `readiness` or `auto`; an empty value means `auto`.
/// [`Driver::new`](crate::Driver::new) reads it, and fails if it has any other value. It has no effect on the
/// other choices.
///
/// # Examples
/// ```
/// assert_eq!(tress_driver::ENVIRONMENT, "TRESS_IO");
/// ```
pub const ENVIRONMENT: &str = "TRESS_IO";

/// Maximum number of entries of a ring: the kernel's own limit.
const MAX_ENTRIES: u32 = 32_768;
/// Maximum number of events of a turn, which bounds the memory that is set aside for them.
const MAX_EVENTS: usize = 1 << 20;

/// The backend that a [`Config`] asks for.
///
/// Which one a driver has in the end is told by [`Driver::backend`](crate::Driver::backend).
///
/// # Examples
/// ```
/// use tress_driver::{Backend, Choice, Config, Driver};
///
/// let driver = Driver::new(Config::new().backend(Choice::Readiness))?;
/// assert_eq!(driver.backend(), Backend::Readiness);
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Choice {
    /// io_uring if the system offers it, readiness otherwise. The environment variable
    /// [`TRESS_IO`](ENVIRONMENT) overrides it.
    #[default]
    Auto,
    /// io_uring. [`Driver::new`](crate::Driver::new) fails if the system does not offer it.
    Uring,
    /// The system's selector only: epoll, kqueue or IOCP.
    Readiness,
}

impl Choice {
    /// Resolves `Auto` by the value of the environment variable.
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

/// Options for a new [`Driver`](crate::Driver).
///
/// Values are checked by [`Driver::new`](crate::Driver::new), which returns an error if one is out of its
/// range.
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
    /// Creates a configuration with the defaults: [`Choice::Auto`], a ring of 256 entries, and at most 256
    /// events a turn.
    pub fn new() -> Config {
        Config {
            choice: Choice::Auto,
            entries: 256,
            events: 256,
        }
    }

    /// Sets the backend. The default is [`Choice::Auto`].
    pub fn backend(&mut self, choice: Choice) -> &mut Config {
        self.choice = choice;
        self
    }

    /// Sets the number of operations that the kernel takes in one system call: 1 to 32,768, 256 by default. The
    /// kernel rounds it up to a power of two.
    ///
    /// This is no limit on the number of operations under way: those that do not fit are handed over in further
    /// calls. Prefer small rings, because their memory is locked and every driver has one of its own.
    pub fn entries(&mut self, entries: u32) -> &mut Config {
        self.entries = entries;
        self
    }

    /// Sets the maximum number of readiness events that one turn takes from the kernel: 1 to 1,048,576, 256 by
    /// default. Further events stay in the kernel until the next turn.
    pub fn events(&mut self, events: usize) -> &mut Config {
        self.events = events;
        self
    }

    /// Checks the limits, and the environment variable `TRESS_IO` if the backend is [`Choice::Auto`].
    ///
    /// [`Driver::new`](crate::Driver::new) does the same.
    ///
    /// # Errors
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if a value is out of range.
    ///
    /// # Examples
    /// ```
    /// use tress_driver::Config;
    ///
    /// assert!(Config::new().check().is_ok());
    /// assert!(Config::new().entries(0).check().is_err());
    /// ```
    pub fn check(&self) -> io::Result<()> {
        self.resolve().map(drop)
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

/// The backend of a [`Driver`](crate::Driver), as [`Driver::backend`](crate::Driver::backend) returns it.
///
/// # Examples
/// ```
/// use tress_driver::{Backend, Config, Driver};
///
/// let driver = Driver::new(&Config::new())?;
/// match driver.backend() {
///     Backend::Uring => assert!(driver.fallback_reason().is_none()),
///     Backend::Readiness => println!("no io_uring: {:?}", driver.fallback_reason()),
/// }
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// Readiness by the system's selector, and operations by io_uring.
    Uring,
    /// Readiness by the system's selector only; every operation fails with `Unsupported`.
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
