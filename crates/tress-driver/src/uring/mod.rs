//! Operations that the kernel completes by itself, by io_uring.
//!
//! `ring` talks to the kernel, `table` knows what is under way, `cell` is one operation between its
//! future and the kernel, `op` says what can be asked for, and `buffer` with what memory.

mod buffer;
mod cell;
pub mod op;
mod ring;
mod submission;
mod table;

pub use buffer::{Buffer, BufferMut, Slice};
pub use submission::Submission;

pub(crate) use ring::Ring;
