//! The tasks of a program, as tokio-console wants to be told of them: what is new, and what has changed.

use crate::attach::model::Task;
use console_api::field::{Name, Value};
use console_api::tasks::{Stats, Task as Row, TaskUpdate, task};
use console_api::{Field, Id, Location, MetaId, Metadata, PollStats, RegisterMetadata};
use console_api::{metadata, register_metadata::NewMetadata};
use std::collections::HashMap;
use std::time::{Duration, SystemTime};

/// The one kind of span that tasks are told as.
const SPAWN: u64 = 1;
/// Maximum number of tasks in one message, which must stay below the 4 MiB that tokio-console accepts.
const MOST: usize = 5_000;
/// How long a task that has ended is told of.
const KEPT: Duration = Duration::from_secs(5);

/// What one console was told.
#[derive(Default)]
pub(super) struct Told {
    tasks: HashMap<u64, Known>,
}

struct Known {
    first: SystemTime,
    ended: Option<SystemTime>,
    polls: u64,
    busy: Duration,
}

/// Returns the metadata that every task refers to.
pub(super) fn metadata() -> RegisterMetadata {
    let fields = ["task.name", "task.id", "kind", "size.bytes"];
    RegisterMetadata {
        metadata: vec![NewMetadata {
            id: Some(MetaId { id: SPAWN }),
            metadata: Some(Metadata {
                name: "runtime.spawn".into(),
                target: "tress::task".into(),
                kind: metadata::Kind::Span as i32,
                level: metadata::Level::Trace as i32,
                field_names: fields.map(str::to_owned).to_vec(),
                ..Metadata::default()
            }),
        }],
    }
}

impl Told {
    /// Returns what has to be told now, in messages that are small enough. Live tasks come first.
    pub(super) fn update(&mut self, tasks: &[Task], now: SystemTime) -> Vec<TaskUpdate> {
        let mut rows = Vec::new();
        let mut stats = Vec::new();
        for task in tasks {
            let is_new = !self.tasks.contains_key(&task.id);
            let known = self.tasks.entry(task.id).or_insert(Known {
                first: now - Duration::from_millis(task.age_ms.unwrap_or(0)),
                ended: None,
                polls: 0,
                busy: Duration::ZERO,
            });
            known.polls = task.polls.unwrap_or(0);
            known.busy = Duration::from_nanos(task.busy_ns.unwrap_or(0));
            if is_new {
                rows.push(row(task));
            }
            stats.push((task.id, told_of(known, task, now)));
        }
        let alive: std::collections::HashSet<u64> = tasks.iter().map(|task| task.id).collect();
        for (id, known) in &mut self.tasks {
            if !alive.contains(id) && known.ended.is_none() {
                known.ended = Some(now);
                stats.push((*id, ended(known, now)));
            }
        }
        self.tasks.retain(|_, known| {
            let since = known.ended.and_then(|ended| now.duration_since(ended).ok());
            since.is_none_or(|since| since < KEPT)
        });
        in_parts(rows, stats)
    }
}

/// A task is shown only if its statistics come in the same message.
fn in_parts(rows: Vec<Row>, stats: Vec<(u64, Stats)>) -> Vec<TaskUpdate> {
    let mut rows: HashMap<u64, Row> = rows
        .into_iter()
        .filter_map(|row| Some((row.id.as_ref()?.id, row)))
        .collect();
    let parts = stats.chunks(MOST).map(|part| TaskUpdate {
        new_tasks: part.iter().filter_map(|(id, _)| rows.remove(id)).collect(),
        stats_update: part.iter().cloned().collect(),
        dropped_events: 0,
    });
    let parts: Vec<TaskUpdate> = parts.collect();
    match parts.is_empty() {
        true => vec![TaskUpdate::default()],
        false => parts,
    }
}

fn row(task: &Task) -> Row {
    let text = |name: &str, value: &str| Field {
        metadata_id: Some(MetaId { id: SPAWN }),
        name: Some(Name::StrName(name.to_owned())),
        value: Some(Value::StrVal(value.to_owned())),
    };
    let number = |name: &str, value: u64| Field {
        metadata_id: Some(MetaId { id: SPAWN }),
        name: Some(Name::StrName(name.to_owned())),
        value: Some(Value::U64Val(value)),
    };
    let mut fields = vec![text("kind", "task"), number("task.id", task.id)];
    if let Some(name) = &task.name {
        fields.push(text("task.name", name));
    }
    Row {
        id: Some(Id { id: task.id }),
        metadata: Some(MetaId { id: SPAWN }),
        kind: task::Kind::Spawn as i32,
        fields,
        parents: Vec::new(),
        location: location(&task.site),
    }
}

/// Parses `file:line:column`.
fn location(site: &str) -> Option<Location> {
    let mut parts = site.rsplitn(3, ':');
    let column = parts.next()?.parse().ok()?;
    let line = parts.next()?.parse().ok()?;
    Some(Location {
        file: Some(parts.next()?.to_owned()),
        module_path: None,
        line: Some(line),
        column: Some(column),
    })
}

fn told_of(known: &Known, task: &Task, now: SystemTime) -> Stats {
    let idle = Duration::from_millis(task.idle_ms.unwrap_or(0));
    let ended = now - idle;
    let is_polled = task.state == "running";
    Stats {
        created_at: Some(known.first.into()),
        dropped_at: None,
        wakes: known.polls.saturating_sub(1),
        // Wakers are not counted one by one: a task has one, or is known to have none.
        waker_clones: u64::from(!task.is_lost),
        waker_drops: 0,
        last_wake: (known.polls > 1).then(|| ended.into()),
        self_wakes: 0,
        scheduled_time: Some(prost_types::Duration::default()),
        poll_stats: Some(PollStats {
            polls: known.polls,
            first_poll: Some(known.first.into()),
            last_poll_started: Some(ended.into()),
            last_poll_ended: (!is_polled).then(|| ended.into()),
            busy_time: known.busy.try_into().ok(),
        }),
    }
}

fn ended(known: &Known, now: SystemTime) -> Stats {
    Stats {
        created_at: Some(known.first.into()),
        dropped_at: Some(now.into()),
        wakes: known.polls.saturating_sub(1),
        scheduled_time: Some(prost_types::Duration::default()),
        poll_stats: Some(PollStats {
            polls: known.polls,
            first_poll: Some(known.first.into()),
            last_poll_started: Some(now.into()),
            last_poll_ended: Some(now.into()),
            busy_time: known.busy.try_into().ok(),
        }),
        ..Stats::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(id: u64) -> Task {
        Task {
            id,
            site: "src/main.rs:3:5".into(),
            polls: Some(7),
            ..Task::default()
        }
    }

    #[test]
    fn a_task_is_new_once_and_its_end_is_told_once() {
        let mut told = Told::default();
        let now = SystemTime::now();
        let first = told.update(&[task(1), task(2)], now).remove(0);
        assert_eq!(first.new_tasks.len(), 2);
        assert_eq!(first.stats_update.len(), 2);
        assert_eq!(first.stats_update[&1].poll_stats.as_ref().unwrap().polls, 7);
        let second = told.update(&[task(2)], now).remove(0);
        assert_eq!(second.new_tasks.len(), 0);
        assert!(second.stats_update[&1].dropped_at.is_some());
        assert!(second.stats_update[&2].dropped_at.is_none());
        let third = told.update(&[task(2)], now).remove(0);
        assert!(!third.stats_update.contains_key(&1));
        let later = now + 2 * KEPT;
        told.update(&[], later);
        told.update(&[], later + 2 * KEPT);
        assert!(told.tasks.is_empty());
    }

    #[test]
    fn many_tasks_come_in_several_messages_each_with_its_statistics() {
        let tasks: Vec<Task> = (1..=12_000).map(task).collect();
        let parts = Told::default().update(&tasks, SystemTime::now());
        assert_eq!(parts.len(), 3);
        for part in &parts {
            assert_eq!(part.new_tasks.len(), part.stats_update.len());
            assert!(prost::Message::encoded_len(part) < 4 * 1024 * 1024);
        }
    }

    #[test]
    fn a_place_is_taken_apart() {
        let place = location("a:b/main.rs:31:5").unwrap();
        assert_eq!(place.file.as_deref(), Some("a:b/main.rs"));
        assert_eq!((place.line, place.column), (Some(31), Some(5)));
        assert!(location("nonsense").is_none());
    }
}
