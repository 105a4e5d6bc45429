//! Threads for code that blocks.

mod pool;

pub(crate) use pool::{Config, Job, Pool, SpawnError};
