//! The rules that need no memory: what one look is enough for.

use super::chain::round;
use super::finding::{Finding, FindingKind, Severity, place};
use super::look::{Look, Tasks};
use super::thresholds::Thresholds;
use crate::identity::Id;
use crate::sight::{self, Site, WaitKind};
use std::collections::HashMap;
use std::time::Duration;

/// How long a queue must have been long: one that was full for a moment is no harm.
const LONG_FOR: Duration = Duration::from_secs(2);

/// The tasks that wait for one thing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Crowd {
    pub(super) kind: WaitKind,
    pub(super) site: Option<Site>,
    pub(super) waiters: usize,
    pub(super) longest: Duration,
    /// The task that has waited longest.
    pub(super) first: u64,
}

/// Returns the waiting tasks by what they wait for.
pub(super) fn crowds(look: &Look) -> HashMap<u64, Crowd> {
    let mut crowds: HashMap<u64, Crowd> = HashMap::new();
    for (task, waits) in look.waiting() {
        for wait in waits.iter() {
            if matches!(wait.kind, WaitKind::Timer | WaitKind::Join) {
                continue;
            }
            let waited = look.since(wait.since);
            let crowd = crowds.entry(wait.resource).or_insert(Crowd {
                kind: wait.kind,
                site: wait.site,
                waiters: 0,
                longest: Duration::ZERO,
                first: task,
            });
            crowd.waiters += 1;
            if waited > crowd.longest {
                crowd.longest = waited;
                crowd.first = task;
            }
        }
    }
    crowds
}

/// Returns the channels in which senders wait for room, and those that have grown long.
pub(super) fn full_channels(
    crowds: &HashMap<u64, Crowd>,
    tasks: &Tasks,
    limits: &Thresholds,
) -> Vec<Finding> {
    let mut found = Vec::new();
    for (resource, crowd) in crowds {
        if crowd.kind != WaitKind::ChannelSend || crowd.longest < limits.full_channel {
            continue;
        }
        let known = tasks.get(crowd.first);
        let others = match crowd.waiters - 1 {
            0 => String::new(),
            1 => ", and so has another task".to_owned(),
            n => format!(", and so have {n} others"),
        };
        found.push(Finding {
            kind: FindingKind::FullChannel,
            severity: Severity::Warning,
            text: format!(
                "The channel{} is full: {} has waited {} for room in it{others}; its receiver does not keep up",
                created(crowd.site),
                tasks.say(crowd.first),
                round(crowd.longest)
            ),
            task: Id::from_raw(crowd.first),
            name: known.and_then(|known| known.name.clone()),
            site: crowd.site,
            chain: Vec::new(),
            cycle: false,
            since: crowd.longest,
            about: *resource,
        });
    }
    found
}

/// Returns the queues without a limit that have grown long.
pub(super) fn long_queues(look: &Look, limits: &Thresholds) -> Vec<Finding> {
    let long = sight::grown_queues();
    let most = |kind| match kind {
        WaitKind::Mailbox => limits.long_mailbox,
        _ => limits.long_channel,
    };
    let long = long.into_iter().filter(|(_, queue)| {
        queue.length >= most(queue.kind) && look.since(queue.since) >= LONG_FOR
    });
    long.map(|(resource, queue)| {
        let (kind, what) = match queue.kind {
            WaitKind::Mailbox => (FindingKind::FullMailbox, "mailbox"),
            _ => (FindingKind::FullChannel, "unbounded channel"),
        };
        Finding {
            kind,
            severity: Severity::Warning,
            text: format!(
                "The {what}{} holds {} messages or more: its receiver does not keep up, and nothing holds its senders back",
                created(queue.site),
                queue.length
            ),
            task: None,
            name: None,
            site: queue.site,
            chain: Vec::new(),
            cycle: false,
            since: look.since(queue.since),
            about: resource,
        }
    })
    .collect()
}

pub(super) fn created(site: Option<Site>) -> String {
    site.map(|site| format!(" created at {}", place(site)))
        .unwrap_or_default()
}
