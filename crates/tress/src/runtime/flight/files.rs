//! Files that the flight recorder writes by itself: after a slow poll, a panic, a signal.

use super::Shared;
use crate::sys::atomic::Ordering;
use crate::sys::clock;
use crate::sys::plain::{AtomicU32, Mutex};
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Two files are at least this far apart. What asks for one meanwhile is ignored.
const APART: Duration = Duration::from_secs(10);
/// The newest files of a runtime that are kept; older ones are removed.
const MOST_FILES: usize = 10;

/// Why a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    SlowPoll,
    Panic,
    #[cfg_attr(
        not(all(unix, not(loom))),
        allow(dead_code, reason = "there are no such signals")
    )]
    Signal,
}

const REASONS: [Reason; 3] = [Reason::SlowPoll, Reason::Panic, Reason::Signal];

impl Reason {
    fn bit(self) -> u32 {
        1 << self as u32
    }

    fn word(self) -> &'static str {
        match self {
            Reason::SlowPoll => "slow-poll",
            Reason::Panic => "panic",
            Reason::Signal => "signal",
        }
    }
}

/// For what reasons files are written, and into which directory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Triggers {
    pub(crate) slow_poll: Option<PathBuf>,
    pub(crate) panic: Option<PathBuf>,
    pub(crate) signal: Option<PathBuf>,
}

impl Triggers {
    pub(crate) fn directory(&self, reason: Reason) -> Option<&Path> {
        let directory = match reason {
            Reason::SlowPoll => &self.slow_poll,
            Reason::Panic => &self.panic,
            Reason::Signal => &self.signal,
        };
        directory.as_deref()
    }

    /// Returns whether there is any.
    pub(crate) fn any(&self) -> bool {
        REASONS
            .iter()
            .any(|reason| self.directory(*reason).is_some())
    }
}

pub(super) struct Files {
    triggers: Triggers,
    /// The reasons that have come up.
    asked: AtomicU32,
    written: Mutex<Written>,
}

#[derive(Default)]
struct Written {
    last: Option<Instant>,
    number: u64,
    files: VecDeque<PathBuf>,
}

impl Files {
    pub(super) fn new(triggers: Triggers) -> Files {
        Files {
            triggers,
            asked: AtomicU32::new(0),
            written: Mutex::new(Written::default()),
        }
    }

    /// Notes that a reason has come up. Returns whether a file is wanted for it.
    pub(super) fn ask(&self, reason: Reason) -> bool {
        let wanted = self.triggers.directory(reason).is_some();
        if wanted {
            self.asked.fetch_or(reason.bit(), Ordering::AcqRel);
        }
        wanted
    }

    /// Returns the reason for a file that is to be written now, and its directory.
    fn due(&self, now: Instant) -> Option<(Reason, &Path)> {
        if self.asked.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let asked = self.asked.swap(0, Ordering::AcqRel);
        let mut written = self.written.lock();
        if written.last.is_some_and(|last| now - last < APART) {
            return None;
        }
        let reason = REASONS.into_iter().find(|r| asked & r.bit() != 0)?;
        written.last = Some(now);
        Some((reason, self.triggers.directory(reason)?))
    }

    fn next_name(&self, reason: Reason, runtime: &str) -> String {
        let mut written = self.written.lock();
        written.number += 1;
        let (process, number) = (std::process::id(), written.number);
        format!(
            "tress-{process}-{runtime}-{number}-{}.pftrace",
            reason.word()
        )
    }

    /// Notes that a file was written. Returns those that are to be removed.
    fn add(&self, path: PathBuf) -> Vec<PathBuf> {
        let mut written = self.written.lock();
        written.files.push_back(path);
        let excess = written.files.len().saturating_sub(MOST_FILES);
        written.files.drain(..excess).collect()
    }
}

impl Shared {
    /// Writes the file that was asked for, if one was. For the recorder's thread.
    pub(super) fn write_asked_files(&self) {
        let files = &self.flight.files;
        let Some((reason, directory)) = files.due(clock::now()) else {
            return;
        };
        let name = files.next_name(reason, &self.id.to_string());
        let path = directory.join(name);
        match self.write_file(&path) {
            Ok(()) => {
                for old in files.add(path) {
                    // The user may have taken it away.
                    let _ = fs::remove_file(old);
                }
            }
            Err(error) => {
                // No caller is there to return it to; nor must a closed output end this thread.
                let _ = writeln!(
                    io::stderr(),
                    "tress: the flight recorder could not write {}: {error}",
                    path.display()
                );
            }
        }
    }

    /// Writes all that is kept to a file that has its name only when it is whole.
    fn write_file(&self, path: &Path) -> io::Result<()> {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        let partial = path.with_extension("partial");
        let written = File::create(&partial).and_then(|file| {
            let mut out = BufWriter::new(file);
            let bell = self.flight.bell.get();
            // This thread is also the one that reads the rings.
            let mut between = || {
                if bell.is_some_and(|bell| bell.is_notified() && bell.park(Some(Duration::ZERO))) {
                    self.collect();
                }
            };
            self.write_flight(&mut out, 0, &mut between)?;
            out.flush()?;
            fs::rename(&partial, path)
        });
        written.inspect_err(|_| {
            // It may not even have been made.
            let _ = fs::remove_file(&partial);
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn files() -> Files {
        Files::new(Triggers {
            panic: Some("here".into()),
            ..Triggers::default()
        })
    }

    #[test]
    fn only_what_was_chosen_is_written_and_not_too_often() {
        let files = files();
        let start = clock::now();
        assert!(!files.ask(Reason::SlowPoll));
        assert_eq!(files.due(start), None);
        assert!(files.ask(Reason::Panic) && files.ask(Reason::Panic));
        assert_eq!(files.due(start), Some((Reason::Panic, Path::new("here"))));
        assert_eq!(files.due(start), None);
        files.ask(Reason::Panic);
        assert_eq!(files.due(start + APART / 2), None);
        files.ask(Reason::Panic);
        assert!(files.due(start + APART).is_some());
    }

    #[test]
    fn the_oldest_files_go() {
        let files = files();
        let path = |n: usize| PathBuf::from(format!("{n}"));
        for n in 0..MOST_FILES {
            assert_eq!(files.add(path(n)), Vec::<PathBuf>::new());
        }
        assert_eq!(files.add(path(MOST_FILES)), [path(0)]);
        assert_eq!(files.add(path(MOST_FILES + 1)), [path(1)]);
    }
}
