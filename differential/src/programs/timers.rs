//! Sleeps, intervals and timeouts under a clock that is moved by hand.

use super::tokio;
use crate::world::{Fut, Out, World};
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::Notify;
use tokio::task::unconstrained;
use tokio::time::{self, Duration, Instant, Interval, MissedTickBehavior, Sleep};

type Sleeping = Rc<RefCell<Pin<Box<Sleep>>>>;
type Ticking = Rc<RefCell<Interval>>;

struct Program {
    world: World<()>,
    start: Instant,
    sleeps: Vec<Sleeping>,
    intervals: Vec<Ticking>,
    notify: Arc<Notify>,
}

pub fn run(seed: u64) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(unconstrained(async {
        let mut program = Program {
            world: World::new(seed),
            start: Instant::now(),
            sleeps: Vec::new(),
            intervals: Vec::new(),
            notify: Arc::new(Notify::new()),
        };
        let steps = 20 + program.world.rng.below(100);
        for _ in 0..steps {
            if program.world.step() {
                continue;
            }
            match program.world.rng.below(20) {
                0..5 => program.sleep(),
                5..11 => program.interval(),
                11..14 => program.timeout(),
                _ => program.advance().await,
            }
            program.world.note_wakes();
        }
        program.sleeps.clear();
        program.intervals.clear();
        program.world.finish()
    }))
}

impl Program {
    fn since(&self, instant: Instant) -> String {
        match instant.checked_duration_since(self.start) {
            Some(since) => format!("{since:?}"),
            None => format!("-{:?}", self.start - instant),
        }
    }

    /// Mostly some milliseconds, sometimes much more or none at all.
    fn duration(&mut self) -> Duration {
        let rng = &mut self.world.rng;
        match rng.below(20) {
            0..3 => Duration::ZERO,
            3..14 => Duration::from_millis(rng.below(30) as u64),
            14..18 => Duration::from_millis(rng.below(5_000) as u64),
            18 => Duration::from_secs(rng.below(10_000_000) as u64),
            _ => Duration::MAX,
        }
    }

    /// As often in the past.
    fn instant(&mut self) -> Instant {
        let by = Duration::from_millis(self.world.rng.below(40) as u64);
        match self.world.rng.below(3) {
            0 => Instant::now() - by,
            _ => Instant::now() + by,
        }
    }

    fn sleep(&mut self) {
        let sleep = match self.sleeps.len() {
            0 => None,
            len => Some(self.sleeps[self.world.rng.below(len)].clone()),
        };
        match (self.world.rng.below(9), sleep) {
            (0..4, _) | (_, None) => {
                let sleep = match self.world.rng.one_in(2) {
                    true => time::sleep(self.duration()),
                    false => time::sleep_until(self.instant()),
                };
                let sleep = Rc::new(RefCell::new(Box::pin(sleep)));
                self.sleeps.push(sleep.clone());
                let future: Fut<()> = Box::pin(async move {
                    poll_fn(|cx| sleep.borrow_mut().as_mut().poll(cx)).await;
                    Out::text("over")
                });
                self.world.start("sleep", future);
            }
            (4, Some(sleep)) => {
                // Another one that waits for the same.
                let future: Fut<()> = Box::pin(async move {
                    poll_fn(|cx| sleep.borrow_mut().as_mut().poll(cx)).await;
                    Out::text("over")
                });
                self.world.start("sleep again", future);
            }
            (5..8, Some(sleep)) => {
                let deadline = self.instant();
                sleep.borrow_mut().as_mut().reset(deadline);
                let text = self.since(deadline);
                self.world.say(format_args!("reset to {text}"));
            }
            (_, Some(sleep)) => {
                let sleep = sleep.borrow();
                // A `sleep(Duration::MAX)` ends in as many years as each side likes.
                let far = sleep.deadline() > Instant::now() + Duration::from_secs(100_000_000);
                let deadline = match far {
                    true => "far".to_string(),
                    false => self.since(sleep.deadline()),
                };
                let text = format!("{} {deadline}", sleep.is_elapsed());
                self.world.say(format_args!("look: {text}"));
            }
        }
    }

    fn interval(&mut self) {
        let interval = match self.intervals.len() {
            0 => None,
            len => Some(self.intervals[self.world.rng.below(len)].clone()),
        };
        match (self.world.rng.below(16), interval) {
            (0..3, _) | (_, None) => {
                let period = Duration::from_millis(1 + self.world.rng.below(40) as u64);
                let mut interval = match self.world.rng.one_in(2) {
                    true => time::interval(period),
                    false => time::interval_at(self.instant(), period),
                };
                interval.set_missed_tick_behavior(match self.world.rng.below(3) {
                    0 => MissedTickBehavior::Burst,
                    1 => MissedTickBehavior::Delay,
                    _ => MissedTickBehavior::Skip,
                });
                let text = format!("{period:?} {:?}", interval.missed_tick_behavior());
                self.world.say(format_args!("interval {text}"));
                self.intervals.push(Rc::new(RefCell::new(interval)));
            }
            (3..9, Some(interval)) => {
                let start = self.start;
                let future: Fut<()> = Box::pin(async move {
                    let tick = poll_fn(|cx| interval.borrow_mut().poll_tick(cx)).await;
                    match tick.checked_duration_since(start) {
                        Some(since) => Out::text(format_args!("tick of {since:?}")),
                        None => Out::text(format_args!("tick of -{:?}", start - tick)),
                    }
                });
                self.world.start("tick", future);
            }
            (9, Some(interval)) => {
                interval.borrow_mut().reset();
                self.world.say("reset");
            }
            (10, Some(interval)) => {
                interval.borrow_mut().reset_immediately();
                self.world.say("reset immediately");
            }
            (11, Some(interval)) => {
                let after = self.duration();
                interval.borrow_mut().reset_after(after);
                self.world.say(format_args!("reset after {after:?}"));
            }
            (12, Some(interval)) => {
                let at = self.instant();
                interval.borrow_mut().reset_at(at);
                let text = self.since(at);
                self.world.say(format_args!("reset at {text}"));
            }
            (_, Some(interval)) => {
                let period = interval.borrow().period();
                self.world.say(format_args!("period {period:?}"));
            }
        }
    }

    fn timeout(&mut self) {
        match self.world.rng.below(5) {
            0..2 => {
                let duration = self.duration();
                let notified = self.notify.clone().notified_owned();
                let mut timeout = Box::pin(time::timeout(duration, notified));
                // Polled now: on the facade its time counts from then.
                let waker = std::task::Waker::noop();
                let mut cx = std::task::Context::from_waker(waker);
                let first = timeout.as_mut().poll(&mut cx);
                let text = format!("timeout {duration:?}: {first:?}");
                if first.is_ready() {
                    return self.world.say(text);
                }
                let future: Fut<()> =
                    Box::pin(async move { Out::text(format_args!("{:?}", timeout.await)) });
                self.world.start(text, future);
            }
            2 => {
                let deadline = self.instant();
                let timeout = time::timeout_at(deadline, self.notify.clone().notified_owned());
                let future: Fut<()> =
                    Box::pin(async move { Out::text(format_args!("{:?}", timeout.await)) });
                let text = self.since(deadline);
                self.world.start(format_args!("timeout at {text}"), future);
            }
            3 => {
                self.notify.notify_one();
                self.world.say("notify one");
            }
            _ => {
                self.notify.notify_waiters();
                self.world.say("notify waiters");
            }
        }
    }

    async fn advance(&mut self) {
        let by = match self.world.rng.below(10) {
            0 => Duration::ZERO,
            1..8 => Duration::from_millis(self.world.rng.below(25) as u64),
            8 => Duration::from_millis(self.world.rng.below(5_000) as u64),
            _ => Duration::from_secs(self.world.rng.below(2_000_000) as u64),
        };
        time::advance(by).await;
        let now = self.since(Instant::now());
        self.world.say(format_args!("advance by {by:?}: {now}"));
    }
}
