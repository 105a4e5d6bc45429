//! Places in a mailbox that become free, and the senders that get them.

use super::Slot;
use super::inbox::Wake;
use super::mailbox::Back;
use super::node::Parcel;
use super::ticket::{Leaving, Ticket};
use crate::contain::contain;
use std::task::Waker;

/// What is to be done, without the lock, after places were given back.
#[must_use]
#[derive(Debug, Default)]
pub(super) struct Owed {
    /// Wakers of the senders whose turn has come.
    senders: Vec<Waker>,
    /// Whether a message out of the line was put in for a process that rests.
    task: bool,
}

impl Slot {
    /// Gives places back, to senders in line first. The only way in which places of a live process become free.
    /// Under the lock.
    #[inline]
    pub(super) fn give_back(&self, back: &mut Back, places: u32) -> Owed {
        let mut owed = Owed::default();
        let mut free = places;
        if back.has_line() {
            free = self.let_in(back, places, &mut owed);
        }
        self.room.give_back(free);
        owed
    }

    /// Gives places to senders in line. Returns the number of places that are left.
    #[cold]
    fn let_in(&self, back: &mut Back, mut places: u32, owed: &mut Owed) -> u32 {
        while places > 0 {
            let Some(next) = back.grant() else { break };
            match next.message {
                Some(message) => {
                    let wake = self.put_locked(self.word.generation(), message);
                    owed.task |= wake == Wake::Task;
                }
                None => back.rare().kept += 1,
            }
            owed.senders.extend(next.sender);
            places -= 1;
        }
        places
    }

    /// Does what is owed, without the lock.
    #[inline]
    pub(super) fn settle(&self, owed: Owed) {
        if owed.task {
            self.wake();
        }
        for sender in owed.senders {
            contain(|| sender.wake());
        }
    }

    /// Puts in a message whose sender has waited, in the place that is kept for it. Returns it if the process
    /// has ended.
    pub(crate) fn redeem(&self, generation: u32, message: Parcel) -> Result<(), Parcel> {
        let mut back = self.back.lock();
        if !self.word.is_alive(generation) {
            return Err(message);
        }
        back.rare().kept -= 1;
        let wake = self.put_locked(generation, message);
        drop(back);
        if wake == Wake::Task {
            self.wake();
        }
        Ok(())
    }

    /// Removes a waiting sender that gives up. A place that was kept for it goes to the next.
    pub(crate) fn leave_line(&self, generation: u32, ticket: &Ticket) {
        let mut back = self.back.lock();
        let (mut owed, mut left) = (Owed::default(), None);
        match ticket.leave() {
            Leaving::Line(next) => {
                left = Some(next);
                back.note_left();
            }
            Leaving::Place if self.word.is_alive(generation) => {
                back.rare().kept -= 1;
                owed = self.give_back(&mut back, 1);
            }
            Leaving::Place | Leaving::Nothing => {}
        }
        drop(back);
        self.settle(owed);
        drop(left);
    }
}
