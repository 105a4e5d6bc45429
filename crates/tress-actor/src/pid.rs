//! The addresses of processes.

use crate::atom::Atom;
use std::error::Error;
use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};
use std::str::FromStr;

/// The number of a process on its host: its slot, and a generation that tells it from earlier processes of that
/// slot.
///
/// Numbers are never used again: a slot that has had 2³² − 1 processes is retired.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessId(NonZeroU64);

impl ProcessId {
    pub(crate) fn new(index: u32, generation: NonZeroU32) -> ProcessId {
        ProcessId(NonZeroU64::from(generation) | u64::from(index) << 32)
    }

    pub(crate) fn index(self) -> u32 {
        (self.0.get() >> 32) as u32
    }

    pub(crate) fn generation(self) -> u32 {
        self.0.get() as u32
    }
}

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.index(), self.generation())
    }
}

impl fmt::Debug for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The address of a process, wherever it runs.
///
/// It stays the address of that process after its end; no other process gets the same one. Its text is
/// `{node@host|number}`, and can be parsed.
///
/// # Examples
/// ```
/// use tress_actor::Pid;
///
/// let pid: Pid = "{local@orders|17.3}".parse()?;
/// assert_eq!(pid.node().as_str(), "local");
/// assert_eq!(pid.host().as_str(), "orders");
/// assert_eq!(pid.to_string(), "{local@orders|17.3}");
/// # Ok::<(), tress_actor::ParsePidError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pid {
    node: Atom,
    host: Atom,
    id: ProcessId,
}

impl Pid {
    pub(crate) fn new(node: Atom, host: Atom, id: ProcessId) -> Pid {
        Pid { node, host, id }
    }

    /// Another process of the same slot.
    pub(crate) fn with_generation(self, generation: u32) -> Pid {
        let generation = NonZeroU32::new(generation).expect("generations begin at 1");
        let id = ProcessId::new(self.id.index(), generation);
        Pid { id, ..self }
    }

    /// Returns the name of the node that the host belongs to.
    pub fn node(self) -> Atom {
        self.node
    }

    /// Returns the name of the host that runs the process.
    pub fn host(self) -> Atom {
        self.host
    }

    /// Returns the number of the process on its host.
    pub fn id(self) -> ProcessId {
        self.id
    }
}

impl fmt::Display for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{}@{}|{}}}", self.node, self.host, self.id)
    }
}

impl fmt::Debug for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Pid {
    type Err = ParsePidError;

    fn from_str(text: &str) -> Result<Pid, ParsePidError> {
        let parse = || {
            let inner = text.strip_prefix('{')?.strip_suffix('}')?;
            let (place, number) = inner.split_once('|')?;
            let (node, host) = place.split_once('@')?;
            let (index, generation) = number.split_once('.')?;
            let id = ProcessId::new(index.parse().ok()?, generation.parse().ok()?);
            let plain = |name: &str| !name.contains(['@', '|', '{', '}']);
            if !plain(node) || !plain(host) {
                return None;
            }
            Some(Pid::new(Atom::new(node).ok()?, Atom::new(host).ok()?, id))
        };
        parse().ok_or_else(|| ParsePidError(text.into()))
    }
}

/// The error of parsing a text that is not a [`Pid`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsePidError(Box<str>);

impl fmt::Display for ParsePidError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.0;
        write!(f, "{text:?} is no PID: one looks like `{{node@host|17.3}}`")
    }
}

impl Error for ParsePidError {}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        for text in ["{local@main|0.1}", "{n-1@h.2|4294967295.4294967295}"] {
            assert_eq!(text.parse::<Pid>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_pid_is_refused() {
        let wrong = [
            "",
            "{}",
            "local@main|1.1",
            "{local@main|1}",
            "{local@main|1.0}",
            "{local@main|4294967296.1}",
            "{@main|1.1}",
            "{local@|1.1}",
            "{a@b@c|1.1}",
            "{a@b|c|1.1}",
            "{local@main|-1.1}",
            "{local@main|1.1} ",
        ];
        for text in wrong {
            let error = text.parse::<Pid>().unwrap_err();
            assert!(error.to_string().contains("is no PID"), "{text}");
        }
    }

    #[test]
    fn a_pid_is_two_words_and_so_is_none() {
        assert_eq!(size_of::<Pid>(), 16);
        assert_eq!(size_of::<Option<Pid>>(), 16);
    }
}
