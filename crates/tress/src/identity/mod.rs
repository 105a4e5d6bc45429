//! What a task is known by where the task itself is not: its number, its name, and what records say of it.

mod id;
mod label;
mod name;
pub(crate) mod order;

pub use id::Id;

pub(crate) use label::Label;
#[cfg(all(test, not(loom)))]
pub(crate) use name::MAX_NAMES;
pub(crate) use name::{Name, Names};
