//! Threads for jobs that block: started on demand, kept while they are useful.
//!
//! The pool knows its jobs only as [`Job`]s: something to run once or to cancel.
//!
//! # Terms
//!
//! - *busy*: a thread that has taken a job, until it looks for the next one.
//! - *parked*: asleep on its [`state::Seat`], listed in `State::parked`, the latest to park on top.
//! - *spinning*: awake and watching [`Inner::signal`]; at most one thread at a time.
//! - *coming*: woken or being started, and yet to look at the queue; at most one at a time.
//!
//! # Protocol
//!
//! Every decision is made under the one lock, from one consistent [`State`]; the lock is released before a thread is
//! woken or started and before a job, a hook or a destructor runs.
//!
//! 1. A push appends its job, then *summons* a thread: none if the queue is empty, a thread is coming or one is
//!    spinning; else it unparks the thread that parked last; else it starts one, if the limit allows; else none,
//!    because every thread is busy.
//! 2. A thread looks at the queue when it arrives, when its job is done and when its spin or its keep-alive ends.
//!    When it takes a job it summons by the same rule, **before** it runs the job: a thousand pushes wake one thread,
//!    and the chain grows by one link at a time while jobs remain.
//! 3. A thread that finds nothing spins, parks or leaves, under the lock under which it looked.
//!
//! So between any two critical sections, if a job is queued then a thread is coming, or one is spinning, or every
//! thread that may exist is busy (or could not be started, see below): some thread will look at the queue without
//! being told. That is why no wake-up is lost and why the only timeout is the keep-alive. Three races have names:
//!
//! - *push against park*: both hold the lock. Either the thread sees the job, or the push sees
//!   the thread's seat.
//! - *push against keep-alive*: a thread whose time is up takes its seat off the list. If the seat
//!   is gone, a push has chosen this thread and its token will come: it stays.
//! - *push against the first start*: while the only thread is one whose start may still fail,
//!   pushes wait for the outcome (`State::undecided`). Hence a job that was accepted always has
//!   a living thread, and the error of a failed start reaches the caller whose job it strands.
//!
//! # Spinning
//!
//! Waking a parked thread costs tens of microseconds on a virtual machine, more than most jobs. A
//! thread that has just run a job therefore watches the queue for a short window before it parks,
//! if at least two of its last four waits were that short. A push that sees a spinner wakes
//! no thread: jobs spawned one after the other need none. On a machine with more to do than it has
//! CPUs spinning does harm, so a spinner soon begins to yield, and a thread that loses its CPU while
//! spinning does not spin for a while.
//!
//! # Ends of threads
//!
//! Each thread has a slot in `State::slots` from the decision to start it until it has run its last line of our code.
//! It then leaves its join handle for the next thread that ends, and joins the one that it found there: at most one
//! handle waits, however many threads came and went.

mod error;
mod state;
mod worker;

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;

pub(crate) use error::SpawnError;

use self::state::{State, Summons};
use crate::sys::atomic::{AtomicUsize, Ordering};
// No decision depends on the gauges, so the model need not explore them.
use crate::sys::plain::AtomicUsize as Gauge;
use crate::sys::{
    Arc, CachePadded, Mutex, MutexGuard, Parker, clock, guarded, thread, thread_local,
};
use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::Arc as StdArc;
use std::time::{Duration, Instant};

thread_local! {
    /// The thread's pool (by address) and slot, for `shutdown` called on a pool's thread.
    static SERVING: Cell<(usize, u64)> = const { Cell::new((0, 0)) };
}

/// What the pool runs. For each accepted job exactly one of `run` and `cancel` is called, once.
pub(crate) trait Job: Send + 'static {
    /// Runs the job. It should not unwind; if it does, the panic ends here and the thread lives on.
    fn run(self);

    /// Tells the job's waiter that it was cancelled: the pool shut down while the job waited for another to end.
    fn cancel(self);

    /// Returns true if the job runs even if the pool shuts down while it waits for another to end. Called under the
    /// pool's lock: a plain read.
    fn is_mandatory(&self) -> bool {
        false
    }
}

type Hook = StdArc<dyn Fn() + Send + Sync>;
#[cfg(test)]
type StartFault = Box<dyn FnMut() -> Option<io::Error> + Send>;

#[derive(Clone)]
pub(crate) struct Config {
    /// Maximum number of threads that serve at a time, at least 1. A thread whose time is up no longer counts while
    /// it runs its stop hook.
    pub(crate) max_threads: usize,
    /// How long a thread may go without a job before it ends.
    pub(crate) keep_alive: Duration,
    /// Maximum number of jobs that wait beyond those for which a thread is free or may be started. With 0, a job that
    /// would have to wait for another one to end is refused.
    pub(crate) queue_bound: Option<usize>,
    pub(crate) stack_size: Option<usize>,
    /// Returns the name of the next thread; called on the thread that starts it. Must not spawn jobs.
    pub(crate) name: StdArc<dyn Fn() -> String + Send + Sync>,
    /// Run on each thread, before its first job and after its last one. Must not own the pool, which owns them.
    pub(crate) on_start: Option<Hook>,
    pub(crate) on_stop: Option<Hook>,
    /// The longest spin of a thread before it parks; zero on a machine with a single CPU.
    pub(crate) spin: Duration,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            max_threads: 512,
            keep_alive: Duration::from_secs(10),
            queue_bound: None,
            stack_size: None,
            name: StdArc::new(|| "tress-blocking".to_owned()),
            on_start: None,
            on_stop: None,
            // Once to twice what a wake-up costs where it is expensive.
            spin: Duration::from_micros(50),
        }
    }
}

/// A snapshot of the pool; the numbers may be from slightly different moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Metrics {
    /// Threads alive and serving.
    pub(crate) threads: usize,
    /// Those of them that are parked or spinning.
    pub(crate) idle: usize,
    /// Jobs that no thread has taken yet.
    pub(crate) queued: usize,
    /// Maximum number of threads that ever served at a time.
    pub(crate) peak_threads: usize,
    pub(crate) start_failures: usize,
}

/// What [`Pool::shutdown`] has done, and what it could not wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shutdown {
    /// Threads that had not ended when the time was up, busy or on their way out. Those that are themselves calling
    /// `shutdown` count only if the caller is not one of the pool's threads.
    pub(crate) still_running: usize,
    /// Jobs that this call found in the queue and cancelled.
    pub(crate) cancelled: usize,
}

/// The pool. Dropping it shuts it down without waiting for its threads.
pub(crate) struct Pool<J: Job> {
    inner: Arc<Inner<J>>,
}

impl<J: Job> Pool<J> {
    /// Creates a pool without threads; the first job starts the first one.
    pub(crate) fn new(config: Config) -> Pool<J> {
        assert!(
            config.max_threads >= 1,
            "a blocking pool needs at least one thread"
        );
        Pool {
            inner: Arc::new(Inner {
                config,
                signal: CachePadded::new(AtomicUsize::new(0)),
                state: CachePadded::new(Mutex::new(State::new())),
                gauges: Gauges::default(),
                joining: Mutex::new(()),
                #[cfg(test)]
                start_fault: Mutex::new(None),
            }),
        }
    }

    /// Queues a job and makes sure that a thread will take it.
    ///
    /// Blocks only while the first thread is being started on behalf of another caller.
    pub(crate) fn spawn(&self, job: J) -> Result<(), SpawnError<J>> {
        let config = &self.inner.config;
        let mut state = self.inner.lock_decided();
        if state.closed {
            return Err(SpawnError::ShutDown(job));
        }
        if config
            .queue_bound
            .is_some_and(|bound| state.is_full(config.max_threads, bound))
        {
            return Err(SpawnError::Full(job));
        }
        state.queue.push_back(job);
        let summons = state.summon(config.max_threads);
        drop(state);
        match Inner::fulfil(&self.inner, summons) {
            Ok(()) => Ok(()),
            Err((job, error)) => Err(SpawnError::NoThread(job, error)),
        }
    }

    pub(crate) fn metrics(&self) -> Metrics {
        let gauges = &self.inner.gauges;
        Metrics {
            threads: gauges.threads.load(Ordering::Relaxed),
            idle: gauges.idle.load(Ordering::Relaxed),
            queued: self.inner.signal.load(Ordering::Relaxed) >> 1,
            peak_threads: gauges.peak_threads.load(Ordering::Relaxed),
            start_failures: gauges.start_failures.load(Ordering::Relaxed),
        }
    }

    /// Ends the pool and waits for its threads: for ever with `None`, not at all with zero.
    ///
    /// 1. From now on `spawn` refuses every job.
    /// 2. Jobs that wait for others to end are cancelled on the calling thread, except mandatory ones. A job for
    ///    which a thread is free, or can be started, is run: whether it has begun by now is a matter of luck.
    /// 3. Idle threads wake up. They, and the busy ones when their jobs are done, run what is left of the queue (more
    ///    threads are started if it takes them) and end.
    /// 4. The caller waits until no thread is left or the time is up. If none is left it joins the last one, which
    ///    joined the one before it, and so on (unless the timeout is zero).
    ///
    /// On one of the pool's own threads step 4 waits for the others only, neither for this thread nor for those that
    /// are in `shutdown` too, and joins none. What is still running after the call ends by itself when its job does.
    /// A second call resumes at step 4.
    pub(crate) fn shutdown(&self, timeout: Option<Duration>) -> Shutdown {
        // A deadline beyond what the clock can express is no deadline.
        let deadline = timeout.and_then(|t| clock::now().checked_add(t));
        let cancelled = self.inner.close();
        let (pool, slot) = SERVING.with(Cell::get);
        let inside = pool == self.inner.address();
        let still_running = self
            .inner
            .wait_for_threads(deadline, inside.then_some(slot));
        if still_running == 0 && !inside && timeout != Some(Duration::ZERO) {
            self.inner.join_last();
        }
        Shutdown {
            still_running,
            cancelled,
        }
    }

    /// Sets a function that is called before each thread start; an error from it replaces the start.
    #[cfg(test)]
    fn inject_start_fault(&self, fault: impl FnMut() -> Option<io::Error> + Send + 'static) {
        *self.inner.start_fault.lock() = Some(Box::new(fault));
    }
}

impl<J: Job> Drop for Pool<J> {
    fn drop(&mut self) {
        self.shutdown(Some(Duration::ZERO));
    }
}

struct Inner<J: Job> {
    config: Config,
    /// Twice the queue's length, plus one when the pool is closed: what a spinner watches. On a line of its own, so
    /// that watching does not slow down the threads that take the lock.
    signal: CachePadded<AtomicUsize>,
    state: CachePadded<Mutex<State<J>>>,
    gauges: Gauges,
    /// Held while joining the last thread, so that a concurrent `shutdown` returns no earlier.
    joining: Mutex<()>,
    #[cfg(test)]
    start_fault: Mutex<Option<StartFault>>,
}

#[derive(Default)]
struct Gauges {
    threads: Gauge,
    idle: Gauge,
    peak_threads: Gauge,
    start_failures: Gauge,
}

/// The lock on the state. Releasing it publishes what may be read without it.
struct Locked<'a, J: Job> {
    inner: &'a Inner<J>,
    state: MutexGuard<'a, State<J>>,
}

impl<J: Job> Deref for Locked<'_, J> {
    type Target = State<J>;

    fn deref(&self) -> &State<J> {
        &self.state
    }
}

impl<J: Job> DerefMut for Locked<'_, J> {
    fn deref_mut(&mut self) -> &mut State<J> {
        &mut self.state
    }
}

impl<J: Job> Drop for Locked<'_, J> {
    fn drop(&mut self) {
        let (state, inner) = (&*self.state, self.inner);
        // Only hints are read without the lock, so relaxed stores suffice. The signal is left alone when nothing
        // changed: a spinner has the line.
        let signal = state.queue.len() << 1 | usize::from(state.closed);
        if inner.signal.load(Ordering::Relaxed) != signal {
            inner.signal.store(signal, Ordering::Relaxed);
        }
        let gauges = &inner.gauges;
        gauges.threads.store(state.alive(), Ordering::Relaxed);
        gauges.idle.store(state.idle(), Ordering::Relaxed);
        gauges
            .peak_threads
            .store(state.peak_threads, Ordering::Relaxed);
        gauges
            .start_failures
            .store(state.start_failures, Ordering::Relaxed);
    }
}

impl<J: Job> Inner<J> {
    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    fn lock(&self) -> Locked<'_, J> {
        Locked {
            inner: self,
            state: self.state.lock(),
        }
    }

    /// Locks at a moment when no push has to rely on a thread whose start may still fail.
    fn lock_decided(&self) -> Locked<'_, J> {
        loop {
            let mut state = self.lock();
            if state.closed || state.threads == 0 || state.alive() > 0 {
                return state;
            }
            let parker = Arc::new(Parker::new());
            state.undecided.push(parker.clone());
            drop(state);
            while !parker.park(None) {}
        }
    }

    /// Fetches the summoned thread. The error returns the job that is left without any thread.
    fn fulfil(this: &Arc<Self>, summons: Summons) -> Result<(), (J, io::Error)> {
        match summons {
            Summons::Nobody => Ok(()),
            Summons::Wake(seat) => {
                seat.parker.unpark();
                Ok(())
            }
            Summons::Start(id) => Self::start(this, id),
        }
    }

    #[cold]
    fn start(this: &Arc<Self>, id: u64) -> Result<(), (J, io::Error)> {
        match Self::start_thread(this, id) {
            Ok(handle) => {
                let mut state = this.lock();
                state.make_certain(id);
                let previous = state.store_handle(id, handle);
                drop(state);
                join(previous);
                Ok(())
            }
            Err(error) => {
                let mut state = this.lock();
                let (orphan, summons) = state.start_failed(id);
                drop(state);
                if let Summons::Wake(seat) = summons {
                    seat.parker.unpark();
                }
                match orphan {
                    Some(job) => Err((job, error)),
                    None => Ok(()),
                }
            }
        }
    }

    fn start_thread(this: &Arc<Self>, id: u64) -> io::Result<thread::JoinHandle<()>> {
        #[cfg(test)]
        if let Some(error) = this.start_fault.lock().as_mut().and_then(|fault| fault()) {
            return Err(error);
        }
        let own = this.clone();
        // The name comes from the user: its function may panic, and so does the builder if the name holds a NUL.
        guarded(|| {
            let mut builder = thread::Builder::new((this.config.name)());
            if let Some(size) = this.config.stack_size {
                builder = builder.stack_size(size);
            }
            builder.spawn(move || worker::live(&own, id))
        })
        .unwrap_or_else(|| {
            let text = "naming the thread panicked: its name must be without NUL characters";
            Err(io::Error::other(text))
        })
    }

    /// Does steps 1 to 3 of shutdown. Returns how many jobs were cancelled.
    fn close(&self) -> usize {
        let mut state = self.lock();
        if std::mem::replace(&mut state.closed, true) {
            return 0;
        }
        let mut places = state.places(self.config.max_threads);
        let queue = std::mem::take(&mut state.queue);
        let (kept, optional): (VecDeque<J>, VecDeque<J>) = queue.into_iter().partition(|job| {
            let has_place = places > 0;
            places = places.saturating_sub(1);
            has_place || job.is_mandatory()
        });
        state.queue = kept;
        let parked = std::mem::take(&mut state.parked);
        drop(state);
        for seat in parked {
            seat.parker.unpark();
        }
        let cancelled = optional.len();
        for job in optional {
            guarded(|| job.cancel());
        }
        cancelled
    }

    /// Does step 4 of shutdown, except for the joining. Returns how many threads are left.
    fn wait_for_threads(&self, deadline: Option<Instant>, own_slot: Option<u64>) -> usize {
        let inside = own_slot.is_some();
        let parker = Arc::new(Parker::new());
        let mut state = self.lock();
        if let Some(slot) = own_slot.and_then(|id| state.slots.get_mut(id)) {
            slot.excused = true;
            // One more excused thread may be all that others inside the pool are waiting for.
            for closer in &state.closers {
                closer.unpark();
            }
        }
        state.closers.push(parker.clone());
        loop {
            let remaining = state.remaining(inside);
            let left = deadline.map(|d| d.saturating_duration_since(clock::now()));
            if remaining == 0 || left == Some(Duration::ZERO) {
                state.closers.retain(|closer| !Arc::ptr_eq(closer, &parker));
                return remaining;
            }
            drop(state);
            parker.park(left);
            state = self.lock();
        }
    }

    fn join_last(&self) {
        let _joining = self.joining.lock();
        let last = self.lock().ended.take();
        join(last);
    }
}

fn join(handle: Option<thread::JoinHandle<()>>) {
    if let Some(handle) = handle {
        // The thread catches every panic, and one that slipped through has been reported.
        let _ = handle.join();
    }
}
