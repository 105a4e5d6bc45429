//! Where a worker sleeps: on its parking word while it has nothing to do with I/O, else in its driver.
//!
//! One wait covers everything: a wake-up, the next timer, and I/O if there is any. Wake-ups are tokens of the word, which the
//! worker and its driver share, and which says where the worker sleeps: whoever leaves a token learns from the same exchange
//! whether it has to ring the driver's bell.
//!
//! A worker whose driver has no source does not go there. When another thread gives it its first, that
//! thread unparks it afterwards, and it changes places.
//!
//! A worker may lend its driver to another worker, which then looks after both. It sleeps on its word
//! meanwhile, and what happens in its driver does not wake it.

#[cfg(feature = "driver")]
mod io;
#[cfg(not(feature = "driver"))]
#[path = "rest/no_io.rs"]
mod io;

#[cfg(all(test, not(loom), not(miri), feature = "net", target_os = "linux"))]
mod tests;

pub(crate) use io::Io;

use crate::sys::Mutex;
use crate::sys::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;
use std::task::Wake;
use std::time::Duration;

/// The number of no worker.
const NOBODY: usize = usize::MAX;

#[derive(Debug)]
pub(crate) struct Rest {
    pub(crate) io: Io,
    /// The number of the worker that its driver is lent to, or `NOBODY`. Written by the worker itself.
    keeper: AtomicUsize,
    loan: Mutex<Option<io::Loan>>,
    /// Another worker has gone to rest and lent it its driver.
    relieved: AtomicBool,
}

impl Rest {
    pub(crate) fn new(io: Io) -> Rest {
        Rest {
            io,
            keeper: AtomicUsize::new(NOBODY),
            loan: Mutex::new(None),
            relieved: AtomicBool::new(false),
        }
    }

    /// Sleeps until there is a token, which it takes, or the timeout; or for no reason. In a driver
    /// it also wakes those whose I/O is ready.
    pub(crate) fn park(&self, timeout: Option<Duration>) {
        // Before it looks at the kernel, as its driver would do even so.
        if self.take_token() {
            return;
        }
        match self.io.in_use() {
            Some(driver) if self.is_lent() => drop(driver.park_away(timeout)),
            Some(driver) => io::park(&driver, timeout),
            None => drop(self.io.parker.park(timeout)),
        }
    }

    /// Has the worker lent its driver?
    #[inline]
    pub(crate) fn is_lent(&self) -> bool {
        self.keeper().is_some()
    }

    /// The number of the worker that looks after its driver, if it is lent.
    #[inline]
    pub(crate) fn keeper(&self) -> Option<usize> {
        Some(self.keeper.load(Ordering::Relaxed)).filter(|&keeper| keeper != NOBODY)
    }

    /// Does it look after others' drivers?
    #[inline]
    pub(crate) fn keeps_others(&self) -> bool {
        self.io.made().is_some_and(|driver| driver.keeps_others())
    }

    /// Lends the driver to the worker of that number, which has I/O of its own. False if that cannot be: then
    /// it goes on looking after it itself. For the worker itself; neither of them may be lent already.
    pub(crate) fn lend(&self, keeper: &Rest, number: usize) -> bool {
        let (Some(driver), Some(other)) = (self.io.made(), keeper.io.in_use()) else {
            return false;
        };
        let Some(loan) = io::lend(&driver, &other) else {
            return false;
        };
        *self.loan.lock() = Some(loan);
        self.keeper.store(number, Ordering::Relaxed);
        keeper.relieved.store(true, Ordering::Relaxed);
        // Its own last source may have gone just now, and it to sleep on its word.
        keeper.unpark();
        true
    }

    /// Ends the loan. For the worker itself.
    pub(crate) fn take_back(&self) {
        *self.loan.lock() = None;
        self.keeper.store(NOBODY, Ordering::Relaxed);
    }

    /// Has another worker gone to rest since the last call?
    #[inline]
    pub(crate) fn was_relieved(&self) -> bool {
        self.relieved.load(Ordering::Relaxed) && self.relieved.swap(false, Ordering::Relaxed)
    }

    /// Leaves a token: the sleep under way, or the next one, ends at once.
    pub(crate) fn unpark(&self) {
        if self.io.parker.notify() {
            // It had the driver when it began to wait in it: what it had seen then is seen here.
            if let Some(driver) = self.io.made() {
                driver.ring_bell();
            }
        }
    }

    /// Would `park` return at once?
    pub(crate) fn is_notified(&self) -> bool {
        self.io.parker.is_notified()
    }

    /// Takes the token, if there is one. Returns whether there was.
    pub(crate) fn take_token(&self) -> bool {
        self.io.parker.park(Some(Duration::ZERO))
    }

    /// Was there ever I/O? If there is none now, another worker may have taken it over.
    pub(crate) fn had_io(&self) -> bool {
        self.io.was_made()
    }

    /// Is there I/O to look after?
    #[inline]
    pub(crate) fn has_io(&self) -> bool {
        self.io.in_use().is_some()
    }

    /// Wakes those whose I/O is ready, without waiting. For the worker itself.
    pub(crate) fn turn(&self) {
        if let Some(driver) = self.io.in_use() {
            io::turn(&driver);
        }
    }

    /// The same for a worker that is stuck in a poll, from another thread.
    pub(crate) fn turn_for_the_stuck(&self) {
        if let Some(driver) = self.io.in_use() {
            io::adopt(&driver);
        }
    }

    /// The worker goes, and may not come back: nothing stays behind that was to be handed to the kernel.
    pub(crate) fn depart(&self) {
        if let Some(driver) = self.io.made() {
            io::depart(&driver);
        }
    }
}

/// What the worker's timers know of it.
impl Wake for Rest {
    fn wake(self: Arc<Self>) {
        self.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.unpark();
    }
}
