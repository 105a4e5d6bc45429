//! Commands: what a [`Process`](crate::Process) asks the host to do for it, and the handlers that do it.
//!
//! A process [yields](crate::StepOutput::command) a command with a tag and is stepped with a
//! [`Completion`](crate::Completion) of that tag when it is done.
//!
//! - [`builtin`]: the commands that every host handles, to send, start, link, monitor, sleep and so on.
//! - [`stream`]: commands for TCP and files (with the feature `io`).
//! - [`Command`] and [`CommandId`]: commands of your own.
//! - [`Call`], [`Answer`] and [`Completer`]: handlers, which are registered with
//!   [`Builder::command`](crate::Builder::command).
//!
//! # Examples
//! ```
//! use tress_actor::{
//!     Answer, Command, CommandId, Event, Events, Host, Payload, Process, ProcessContext, ProcessError,
//!     StepOutput,
//! };
//!
//! struct Double(u64);
//!
//! impl Command for Double {
//!     const ID: CommandId = CommandId::user(256);
//! }
//!
//! /// Has a number doubled, and is done with the result.
//! struct Client;
//!
//! impl Process for Client {
//!     fn init(&mut self, _: &ProcessContext, _: &str, _: Payload) -> Result<(), ProcessError> {
//!         Ok(())
//!     }
//!
//!     fn step(&mut self, events: &mut Events<'_>, out: &mut StepOutput) -> Result<(), ProcessError> {
//!         match events.next() {
//!             None => {
//!                 out.command(Double(21), 1);
//!                 out.wait_for_yields();
//!             }
//!             Some(Event::Completion(completion)) => {
//!                 out.done(completion.result?.downcast::<u64>().map_err(|_| "no number")?);
//!             }
//!             Some(_) => out.wait_for_yields(),
//!         }
//!         Ok(())
//!     }
//! }
//!
//! #[tress::main]
//! async fn main() {
//!     let host = Host::builder("main").command(|_, Double(n)| Answer::now(2 * n)).start().unwrap();
//!     let (_, exit) = host.process(Client).exec().unwrap();
//!     assert_eq!(exit.await.into_result().unwrap().downcast::<u64>().unwrap(), 42);
//! }
//! ```

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

/// The number of a command. Numbers below [`CommandId::USER`] are reserved for the system.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommandId(u16);

impl CommandId {
    /// The first number for commands of your own.
    pub const USER: u16 = 256;

    /// Creates the number of a command of your own.
    ///
    /// # Panics
    /// If `number` is below [`USER`](CommandId::USER). In a constant that is a compile-time error.
    ///
    /// # Examples
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

    /// Returns the number.
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

/// A command that a [`Process`](crate::Process) can yield. See the [module](self) for an example.
pub trait Command: Send + 'static {
    /// The number of the command, by which its handler is found.
    const ID: CommandId;
}
