//! A thread off the hot path that notices when a poll takes too long, so that it harms only itself.
//!
//! While some worker is awake the monitor looks at each of them every few milliseconds. A worker that is awake but
//! has not begun a poll since the last look is stuck in one. The monitor then gives what it sits on to others: the
//! task in its LIFO slot goes to the global queue, its I/O is looked after and its due timers are fired from here,
//! and a worker is woken if there is anything to steal.
//!
//! While all workers are parked the monitor sleeps without a timeout. A worker that wakes up only sets the monitor's
//! alarm. When that goes off the monitor's thread runs, and keeps running if the worker is still awake. No protocol
//! depends on it: it only bounds the harm that a misbehaving poll does.
//!
//! If slow polls are to be reported, the monitor does that too, and then a current-thread runtime has one as well.

use super::multi::Multi;
use super::slow_poll::{Detector, SlowPolls};
use crate::runtime::Shared;
use crate::sys::atomic::Ordering;
use crate::sys::plain::AtomicBool;
use crate::sys::{Ticker, clock, full_fence, thread};
use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Time between two looks.
// D-SCHED-09
const PERIOD: Duration = Duration::from_millis(5);
/// Stack sizes: to look around; and to resolve symbols and run a user's function too.
const STACK: usize = 64 * 1024;
const STACK_TO_TELL: usize = 2 * 1024 * 1024;

pub(crate) struct Monitor {
    ticker: Arc<Ticker>,
    started: AtomicBool,
    /// The monitor waits without an alarm: a worker that wakes up must set one.
    asleep: Arc<AtomicBool>,
    stopped: Arc<AtomicBool>,
    period: Duration,
    stack_size: usize,
}

impl Monitor {
    pub(super) fn new(slow_polls: Option<&SlowPolls>) -> io::Result<Monitor> {
        Ok(Monitor {
            period: slow_polls.map_or(PERIOD, |slow| slow.period().min(PERIOD)),
            stack_size: slow_polls.map_or(STACK, |_| STACK_TO_TELL),
            ticker: Arc::new(Ticker::new()?),
            started: AtomicBool::new(false),
            asleep: Arc::new(AtomicBool::new(false)),
            stopped: Arc::new(AtomicBool::new(false)),
        })
    }

    /// Starts the thread with the first worker. The runtime works without it, but then a stuck poll also holds up
    /// what its worker sits on.
    pub(super) fn start(&self, shared: &Arc<Shared>) {
        if self.started.swap(true, Ordering::AcqRel) {
            return self.watch();
        }
        let watch = Watch {
            ticker: self.ticker.clone(),
            asleep: self.asleep.clone(),
            stopped: self.stopped.clone(),
            shared: Arc::downgrade(shared),
            period: self.period,
        };
        self.ticker.arm(self.period);
        let spawned = thread::Builder::new("tress-monitor".into())
            .stack_size(self.stack_size)
            .spawn(move || watch.run());
        if spawned.is_err() {
            // The next worker to start tries again.
            self.started.store(false, Ordering::Release);
        }
    }

    /// Notes that a worker is awake.
    #[inline]
    pub(super) fn watch(&self) {
        // Pairs with the monitor's fence: it marks itself asleep and then looks at the workers once more, while we
        // left the parked set first and then look whether it sleeps.
        full_fence();
        if self.asleep.load(Ordering::Relaxed) && self.asleep.swap(false, Ordering::AcqRel) {
            self.ticker.arm(self.period);
        }
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.ticker.arm(Duration::ZERO);
    }
}

struct Watch {
    ticker: Arc<Ticker>,
    asleep: Arc<AtomicBool>,
    stopped: Arc<AtomicBool>,
    /// Weak: a runtime that is dropped must not wait for its monitor.
    shared: Weak<Shared>,
    period: Duration,
}

impl Watch {
    fn run(self) {
        let mut polled = Vec::new();
        let mut detector = None;
        let mut last = None;
        loop {
            self.ticker.wait();
            let Some(shared) = self.shared.upgrade() else {
                return;
            };
            if self.stopped.load(Ordering::Acquire) {
                return;
            }
            if shared.scheduler.all_are_asleep() {
                polled.clear();
                self.asleep.store(true, Ordering::Release);
                full_fence();
                if shared.scheduler.all_are_asleep() && !self.stopped.load(Ordering::Acquire) {
                    continue;
                }
                if !self.asleep.swap(false, Ordering::AcqRel) {
                    // A worker has set the alarm already.
                    continue;
                }
            } else {
                if let Some(config) = &shared.config().slow_polls {
                    let detector = detector.get_or_insert_with(|| Detector::new(config.clone()));
                    tell_of_slow_polls(&shared, detector);
                }
                let now = clock::now();
                // Slow polls may have to be noticed earlier than it is worth helping them.
                if last.is_none_or(|last| now - last >= PERIOD) {
                    last = Some(now);
                    shared.scheduler.look_after_the_stuck(&mut polled);
                }
            }
            self.ticker.arm(self.period);
        }
    }
}

fn tell_of_slow_polls(shared: &Shared, detector: &mut Detector) {
    for worker in 0..shared.scheduler.workers() {
        let polled = shared.scheduler.station(worker).stats.polled.get();
        detector.look(shared, worker, polled);
    }
}

/// Compares each worker's progress with the last look.
pub(super) fn look(multi: &Multi, polled: &mut Vec<Option<u64>>) {
    polled.resize(multi.remotes.len(), None);
    let mut stuck = false;
    for (index, remote) in multi.remotes.iter().enumerate() {
        let now = (!multi.idle.is_parked(index)).then(|| remote.stats.polled.get());
        let before = std::mem::replace(&mut polled[index], now);
        if now.is_none() || now != before {
            continue;
        }
        stuck = true;
        remote.stats.slow_polls.bump();
        if multi.remotes.len() > 1 {
            if let Some(task) = remote.lifo.take() {
                multi.inject.push(task);
            }
        }
        remote.rest.turn_for_the_stuck();
        remote
            .timers
            .fire(clock::now(), &multi.monitor_timers_fired);
    }
    if stuck {
        let work = !multi.inject.is_empty() || multi.remotes.iter().any(|r| !r.steal.is_empty());
        if work {
            multi.notify();
        }
    }
}
