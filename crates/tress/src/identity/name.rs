//! Tasks' names, and what is counted under each.

use crate::sys::{Counter, Mutex};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of names that are told apart. All further ones share an entry.
pub(crate) const MAX_NAMES: usize = 1024;
/// What the tasks of all further names are counted under.
const OTHER: &str = "(other)";

/// A name, and what tasks of that name have done.
#[derive(Debug)]
pub(crate) struct Name {
    text: Box<str>,
    /// It is in its runtime's table, and so lives as long as the runtime.
    listed: bool,
    pub(crate) submitted: Counter,
    pub(crate) completed: Counter,
    pub(crate) polled: Counter,
    timed: Counter,
    timed_ns: Counter,
    max_ns: Counter,
}

impl Name {
    pub(crate) fn new(text: &str, listed: bool) -> Arc<Name> {
        Arc::new(Name {
            text: text.into(),
            listed,
            submitted: Counter::default(),
            completed: Counter::default(),
            polled: Counter::default(),
            timed: Counter::default(),
            timed_ns: Counter::default(),
            max_ns: Counter::default(),
        })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn is_listed(&self) -> bool {
        self.listed
    }

    /// Counts a poll that was timed.
    pub(crate) fn add_timed(&self, took: Duration) {
        let ns = took.as_nanos() as u64;
        self.timed.add_shared(1);
        self.timed_ns.add_shared(ns);
        self.max_ns.raise_shared(ns);
    }

    /// Mean of the polls that were timed, in nanoseconds.
    pub(crate) fn mean_ns(&self) -> u64 {
        let timed = self.timed.get();
        self.timed_ns.get().checked_div(timed).unwrap_or(0)
    }

    /// The longest of them.
    pub(crate) fn max_ns(&self) -> u64 {
        self.max_ns.get()
    }
}

/// The names of a runtime's tasks.
pub(crate) struct Names {
    table: Mutex<HashMap<Box<str>, Arc<Name>>>,
    other: Arc<Name>,
}

impl Default for Names {
    fn default() -> Names {
        Names {
            table: Mutex::new(HashMap::new()),
            other: Name::new(OTHER, true),
        }
    }
}

impl Names {
    /// The task's name, and what it is counted under: the same, unless there are too many names.
    pub(crate) fn get(&self, text: &str) -> (Arc<Name>, Arc<Name>) {
        let mut table = self.table.lock();
        if let Some(name) = table.get(text) {
            return (name.clone(), name.clone());
        }
        if table.len() == MAX_NAMES {
            return (Name::new(text, false), self.other.clone());
        }
        let name = Name::new(text, true);
        table.insert(text.into(), name.clone());
        (name.clone(), name)
    }

    /// All names, in order; none if somebody has been changing the table for too long.
    pub(crate) fn all(&self) -> Option<Vec<Arc<Name>>> {
        let mut names: Vec<Arc<Name>> = Vec::new();
        // There are few. A sort of their type would be long, and for this alone.
        for name in self.table.lock_soon()?.values() {
            let at = names.partition_point(|other| other.text < name.text);
            names.insert(at, name.clone());
        }
        if self.other.submitted.get() > 0 {
            names.push(self.other.clone());
        }
        Some(names)
    }
}
