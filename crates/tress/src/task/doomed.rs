//! The end of all tasks of a runtime or a set: they are dropped in the order in which they were spawned, whether they
//! wait in a queue or for a wake-up.

use super::run::TaskRef;
use crate::identity::{Id, order};

/// The tasks that are about to be dropped, and what was found of them in queues.
pub(crate) struct Doomed<Q> {
    /// Each with the entry of a queue, until that is dropped, in order of their ids.
    known: Vec<(Id, Option<Q>)>,
    /// Entries of those that came into being since the list was made, in order of their ids.
    late: Vec<(Id, Q)>,
}

impl<Q> Doomed<Q> {
    /// Adds what a queue had.
    pub(crate) fn add(&mut self, id: Id, entry: Q) {
        match self.known.binary_search_by_key(&id, |(id, _)| *id) {
            Ok(at) => self.known[at].1 = Some(entry),
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
    mut live: Vec<TaskRef>,
    mut queued: impl FnMut(&mut Doomed<Q>),
    refuse: impl Fn(Q),
) -> usize {
    order::by_key(&mut live, |task| task.header().id().get());
    let mut doomed = Doomed {
        known: Vec::with_capacity(live.len()),
        late: Vec::new(),
    };
    for task in &live {
        doomed.known.push((task.header().id(), None));
    }
    let mut completed = 0;
    for (at, task) in live.into_iter().enumerate() {
        queued(&mut doomed);
        let done = match doomed.known[at].1.take() {
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
    // One that another thread had may have come to a queue since.
    for (_, entry) in doomed.known {
        completed += entry.map(&refuse).map_or(0, |()| 1);
    }
    for (_, entry) in doomed.late {
        refuse(entry);
        completed += 1;
    }
    completed
}
