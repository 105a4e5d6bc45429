//! Handing operations to the kernel outside the owner's park.
//!
//! What is queued usually waits for the owner, which hands it over in every turn. Two cases cannot wait: an
//! operation whose future is dropped must not take bytes that arrive later, and an owner that departs may never
//! come back. In both the calling thread hands over the queue itself.

use crate::driver::{By, Driver};
use crate::sys::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::uring::Ring;

/// Which thread drives a driver.
#[derive(Debug, Default)]
pub(crate) struct Attendance {
    /// The thread that drove it last; 0 before the first.
    thread: AtomicUsize,
    /// Set by a thread that has left and may not come back.
    departed: AtomicBool,
}

thread_local! {
    /// A thread-local whose address is different for every living thread.
    static HERE: u8 = const { 0 };
}

fn here() -> usize {
    // 0 while the thread exits, when it has no thread-locals any more.
    HERE.try_with(|here| std::ptr::from_ref(here).addr())
        .unwrap_or(0)
}

impl Attendance {
    /// Notes that the calling thread drives the driver now.
    #[inline]
    pub(crate) fn attend(&self) {
        self.thread.store(here(), Ordering::Relaxed);
        if self.departed.load(Ordering::Relaxed) {
            self.departed.store(false, Ordering::Relaxed);
        }
    }

    /// The role in which the calling thread hands operations over. A wrong guess costs a restart of the
    /// multishot operations among them.
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
    /// Hands over everything that is queued because the owner leaves and may not come back.
    ///
    /// Results of operations that have arrived are handled as well. Until a thread [parks](Driver::park) or
    /// takes a [turn](Driver::turn) again, dropping a submission that is under way blocks until the kernel has
    /// let go of it, for at most 200 milliseconds.
    ///
    /// Does nothing on the readiness backend. A runtime calls it when a thread leaves its `block_on`, for
    /// instance.
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

    /// Hands over what is queued and handles the results that have arrived, on any thread. `was_asleep` says
    /// that the owner would not have come by itself for what was queued. The caller must hold no lock.
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
            // The owner or the keeper tries again until the kernel takes it.
            self.summon();
        }
        self.tell_who_drains();
        self.wake(wakers);
    }
}
