//! Short tasks among tasks that hold a worker for a millisecond.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::case::{Case, Outcome, Plan, Target::Ratio, Wrong, expect};
use crate::meter::burn;
use crate::random::Random;
use crate::runtime::Rt;
use crate::stats::percentile;

pub fn cases<R: Rt>() -> Vec<Case> {
    vec![
        Case::new(
            "mix/hogs_open",
            "p99 us",
            "spawn-to-run time of short tasks while 1 ms hogs arrive at half the workers' capacity",
            hogs_open::<R>,
        )
        .at(2, Ratio(1.0)),
        Case::new(
            "mix/hogs_saturated",
            "p99 us",
            "the same while two 1 ms hogs per worker are runnable all the time",
            hogs_saturated::<R>,
        )
        .at(2, Ratio(1.0)),
    ]
}

/// How long a hog holds its worker.
const HOG: Duration = Duration::from_millis(1);

/// Mean time between two short tasks.
const SHORT_GAP: Duration = Duration::from_micros(250);

/// Stretches of `Plan::measure` that the arrivals last: a 99th percentile needs thousands of them.
const STRETCHES: u32 = 4;

/// The short tasks of a run.
#[derive(Default)]
struct Shorts {
    /// Nanoseconds from spawn to run, by task; 0 until it ran.
    latency: Vec<AtomicU64>,
    ran: AtomicU64,
}

async fn short(n: usize, spawned: Instant, shorts: Arc<Shorts>) {
    let latency = spawned.elapsed().as_nanos() as u64;
    shorts.latency[n].store(latency.max(1), Ordering::Release);
    shorts.ran.fetch_add(1, Ordering::AcqRel);
}

/// Poisson arrivals until `end`, in order.
fn arrivals(random: &mut Random, mean: Duration, end: Duration) -> Vec<Duration> {
    let mut at = Duration::ZERO;
    let next = || {
        at += random.gap(mean);
        (at < end).then_some(at)
    };
    std::iter::from_fn(next).collect()
}

/// Spawns the short tasks, and hogs, when they are due. Returns once all have run, with the number
/// of hogs.
fn play<R: Rt>(rt: &R, plan: &Plan, hog_gap: Option<Duration>) -> (Arc<Shorts>, u64) {
    let mut random = Random::new(3);
    let end = plan.warm_up + plan.measure * STRETCHES;
    let shorts_due = arrivals(&mut random, SHORT_GAP, end);
    let hogs_due = hog_gap
        .map(|gap| arrivals(&mut random, gap, end))
        .unwrap_or_default();
    let latency = shorts_due.iter().map(|_| AtomicU64::new(0)).collect();
    let shorts = Arc::new(Shorts {
        latency,
        ran: AtomicU64::new(0),
    });
    let hogs_ran = Arc::new(AtomicU64::new(0));
    let mut due: Vec<(Duration, Option<usize>)> = hogs_due.iter().map(|at| (*at, None)).collect();
    due.extend(shorts_due.iter().enumerate().map(|(n, at)| (*at, Some(n))));
    due.sort_by_key(|(at, _)| *at);

    let start = Instant::now();
    for (at, what) in due {
        if let Some(early) = at.checked_sub(start.elapsed()) {
            thread::sleep(early);
        }
        match what {
            Some(n) => R::detach(rt.spawn_outside(short(n, Instant::now(), shorts.clone()))),
            None => {
                let ran = hogs_ran.clone();
                R::detach(rt.spawn_outside(async move {
                    burn(HOG);
                    ran.fetch_add(1, Ordering::AcqRel);
                }));
            }
        }
    }
    let all = (shorts_due.len() as u64, hogs_due.len() as u64);
    let ran = || {
        (
            shorts.ran.load(Ordering::Acquire),
            hogs_ran.load(Ordering::Acquire),
        )
    };
    // Lost tasks end in the child's watchdog.
    while ran() != all {
        thread::sleep(Duration::from_millis(1));
    }
    (shorts, all.1)
}

/// The percentile of all that came after the warm-up's share.
fn p99(shorts: &Shorts, plan: &Plan) -> Result<f64, Wrong> {
    let mut latency: Vec<f64> = shorts
        .latency
        .iter()
        .map(|ns| ns.load(Ordering::Acquire) as f64 / 1e3)
        .collect();
    expect(
        "short tasks without a latency",
        latency.iter().filter(|us| **us == 0.0).count(),
        0,
    )?;
    let measured = plan.measure * STRETCHES;
    let share = plan.warm_up.as_secs_f64() / (plan.warm_up + measured).as_secs_f64();
    latency.drain(..(latency.len() as f64 * share) as usize);
    latency.sort_by(f64::total_cmp);
    Ok(percentile(&latency, 0.99))
}

fn hogs_open<R: Rt>(plan: &Plan) -> Result<Outcome, Wrong> {
    let rt = R::start(plan.workers);
    // Half of what the workers can do.
    let hog_gap = HOG * 2 / plan.workers as u32;
    let (shorts, hogs) = play(&rt, plan, Some(hog_gap));
    Ok(Outcome::new(
        p99(&shorts, plan)?,
        shorts.latency.len() as u64 + hogs,
    ))
}

fn hogs_saturated<R: Rt>(plan: &Plan) -> Result<Outcome, Wrong> {
    let rt = R::start(plan.workers);
    let stop = Arc::new(AtomicBool::new(false));
    let hog = |stop: Arc<AtomicBool>| async move {
        let mut turns = 0u64;
        while !stop.load(Ordering::Acquire) {
            burn(HOG);
            turns += 1;
            R::yield_now().await;
        }
        turns
    };
    let hogs: Vec<_> = (0..2 * plan.workers)
        .map(|_| rt.spawn_outside(hog(stop.clone())))
        .collect();
    let (shorts, _) = play(&rt, plan, None);
    stop.store(true, Ordering::Release);
    for hog in hogs {
        let turns = rt.block_on(hog);
        expect("a hog had turns", turns > 0, true)?;
    }
    Ok(Outcome::new(
        p99(&shorts, plan)?,
        shorts.latency.len() as u64,
    ))
}
