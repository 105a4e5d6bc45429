//! A driver that another one's owner looks after.
//!
//! A selector is itself a descriptor that can be watched. A driver that is lent is a source of its keeper's
//! selector, watched by level: as long as there is something in it that nobody has fetched, the keeper does
//! not sleep. So a keeper that finds the lender itself at work on it may leave it alone.

use crate::driver::{By, Driver};
use crate::sys::Mutex;
use crate::sys::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::io;
use std::sync::{Arc, Weak};

/// More drivers than this one driver does not keep: each has a bit in [`Happened`].
const LIMIT: usize = u64::BITS as usize;
/// The selector's tokens for them. Keys of registrations never have this bit.
const KEPT: usize = !(usize::MAX >> 1);

/// One driver looks after another, until this is dropped. Made by [`Driver::lend`].
#[derive(Debug)]
#[must_use = "the loan ends when this is dropped"]
pub struct Loan {
    lender: Arc<Driver>,
    keeper: Arc<Driver>,
    place: usize,
}

impl Loan {
    pub(crate) fn new(lender: &Arc<Driver>, keeper: &Arc<Driver>) -> io::Result<Loan> {
        if Arc::ptr_eq(lender, keeper) || lender.kept.any() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a driver that looks after another one cannot be lent",
            ));
        }
        // Claimed first: nobody else lends it until the loan, or this attempt, is over.
        if lender.lent.swap(true, Ordering::AcqRel) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the driver is lent already: end that loan first",
            ));
        }
        let place = keeper.kept.add(lender).inspect_err(|_| {
            lender.lent.store(false, Ordering::Release);
        })?;
        // From here on dropping it undoes what was done.
        let loan = Loan {
            lender: Arc::clone(lender),
            keeper: Arc::clone(keeper),
            place,
        };
        selector::watch(&keeper.registry, &lender.registry, KEPT | place)?;
        Ok(loan)
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        selector::forget(&self.keeper.registry, &self.lender.registry);
        self.keeper.kept.remove(self.place);
        // Last: whoever lends it next finds nothing of this loan.
        self.lender.lent.store(false, Ordering::Release);
    }
}

/// The drivers that a driver looks after.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    places: Mutex<Vec<Option<Weak<Driver>>>>,
    count: AtomicUsize,
    /// Those whose ring the kernel would not take all from, as bits of [`Happened`]: nothing will happen in them
    /// that says when it would.
    debtors: AtomicU64,
}

impl Kept {
    fn add(&self, lender: &Arc<Driver>) -> io::Result<usize> {
        let mut places = self.places.lock();
        let free = places.iter().position(Option::is_none);
        let place = free.unwrap_or(places.len());
        if place == LIMIT {
            return Err(io::Error::new(
                io::ErrorKind::QuotaExceeded,
                format!("one driver looks after {LIMIT} others at most"),
            ));
        }
        if free.is_none() {
            places.push(None);
        }
        places[place] = Some(Arc::downgrade(lender));
        self.count.fetch_add(1, Ordering::AcqRel);
        Ok(place)
    }

    fn remove(&self, place: usize) {
        self.places.lock()[place] = None;
        self.count.fetch_sub(1, Ordering::AcqRel);
    }

    /// Are there any?
    pub(crate) fn any(&self) -> bool {
        self.count() != 0
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    fn get(&self, place: usize) -> Option<Arc<Driver>> {
        self.places.lock().get(place)?.as_ref()?.upgrade()
    }
}

/// Those in which something has happened.
#[derive(Debug, Default)]
pub(crate) struct Happened(u64);

impl Happened {
    /// Takes note of an event, if it is one of a kept driver.
    pub(crate) fn note(&mut self, token: mio::Token) -> bool {
        let is_kept = token.0 & KEPT != 0;
        if is_kept {
            self.0 |= 1 << (token.0 & !KEPT);
        }
        is_kept
    }

    /// Takes note of those that still have something to hand over. Returns whether there are any.
    pub(crate) fn note_debtors(&mut self, kept: &Kept) -> bool {
        if kept.debtors.load(Ordering::Relaxed) == 0 {
            return false;
        }
        self.0 |= kept.debtors.swap(0, Ordering::Relaxed);
        true
    }

    /// Takes a turn for each of them. Returns how many events that were. No lock may be held.
    pub(crate) fn turn(&mut self, kept: &Kept, by: By) -> io::Result<usize> {
        let mut events = 0;
        while self.0 != 0 {
            let place = self.0.trailing_zeros() as usize;
            self.0 &= self.0 - 1;
            if let Some(driver) = kept.get(place) {
                events += driver.turn_by(by)?.events;
                if driver.owes() {
                    // For the keeper's next look.
                    kept.debtors.fetch_or(1 << place, Ordering::Relaxed);
                }
            }
        }
        Ok(events)
    }
}

#[cfg(target_os = "linux")]
mod selector {
    use std::io;
    use std::os::fd::AsRawFd;

    /// By level, which `mio` cannot do.
    pub(super) fn watch(by: &mio::Registry, of: &mio::Registry, token: usize) -> io::Result<()> {
        let mut event = libc::epoll_event {
            events: libc::EPOLLIN as u32,
            u64: token as u64,
        };
        control(by, libc::EPOLL_CTL_ADD, of, &mut event)
    }

    pub(super) fn forget(by: &mio::Registry, of: &mio::Registry) {
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        // Fails only if it is not watched, because `watch` failed.
        let _ = control(by, libc::EPOLL_CTL_DEL, of, &mut event);
    }

    fn control(
        by: &mio::Registry,
        what: libc::c_int,
        of: &mio::Registry,
        event: &mut libc::epoll_event,
    ) -> io::Result<()> {
        // SAFETY: both are descriptors of selectors that are open while the registries live, and the event is
        // ours for the call.
        let result = unsafe { libc::epoll_ctl(by.as_raw_fd(), what, of.as_raw_fd(), event) };
        if result == -1 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }
}

#[cfg(not(target_os = "linux"))]
mod selector {
    use std::io;

    pub(super) fn watch(_: &mio::Registry, _: &mio::Registry, token: usize) -> io::Result<()> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            format!("no place {token}: drivers are lent on Linux only"),
        ))
    }

    pub(super) fn forget(_: &mio::Registry, _: &mio::Registry) {}
}
