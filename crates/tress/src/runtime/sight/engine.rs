//! The rules that compare looks, and the memory that they need.

use super::chain::{self, round};
use super::finding::{Finding, FindingKind, Severity, place};
use super::look::{Known, Look, Tasks, holder};
use super::rules::{self, Crowd, created};
use super::thresholds::Thresholds;
use crate::identity::Id;
use crate::runtime::Shared;
use crate::runtime::flight::SiteStats;
use crate::sight::{Site, WaitKind};
use crate::sys::clock;
use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

/// Number of looks one after the other in which something must be so.
const LOOKS: u32 = 3;
/// Number of windows one after the other in which a leak must grow.
const WINDOWS: usize = 3;
/// The longest window, which no clock is too short for.
const LONGEST_WINDOW: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a slow poll is told of after it has ended.
const KEPT: Duration = Duration::from_secs(10);

/// What the engine remembers of one runtime.
pub(super) struct Engine {
    limits: Thresholds,
    workers: Vec<Pace>,
    slow: Vec<(Instant, Finding)>,
    /// What the last window has found.
    lost: Vec<Finding>,
    crowded: HashMap<u64, u32>,
    queued: u32,
    delayed: u32,
    sites: HashMap<Site, Growth>,
    next_window: Instant,
    pool_busy_since: Option<Instant>,
}

/// How a worker gets on.
struct Pace {
    polled: u64,
    since: Instant,
    told: bool,
    /// The tasks that were being polled at each look since then.
    suspects: Option<Vec<u64>>,
}

/// How the number of live tasks of a site has changed, from window to window.
#[derive(Default)]
struct Growth {
    live: VecDeque<usize>,
    since: Option<Instant>,
}

impl Engine {
    pub(super) fn new(limits: Thresholds) -> Engine {
        Engine {
            limits,
            workers: Vec::new(),
            slow: Vec::new(),
            lost: Vec::new(),
            crowded: HashMap::new(),
            queued: 0,
            delayed: 0,
            sites: HashMap::new(),
            next_window: clock::now(),
            pool_busy_since: None,
        }
    }

    /// Looks whether a worker is stuck in a poll: often, since it costs little.
    pub(super) fn look_at_workers(&mut self, shared: &Shared) {
        let now = clock::now();
        let mut stuck = Vec::new();
        for worker in 0..shared.scheduler.workers() {
            let polled = shared.scheduler.station(worker).stats.polled.get();
            let fresh = Pace {
                polled,
                since: now,
                told: false,
                suspects: None,
            };
            if self.workers.len() <= worker {
                self.workers.push(fresh);
                continue;
            }
            let pace = &mut self.workers[worker];
            if pace.polled != polled || !shared.scheduler.is_awake(worker) {
                *pace = fresh;
            } else {
                stuck.push(worker);
            }
        }
        if !stuck.is_empty() {
            self.look_at_stuck(shared, now, &stuck);
        }
        self.slow.retain(|(seen, _)| now - *seen < KEPT);
    }

    /// Finds the tasks that are being polled on workers that are stuck.
    ///
    /// Which task a worker polls cannot be known without a cost for each poll. But tasks say that they are being polled,
    /// and the one that keeps a worker does so at each look.
    fn look_at_stuck(&mut self, shared: &Shared, now: Instant, stuck: &[usize]) {
        let mut tasks = Tasks::default();
        tasks.add(shared);
        let on_worker = |known: &Known| known.outline.is_running && !known.is_blocking;
        let running = tasks.iter().filter(|(_, known)| on_worker(known));
        let running: Vec<u64> = running.map(|(task, _)| task).collect();
        for worker in stuck {
            let pace = &mut self.workers[*worker];
            match &mut pace.suspects {
                Some(suspects) => suspects.retain(|task| running.contains(task)),
                none => *none = Some(running.clone()),
            }
            let lasts = now - pace.since;
            let are_several = pace.suspects.as_ref().is_some_and(|all| all.len() > 1);
            // The next looks may tell which of several it is.
            let looks = if are_several { 4 } else { 1 };
            let enough = self.limits.slow_poll.saturating_mul(looks);
            if lasts < enough {
                continue;
            }
            let is_new = !std::mem::replace(&mut pace.told, true);
            let suspects = pace.suspects.as_deref().unwrap_or_default();
            let finding = slow_poll(&tasks, *worker, suspects, lasts);
            let mut told = self.slow.iter_mut().rev();
            match told.find(|(_, told)| !is_new && told.is_same(&finding)) {
                Some(told) => *told = (now, finding),
                None => {
                    // The same task again, or what was not certain before.
                    let worker = *worker as u64;
                    self.slow
                        .retain(|(_, old)| !old.is_same(&finding) && old.about != worker);
                    self.slow.push((now, finding));
                }
            }
        }
    }

    /// Looks at everything else. The live tasks are listed only if they are needed, since there may be many.
    pub(super) fn look(&mut self, shared: &Shared, list: impl FnOnce() -> Tasks) -> Vec<Finding> {
        let now = clock::now();
        let look = Look::new();
        let crowds = rules::crowds(&look);
        let window = now >= self.next_window;
        let is_crowded = crowds.values().any(|crowd| {
            crowd.waiters >= self.limits.convoy || crowd.longest >= self.limits.full_channel
        });
        let pool = shared.blocking.metrics();
        let pool_is_full = pool.queued > 0 && pool.idle == 0;
        let wanted = window || is_crowded || pool_is_full || chain::is_any(&look, &self.limits);
        let tasks = match wanted {
            true => list(),
            false => Tasks::default(),
        };
        if window {
            // A window that is too long for the clock never ends; it is looked at once in a long time.
            let length = self.limits.leak_window.min(LONGEST_WINDOW);
            self.next_window = now + length;
            self.begin_window(shared, &tasks, now);
            self.lost = chain::lost(shared, &look, &tasks, &self.limits);
        }
        let mut found = chain::stuck(shared, &look, &tasks, &self.limits);
        found.extend(self.lost.iter().cloned());
        found.extend(self.slow.iter().map(|(_, finding)| finding.clone()));
        found.extend(self.convoys(&look, &crowds, &tasks));
        found.extend(rules::full_channels(&crowds, &tasks, &self.limits));
        found.extend(rules::long_queues(&look, &self.limits));
        found.extend(self.starvation(shared));
        found.extend(self.delay(shared));
        found.extend(self.blocking_pool(shared, &tasks));
        found.extend(self.leaks(now));
        // Worst first, then the oldest.
        found.sort_by(|a, b| b.severity.cmp(&a.severity).then(b.since.cmp(&a.since)));
        found
    }

    fn convoys(
        &mut self,
        look: &Look,
        crowds: &HashMap<u64, Crowd>,
        tasks: &Tasks,
    ) -> Vec<Finding> {
        let is_crowded = |crowd: &Crowd| {
            crowd.waiters >= self.limits.convoy
                && matches!(
                    crowd.kind,
                    WaitKind::Mutex | WaitKind::RwLockWrite | WaitKind::RwLockRead
                )
                // One that nobody gets is another finding.
                && crowd.longest < self.limits.stuck
        };
        self.crowded
            .retain(|resource, _| crowds.get(resource).is_some_and(is_crowded));
        let mut found = Vec::new();
        for (resource, crowd) in crowds {
            if !is_crowded(crowd) {
                continue;
            }
            let looks = self.crowded.entry(*resource).or_insert(0);
            *looks += 1;
            if *looks < LOOKS {
                continue;
            }
            let held = look.of(crowd.first).and_then(|waits| {
                let wait = waits.iter().find(|wait| wait.resource == *resource)?;
                holder(wait)
            });
            let by = held.map_or(String::new(), |(task, _)| {
                format!("; {} holds it now", tasks.say(task))
            });
            let what = match crowd.kind {
                WaitKind::Mutex => "Mutex",
                _ => "RwLock",
            };
            found.push(Finding {
                kind: FindingKind::Convoy,
                severity: Severity::Warning,
                text: format!(
                    "{} tasks queue for the {what}{}, the first for {}{by}",
                    crowd.waiters,
                    created(crowd.site),
                    round(crowd.longest)
                ),
                task: held.and_then(|(task, _)| Id::from_raw(task)),
                name: None,
                site: crowd.site,
                chain: Vec::new(),
                cycle: false,
                since: crowd.longest,
                about: *resource,
            });
        }
        found
    }

    fn starvation(&mut self, shared: &Shared) -> Option<Finding> {
        let workers = 0..shared.scheduler.workers();
        let queue = |worker| shared.scheduler.queue_depth(worker);
        let longest = workers.max_by_key(|worker| queue(*worker))?;
        let global = shared.scheduler.frame().inject.len();
        let depth = queue(longest).max(global);
        if depth < self.limits.queue {
            self.queued = 0;
            return None;
        }
        self.queued += 1;
        let place = match queue(longest) >= global {
            true => format!("worker {longest}'s queue"),
            false => "the global queue".to_owned(),
        };
        let mean = shared.scheduler.station(longest).stats.mean_poll_ns.get();
        (self.queued >= LOOKS).then(|| Finding {
            kind: FindingKind::Starvation,
            severity: Severity::Warning,
            text: format!(
                "{depth} ready tasks wait in {place}, {} of work at its mean poll of {:?}: there are more tasks than the workers can run",
                round(Duration::from_nanos(mean.saturating_mul(depth as u64))),
                Duration::from_nanos(mean)
            ),
            task: None,
            name: None,
            site: None,
            chain: Vec::new(),
            cycle: false,
            since: super::PERIOD * self.queued,
            about: 0,
        })
    }

    /// Finds the spawn site whose tasks wait longest for their polls.
    fn delay(&mut self, shared: &Shared) -> Option<Finding> {
        let delay = |site: &SiteStats| site.delay[0].p99.unwrap_or_default();
        let worst = shared.site_stats().into_iter().max_by_key(delay);
        let worst = worst.filter(|site| delay(site) >= self.limits.starvation);
        let Some(worst) = worst else {
            self.delayed = 0;
            return None;
        };
        self.delayed += 1;
        let off = (0..shared.scheduler.workers()).filter_map(|worker| shared.on_core(worker));
        let why = match off.min_by(f64::total_cmp) {
            Some(share) if share < 0.5 => format!(
                "a worker had a processor for {:.0} % of the time in which it could run",
                share * 100.0
            ),
            _ => "polls of other tasks take long, or there are too many".to_owned(),
        };
        let who = match (&worst.name, worst.site) {
            (Some(name), _) => format!("`{name}`"),
            (None, Some(site)) => format!("what was spawned at {}", place(site)),
            (None, None) => "some tasks".to_owned(),
        };
        (self.delayed >= LOOKS).then(|| Finding {
            kind: FindingKind::Starvation,
            severity: Severity::Warning,
            text: format!(
                "Ready tasks wait too long for their polls: one in a hundred of {who} waits {} or longer; {why}",
                round(delay(&worst))
            ),
            task: None,
            name: worst.name.clone(),
            site: worst.site,
            chain: Vec::new(),
            cycle: false,
            since: super::PERIOD * self.delayed,
            about: 1,
        })
    }

    fn blocking_pool(&mut self, shared: &Shared, tasks: &Tasks) -> Option<Finding> {
        let pool = shared.blocking.metrics();
        let now = clock::now();
        if pool.queued == 0 || pool.idle > 0 {
            self.pool_busy_since = None;
            return None;
        }
        let since = now - *self.pool_busy_since.get_or_insert(now);
        if since < self.limits.blocking_pool {
            return None;
        }
        // Closures on the pool are tasks, too.
        let mut sites: HashMap<Site, usize> = HashMap::new();
        for (_, known) in tasks
            .of(shared)
            .filter(|(_, known)| known.outline.is_running && known.is_blocking)
        {
            *sites.entry(known.spawned_at).or_default() += 1;
        }
        let most = sites
            .into_iter()
            .max_by_key(|(site, count)| (*count, site.line()));
        let by = most.map_or(String::new(), |(site, count)| {
            format!("; {count} of them run what was spawned at {}", place(site))
        });
        Some(Finding {
            kind: FindingKind::BlockingPool,
            severity: Severity::Critical,
            text: format!(
                "All {} threads of the blocking pool have been busy for {}, and {} closures wait{by}",
                pool.threads,
                round(since),
                pool.queued
            ),
            task: None,
            name: None,
            site: most.map(|(site, _)| site),
            chain: Vec::new(),
            cycle: false,
            since,
            about: 0,
        })
    }

    fn leaks(&self, now: Instant) -> Vec<Finding> {
        let mut found = Vec::new();
        for (site, growth) in &self.sites {
            let Some(since) = growth.since else { continue };
            let (first, last) = (growth.live[0], growth.live[WINDOWS]);
            let lasts = (now - since).as_secs_f64().max(0.001);
            let rate = (last - first) as f64 / lasts;
            found.push(Finding {
                kind: FindingKind::Leak,
                severity: Severity::Warning,
                text: format!(
                    "Tasks spawned at {} pile up: {first} were alive {} ago, {last} are now ({rate:.0} more each second)",
                    place(site),
                    round(now - since)
                ),
                task: None,
                name: None,
                site: Some(site),
                chain: Vec::new(),
                cycle: false,
                since: now - since,
                about: std::ptr::from_ref(*site).addr() as u64,
            });
        }
        found
    }

    /// Counts the live tasks of each site.
    fn begin_window(&mut self, shared: &Shared, tasks: &Tasks, now: Instant) {
        let mut live: HashMap<Site, usize> = HashMap::new();
        for (_, known) in tasks.of(shared) {
            *live.entry(known.spawned_at).or_default() += 1;
        }
        // Sites without live tasks are forgotten, so there are as many as there are sites with some.
        self.sites.retain(|site, _| live.contains_key(site));
        for (site, count) in live {
            let growth = self.sites.entry(site).or_default();
            growth.live.push_back(count);
            if growth.live.len() > WINDOWS + 1 {
                growth.live.pop_front();
            }
            let counts = growth.live.make_contiguous();
            let grows = counts.len() == WINDOWS + 1
                && count >= self.limits.leak_tasks
                && counts
                    .windows(2)
                    .all(|pair| pair[1] > pair[0] + pair[0] / 20);
            let lasts = self.limits.leak_window.saturating_mul(WINDOWS as u32);
            growth.since = grows.then(|| now.checked_sub(lasts).unwrap_or(now));
        }
    }
}

fn slow_poll(tasks: &Tasks, worker: usize, suspects: &[u64], lasts: Duration) -> Finding {
    let one = match suspects {
        [one] => Some(*one),
        _ => None,
    };
    let who = match suspects {
        [] => "The future in block_on, or a task that could not be found,".to_owned(),
        [one] => tasks.say(*one),
        [a, b] => format!("{} or {}", tasks.say(*a), tasks.say(*b)),
        [a, rest @ ..] => format!("{} or one of {} others", tasks.say(*a), rest.len()),
    };
    let known = one.and_then(|one| tasks.get(one));
    Finding {
        kind: FindingKind::SlowPoll,
        severity: Severity::Critical,
        text: format!(
            "{who} has kept worker {worker} for {} in one poll: it blocks, or computes without a yield",
            round(lasts)
        ),
        task: one.and_then(Id::from_raw),
        name: known.and_then(|known| known.name.clone()),
        site: known.map(|known| known.spawned_at),
        chain: Vec::new(),
        cycle: false,
        since: lasts,
        about: one.unwrap_or(worker as u64),
    }
}
