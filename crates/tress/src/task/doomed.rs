//! The end of all tasks of a runtime or a set: they are dropped in the order in which they were spawned, whether they
//! wait in a queue or for a wake-up.

use super::run::TaskRef;
use crate::identity::{Id, order};

/// The tasks that are about to be dropped, and what was found of them in queues.
pub(crate) struct Doomed<Q> {
    /// In order of their ids.
    ids: Vec<Id>,
    /// For each of them the entry of a queue, until it is dropped.
    ready: Vec<Option<Q>>,
    /// Entries of those that came into being since the list was made, in order of their ids.
    late: Vec<(Id, Q)>,
}

impl<Q> Doomed<Q> {
    /// Adds what a queue had.
    pub(crate) fn add(&mut self, id: Id, entry: Q) {
        match self.ids.binary_search(&id) {
            Ok(at) => self.ready[at] = Some(entry),
            Err(_) => {
                let at = self.late.partition_point(|(other, _)| *other < id);
                self.late.insert(at, (id, entry));
            }
        }
    }
}

/// Drops the tasks in the order of their ids, which is that of their spawns if one thread made them. Returns how many
/// were completed here; another thread may have the rest in its hands, and will queue them.
///
/// `queued` adds what is in the queues, and is called again and again: the destructor of one task may wake
/// another, or abort it. `refuse` cancels a task that was there.
///
/// # Safety
/// The futures may be dropped on this thread.
pub(crate) unsafe fn drop_in_order<Q>(
    live: Vec<TaskRef>,
    mut queued: impl FnMut(&mut Doomed<Q>),
    refuse: impl Fn(Q),
) -> usize {
    let live = order::by_key(live, |task| task.header().id().get());
    let mut doomed = Doomed {
        ids: live.iter().map(|task| task.header().id()).collect(),
        ready: live.iter().map(|_| None).collect(),
        late: Vec::new(),
    };
    let mut completed = 0;
    for (at, task) in live.into_iter().enumerate() {
        queued(&mut doomed);
        let done = match doomed.ready[at].take() {
            Some(task) => {
                refuse(task);
                true
            }
            // SAFETY: by the caller's promise.
            None => unsafe { task.shut_down() },
        };
        completed += usize::from(done);
    }
    queued(&mut doomed);
    // A task that was there may have come back to a queue, if another thread had it.
    let again = doomed.ready.into_iter().flatten();
    for entry in again.chain(doomed.late.into_iter().map(|(_, entry)| entry)) {
        refuse(entry);
        completed += 1;
    }
    completed
}
