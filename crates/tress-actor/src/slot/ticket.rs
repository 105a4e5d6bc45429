//! A sender's ticket in the line before a full mailbox.

use super::node::Parcel;
use crate::sys::{Arc, Mutex};
use std::task::{Poll, Waker};

/// A place in the line before a full mailbox, by which the sender learns what happened to its message.
///
/// The outcome is decided once, under the mailbox's lock; the sender asks for it without that lock. Wakers and
/// messages are handed out, to be woken and dropped where no lock is held.
#[derive(Debug)]
pub(crate) struct Ticket(Mutex<Fate>);

#[derive(Debug)]
enum Fate {
    /// In line. The message is here if the thread that has a place for it is to put it in.
    Waiting(Option<Waker>, Option<Parcel>),
    /// A place is kept for the message, which its sender puts in.
    Place,
    /// The message was put in.
    In,
    /// The process ended first. The message is here until the sender takes it back.
    Gone(Option<Parcel>),
    /// The sender has given up.
    Left,
}

/// The outcome of a message that waited.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// There is a place for it: the sender has to [put it in](super::Slot::redeem).
    Place,
    In,
    /// The process has ended. The message is here if it waited in line itself.
    Gone(Option<Parcel>),
}

/// The sender whose turn it is.
#[derive(Debug)]
pub(super) struct Next {
    pub(super) sender: Option<Waker>,
    pub(super) message: Option<Parcel>,
}

/// What a sender that gave up has left.
#[derive(Debug)]
pub(super) enum Leaving {
    /// It was in line, with this waker and message.
    Line(Next),
    /// A place was kept for it.
    Place,
    /// Nothing: its outcome was decided before.
    Nothing,
}

impl Ticket {
    pub(super) fn new(message: Option<Parcel>) -> Arc<Ticket> {
        Arc::new(Ticket(Mutex::new(Fate::Waiting(None, message))))
    }

    /// Gives a place to the message. Returns `None` if its sender has given up.
    pub(super) fn grant(&self) -> Option<Next> {
        let mut fate = self.0.lock();
        let Fate::Waiting(sender, message) = &mut *fate else {
            return None;
        };
        let (sender, message) = (sender.take(), message.take());
        *fate = if message.is_some() {
            Fate::In
        } else {
            Fate::Place
        };
        Some(Next { sender, message })
    }

    /// Refuses the message, because the process has ended. Returns the waker to be woken.
    pub(super) fn refuse(&self) -> Option<Waker> {
        let mut fate = self.0.lock();
        let Fate::Waiting(sender, message) = &mut *fate else {
            return None;
        };
        let (sender, message) = (sender.take(), message.take());
        *fate = Fate::Gone(message);
        sender
    }

    /// Gives up, for the sender.
    pub(super) fn leave(&self) -> Leaving {
        let mut fate = self.0.lock();
        let left = match &mut *fate {
            Fate::Waiting(sender, message) => Leaving::Line(Next {
                sender: sender.take(),
                message: message.take(),
            }),
            Fate::Place => Leaving::Place,
            // A message that is still there is dropped with the ticket.
            Fate::In | Fate::Gone(_) | Fate::Left => return Leaving::Nothing,
        };
        *fate = Fate::Left;
        left
    }

    pub(super) fn has_left(&self) -> bool {
        matches!(*self.0.lock(), Fate::Left)
    }

    /// Polls for the outcome, for the sender. Not to be called again once it has been returned.
    pub(crate) fn poll(&self, waker: &Waker) -> Poll<Outcome> {
        let mut new = None;
        loop {
            let mut fate = self.0.lock();
            match &mut *fate {
                Fate::Waiting(Some(current), _) if current.will_wake(waker) => {
                    return Poll::Pending;
                }
                Fate::Waiting(current, _) => {
                    if let Some(new) = new.take() {
                        let old = current.replace(new);
                        drop(fate);
                        drop(old);
                        return Poll::Pending;
                    }
                }
                Fate::Place => return Poll::Ready(Outcome::Place),
                Fate::In => return Poll::Ready(Outcome::In),
                Fate::Gone(message) => return Poll::Ready(Outcome::Gone(message.take())),
                Fate::Left => unreachable!("a sender that has given up does not ask"),
            }
            drop(fate);
            // Foreign code runs here, without the lock.
            new = Some(waker.clone());
        }
    }
}
