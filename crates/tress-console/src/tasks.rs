//! Tasks: lists of them, and one.

use crate::json;
use crate::source::{Source, guarded, runtimes};
use std::fmt::{Display, Write as _};
use tress::trace::{TaskView, WaitView};

/// Which tasks are asked for.
#[derive(Debug)]
pub(crate) struct TaskFilter {
    pub(crate) runtime: Option<u64>,
    /// As `file:line:column`.
    pub(crate) site: Option<String>,
    pub(crate) state: Option<String>,
    /// In lower case.
    pub(crate) text: Option<String>,
    pub(crate) offset: usize,
    pub(crate) limit: usize,
}

impl TaskFilter {
    /// Returns whether the task is one of them. `scratch` is reused, since there may be many.
    fn takes(&self, task: &TaskView, scratch: &mut String) -> bool {
        if self.state.as_ref().is_some_and(|state| state != task.state) {
            return false;
        }
        if let Some(site) = &self.site {
            // Of a file in the registry's folder only the end is written.
            reads_as(task.spawned_at, site, scratch);
            let before = scratch.strip_suffix(site.as_str());
            if !before.is_some_and(|before| before.is_empty() || before.ends_with('/')) {
                return false;
            }
        }
        let Some(text) = &self.text else { return true };
        // Writing to a string does not fail.
        scratch.clear();
        let name = task.name.as_deref().unwrap_or_default();
        let _ = write!(
            scratch,
            "{} {name} {} {}",
            task.id, task.spawned_at, task.type_name
        );
        for wait in &task.waits {
            write_wait(scratch, wait);
        }
        let all = scratch.to_lowercase();
        text.split_whitespace().all(|word| all.contains(word))
    }
}

fn write_wait(out: &mut String, wait: &WaitView) {
    let _ = write!(out, " {} {:#x}", wait.kind, wait.resource);
    if let Some(at) = wait.created_at {
        let _ = write!(out, " {at}");
    }
}

/// Returns whether something is displayed as `text`.
fn reads_as(value: impl Display, text: &str, scratch: &mut String) -> bool {
    scratch.clear();
    let _ = write!(scratch, "{value}");
    scratch == text
}

impl Source {
    pub(crate) fn tasks(&self, filter: &TaskFilter) -> Option<String> {
        guarded(|| {
            let mut out = String::from("{\"tasks\":");
            let mut scratch = String::new();
            let mut total = 0;
            let mut shown = Vec::new();
            for runtime in runtimes() {
                let number = filter.runtime.map(|number| number.to_string());
                if number.is_some_and(|number| !reads_as(runtime.id(), &number, &mut scratch)) {
                    continue;
                }
                for task in runtime.sight().tasks() {
                    if filter.takes(&task, &mut scratch) {
                        if total >= filter.offset && shown.len() < filter.limit {
                            shown.push(task);
                        }
                        total += 1;
                    }
                }
            }
            json::array(&mut out, shown, |out, task| out.push_str(&task.to_json()));
            let _ = write!(out, ",\"total\":{total}}}");
            out
        })
    }

    /// Returns a task, what it waits for, and what it holds; inside, `None` if there is no such task.
    pub(crate) fn task(&self, number: u64) -> Option<Option<String>> {
        guarded(|| {
            let number = number.to_string();
            let mut scratch = String::new();
            for runtime in runtimes() {
                let sight = runtime.sight();
                let tasks = sight.tasks();
                let mut ids = tasks.iter().map(|task| task.id);
                let Some(id) = ids.find(|id| reads_as(id, &number, &mut scratch)) else {
                    continue;
                };
                // It may have ended since.
                let (task, chain) = sight.task(id)?;
                let mut out = task.to_json();
                // More fields follow.
                out.pop();
                out.push_str(",\"chain\":");
                json::array(&mut out, &chain, |out, link| out.push_str(&link.to_json()));
                out.push_str(",\"held\":");
                let snapshot = sight.snapshot();
                let held = snapshot.resources.iter().filter(|resource| {
                    resource
                        .holders
                        .iter()
                        .any(|(holder, _)| *holder == Some(id))
                });
                json::array(&mut out, held, |out, resource| {
                    let _ = write!(out, "{{\"kind\":\"{}\",\"resource\":\"", resource.kind);
                    let _ = write!(out, "{:#x}\",\"site\":", resource.resource);
                    let site = resource.created_at.map(ToString::to_string);
                    json::string_or_null(out, site.as_deref());
                    let _ = write!(out, ",\"waiters\":{}}}", resource.waiters);
                });
                // Of all tasks of its site: single tasks are not timed.
                let site = snapshot.sites.iter().find(|site| site.has(&task));
                let none = Vec::new();
                for (name, pairs) in [
                    (
                        "poll_histogram",
                        site.map_or(&none, |site| &site.polls_by_length),
                    ),
                    (
                        "delay_histogram",
                        site.map_or(&none, |site| &site.delays_by_length),
                    ),
                ] {
                    let _ = write!(out, ",\"{name}\":");
                    json::array(&mut out, pairs, |out, (value, count)| {
                        let _ = write!(out, "[{value},{count}]");
                    });
                }
                out.push('}');
                return Some(out);
            }
            None
        })
    }
}
