//! Dumps of tasks: where each task of a runtime waits, as backtraces.
//!
//! [`Handle::dump`](super::Handle::dump) polls every task of a runtime in a mode in which leaf operations, such as waiting
//! for a channel or a timer, only take a backtrace. [`Trace::capture`] does the same to any future, and [`trace_with`]
//! lets the caller take the backtraces.

mod collect;
mod symbols;
mod trace;
mod tree;

pub use crate::task::leaf::{Root, TraceMeta, trace_with};
pub use symbols::{Backtrace, BacktraceFrame, BacktraceSymbol};
pub use trace::Trace;

pub(crate) use collect::{InPlace, forget, wanting};

use crate::identity::Id;

/// Where the tasks of a runtime wait; returned by [`Handle::dump`](super::Handle::dump).
///
/// # Examples
/// ```
/// use tress::runtime::Handle;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let waiting = tress::spawn(std::future::pending::<()>());
/// let dump = Handle::current().dump().await;
/// assert!(dump.tasks().iter().any(|task| task.id() == waiting.id()));
/// # });
/// ```
#[derive(Debug)]
pub struct Dump {
    tasks: Tasks,
}

/// The tasks of a [`Dump`].
#[derive(Debug)]
pub struct Tasks {
    tasks: Vec<Task>,
}

/// One task of a [`Dump`].
#[derive(Debug)]
pub struct Task {
    id: Id,
    trace: Trace,
}

impl Dump {
    fn new(tasks: Vec<Task>) -> Dump {
        Dump {
            tasks: Tasks { tasks },
        }
    }

    /// Returns the tasks.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }
}

impl Tasks {
    /// Returns an iterator over the tasks, in the order in which they were spawned.
    pub fn iter(&self) -> impl Iterator<Item = &Task> {
        self.tasks.iter()
    }
}

impl Task {
    /// Returns the task's id.
    pub fn id(&self) -> Id {
        self.id
    }

    /// Returns where the task waits.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }
}
