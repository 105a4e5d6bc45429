//! Tasks' names, and what is counted under each.
//!
//! Only a task that has a name pays for this: its future is wrapped in one that counts.

use super::header::Header;
use crate::sys::{Counter, Mutex, clock};
use pin_project_lite::pin_project;
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Names that are told apart. Those who name each task differently get one entry for the rest.
pub(crate) const MAX_NAMES: usize = 1024;
/// What the tasks of all further names are counted under.
const OTHER: &str = "(other)";
/// One poll of so many is timed.
const TIMED: u64 = 16;

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
        let mut names: Vec<_> = self.table.lock_soon()?.values().cloned().collect();
        names.sort_by(|a, b| a.text.cmp(&b.text));
        if self.other.submitted.get() > 0 {
            names.push(self.other.clone());
        }
        Some(names)
    }
}

pin_project! {
    /// The future of a task that has a name.
    pub(crate) struct Counted<F> {
        #[pin]
        future: F,
        name: Arc<Name>,
    }

    impl<F> PinnedDrop for Counted<F> {
        fn drop(this: Pin<&mut Self>) {
            this.name.completed.add_shared(1);
        }
    }
}

impl<F> Counted<F> {
    pub(crate) fn new(future: F, name: Arc<Name>) -> Counted<F> {
        name.submitted.add_shared(1);
        Counted { future, name }
    }
}

impl<F: Future> Future for Counted<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        Header::note_named_poll();
        if this.name.polled.number() % TIMED != 0 {
            return this.future.poll(cx);
        }
        let start = clock::now();
        let polled = this.future.poll(cx);
        let took = clock::elapsed(start).as_nanos() as u64;
        this.name.timed.add_shared(1);
        this.name.timed_ns.add_shared(took);
        this.name.max_ns.raise_shared(took);
        polled
    }
}
