//! What the demonstration shows while it runs.

use super::args::Demo;
use super::load::{Load, Summary};
use crate::table;
use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};
use tress::runtime::Runtime;
use tress::trace::Finding;

/// Time between two pictures.
const REFRESH: Duration = Duration::from_millis(200);
/// When the fault is planted.
const FAULT: Duration = Duration::from_secs(2);

/// Shows the counters and what is found until the time is up, or until ctrl-c is pressed: in place on a terminal,
/// otherwise once a second. Calls `plant` once, when it is time for the fault.
pub(super) fn watch(
    options: &Demo,
    rt: &Runtime,
    load: &Load,
    found: &Receiver<Finding>,
    plant: impl FnOnce(),
) -> io::Result<()> {
    let mut screen = Screen {
        live: io::stdout().is_terminal(),
        lines: 0,
        last: None,
        before: None,
    };
    let begun = Instant::now();
    let mut plant = Some(plant);
    let wait = crate::runtime()?;
    wait.block_on(async {
        let mut ticks = tress::time::interval(REFRESH);
        let interrupted = tress::signal::ctrl_c();
        tress::pin!(interrupted);
        loop {
            tress::select! {
                _ = ticks.tick() => {}
                told = &mut interrupted => {
                    screen.clear()?;
                    return told;
                }
            }
            let elapsed = begun.elapsed();
            if elapsed >= FAULT.min(options.duration / 4) {
                if let Some(plant) = plant.take() {
                    plant();
                }
            }
            let over = !options.serve && elapsed >= options.duration;
            for finding in found.try_iter() {
                screen.print(&format!("{}: {finding}", finding.severity))?;
            }
            let part = match options.serve {
                true => None,
                false => Some(elapsed.as_secs_f64() / options.duration.as_secs_f64()),
            };
            screen.picture(elapsed, part, rt, load.summary(), over)?;
            if over {
                return Ok(());
            }
        }
    })
}

struct Screen {
    live: bool,
    /// Lines of the picture that the next one overwrites.
    lines: usize,
    /// The second in which a picture was last shown without a terminal.
    last: Option<u64>,
    before: Option<Summary>,
}

impl Screen {
    /// Prints a line that stays.
    fn print(&mut self, text: &str) -> io::Result<()> {
        self.clear()?;
        let mut out = io::stdout().lock();
        writeln!(out, "{text}")?;
        out.flush()
    }

    /// Takes the picture away.
    fn clear(&mut self) -> io::Result<()> {
        let lines = std::mem::take(&mut self.lines);
        if lines > 0 {
            // Up over it, and delete to the end of the screen.
            let mut out = io::stdout().lock();
            write!(out, "\x1b[{lines}A\x1b[J")?;
            out.flush()?;
        }
        Ok(())
    }

    fn picture(
        &mut self,
        elapsed: Duration,
        part: Option<f64>,
        rt: &Runtime,
        summary: Summary,
        over: bool,
    ) -> io::Result<()> {
        let second = Some(elapsed.as_secs());
        if !self.live && !over && self.last == second {
            return Ok(());
        }
        self.last = second;
        let before = self.before.replace(summary);
        let rate = before.map_or(0.0, |before| {
            let time = summary.took.saturating_sub(before.took).as_secs_f64();
            (summary.requests - before.requests) as f64 / time.max(0.001)
        });
        let bar = part.map_or_else(
            || format!("{} s, ctrl-c ends it", elapsed.as_secs()),
            table::bar,
        );
        let picture = format!(
            "{bar}\n{rate:>8.0} requests/s   p50 {:.1?}   p99 {:.1?}   {} errors   {} tasks\n{}",
            summary.p50,
            summary.p99,
            summary.errors,
            rt.metrics().num_alive_tasks(),
            table::workers(&rt.metrics())
        );
        self.clear()?;
        let mut out = io::stdout().lock();
        write!(out, "{picture}")?;
        if !picture.ends_with('\n') {
            writeln!(out)?;
        }
        if self.live && !over {
            self.lines = picture.lines().count();
        }
        out.flush()
    }
}
