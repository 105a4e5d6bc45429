//! What the tests of HTTP share.

pub mod client;
pub mod tls;
