//! Channels with many senders and many receivers.
//!
//! | flavour | structure | good for |
//! |---|---|---|
//! | [`bounded`] | a ring of slots, created at once; a list of blocks if that would be more than 4 MiB | a limited number of messages ahead of the receivers |
//! | [`unbounded`] | a list of blocks of 32 slots | senders that must never wait |
//! | [`bounded(0)`](bounded) | none: a rendezvous, each message passes from future to future | knowing that a receiver has the message |
//! | [`conflated`] | a ring of one slot, whose message is replaced | receivers that need only the latest message |
//! | [`builder`] | any of these, with another [`Overflow`] or a function for messages that no receiver gets | dropping messages when there are too many |
//! | [`oneshot`] | one slot | one answer to one request |
//! | [`watch`] | one value behind a lock, and its version | showing the latest value to many |
//! | [`broadcast`] | a ring of slots that every receiver reads | sending every message to every receiver |
//!
//! [`Select`] waits for the first of several channels that can receive **or** send.
//!
//! [`sync::mpsc`](crate::sync::mpsc) stands on the same queues, with Tokio's interface and for a single
//! receiver, and is a little faster there.
//!
//! The ring is Dmitry Vyukov's bounded MPMC queue, except that its senders claim positions in a word which
//! also counts reserved places and tells whether the channel is closed.
//!
//! # Examples
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
//! that wait for a place get it in the order in which they came, and no other sender overtakes them. Receivers
//! that wait are woken in that order too, but a receiver that comes meanwhile may be first. A receiver that
//! was woken takes what it finds and wakes the next one if there is more: a future that was woken and
//! is not polled holds up those behind it, as it would with a lock.
//!
//! # The end
//! A channel is closed by [`close`](Sender::close), on either side, and when all senders or all
//! receivers have been dropped. No message can be sent then, except into places that were reserved before:
//! sending returns it in an error. Receivers get what is left, and then an error, which contains the cause if
//! there [was one](Sender::close_with). What is left when the last receiver is dropped is dropped too, or given
//! to [`on_undelivered`](Builder::on_undelivered).
//!
//! # Blocking threads
//! [`send_blocking`](Sender::send_blocking), [`recv_blocking`](Receiver::recv_blocking) and
//! [`iter`](Receiver::iter) are for threads outside of a runtime, and can be mixed with the asynchronous
//! methods on both sides. The channels work with any waker and need no runtime.
//!
//! # Limits
//! At most 2²⁴ − 1 places can be reserved and unused at the same time, and at most 2³⁴ messages can be in a
//! channel, whatever its capacity. Waiting allocates nothing. The places of a bounded channel are allocated
//! at once, in a ring, if that takes at most 4 MiB; otherwise blocks of 32 are allocated as messages come.

mod attempt;
mod builder;
mod clause;
pub mod error;
#[cfg(all(test, loom))]
mod model;
mod permit;
mod queries;
mod receiver;
mod rendezvous;
mod select;
mod sender;
mod shared;

pub use crate::sync::{broadcast, oneshot, watch};
pub use builder::{Builder, Overflow};
pub use permit::{OwnedPermit, Permit};
pub use receiver::{IntoIter, Iter, Receiver, TryIter, WeakReceiver};
pub use select::{Select, Wait};
pub use sender::{Sender, WeakSender};

/// Creates a channel that holds up to `capacity` messages.
///
/// With a capacity of 0 it is a rendezvous: a message passes when a sender and a receiver are both there.
///
/// # Examples
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
#[track_caller]
pub fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    builder().capacity(capacity).build()
}

/// Creates a channel that holds any number of messages, as long as there is memory.
///
/// Sending never waits.
///
/// # Examples
///
/// ```
/// let (tx, rx) = tress::channel::unbounded();
/// for n in 0..1000 {
///     tx.try_send(n).unwrap();
/// }
/// assert_eq!(rx.len(), 1000);
/// ```
#[track_caller]
pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    builder().build()
}

/// Creates a channel that holds only the latest message.
///
/// Sending never waits: it replaces a message that has not been received.
///
/// # Examples
///
/// ```
/// let (tx, rx) = tress::channel::conflated();
/// tx.try_send(1).unwrap();
/// tx.try_send(2).unwrap();
/// assert_eq!(rx.try_recv().unwrap(), 2);
/// assert!(rx.try_recv().unwrap_err().is_empty());
/// ```
#[track_caller]
pub fn conflated<T>() -> (Sender<T>, Receiver<T>) {
    builder().capacity(1).overflow(Overflow::DropOldest).build()
}

/// Returns a builder for a channel, which is unbounded unless a [capacity](Builder::capacity) is set.
///
/// # Examples
///
/// ```
/// use tress::channel::{self, Overflow};
///
/// let (tx, rx) = channel::builder().capacity(2).overflow(Overflow::DropLatest).build();
/// for n in 0..4 {
///     tx.try_send(n).unwrap();
/// }
/// assert_eq!(rx.try_iter().collect::<Vec<_>>(), [0, 1]);
/// ```
pub fn builder<T>() -> Builder<T> {
    Builder::new()
}
