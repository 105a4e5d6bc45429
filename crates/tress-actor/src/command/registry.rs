//! The handlers of a host's commands.

use super::call::{Answer, Call};
use super::{Command, CommandError, CommandId};
use crate::payload::Payload;
use std::collections::HashMap;
use std::error::Error;
use std::fmt;

type Handler = Box<dyn Fn(Call<'_>, Payload) -> Answer + Send + Sync>;

/// The handlers, by the number of their command. Filled by the host's builder and not changed once the host has
/// started, so that it is read without a lock.
#[derive(Default)]
pub(crate) struct Registry {
    /// Handlers of the system's commands, by number.
    few: Vec<Option<Handler>>,
    many: HashMap<u16, Handler>,
    duplicate: Option<CommandId>,
}

impl Registry {
    pub(crate) fn register<C: Command>(
        &mut self,
        handler: impl Fn(Call<'_>, C) -> Answer + Send + Sync + 'static,
    ) {
        let erased: Handler = Box::new(move |call, payload| match payload.downcast::<C>() {
            Ok(command) => handler(call, command),
            Err(_) => Answer::Now(Err(CommandError::Payload(std::any::type_name::<C>()))),
        });
        let number = C::ID.number();
        let taken = if number < CommandId::USER {
            let number = usize::from(number);
            if self.few.len() <= number {
                self.few.resize_with(number + 1, || None);
            }
            self.few[number].replace(erased).is_some()
        } else {
            self.many.insert(number, erased).is_some()
        };
        if taken {
            self.duplicate.get_or_insert(C::ID);
        }
    }

    /// Ends the registration of handlers.
    pub(crate) fn freeze(self) -> Result<Registry, DuplicateCommand> {
        match self.duplicate {
            Some(id) => Err(DuplicateCommand(id)),
            None => Ok(self),
        }
    }

    #[inline]
    pub(crate) fn dispatch(&self, id: CommandId, call: Call<'_>, payload: Payload) -> Answer {
        let number = id.number();
        let handler = if number < CommandId::USER {
            self.few.get(usize::from(number)).and_then(Option::as_ref)
        } else {
            self.many.get(&number)
        };
        match handler {
            Some(handler) => handler(call, payload),
            None => Answer::Now(Err(CommandError::Unknown(id))),
        }
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let few = self.few.iter().flatten().count();
        write!(f, "Registry({} handlers)", few + self.many.len())
    }
}

/// The error of registering two handlers for one command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DuplicateCommand(pub(crate) CommandId);

impl DuplicateCommand {
    /// Returns the number of the command.
    pub fn id(self) -> CommandId {
        self.0
    }
}

impl fmt::Display for DuplicateCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} has two handlers: give one of them another number",
            self.0
        )
    }
}

impl Error for DuplicateCommand {}
