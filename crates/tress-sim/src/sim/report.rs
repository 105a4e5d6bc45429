//! What every host does, when a run does not end as it should.

use super::Sim;
use crate::host::{self, Carried};
use crate::kernel::{self, HostId, Kernel};
use std::backtrace::Backtrace;
use std::cell::RefCell;
use std::fmt::Write;
use std::rc::Rc;
use std::sync::Weak;
use tress_sys::guarded;
use tress_sys::sim::Runtime;

/// Maximum numbers of hosts that are described, of tasks and threads of one, and of threads whose backtrace is shown.
const MOST_HOSTS: usize = 32;
const MOST_TASKS: usize = 200;
const MOST_THREADS: usize = 50;
const MOST_PLACES: usize = 16;
/// Maximum number of functions of a backtrace.
const MOST_FRAMES: usize = 12;
/// Maximum number of bytes of what the runtimes of one host say: they may have parts of other crates.
const MOST_BYTES: usize = 128 * 1024;

impl Sim<'_> {
    /// Says what the threads and the runtimes of each host do; with `places`, also where threads wait.
    ///
    /// Runtimes are asked on a thread of their host, so that they see its clock, and what waits there keeps only the report
    /// of that host from being whole.
    pub(crate) fn report(&mut self, places: Places) -> String {
        let mut text = String::new();
        let hosts = self.kernel().hosts.len();
        let mut shown = 0;
        for host in (0..hosts).map(HostId) {
            text += &self.kernel().summary(host);
            let machine = self.machines.iter().find(|machine| machine.id == host);
            // Those that the run waits for are described however many there are before them.
            let is_awaited = machine.is_some_and(|machine| machine.is_awaited());
            let has_ended = machine.is_some_and(|machine| machine.program.has_ended());
            let is_up = self.kernel().hosts[host.0].is_up;
            if is_up && (shown < MOST_HOSTS || is_awaited) {
                shown += 1;
                text += match has_ended {
                    true => "    its program has ended\n",
                    false => "    its program has not ended\n",
                };
                self.report_threads(host, places, &mut text);
                text += &indented(&self.dump(host));
            }
        }
        if shown < hosts && shown >= MOST_HOSTS {
            let _ = writeln!(text, "  {} more hosts are not described", hosts - shown);
        }
        text
    }

    fn report_threads(&mut self, host: HostId, places: Places, text: &mut String) {
        let threads = self.kernel().threads_of(host);
        let mut left = match places {
            Places::Shown => MOST_PLACES,
            Places::LeftOut => 0,
        };
        for &thread in threads.iter().take(MOST_THREADS) {
            // Writing to a string does not fail.
            let _ = writeln!(text, "    {}", self.kernel().describe(thread));
            if left > 0 {
                // SAFETY: this is the simulation's own thread, and no thread of a host runs. Nothing can happen any more:
                // a thread with the lock of backtraces does not wait for ever.
                if let Some(place) = unsafe { Kernel::place_of(self.kernel, thread) } {
                    left -= 1;
                    *text += &frames(&place);
                }
            }
        }
        if threads.len() > MOST_THREADS {
            let more = threads.len() - MOST_THREADS;
            let _ = writeln!(text, "    and {more} more threads");
        }
    }

    /// Returns the dumps of all runtimes of a host.
    fn dump(&mut self, host: HostId) -> String {
        let runtimes = self.kernel().hosts[host.0].runtimes.clone();
        if runtimes.iter().all(|runtime| runtime.strong_count() == 0) {
            return String::new();
        }
        let text = Rc::new(RefCell::new(None));
        let carried = Carried((runtimes, text.clone()));
        let write = move || {
            let (runtimes, text) = carried.get();
            let dumps = dumps(&runtimes);
            *text.borrow_mut() = Some(dumps);
        };
        // SAFETY: this is the simulation's own thread, and no thread of a host runs. The thread owns what it uses.
        unsafe {
            if let Err(error) = kernel::act_for(self.kernel, host, || host::run("report", write)) {
                return format!("its runtimes cannot be asked without a thread: {error}\n");
            }
            let thread = self.kernel().threads.newest();
            Kernel::run_thread(self.kernel, thread);
        }
        let text = text.borrow_mut().take();
        text.unwrap_or_else(|| {
            "its runtimes have not said what they do: a part waits\n".to_string()
        })
    }
}

/// Whether a report says where threads wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Places {
    /// Nothing can happen any more, so that no thread is in the middle of anything.
    Shown,
    LeftOut,
}

/// Writes the dumps of runtimes, on a thread of their host.
fn dumps(runtimes: &[Weak<dyn Runtime>]) -> String {
    let mut text = Vec::new();
    let mut tasks = MOST_TASKS;
    for runtime in runtimes.iter().filter_map(Weak::upgrade) {
        // Parts of dumps are code of others, which may panic.
        match guarded(|| runtime.dump(tasks, &mut text)) {
            Some(Ok(shown)) => tasks = tasks.saturating_sub(shown),
            Some(Err(error)) => text.extend(format!("the dump ends here: {error}\n").bytes()),
            None => text.extend(*b"the dump ends here: a part of it has panicked\n"),
        }
    }
    let mut text = String::from_utf8_lossy(&text).into_owned();
    if text.len() > MOST_BYTES {
        let left_out = text.len() - MOST_BYTES;
        let end = (0..=MOST_BYTES).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or(0));
        text += &format!("\nand {left_out} bytes more\n");
    }
    text
}

fn indented(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.is_empty());
    lines.map(|line| format!("    {line}\n")).collect()
}

/// A function of a backtrace, and its place in the source, if that is known.
#[derive(Debug, Clone, Copy)]
struct Frame<'a> {
    name: &'a str,
    place: &'a str,
}

impl Frame<'_> {
    fn is_simulation(self) -> bool {
        let parts = ["tress_sim::kernel::", "tress_sim::symbols::"];
        parts.iter().any(|part| self.name.contains(part))
    }

    /// Returns whether it is one of the standard library or of the runtime.
    fn is_library(self) -> bool {
        let name = self.name.trim_start_matches('<');
        let names = [
            "std::",
            "core::",
            "alloc::",
            "__rust",
            "tress::",
            "tress_sys::",
            "tokio::",
        ];
        let places = [
            "/rustc/",
            "/rustlib/src/rust/library/",
            "/tress/src/",
            "/tress-sys/src/",
        ];
        names.iter().any(|start| name.starts_with(start))
            || places.iter().any(|part| self.place.contains(part))
    }

    /// Returns whether it is one of those that start a thread.
    fn is_start(self) -> bool {
        let parts = ["__rust_begin_short_backtrace", "tress_sim::host::"];
        parts.iter().any(|part| self.name.contains(part))
    }
}

/// Returns the functions of a backtrace that are the program's, from the one that waits.
fn frames(backtrace: &Backtrace) -> String {
    let text = backtrace.to_string();
    let mut all: Vec<Frame<'_>> = Vec::new();
    for line in text.lines().map(str::trim) {
        match (line.strip_prefix("at "), all.last_mut()) {
            (Some(place), Some(frame)) => frame.place = place,
            _ => {
                let name = line.split_once(": ").map_or(line, |(_, name)| name);
                all.push(Frame { name, place: "" });
            }
        }
    }
    let end = all.iter().position(|frame| frame.is_start());
    all.truncate(end.unwrap_or(all.len()));
    // The first are the simulation's, and then the function of the C library, whose name is in no module.
    let ours = all.iter().rposition(|frame| frame.is_simulation());
    let mut theirs = &all[ours.map_or(0, |last| last + 1)..];
    if let [first, rest @ ..] = theirs {
        if !first.name.contains("::") {
            theirs = rest;
        }
    }
    let mut lines = String::new();
    let mut shown = 0;
    for (at, frame) in theirs.iter().enumerate() {
        // Of libraries, what the program calls is enough.
        let next = theirs.get(at + 1);
        let is_inside = frame.is_library() && next.is_none_or(|next| next.is_library());
        if is_inside || shown == MOST_FRAMES {
            continue;
        }
        shown += 1;
        let Frame { name, place } = frame;
        // Writing to a string does not fail.
        let _ = match *place {
            "" => writeln!(lines, "      {name}"),
            place => writeln!(lines, "      {name} at {place}"),
        };
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{MOST_BYTES, Runtime, dumps};
    use std::io;
    use std::sync::{Arc, Weak};

    struct Said(usize, &'static str);

    impl Runtime for Said {
        fn dump(&self, most: usize, out: &mut dyn io::Write) -> io::Result<usize> {
            let shown = self.0.min(most);
            for _ in 0..shown {
                writeln!(out, "{}", self.1)?;
            }
            writeln!(out, "and {} more", self.0 - shown)?;
            Ok(shown)
        }
    }

    struct Panics;

    impl Runtime for Panics {
        fn dump(&self, _: usize, _: &mut dyn io::Write) -> io::Result<usize> {
            panic!("a part of a dump that is to panic")
        }
    }

    #[test]
    fn the_tasks_of_all_runtimes_of_a_host_have_one_limit() {
        let all: [Arc<dyn Runtime>; 3] = [
            Arc::new(Said(150, "a")),
            Arc::new(Panics),
            Arc::new(Said(100, "b")),
        ];
        let gone: Weak<dyn Runtime> = Arc::downgrade(&(Arc::new(Panics) as Arc<dyn Runtime>));
        let mut weak: Vec<_> = all.iter().map(Arc::downgrade).collect();
        weak.push(gone);
        let text = dumps(&weak);
        assert_eq!(text.lines().filter(|line| *line == "a").count(), 150);
        assert_eq!(text.lines().filter(|line| *line == "b").count(), 50);
        assert!(text.contains("and 50 more"), "{text}");
        assert_eq!(text.matches("has panicked").count(), 1, "{text}");
    }

    #[test]
    fn what_is_too_long_is_cut() {
        let long: &'static str = Box::leak("ä".repeat(MOST_BYTES).into_boxed_str());
        let runtime: Arc<dyn Runtime> = Arc::new(Said(1, long));
        let text = dumps(&[Arc::downgrade(&runtime)]);
        assert!(text.len() < MOST_BYTES + 100);
        assert!(text.ends_with("bytes more\n"), "{}", text.len());
    }
}
