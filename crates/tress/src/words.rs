//! The parts of panics that programs look for, and what errors say.
//!
//! Tests and logs of programs written for Tokio show what an error or a panic says, so what they compare
//! is part of Tokio's interface and the facade of that name asks for it. tress by itself speaks its own
//! words. Each twin has the same names; the advice around the words of a panic is the same for both and
//! stands where the panic is. An error says Tokio's words alone.

#[cfg(not(feature = "tokio-words"))]
mod own;
#[cfg(not(feature = "tokio-words"))]
pub(crate) use own::*;

#[cfg(feature = "tokio-words")]
mod tokio;
#[cfg(feature = "tokio-words")]
pub(crate) use tokio::*;
