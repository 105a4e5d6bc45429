//! Where and when a report was made, and who else was using the machine.

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde::Serialize;

/// The head of a report.
#[derive(Debug, Serialize)]
pub struct Meta {
    pub date: String,
    pub kernel: String,
    pub cpu: String,
    pub cores: usize,
    /// Load average of the minute before; a quiet machine has next to none.
    pub load: f64,
    pub rustc: &'static str,
    pub reps: usize,
    pub versions: BTreeMap<&'static str, &'static str>,
}

impl Meta {
    pub fn new(reps: usize) -> Self {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Meta {
            date: date(since.as_secs()),
            kernel: read_line("/proc/sys/kernel/osrelease", |_| true),
            cpu: read_line("/proc/cpuinfo", |line| line.starts_with("model name")),
            cores: thread::available_parallelism().map_or(1, |cores| cores.get()),
            load: read_line("/proc/loadavg", |_| true)
                .split(' ')
                .next()
                .and_then(|load| load.parse().ok())
                .unwrap_or(0.0),
            rustc: env!("BENCH_RUSTC"),
            reps,
            versions: env!("BENCH_VERSIONS")
                .split(',')
                .filter_map(|it| it.split_once(' '))
                .collect(),
        }
    }
}

/// Watches how much of the machine goes to others while we measure.
pub struct Others {
    since: Instant,
    all: u64,
    ours: u64,
}

/// The kernel's unit of CPU time in /proc.
const TICKS_PER_SECOND: f64 = 100.0;

impl Others {
    pub fn watch() -> Self {
        Others {
            since: Instant::now(),
            all: busy_ticks(),
            ours: own_ticks(),
        }
    }

    /// How many CPUs others kept busy, on average, since `watch`.
    pub fn cpus(&self) -> f64 {
        let all = busy_ticks().saturating_sub(self.all);
        let ours = own_ticks().saturating_sub(self.ours);
        all.saturating_sub(ours) as f64 / TICKS_PER_SECOND / self.since.elapsed().as_secs_f64()
    }
}

/// Ticks that all CPUs together spent on anything but idling.
fn busy_ticks() -> u64 {
    let stat = read_line("/proc/stat", |line| line.starts_with("cpu "));
    let ticks: Vec<u64> = stat
        .split_whitespace()
        .filter_map(|field| field.parse().ok())
        .collect();
    // user, nice, system, idle, iowait, irq, softirq, steal; what follows is counted in user already.
    ticks
        .iter()
        .take(8)
        .enumerate()
        .filter(|(n, _)| ![3, 4].contains(n))
        .map(|(_, n)| n)
        .sum()
}

/// Ticks of this process and of the children it has waited for.
fn own_ticks() -> u64 {
    let stat = read_line("/proc/self/stat", |_| true);
    // The name of the program, in brackets, may have anything in it; utime is the twelfth field behind.
    let fields = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace();
    fields
        .skip(11)
        .take(4)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum()
}

/// What follows the colon, if there is one, in the first line that `wanted` picks.
fn read_line(file: &str, wanted: impl Fn(&str) -> bool) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find(|line| wanted(line)).unwrap_or("unknown");
    line.split_once(": ")
        .map_or(line, |(_, value)| value)
        .to_owned()
}

/// Seconds since 1970 as a date and time in UTC (ISO 8601).
fn date(seconds: u64) -> String {
    let (days, time) = (seconds / 86_400, seconds % 86_400);
    // Days since 1 March 0000: years then end with the leap day, and eras of 400 years are all
    // alike.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    // Five months from March on always have 153 days.
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_around_leap_days() {
        assert_eq!(date(0), "1970-01-01T00:00:00Z");
        assert_eq!(date(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(date(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(date(951_868_800), "2000-03-01T00:00:00Z");
        assert_eq!(date(1_767_225_599), "2025-12-31T23:59:59Z");
        assert_eq!(date(1_767_225_600), "2026-01-01T00:00:00Z");
    }

    #[test]
    fn the_time_of_others_is_known() {
        let others = Others::watch();
        assert!(others.all > 0, "{}", others.all);
        assert!(others.all >= others.ours);
        assert!(others.cpus() >= 0.0);
    }

    #[test]
    fn the_versions_of_the_peers_are_known() {
        let meta = Meta::new(5);
        assert_eq!(meta.versions.get("tokio"), Some(&"1.54.1"));
        assert!(
            meta.versions.contains_key("async-executor"),
            "{:?}",
            meta.versions
        );
        assert!(meta.rustc.starts_with("rustc "));
    }
}
