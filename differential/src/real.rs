//! The programs on Tokio.

pub use ::real as tokio;

#[path = "programs/edges.rs"]
pub mod edges;
#[path = "programs/errors.rs"]
pub mod errors;
#[path = "programs/locks.rs"]
pub mod locks;
#[path = "programs/order.rs"]
pub mod order;
#[path = "programs/queues.rs"]
pub mod queues;
#[path = "programs/tasks.rs"]
pub mod tasks;
#[path = "programs/timers.rs"]
pub mod timers;
#[path = "programs/values.rs"]
pub mod values;
