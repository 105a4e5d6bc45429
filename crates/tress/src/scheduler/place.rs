//! Where a new task is made, and where it goes.

use super::current::Driving;
use super::frame::Loop;
use super::multi::{Multi, Remote};
use super::outside::Door;
use super::worker::Core;
#[cfg(all(feature = "coroutine", unix, not(loom)))]
use super::worker::Worker;
#[cfg(not(loom))]
use crate::task::Ran;
use crate::task::{AnyOwner, Ready, Source};

/// Where this thread may make tasks, which then go to [`queue`](Place::queue). While it exists, this thread owns the
/// owner's slab if the source says so.
#[must_use]
pub(crate) struct Place<'a> {
    owner: &'a AnyOwner,
    source: Source,
    to: To<'a>,
}

// With a tag of its own: one in what the door has no use for would take longer to read.
#[repr(u8)]
enum To<'a> {
    /// This thread is that worker.
    Core(&'a Multi, &'a Remote, &'a Core),
    /// As `Core`, for a task that stays there.
    #[cfg(all(feature = "coroutine", unix, not(loom)))]
    Bound(&'a Worker, &'a Core),
    /// This thread drives a current-thread runtime.
    Driving(&'a Driving),
    /// This thread runs no tasks of the scheduler.
    Outside(Door<'a>, &'a dyn Loop),
}

impl<'a> Place<'a> {
    #[inline]
    pub(super) fn on_core(multi: &'a Multi, remote: &'a Remote, core: &'a Core) -> Place<'a> {
        Place {
            owner: &remote.owner,
            source: Source::Page,
            to: To::Core(multi, remote, core),
        }
    }

    #[cfg(all(feature = "coroutine", unix, not(loom)))]
    pub(super) fn bound_to(owner: &'a AnyOwner, worker: &'a Worker, core: &'a Core) -> Place<'a> {
        Place {
            owner,
            source: Source::Page,
            to: To::Bound(worker, core),
        }
    }

    pub(super) fn driving(owner: &'a AnyOwner, driving: &'a Driving) -> Place<'a> {
        Place {
            owner,
            source: Source::Page,
            to: To::Driving(driving),
        }
    }

    pub(super) fn outside(door: Door<'a>, scheduler: &'a dyn Loop) -> Place<'a> {
        Place {
            owner: door.owner(),
            source: door.source(),
            to: To::Outside(door, scheduler),
        }
    }

    #[inline]
    pub(crate) fn owner(&self) -> &'a AnyOwner {
        self.owner
    }

    #[inline]
    pub(crate) fn source(&self) -> Source {
        self.source
    }

    /// Queues the task that was made here. If the scheduler is closing the task is cancelled: its future may be
    /// dropped on the thread that it came from.
    #[inline(always)]
    pub(crate) fn queue(self, task: Ready) {
        match self.to {
            To::Core(multi, remote, core) => core.schedule_new(multi, remote, task),
            #[cfg(all(feature = "coroutine", unix, not(loom)))]
            To::Bound(worker, core) => core.schedule_bound(worker, task),
            To::Driving(driving) => driving.queue_new(task),
            To::Outside(door, scheduler) => queue_outside(door, scheduler, task),
        }
    }

    /// As `queue`, for all tasks that were made here, oldest first.
    pub(crate) fn queue_all(self, tasks: &mut Vec<Ready>) {
        match self.to {
            To::Core(multi, remote, core) => core.schedule_batch(multi, remote, tasks),
            #[cfg(all(feature = "coroutine", unix, not(loom)))]
            To::Bound(worker, core) => {
                tasks
                    .drain(..)
                    .for_each(|task| core.schedule_bound(worker, task));
            }
            To::Driving(driving) => tasks.drain(..).for_each(|task| driving.queue_new(task)),
            To::Outside(door, scheduler) => match door.leave() {
                true => scheduler.push_batch_outside(tasks.drain(..)),
                false => tasks.drain(..).for_each(Ready::refuse),
            },
        }
    }

    /// Runs the task here and now, up to its first suspension. The place is one outside of the scheduler.
    #[cfg(not(loom))]
    pub(crate) fn run(self, task: Ready) {
        let To::Outside(door, scheduler) = self.to else {
            return self.queue(task);
        };
        if !door.leave() {
            return task.refuse();
        }
        match task.run() {
            Ran::Idle => {}
            Ran::Complete => scheduler.frame().outside_completed.add_shared(1),
            Ran::Requeue(task) => scheduler.push_outside(task),
        }
    }
}

#[inline(never)]
fn queue_outside(door: Door<'_>, scheduler: &dyn Loop, task: Ready) {
    match door.leave() {
        true => scheduler.push_outside(task),
        false => task.refuse(),
    }
}
