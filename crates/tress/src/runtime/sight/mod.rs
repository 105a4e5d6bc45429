//! What is wrong with a running program: snapshots, and findings.
//!
//! While sight is on for a runtime, a thread looks at it: every [`GLANCE`] at the workers, and every [`PERIOD`] at
//! everything else. What it finds is kept until the next look. The thread waits for no lock that a stuck task may
//! hold.

mod chain;
mod engine;
mod finding;
mod look;
mod options;
mod rules;
mod snapshot;
mod thresholds;

pub(crate) use options::Options;

pub use finding::{Finding, FindingKind, Link, Severity, WaitView};
pub use snapshot::{ResourceView, SiteView, Snapshot, TaskView, WorkerView};
pub use thresholds::Thresholds;

use super::section::{Section, SectionGuard};
use super::{Handle, Samples, Shared};
use crate::sight::Switch;
use crate::sys::atomic::Ordering;
use crate::sys::plain::{AtomicBool, Mutex};
use crate::sys::{Ticker, clock, guarded, thread, thread_times};
use engine::Engine;
use look::Tasks;
use std::fmt;
use std::io;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// Time between two looks at the workers, while one of them is awake.
const GLANCE: Duration = Duration::from_millis(50);
/// Time between two looks at everything else.
const PERIOD: Duration = Duration::from_millis(500);
/// A look takes at most one part in this many of the time: after a long one the next comes later.
const SHARE: u32 = 100;

/// What a runtime knows of its own state; returned by [`Handle::sight`].
///
/// While it is on, tasks note what they wait for, locks which task holds them, and a thread looks for what is wrong.
///
/// # Examples
/// ```
/// let rt = tress::runtime::Runtime::new()?;
/// let sight = rt.handle().sight();
/// sight.start()?;
/// println!("{}", sight.snapshot().to_json());
/// sight.stop();
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Sight {
    shared: Arc<Shared>,
}

/// A user's function, called with what is new.
pub(crate) type Callback = Arc<dyn Fn(&Finding) + Send + Sync>;

/// What a runtime keeps for its [`Sight`].
pub(crate) struct State {
    limits: Thresholds,
    callback: Option<Callback>,
    /// What is there while it is on.
    on: Mutex<Option<On>>,
    /// What the last look has found.
    found: Mutex<Arc<[Finding]>>,
    begun: Instant,
}

struct On {
    _switch: Switch,
    _section: SectionGuard,
    stopped: Arc<AtomicBool>,
    ticker: Arc<Ticker>,
}

impl Drop for On {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Release);
        self.ticker.arm(Duration::ZERO);
    }
}

impl State {
    pub(crate) fn new(limits: Thresholds, callback: Option<Callback>) -> State {
        State {
            limits,
            callback,
            on: Mutex::new(None),
            found: Mutex::new(Arc::new([])),
            begun: clock::now(),
        }
    }
}

impl Shared {
    /// Switches sight on.
    pub(super) fn start_sight(self: &Arc<Self>) -> io::Result<()> {
        let mut on = self.sight.on.lock();
        if on.is_some() {
            return Ok(());
        }
        let ticker = Arc::new(Ticker::new()?);
        let stopped = Arc::new(AtomicBool::new(false));
        let watch = Watch {
            shared: Arc::downgrade(self),
            stopped: stopped.clone(),
            ticker: ticker.clone(),
            engine: Engine::new(self.sight.limits.clone()),
        };
        self.start_flight()?;
        ticker.arm(GLANCE);
        let spawned = thread::Builder::new("tress-sight".into()).spawn(move || watch.run());
        spawned?;
        let section: Arc<dyn Section> = Arc::new(Found(Arc::downgrade(self)));
        *on = Some(On {
            _switch: Switch::on(),
            _section: SectionGuard::add(self, section),
            stopped,
            ticker,
        });
        Ok(())
    }

    /// Switches sight off.
    pub(super) fn stop_sight(&self) {
        // Its parts are dropped without the lock.
        let on = self.sight.on.lock().take();
        drop(on);
        let none: Arc<[Finding]> = Arc::new([]);
        let old = std::mem::replace(&mut *self.sight.found.lock(), none);
        drop(old);
    }

    fn found(&self) -> Arc<[Finding]> {
        self.sight.found.lock().clone()
    }
}

/// The thread that looks.
struct Watch {
    shared: Weak<Shared>,
    stopped: Arc<AtomicBool>,
    ticker: Arc<Ticker>,
    engine: Engine,
}

impl Watch {
    fn run(mut self) {
        let mut next_look = clock::now() + PERIOD;
        loop {
            self.ticker.wait();
            // Weak: a runtime that is dropped must not wait for this thread.
            let Some(shared) = self.shared.upgrade() else {
                return;
            };
            if self.stopped.load(Ordering::Acquire) {
                return;
            }
            self.engine.look_at_workers(&shared);
            let begun = clock::now();
            if begun >= next_look {
                let busy = busy();
                let found: Arc<[Finding]> = self.engine.look(&shared, all_tasks).into();
                let old = std::mem::replace(&mut *shared.sight.found.lock(), found.clone());
                // Time on the processor, not time that passes: it must look above all when the machine is busy.
                next_look = begun + PERIOD.max((self::busy() - busy) * SHARE);
                tell(&shared, &old, &found);
            }
            let pause = match shared.scheduler.all_are_asleep() {
                true => next_look.saturating_duration_since(clock::now()),
                false => GLANCE,
            };
            self.ticker.arm(pause.max(Duration::from_millis(1)));
        }
    }
}

/// Returns the time that this thread has been on a processor.
fn busy() -> Duration {
    thread_times().map_or(Duration::ZERO, |times| times.cpu)
}

/// Lists the live tasks of all runtimes: tasks wait for what those of other runtimes hold.
fn all_tasks() -> Tasks {
    let mut tasks = Tasks::default();
    for runtime in super::living::all() {
        tasks.add(&runtime);
    }
    tasks
}

/// Calls the user's function with each finding that the last look has not found.
fn tell(shared: &Shared, old: &[Finding], found: &[Finding]) {
    let Some(callback) = &shared.sight.callback else {
        return;
    };
    for finding in found {
        if !old.iter().any(|old| old.is_same(finding)) {
            // A panic has been printed, and must not end this thread.
            guarded(|| callback(finding));
        }
    }
}

/// The findings as a part of dumps and metrics.
struct Found(Weak<Shared>);

impl Section for Found {
    fn name(&self) -> &str {
        "findings"
    }

    fn dump(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let Some(shared) = self.0.upgrade() else {
            return Ok(());
        };
        let found = shared.found();
        if found.is_empty() {
            return writeln!(out, "  none");
        }
        for finding in found.iter() {
            writeln!(out, "  {}: {finding}", finding.severity)?;
        }
        Ok(())
    }

    fn metrics(&self, out: &mut Samples) {
        let Some(shared) = self.0.upgrade() else {
            return;
        };
        let found = shared.found();
        let kinds = [
            FindingKind::Deadlock,
            FindingKind::Stuck,
            FindingKind::LostWake,
            FindingKind::SlowPoll,
            FindingKind::Convoy,
            FindingKind::Leak,
            FindingKind::Starvation,
            FindingKind::FullChannel,
            FindingKind::FullMailbox,
            FindingKind::BlockingPool,
        ];
        for kind in kinds {
            let count = found.iter().filter(|finding| finding.kind == kind).count();
            out.gauge(
                "tress_findings",
                "What is wrong, by kind.",
                &[("kind", kind.as_str())],
                count as f64,
            );
        }
    }
}

impl Sight {
    pub(super) fn new(shared: Arc<Shared>) -> Sight {
        Sight { shared }
    }

    /// Switches it on, if it is off.
    ///
    /// What tasks wait for is known from their next poll on, and holders of locks from when they acquire them.
    ///
    /// # Errors
    /// Returns an error if the system refuses to start the thread that looks for what is wrong.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Runtime::new()?;
    /// rt.handle().sight().start()?;
    /// assert!(rt.handle().sight().is_on());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn start(&self) -> io::Result<()> {
        self.shared.start_sight()
    }

    /// Switches it off.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().sight(true).build()?;
    /// rt.handle().sight().stop();
    /// assert!(rt.handle().findings().is_empty());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn stop(&self) {
        self.shared.stop_sight();
    }

    /// Returns whether it is on.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().sight(true).build()?;
    /// assert!(rt.handle().sight().is_on());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn is_on(&self) -> bool {
        self.shared.sight.on.lock().is_some()
    }

    /// Returns what the runtime is doing now.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().sight(true).build()?;
    /// let json = rt.handle().sight().snapshot().to_json();
    /// assert!(json.contains("\"workers\""));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::take(&self.shared)
    }

    /// Returns the live tasks, in the order of their numbers.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().sight(true).build()?;
    /// let task = rt.spawn(std::future::pending::<()>());
    /// let tasks = rt.handle().sight().tasks();
    /// assert_eq!(tasks[0].id, task.id());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn tasks(&self) -> Vec<TaskView> {
        snapshot::tasks(&self.shared)
    }

    /// Returns a live task, what it waits for, the task that holds that, and so on.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().sight(true).build()?;
    /// let task = rt.spawn(std::future::pending::<()>());
    /// let (view, chain) = rt.handle().sight().task(task.id()).unwrap();
    /// assert_eq!(view.id, task.id());
    /// assert_eq!(chain[0].task, task.id());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn task(&self, id: crate::task::Id) -> Option<(TaskView, Vec<Link>)> {
        snapshot::task(&self.shared, id)
    }
}

impl fmt::Debug for Sight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sight")
            .field("runtime", &self.shared.id)
            .field("is_on", &self.is_on())
            .finish()
    }
}

impl Handle {
    /// Returns what the runtime knows of its own state.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Runtime::new()?;
    /// assert!(!rt.handle().sight().is_on());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn sight(&self) -> Sight {
        Sight::new(self.shared.clone())
    }

    /// Returns what is wrong with the runtime and its tasks, worst first, as of the last look.
    ///
    /// It is looked for twice a second while [sight](Handle::sight) is on. There are no findings while it is off.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().sight(true).build()?;
    /// assert!(rt.handle().findings().is_empty());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn findings(&self) -> Vec<Finding> {
        self.shared.found().to_vec()
    }
}
