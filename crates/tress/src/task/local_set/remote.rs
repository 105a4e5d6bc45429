//! What other threads see of a `LocalSet`: a queue for tasks they woke, and who is to be told.
//!
//! A *driver* is a future that runs the set's tasks when it is polled: a `RunUntil`, or the
//! `LocalSet` itself. There can be several at a time, each in a task of its own; any of them can run
//! everything, but which will live long enough is not known, so all of them are told.
//!
//! No wake-up is lost: a driver leaves its waker under the same lock under which it finds the queue
//! empty, and a task is queued under the lock under which the wakers are taken out. Foreign code
//! (cloning, waking and dropping wakers) never runs under it.

use super::Set;
use crate::sys::atomic::{AtomicUsize, Ordering};
use crate::sys::{Mutex, Parker};
use crate::task::Woken;
use crate::task::ready::LocalReady;
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

/// See the module documentation.
pub(super) struct Remote {
    state: Mutex<State>,
    /// The queue's length, so that finding it empty costs a load. Written under the lock.
    len: AtomicUsize,
}

struct State {
    queue: VecDeque<Woken<Set>>,
    wakers: Wakers,
    /// The set's thread, when it waits for a task that is on its way here.
    closing: Option<Arc<Parker>>,
}

/// Wakers of drivers, by the driver's number. Nearly always there is one driver.
#[derive(Default)]
struct Wakers {
    first: Option<(usize, Waker)>,
    others: Vec<(usize, Waker)>,
}

impl Wakers {
    fn take(&mut self) -> Wakers {
        Wakers {
            first: self.first.take(),
            others: std::mem::take(&mut self.others),
        }
    }

    fn get(&self, driver: usize) -> Option<&Waker> {
        let mut all = self.first.iter().chain(&self.others);
        all.find(|(key, _)| *key == driver).map(|(_, waker)| waker)
    }

    fn remove(&mut self, driver: usize) -> Option<Waker> {
        if let Some((_, waker)) = self.first.take_if(|(key, _)| *key == driver) {
            return Some(waker);
        }
        let at = self.others.iter().position(|(key, _)| *key == driver)?;
        Some(self.others.swap_remove(at).1)
    }

    fn insert(&mut self, driver: usize, waker: Waker) {
        match &self.first {
            None => self.first = Some((driver, waker)),
            Some(_) => self.others.push((driver, waker)),
        }
    }

    fn wake(self) {
        for (_, waker) in self.first.into_iter().chain(self.others) {
            waker.wake();
        }
    }
}

impl Remote {
    pub(super) fn new() -> Remote {
        Remote {
            state: Mutex::new(State {
                queue: VecDeque::new(),
                wakers: Wakers::default(),
                closing: None,
            }),
            len: AtomicUsize::new(0),
        }
    }

    /// Queues a task and tells the drivers. From any thread.
    pub(super) fn push(&self, task: Woken<Set>) {
        let mut state = self.state.lock();
        state.queue.push_back(task);
        self.len.store(state.queue.len(), Ordering::Release);
        let wakers = state.wakers.take();
        let closing = state.closing.take();
        drop(state);
        if let Some(thread) = closing {
            thread.unpark();
        }
        wakers.wake();
    }

    /// Tells the drivers.
    pub(super) fn notify(&self) {
        let wakers = self.state.lock().wakers.take();
        wakers.wake();
    }

    /// Takes the oldest task. On the set's thread.
    pub(super) fn pop(&self) -> Option<Woken<Set>> {
        if self.len.load(Ordering::Acquire) == 0 {
            return None;
        }
        let mut state = self.state.lock();
        let task = state.queue.pop_front();
        self.len.store(state.queue.len(), Ordering::Release);
        task
    }

    /// Moves everything to the end of `local`. On the set's thread.
    pub(super) fn drain_into(&self, local: &mut VecDeque<LocalReady>) {
        if self.len.load(Ordering::Acquire) != 0 {
            let mut state = self.state.lock();
            local.extend(state.queue.drain(..).map(Woken::at_home));
            self.len.store(0, Ordering::Release);
        }
    }

    /// Leaves a driver's waker, unless there is something to run: then false.
    pub(super) fn register(&self, driver: usize, waker: &Waker) -> bool {
        let state = self.state.lock();
        if !state.queue.is_empty() {
            return false;
        }
        let known = state.wakers.get(driver);
        if known.is_some_and(|known| known.will_wake(waker)) {
            return true;
        }
        drop(state);
        let waker = waker.clone();
        let mut state = self.state.lock();
        if !state.queue.is_empty() {
            // The lock goes before the unused clone: locals are dropped in reverse.
            return false;
        }
        let old = state.wakers.remove(driver);
        state.wakers.insert(driver, waker);
        drop(state);
        drop(old);
        true
    }

    /// A driver ends. Its waker is dropped here.
    pub(super) fn forget(&self, driver: usize) {
        let old = self.state.lock().wakers.remove(driver);
        drop(old);
    }

    /// Blocks until a task is queued.
    pub(super) fn wait_for_push(&self) {
        let parker = Arc::new(Parker::new());
        {
            let mut state = self.state.lock();
            if !state.queue.is_empty() {
                return;
            }
            state.closing = Some(parker.clone());
        }
        while !parker.park(None) {}
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use crate::sys::Arc;
    use crate::sys::atomic::AtomicBool;
    use crate::task::Ready;
    use std::ptr::NonNull;
    use std::task::Wake;

    struct Flag(AtomicBool);

    impl Wake for Flag {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    /// A task that nobody looks into.
    fn task() -> Woken<Set> {
        // SAFETY: as said.
        unsafe { Woken::new(Ready::from_raw(NonNull::dangling())) }
    }

    /// Is there one? If so it is taken out, and forgotten.
    fn pop(remote: &Remote) -> bool {
        remote.pop().map(std::mem::forget).is_some()
    }

    /// A driver that went to sleep has been woken, or it saw the task.
    #[test]
    fn a_sleeping_driver_is_told() {
        loom::model(|| {
            let remote = Arc::new(Remote::new());
            let other = remote.clone();
            let thread = loom::thread::spawn(move || other.push(task()));
            let flag = std::sync::Arc::new(Flag(AtomicBool::new(false)));
            let slept = remote.register(1, &Waker::from(flag.clone()));
            thread.join().unwrap();
            assert!(!slept || flag.0.load(Ordering::SeqCst));
            assert!(pop(&remote));
        });
    }

    /// One of two drivers goes away while a task comes: the other one is told all the same.
    #[test]
    fn a_leaving_driver_takes_no_wake_with_it() {
        loom::model(|| {
            let remote = Arc::new(Remote::new());
            let stays = std::sync::Arc::new(Flag(AtomicBool::new(false)));
            let leaves = std::sync::Arc::new(Flag(AtomicBool::new(false)));
            assert!(remote.register(1, &Waker::from(leaves)));
            assert!(remote.register(2, &Waker::from(stays.clone())));
            let other = remote.clone();
            let thread = loom::thread::spawn(move || other.push(task()));
            remote.forget(1);
            thread.join().unwrap();
            assert!(stays.0.load(Ordering::SeqCst));
            assert!(pop(&remote));
        });
    }

    #[test]
    fn closing_waits_for_the_task_that_is_on_its_way() {
        loom::model(|| {
            let remote = Arc::new(Remote::new());
            let other = remote.clone();
            let thread = loom::thread::spawn(move || other.push(task()));
            remote.wait_for_push();
            assert!(pop(&remote));
            thread.join().unwrap();
        });
    }
}
