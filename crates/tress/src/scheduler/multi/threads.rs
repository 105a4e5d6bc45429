//! The worker threads: how they start, what is done where one cannot be started, and how they end.
//!
//! A worker's thread is started by the thread that claims the worker from the idle set. That may fail. The worker
//! then goes back to the idle set and a worker that has a thread is woken instead: it takes over the search for work
//! that the claim stood for. New attempts are made when there is work for the worker, but only after a while, because
//! each one that fails takes as long as many polls.
//!
//! The first thread is different: without any, nothing would run. Threads that are not workers make sure that there
//! is one before they queue a task or register a timer or a socket, and report it if there cannot be one: sockets by
//! an error, the others by a panic. From then on some worker always has a thread until the runtime closes: a thread
//! gives its core away only if another one is there for it. Timers and sockets from outside are given to workers that
//! have one.

use super::Multi;
use crate::runtime::Shared;
use crate::scheduler::worker::{self, Core};
use crate::sys::atomic::Ordering;
use crate::sys::plain::{AtomicBool, AtomicU64};
use crate::sys::{Condvar, Mutex, MutexGuard, clock, guarded, thread};
use crate::words;
use std::io;
use std::ptr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long the next attempt waits after a thread could not be started; it doubles with each failure.
const FIRST_RETRY: Duration = Duration::from_millis(1);
/// The longest that it waits.
const LAST_RETRY: Duration = Duration::from_millis(100);

/// The worker threads' starts and ends.
pub(super) struct Threads {
    state: Mutex<State>,
    changed: Condvar,
    /// Some worker has had a thread, and so some worker has one.
    any: AtomicBool,
    /// Held by the thread that starts the first worker.
    first: Mutex<()>,
    made: Instant,
    /// When the next attempt may be made, in nanoseconds since `made`.
    retry_at: AtomicU64,
}

#[derive(Default)]
struct State {
    running: usize,
    start_failures: u64,
    /// How long the next attempt waits if one fails now.
    retry_after: Duration,
    handles: Vec<thread::JoinHandle<()>>,
    /// Workers waiting for a thread, and threads waiting for a worker: `block_in_place`.
    orphans: Vec<usize>,
    spares: usize,
    /// No new threads, and spares leave.
    closed: bool,
}

/// How a start that has not failed ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    Done,
    /// The runtime is shutting down.
    Closed,
}

impl Threads {
    pub(super) fn new() -> Threads {
        Threads {
            state: Mutex::new(State {
                retry_after: FIRST_RETRY,
                ..State::default()
            }),
            changed: Condvar::new(),
            any: AtomicBool::new(false),
            first: Mutex::new(()),
            made: clock::now(),
            retry_at: AtomicU64::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state)
    }

    /// Returns whether it is time to try again.
    fn may_try(&self) -> bool {
        let at = self.retry_at.load(Ordering::Relaxed);
        at == 0 || clock::elapsed(self.made).as_nanos() as u64 >= at
    }

    fn has_failed(&self) {
        let mut state = self.lock();
        state.start_failures += 1;
        let at = clock::elapsed(self.made) + state.retry_after;
        self.retry_at.store(at.as_nanos() as u64, Ordering::Relaxed);
        state.retry_after = (state.retry_after * 2).min(LAST_RETRY);
    }

    fn has_succeeded(&self) {
        self.any.store(true, Ordering::Release);
        if self.retry_at.swap(0, Ordering::Relaxed) != 0 {
            self.lock().retry_after = FIRST_RETRY;
        }
    }

    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    pub(super) fn start_failures(&self) -> u64 {
        self.lock().start_failures
    }

    /// Waits until the threads that have finished are gone. That takes as long as the kernel has operations that they
    /// handed over.
    pub(super) fn join(&self) {
        let handles = std::mem::take(&mut self.lock().handles);
        for handle in handles {
            if !handle.is_current() {
                // A worker thread catches every panic of its tasks; its own would be a bug that has been printed
                // already.
                let _ = handle.join();
            }
        }
    }
}

/// Adds why the first thread is needed, and what to do about the error.
fn explain(error: io::Error) -> io::Error {
    let text = format!(
        "{}: {error}; without any the runtime cannot run: raise the process's thread limit (ulimit -u, \
         cgroup pids.max) or use a current-thread runtime",
        words::NO_WORKER_THREAD
    );
    io::Error::new(error.kind(), text)
}

impl Multi {
    /// Makes sure that some worker has a thread. For threads that leave something to the workers from outside.
    ///
    /// # Panics
    /// If there is none, and none can be started.
    #[inline]
    pub(in crate::scheduler) fn need_a_thread(&self) {
        if !self.threads.any.load(Ordering::Acquire) {
            self.start_first();
        }
    }

    #[cold]
    fn start_first(&self) {
        if let Err(error) = self.try_start_first() {
            panic!("{error}");
        }
    }

    #[cold]
    fn try_start_first(&self) -> io::Result<()> {
        let _one_at_a_time = self.threads.first.lock();
        // A caller that is late is refused as always.
        while !self.threads.any.load(Ordering::Acquire) && !self.is_closing() {
            if self.idle.claim_worker(0) {
                return self.start_claimed(0).map_err(explain);
            }
            // Another thread has claimed it, and is about to start it or to put it back.
            thread::yield_now();
        }
        Ok(())
    }

    /// Starts the threads of all workers, or of as many as can be.
    ///
    /// # Errors
    /// If there is none at all.
    pub(super) fn start_all(&self) -> io::Result<()> {
        self.try_start_first()?;
        for worker in 1..self.remotes.len() {
            self.gets_a_thread(worker);
        }
        Ok(())
    }

    /// Wakes a worker that was claimed from the idle set, starting its thread if it has none. If that fails, another
    /// worker is woken.
    #[cold]
    pub(in crate::scheduler) fn wake(&self, worker: usize) {
        let remote = &self.remotes[worker];
        if remote.has_thread() {
            remote.rest.unpark();
        } else if self.threads.may_try() {
            // In either case a worker comes for what it was claimed for.
            let _ = self.start_claimed(worker);
        } else {
            self.put_back(worker);
        }
    }

    /// Starts the thread of a claimed worker that has none, or puts the worker back.
    ///
    /// The claim makes us the only thread here: an unstarted worker cannot park again by itself.
    fn start_claimed(&self, worker: usize) -> io::Result<()> {
        match self.start_thread(worker) {
            Ok(Start::Done) => Ok(()),
            Ok(Start::Closed) => {
                self.idle.park(worker, true);
                Ok(())
            }
            Err(error) => {
                self.threads.has_failed();
                self.put_back(worker);
                Err(error)
            }
        }
    }

    /// Puts a claimed worker that cannot run back, and wakes another one for what it was claimed for.
    fn put_back(&self, worker: usize) {
        let can_run = |other: usize| self.remotes[other].has_thread();
        if let Some(other) = self.idle.replace(worker, can_run) {
            self.remotes[other].rest.unpark();
        }
    }

    /// Returns whether the worker has a thread, having tried to start one if it may.
    fn gets_a_thread(&self, worker: usize) -> bool {
        let remote = &self.remotes[worker];
        if !remote.has_thread() && self.threads.may_try() && self.idle.claim_worker(worker) {
            // A failure has been counted; the caller does without.
            let _ = self.start_claimed(worker);
        }
        remote.has_thread()
    }

    /// Returns the worker whose turn it is to look after a timer or a socket of a thread that is not a worker. It has
    /// a thread, unless the runtime is closing.
    ///
    /// # Errors
    /// No worker has a thread, and none can be started.
    pub(super) fn next_in_turn(&self) -> io::Result<usize> {
        if !self.threads.any.load(Ordering::Acquire) {
            self.try_start_first()?;
        }
        let workers = self.remotes.len();
        let turn = self.next_turn.fetch_add(1, Ordering::Relaxed) % workers;
        if self.gets_a_thread(turn) {
            return Ok(turn);
        }
        let other = (1..workers)
            .map(|further| (turn + further) % workers)
            .find(|&other| self.remotes[other].has_thread());
        Ok(other.unwrap_or(turn))
    }

    /// Returns the runtime that this is part of.
    fn shared(&self) -> Arc<Shared> {
        let raw = self.outside.owner().whole();
        // SAFETY: `self` is inside the `Arc`, which is therefore alive.
        unsafe {
            Arc::increment_strong_count(raw);
            Arc::from_raw(raw)
        }
    }

    fn start_thread(&self, worker: usize) -> io::Result<Start> {
        let shared = self.shared();
        // The name comes from the user: its function may panic, or call back into us.
        let name = guarded(|| (self.config.thread_name)())
            .ok_or_else(|| io::Error::other("naming the thread panicked"))?;
        let mut threads = self.threads.lock();
        if threads.closed {
            return Ok(Start::Closed);
        }
        let remote = &self.remotes[worker];
        let free_spares = threads.spares > threads.orphans.len();
        if free_spares && !remote.core.load(Ordering::Relaxed).is_null() {
            threads.orphans.push(worker);
            // Before a spare can run and park the worker: a claim would start another thread.
            remote.started.store(true, Ordering::Release);
            drop(threads);
            self.threads.changed.notify_all();
            return Ok(Start::Done);
        }
        let mut builder = thread::Builder::new(name);
        if let Some(size) = self.config.stack_size {
            builder = builder.stack_size(size);
        }
        // A name that contains a NUL panics.
        let handle = guarded(|| builder.spawn(move || worker::thread_main(shared, worker)))
            .unwrap_or_else(|| Err(io::Error::other("the thread's name has a NUL in it")))?;
        // Subtle: not before, since timers and sockets would be given to it. The thread sets it as well, before it
        // can park: a claim after that would start another one.
        remote.started.store(true, Ordering::Release);
        threads.running += 1;
        threads.handles.retain(|h| !h.is_finished());
        threads.handles.push(handle);
        drop(threads);
        self.threads.has_succeeded();
        Ok(Start::Done)
    }

    /// Marks the worker as started: the first thing that its thread does.
    pub(in crate::scheduler) fn thread_begins(&self, worker: usize) {
        self.remotes[worker].started.store(true, Ordering::Release);
    }

    /// Gives a core away while its thread blocks. Another thread takes over.
    ///
    /// # Errors
    /// There is no other thread, and none can be started: the caller keeps the core.
    pub(in crate::scheduler) fn hand_off(
        &self,
        core: Box<Core>,
    ) -> Result<(), (Box<Core>, io::Error)> {
        let worker = core.index();
        self.in_place.fetch_add(1, Ordering::AcqRel);
        let before = self.remotes[worker]
            .core
            .swap(Box::into_raw(core), Ordering::AcqRel);
        assert!(before.is_null(), "a worker has two cores");
        let Err(error) = self.start_thread(worker) else {
            return Ok(());
        };
        self.threads.has_failed();
        // If the core is gone, the runtime has begun to close and put it away.
        self.take_core(worker).map_or(Ok(()), |core| {
            self.in_place.fetch_sub(1, Ordering::AcqRel);
            Err((core, error))
        })
    }

    /// Takes a core that no thread has, if it is still there.
    pub(in crate::scheduler) fn take_core(&self, worker: usize) -> Option<Box<Core>> {
        let core = self.remotes[worker]
            .core
            .swap(ptr::null_mut(), Ordering::AcqRel);
        // SAFETY: put there by `Box::into_raw`, and the swap took it for us alone.
        (!core.is_null()).then(|| unsafe { Box::from_raw(core) })
    }

    /// Waits for a core, on a thread without one. Returns `None` if the runtime is shutting down or there are enough
    /// spare threads.
    pub(in crate::scheduler) fn wait_for_core(&self) -> Option<Box<Core>> {
        let mut threads = self.threads.lock();
        threads.spares += 1;
        let core = loop {
            if let Some(worker) = threads.orphans.pop() {
                // Its former thread may have come back for it.
                if let Some(core) = self.take_core(worker) {
                    break Some(core);
                }
                continue;
            }
            // One spare per worker is plenty.
            if threads.closed || threads.spares > self.config.workers {
                break None;
            }
            threads = self.threads.wait(threads);
        };
        threads.spares -= 1;
        core
    }

    /// Counts a thread out: the last thing that it does.
    pub(in crate::scheduler) fn thread_ends(&self) {
        self.threads.lock().running -= 1;
        self.threads.changed.notify_all();
    }

    /// Waits until all worker threads have finished, or until the deadline. Returns true if they have.
    pub(super) fn wait_closed(&self, deadline: Option<Instant>) -> bool {
        let mut threads = self.threads.lock();
        while threads.running > 0 {
            threads = match deadline {
                None => self.threads.wait(threads),
                Some(at) => {
                    let left = at.saturating_duration_since(clock::now());
                    if left.is_zero() {
                        return false;
                    }
                    self.threads.changed.wait_timeout(threads, left)
                }
            };
        }
        true
    }
}
