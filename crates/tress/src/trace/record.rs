//! Entries of the rings as those get them that have read all rings: in order, and polls with their wake-ups.

use super::event::What;
use super::ring::Words;
use std::collections::HashMap;

/// Wake-ups that are remembered until their polls come. When there are more, all are forgotten.
const MOST_PENDING: usize = 8192;

/// An entry of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    /// When it happened, or began, in counts of the clock.
    pub(crate) at: u64,
    pub(crate) what: What,
    /// The task's number; 0: none.
    pub(crate) task: u64,
    /// The word of the task's label.
    pub(crate) label: u64,
    /// Of a poll: the counts since the wake-up or spawn that led to it; 0: that is not known.
    pub(crate) wait: u64,
}

impl Record {
    pub(crate) fn new([at, what, task, label]: Words) -> Record {
        Record {
            at,
            what: What::unpack(what),
            task,
            label,
            wait: 0,
        }
    }

    /// Says that entries were overwritten.
    pub(crate) fn lost(at: u64, events: u64) -> Record {
        Record {
            at,
            what: What::lost(events),
            task: 0,
            label: 0,
            wait: 0,
        }
    }

    /// Returns when it ended.
    pub(crate) fn end(&self) -> u64 {
        self.at.saturating_add(self.what.length())
    }

    /// Returns the number of the flow from a wake-up, by its task and time.
    pub(crate) fn flow(task: u64, woken: u64) -> u64 {
        // Any mixture will do that is unlikely to meet another one in the same trace.
        task.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ woken
    }
}

/// Finds the polls that wake-ups led to.
///
/// A wake-up belongs to the next poll of its task. That is the next one in the rings only if no poll in between was left
/// out: where polls are sampled, wake-ups find no poll.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    pending: HashMap<u64, u64>,
    /// By track: the poll recorded last stands for others.
    sampled: Vec<bool>,
}

impl Pairs {
    /// Notes a record of the track, in the order of time. Adds the wait to a poll.
    pub(crate) fn note(&mut self, track: usize, record: &mut Record) {
        if record.what.is_ready() {
            if self.pending.len() >= MOST_PENDING {
                self.pending.clear();
            }
            self.pending.insert(record.task, record.at);
        } else if let Some((_, every)) = record.what.as_poll() {
            record.wait = self.poll(track, record.task, record.at, every);
        }
    }

    /// Forgets all wake-ups: records are missing.
    pub(crate) fn forget(&mut self) {
        self.pending.clear();
    }

    fn poll(&mut self, track: usize, task: u64, at: u64, every: u32) -> u64 {
        if self.sampled.len() <= track {
            self.sampled.resize(track + 1, false);
        }
        let was_sampled = std::mem::replace(&mut self.sampled[track], every > 1);
        if was_sampled || every > 1 {
            self.pending.clear();
            return 0;
        }
        match self.pending.get(&task) {
            Some(woken) if *woken <= at => {
                let wait = (at - woken).max(1);
                self.pending.remove(&task);
                wait
            }
            _ => 0,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn ready(task: u64, at: u64) -> Record {
        Record::new([at, What::ready().pack(), task, 0])
    }

    fn poll(task: u64, at: u64, every: u32) -> Record {
        Record::new([at, What::poll(1, every).pack(), task, 0])
    }

    /// Returns the waits of the polls.
    fn waits(records: &mut [(usize, Record)]) -> Vec<u64> {
        let mut pairs = Pairs::default();
        let mut found = Vec::new();
        for (track, record) in records {
            pairs.note(*track, record);
            if record.what.as_poll().is_some() {
                found.push(record.wait);
            }
        }
        found
    }

    #[test]
    fn a_wake_up_leads_to_the_next_poll_of_its_task() {
        let mut records = [
            (0, ready(7, 100)),
            (0, ready(8, 110)),
            (1, poll(9, 120, 1)),
            (1, poll(7, 150, 1)),
            (0, poll(7, 160, 1)),
            (0, poll(8, 170, 1)),
        ];
        assert_eq!(waits(&mut records), [0, 50, 0, 60]);
    }

    #[test]
    fn a_poll_that_may_not_be_the_next_has_no_wake_up() {
        // On either track polls are left out between the wake-up and the poll.
        for track in [0, 1] {
            let mut records = [
                (0, ready(7, 100)),
                (track, poll(9, 120, 2)),
                (0, poll(7, 150, 1)),
            ];
            assert_eq!(waits(&mut records), [0, 0]);
        }
        // Also if they are the ones before the track's first that is whole again.
        let mut records = [
            (1, poll(9, 90, 2)),
            (0, ready(7, 100)),
            (1, poll(9, 120, 1)),
            (0, poll(7, 150, 1)),
        ];
        assert_eq!(waits(&mut records), [0, 0, 0]);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut pairs = Pairs::default();
        for task in 0..10 * MOST_PENDING as u64 {
            pairs.note(0, &mut ready(task, task));
        }
        assert!(pairs.pending.len() <= MOST_PENDING);
    }
}
