//! What the tasks of each spawn site do: how many there are, how long they are polled, how long they wait to be.
//!
//! Polls and waits come from the records that the collector drains; a poll counts for those that it stands for. How many
//! tasks were spawned comes from counters ([`Spawns`](crate::trace::Spawns), and those of names); how many there are, from
//! a look at all live tasks, at most once a second. A task is counted under its name if it has one, else under the place
//! that spawned it.
//!
//! Windows follow each other: what is said of the last second is said of the last whole one, and of the present one as long
//! as there was none.

use crate::identity::Label;
use crate::runtime::metrics::histogram::{Counts, LogHistogram};
use std::collections::HashMap;
use std::panic::Location;
use std::time::Duration;

/// Sites that are told apart. All further ones are counted together, as the site 0. One takes up to 7 KiB.
pub(crate) const MOST_SITES: usize = 2048;
/// Tasks of a site that are remembered in order to know the age of the oldest.
const ELDERS: usize = 8;
/// Tasks of a site whose idle time is looked at.
const IDLERS: usize = 64;
/// The lengths of the windows, in nanoseconds.
const WINDOWS: [u64; 3] = [1_000_000_000, 10_000_000_000, 60_000_000_000];

/// How long something took; nothing if it did not happen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spread {
    /// The median.
    pub p50: Option<Duration>,
    /// The 99th percentile.
    pub p99: Option<Duration>,
    /// The longest.
    pub max: Option<Duration>,
}

/// What is known of a spawn site. Rates are per second. Arrays have an item for each window: 1 s, 10 s, 60 s; those of
/// four have another for the whole time.
#[derive(Debug, Clone, Default)]
pub(crate) struct SiteStats {
    /// Where its tasks are spawned; of a name, where the last live one was.
    pub(crate) site: Option<&'static Location<'static>>,
    pub(crate) name: Option<String>,
    pub(crate) live: u64,
    pub(crate) spawned: u64,
    pub(crate) completed: u64,
    pub(crate) spawn_rate: [f64; 3],
    pub(crate) completion_rate: [f64; 3],
    pub(crate) polls: u64,
    pub(crate) poll_rate: [f64; 3],
    pub(crate) poll: [Spread; 4],
    /// From a wake-up or spawn to the poll that followed.
    pub(crate) delay: [Spread; 4],
    /// The age of the oldest task, as far as it was looked at: at least.
    pub(crate) oldest: Option<Duration>,
    /// How long half of the live tasks have not been polled for.
    pub(crate) idle_p50: Option<Duration>,
    /// How many polls took how many nanoseconds, and waits for polls, in all.
    #[cfg(feature = "sight")]
    pub(crate) polls_by_length: Vec<(u64, u64)>,
    #[cfg(feature = "sight")]
    pub(crate) delays_by_length: Vec<(u64, u64)>,
}

#[derive(Debug, Clone)]
struct Tally {
    spawned: u64,
    completed: u64,
    polls: u64,
    poll: Counts,
    delay: Counts,
}

impl Tally {
    fn new() -> Tally {
        let shape = LogHistogram::default();
        Tally {
            spawned: 0,
            completed: 0,
            polls: 0,
            poll: Counts::new(shape),
            delay: Counts::new(shape),
        }
    }

    fn clear(&mut self) {
        (self.spawned, self.completed, self.polls) = (0, 0, 0);
        self.poll.clear();
        self.delay.clear();
    }
}

#[derive(Debug)]
struct Window {
    present: Tally,
    last: Tally,
}

#[derive(Debug)]
struct Site {
    label: u64,
    location: Option<&'static Location<'static>>,
    total: Tally,
    windows: [Window; 3],
    /// Tasks that were alive before spawns were counted.
    before: u64,
    live: u64,
    /// The tasks with the smallest numbers, and when each was first seen.
    elders: Vec<(u64, u64)>,
    idle_p50: Option<u64>,
}

impl Site {
    fn new(label: u64) -> Site {
        let window = || Window {
            present: Tally::new(),
            last: Tally::new(),
        };
        Site {
            label,
            location: None,
            total: Tally::new(),
            windows: [window(), window(), window()],
            before: 0,
            live: 0,
            elders: Vec::new(),
            idle_p50: None,
        }
    }

    fn each_tally(&mut self, f: impl Fn(&mut Tally)) {
        f(&mut self.total);
        for window in &mut self.windows {
            f(&mut window.present);
        }
    }
}

/// A live task, as a look finds it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Live {
    pub(crate) label: u64,
    pub(crate) task: u64,
    pub(crate) location: &'static Location<'static>,
    /// Nanoseconds since its last poll, if that is known.
    pub(crate) idle: Option<u64>,
}

/// Numbers that are counted exactly, by label.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted {
    pub(crate) label: u64,
    pub(crate) spawned: u64,
    /// `None`: it follows from how many live.
    pub(crate) completed: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct Sites {
    /// The first is that of all for which there is no room.
    sites: Vec<Site>,
    numbers: HashMap<u64, usize>,
    /// When each window began, and whether there was one before it.
    begun: [u64; 3],
    had: [bool; 3],
    /// There was no look yet.
    is_new: bool,
}

impl Sites {
    /// Creates a table without sites, at a time in nanoseconds.
    pub(crate) fn new(now: u64) -> Sites {
        Sites {
            sites: vec![Site::new(0)],
            numbers: HashMap::new(),
            begun: [now; 3],
            had: [false; 3],
            is_new: true,
        }
    }

    fn site(&mut self, label: u64) -> &mut Site {
        let next = self.sites.len();
        let number = match self.numbers.get(&label) {
            Some(number) => *number,
            None if label == 0 || next >= MOST_SITES => 0,
            None => {
                self.numbers.insert(label, next);
                self.sites.push(Site::new(label));
                next
            }
        };
        &mut self.sites[number]
    }

    /// Counts a poll that stands for `every`, and the wait before it if that is known; times in nanoseconds.
    pub(crate) fn poll(&mut self, label: u64, took: u64, every: u32, wait: Option<u64>) {
        self.site(label).each_tally(|tally| {
            tally.polls += u64::from(every);
            tally.poll.add(took, every);
            if let Some(wait) = wait {
                tally.delay.add(wait, 1);
            }
        });
    }

    /// Takes over what a look at the runtime has found.
    pub(crate) fn look(&mut self, now: u64, live: &[Live], counted: &[Counted]) {
        let mut found: HashMap<u64, Vec<&Live>> = HashMap::new();
        for task in live {
            found.entry(self.key(task.label)).or_default().push(task);
        }
        let mut sums: HashMap<u64, (u64, Option<u64>)> = HashMap::new();
        for counts in counted {
            let sum = sums.entry(self.key(counts.label)).or_insert((0, Some(0)));
            sum.0 += counts.spawned;
            sum.1 = sum.1.zip(counts.completed).map(|(a, b)| a + b);
        }
        let is_new = std::mem::take(&mut self.is_new);
        for site in &mut self.sites {
            let tasks = found.remove(&site.label).unwrap_or_default();
            let (spawned, completed) = sums.get(&site.label).copied().unwrap_or((0, None));
            site.live = tasks.len() as u64;
            site.note_tasks(now, &tasks);
            if is_new && completed.is_none() {
                site.before = site.live.saturating_sub(spawned);
            }
            let spawned = site.before + spawned;
            let completed = completed.unwrap_or(spawned.saturating_sub(site.live));
            let before = (site.total.spawned, site.total.completed);
            (site.total.spawned, site.total.completed) = (spawned, completed);
            if is_new {
                // What was before the first look was at no known time.
                continue;
            }
            for window in &mut site.windows {
                move_by(&mut window.present.spawned, before.0, spawned);
                move_by(&mut window.present.completed, before.1, completed);
            }
        }
    }

    /// Returns what a label is counted under, making a site for it if there is room.
    fn key(&mut self, label: u64) -> u64 {
        self.site(label).label
    }

    /// Ends the windows whose time is up.
    pub(crate) fn turn(&mut self, now: u64) {
        for (index, length) in WINDOWS.into_iter().enumerate() {
            let since = now.saturating_sub(self.begun[index]);
            if since < length {
                continue;
            }
            // Nothing was counted in windows that were missed.
            let missed = since >= 2 * length;
            for site in &mut self.sites {
                let window = &mut site.windows[index];
                std::mem::swap(&mut window.last, &mut window.present);
                window.present.clear();
                if missed {
                    window.last.clear();
                }
            }
            self.begun[index] += since / length * length;
            self.had[index] = true;
        }
    }

    /// Returns what is known of each site that had a task.
    ///
    /// # Safety
    /// The names of the runtime's tasks are alive.
    pub(crate) unsafe fn snapshot(&self, now: u64) -> Vec<SiteStats> {
        let used = |site: &&Site| site.total.spawned + site.total.polls + site.live > 0;
        let sites = self.sites.iter().filter(used);
        // SAFETY: by the caller's promise.
        sites.map(|site| unsafe { self.stats(site, now) }).collect()
    }

    /// # Safety
    /// As of `snapshot`.
    unsafe fn stats(&self, site: &Site, now: u64) -> SiteStats {
        // SAFETY: by the caller's promise; the word is a label's or 0.
        let (name, location) = unsafe { Label::read(site.label) };
        let name = match site.label {
            0 => Some("(other)"),
            _ => name,
        };
        let mut stats = SiteStats {
            site: location.or(site.location),
            name: name.map(str::to_owned),
            live: site.live,
            spawned: site.total.spawned,
            completed: site.total.completed,
            polls: site.total.polls,
            oldest: site.oldest(now),
            idle_p50: site.idle_p50.map(Duration::from_nanos),
            ..SiteStats::default()
        };
        for (index, window) in site.windows.iter().enumerate() {
            let (tally, length) = match self.had[index] {
                true => (&window.last, WINDOWS[index]),
                false => (
                    &window.present,
                    now.saturating_sub(self.begun[index]).max(1),
                ),
            };
            let rate = |number: u64| number as f64 * 1e9 / length as f64;
            stats.spawn_rate[index] = rate(tally.spawned);
            stats.completion_rate[index] = rate(tally.completed);
            stats.poll_rate[index] = rate(tally.polls);
            stats.poll[index] = spread(&tally.poll);
            stats.delay[index] = spread(&tally.delay);
        }
        stats.poll[3] = spread(&site.total.poll);
        stats.delay[3] = spread(&site.total.delay);
        #[cfg(feature = "sight")]
        {
            stats.polls_by_length = site.total.poll.pairs();
            stats.delays_by_length = site.total.delay.pairs();
        }
        stats
    }
}

impl Site {
    fn note_tasks(&mut self, now: u64, tasks: &[&Live]) {
        self.location = tasks.last().map(|task| task.location).or(self.location);
        let mut oldest: Vec<u64> = Vec::with_capacity(ELDERS + 1);
        for task in tasks {
            let at = oldest.partition_point(|other| *other < task.task);
            if at < ELDERS {
                oldest.insert(at, task.task);
                oldest.truncate(ELDERS);
            }
        }
        let seen = |task: u64| {
            let known = self.elders.iter().find(|(other, _)| *other == task);
            (task, known.map_or(now, |(_, seen)| *seen))
        };
        self.elders = oldest.into_iter().map(seen).collect();
        let step = tasks.len().div_ceil(IDLERS).max(1);
        let idle = tasks.iter().step_by(step).filter_map(|task| task.idle);
        let mut idle: Vec<u64> = idle.collect();
        idle.sort_unstable();
        self.idle_p50 = idle.get(idle.len() / 2).copied();
    }

    fn oldest(&self, now: u64) -> Option<Duration> {
        let first = self.elders.iter().map(|(_, seen)| *seen).min()?;
        Some(Duration::from_nanos(now.saturating_sub(first)))
    }
}

/// Changes a number as another one has changed. What is completed may turn out to be less than it seemed: a task that was
/// counted, but not yet listed, is seen by the next look.
fn move_by(number: &mut u64, from: u64, to: u64) {
    *number = (*number + to.saturating_sub(from)).saturating_sub(from.saturating_sub(to));
}

fn spread(counts: &Counts) -> Spread {
    Spread {
        p50: counts.quantile(0.5).map(Duration::from_nanos),
        p99: counts.quantile(0.99).map(Duration::from_nanos),
        max: counts.max().map(Duration::from_nanos),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[track_caller]
    fn label() -> (u64, &'static Location<'static>) {
        let place = Location::caller();
        (Label::spawned_at(place).word(), place)
    }

    fn live(label: u64, task: u64, location: &'static Location<'static>) -> Live {
        Live {
            label,
            task,
            location,
            idle: Some(task),
        }
    }

    fn snapshot(sites: &Sites, now: u64) -> Vec<SiteStats> {
        // SAFETY: there are no names in these tests.
        unsafe { sites.snapshot(now) }
    }

    fn counted(label: u64, spawned: u64) -> Counted {
        Counted {
            label,
            spawned,
            completed: None,
        }
    }

    #[test]
    fn windows_follow_each_other() {
        let (at, place) = label();
        let mut sites = Sites::new(0);
        sites.look(0, &[], &[]);
        for second in 0..12 {
            for n in 0..100 {
                sites.poll(at, (n + 1) * 1000, 2, Some(500_000));
            }
            let tasks = [live(at, 7, place)];
            sites.look(
                (second + 1) * SECOND,
                &tasks,
                &[counted(at, 10 * (second + 1))],
            );
            sites.turn((second + 1) * SECOND);
        }
        let stats = snapshot(&sites, 12 * SECOND);
        assert_eq!(stats.len(), 1);
        let stats = &stats[0];
        assert_eq!(stats.site.map(Location::line), Some(place.line()));
        assert_eq!((stats.spawned, stats.completed, stats.live), (120, 119, 1));
        assert_eq!(stats.polls, 2400);
        assert_eq!(stats.spawn_rate, [10.0; 3]);
        assert_eq!(stats.poll_rate, [200.0; 3]);
        for spread in stats.poll {
            let p50 = spread.p50.unwrap().as_nanos();
            assert!((50_000..64_000).contains(&p50), "{p50}");
            assert_eq!(spread.max, Some(Duration::from_micros(100)));
        }
        for delay in stats.delay {
            assert!(delay.p99.unwrap() >= Duration::from_micros(400));
        }
        assert_eq!(stats.oldest, Some(Duration::from_secs(11)));
        assert_eq!(stats.idle_p50, Some(Duration::from_nanos(7)));
        // A second in which nothing happens.
        sites.turn(13 * SECOND);
        assert_eq!(snapshot(&sites, 13 * SECOND)[0].poll_rate[0], 0.0);
        // And a long time in which nobody looked.
        sites.turn(1000 * SECOND);
        assert_eq!(snapshot(&sites, 1000 * SECOND)[0].poll_rate, [0.0; 3]);
    }

    #[test]
    fn tasks_from_before_are_counted_as_spawned() {
        let (at, place) = label();
        let mut sites = Sites::new(0);
        let tasks = [live(at, 1, place), live(at, 2, place)];
        sites.look(0, &tasks, &[counted(at, 0)]);
        sites.look(SECOND, &tasks[..1], &[counted(at, 5)]);
        let stats = &snapshot(&sites, SECOND)[0];
        assert_eq!((stats.spawned, stats.completed, stats.live), (7, 6, 1));
        assert_eq!(stats.spawn_rate[0], 5.0);
    }

    /// A task is counted just before it is in the list.
    #[test]
    fn a_task_that_was_overlooked_is_not_completed_for_ever() {
        let (at, place) = label();
        let mut sites = Sites::new(0);
        sites.look(0, &[], &[]);
        sites.look(1, &[], &[counted(at, 1)]);
        sites.look(2, &[live(at, 1, place)], &[counted(at, 1)]);
        let stats = &snapshot(&sites, SECOND)[0];
        assert_eq!((stats.spawned, stats.completed, stats.live), (1, 0, 1));
        assert_eq!(stats.spawn_rate[0], 1.0);
        assert_eq!(stats.completion_rate[0], 0.0);
    }

    #[test]
    fn the_number_of_sites_is_bounded() {
        let mut sites = Sites::new(0);
        // Words that are never looked at: labels are read in snapshots only.
        for label in 1..3 * MOST_SITES as u64 {
            sites.poll(label * 8, 1000, 1, None);
        }
        assert_eq!(sites.sites.len(), MOST_SITES);
        let rest = 3 * MOST_SITES as u64 - 1 - (MOST_SITES as u64 - 1);
        assert_eq!(sites.sites[0].total.polls, rest);
    }

    /// The oldest is known as long as it lives, however many come and go.
    #[test]
    fn the_oldest_is_remembered() {
        let (at, place) = label();
        let mut sites = Sites::new(0);
        for second in 0..20 {
            let mut tasks = vec![live(at, 5, place)];
            tasks.extend((0..50).map(|n| live(at, 100 * second + 10 + n, place)));
            sites.look(second * SECOND, &tasks, &[]);
        }
        let oldest = snapshot(&sites, 19 * SECOND)[0].oldest;
        assert_eq!(oldest, Some(Duration::from_secs(19)));
    }
}
