//! The traits of the futures crates: [`Stream`](futures_core::Stream) with the feature `stream`, and
//! [`Sink`](futures_sink::Sink) with the feature `sink`.
//!
//! | a stream of … | is |
//! |---|---|
//! | messages | [`mpsc::Receiver`](crate::sync::mpsc::Receiver), [`mpsc::UnboundedReceiver`](crate::sync::mpsc::UnboundedReceiver) |
//! | messages of a [channel](crate::channel) with many receivers | [`ChannelStream`] |
//! | messages, or how many were missed | [`BroadcastStream`] |
//! | the latest values | [`WatchStream`] |
//! | ticks | [`time::Interval`](crate::time::Interval) |
//! | results of tasks, as they finish | [`task::JoinSet`](crate::task::JoinSet) |
//!
//! | a sink for … | is |
//! |---|---|
//! | messages, when there is room | [`PollSender`] |
//! | messages without limit | [`mpsc::UnboundedSender`](crate::sync::mpsc::UnboundedSender) |
//!
//! Adapters like `map` and `forward` are in crates such as `futures`; their `next` on these streams is
//! cancel safe: what it has not returned is in the stream.

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
