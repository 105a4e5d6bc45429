//! The runtimes in which timers are made, for timers that are polled outside of every runtime.
//!
//! A timer that is made and polled in runtimes is armed where it is polled, and does not hold the runtime in which it was
//! made. It only knows that one's number, and looks for it here if there is no other.

use super::{Shared, TimersHandle};
use crate::sys::plain::Mutex;
use std::sync::{Arc, Weak};

/// The runtimes that have timers. Those that are gone leave the list when the next one comes.
static ALL: Mutex<Vec<(Maker, Weak<Shared>)>> = Mutex::new(Vec::new());

/// The number of a runtime in which a timer was made: the low half of its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Maker(u32);

impl Maker {
    #[inline]
    pub(super) fn of(shared: &Shared) -> Maker {
        Maker(shared.id.low_half())
    }

    /// Lets timers that are made in the runtime find it.
    pub(super) fn list(shared: &Arc<Shared>) {
        let mut all = ALL.lock();
        all.retain(|(_, runtime)| runtime.strong_count() > 0);
        all.push((Maker::of(shared), Arc::downgrade(shared)));
    }

    /// Returns the runtime, if it is still there.
    #[cold]
    pub(crate) fn find(self) -> Option<TimersHandle> {
        let all = ALL.lock();
        let (_, runtime) = all.iter().find(|(maker, _)| *maker == self)?;
        runtime.upgrade().map(TimersHandle)
    }
}
