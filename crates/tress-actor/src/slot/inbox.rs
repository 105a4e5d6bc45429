//! Where events arrive: one pointer for all that has arrived and not been looked at.
//!
//! | value | meaning |
//! |---|---|
//! | `EMPTY` | nothing has arrived; the process runs, or waits for a worker |
//! | `RESTING` | nothing has arrived, and the process rests: the next push wakes its task |
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
//! Queue and rest are one word. A process rests only by an exchange that finds `EMPTY`. A push finds either
//! something other than `RESTING`, and then the process has not rested since it last looked and cannot before
//! it looks again; or it finds `RESTING`, and then this push and no other owes the wake.
//!
//! # Memory ordering
//! A push releases its node; each later push continues its release sequence, so that the one acquiring exchange
//! of `take` and `close` sees all of them.

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

/// What a push owes.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wake {
    /// Nothing: the process will look by itself.
    Nothing,
    /// The process rested: its task must be woken.
    Task,
}

impl Inbox {
    /// The inbox of a slot without a process.
    pub(super) fn new() -> Inbox {
        Inbox(AtomicPtr::new(CLOSED))
    }

    pub(super) fn open(&self) {
        self.0.store(EMPTY, Ordering::Release);
    }

    /// Puts a node in. Returns it if no process is here.
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

    /// Moves what has arrived behind `onto`. Must not be called by two threads at once.
    #[inline]
    pub(super) fn take(&self, onto: &mut Chain) {
        if self.has_events() {
            // Only pushes happen in between, and they leave a node.
            let newest = self.0.swap(EMPTY, Ordering::AcqRel);
            // SAFETY: the exchange made the nodes ours; the first to be pushed ends with a null.
            unsafe { onto.append_reversed(newest) };
        }
    }

    /// Lets the process rest, if nothing has arrived.
    #[inline]
    pub(super) fn rest(&self) -> bool {
        let rest = self
            .0
            .compare_exchange(EMPTY, RESTING, Ordering::AcqRel, Ordering::Relaxed);
        rest.is_ok() || rest == Err(RESTING)
    }

    /// Notes that the process runs, for whatever reason: it will look by itself.
    #[inline]
    pub(super) fn rouse(&self) {
        if self.0.load(Ordering::Relaxed) == RESTING {
            // It fails if an event has arrived meanwhile, which is as good.
            let _ = self
                .0
                .compare_exchange(RESTING, EMPTY, Ordering::AcqRel, Ordering::Relaxed);
        }
    }

    /// Closes the inbox. What has arrived goes behind `onto`.
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
