//! The rendezvous: a message passes from the sender's future into the receiver's, with no buffer in between.
//!
//! Both sides meet under one lock. The side that comes second does the work: a sender puts its message into
//! the future of a receiver that waits, a receiver takes it out of the future of a sender that waits. The
//! other one learns of it by its phase and is woken.
//!
//! | file | what is in it |
//! |---|---|
//! | `meeting.rs` | what the handles of one channel share |
//! | `table.rs` | the lines of senders and receivers, and the promises: all that the lock guards |
//! | `hands.rs` | the number of messages that a receiver has been given and has not taken yet |
//! | `meet.rs` | the futures that give, take, or wait for a promise |
//! | `availability.rs` | whether a select may still be met |
//!
//! A receiver whose future is dropped with a message in its hand does not lose it: the message goes to
//! the next receiver in line, or is *kept* for the next one that comes. Until a message in a hand is taken, the
//! channel has not come to its end, whether it is closed or not: another receiver that waits may still get
//! that message.
//!
//! A permit is the promise of a receiver that waits to take the permit's message. Other senders leave that
//! receiver alone. If it goes away nevertheless, the message of the permit is kept for the next one.
//!
//! # The end
//! It is a state, and once it is reached it stays: closed, with no promise left and no message in a hand.
//! A receiver that comes after it does not get in line. All receivers in line are told of it by the thread that
//! made the last step, before that thread releases the lock for good ([`Meeting::conclude`]). None of them
//! has to pass it on.
//!
//! # Select
//! [`Availability`] stands for a select that waits at several places. A thread that wants to meet the select
//! must pick it first, and only one can. While the select itself looks around it is busy: other threads
//! leave it alone and get in line, and the select looks once more after it has become free, under the lock of
//! each meeting. So of two that pass each other, one sees the other.
//!
//! A thread that brings two selects together that are both in line picks both or none. It holds the one at the
//! lower address while it tries the other, and threads that want to pick one that is held wait for these few
//! instructions. As every thread goes upwards, no two wait for each other. A select that stands in both lines
//! of one meeting is the same one there, and never meets itself.

mod availability;
mod hands;
mod meet;
mod meeting;
#[cfg(all(test, loom))]
mod model;
mod table;

pub(super) use availability::Availability;
pub(super) use meet::{Hope, Meet};
pub(super) use meeting::{Meeting, Shut};
