//! Layout of the counters on a terminal.

use std::fmt::Write;
use tress::runtime::{RuntimeMetrics, WorkerMetrics};

/// The width of the progress bar, in characters.
const BAR: usize = 40;

/// Formats a progress bar for a part of the whole, from 0 to 1.
pub(crate) fn bar(part: f64) -> String {
    let part = part.clamp(0.0, 1.0);
    let full = (part * BAR as f64).round() as usize;
    format!(
        "[{}{}] {:3.0} %",
        "=".repeat(full),
        " ".repeat(BAR - full),
        part * 100.0
    )
}

/// Formats the counters: one row for each worker, and their sum.
pub(crate) fn workers(metrics: &RuntimeMetrics) -> String {
    let rows: Vec<WorkerMetrics> = (0..metrics.num_workers())
        .map(|i| metrics.worker(i))
        .collect();
    let mut out = String::from(
        "worker     spawned      polled      stolen      parked   lifo hits      queued   busy\n",
    );
    for (i, w) in rows.iter().enumerate() {
        row(&mut out, &format!("{i:>6}"), w, w.busy.as_secs_f64());
    }
    let sum = rows.iter().fold(WorkerMetrics::default(), |mut sum, w| {
        sum.tasks_submitted += w.tasks_submitted;
        sum.tasks_polled += w.tasks_polled;
        sum.tasks_stolen += w.tasks_stolen;
        sum.park_events += w.park_events;
        sum.lifo_hits += w.lifo_hits;
        sum.queue_depth += w.queue_depth;
        sum.busy += w.busy;
        sum
    });
    row(&mut out, "   all", &sum, sum.busy.as_secs_f64());
    out
}

fn row(out: &mut String, name: &str, w: &WorkerMetrics, busy: f64) {
    writeln!(
        out,
        "{name}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}{busy:>6.2}s",
        w.tasks_submitted,
        w.tasks_polled,
        w.tasks_stolen,
        w.park_events,
        w.lifo_hits,
        w.queue_depth,
    )
    .expect("writing to a string cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bar_is_as_long_as_it_should_be() {
        assert!(bar(0.0).starts_with("[ "));
        assert!(bar(0.5).starts_with(&format!("[{}{}]", "=".repeat(20), " ".repeat(20))));
        assert_eq!(bar(2.0), bar(1.0));
        assert_eq!(bar(-1.0), bar(0.0));
    }

    #[test]
    fn one_row_for_each_worker() {
        let rt = tress::runtime::Builder::new_multi_thread()
            .worker_threads(3)
            .build()
            .unwrap();
        let table = workers(&rt.metrics());
        assert_eq!(table.lines().count(), 5);
        let width = table.lines().next().unwrap().len();
        assert!(table.lines().all(|line| line.len() <= width), "{table}");
    }
}
