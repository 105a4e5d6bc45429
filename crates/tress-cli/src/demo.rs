//! A mixed load, whose counters are shown while it runs.

use crate::args::Demo;
use crate::table;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tress::runtime::{Builder, Runtime};
use tress::task;
use tress::time;

/// The number of load generators for each worker.
const SOURCES: usize = 4;
/// The number of tasks that a generator spawns at a time.
const BURST: u64 = 64;
/// The time between two looks at the counters.
const REFRESH: Duration = Duration::from_millis(100);

/// Runs the demonstration.
///
/// # Errors
/// Returns an error if the runtime cannot be built or does not shut down cleanly, or if standard
/// output cannot be written.
pub(crate) fn run(options: &Demo) -> io::Result<()> {
    let rt = Builder::new_multi_thread()
        .worker_threads(options.workers)
        .name("demo")
        .enable_all()
        .build()?;
    let workers = rt.metrics().num_workers();
    println!("tress demo: {workers} workers, {:?}\n", options.duration);
    let done = start_load(&rt, workers * SOURCES);
    watch(&rt, options.duration)?;

    let tasks = rt.metrics().spawned_tasks_count();
    let polls = rt.metrics().total_polled();
    let alive = rt.metrics().num_alive_tasks();
    let report = rt.shutdown_timeout(Duration::from_secs(5));
    let seconds = options.duration.as_secs_f64();
    println!(
        "{tasks} tasks and {polls} polls in {seconds:.1} s: {:.2} million polls a second",
        polls as f64 / seconds / 1e6
    );
    println!(
        "{} results checked; shutdown dropped the {alive} tasks still alive: {report}",
        done.load(Ordering::Relaxed)
    );
    if report.is_clean() {
        Ok(())
    } else {
        Err(io::Error::other("the runtime did not shut down cleanly"))
    }
}

/// Starts the generators, and returns the number of correct results, which they count up.
fn start_load(rt: &Runtime, sources: usize) -> Arc<AtomicU64> {
    let done = Arc::new(AtomicU64::new(0));
    for source in 0..sources {
        let done = done.clone();
        rt.spawn(async move {
            loop {
                burst(source as u64, &done).await;
            }
        });
    }
    done
}

/// Runs a number of short tasks that yield, and for the first generator a timer and a blocking
/// call.
async fn burst(source: u64, done: &AtomicU64) {
    let tasks: Vec<_> = (0..BURST)
        .map(|i| {
            tress::spawn(async move {
                for _ in 0..i % 8 {
                    task::yield_now().await;
                }
                (source + 1) * i
            })
        })
        .collect();
    let mut sum = 0;
    for task in tasks {
        match task.await {
            Ok(product) => sum += product,
            // The runtime shuts down during this poll.
            Err(error) if error.is_cancelled() => return,
            Err(error) => panic!("the demo's tasks do not panic: {error}"),
        }
    }
    assert_eq!(sum, (source + 1) * (BURST * (BURST - 1) / 2));
    done.fetch_add(BURST, Ordering::Relaxed);
    if source == 0 {
        time::sleep(Duration::from_millis(1)).await;
        match task::spawn_blocking(move || source + 1).await {
            Ok(next) => assert_eq!(next, source + 1),
            Err(error) => assert!(error.is_cancelled(), "it does not panic: {error}"),
        }
    }
}

/// Shows the counters until the time is up: in place on a terminal, otherwise once a second.
fn watch(rt: &Runtime, duration: Duration) -> io::Result<()> {
    let live = io::stdout().is_terminal();
    let metrics = rt.metrics();
    let start = Instant::now();
    let mut last = None;
    rt.block_on(async {
        let mut ticks = time::interval(REFRESH);
        loop {
            ticks.tick().await;
            let elapsed = start.elapsed().min(duration);
            let over = elapsed == duration;
            if live || over || last != Some(elapsed.as_secs()) {
                last = Some(elapsed.as_secs());
                let part = elapsed.as_secs_f64() / duration.as_secs_f64();
                let picture = format!("{}\n{}", table::bar(part), table::workers(&metrics));
                show(&picture, live && !over)?;
            }
            if over {
                return Ok(());
            }
        }
    })
}

/// Writes the picture, and moves the cursor back to its start if the next one is to overwrite it.
fn show(picture: &str, overwrite: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{picture}")?;
    if overwrite {
        // Back up over what was just written.
        write!(out, "\x1b[{}A", picture.lines().count() + 1)?;
    }
    out.flush()
}
