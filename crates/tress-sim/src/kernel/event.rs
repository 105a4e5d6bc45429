//! What will happen, in the order in which it will.

use super::{ObjectId, ThreadId};
use crate::net;
use crate::time::Time;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::fmt;

/// Something that happens at a time.
pub(crate) enum Event {
    /// A thread goes on, because it may or because it has waited for long enough, if this is still the same turn of it.
    Go(ThreadId, u64),
    /// A timer's descriptor becomes readable, if it was not set again.
    Timer(ObjectId, u64),
    /// Something of the network.
    Net(net::Event),
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Go(thread, _) => f.debug_tuple("Go").field(thread).finish(),
            Event::Timer(object, _) => f.debug_tuple("Timer").field(object).finish(),
            Event::Net(event) => f.debug_tuple("Net").field(event).finish(),
        }
    }
}

/// The events to come.
#[derive(Debug, Default)]
pub(crate) struct Events {
    heap: BinaryHeap<Reverse<Entry>>,
    added: u64,
    /// Number of events that have happened.
    pub(crate) happened: u64,
}

#[derive(Debug)]
struct Entry {
    time: Time,
    /// Which of several at the same time is first.
    order: u64,
    event: Event,
}

impl Entry {
    /// Both numbers as one, which is compared at once.
    #[inline]
    fn key(&self) -> u128 {
        u128::from(self.time.0) << 64 | u128::from(self.order)
    }
}

impl Events {
    /// Adds an event, behind those of the same time.
    #[inline]
    pub(crate) fn add(&mut self, time: Time, event: Event) {
        self.added += 1;
        let order = self.added;
        self.heap.push(Reverse(Entry { time, order, event }));
    }

    #[inline]
    pub(crate) fn next_time(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse(entry)| entry.time)
    }

    /// Returns how many were ever added.
    #[inline]
    pub(super) fn added(&self) -> u64 {
        self.added
    }

    #[inline]
    pub(super) fn take(&mut self) -> Option<(Time, Event)> {
        let Reverse(entry) = self.heap.pop()?;
        self.happened += 1;
        Some((entry.time, entry.event))
    }
}

impl Ord for Entry {
    #[inline]
    fn cmp(&self, other: &Entry) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Entry {}
