//! Interned texts: the names of nodes, hosts and topics.

use crate::sys::plain::RwLock;
use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::sync::LazyLock;

/// Maximum number of atoms in a program.
pub const MAX_ATOMS: usize = 1 << 20;

/// Maximum length of an atom's text, in bytes.
pub const MAX_ATOM_LENGTH: usize = 255;

/// An interned text: cheap to copy, compare and hash.
///
/// Equal texts are equal atoms everywhere in the program. Atoms are never freed, so they suit the names of
/// nodes, hosts and topics, of which there are few. Do not make atoms of anything that grows with the input.
///
/// The order of atoms is that of their creation, not that of their texts.
///
/// # Examples
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

/// The atoms that exist from the start; their index is their number.
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

    /// Returns the atom of a text, and creates it if there is none yet.
    ///
    /// # Errors
    /// - [`AtomError::Length`] if the text is empty or longer than [`MAX_ATOM_LENGTH`].
    /// - [`AtomError::TooMany`] if there are [`MAX_ATOMS`] others already.
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

    /// Returns the text.
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

/// Why a text cannot be an [`Atom`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AtomError {
    /// The text is empty or too long; this is its length in bytes.
    Length(usize),
    /// There are [`MAX_ATOMS`] atoms already.
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
