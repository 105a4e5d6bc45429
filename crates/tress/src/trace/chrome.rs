//! Events in the JSON format of Chrome's tracing, which Perfetto reads.
//!
//! One process, with a thread for each track. Slices are "complete" events (`X`), which carry their length and so
//! cannot be unbalanced.

use super::event::{Event, EventKind};
use super::timeline::name_of;
use crate::json::Object;
use std::fmt;
use std::io;
use std::time::Duration;

const PID: u32 = 1;

/// A time in microseconds, as the format requires, to the nanosecond.
struct Micros(Duration);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0.as_nanos();
        write!(f, "{}.{:03}", ns / 1000, ns % 1000)
    }
}

pub(crate) fn write(
    out: &mut dyn io::Write,
    process: &str,
    workers: usize,
    events: &[Event],
) -> io::Result<()> {
    write!(out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    let mut line = String::new();
    metadata(&mut line, "process_name", None, process);
    out.write_all(line.as_bytes())?;
    let mut named = None;
    for event in events {
        line.clear();
        if named != Some(event.track) {
            named = Some(event.track);
            line.push_str(",\n");
            let monitor = event.track == workers;
            let name = match monitor {
                true => "monitor".to_owned(),
                false => format!("worker {}", event.track),
            };
            metadata(&mut line, "thread_name", Some(event.track), &name);
        }
        line.push_str(",\n");
        describe(&mut line, event);
        out.write_all(line.as_bytes())?;
    }
    out.write_all(b"]}\n")
}

fn metadata(line: &mut String, what: &str, track: Option<usize>, name: &str) {
    let mut object = Object::begin(line);
    object.string("ph", "M");
    object.string("name", what);
    object.number("pid", PID);
    // A process's metadata is that of its first thread.
    object.number("tid", track.unwrap_or(0));
    let mut args = object.object("args");
    args.string("name", name);
    args.end();
    object.end();
}

fn describe(line: &mut String, event: &Event) {
    let mut object = Object::begin(line);
    object.number("pid", PID);
    object.number("tid", event.track);
    object.number("ts", Micros(event.at));
    let mut task = String::new();
    name_of(&mut task, event.name.as_deref(), event.spawned_at);
    let (category, name, length) = match event.kind {
        EventKind::Poll { took, .. } => ("poll", task, Some(took)),
        EventKind::Park { took } => ("park", "park".into(), Some(took)),
        EventKind::Ready => ("ready", format!("ready: {task}"), None),
        EventKind::Steal { from, .. } => ("steal", format!("steal from {from}"), None),
        EventKind::Io { .. } => ("io", "I/O".into(), None),
        EventKind::Timers { .. } => ("timer", "timers".into(), None),
        EventKind::SlowPoll { worker, .. } => (
            "slow",
            format!("slow poll on worker {worker}: {task}"),
            None,
        ),
        EventKind::Lost { .. } => ("lost", "lost events".into(), None),
    };
    object.string("cat", category);
    object.string("name", &name);
    match length {
        Some(length) => {
            object.string("ph", "X");
            object.number("dur", Micros(length));
        }
        None => {
            object.string("ph", "i");
            object.string("s", "t");
        }
    }
    let mut args = object.object("args");
    if let Some(task) = event.task {
        args.number("task", task);
    }
    if let Some(at) = event.spawned_at {
        args.string("spawned_at", &at.to_string());
    }
    match event.kind {
        EventKind::Poll { every, .. } => args.number("stands_for_polls", every),
        EventKind::Steal { tasks, .. } => args.number("tasks", tasks),
        EventKind::Io { events } => args.number("events", events),
        EventKind::Timers { fired } => args.number("fired", fired),
        EventKind::SlowPoll { so_far, .. } => args.number("so_far_us", Micros(so_far)),
        EventKind::Lost { events } => args.number("events", events),
        EventKind::Ready | EventKind::Park { .. } => {}
    }
    args.end();
    object.end();
}
