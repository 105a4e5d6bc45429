use super::node::Parcel;
use crate::sys::{Arc, Mutex};
use std::task::{Poll, Waker};

/// A place in the line before a full mailbox: how the sender learns what became of its message.
#[derive(Debug)]
pub(crate) struct Ticket(Mutex<Fate>);

#[derive(Debug)]
enum Fate {
    Waiting(Option<Waker>),
    In,
    /// The process ended first; the message, until the sender takes it back.
    Back(Option<Parcel>),
}

/// What became of a message that waited.
#[derive(Debug)]
pub(crate) enum Outcome {
    In,
    Back(Parcel),
}

impl Ticket {
    pub(crate) fn new() -> Arc<Ticket> {
        Arc::new(Ticket(Mutex::new(Fate::Waiting(None))))
    }

    fn decide(&self, fate: Fate) {
        let old = std::mem::replace(&mut *self.0.lock(), fate);
        if let Fate::Waiting(Some(waker)) = old {
            waker.wake();
        }
    }

    /// The message is in the mailbox. Called without the mailbox's lock.
    pub(crate) fn accept(&self) {
        self.decide(Fate::In);
    }

    /// The process has ended. Called without the mailbox's lock.
    pub(crate) fn give_back(&self, message: Parcel) {
        self.decide(Fate::Back(Some(message)));
    }

    pub(crate) fn poll(&self, waker: &Waker) -> Poll<Outcome> {
        let mut fate = self.0.lock();
        match &mut *fate {
            Fate::Waiting(current) => {
                let old = match current {
                    Some(current) if current.will_wake(waker) => None,
                    _ => current.replace(waker.clone()),
                };
                drop(fate);
                drop(old);
                Poll::Pending
            }
            Fate::In => Poll::Ready(Outcome::In),
            Fate::Back(message) => Poll::Ready(Outcome::Back(
                message.take().expect("a sender asks once for its fate"),
            )),
        }
    }
}
