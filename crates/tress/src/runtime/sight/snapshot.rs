//! What a runtime is doing, at one moment.

use super::finding::{Finding, Link, WaitView, number_or_null, place, string_or_null};
use super::look::{Look, Tasks};
use super::rules;
use crate::identity::{Id, order};
use crate::json::{Object, finite};
use crate::runtime::flight::{SiteStats, Spread};
use crate::runtime::metrics::RuntimeMetrics;
use crate::runtime::{RuntimeFlavor, Shared};
use crate::sight::{self, WaitKind};
use crate::task::TaskRef;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of resources that are listed: those with the most waiting tasks.
const MOST_RESOURCES: usize = 200;
/// Maximum number of spawn sites that are listed: those with the most live tasks.
const MOST_SITES: usize = 1000;

/// What a runtime is doing at one moment; returned by [`Sight::snapshot`](super::Sight::snapshot).
///
/// # Examples
/// ```
/// let rt = tress::runtime::Builder::new_multi_thread().worker_threads(2).sight(true).build()?;
/// let snapshot = rt.handle().sight().snapshot();
/// assert_eq!(snapshot.workers.len(), 2);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Snapshot {
    /// The number of the runtime.
    pub runtime: crate::runtime::Id,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// How long ago it was built.
    pub uptime: Duration,
    /// What is wrong, worst first.
    pub findings: Vec<Finding>,
    /// The workers.
    pub workers: Vec<WorkerView>,
    /// The places where tasks were spawned: those with the most live tasks first. None while the [flight
    /// recorder](crate::trace::FlightRecorder) is off.
    pub sites: Vec<SiteView>,
    /// The locks and channels that tasks wait for: those with the most waiting tasks first.
    pub resources: Vec<ResourceView>,
    /// How many tasks wait for what.
    pub waiting: Vec<(WaitKind, usize)>,
    /// Number of live tasks.
    pub alive: u64,
    flavor: RuntimeFlavor,
    global_queue: usize,
    blocking: (usize, usize, usize),
    dispatchers: Vec<crate::runtime::DispatcherMetrics>,
    sections: Vec<(String, String)>,
}

/// What a worker is doing.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WorkerView {
    /// Its index.
    pub index: usize,
    /// Whether it sleeps.
    pub is_parked: bool,
    /// The task that it polls, if that is known: slow polls have to be [looked
    /// for](crate::runtime::Builder::slow_poll_threshold).
    pub task: Option<Id>,
    /// Its counters.
    pub metrics: crate::runtime::WorkerMetrics,
    /// What it waits for events with, such as `io_uring` or `epoll`; `None` without I/O.
    pub io_backend: Option<String>,
    /// Number of timers.
    pub timers: usize,
    /// How much of the time in which its thread was ready to run it had a processor, lately; `None` if that is not known.
    pub on_cpu: Option<f64>,
}

/// The tasks that were spawned at one place, or have one name, since the [flight
/// recorder](crate::trace::FlightRecorder) was switched on.
///
/// Arrays have an item for each window: the last second, the last ten seconds and the last minute.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SiteView {
    /// The place; for a name, where the last of its live tasks was spawned.
    pub spawned_at: Option<&'static Location<'static>>,
    /// The name of its tasks, if they have one.
    pub name: Option<String>,
    /// Number of live tasks.
    pub live: u64,
    /// Number of tasks that were spawned.
    pub spawned: u64,
    /// Number of tasks that have ended.
    pub completed: u64,
    /// Tasks that were spawned each second.
    pub spawn_rate: [f64; 3],
    /// Number of polls. Where only some are recorded, it is an estimate.
    pub polls: u64,
    /// Polls each second.
    pub poll_rate: [f64; 3],
    /// How long polls took, in each window and in all.
    pub poll: [Spread; 4],
    /// How long tasks that were ready waited for their polls, in each window and in all.
    pub delay: [Spread; 4],
    /// The age of the oldest live task, at least.
    pub oldest: Option<Duration>,
    /// How long half of the live tasks have not been polled for.
    pub idle_p50: Option<Duration>,
    /// How many nanoseconds polls took, and how many polls: the middles of ranges, in all.
    pub polls_by_length: Vec<(u64, u64)>,
    /// The same for how long tasks that were ready waited for their polls.
    pub delays_by_length: Vec<(u64, u64)>,
}

/// Something that tasks wait for.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ResourceView {
    /// What it is.
    pub kind: WaitKind,
    /// Its address.
    pub resource: u64,
    /// Where it was created, if it is known.
    pub created_at: Option<&'static Location<'static>>,
    /// The tasks that hold it, and for how long: at most four.
    pub holders: Vec<(Option<Id>, Duration)>,
    /// Number of tasks that wait for it.
    pub waiters: usize,
    /// How long the first of them has waited.
    pub longest: Duration,
}

/// A live task; returned by [`Sight::tasks`](super::Sight::tasks).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TaskView {
    /// Its number.
    pub id: Id,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Where it was spawned.
    pub spawned_at: &'static Location<'static>,
    /// `idle`, `ready` or `running`.
    pub state: &'static str,
    /// How long it has been idle, as far as is known.
    pub idle: Option<Duration>,
    /// What it waits for: any of these.
    pub waits: Vec<WaitView>,
    /// The type of its future.
    pub type_name: &'static str,
    /// How often it was polled and had to wait, since sight was switched on; `None` if it was not polled since.
    pub polls: Option<u64>,
    /// How long it has been known: since its first poll, or since sight was switched on.
    pub age: Option<Duration>,
}

impl Snapshot {
    pub(super) fn take(shared: &Arc<Shared>) -> Snapshot {
        let look = Look::new();
        let mut tasks = Tasks::default();
        tasks.add(shared);
        let metrics = RuntimeMetrics::new(shared.clone());
        let pool = shared.blocking.metrics();
        let workers = 0..shared.scheduler.workers();
        Snapshot {
            runtime: shared.id,
            name: shared.name.clone(),
            uptime: crate::sys::clock::elapsed(shared.sight.begun),
            findings: shared.found().to_vec(),
            workers: workers
                .map(|worker| worker_view(shared, &metrics, worker))
                .collect(),
            sites: sites(shared),
            resources: resources(&look, &tasks),
            waiting: waiting(&look, &tasks),
            alive: shared.scheduler.alive(),
            flavor: shared.flavor(),
            global_queue: shared.scheduler.frame().inject.len(),
            blocking: (pool.threads, pool.idle, pool.queued),
            dispatchers: metrics.dispatchers(),
            sections: sections(shared),
        }
    }

    /// Writes it as a JSON object.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().sight(true).build()?;
    /// let json = rt.handle().sight().snapshot().to_json();
    /// assert!(json.starts_with("{\"id\":"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        let mut out = Object::begin(&mut text);
        out.number("id", self.runtime);
        string_or_null(&mut out, "name", self.name.as_deref());
        let flavor = match self.flavor {
            RuntimeFlavor::CurrentThread => "current_thread",
            _ => "multi_thread",
        };
        out.string("flavor", flavor);
        out.number("uptime_ms", self.uptime.as_millis());
        out.number("alive", self.alive);
        out.number("global_queue", self.global_queue);
        let runtime = self.runtime;
        out.list("findings", &self.findings, |out, finding| {
            finding.write_json(out, runtime);
        });
        out.list("workers", &self.workers, |out, worker| {
            worker.write_json(out)
        });
        let (threads, idle, queued) = self.blocking;
        let mut blocking = out.object("blocking");
        blocking.number("threads", threads);
        blocking.number("idle", idle);
        blocking.number("queued", queued);
        blocking.end();
        out.list("dispatchers", &self.dispatchers, |out, dispatcher| {
            out.string("name", &dispatcher.name);
            out.number("limit", dispatcher.parallelism);
            out.number("submitted", dispatcher.tasks_submitted);
            out.number("completed", dispatcher.tasks_completed);
            out.number("ready", dispatcher.queue_depth);
            out.number("running", dispatcher.running);
        });
        out.list("sites", &self.sites, |out, site| site.write_json(out));
        out.list("resources", &self.resources, |out, resource| {
            resource.write_json(out);
        });
        let mut waiting = out.object("waiting");
        for (kind, count) in &self.waiting {
            waiting.number(&kind.to_string(), count);
        }
        waiting.end();
        out.list("sections", &self.sections, |out, (name, dump)| {
            out.string("name", name);
            out.string("text", dump);
        });
        out.end();
        text
    }
}

impl WorkerView {
    fn write_json(&self, out: &mut Object<'_>) {
        out.number("index", self.index);
        let state = match (self.is_parked, self.task) {
            (true, _) => "parked",
            (false, Some(_)) => "polling",
            (false, None) => "awake",
        };
        out.string("state", state);
        number_or_null(out, "task", self.task);
        out.number("queue", self.metrics.queue_depth);
        out.number("polls", self.metrics.tasks_polled);
        out.number("steals", self.metrics.tasks_stolen);
        out.number("parks", self.metrics.park_events);
        out.number("slow_polls", self.metrics.slow_polls);
        out.number("timers_fired", self.metrics.timers_fired);
        out.number("mean_poll_ns", self.metrics.avg_run_ticks);
        out.number("max_poll_ns", self.metrics.max_run_ticks);
        out.number("busy_ms", finite(self.metrics.busy.as_secs_f64() * 1000.0));
        string_or_null(out, "io_backend", self.io_backend.as_deref());
        out.number("timers", self.timers);
        number_or_null(out, "on_cpu", self.on_cpu.map(finite));
    }
}

impl SiteView {
    fn write_json(&self, out: &mut Object<'_>) {
        let site = self.spawned_at.map(place);
        out.string("site", site.as_deref().unwrap_or("(other)"));
        string_or_null(out, "name", self.name.as_deref());
        out.number("live", self.live);
        out.number("spawned", self.spawned);
        out.number("completed", self.completed);
        out.number("polls", self.polls);
        let rates = |rates: &[f64; 3]| {
            let [a, b, c] = rates.map(finite);
            format!("[{a:.1},{b:.1},{c:.1}]")
        };
        out.number("spawn_rate", rates(&self.spawn_rate));
        out.number("poll_rate", rates(&self.poll_rate));
        let ns = |time: Option<Duration>| time.map(|time| time.as_nanos());
        let ms = |time: Option<Duration>| time.map(|time| time.as_millis());
        let all = self.poll.len() - 1;
        number_or_null(out, "poll_p50", ns(self.poll[all].p50));
        number_or_null(out, "poll_p99", ns(self.poll[all].p99));
        number_or_null(out, "poll_max", ns(self.poll[all].max));
        number_or_null(out, "delay_p50", ns(self.delay[all].p50));
        number_or_null(out, "delay_p99", ns(self.delay[all].p99));
        number_or_null(out, "oldest_ms", ms(self.oldest));
        number_or_null(out, "idle_p50_ms", ms(self.idle_p50));
        let windows = self.poll.iter().zip(&self.delay).take(all);
        out.list("windows", windows, |out, (poll, delay)| {
            number_or_null(out, "poll_p50", ns(poll.p50));
            number_or_null(out, "poll_p99", ns(poll.p99));
            number_or_null(out, "delay_p50", ns(delay.p50));
            number_or_null(out, "delay_p99", ns(delay.p99));
        });
    }
}

impl ResourceView {
    fn write_json(&self, out: &mut Object<'_>) {
        out.string("kind", &self.kind.to_string());
        out.string("resource", &format!("{:#x}", self.resource));
        let created_at = self.created_at.map(place);
        string_or_null(out, "site", created_at.as_deref());
        out.list("holders", &self.holders, |out, (task, held)| {
            number_or_null(out, "task", *task);
            out.number("for_ms", held.as_millis());
        });
        out.number("waiters", self.waiters);
        out.number("longest_ms", self.longest.as_millis());
    }
}

impl TaskView {
    /// Writes it as a JSON object.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().sight(true).build()?;
    /// rt.spawn(std::future::pending::<()>());
    /// assert!(rt.handle().sight().tasks()[0].to_json().starts_with("{\"id\":"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        let mut out = Object::begin(&mut text);
        out.number("id", self.id);
        string_or_null(&mut out, "name", self.name.as_deref());
        out.string("site", &place(self.spawned_at));
        out.string("state", self.state);
        let idle = self.idle.map(|idle| idle.as_millis());
        number_or_null(&mut out, "idle_ms", idle);
        out.list("waits", &self.waits, |out, wait| wait.write_json(out));
        out.string("type", self.type_name);
        number_or_null(&mut out, "polls", self.polls);
        number_or_null(&mut out, "age_ms", self.age.map(|age| age.as_millis()));
        out.end();
        text
    }
}

impl Link {
    /// Writes it as a JSON object.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().sight(true).build()?;
    /// let task = rt.spawn(std::future::pending::<()>());
    /// let (_, chain) = rt.handle().sight().task(task.id()).unwrap();
    /// assert!(chain[0].to_json().starts_with("{\"task\":"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        let mut out = Object::begin(&mut text);
        self.write_json(&mut out);
        out.end();
        text
    }
}

impl fmt::Display for TaskView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "`{name}` (task {})", self.id),
            None => write!(f, "task {} (spawned at {})", self.id, self.spawned_at),
        }
    }
}

fn worker_view(shared: &Shared, metrics: &RuntimeMetrics, worker: usize) -> WorkerView {
    let station = shared.scheduler.station(worker);
    // Its first words name it, and what follows is how it is getting on.
    let io = station.rest.io.describe();
    let timers = station.timers.look(0, |_| ()).map_or(0, |(_, len)| len);
    WorkerView {
        index: worker,
        is_parked: !shared.scheduler.is_awake(worker),
        task: shared.config().tracer.running(worker),
        metrics: metrics.worker(worker),
        io_backend: io.map(|io| io.split(',').next().unwrap_or(&io).to_lowercase()),
        timers,
        on_cpu: shared.on_core(worker),
    }
}

fn sites(shared: &Shared) -> Vec<SiteView> {
    let mut sites: Vec<SiteView> = shared
        .site_stats()
        .into_iter()
        .map(SiteView::from)
        .collect();
    sites.sort_by_key(|site| std::cmp::Reverse((site.live, site.spawned)));
    sites.truncate(MOST_SITES);
    sites
}

impl From<SiteStats> for SiteView {
    fn from(stats: SiteStats) -> SiteView {
        SiteView {
            spawned_at: stats.site,
            name: stats.name,
            live: stats.live,
            spawned: stats.spawned,
            completed: stats.completed,
            spawn_rate: stats.spawn_rate,
            polls: stats.polls,
            poll_rate: stats.poll_rate,
            poll: stats.poll,
            delay: stats.delay,
            oldest: stats.oldest,
            idle_p50: stats.idle_p50,
            polls_by_length: stats.polls_by_length,
            delays_by_length: stats.delays_by_length,
        }
    }
}

impl SiteView {
    /// Returns whether a task is one of these: by its name if it has one, else by where it was spawned.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().sight(true).build()?;
    /// rt.spawn(std::future::pending::<()>());
    /// let sight = rt.handle().sight();
    /// let (task, sites) = (&sight.tasks()[0], sight.snapshot().sites);
    /// assert!(sites.iter().any(|site| site.has(task)));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn has(&self, task: &TaskView) -> bool {
        match (&self.name, &task.name) {
            (None, None) => self.spawned_at == Some(task.spawned_at),
            (a, b) => a == b,
        }
    }
}

fn resources(look: &Look, tasks: &Tasks) -> Vec<ResourceView> {
    let crowds = rules::crowds(look);
    let of_runtime = |task: u64| tasks.get(task).is_some();
    let view = |(resource, crowd): (u64, rules::Crowd)| {
        let holders = sight::holders_of(resource).filter(|_| crowd.kind.has_holder());
        let holders = holders.iter().flat_map(|holders| holders.iter());
        ResourceView {
            kind: crowd.kind,
            resource,
            created_at: crowd.site,
            holders: holders
                .map(|holder| (Id::from_raw(holder.task), look.since(holder.since)))
                .collect(),
            waiters: crowd.waiters,
            longest: crowd.longest,
        }
    };
    let io = |kind| matches!(kind, WaitKind::Read | WaitKind::Write | WaitKind::Operation);
    let mut all: Vec<ResourceView> = crowds
        .into_iter()
        .filter(|(_, crowd)| of_runtime(crowd.first) && !io(crowd.kind))
        .map(view)
        .collect();
    all.sort_by(|a, b| {
        let key = |resource: &ResourceView| (resource.waiters, resource.longest);
        key(b).cmp(&key(a)).then(a.resource.cmp(&b.resource))
    });
    all.truncate(MOST_RESOURCES);
    all
}

fn waiting(look: &Look, tasks: &Tasks) -> Vec<(WaitKind, usize)> {
    let mut kinds: BTreeMap<WaitKind, usize> = BTreeMap::new();
    for (task, waits) in look.waiting() {
        let is_idle = tasks
            .get(task)
            .is_some_and(|known| known.outline.state == "idle");
        if let (true, Some(wait)) = (is_idle, waits.iter().next()) {
            *kinds.entry(wait.kind).or_default() += 1;
        }
    }
    kinds.into_iter().collect()
}

fn sections(shared: &Shared) -> Vec<(String, String)> {
    let sections = shared.sections.all().unwrap_or_default();
    let text = |section: Arc<dyn crate::trace::Section>| {
        let mut dump = Vec::new();
        // Foreign code: what it has written before it panicked or failed is shown.
        let _ = crate::sys::guarded(|| section.dump(&mut dump));
        let name = section.name().to_owned();
        (name, String::from_utf8_lossy(&dump).into_owned())
    };
    sections.into_iter().map(text).collect()
}

pub(super) fn tasks(shared: &Shared) -> Vec<TaskView> {
    let look = Look::new();
    let mut tasks: Vec<TaskRef> = Vec::new();
    shared.try_live_tasks(&mut tasks);
    let mut views: Vec<TaskView> = tasks
        .iter()
        .filter(|task| !task.is_complete())
        .map(|task| view(&look, task))
        .collect();
    order::by_key(&mut views, |task| task.id.get());
    views
}

fn view(look: &Look, task: &TaskRef) -> TaskView {
    let header = task.header();
    let state = task.outline().state;
    let waits = look
        .of(header.id().get())
        .filter(|_| state == "idle")
        .map(|waits| waits.iter().map(|wait| look.wait_view(wait)).collect());
    TaskView {
        id: header.id(),
        name: header.name().map(str::to_owned),
        spawned_at: header.location(),
        state,
        idle: look.idle(header.id().get()).filter(|_| state == "idle"),
        waits: waits.unwrap_or_default(),
        type_name: header.type_name(),
        polls: look.of(header.id().get()).map(|waits| waits.polls.into()),
        age: look
            .of(header.id().get())
            .map(|waits| look.since(waits.first)),
    }
}

pub(super) fn task(shared: &Shared, id: Id) -> Option<(TaskView, Vec<Link>)> {
    let look = Look::new();
    let mut all: Vec<TaskRef> = Vec::new();
    shared.try_live_tasks(&mut all);
    let task = all.iter().find(|task| task.header().id() == id)?;
    let view = view(&look, task);
    drop(all);
    let tasks = super::all_tasks();
    let chain = look.chain(id.get());
    let links = chain.links.iter();
    let links = links.filter_map(|(task, wait)| look.link(*task, wait.as_ref(), &tasks));
    Some((view, links.collect()))
}
