//! Support for the macros of crates that depend on Tokio, at the path to which they expand.

pub use tress::macros::support;
