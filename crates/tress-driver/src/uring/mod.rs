//! Operations that the kernel completes by itself, by io_uring.
//!
//! `ring` talks to the kernel, `table` knows what is under way, `finished` what is to be dropped, `cell` is one
//! operation between its future and the kernel, `spare` has cells for the next ones, `op` says what can be asked
//! for, `buffer` with what memory, `multi` are operations with many results, `pool` is where those find memory,
//! `cancel` is for futures that go, `leftover` for what they have received.

mod buffer;
mod cancel;
mod cell;
mod finished;
mod leftover;
mod multi;
pub mod op;
mod pool;
mod ring;
mod spare;
mod submission;
mod table;

pub use buffer::{Buffer, BufferMut, Slice};
pub use leftover::Leftover;
pub use multi::{AcceptMulti, MultiOperation, Multishot, RecvMulti};
pub use pool::{Pool, PoolBuffer};
pub use submission::Submission;

pub(crate) use ring::Ring;
