//! What a subscriber of the crate `tracing` sees of tasks and resources.

mod collector;
mod foreign;
mod resources;
mod tasks;
