//! What turmoil says of itself, counted.
//!
//! It has no number of events; it traces each message that is sent, delivered and received, and each step. Counting costs time, so
//! that it is done only if `COUNT` is set.

use std::sync::atomic::{AtomicU64, Ordering};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

static EVENTS: AtomicU64 = AtomicU64::new(0);

/// Counts events, and nothing else.
struct Count;

impl Subscriber for Count {
    fn enabled(&self, of: &Metadata<'_>) -> bool {
        of.is_event() && of.target().starts_with("turmoil")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        EVENTS.fetch_add(1, Ordering::Relaxed);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Begins to count, if that is asked for.
pub fn begin() {
    if std::env::var_os("COUNT").is_some() {
        tracing::subscriber::set_global_default(Count).expect("it is the only one");
    }
}

/// The number of events since the last call.
pub fn events(_: &turmoil::Sim<'_>) -> u64 {
    EVENTS.swap(0, Ordering::Relaxed)
}
