//! The line of senders before a full mailbox.

use super::node::Parcel;
use super::ticket::{Next, Ticket};
use crate::sys::Arc;
use std::collections::VecDeque;
use std::task::Waker;

/// The senders that wait for room, in order. Under the mailbox's lock.
#[derive(Debug, Default)]
pub(super) struct Line {
    tickets: VecDeque<Arc<Ticket>>,
    /// Number of tickets whose senders gave up. They are skipped when their turn comes, or removed when they
    /// are more than half of all; so giving up takes constant time on average, however long the line is.
    left: usize,
}

impl Line {
    pub(super) fn join(&mut self, message: Option<Parcel>) -> Arc<Ticket> {
        let ticket = Ticket::new(message);
        self.tickets.push_back(ticket.clone());
        ticket
    }

    /// Number of senders that wait.
    pub(super) fn len(&self) -> usize {
        self.tickets.len() - self.left
    }

    /// Gives a place to the first sender.
    pub(super) fn grant(&mut self) -> Option<Next> {
        while let Some(ticket) = self.tickets.pop_front() {
            match ticket.grant() {
                Some(next) => return Some(next),
                None => self.left -= 1,
            }
        }
        None
    }

    /// Notes that a sender of this line has given up.
    pub(super) fn note_left(&mut self) {
        self.left += 1;
        if self.left > self.tickets.len() / 2 {
            self.tickets.retain(|ticket| !ticket.has_left());
            self.left = 0;
        }
    }

    /// Refuses all senders, because the process has ended. Returns the wakers to be woken.
    pub(super) fn refuse(self) -> Vec<Waker> {
        let refused = self.tickets.iter().filter_map(|ticket| ticket.refuse());
        refused.collect()
    }
}
