//! What the console says: texts made of what the runtimes of the process know.

use crate::json;
use crate::prometheus;
use crate::watched::Seen;
use std::collections::HashSet;
use std::env;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tress::runtime::Handle;
use tress::trace::{FindingKind, live_runtimes};

/// The name of the runtimes that consoles run on. They are not shown.
pub(crate) const RUNTIME_NAME: &str = "tress-console";

/// Clients that ask all the time get at most one new snapshot in this many times of what it takes to make one.
const SHARE: u32 = 20;
/// How old a snapshot may be at most when it is sent.
const LONGEST_FRESH: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Source {
    program: String,
    started: Instant,
    seen: Seen,
    last: Mutex<Option<Snapshot>>,
}

/// A snapshot that was made.
#[derive(Debug)]
struct Snapshot {
    text: Arc<str>,
    made: Instant,
    fresh_for: Duration,
}

/// Runs what calls foreign code: sections of the program's. Returns `None` if that panics.
pub(crate) fn guarded<R>(make: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(make)).ok()
}

/// Returns the runtimes of the program.
pub(crate) fn runtimes() -> Vec<Handle> {
    let shown = |runtime: &Handle| runtime.name() != Some(RUNTIME_NAME);
    live_runtimes().into_iter().filter(shown).collect()
}

impl Source {
    pub(crate) fn new() -> Source {
        let program = env::current_exe().ok();
        let program = program.as_deref().and_then(|path| path.file_name());
        Source {
            program: program.map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
            started: Instant::now(),
            seen: Seen::default(),
            last: Mutex::new(None),
        }
    }

    /// Looks at runtimes that were not there before.
    pub(crate) fn look_around(&self) {
        self.seen.look_at(&runtimes());
    }

    pub(crate) fn look_away(&self) {
        self.seen.look_away(runtimes);
    }

    /// Returns a snapshot: a new one, or one that was made a moment ago if making it takes long.
    pub(crate) fn snapshot(&self) -> Option<Arc<str>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = last
            .as_ref()
            .filter(|last| last.made.elapsed() < last.fresh_for)
        {
            return Some(last.text.clone());
        }
        let begun = Instant::now();
        let text: Arc<str> = self.make_snapshot()?.into();
        *last = Some(Snapshot {
            text: text.clone(),
            made: begun,
            fresh_for: (begun.elapsed() * SHARE).min(LONGEST_FRESH),
        });
        Some(text)
    }

    fn make_snapshot(&self) -> Option<String> {
        guarded(|| {
            let runtimes = runtimes();
            let snapshots = runtimes.iter().map(|runtime| runtime.sight().snapshot());
            let snapshots: Vec<_> = snapshots.collect();
            let mut findings: Vec<_> = snapshots
                .iter()
                .flat_map(|snapshot| snapshot.findings.iter().map(|one| (snapshot.runtime, one)))
                .collect();
            // Each runtime tells of tasks of the others as well: one sentence is enough.
            let mut said = HashSet::new();
            findings.retain(|(_, one)| {
                let about_nothing = one.task.is_none() && one.site.is_none();
                // These are about a place. The task that they name is an example.
                let of_place = matches!(one.kind, FindingKind::Convoy | FindingKind::Leak);
                let task = one.task.filter(|_| !of_place);
                said.insert((one.kind, task, one.site)) || about_nothing
            });
            // Stable: those of a runtime are in order already.
            findings.sort_by_key(|(_, finding)| std::cmp::Reverse(finding.severity));
            let on = runtimes.iter().all(|runtime| runtime.sight().is_on());

            let mut out = String::from("{\"version\":1,\"findings\":");
            json::array(&mut out, findings, |out, (runtime, finding)| {
                out.push_str(&finding.to_json(runtime));
            });
            // Writing to a string does not fail.
            let _ = write!(
                out,
                ",\"sight\":{on},\"pid\":{},\"program\":",
                process::id()
            );
            json::string(&mut out, &self.program);
            let uptime = self.started.elapsed().as_millis();
            let _ = write!(out, ",\"uptime_ms\":{uptime},\"runtimes\":");
            json::array(&mut out, &snapshots, |out, snapshot| {
                out.push_str(&snapshot.to_json());
            });
            out.push('}');
            out
        })
    }

    pub(crate) fn metrics(&self) -> Option<String> {
        guarded(|| {
            // Sections are foreign code: one that panics takes the numbers of its runtime with it, and no others.
            let text = |runtime: &Handle| guarded(|| runtime.metrics().to_prometheus());
            let texts: Vec<_> = runtimes().iter().filter_map(text).collect();
            prometheus::merge(&texts)
        })
    }

    pub(crate) fn dump(&self) -> Option<Vec<u8>> {
        guarded(|| {
            let mut dump = Vec::new();
            for runtime in runtimes() {
                let why = match guarded(|| runtime.debug_dump(&mut dump)) {
                    Some(Ok(())) => continue,
                    Some(Err(error)) => format!("a section has failed: {error}"),
                    None => "a section has panicked".to_owned(),
                };
                dump.extend_from_slice(format!("the dump ends here: {why}\n").as_bytes());
            }
            dump
        })
    }
}
