//! What one of the pool's threads does.

use super::state::Seat;
use super::{Inner, Job, Locked, SERVING, join};
use crate::sys::atomic::Ordering;
use crate::sys::{Arc, Parker, clock, guarded, thread};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Looks at the signal between two looks at the clock: a few hundred nanoseconds.
const LOOKS_PER_CLOCK: u32 = 16;
/// How long a spinner keeps its CPU to itself. Afterwards it yields at every look at the clock: with more threads
/// than CPUs, one of them may be just what it is waiting for.
const TIGHT: Duration = Duration::from_micros(2);
/// How many of the last four waits must have been short for a thread to spin.
const SHORT_WAITS_TO_SPIN: u32 = 2;
/// Number of waits in which a thread does not spin after it lost its CPU while spinning. A parked thread is scheduled
/// at once when it is called; one that spun away its share of the CPU is not.
const WAITS_TO_SIT_OUT: u8 = 32;

/// Why a thread looks at the queue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    /// It has run a job.
    Work,
    /// It was spinning; true if it saw something before its window was over.
    Spin(bool),
    /// It has been woken, or has just been started.
    Call,
    /// It has been parked without a job for as long as it may.
    Timeout,
}

/// What a thread does next.
enum Step<J> {
    Run(J),
    Spin,
    Park,
    /// Its seat was taken off the list before it could leave: the token is about to come.
    AwaitToken,
    Leave,
}

struct Worker<'a, J: Job> {
    pool: &'a Arc<Inner<J>>,
    seat: Arc<Seat>,
    habit: Habit,
    /// Since when the thread has had no job.
    idle_since: Option<Instant>,
}

/// The life of a thread, from its first line to its last.
pub(super) fn live<J: Job>(pool: &Arc<Inner<J>>, id: u64) {
    SERVING.with(|serving| serving.set((pool.address(), id)));
    let seat = Seat {
        id,
        parker: Parker::new(),
    };
    let mut worker = Worker {
        pool,
        seat: Arc::new(seat),
        habit: Habit::new(),
        idle_since: None,
    };
    // Before any hook, which may take its time: the next thread is fetched from here.
    let mut state = pool.lock();
    state.arrive(id);
    let first = worker.take_job(state).ok();

    pool.config.on_start.as_deref().map(guarded);
    worker.work(first);
    pool.config.on_stop.as_deref().map(guarded);

    let previous = pool.lock().retire(id);
    join(previous);
}

impl<'a, J: Job> Worker<'a, J> {
    /// Runs jobs until it is time to leave.
    fn work(&mut self, first: Option<J>) {
        let mut step = match first {
            Some(job) => Step::Run(job),
            None => self.look(After::Call),
        };
        loop {
            let after = match step {
                Step::Run(job) => {
                    guarded(|| job.run());
                    After::Work
                }
                Step::Spin => self.spin(),
                Step::Park => self.park(),
                Step::AwaitToken => {
                    while !self.seat.parker.park(None) {}
                    After::Call
                }
                Step::Leave => return,
            };
            step = self.look(after);
        }
    }

    /// Looks at the queue, and decides what to do next: rules 2 and 3 of the protocol.
    fn look(&mut self, after: After) -> Step<J> {
        let mut state = self.pool.lock();
        let mut wait_ended = None;
        match after {
            After::Work => {}
            After::Spin(_) => state.spinning = false,
            After::Call => wait_ended = state.arrive(self.seat.id),
            After::Timeout => {
                // The seats that parked first are at the bottom, and their time is up first.
                let mut seats = state.parked.iter();
                let Some(index) = seats.position(|seat| Arc::ptr_eq(seat, &self.seat)) else {
                    return Step::AwaitToken;
                };
                state.parked.remove(index);
            }
        }
        let mut state = match self.take_job(state) {
            Ok(job) => {
                if let Some(since) = self.idle_since.take() {
                    let short = wait_ended.is_some_and(|end| end - since < self.spin_window());
                    self.habit.note(after == After::Spin(true) || short);
                }
                return Step::Run(job);
            }
            Err(state) => state,
        };
        if state.closed || after == After::Timeout {
            state.threads -= 1;
            if state.threads == 0 {
                // The pool may be idle for long; the memory of a burst should not stay.
                state.queue = VecDeque::new();
            }
            return Step::Leave;
        }
        // A thread that came for nothing does not spin: another one is running the jobs.
        if after == After::Work && !state.spinning && self.may_spin() {
            state.spinning = true;
            return Step::Spin;
        }
        state.parked.push(self.seat.clone());
        Step::Park
    }

    /// Takes a job if there is one, and fetches the next thread if there are more.
    // D-BLOCK-01
    fn take_job(&self, mut state: Locked<'a, J>) -> Result<J, Locked<'a, J>> {
        let Some(job) = state.queue.pop_front() else {
            return Err(state);
        };
        let summons = state.summon(self.pool.config.max_threads);
        drop(state);
        let fetched = Inner::fulfil(self.pool, summons);
        debug_assert!(
            fetched.is_ok(),
            "while this thread lives, no job is without one"
        );
        Ok(job)
    }

    fn may_spin(&self) -> bool {
        !self.spin_window().is_zero() && self.habit.suggests_to_spin()
    }

    fn spin_window(&self) -> Duration {
        self.pool.config.spin
    }

    /// Watches the signal until it changes or the window is over.
    fn spin(&mut self) -> After {
        let since = *self.idle_since.get_or_insert_with(clock::now);
        let looks = looks_per_clock();
        loop {
            for _ in 0..looks {
                if self.pool.signal.load(Ordering::Relaxed) != 0 {
                    return After::Spin(true);
                }
                if cfg!(loom) {
                    // The model has no clock: there, one look is the window.
                    return After::Spin(false);
                }
                std::hint::spin_loop();
            }
            let mut elapsed = clock::elapsed(since);
            if elapsed >= TIGHT {
                thread::yield_now();
                elapsed = clock::elapsed(since);
            }
            if elapsed >= self.spin_window() {
                if elapsed >= self.spin_window().saturating_mul(2) {
                    self.habit.sit_out();
                }
                return After::Spin(false);
            }
        }
    }

    /// Parks until called or until the keep-alive is over.
    fn park(&mut self) -> After {
        let since = *self.idle_since.get_or_insert_with(clock::now);
        // A deadline beyond what the clock can express is no deadline.
        let deadline = since.checked_add(self.pool.config.keep_alive);
        loop {
            let left = deadline.map(|d| d.saturating_duration_since(clock::now()));
            if self.seat.parker.park(left) {
                return After::Call;
            }
            if left == Some(Duration::ZERO) {
                return After::Timeout;
            }
        }
    }
}

/// Returns how often to look at the signal between two looks at the clock. In a simulation nothing changes in between, since no
/// other thread runs.
fn looks_per_clock() -> u32 {
    #[cfg(feature = "sim")]
    if crate::sys::sim::is_decided() {
        return 1;
    }
    LOOKS_PER_CLOCK
}

/// Whether spinning has paid for a thread lately.
struct Habit {
    /// Whether the last four waits were short, the latest in the lowest bit.
    waits: u8,
    sitting_out: u8,
}

impl Habit {
    /// Begins by spinning, until the thread's waits teach it otherwise.
    fn new() -> Habit {
        Habit {
            waits: 0b1111,
            sitting_out: 0,
        }
    }

    fn note(&mut self, short: bool) {
        self.waits = (self.waits << 1 | u8::from(short)) & 0b1111;
        self.sitting_out = self.sitting_out.saturating_sub(1);
    }

    fn sit_out(&mut self) {
        self.sitting_out = WAITS_TO_SIT_OUT;
    }

    fn suggests_to_spin(&self) -> bool {
        let spins = self.sitting_out == 0 && self.waits.count_ones() >= SHORT_WAITS_TO_SPIN;
        // The model must not depend on the clock.
        spins || cfg!(loom)
    }
}
