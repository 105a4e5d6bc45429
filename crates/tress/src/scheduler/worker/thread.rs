//! The life of a worker's thread.

use super::Worker;
use crate::context;
use crate::runtime::{Shared, enter_driving};
use crate::scheduler::call;
use crate::scheduler::multi::Multi;
use crate::sys::{guarded, thread};
use std::cell::Cell;
use std::ptr;
use std::sync::Arc;

/// Runs workers on this thread, beginning with the given one, until the runtime closes.
pub(in crate::scheduler) fn thread_main(shared: Arc<Shared>, index: usize) {
    let multi = shared.multi();
    multi.thread_begins(index);
    let _ends = ThreadEnds(multi);
    let worker = Worker {
        shared: shared.clone(),
        core: Cell::new(None),
    };
    // The hooks run inside the runtime, but may block. One that ends the runtime must not wait for itself.
    let entered = context::enter_runtime(shared.clone());
    let _worker = set_worker(&worker);
    call(&multi.config.on_start);
    let driving = enter_driving(&shared, true);
    let mut core = multi.take_core(index);
    while let Some(held) = core.or_else(|| multi.wait_for_core()) {
        worker.adopt(held);
        multi.start_monitor(&shared);
        if guarded(|| worker.run()).is_none() {
            // Foreign code is guarded where it is called, so the panic is ours: I/O cannot be waited for any more, or
            // there is a bug. Without this worker tasks would wait for ever, so the runtime is closed.
            multi.close();
        }
        // The runtime closes, or the core was given away in `block_in_place`.
        if let Some(core) = worker.core() {
            multi.drop_everything(true);
            // No other thread may drop what is pinned here. Wake-ups in flight are waited for.
            while core.pinned.get() > 0 {
                multi.drop_shared();
                while let Some(task) = core.pop_pinned(&multi.remotes[core.index]) {
                    multi.drop_queued(task);
                }
                thread::yield_now();
            }
            if let Some(core) = worker.give_up() {
                multi.put_away(core);
            }
        } else if multi.is_closing() {
            // The last core may have been put away while our task blocked in place. The task can have woken others,
            // but without a core it filled no slot and no ring.
            multi.drop_shared();
        }
        core = None;
    }
    leave(driving);
    call(&multi.config.on_stop);
    leave(entered);
}

/// Leaves what the thread has entered. A task may have forgotten a guard of its own; this one may then panic.
fn leave<T>(guard: T) {
    guarded(|| drop(guard));
}

/// Tells the threads that wait for this one, whatever ends it.
struct ThreadEnds<'a>(&'a Multi);

impl Drop for ThreadEnds<'_> {
    fn drop(&mut self) {
        self.0.thread_ends();
    }
}

struct SetWorker;

fn set_worker(worker: &Worker) -> SetWorker {
    context::with(|cx| cx.worker.set(ptr::from_ref(worker)));
    SetWorker
}

impl Drop for SetWorker {
    fn drop(&mut self) {
        context::with(|cx| cx.worker.set(ptr::null()));
    }
}
