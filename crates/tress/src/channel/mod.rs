//! Channels with many senders and many receivers.
//!
//! | to … | use |
//! |---|---|
//! | pass messages on, a bounded number ahead of the receivers | [`bounded`] |
//! | pass messages on, however far ahead | [`unbounded`] |
//! | pass a message from hand to hand | [`bounded(0)`](bounded) |
//! | keep only the latest | [`conflated`] |
//! | drop messages when there are too many, or hear of those that nobody gets | [`builder`] |
//! | wait for whichever of several can receive **or** send | [`Select`] |
//! | answer one request | [`oneshot`] |
//! | show the latest value to many | [`watch`] |
//! | send every message to every receiver | [`broadcast`] |
//!
//! [`sync::mpsc`](crate::sync::mpsc) is the same machinery for a single receiver, in Tokio's words, and
//! a little faster there.
//!
//! ```
//! use tress::channel;
//!
//! # tress::runtime::Runtime::new().unwrap().block_on(async {
//! let (tx, rx) = channel::bounded(16);
//! let workers: Vec<_> = (0..3)
//!     .map(|_| {
//!         let rx = rx.clone();
//!         tress::spawn(async move {
//!             let mut sum = 0;
//!             while let Ok(n) = rx.recv().await {
//!                 sum += n;
//!             }
//!             sum
//!         })
//!     })
//!     .collect();
//! for n in 0..100 {
//!     tx.send(n).await.unwrap();
//! }
//! drop(tx); // the workers get what is left, and stop
//!
//! let mut sum = 0;
//! for worker in workers {
//!     sum += worker.await.unwrap();
//! }
//! assert_eq!(sum, 4950);
//! # });
//! ```
//!
//! # Order
//! Messages of one sender that go to one receiver arrive in the order in which they were sent. Senders
//! that wait for a place get it in the order in which they came, and nobody overtakes them. Receivers
//! that wait are called in that order too, but one that comes by meanwhile may be first. A called
//! receiver takes what it finds and calls the next one if there is more: a future that was woken and
//! is kept without being polled holds up those behind it, as it would with a lock.
//!
//! # The end
//! A channel is closed by [`close`](Sender::close), on either side, and when all senders or all
//! receivers are gone. Nothing can be sent then, except into places that were reserved before, and the
//! message comes back. Receivers get what is left, and then an error, which carries the cause if there
//! [was one](Sender::close_with). What is left when the last receiver goes is dropped, or given to
//! [`on_undelivered`](Builder::on_undelivered).
//!
//! # Blocking threads
//! [`send_blocking`](Sender::send_blocking), [`recv_blocking`](Receiver::recv_blocking) and
//! [`iter`](Receiver::iter) are for plain threads, and both sides may mix with asynchronous ones. Any
//! waker will do: the channels need no runtime.
//!
//! # Limits
//! At most 2²⁴ − 1 places can be reserved and unused at a time, and at most 2³⁴ messages be in a
//! channel, whatever its capacity. Waiting allocates nothing. The places of a bounded channel are made
//! at once, in a ring, if that takes no more than 4 MiB; if it takes more, blocks of 32 are made as
//! messages come.

pub(crate) mod acquire;
mod arrivals;
mod attempt;
pub(crate) mod block;
mod builder;
pub(crate) mod chain;
pub(crate) mod chan;
mod clause;
pub mod error;
mod list;
mod meet;
mod meeting;
#[cfg(all(test, loom))]
mod model;
mod permit;
mod places;
mod receiver;
mod ring;
mod run;
mod select;
mod sender;
mod shared;
mod state;
pub(crate) mod tail;
mod token;

pub use crate::sync::{broadcast, oneshot, watch};
pub use builder::{Builder, Overflow};
pub use permit::{OwnedPermit, Permit};
pub use receiver::{IntoIter, Iter, Receiver, TryIter, WeakReceiver};
pub use select::{Select, Wait};
pub use sender::{Sender, WeakSender};

/// Makes a channel for up to `capacity` messages. With a capacity of 0 it is a rendezvous: a message
/// passes when a sender and a receiver are both there.
///
/// ```
/// use tress::channel;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (tx, rx) = channel::bounded(2);
/// tx.send("one").await.unwrap();
/// tx.send("two").await.unwrap();
/// assert!(tx.try_send("three").is_err()); // full
/// assert_eq!(rx.recv().await.unwrap(), "one");
///
/// let (tx, rx) = channel::bounded(0);
/// assert!(tx.try_send("nobody waits").is_err());
/// let (sent, received) = tress::join!(tx.send("here"), rx.recv());
/// assert_eq!(received.unwrap(), "here");
/// assert!(sent.is_ok());
/// # });
/// ```
pub fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    builder().capacity(capacity).build()
}

/// Makes a channel that takes whatever comes, for as long as there is memory. Sending never waits.
///
/// ```
/// let (tx, rx) = tress::channel::unbounded();
/// for n in 0..1000 {
///     tx.try_send(n).unwrap();
/// }
/// assert_eq!(rx.len(), 1000);
/// ```
pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    builder().build()
}

/// Makes a channel that holds the latest message only. Sending never waits.
///
/// ```
/// let (tx, rx) = tress::channel::conflated();
/// tx.try_send(1).unwrap();
/// tx.try_send(2).unwrap();
/// assert_eq!(rx.try_recv().unwrap(), 2);
/// assert!(rx.try_recv().unwrap_err().is_empty());
/// ```
pub fn conflated<T>() -> (Sender<T>, Receiver<T>) {
    builder().capacity(1).overflow(Overflow::DropOldest).build()
}

/// Makes a channel to order: unbounded, unless something else is said.
pub fn builder<T>() -> Builder<T> {
    Builder::new()
}
