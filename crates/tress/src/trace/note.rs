//! The door for other crates of the house, through which they note what their tasks wait for.
//!
//! While nothing is to be noted, each of these looks at one flag.

use crate::sight::{self, WaitKind};

/// Notes that the task that is being polled waits for `what`, and whether it `begins` to.
#[inline(always)]
pub fn waits<T: ?Sized>(begins: bool, kind: WaitKind, what: &T) {
    sight::waits_if(begins, kind, sight::address(what), None);
}

/// Notes that the task that is being polled has got what it waited for.
#[inline(always)]
pub fn served<T: ?Sized>(what: &T) {
    sight::served(sight::address(what));
}

/// Notes that a wait for `what`, if the poll that is under way has noted one, is given up.
#[inline(always)]
pub fn gives_up<T: ?Sized>(kind: WaitKind, what: &T) {
    sight::gives_up(kind, sight::address(what));
}

/// Notes how long a queue is, after something was added to it.
#[inline(always)]
pub fn grown<T: ?Sized>(kind: WaitKind, queue: &T, length: impl FnOnce() -> usize) {
    if sight::is_on() {
        sight::grown(kind, sight::address(queue), None, length());
    }
}

/// Notes that a queue is empty, or dropped.
#[inline(always)]
pub fn emptied<T: ?Sized>(queue: &T) {
    sight::emptied(sight::address(queue));
}
