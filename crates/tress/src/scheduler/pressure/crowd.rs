//! Whether other threads want the CPU that this thread runs on.
//!
//! That shows in how long this thread, when it is ready to run, has to wait for a CPU. Linux counts that; elsewhere
//! it is the time awake that is more than the CPU time, which leaves out how long it waits after it was woken.
//!
//! Once it has found so it is taken to stay so for a while, and for longer each time that a new attempt finds the
//! same, because a thread that does not spin has less to wait for. The first while is short: a process that took the
//! CPU for a few milliseconds has mostly passed by.

use crate::scheduler::turn::LONG_TICK;
use crate::sys::{ThreadTimes, clock, preemptions, thread_times};
use std::cell::Cell;
use std::time::{Duration, Instant};

/// The time awake that is looked at.
const SAMPLE: Duration = Duration::from_millis(5);
/// A thread may wait for a CPU for one eighth of it.
// D-PRES-01
const WAITING: u32 = 8;
/// How long a crowd is believed to stay, the first time.
// D-PRES-02
const FIRST: Duration = Duration::from_millis(40);
/// The factor by which that grows each time, and shrinks with each sample without a crowd.
const LONGER: u32 = 4;
/// The longest time that a crowd is believed to stay.
const LONGEST: Duration = Duration::from_millis(2560);

pub(crate) struct Crowd {
    /// When the sample under way began, and the thread's times until then.
    since: Cell<Instant>,
    before: Cell<Option<ThreadTimes>>,
    /// Time asleep since then.
    slept: Cell<Duration>,
    /// Crowded until then.
    until: Cell<Option<Instant>>,
    /// How long the next crowd will be believed to stay.
    stays: Cell<Duration>,
    /// At the last look of `on_core`: how often the thread had lost its core, and how long it had waited for
    /// one.
    preempted: Cell<Option<u64>>,
    waited: Cell<Option<Duration>>,
}

impl Crowd {
    pub(crate) fn new() -> Crowd {
        Crowd {
            since: Cell::new(clock::now()),
            before: Cell::new(None),
            slept: Cell::new(Duration::ZERO),
            until: Cell::new(None),
            stays: Cell::new(FIRST),
            preempted: Cell::new(None),
            waited: Cell::new(None),
        }
    }

    /// How long polls took that have lasted for `took` until now. From what seems long, the time in which other
    /// threads had the CPU is taken off: a worker that is kept waiting would wake others, which keep it waiting.
    ///
    /// That time may belong to an earlier stretch, if none was asked about since the last: then the result is too
    /// small, once.
    #[inline(always)]
    pub(crate) fn on_core(&self, took: Duration) -> Duration {
        if took < LONG_TICK {
            return took;
        }
        self.on_core_with(took, preemptions(), || thread_times()?.waited)
    }

    fn on_core_with(
        &self,
        took: Duration,
        preempted: Option<u64>,
        clock: impl Fn() -> Option<Duration>,
    ) -> Duration {
        if self.preempted.replace(preempted) == preempted {
            return took;
        }
        let waited = clock();
        match (self.waited.replace(waited), waited) {
            (Some(before), Some(waited)) => took.saturating_sub(waited.saturating_sub(before)),
            _ => took,
        }
    }

    /// The thread has slept.
    pub(crate) fn slept(&self, duration: Duration) {
        self.slept.set(self.slept.get() + duration);
    }

    /// Is there a CPU for a thread that only looks around?
    #[inline]
    pub(crate) fn may_spin(&self) -> bool {
        self.until.get().is_none()
    }

    /// Until when other threads are believed to want the CPU, if they do.
    pub(crate) fn rest_until(&self) -> Option<Instant> {
        self.until.get()
    }

    /// One of the other threads has gone to sleep: finds out again.
    pub(crate) fn forget(&self, now: Instant) {
        self.until.set(None);
        self.begin(now, thread_times());
    }

    /// Finds out, now and then, whether other threads want the CPU.
    pub(crate) fn look(&self, now: Instant) {
        self.look_with(now, thread_times);
    }

    fn look_with(&self, now: Instant, clock: impl Fn() -> Option<ThreadTimes>) {
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
        let (before, times) = (self.before.get(), clock());
        self.begin(now, times);
        let (Some(before), Some(times)) = (before, times) else {
            return;
        };
        let ran = times.cpu.saturating_sub(before.cpu);
        let waited = match (before.waited, times.waited) {
            (Some(before), Some(waited)) => waited.saturating_sub(before),
            _ => awake.saturating_sub(ran),
        };
        if waited > (ran + waited) / WAITING {
            let stays = self.stays.get();
            self.until.set(Some(now + stays));
            self.stays.set((stays * LONGER).min(LONGEST));
        } else {
            self.stays.set((self.stays.get() / LONGER).max(FIRST));
        }
    }

    fn begin(&self, now: Instant, times: Option<ThreadTimes>) {
        self.since.set(now);
        self.before.set(times);
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

        /// `time` passes, in which the thread has a core for `cpu`.
        fn after(&mut self, time: Duration, cpu: Duration) -> bool {
            self.now += time;
            self.cpu += cpu;
            let times = ThreadTimes {
                cpu: self.cpu,
                waited: None,
            };
            self.crowd.look_with(self.now, || Some(times));
            !self.crowd.may_spin()
        }
    }

    #[test]
    fn waiting_after_a_wake_up_counts_where_it_is_known() {
        let crowd = Crowd::new();
        let (mut now, mut cpu, mut waited) = (Instant::now(), Duration::ZERO, Duration::ZERO);
        let mut after = |more| {
            now += SAMPLE;
            cpu += SAMPLE;
            waited += more;
            let waited = Some(waited);
            crowd.look_with(now, || Some(ThreadTimes { cpu, waited }));
            !crowd.may_spin()
        };
        assert!(!after(Duration::ZERO));
        assert!(!after(SAMPLE / WAITING));
        assert!(after(SAMPLE / 4));
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
        assert_eq!(stays, LONGEST);
    }

    #[test]
    fn a_crowd_that_has_gone_is_forgotten_step_by_step() {
        let mut play = Play::new();
        play.crowd.stays.set(LONGEST);
        let mut stays = LONGEST;
        while stays > FIRST {
            assert!(!play.after(SAMPLE, SAMPLE));
            stays /= LONGER;
            assert_eq!(play.crowd.stays.get(), stays);
        }
        assert!(!play.after(SAMPLE, SAMPLE));
        assert!(play.after(SAMPLE, SAMPLE / 2));
        assert!(play.after(FIRST - SAMPLE, SAMPLE));
        assert!(!play.after(SAMPLE, SAMPLE), "no shorter than the first");
    }

    #[test]
    fn a_clock_that_says_nothing_is_no_crowd() {
        let crowd = Crowd::new();
        let mut now = Instant::now();
        for _ in 0..10 {
            now += SAMPLE;
            crowd.look_with(now, || None);
            assert!(crowd.may_spin());
        }
    }

    #[test]
    fn time_without_a_core_is_taken_off() {
        let ms = Duration::from_millis;
        let crowd = Crowd::new();
        // Nothing to compare with.
        assert_eq!(crowd.on_core_with(ms(9), Some(1), || Some(ms(70))), ms(9));
        // It kept its core.
        assert_eq!(crowd.on_core_with(ms(9), Some(1), || unreachable!()), ms(9));
        assert_eq!(crowd.on_core_with(ms(9), Some(2), || Some(ms(77))), ms(2));
        // Most of it was before.
        assert_eq!(crowd.on_core_with(ms(9), Some(4), || Some(ms(99))), ms(0));
        // Another thread, and one that nothing is known of.
        assert_eq!(crowd.on_core_with(ms(9), Some(1), || Some(ms(3))), ms(9));
        assert_eq!(crowd.on_core_with(ms(9), None, || None), ms(9));
    }
}
