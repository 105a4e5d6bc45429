//! Channels with many senders and one receiver.
//!
//! A [bounded](channel()) channel holds a limited number of messages; a sender that finds it full waits for
//! its turn, so that a fast producer cannot outrun a slow consumer without limit. An
//! [unbounded](unbounded_channel()) channel takes any number of messages, as long as there is memory.
//!
//! Both keep their messages in a list of blocks of 32 slots. [`channel`](crate::channel) has channels with
//! many receivers, on the same queues.
//!
//! # Examples
//!
//! ```
//! use tress::sync::mpsc;
//!
//! # tress::runtime::Runtime::new().unwrap().block_on(async {
//! let (tx, mut rx) = mpsc::channel(16);
//! for worker in 0..3 {
//!     let tx = tx.clone();
//!     tress::spawn(async move { tx.send(worker * 10).await });
//! }
//! drop(tx); // the clones keep the channel open
//!
//! let mut sum = 0;
//! while let Some(n) = rx.recv().await {
//!     sum += n;
//! }
//! assert_eq!(sum, 30);
//! # });
//! ```
//!
//! # Order
//! Messages of one sender arrive in the order in which they were sent. Senders that wait for a place
//! get it in the order in which they came; no other sender overtakes them, and a request for many places is
//! not starved by requests for few.
//!
//! # The end
//! When all senders have been dropped the receiver gets what is left and then `None`. When the receiver is
//! dropped, or [closes](Receiver::close) the channel, sending fails and returns the message. Messages
//! that are left when the receiver is dropped are dropped with it, not later.
//!
//! # Blocking threads
//! [`Sender::blocking_send`], [`Receiver::blocking_recv`] and the senders of unbounded channels are
//! for threads outside of a runtime. The channels work with any waker, so they can be used with other
//! executors too.
//!
//! # Limits
//! At most 2²⁴ − 1 places can be reserved and unused at the same time, and at most 2³⁴ messages can be in a
//! channel, whatever its capacity.

mod bounded;
pub mod error;
#[cfg(all(test, loom))]
mod model;
mod permit;
mod rx;
mod sender;
mod tx;
mod unbounded;

pub use bounded::{Receiver, channel};
pub use permit::{OwnedPermit, Permit, PermitIterator};
pub use sender::{Sender, WeakSender};
pub use unbounded::{UnboundedReceiver, UnboundedSender, WeakUnboundedSender, unbounded_channel};
