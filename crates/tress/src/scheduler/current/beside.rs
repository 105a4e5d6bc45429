//! Several threads in `block_on`: one of them drives, the others wait beside it.

use super::Current;
use super::drive::Core;
use crate::runtime::Shared;
use crate::sys::atomic::Ordering;
use crate::sys::plain::AtomicBool;
use crate::sys::thread;
use crate::task::coop;
use crate::words;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// Holds the core while no thread drives the runtime.
pub(super) struct CoreSlot {
    /// The core, while no thread drives the runtime.
    pub(super) core: Option<Box<Core>>,
    /// Threads to tell when it is back.
    pub(super) waiting: Vec<thread::Thread>,
}

impl Current {
    /// Drives the runtime until `future` is ready; or, while another thread drives it, waits for that thread to make
    /// progress for us. The caller has entered the runtime.
    ///
    /// # Panics
    /// A task has panicked, and the runtime ends with it.
    #[track_caller]
    pub(crate) fn block_on<F: Future>(
        &self,
        shared: &Arc<Shared>,
        mut future: Pin<&mut F>,
    ) -> F::Output {
        self.start_monitor(shared);
        loop {
            if self.root.has_panicked() {
                panic!("{}", words::UNHANDLED_PANIC);
            }
            if let Some(core) = self.take_core() {
                match self.drive(shared, core, future.as_mut()) {
                    Some(output) => return output,
                    None => continue,
                }
            }
            // Another thread drives. Poll our future as an ordinary thread, until it is ready or the core is free.
            if let Some(output) = self.wait_beside(future.as_mut()) {
                return output;
            }
        }
    }

    fn wait_beside<F: Future>(&self, mut future: Pin<&mut F>) -> Option<F::Output> {
        let beside = Arc::new(Beside {
            woken: AtomicBool::new(true),
            thread: thread::current(),
        });
        let waker = Waker::from(beside.clone());
        let mut cx = Context::from_waker(&waker);
        loop {
            if beside.woken.swap(false, Ordering::AcqRel) {
                let polled = coop::with_fresh_budget(|| future.as_mut().poll(&mut cx));
                if let Poll::Ready(output) = polled {
                    return Some(output);
                }
            }
            let mut slot = self.slot.lock();
            if slot.core.is_some() || self.root.has_panicked() {
                return None;
            }
            if !slot.waiting.iter().any(|t| t.id() == beside.thread.id()) {
                slot.waiting.push(beside.thread.clone());
            }
            drop(slot);
            if !beside.woken.load(Ordering::Acquire) {
                thread::park();
            }
        }
    }

    pub(super) fn take_core(&self) -> Option<Box<Core>> {
        self.slot.lock().core.take()
    }

    pub(super) fn put_core(&self, core: Box<Core>) {
        self.leave(Some(core));
    }

    /// Ends the runtime, which this thread has driven, because a task has panicked. Threads beside it panic, too.
    pub(super) fn end(&self, core: Box<Core>) {
        if !self.begin_closing() {
            return self.put_core(core);
        }
        self.drop_tasks(&core);
        self.leave(None);
    }

    /// Puts the core back, if it is still of use, and tells those that wait.
    fn leave(&self, core: Option<Box<Core>>) {
        let waiting = {
            let mut slot = self.slot.lock();
            slot.core = core;
            std::mem::take(&mut slot.waiting)
        };
        for thread in waiting {
            thread.unpark();
        }
    }
}

/// A thread that waits in `block_on` while another one drives.
struct Beside {
    woken: AtomicBool,
    thread: thread::Thread,
}

impl Wake for Beside {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}
