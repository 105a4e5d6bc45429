//! Short texts that are known by a number: nodes, hosts and topics.

use crate::sys::plain::RwLock;
use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::sync::LazyLock;

/// Most atoms that a program may have.
pub const MAX_ATOMS: usize = 1 << 20;

/// The longest text of an atom, in bytes.
pub const MAX_ATOM_LENGTH: usize = 255;

/// A short text that is known by a number: cheap to copy, compare and hash.
///
/// The same text is the same atom everywhere in the program. Atoms live as long as the program, so
/// they suit the names of nodes, hosts and topics, of which there are few, and not what grows with
/// the number of users.
///
/// ```
/// use tress_actor::Atom;
///
/// let atom = Atom::new("orders")?;
/// assert_eq!(atom, Atom::new("orders")?);
/// assert_eq!(atom.as_str(), "orders");
/// # Ok::<(), tress_actor::AtomError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Atom(u32);

struct Atoms {
    numbers: HashMap<&'static str, u32>,
    texts: Vec<&'static str>,
}

/// The atoms that exist from the start, by their numbers.
const FIRST: [&str; 4] = ["local", "@pid/inbox", "@pid/events", "@pid/control"];

static ATOMS: LazyLock<RwLock<Atoms>> = LazyLock::new(|| {
    RwLock::new(Atoms {
        numbers: (0..).zip(FIRST).map(|(n, text)| (text, n)).collect(),
        texts: FIRST.to_vec(),
    })
});

impl Atom {
    /// `local`: the name of a node that was given none.
    pub const LOCAL: Atom = Atom(0);
    pub(crate) const INBOX: Atom = Atom(1);
    pub(crate) const EVENTS: Atom = Atom(2);
    pub(crate) const CONTROL: Atom = Atom(3);

    /// The atom of a text.
    ///
    /// # Errors
    /// If the text is empty or longer than [`MAX_ATOM_LENGTH`], or if there are [`MAX_ATOMS`]
    /// already.
    pub fn new(text: &str) -> Result<Atom, AtomError> {
        if text.is_empty() || text.len() > MAX_ATOM_LENGTH {
            return Err(AtomError::Length(text.len()));
        }
        let known = ATOMS.read();
        if let Some(&number) = known.numbers.get(text) {
            return Ok(Atom(number));
        }
        drop(known);
        let mut atoms = ATOMS.write();
        if let Some(&number) = atoms.numbers.get(text) {
            return Ok(Atom(number));
        }
        if atoms.texts.len() == MAX_ATOMS {
            return Err(AtomError::TooMany);
        }
        let text: &'static str = Box::leak(text.into());
        let number = atoms.texts.len() as u32;
        atoms.texts.push(text);
        atoms.numbers.insert(text, number);
        Ok(Atom(number))
    }

    /// The text.
    pub fn as_str(self) -> &'static str {
        let atoms = ATOMS.read();
        atoms.texts[self.0 as usize]
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// A text that cannot be an atom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AtomError {
    /// It is empty or too long; its length.
    Length(usize),
    /// There are as many atoms as there may be.
    TooMany,
}

impl fmt::Display for AtomError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AtomError::Length(length) => write!(
                f,
                "the name of a node, host or topic has 1 to {MAX_ATOM_LENGTH} bytes, not {length}"
            ),
            AtomError::TooMany => write!(
                f,
                "there are {MAX_ATOMS} names of nodes, hosts and topics already; do not make them \
                 of what grows with the input, put that into the payload"
            ),
        }
    }
}

impl Error for AtomError {}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_same_text_is_the_same_atom() {
        let a = Atom::new("atom-tests-a").unwrap();
        assert_eq!(a, Atom::new("atom-tests-a").unwrap());
        assert_ne!(a, Atom::new("atom-tests-b").unwrap());
        assert_eq!(a.as_str(), "atom-tests-a");
        assert_eq!(Atom::new("local"), Ok(Atom::LOCAL));
        assert_eq!(Atom::new("@pid/inbox"), Ok(Atom::INBOX));
        assert_eq!(Atom::new("@pid/events"), Ok(Atom::EVENTS));
        assert_eq!(Atom::new("@pid/control"), Ok(Atom::CONTROL));
    }

    #[test]
    fn a_text_has_1_to_255_bytes() {
        assert_eq!(Atom::new(""), Err(AtomError::Length(0)));
        assert!(Atom::new(&"x".repeat(255)).is_ok());
        assert_eq!(Atom::new(&"x".repeat(256)), Err(AtomError::Length(256)));
    }
}
