//! What the workers have done: lanes to be drawn, and traces to be saved.

use crate::json;
use crate::source::{Source, TraceFile, guarded, runtimes};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;
use tress::runtime::Handle;
use tress::trace::{Event, EventKind};

/// Maximum number of slices of one worker in one event. Of more, the longest are taken.
const MOST_SLICES: usize = 500;
/// How far back the first event looks.
const FIRST: Duration = Duration::from_secs(2);

/// Until when each runtime's lanes were sent.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    sent: HashMap<String, Duration>,
}

impl Source {
    /// Returns what the workers of each runtime have done since the last call, as server-sent events.
    pub(crate) fn lanes(&self, lanes: &mut Lanes) -> Option<String> {
        guarded(|| {
            let mut out = String::new();
            let mut sent = HashMap::new();
            for runtime in runtimes() {
                let id = runtime.id().to_string();
                let before = lanes.sent.get(&id).copied();
                let until = add_lanes(&mut out, &id, &runtime, before);
                sent.insert(id, until.or(before).unwrap_or_default());
            }
            // Runtimes that are gone are forgotten.
            lanes.sent = sent;
            out
        })
    }

    pub(crate) fn trace(&self, _seconds: u64) -> Option<TraceFile> {
        guarded(|| {
            let mut bytes = Vec::new();
            for runtime in runtimes().into_iter().take(1) {
                runtime
                    .trace()
                    .write_chrome(&mut bytes)
                    .expect("writing to memory does not fail");
            }
            TraceFile {
                file: "trace.json",
                content_type: "application/json",
                bytes,
            }
        })
    }
}

/// When an event ended.
fn end(event: &Event) -> Duration {
    match event.kind {
        EventKind::Poll { took, .. } | EventKind::Park { took } => event.at.saturating_add(took),
        _ => event.at,
    }
}

/// Appends what has ended since `before`. Returns until when that is.
fn add_lanes(
    out: &mut String,
    id: &str,
    runtime: &Handle,
    before: Option<Duration>,
) -> Option<Duration> {
    let events = runtime.trace().events();
    let until = events.iter().map(end).max()?;
    let from = before.unwrap_or_else(|| until.saturating_sub(FIRST));
    if until <= from {
        return None;
    }
    let mut workers: Vec<Vec<&Event>> = vec![Vec::new(); runtime.metrics().num_workers()];
    for event in events.iter().filter(|event| end(event) > from) {
        let drawn = !matches!(event.kind, EventKind::Ready | EventKind::SlowPoll { .. });
        if let Some(worker) = workers.get_mut(event.track).filter(|_| drawn) {
            worker.push(event);
        }
    }
    let _ = write!(
        out,
        "event: lanes\ndata: {{\"runtime\":{id},\"from_ns\":{},\"to_ns\":{},\"workers\":",
        from.as_nanos(),
        until.as_nanos()
    );
    json::array(out, workers, |out, mut events| {
        events.sort_by_key(|event| std::cmp::Reverse(end(event) - event.at));
        events.truncate(MOST_SLICES);
        events.sort_by_key(|event| event.at);
        json::array(out, events, write_slice);
    });
    out.push_str("}\n\n");
    Some(until)
}

/// Writes start, length, kind, label and task.
fn write_slice(out: &mut String, event: &Event) {
    let length = (end(event) - event.at).as_nanos();
    let _ = write!(out, "[{},{length},", event.at.as_nanos());
    let label = match event.kind {
        EventKind::Poll { .. } => match (&event.name, event.spawned_at) {
            (Some(name), _) => Some(name.clone()),
            (None, Some(at)) => Some(at.to_string()),
            (None, None) => None,
        },
        EventKind::Steal { tasks, from } => Some(format!("{tasks} tasks from worker {from}")),
        EventKind::Io { events } => Some(format!("{events} events")),
        EventKind::Timers { fired } => Some(format!("{fired} timers")),
        _ => None,
    };
    let kind = match event.kind {
        EventKind::Poll { .. } => "poll",
        EventKind::Park { .. } => "park",
        EventKind::Steal { .. } => "steal",
        _ => "io",
    };
    let _ = write!(out, "\"{kind}\",");
    json::string_or_null(out, label.as_deref());
    if let Some(task) = event.task {
        let _ = write!(out, ",{task}");
    }
    out.push(']');
}
