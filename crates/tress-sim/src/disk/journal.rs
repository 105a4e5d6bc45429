//! Changes of directories that are not on the disk yet.

use super::inode::InodeId;
use crate::draw::Stream;
use crate::time::Time;
use std::collections::{BTreeSet, VecDeque};

/// What a name of a directory refers to from now on.
#[derive(Debug, Clone)]
pub(super) struct Edit {
    pub(super) directory: InodeId,
    pub(super) name: Vec<u8>,
    pub(super) to: Option<InodeId>,
}

/// Edits of which all become durable, or none: those of one system call.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) edits: Vec<Edit>,
    due: Time,
}

impl Change {
    fn slots(&self) -> impl Iterator<Item = (InodeId, &[u8])> {
        self.edits
            .iter()
            .map(|edit| (edit.directory, edit.name.as_slice()))
    }
}

/// The changes, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Journal {
    changes: VecDeque<Change>,
}

impl Journal {
    /// Adds a change. In the background it is written at that time, but behind those before it.
    pub(super) fn add(&mut self, edits: Vec<Edit>, due: Time) {
        let last = self.changes.back().map_or(due, |change| change.due);
        let due = due.max(last);
        self.changes.push_back(Change { edits, due });
    }

    /// Takes a change that was due in the background.
    pub(super) fn take_due(&mut self, now: Time) -> Option<Change> {
        let first = self.changes.front()?;
        if first.due <= now {
            self.changes.pop_front()
        } else {
            None
        }
    }

    /// Takes the changes of a directory, and those before them that they rest on: of the same names.
    pub(super) fn take_of(&mut self, directory: InodeId) -> Vec<Change> {
        let mut slots: BTreeSet<(InodeId, &[u8])> = BTreeSet::new();
        let mut taken = vec![false; self.changes.len()];
        for (change, taken) in self.changes.iter().zip(&mut taken).rev() {
            *taken = change
                .slots()
                .any(|slot| slot.0 == directory || slots.contains(&slot));
            if *taken {
                slots.extend(change.slots());
            }
        }
        let mut taken = taken.into_iter();
        let all = std::mem::take(&mut self.changes);
        let (taken, left) = all.into_iter().partition(|_| taken.next().unwrap_or(false));
        self.changes = left;
        Vec::from(taken)
    }

    pub(super) fn take_all(&mut self) -> Vec<Change> {
        Vec::from(std::mem::take(&mut self.changes))
    }

    /// Takes the changes that survive a loss of power, and forgets the others. One that rests on a change that is lost is
    /// lost, too.
    pub(super) fn take_survivors(&mut self, stream: &mut Stream, survival: f64) -> Vec<Change> {
        let mut lost: BTreeSet<(InodeId, Vec<u8>)> = BTreeSet::new();
        let mut survivors = self.take_all();
        survivors.retain(|change| {
            let rests_on_lost = change
                .edits
                .iter()
                .any(|edit| lost.contains(&(edit.directory, edit.name.clone())));
            let survives = stream.happens(survival) && !rests_on_lost;
            if !survives {
                lost.extend(
                    change
                        .slots()
                        .map(|(directory, name)| (directory, name.to_vec())),
                );
            }
            survives
        });
        survivors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(directory: u64, name: &str, to: Option<u64>) -> Edit {
        Edit {
            directory: InodeId(directory),
            name: name.into(),
            to: to.map(InodeId),
        }
    }

    /// Makes `a` in 1, moves it to `b` in 2, makes `c` in 3.
    fn journal() -> Journal {
        let mut journal = Journal::default();
        journal.add(vec![edit(1, "a", Some(9))], Time(10));
        journal.add(vec![edit(1, "a", None), edit(2, "b", Some(9))], Time(5));
        journal.add(vec![edit(3, "c", Some(8))], Time(20));
        journal
    }

    #[test]
    fn takes_what_changes_rest_on() {
        assert_eq!(journal().take_of(InodeId(2)).len(), 2);
        assert_eq!(journal().take_of(InodeId(3)).len(), 1);
        let mut journal = journal();
        assert_eq!(journal.take_of(InodeId(1)).len(), 2);
        assert_eq!(journal.take_all().len(), 1);
    }

    #[test]
    fn is_written_in_order() {
        let mut journal = journal();
        assert!(journal.take_due(Time(9)).is_none());
        assert_eq!(journal.take_due(Time(10)).unwrap().edits.len(), 1);
        assert_eq!(journal.take_due(Time(10)).unwrap().edits.len(), 2);
        assert!(journal.take_due(Time(19)).is_none());
    }

    #[test]
    fn a_change_does_not_survive_what_it_rests_on() {
        let mut seen = BTreeSet::new();
        for seed in 0..200 {
            let survivors = journal().take_survivors(&mut Stream::new(seed, "test"), 0.5);
            let names = survivors
                .iter()
                .map(|change| change.edits.last().unwrap().name.clone());
            seen.insert(
                names
                    .map(|name| String::from_utf8(name).unwrap())
                    .collect::<String>(),
            );
        }
        assert_eq!(Vec::from_iter(seen), ["", "a", "ab", "abc", "ac", "c"]);
    }
}
