//! Whether others want the core that this thread runs on.
//!
//! A thread that spins takes time from whoever else could have run there, which may be the very one
//! that it waits for. So spinning is for machines with cores to spare. Whether there are any shows in
//! how long this thread, while it is awake, has to wait for a core: the time that passes is more than
//! the CPU time that it gets.
//!
//! Once it has found so it stays away from spinning for a while, and for longer each time that a new
//! attempt finds the same, because a thread that does not spin has less to wait for.

use crate::sys::thread_cpu_time;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// The time awake that is looked at.
const SAMPLE: Duration = Duration::from_millis(5);
/// The share of it, one in so many, that a thread may wait for a core.
const WAITING: u32 = 8;
/// How long a crowd is believed to stay, the first time and at most.
const FIRST: Duration = Duration::from_millis(40);
/// Each time so many times as long.
const LONGER: u32 = 4;
const LONGEST: Duration = Duration::from_millis(640);

pub(crate) struct Crowd {
    /// When the sample under way began, and the CPU time until then.
    since: Cell<Instant>,
    cpu: Cell<Option<Duration>>,
    /// Time asleep since then.
    slept: Cell<Duration>,
    /// Crowded until then.
    until: Cell<Option<Instant>>,
    /// How long the next crowd will be believed to stay.
    stays: Cell<Duration>,
}

impl Crowd {
    pub(crate) fn new() -> Crowd {
        Crowd {
            since: Cell::new(Instant::now()),
            cpu: Cell::new(None),
            slept: Cell::new(Duration::ZERO),
            until: Cell::new(None),
            stays: Cell::new(FIRST),
        }
    }

    /// The thread has slept.
    pub(crate) fn slept(&self, duration: Duration) {
        self.slept.set(self.slept.get() + duration);
    }

    /// Do others want the core?
    #[inline]
    pub(crate) fn is_crowded(&self) -> bool {
        self.until.get().is_some()
    }

    /// Finds out, now and then, whether others want the core.
    pub(crate) fn look(&self, now: Instant) {
        self.look_with(now, thread_cpu_time);
    }

    fn look_with(&self, now: Instant, clock: impl Fn() -> Option<Duration>) {
        if let Some(until) = self.until.get() {
            if now >= until {
                self.until.set(None);
                self.begin(now, clock());
            }
            return;
        }
        let awake = (now - self.since.get()).saturating_sub(self.slept.get());
        if awake < SAMPLE {
            return;
        }
        let (before, cpu) = (self.cpu.get(), clock());
        self.begin(now, cpu);
        let (Some(before), Some(cpu)) = (before, cpu) else {
            return;
        };
        let waited = awake.saturating_sub(cpu.saturating_sub(before));
        if waited > awake / WAITING {
            let stays = self.stays.get();
            self.until.set(Some(now + stays));
            self.stays.set((stays * LONGER).min(LONGEST));
        } else {
            self.stays.set(FIRST);
        }
    }

    fn begin(&self, now: Instant, cpu: Option<Duration>) {
        self.since.set(now);
        self.cpu.set(cpu);
        self.slept.set(Duration::ZERO);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Plays time and CPU time to a `Crowd`.
    struct Play {
        crowd: Crowd,
        now: Instant,
        cpu: Duration,
    }

    impl Play {
        fn new() -> Play {
            let mut play = Play {
                crowd: Crowd::new(),
                now: Instant::now(),
                cpu: Duration::ZERO,
            };
            // The first sample only sets the clocks.
            assert!(!play.after(SAMPLE, SAMPLE));
            play
        }

        /// So much time passes, in which the thread has a core for `cpu`.
        fn after(&mut self, time: Duration, cpu: Duration) -> bool {
            self.now += time;
            self.cpu += cpu;
            let cpu = self.cpu;
            self.crowd.look_with(self.now, || Some(cpu));
            self.crowd.is_crowded()
        }
    }

    #[test]
    fn a_thread_that_gets_what_it_wants_is_alone() {
        let mut play = Play::new();
        for _ in 0..10 {
            assert!(!play.after(SAMPLE, SAMPLE));
        }
    }

    #[test]
    fn sleeping_is_not_waiting_for_a_core() {
        let mut play = Play::new();
        for _ in 0..10 {
            play.crowd.slept(SAMPLE * 9);
            assert!(!play.after(SAMPLE * 10, SAMPLE));
        }
    }

    #[test]
    fn waiting_for_a_core_is_a_crowd_for_longer_each_time() {
        let mut play = Play::new();
        let mut stays = FIRST;
        for _ in 0..3 {
            assert!(play.after(SAMPLE, SAMPLE / 2));
            assert!(play.after(stays - SAMPLE, SAMPLE));
            assert!(!play.after(SAMPLE, SAMPLE), "a new attempt");
            stays = (stays * LONGER).min(LONGEST);
        }
        assert!(!play.after(SAMPLE, SAMPLE));
        assert!(play.after(SAMPLE, SAMPLE / 2));
        assert!(
            !play.after(FIRST, SAMPLE),
            "the attempt before was a success"
        );
    }

    #[test]
    fn a_clock_that_says_nothing_is_no_crowd() {
        let crowd = Crowd::new();
        let mut now = Instant::now();
        for _ in 0..10 {
            now += SAMPLE;
            crowd.look_with(now, || None);
            assert!(!crowd.is_crowded());
        }
    }
}
