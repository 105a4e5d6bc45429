//! Which workers sleep, and how many look for work.
//!
//! One bit per worker says that it is parked, or about to be, and may be claimed by a thread that has work for it. A
//! second word counts the parked and the searching workers. A bit changes by `fetch_or` / `fetch_and`, and the thread
//! whose operation changed it adjusts the counts: every decision is made on the value that a read-modify-write
//! returned. `README.md` in this folder describes the protocol and why it loses no wake-up.

use crate::sys::atomic::{AtomicU64, Ordering};
use crate::sys::{CachePadded, full_fence};

pub(crate) struct IdleSet {
    counts: CachePadded<AtomicU64>,
    parked: Box<[AtomicU64]>,
    workers: usize,
}

const SEARCHING: u64 = 1 << 32;
const PARKED: u64 = 1;

/// Signed: a worker that wakes up for another reason while it is being claimed may stop searching before its claimer
/// has counted it. The number is then too low for a moment, never too high, and too low only causes one look or
/// wake-up more than needed.
fn searching(counts: u64) -> i32 {
    (counts >> 32) as i32
}

fn parked(counts: u64) -> usize {
    counts as u32 as usize
}

/// How a worker came out of the parked set.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unparked {
    /// Another thread claimed it to look for work: it is counted as searching.
    Claimed,
    /// It took itself out.
    ByItself,
}

impl IdleSet {
    /// Creates a set in which all workers are parked: their threads do not exist yet, and are started when claimed.
    pub(crate) fn all_parked(workers: usize) -> IdleSet {
        let words = (0..workers.div_ceil(64))
            .map(|word| {
                let here = (workers - word * 64).min(64);
                AtomicU64::new(u64::MAX >> (64 - here))
            })
            .collect();
        IdleSet {
            counts: CachePadded::new(AtomicU64::new(workers as u64 * PARKED)),
            parked: words,
            workers,
        }
    }

    /// Claims a worker to wake for work that was just made visible, unless another one will see it.
    ///
    /// The fence makes this a Dekker pair with the one in `park`: either we see the worker's bit or it sees our work.
    #[inline]
    pub(crate) fn claim_for_work(&self) -> Option<usize> {
        full_fence();
        let counts = self.counts.load(Ordering::Relaxed);
        if searching(counts) > 0 || parked(counts) == 0 {
            return None;
        }
        self.claim()
    }

    /// As [`claim_for_work`](IdleSet::claim_for_work), but only if no worker is awake: an awake one looks at every
    /// queue before it parks.
    #[inline]
    pub(crate) fn claim_if_none_is_awake(&self) -> Option<usize> {
        full_fence();
        if parked(self.counts.load(Ordering::Relaxed)) < self.workers {
            return None;
        }
        self.claim()
    }

    #[cold]
    fn claim(&self) -> Option<usize> {
        for (w, word) in self.parked.iter().enumerate() {
            let mut bits = word.load(Ordering::Relaxed);
            while bits != 0 {
                let bit = bits.trailing_zeros();
                let mask = 1 << bit;
                let before = word.fetch_and(!mask, Ordering::AcqRel);
                if before & mask != 0 {
                    self.counts
                        .fetch_add(SEARCHING.wrapping_sub(PARKED), Ordering::AcqRel);
                    return Some(w * 64 + bit as usize);
                }
                bits = before & !mask;
            }
        }
        None
    }

    /// Returns whether a worker is looking for work, or on its way to.
    #[cfg(all(feature = "coroutine", unix, not(loom)))]
    pub(crate) fn is_searching(&self) -> bool {
        searching(self.counts.load(Ordering::Relaxed)) > 0
    }

    /// Lets a worker search unless half of them already do.
    pub(crate) fn try_search(&self) -> bool {
        let counts = self.counts.load(Ordering::Relaxed);
        if 2 * i64::from(searching(counts)) >= self.workers as i64 {
            return false;
        }
        // Not atomic with the test: the cap is a heuristic and may be exceeded for a moment.
        self.counts.fetch_add(SEARCHING, Ordering::AcqRel);
        true
    }

    /// Notes that a searcher found work. Returns true if it was the last one: it must then look for more work for
    /// which no worker was woken because it was searching. Includes the fence for that look.
    pub(crate) fn stop_searching(&self) -> bool {
        let last = searching(self.counts.fetch_sub(SEARCHING, Ordering::AcqRel)) <= 1;
        if last {
            full_fence();
        }
        last
    }

    /// Publishes that a worker is about to park. It must look at every queue after this.
    pub(crate) fn park(&self, worker: usize, was_searching: bool) {
        let (word, mask) = self.bit(worker);
        let before = word.fetch_or(mask, Ordering::AcqRel);
        assert!(before & mask == 0, "a worker that is parked parks again");
        let change = if was_searching {
            PARKED.wrapping_sub(SEARCHING)
        } else {
            PARKED
        };
        self.counts.fetch_add(change, Ordering::AcqRel);
        full_fence();
    }

    /// Notes that a worker woke up, or found work after `park`.
    pub(crate) fn unpark(&self, worker: usize) -> Unparked {
        let (word, mask) = self.bit(worker);
        if word.fetch_and(!mask, Ordering::AcqRel) & mask == 0 {
            return Unparked::Claimed;
        }
        self.counts.fetch_sub(PARKED, Ordering::AcqRel);
        Unparked::ByItself
    }

    /// Takes a worker out of the parked set to start or wake it for a reason of its own. Returns true if it was in
    /// the set; it then counts as searching.
    pub(crate) fn claim_worker(&self, worker: usize) -> bool {
        let (word, mask) = self.bit(worker);
        let claimed = word.fetch_and(!mask, Ordering::AcqRel) & mask != 0;
        if claimed {
            self.counts
                .fetch_add(SEARCHING.wrapping_sub(PARKED), Ordering::AcqRel);
        }
        claimed
    }

    /// Puts a claimed worker that cannot run back, and claims one that can instead. Threads that saw the first one
    /// searching woke no worker and rely on it.
    ///
    /// It goes back first, with a fence, and then the others are looked at. A thread that relied on it made its work
    /// visible before that. So a worker that has not published its park by then sees the work when it does; one that
    /// has published it is claimed here.
    pub(crate) fn replace(&self, worker: usize, can_run: impl Fn(usize) -> bool) -> Option<usize> {
        self.park(worker, true);
        (0..self.workers).find(|&other| can_run(other) && self.claim_worker(other))
    }

    /// Claims the one worker that may run a task which was just made visible to it. Returns false if it is awake: it
    /// looks at its mail after it has published its park. The fence is the other half.
    pub(crate) fn claim_for_mail(&self, worker: usize) -> bool {
        full_fence();
        self.is_parked(worker) && self.claim_worker(worker)
    }

    pub(crate) fn is_parked(&self, worker: usize) -> bool {
        let (word, mask) = self.bit(worker);
        word.load(Ordering::Relaxed) & mask != 0
    }

    pub(crate) fn all_are_parked(&self) -> bool {
        parked(self.counts.load(Ordering::Relaxed)) == self.workers
    }

    #[cfg(all(test, loom))]
    pub(crate) fn num_searching(&self) -> i32 {
        searching(self.counts.load(Ordering::Relaxed))
    }

    fn bit(&self, worker: usize) -> (&AtomicU64, u64) {
        (&self.parked[worker / 64], 1 << (worker % 64))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn claims_lowest_first_and_each_once() {
        let idle = IdleSet::all_parked(200);
        assert!(idle.all_are_parked());
        for i in 0..200 {
            assert_eq!(idle.claim_for_work(), Some(i));
            // While it searches no other is claimed.
            assert_eq!(idle.claim_for_work(), None);
            assert!(idle.stop_searching());
        }
        assert_eq!(idle.claim_for_work(), None);
        assert!(!idle.all_are_parked());
        idle.park(137, false);
        assert!(idle.is_parked(137) && !idle.is_parked(136));
        assert_eq!(idle.claim_for_work(), Some(137));
        assert_eq!(idle.unpark(137), Unparked::Claimed);
        assert!(idle.stop_searching());
        idle.park(199, false);
        assert_eq!(idle.unpark(199), Unparked::ByItself);
        assert_eq!(idle.claim_for_work(), None);
    }

    #[test]
    fn one_that_is_awake_is_enough_where_so_asked() {
        let idle = IdleSet::all_parked(3);
        assert_eq!(idle.claim_if_none_is_awake(), Some(0));
        assert!(idle.stop_searching());
        assert_eq!(idle.claim_if_none_is_awake(), None);
        idle.park(0, false);
        assert_eq!(idle.claim_if_none_is_awake(), Some(0));
    }

    #[test]
    fn one_that_cannot_run_is_replaced_by_one_that_can() {
        let idle = IdleSet::all_parked(4);
        let can_run = |worker| worker >= 2;
        assert_eq!(idle.claim_for_work(), Some(0));
        assert_eq!(idle.replace(0, can_run), Some(2));
        assert!(idle.is_parked(0) && !idle.is_parked(2) && idle.is_parked(3));
        // It searches now, so no other is claimed.
        assert_eq!(idle.claim_for_work(), None);
        assert!(idle.claim_worker(1));
        assert_eq!(idle.replace(1, can_run), Some(3));
        assert!(idle.claim_worker(1));
        assert_eq!(idle.replace(1, can_run), None);
        assert!(!idle.stop_searching() && idle.stop_searching());
        assert_eq!(idle.claim_for_work(), Some(0));
    }

    #[test]
    fn at_most_half_search() {
        let idle = IdleSet::all_parked(4);
        for i in 0..4 {
            assert!(idle.claim_worker(i));
            idle.stop_searching();
        }
        assert!(idle.try_search());
        assert!(idle.try_search());
        assert!(!idle.try_search());
        idle.park(0, true);
        assert!(idle.try_search());
    }

    #[test]
    fn sixty_four_workers_fill_one_word() {
        for n in [1, 63, 64, 65, 128] {
            let idle = IdleSet::all_parked(n);
            let mut claimed = 0;
            while idle.claim_for_work().is_some() {
                idle.stop_searching();
                claimed += 1;
            }
            assert_eq!(claimed, n);
        }
    }
}
