//! Tasks that wait for each other, or for what will never come.

use super::finding::{Finding, FindingKind, Link, Severity};
use super::look::{Chain, End, Look, Tasks};
use super::thresholds::Thresholds;
use crate::identity::Id;
use crate::runtime::Shared;
use crate::sight::{Wait, WaitKind};
use std::collections::HashSet;
use std::fmt::Write as _;
use std::time::Duration;

/// Returns the deadlocks, and the tasks that have waited too long for what others hold.
pub(super) fn stuck(
    shared: &Shared,
    look: &Look,
    tasks: &Tasks,
    limits: &Thresholds,
) -> Vec<Finding> {
    let mut found = Vec::new();
    // A deadlock is told once, and so is a task that holds up many.
    let mut told: HashSet<u64> = HashSet::new();
    let mut oldest: Vec<(u64, Duration)> = candidates(look, limits);
    // The ones that have waited longest come first, and of equals the one with the lowest number.
    oldest.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    for (task, waited) in oldest {
        let chain = look.chain(task);
        // What concerns only tasks of other runtimes is told there.
        if !chain
            .links
            .iter()
            .any(|(task, _)| tasks.is_of(*task, shared))
        {
            continue;
        }
        if let End::Cycle(at) = chain.end {
            let members: Vec<u64> = chain.links[at..].iter().map(|(task, _)| *task).collect();
            let first = members.iter().copied().min().unwrap_or(task);
            // What also waits for something else may go on, but has not for a long time.
            let holds = chain.certain || waited >= limits.stuck;
            if holds && lasts(look, &members, limits) && told.insert(first) {
                found.push(deadlock(look, tasks, first));
            }
            continue;
        }
        let (last, _) = chain.links[chain.links.len() - 1];
        let on_the_way = chain.links[1..].iter().any(|(task, _)| told.contains(task));
        if chain.links.len() > 1 && waited >= limits.stuck && !on_the_way && told.insert(last) {
            found.push(waits_long(look, tasks, &chain, waited));
        }
    }
    found
}

/// Returns the tasks that wait for what another one holds, and for how long.
fn candidates(look: &Look, limits: &Thresholds) -> Vec<(u64, Duration)> {
    let least = limits.deadlock.min(limits.stuck);
    let waited = |wait: &Wait| {
        let held = wait.kind.has_holder() || wait.kind == WaitKind::Join;
        held.then(|| look.since(wait.since))
    };
    look.waiting()
        .filter_map(|(task, waits)| Some((task, waits.iter().filter_map(waited).max()?)))
        .filter(|(_, waited)| *waited >= least)
        .collect()
}

/// Returns whether any task has waited long enough to be told of.
pub(super) fn is_any(look: &Look, limits: &Thresholds) -> bool {
    !candidates(look, limits).is_empty()
}

/// Returns whether all members of a cycle have waited for long enough.
fn lasts(look: &Look, members: &[u64], limits: &Thresholds) -> bool {
    let long = |task: &u64| look.idle(*task).is_some_and(|idle| idle >= limits.deadlock);
    members.iter().all(long)
}

fn links(look: &Look, tasks: &Tasks, chain: &Chain) -> Vec<Link> {
    let link = |(task, wait): &(u64, Option<Wait>)| look.link(*task, wait.as_ref(), tasks);
    chain.links.iter().filter_map(link).collect()
}

fn deadlock(look: &Look, tasks: &Tasks, first: u64) -> Finding {
    let chain = look.chain(first);
    let mut text = String::from("Deadlock: ");
    if let [(task, Some(wait))] = &chain.links[..] {
        let what = look.wait_view(wait).what();
        let who = tasks.say(*task);
        let _ = match wait.kind {
            WaitKind::Join => write!(text, "{who} waits for its own end"),
            _ => write!(text, "{who} waits for {what}, which it holds itself"),
        };
    } else {
        tell(&mut text, look, tasks, &chain);
    }
    if !chain.certain {
        text.push_str("; one of them waits for something else, too, which has not come");
    }
    let shortest = chain
        .links
        .iter()
        .filter_map(|(task, _)| look.idle(*task))
        .min();
    let known = tasks.get(first);
    Finding {
        kind: FindingKind::Deadlock,
        severity: Severity::Critical,
        text,
        task: Id::from_raw(first),
        name: known.and_then(|known| known.name.clone()),
        site: known.map(|known| known.spawned_at),
        chain: links(look, tasks, &chain),
        cycle: true,
        since: shortest.unwrap_or_default(),
        about: first,
    }
}

fn waits_long(look: &Look, tasks: &Tasks, chain: &Chain, waited: Duration) -> Finding {
    let (task, wait) = &chain.links[0];
    let mut text = format!("{} has waited {} for ", tasks.say(*task), round(waited));
    if let Some(wait) = wait {
        tell_wait(&mut text, look, tasks, wait, chain.links.get(1));
        for (n, (_, wait)) in chain.links.iter().enumerate().skip(1) {
            match wait {
                Some(wait) => {
                    let longer = round(look.since(wait.since));
                    let _ = write!(text, ", which has waited {longer} for ");
                    tell_wait(&mut text, look, tasks, wait, chain.links.get(n + 1));
                }
                None => text.push_str(", which waits for nothing that is known here"),
            }
        }
    }
    let known = tasks.get(*task);
    Finding {
        kind: FindingKind::Stuck,
        severity: Severity::Critical,
        text,
        task: Id::from_raw(*task),
        name: known.and_then(|known| known.name.clone()),
        site: known.map(|known| known.spawned_at),
        chain: links(look, tasks, chain),
        cycle: false,
        since: waited,
        about: *task,
    }
}

/// Tells a cycle: a task, what it waits for, the task that holds that, and so on.
fn tell(text: &mut String, look: &Look, tasks: &Tasks, chain: &Chain) {
    let first = chain.links[0];
    text.push_str(&tasks.say(first.0));
    for (n, (_, wait)) in chain.links.iter().enumerate() {
        let next = chain.links.get(n + 1).unwrap_or(&first);
        text.push_str(if n == 0 {
            " waits for "
        } else {
            ", which waits for "
        });
        if let Some(wait) = wait {
            tell_wait(text, look, tasks, wait, Some(next));
        }
    }
}

fn tell_wait(
    text: &mut String,
    look: &Look,
    tasks: &Tasks,
    wait: &Wait,
    next: Option<&(u64, Option<Wait>)>,
) {
    let view = look.wait_view(wait);
    match (wait.kind, next) {
        (WaitKind::Join, _) => {
            let _ = write!(text, "the end of {}", tasks.say(wait.resource));
        }
        (_, Some((holder, _))) => {
            let _ = write!(text, "{}, held by {}", view.what(), tasks.say(*holder));
        }
        (_, None) => text.push_str(&view.what()),
    }
}

/// Returns a time in words, as exact as a reader wants it.
pub(super) fn round(time: Duration) -> String {
    let ms = time.as_millis();
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..10_000 => format!("{:.1} s", time.as_secs_f64()),
        10_000..600_000 => format!("{} s", time.as_secs()),
        _ => format!("{} min", time.as_secs() / 60),
    }
}

/// Returns the tasks that nothing can wake any more.
pub(super) fn lost(
    shared: &Shared,
    look: &Look,
    tasks: &Tasks,
    limits: &Thresholds,
) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for (task, known) in tasks.of(shared) {
        let Some(idle) = look.idle(task).filter(|idle| *idle >= limits.lost_wake) else {
            continue;
        };
        if !known.outline.is_lost() {
            continue;
        }
        found.push(Finding {
            kind: FindingKind::LostWake,
            severity: Severity::Warning,
            text: format!(
                "{} has waited {} and will never run again: nothing is left that could wake it",
                tasks.say(task),
                round(idle)
            ),
            task: Id::from_raw(task),
            name: known.name.clone(),
            site: Some(known.spawned_at),
            chain: look
                .link(task, look.of(task).and_then(|w| w.iter().next()), tasks)
                .into_iter()
                .collect(),
            cycle: false,
            since: idle,
            about: task,
        });
    }
    found.sort_by_key(|finding| finding.task);
    found
}
