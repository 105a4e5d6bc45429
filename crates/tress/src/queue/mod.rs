//! The queues below `sync::mpsc` and `channel`: storage, places, order and the end of every channel that
//! buffers.
//!
//! | flavour | structure | good for |
//! |---|---|---|
//! | [`Ring`] | an array of slots with sequence numbers, allocated at once | bounded, many receivers |
//! | [`List`] | a list of blocks of 32 slots, allocated as messages come | unbounded or very large, many receivers |
//! | [`Single`] | the same list; the receiver takes messages without a read-modify-write | any capacity, one receiver |
//!
//! Each flavour is a [`Lane`](lane::Lane) of a [`Queue`]. The queue has one word in which senders claim
//! positions (`tail.rs`), and a line in which they wait for places (`places.rs`, [`Acquire`]). Receivers of
//! the first two flavours wait in a line of their own ([`Arrive`]); the only receiver of the third waits at
//! the slot of its next message ([`Consumer`]).
//!
//! [`Ring`] is Dmitry Vyukov's bounded MPMC queue. What differs: the senders' position shares its word with
//! the number of reserved places and the flags of the end, and the capacity need not be a power of two.
//! [`List`] and [`Single`] fill a list of blocks by position, as the list flavour of crossbeam's channel and
//! Tokio's `mpsc` do. What differs: again the senders' word, and the way in which a receiver waits.
//!
//! # The end
//! A queue is *closed* when nothing more can be reserved or sent without a reservation, and at its *end* when
//! every message has been received and no reservation is left. It is *gone* when there is no receiver.
//!
//! # Layers
//! This module stands on `sys` and `wait`. It knows neither its two faces nor tasks: futures here do not look
//! at the task's budget, which is for the faces to do.

mod acquire;
mod arrivals;
mod block;
mod chain;
mod claim;
mod count;
mod lane;
mod list;
mod places;
mod ring;
mod run;
mod single;
mod tail;

pub(crate) use acquire::{Acquire, Closed};
pub(crate) use arrivals::{Arrive, Many, Over, Taken};
pub(crate) use claim::Refusal;
pub(crate) use count::Count;
pub(crate) use lane::{Queue, UNBOUNDED};
pub(crate) use list::List;
pub(crate) use ring::Ring;
pub(crate) use single::{Consumer, Single};
pub(crate) use tail::MAX_RESERVED;
