//! Operations that the kernel completes by itself, by io_uring.
//!
//! - `ring`: the queues to and from the kernel.
//! - `table`: the operations under way; `finished`: those to be dropped.
//! - `cell`: one operation between its future and the kernel; `spare`: cells to be used again.
//! - `submission`: the future of an operation; `cancel`: what happens when it is dropped; `leftover`: what a
//!   dropped read has received.
//! - `op`: the operations; `buffer`: the memory that they lend to the kernel.
//! - `multi`: operations with many results; `pool`: the buffers that they share.

mod buffer;
mod cancel;
mod cell;
mod finished;
mod leftover;
#[cfg(feature = "multishot")]
mod multi;
pub mod op;
#[cfg(feature = "multishot")]
mod pool;
mod ring;
mod spare;
mod submission;
mod table;

pub use buffer::{Buffer, BufferMut, Slice};
pub use leftover::Leftover;
#[cfg(feature = "multishot")]
pub use multi::{AcceptMulti, MultiOperation, Multishot, RecvMulti};
#[cfg(feature = "multishot")]
pub use pool::{Pool, PoolBuffer};
pub use submission::Submission;

pub(crate) use ring::Ring;
