//! Who may meet a select that waits at several places: whoever gets its token.

use super::chan::Pause;
use crate::sys::atomic::{AtomicU32, Ordering};
use std::cmp;
use std::ptr;

/// See the documentation of `meeting.rs`.
#[derive(Debug)]
pub struct Token(AtomicU32);

const FREE: u32 = 0;
/// The select looks around.
const BUSY: u32 = 1;
/// Somebody meets the select. It stays so.
const PICKED: u32 = 2;
/// By somebody who needs another one too: free or picked in a moment.
const HELD: u32 = 3;

impl Token {
    /// A token whose select looks around.
    pub(super) fn busy() -> Token {
        Token(AtomicU32::new(BUSY))
    }

    /// Lets others get it.
    pub(super) fn let_go(&self) {
        self.0.store(FREE, Ordering::Release);
    }

    /// Takes it back. False if somebody got it.
    pub(super) fn take_back(&self) -> bool {
        self.get(BUSY) || self.0.load(Ordering::Acquire) == BUSY
    }

    /// Gets it for good. The caller must meet the select then.
    pub(super) fn pick(&self) -> bool {
        self.get(PICKED)
    }

    fn get(&self, state: u32) -> bool {
        let mut pause = Pause::new();
        loop {
            match self
                .0
                .compare_exchange(FREE, state, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => return true,
                Err(HELD) => _ = pause.wait(),
                Err(_) => return false,
            }
        }
    }

    /// Gets both, or none: see the documentation of `meeting.rs`.
    pub(super) fn get_both(&self, other: &Token) -> bool {
        let (low, high) = match ptr::from_ref(self).cmp(&ptr::from_ref(other)) {
            cmp::Ordering::Less => (self, other),
            cmp::Ordering::Equal => return false,
            cmp::Ordering::Greater => (other, self),
        };
        if !low.get(HELD) {
            return false;
        }
        let both = high.get(PICKED);
        let state = if both { PICKED } else { FREE };
        low.0.store(state, Ordering::Release);
        both
    }

    /// Who is told so may have to wait for it, but not for long.
    pub(super) fn is_free(&self) -> bool {
        matches!(self.0.load(Ordering::Acquire), FREE | HELD)
    }
}
