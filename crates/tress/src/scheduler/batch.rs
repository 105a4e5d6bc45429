//! Queues many tasks at once, under one lock, and wakes one worker for them.

use super::multi::{Multi, Remote};
use super::queue::CAPACITY;
use super::worker::Core;
use crate::task::Ready;

impl Core {
    /// Queues new tasks on this worker, oldest first; those that would fill more than half of its ring go to the
    /// global queue.
    pub(super) fn schedule_batch(&self, multi: &Multi, remote: &Remote, tasks: &mut Vec<Ready>) {
        remote.stats.local_schedules.add(tasks.len() as u64);
        let near = self.ring().room().saturating_sub(CAPACITY / 2);
        for task in tasks.drain(..near.min(tasks.len())) {
            let overflowed = self.ring().push(task, &multi.inject);
            assert!(!overflowed, "a ring with room for a task has overflowed");
        }
        let has_far = !tasks.is_empty();
        if has_far {
            multi.inject.push_batch(tasks.drain(..));
        }
        if has_far || multi.config.stealing {
            multi.notify();
        }
    }
}
