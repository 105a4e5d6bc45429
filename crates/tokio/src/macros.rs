//! Where the macros of Tokio's dependants look for what they expand to.

pub use tress::macros::support;
