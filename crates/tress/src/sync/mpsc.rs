//! Many senders, one receiver.
//!
//! A [bounded](channel()) channel holds up to a number of messages; a sender that finds it full waits
//! its turn, which keeps a fast producer from running away from a slow consumer. An
//! [unbounded](unbounded_channel()) one takes whatever comes, for as long as there is memory.
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
//! get it in the order in which they came; nobody overtakes them, and a request for many places is
//! not starved by requests for few.
//!
//! # The end
//! When all senders are gone the receiver gets what is left and then `None`. When the receiver is
//! dropped, or [closes](Receiver::close) the channel, sending fails and returns the message. Messages
//! that nobody will receive are dropped with the receiver, not later.
//!
//! # Blocking threads
//! [`Sender::blocking_send`], [`Receiver::blocking_recv`] and the senders of unbounded channels are
//! for plain threads. Any waker will do, so the channel can be used with other executors too.
//!
//! # Limits
//! At most 2²⁴ − 1 places can be reserved and unused at a time, and at most 2³⁴ messages be in a
//! channel, whatever its capacity.

mod bounded;
mod chan;
pub mod error;
#[cfg(all(test, loom))]
mod model;
mod permit;
mod rx;
mod sender;
mod tx;
mod unbounded;
mod waker;

pub use bounded::{Receiver, channel};
pub use permit::{OwnedPermit, Permit, PermitIterator};
pub use sender::{Sender, WeakSender};
pub use unbounded::{UnboundedReceiver, UnboundedSender, WeakUnboundedSender, unbounded_channel};
