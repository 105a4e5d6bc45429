use super::node::Parcel;
use super::ticket::{Next, Ticket};
use crate::sys::Arc;
use std::collections::VecDeque;
use std::task::Waker;

/// The senders that wait for room, in turn. Under the mailbox's lock.
#[derive(Debug, Default)]
pub(super) struct Line {
    tickets: VecDeque<Arc<Ticket>>,
    /// Tickets of senders that gave up: passed over when their turn comes, or when they are more than
    /// half of all. So giving up takes a constant time, however long the line is.
    left: usize,
}

impl Line {
    pub(super) fn join(&mut self, message: Option<Parcel>) -> Arc<Ticket> {
        let ticket = Ticket::new(message);
        self.tickets.push_back(ticket.clone());
        ticket
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.tickets.len() - self.left
    }

    /// There is a place for whoever is first.
    pub(super) fn grant(&mut self) -> Option<Next> {
        while let Some(ticket) = self.tickets.pop_front() {
            match ticket.grant() {
                Some(next) => return Some(next),
                None => self.left -= 1,
            }
        }
        None
    }

    /// A sender of this line has given up.
    pub(super) fn note_left(&mut self) {
        self.left += 1;
        if self.left > self.tickets.len() / 2 {
            self.tickets.retain(|ticket| !ticket.has_left());
            self.left = 0;
        }
    }

    /// The process has ended. Who is to be woken.
    pub(super) fn refuse(self) -> Vec<Waker> {
        let refused = self.tickets.iter().filter_map(|ticket| ticket.refuse());
        refused.collect()
    }
}
