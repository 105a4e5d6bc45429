//! Where events arrive: one pointer for all that has come and not been looked at.
//!
//! | value | meaning |
//! |---|---|
//! | `EMPTY` | nothing has come; the process runs, or waits for a worker |
//! | `RESTING` | nothing has come, and the process rests: who comes next wakes its task |
//! | `CLOSED` | no process is here |
//! | a node | the newest event, linked to those before it; the process will look |
//!
//! ```text
//!  CLOSED ─open→ EMPTY ─rest→ RESTING ─push→ node (and wake)
//!     ↑           │ ↑ ╰──────push──────────────↗ │ ↑ push
//!     │           │ ╰────────────take────────────╯
//!     ╰─close─────┴─ (from everywhere)
//! ```
//!
//! # Why no wake-up is lost
//! Queue and rest are one word. A process rests only by an exchange that finds `EMPTY`; whoever puts
//! an event in finds either what is not `RESTING`, and then the process has not rested since it last
//! looked and cannot before it looks again, or `RESTING`, and then it and nobody else owes the wake.
//!
//! # Memory ordering
//! A push releases its node; each later push goes on from it in the release sequence, so that the
//! one acquiring exchange of `take` and `close` sees all of them.

use super::chain::Chain;
use super::node::Node;
use crate::sys::atomic::{AtomicPtr, Ordering};
use std::ptr;

const EMPTY: *mut Node = ptr::null_mut();
const RESTING: *mut Node = ptr::without_provenance_mut(1);
const CLOSED: *mut Node = ptr::without_provenance_mut(2);

fn is_node(head: *mut Node) -> bool {
    head.addr() > CLOSED.addr()
}

#[derive(Debug)]
pub(super) struct Inbox(AtomicPtr<Node>);

/// What somebody who put an event in owes.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wake {
    /// The process will look by itself.
    Nothing,
    /// It rested: its task must be woken.
    Task,
}

impl Inbox {
    /// Of a place where no process is.
    pub(super) fn new() -> Inbox {
        Inbox(AtomicPtr::new(CLOSED))
    }

    pub(super) fn open(&self) {
        self.0.store(EMPTY, Ordering::Release);
    }

    /// Puts a node in, or gives it back if no process is here.
    #[inline]
    pub(super) fn push(&self, mut node: Box<Node>) -> Result<Wake, Box<Node>> {
        let mut head = self.0.load(Ordering::Relaxed);
        loop {
            if head == CLOSED {
                return Err(node);
            }
            node.next = if is_node(head) { head } else { EMPTY };
            let new = Box::into_raw(node);
            let pushed =
                self.0
                    .compare_exchange_weak(head, new, Ordering::AcqRel, Ordering::Relaxed);
            match pushed {
                Ok(RESTING) => return Ok(Wake::Task),
                Ok(_) => return Ok(Wake::Nothing),
                Err(now) => {
                    head = now;
                    // SAFETY: it did not get in, so it is still ours.
                    node = unsafe { Box::from_raw(new) };
                }
            }
        }
    }

    /// Moves what has come behind `onto`. Not to be called by two at once.
    #[inline]
    pub(super) fn take(&self, onto: &mut Chain) {
        if self.has_events() {
            // Only pushes come in between, and they leave a node.
            let newest = self.0.swap(EMPTY, Ordering::AcqRel);
            // SAFETY: the exchange made the nodes ours; the first to be pushed ends with a null.
            unsafe { onto.append_reversed(newest) };
        }
    }

    /// The process rests, if nothing has come.
    #[inline]
    pub(super) fn rest(&self) -> bool {
        let rest = self
            .0
            .compare_exchange(EMPTY, RESTING, Ordering::AcqRel, Ordering::Relaxed);
        rest.is_ok() || rest == Err(RESTING)
    }

    /// The process runs, whoever woke it: it will look by itself.
    #[inline]
    pub(super) fn rouse(&self) {
        if self.0.load(Ordering::Relaxed) == RESTING {
            // It fails if an event has come meanwhile, which is as good.
            let _ = self
                .0
                .compare_exchange(RESTING, EMPTY, Ordering::AcqRel, Ordering::Relaxed);
        }
    }

    /// No process is here any more. What had come goes behind `onto`.
    pub(super) fn close(&self, onto: &mut Chain) {
        let newest = self.0.swap(CLOSED, Ordering::AcqRel);
        if is_node(newest) {
            // SAFETY: as in `take`.
            unsafe { onto.append_reversed(newest) };
        }
    }

    #[inline]
    pub(super) fn has_events(&self) -> bool {
        is_node(self.0.load(Ordering::Relaxed))
    }

    pub(super) fn is_resting(&self) -> bool {
        self.0.load(Ordering::Relaxed) == RESTING
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.close(&mut Chain::new());
    }
}
