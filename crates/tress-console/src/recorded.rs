//! What the workers have done: lanes to be drawn, and traces to be saved.

use crate::json;
use crate::source::{Source, guarded, runtimes};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;
use tress::runtime::Handle;
use tress::trace::Lane;

/// Maximum number of seconds that a trace goes back. The recorder does not keep more.
const MOST_SECONDS: u64 = 60;

/// Until when each runtime's lanes were sent.
#[derive(Debug, Default)]
pub(crate) struct Sent(HashMap<String, Duration>);

impl Source {
    /// Returns what the workers of each runtime have done since the last call, as server-sent events.
    pub(crate) fn lanes(&self, sent: &mut Sent) -> Option<String> {
        guarded(|| {
            let mut out = String::new();
            let add = |runtime: &Handle| {
                let id = runtime.id().to_string();
                let from = sent.0.get(&id).copied().unwrap_or_default();
                let until = add_lanes(&mut out, &id, runtime, from);
                (id, until)
            };
            // Runtimes that are gone are forgotten.
            sent.0 = runtimes().iter().map(add).collect();
            out
        })
    }

    /// Returns what a runtime, or the first one, has recorded, in Perfetto's format; inside, `None` if there is no such
    /// runtime.
    pub(crate) fn trace(&self, runtime: Option<u64>, seconds: u64) -> Option<Option<Vec<u8>>> {
        guarded(|| {
            let wanted = runtime.map(|number| number.to_string());
            let is_wanted = |one: &Handle| match &wanted {
                Some(number) => one.id().to_string() == *number,
                None => true,
            };
            let runtime = runtimes().into_iter().find(is_wanted)?;
            let last = Duration::from_secs(seconds.min(MOST_SECONDS));
            let mut bytes = Vec::new();
            let written = runtime.trace().recorder().write_last(last, &mut bytes);
            written.expect("writing to memory does not fail");
            Some(bytes)
        })
    }
}

/// Appends what has ended after `from`. Returns until when that is.
fn add_lanes(out: &mut String, id: &str, runtime: &Handle, from: Duration) -> Duration {
    let lanes = runtime.trace().lanes(from);
    if lanes.workers.iter().all(Vec::is_empty) {
        return lanes.to.max(from);
    }
    // Writing to a string does not fail.
    let _ = write!(
        out,
        "event: lanes\ndata: {{\"runtime\":{id},\"from_ns\":{},\"to_ns\":{},\"workers\":",
        lanes.from.as_nanos(),
        lanes.to.as_nanos()
    );
    json::array(out, &lanes.workers, |out, slices| {
        json::array(out, slices, write_slice);
    });
    out.push_str("}\n\n");
    lanes.to.max(from)
}

/// Writes start, length, kind and label.
fn write_slice(out: &mut String, slice: &Lane) {
    let (start, length) = (slice.start.as_nanos(), slice.length.as_nanos());
    let _ = write!(out, "[{start},{length},\"{}\",", slice.kind.as_str());
    json::string(out, &slice.label);
    out.push(']');
}
