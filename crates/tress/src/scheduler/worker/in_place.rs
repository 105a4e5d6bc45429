//! Blocking on a worker's thread: another thread takes over its core.

use super::Worker;
use crate::context::{self, Enter, Held};
use crate::sys::atomic::Ordering;
use crate::task::{coop, leaf};
use crate::words;

/// Runs a blocking function on this thread, letting another one take over its worker meanwhile.
#[track_caller]
pub(crate) fn block_in_place<R>(f: impl FnOnce() -> R) -> R {
    let entered = context::with(|cx| cx.enter());
    let allowed = match entered {
        Enter::No => true,
        Enter::Driving {
            allow_block_in_place,
        } => allow_block_in_place,
    };
    assert!(
        allowed,
        "{}: on a current-thread runtime or in a LocalSet there is no other thread to take over; \
         use `spawn_blocking` instead of `block_in_place`",
        words::IN_PLACE
    );

    /// Puts everything back, also when `f` panics.
    struct Resume<'a> {
        entered: Enter,
        budget: coop::Budget,
        lost: Option<(&'a Worker, usize)>,
    }
    impl Drop for Resume<'_> {
        fn drop(&mut self) {
            if let Some((worker, index)) = self.lost {
                if let Some(core) = worker.multi().take_core(index) {
                    worker.multi().in_place.fetch_sub(1, Ordering::AcqRel);
                    worker.adopt(core);
                }
            }
            context::with(|cx| cx.set_enter(self.entered));
            coop::set(self.budget);
        }
    }

    // Subtle: outside of a task, in a hook or a foreign waker, the worker is in the middle of something and needs its
    // core.
    let in_task = context::with(|cx| cx.task.get().is_some());
    let worker = Worker::here().filter(|_| in_task);
    let lost = worker.and_then(|worker| {
        // Subtle: tasks pinned to this thread could not run on another one, which would have to give the core back
        // for them. The core stays, and what can be stolen will be.
        if worker.core()?.pinned.get() > 0 {
            return None;
        }
        let core = worker.give_up()?;
        let index = core.index;
        if core.searching.take() {
            // It cannot be searching while it runs a task; this only keeps the count right.
            let _ = worker.multi().idle.stop_searching();
        }
        match worker.multi().hand_off(core) {
            Ok(()) => Some((worker, index)),
            Err((core, error)) => {
                worker.adopt(core);
                panic!(
                    "{}: {error}; block_in_place needs one that takes over its worker: raise the process's \
                     thread limit (ulimit -u, cgroup pids.max) or use `spawn_blocking`",
                    words::NO_WORKER_THREAD
                );
            }
        }
    });
    let _resume = Resume {
        entered,
        budget: coop::stop(),
        lost,
    };
    context::with(|cx| cx.set_enter(Enter::No));
    let _in_place = leaf::InPlace::enter();
    context::hold(Held::InPlace, f)
}
