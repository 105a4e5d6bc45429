//! Implementations of the traits of the futures crates: [`Stream`](futures_core::Stream) with the feature
//! `stream`, and [`Sink`](futures_sink::Sink) with the feature `sink`.
//!
//! | Stream of | Type |
//! |---|---|
//! | the messages of a channel with one receiver | [`mpsc::Receiver`](crate::sync::mpsc::Receiver), [`mpsc::UnboundedReceiver`](crate::sync::mpsc::UnboundedReceiver) |
//! | the messages of a [channel](crate::channel) with many receivers | [`ChannelStream`] |
//! | the messages of a broadcast channel, or the number of those missed | [`BroadcastStream`] |
//! | the latest values of a watch channel | [`WatchStream`] |
//! | the ticks of an interval | [`time::Interval`](crate::time::Interval) |
//! | the results of tasks, as they complete | [`task::JoinSet`](crate::task::JoinSet) |
//!
//! | Sink for | Type |
//! |---|---|
//! | messages, with backpressure | [`PollSender`] |
//! | messages, without a limit | [`mpsc::UnboundedSender`](crate::sync::mpsc::UnboundedSender) |
//!
//! Combinators such as `map`, `next` and `forward` are in crates such as `futures`.
//!
//! # Cancel safety
//!
//! Waiting for the next item of any of these streams is cancel safe: an item that was not returned stays
//! in the stream.

#[cfg(feature = "sink")]
mod poll_sender;
#[cfg(feature = "stream")]
mod receivers;
#[cfg(feature = "sink")]
mod reserve;
#[cfg(feature = "stream")]
mod unfold;

#[cfg(feature = "sink")]
pub use poll_sender::{PollSendError, PollSender};
#[cfg(feature = "stream")]
pub use receivers::{BroadcastStream, ChannelStream, Lagged, WatchStream};

#[cfg(all(test, not(loom), feature = "stream", feature = "sink"))]
mod tests;
