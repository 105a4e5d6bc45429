//! `pin!`, `join!`, `try_join!` and `select!`.
//!
//! The macros are at the root of the crate, where `#[macro_export]` puts them. Their expansions name this
//! crate by `$crate` only, so that they work under any name by which they are re-exported.

mod join;
mod pin;
mod select;
pub mod support;

#[cfg(all(test, not(loom)))]
mod tests;
