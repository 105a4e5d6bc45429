//! What others than the owner in its park hand to the kernel.
//!
//! What is queued waits for the owner, who comes by in every turn. Where somebody relies on it being with the
//! kernel it is handed over right there: an operation whose future goes must not take bytes that arrive from then
//! on, and an owner that departs may never come back.

use crate::driver::{By, Driver};
use crate::sys::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::uring::Ring;

/// Who looks after a driver.
#[derive(Debug, Default)]
pub(crate) struct Attendance {
    /// The thread that did so last; 0 before the first.
    thread: AtomicUsize,
    /// It has gone and did not say when it comes back.
    departed: AtomicBool,
}

thread_local! {
    /// Its address tells a thread from others that live.
    static HERE: u8 = const { 0 };
}

fn here() -> usize {
    // 0 while the thread ends: then it is nobody.
    HERE.try_with(|here| std::ptr::from_ref(here).addr())
        .unwrap_or(0)
}

impl Attendance {
    /// This thread does now.
    #[inline]
    pub(crate) fn attend(&self) {
        self.thread.store(here(), Ordering::Relaxed);
        if self.departed.load(Ordering::Relaxed) {
            self.departed.store(false, Ordering::Relaxed);
        }
    }

    /// As who this thread hands over. A guess that is wrong costs operations that go on a new beginning.
    pub(crate) fn by(&self) -> By {
        let here = here();
        if here != 0 && self.thread.load(Ordering::Relaxed) == here {
            By::Keeper
        } else {
            By::Helper
        }
    }

    #[allow(dead_code, reason = "used where there is a ring")]
    pub(crate) fn is_departed(&self) -> bool {
        self.departed.load(Ordering::Acquire)
    }
}

impl Driver {
    /// The owner goes, and may not come back: what is queued is handed to the kernel, and what has happened to
    /// operations is handled. Until somebody parks or takes a turn again, whoever drops an operation waits a
    /// moment for the kernel to let go of it.
    ///
    /// # Examples
    /// ```
    /// use tress_driver::{Config, Driver};
    ///
    /// let driver = Driver::new(&Config::new())?;
    /// driver.turn()?;
    /// driver.depart();
    /// # std::io::Result::Ok(())
    /// ```
    pub fn depart(&self) {
        let Some(ring) = &self.ring else {
            return;
        };
        self.attendance.departed.store(true, Ordering::Release);
        if ring.in_flight() != 0 {
            self.hand_over(ring, false);
        }
    }

    /// Hands over what is queued and handles the results that are there, on whatever thread. `was_asleep`: the
    /// owner would not have come by itself for what was queued. No lock may be held.
    pub(crate) fn hand_over(&self, ring: &Ring, was_asleep: bool) {
        let by = self.attendance.by();
        let mut wakers = self.spare_wakers();
        let mut is_asleep = was_asleep;
        let mut is_refused = !matches!(ring.flush(by), Ok(true));
        let mut is_queued = false;
        ring.reap(&mut wakers, || {
            is_queued = true;
            is_asleep |= self.is_asleep();
        });
        if is_queued {
            is_refused = !matches!(ring.flush(by), Ok(true));
        }
        if is_refused && is_asleep {
            // It tries again until the kernel takes it.
            self.summon();
        }
        self.tell_who_drains();
        self.wake(wakers);
    }
}
