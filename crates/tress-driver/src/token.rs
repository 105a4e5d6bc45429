//! The owner's parking word, and what those ask it that queue operations for the ring.
//!
//! The owner of a driver *parks*: it begins at [`Asleep::Selector`], waits in the kernel, and ends. Others notify it, and the
//! one that finds it there rings the bell. The owner of a driver that is lent parks *away*: it begins at [`Asleep::Away`] and
//! sleeps on the word. The automaton is [`Parker`]'s; a runtime whose threads also sleep where they have no I/O shares
//! theirs with the driver.
//!
//! Operations are queued under a lock, and handed to the kernel by the owner when it comes by. Whoever queues
//! one asks, under the lock, whether the owner `is_asleep`, and if so `summon`s it, or whoever looks after
//! the driver, after the lock. The owner hands over what is queued, which takes the lock, each time that it has begun
//! to park in either place. Whoever takes results, and queues what they ask for, is awake itself: it asks whether the owner
//! `is_away`, and if so hands it over in the owner's place, or has the keeper do so.
//!
//! # Why nothing stays in the queue while the owner sleeps
//! Take the last time that the owner handed over before something was queued. The lock orders the two: so the one
//! that queued sees the word as the owner had left it when it began that park, or as it was later.
//!
//! - The place: the owner sleeps, or is about to. The one that queued summons it or its keeper.
//! - NOTIFIED or EMPTY: the owner was roused from that park, or has come back from it. It begins another one before it sleeps again,
//!   and hands over after that: by the choice above, later than this was queued.
//! - FUTEX: the same, but it has no I/O to look after and will not hand over. Whoever gives such an owner its first source
//!   or operation unparks it afterwards.
//!
//! So NOTIFIED says all that is needed although it hides the place: an owner that was away and has a token is as good
//! as awake, and as from one that is awake nobody has to take the queue off its hands.
//!
//! # Memory ordering
//! Questions are loads that the lock of the queue puts in order. One that is answered late, after the lock, costs a bell or a token.

#[cfg(all(test, loom))]
mod model;

use crate::sys::{Asleep, Parker};
use std::ops::Deref;
use std::sync::Arc;

#[derive(Debug)]
pub(crate) struct Token(Arc<Parker>);

impl Token {
    pub(crate) fn new(parker: Arc<Parker>) -> Self {
        Token(parker)
    }

    /// Has the owner left the driver to another? Under the ring's lock this says who hands over what was queued.
    pub(crate) fn is_away(&self) -> bool {
        self.asleep() == Some(Asleep::Away)
    }

    /// Will the owner not come by itself to hand over what was queued? To be asked under the ring's lock.
    #[allow(dead_code, reason = "used where there is a ring")]
    pub(crate) fn is_asleep(&self) -> bool {
        matches!(self.asleep(), Some(Asleep::Selector | Asleep::Away))
    }

    /// For a thread that found the owner asleep. Returns whether the caller has to ring the bell: the owner hears it,
    /// or the thread that looks after the driver.
    #[allow(dead_code, reason = "used where there is a ring")]
    #[must_use]
    pub(crate) fn summon(&self) -> bool {
        self.is_away() || self.notify()
    }
}

impl Deref for Token {
    type Target = Parker;

    fn deref(&self) -> &Parker {
        &self.0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::sys::Begin;

    #[test]
    fn an_owner_that_waits_inside_is_summoned_by_a_token() {
        let token = Token::new(Arc::new(Parker::new()));
        assert!(!token.is_asleep());
        assert_eq!(token.begin(Asleep::Selector), Begin::Wait);
        assert!(token.is_asleep() && !token.is_away());
        assert!(token.summon() && !token.summon());
        assert!(!token.is_asleep());
        assert!(token.end());
    }

    #[test]
    fn an_owner_that_is_away_gets_tokens_and_its_keeper_the_bell() {
        let token = Token::new(Arc::new(Parker::new()));
        assert_eq!(token.begin(Asleep::Away), Begin::Wait);
        assert!(token.is_asleep() && token.summon() && token.summon());
        assert!(!token.is_notified());
        // Roused: it comes by itself.
        assert!(!token.notify());
        assert!(!token.is_asleep() && !token.is_away());
        assert!(token.end());
    }

    #[test]
    fn an_owner_without_io_is_neither() {
        let token = Token::new(Arc::new(Parker::new()));
        assert_eq!(token.begin(Asleep::Futex), Begin::Wait);
        assert!(!token.is_asleep() && !token.is_away());
        assert!(!token.end());
    }
}
