//! What a runtime's user wants to be told of its tasks.
//!
//! A task of a runtime with hooks has another table of functions, which call the hooks and then those of its future's
//! type. So nothing asks for hooks where tasks are polled and completed; only spawning does. The same holds for the time
//! that a task waits in queues: a task that is tracked has such a table, and its owner another way to queue it.

use super::header::{Header, Origin, VTable};
use crate::identity::Id;
use crate::runtime::Shared;
use crate::scheduler;
use crate::sys::atomic::Ordering;
use crate::sys::plain::AtomicU64;
use crate::sys::{clock, guarded};
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock, Weak};
use std::task::Context;
use std::time::{Duration, Instant};

/// Describes a task to the hooks of a [`Builder`](crate::runtime::Builder), such as
/// [`on_task_spawn`](crate::runtime::Builder::on_task_spawn).
pub struct TaskMeta<'a> {
    id: Id,
    spawned_at: &'static Location<'static>,
    schedule_latency: Option<Duration>,
    _task: PhantomData<&'a ()>,
}

impl TaskMeta<'_> {
    fn new<'a>(
        id: Id,
        spawned_at: &'static Location<'static>,
        schedule_latency: Option<Duration>,
    ) -> TaskMeta<'a> {
        TaskMeta {
            id,
            spawned_at,
            schedule_latency,
            _task: PhantomData,
        }
    }

    /// Returns the task's id.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    ///
    /// let seen = Arc::new(Mutex::new(None));
    /// let rt = tress::runtime::Builder::new_current_thread()
    ///     .on_task_spawn({
    ///         let seen = seen.clone();
    ///         move |task| *seen.lock().unwrap() = Some(task.id())
    ///     })
    ///     .build()?;
    /// let task = rt.spawn(async {});
    /// assert_eq!(*seen.lock().unwrap(), Some(task.id()));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn id(&self) -> Id {
        self.id
    }

    /// Returns where the task was spawned.
    ///
    /// ```
    /// let rt = tress::runtime::Builder::new_current_thread()
    ///     .on_task_terminate(|task| println!("the task from {} has ended", task.spawned_at()))
    ///     .build()?;
    /// # drop(rt);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.spawned_at
    }

    /// Returns how long the task has waited in queues for its present poll.
    ///
    /// The time runs from the moment at which the task became ready, by being spawned, woken or queued again after a
    /// poll, to the call of [`on_before_task_poll`](crate::runtime::Builder::on_before_task_poll). A wake-up of a task
    /// that is ready already changes nothing.
    /// [`on_after_task_poll`](crate::runtime::Builder::on_after_task_poll) is told the same. The other hooks are
    /// told `None`, and so are all of them unless the runtime
    /// [tracks it](crate::runtime::Builder::track_task_schedule_latency).
    ///
    /// ```
    /// let rt = tress::runtime::Builder::new_current_thread()
    ///     .track_task_schedule_latency()
    ///     .on_before_task_poll(|task| println!("{} has waited {:?}", task.id(), task.schedule_latency()))
    ///     .build()?;
    /// # drop(rt);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn schedule_latency(&self) -> Option<Duration> {
        self.schedule_latency
    }
}

impl fmt::Debug for TaskMeta<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskMeta")
            .field("id", &self.id)
            .field("spawned_at", &self.spawned_at)
            .field("schedule_latency", &self.schedule_latency)
            .finish()
    }
}

/// A user's function.
pub(crate) type TaskHook = Arc<dyn Fn(&TaskMeta<'_>) + Send + Sync>;

/// The functions that a builder was given.
#[derive(Clone, Default)]
pub(crate) struct Hooks {
    pub(crate) on_spawn: Option<TaskHook>,
    pub(crate) on_terminate: Option<TaskHook>,
    pub(crate) before_poll: Option<TaskHook>,
    pub(crate) after_poll: Option<TaskHook>,
    pub(crate) latency: Option<Latency>,
}

/// What a runtime has that tracks how long its tasks wait in queues.
#[derive(Clone)]
pub(crate) struct Latency {
    /// The zero of stamps.
    start: Instant,
    /// The runtime whose workers count it.
    runtime: Arc<OnceLock<Weak<Shared>>>,
}

impl Latency {
    pub(crate) fn new(runtime: Arc<OnceLock<Weak<Shared>>>) -> Latency {
        Latency {
            start: clock::now(),
            runtime,
        }
    }

    /// Returns the present time as a stamp.
    fn now(&self) -> u64 {
        u64::try_from(clock::elapsed(self.start).as_nanos()).unwrap_or(u64::MAX)
    }

    /// Counts it in the histogram of the worker that this thread is, if it is one of the runtime and has one.
    fn count(&self, latency: Duration) {
        let Some(runtime) = self.runtime.get() else {
            return;
        };
        scheduler::with_stats_here(runtime.as_ptr(), |stats| stats.count_latency(latency));
    }
}

impl Hooks {
    /// Returns the hooks, unless there are none.
    pub(crate) fn shared(&self) -> Option<Arc<Hooks>> {
        let all = [
            &self.on_spawn,
            &self.on_terminate,
            &self.before_poll,
            &self.after_poll,
        ];
        let any = all.into_iter().any(Option::is_some) || self.latency.is_some();
        any.then(|| Arc::new(self.clone()))
    }

    /// Returns whether tasks are stamped when they become ready.
    pub(crate) fn track_latency(&self) -> bool {
        self.latency.is_some()
    }

    /// Returns those of them that closures on the blocking pool have: only their ends are told.
    pub(crate) fn of_blocking(&self) -> Option<Arc<Hooks>> {
        Hooks {
            on_terminate: self.on_terminate.clone(),
            ..Hooks::default()
        }
        .shared()
    }

    /// Tells that a task is about to be made, and returns its origin with the hooks in it. The caller holds no lock.
    #[cold]
    #[inline(never)]
    pub(crate) fn adopt(self: &Arc<Hooks>, id: Id, origin: Origin) -> Origin {
        call(&self.on_spawn, || {
            TaskMeta::new(id, origin.location(), None)
        });
        origin.hooked(self.clone())
    }
}

/// Calls a user's hook. A panic has been reported by the panic hook, and the task goes on.
fn call<'a>(hook: &Option<TaskHook>, meta: impl FnOnce() -> TaskMeta<'a>) {
    if let Some(hook) = hook {
        guarded(|| hook(&meta()));
    }
}

/// What a task with hooks carries with it.
pub(super) struct Hooked {
    pub(super) hooks: Arc<Hooks>,
    /// The functions that know the future's type. `None` until the cell is made.
    pub(super) inner: Option<&'static VTable>,
    /// When the task became ready last, if that is tracked. Written by the thread that has the task to itself.
    scheduled_at: AtomicU64,
}

impl Hooked {
    pub(super) fn new(hooks: Arc<Hooks>) -> Hooked {
        let hooked = Hooked {
            hooks,
            inner: None,
            scheduled_at: AtomicU64::new(0),
        };
        hooked.stamp();
        hooked
    }

    /// Notes that the task is ready as of now. The caller has it to itself.
    pub(super) fn stamp(&self) {
        if let Some(latency) = &self.hooks.latency {
            self.scheduled_at.store(latency.now(), Ordering::Relaxed);
        }
    }

    /// Returns how long the task has been ready, and counts it, if that is tracked. The caller begins a poll.
    fn latency(&self) -> Option<Duration> {
        let latency = self.hooks.latency.as_ref()?;
        let scheduled_at = self.scheduled_at.load(Ordering::Relaxed);
        let waited = Duration::from_nanos(latency.now().saturating_sub(scheduled_at));
        latency.count(waited);
        Some(waited)
    }
}

/// The table of a task with hooks.
pub(super) static HOOKED: VTable = VTable {
    poll,
    cancel,
    take_output,
    drop_output,
    free,
    type_name: || "a future with hooks",
};

/// # Safety
/// The task's table is `HOOKED`, and the caller may use it for as long as the result is used.
unsafe fn hooked<'a>(task: NonNull<Header>) -> (&'a Hooked, &'static VTable) {
    // SAFETY: by the caller's promise. What is in the origin is not changed once the cell is made.
    let hooked = unsafe { (*task.as_ptr()).origin.hooks() };
    let hooked = hooked.expect("a task with this table has hooks");
    (hooked, hooked.inner.expect("set when the cell was made"))
}

/// # Safety
/// The task is alive.
unsafe fn meta<'a>(task: NonNull<Header>, latency: Option<Duration>) -> TaskMeta<'a> {
    // SAFETY: by the caller's promise.
    let header = unsafe { task.as_ref() };
    TaskMeta::new(header.id(), header.location(), latency)
}

/// # Safety
/// As for `VTable::poll`, of a task whose table is `HOOKED`.
unsafe fn poll(task: NonNull<Header>, cx: &mut Context<'_>) -> bool {
    // SAFETY: the caller runs the task, which stays alive until it has been completed.
    unsafe {
        let (carried, inner) = hooked(task);
        let hooks = &carried.hooks;
        let latency = carried.latency();
        call(&hooks.before_poll, || meta(task, latency));
        let ready = (inner.poll)(task, cx);
        if !ready {
            // It may go to a queue at once. If it waits for a wake-up instead, that stamps it again.
            carried.stamp();
        }
        call(&hooks.after_poll, || meta(task, latency));
        if ready {
            call(&hooks.on_terminate, || meta(task, None));
        }
        ready
    }
}

/// # Safety
/// As for `VTable::cancel`, of a task whose table is `HOOKED`.
unsafe fn cancel(task: NonNull<Header>) {
    // SAFETY: as in `poll`.
    unsafe {
        let (Hooked { hooks, .. }, inner) = hooked(task);
        (inner.cancel)(task);
        call(&hooks.on_terminate, || meta(task, None));
    }
}

/// # Safety
/// As for `VTable::take_output`, of a task whose table is `HOOKED`.
unsafe fn take_output(task: NonNull<Header>, to: *mut ()) {
    // SAFETY: by the caller's promise.
    unsafe { (hooked(task).1.take_output)(task, to) }
}

/// # Safety
/// As for `VTable::drop_output`, of a task whose table is `HOOKED`.
unsafe fn drop_output(task: NonNull<Header>) {
    // SAFETY: by the caller's promise.
    unsafe { (hooked(task).1.drop_output)(task) }
}

/// # Safety
/// As for `VTable::free`, of a task whose table is `HOOKED`.
unsafe fn free(task: NonNull<Header>) {
    // SAFETY: by the caller's promise. The origin, and with it the hooks, are gone afterwards.
    unsafe { (hooked(task).1.free)(task) }
}
