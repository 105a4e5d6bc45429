//! The parts of panics that programs look for.
//!
//! Tests of programs written for Tokio compare what a panic says, so what they compare is part of
//! Tokio's interface and the facade of that name asks for it. tress by itself speaks its own words.
//! Each twin has the same names; the advice around the words is the same for both and stands where
//! the panic is.

#[cfg(not(feature = "tokio-words"))]
mod own;
#[cfg(not(feature = "tokio-words"))]
pub(crate) use own::*;

#[cfg(feature = "tokio-words")]
mod tokio;
#[cfg(feature = "tokio-words")]
pub(crate) use tokio::*;
