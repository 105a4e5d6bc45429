//! `pin!`, `join!`, `try_join!` and `select!`.
//!
//! The macros live at the root of the crate, where `#[macro_export]` puts them. What they expand to
//! names this crate by `$crate` only, so that they work under any name they are re-exported by.

mod join;
mod pin;
mod select;
pub mod support;

#[cfg(all(test, not(loom)))]
mod tests;
