//! What a runtime may leave behind: threads and descriptors.

use crate::BOUND;
use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// The numbers of threads and of descriptors of the process at one moment.
#[derive(Debug, PartialEq, Eq)]
pub struct Left {
    threads: usize,
    descriptors: usize,
}

impl Left {
    /// Counts threads and descriptors.
    pub fn now() -> Left {
        Left {
            threads: fs::read_dir("/proc/self/task")
                .expect("/proc/self/task")
                .count(),
            descriptors: crate::descriptors().count(),
        }
    }

    /// Waits until there are no more threads and descriptors than there were.
    ///
    /// # Panics
    /// Panics if there still are more after `BOUND`.
    pub fn assert_no_more(&self) {
        self.assert_no_more_after(BOUND);
    }

    /// As [`assert_no_more`](Left::assert_no_more), with another bound.
    ///
    /// # Panics
    /// Panics if there still are more after `bound`.
    pub fn assert_no_more_after(&self, bound: Duration) {
        let start = Instant::now();
        loop {
            let now = Left::now();
            if now.threads <= self.threads && now.descriptors <= self.descriptors {
                return;
            }
            assert!(
                start.elapsed() < bound,
                "left behind: {now:?} where there was {self:?}: threads {:?}, descriptors {:?}",
                names_of_threads(),
                crate::descriptors().collect::<Vec<_>>(),
            );
            // The kernel removes a thread a moment after it was joined.
            thread::sleep(Duration::from_millis(1));
        }
    }
}

fn names_of_threads() -> BTreeMap<String, usize> {
    let mut names = BTreeMap::new();
    for task in fs::read_dir("/proc/self/task")
        .expect("/proc/self/task")
        .flatten()
    {
        let name = fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        *names.entry(name.trim().to_string()).or_default() += 1;
    }
    names
}
