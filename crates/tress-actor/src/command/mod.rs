//! Commands: what a process asks others to do for it, and the handlers that do it.

/// Gives the system's commands their numbers.
macro_rules! numbered {
    ($($name:ident = $number:literal),* $(,)?) => {
        $(impl Command for $name {
            const ID: CommandId = CommandId::system($number);
        })*
    };
}

use numbered;

pub mod builtin;
mod call;
mod error;
mod registry;
#[cfg(feature = "io")]
pub mod stream;

pub use call::{Answer, Call, Completer};
pub use error::CommandError;
pub use registry::DuplicateCommand;

pub(crate) use call::Operations;
pub(crate) use registry::Registry;

use std::fmt;

/// The number of a command. Numbers below [`CommandId::USER`] are the system's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommandId(u16);

impl CommandId {
    /// The first number that is free for others.
    pub const USER: u16 = 256;

    /// A number of one's own.
    ///
    /// # Panics
    /// If it is below [`USER`](CommandId::USER); in a constant that is an error of compilation.
    ///
    /// ```
    /// use tress_actor::CommandId;
    ///
    /// const PRINT: CommandId = CommandId::user(256);
    /// ```
    /// ```compile_fail
    /// # use tress_actor::CommandId;
    /// const PRINT: CommandId = CommandId::user(255);
    /// # let _ = PRINT;
    /// ```
    pub const fn user(number: u16) -> CommandId {
        assert!(
            number >= CommandId::USER,
            "numbers below 256 are the system's"
        );
        CommandId(number)
    }

    pub(crate) const fn system(number: u16) -> CommandId {
        assert!(number < CommandId::USER);
        CommandId(number)
    }

    /// The number.
    pub const fn number(self) -> u16 {
        self.0
    }
}

impl fmt::Display for CommandId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "command {}", self.0)
    }
}

impl fmt::Debug for CommandId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Something that a process can ask for by yielding it.
pub trait Command: Send + 'static {
    /// Its number.
    const ID: CommandId;
}
