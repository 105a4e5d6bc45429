//! What each task waits for.

use super::parts::Table;
use super::switch::{Stage, is_on};
use super::{Site, WaitKind};
use crate::sys::clock::Clock;
use crate::sys::thread_local;
use std::cell::{Cell, RefCell};

/// Maximum number of waits of one poll that are kept.
pub(crate) const MOST_WAITS: usize = 3;

/// Something that a task waits for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wait {
    pub(crate) kind: WaitKind,
    /// The address of what is waited for, or, for [`WaitKind::Join`], the number of the task.
    pub(crate) resource: u64,
    /// Where what is waited for was created.
    pub(crate) site: Option<Site>,
    /// When the wait began, in counts of the clock.
    pub(crate) since: u64,
}

/// What a task waits for: any of these.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waits {
    waits: [Option<Wait>; MOST_WAITS],
    /// How many more there were.
    pub(crate) more: u32,
    /// When the poll ended, in counts of the clock.
    pub(crate) parked: u64,
}

impl Waits {
    const NONE: Waits = Waits {
        waits: [None; MOST_WAITS],
        more: 0,
        parked: 0,
    };

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Wait> {
        self.waits.iter().flatten()
    }

    fn push(&mut self, wait: Wait) {
        match self.waits.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some(wait),
            None => self.more = self.more.saturating_add(1),
        }
    }
}

static TASKS: Table<Waits> = Table::new();

thread_local! {
    /// The number of the task that is being polled here; 0: none, or sight was off when its poll began.
    static POLLED: Cell<u64> = const { Cell::new(0) };
    /// What its poll has noted so far.
    static NOTED: RefCell<Waits> = const { RefCell::new(Waits::NONE) };
}

/// Returns the number of the task that is being polled here; 0: none.
pub(super) fn polled() -> u64 {
    POLLED.try_with(Cell::get).unwrap_or(0)
}

/// Polls a task of that number. What it waits for is published when the poll ends, and forgotten when the task is
/// finished.
#[cold]
#[inline(never)]
pub(crate) fn watch<R>(task: u64, poll: impl FnOnce() -> (R, Stage)) -> R {
    /// Puts back what was noted by the poll around this one, also if the poll panics.
    struct Outer {
        task: u64,
        noted: Waits,
    }
    impl Drop for Outer {
        fn drop(&mut self) {
            // Fails only while the thread ends.
            let _ = POLLED.try_with(|polled| polled.set(self.task));
            let _ = NOTED.try_with(|noted| *noted.borrow_mut() = self.noted);
        }
    }
    let outer = Outer {
        task: POLLED.try_with(|polled| polled.replace(task)).unwrap_or(0),
        noted: NOTED
            .try_with(|noted| noted.replace(Waits::NONE))
            .unwrap_or(Waits::NONE),
    };
    let (result, stage) = poll();
    match stage {
        Stage::Pending => {
            let mut noted = NOTED
                .try_with(|noted| *noted.borrow())
                .unwrap_or(Waits::NONE);
            noted.parked = Clock::new().now();
            publish(task, noted);
        }
        Stage::Finished => forget(task),
    }
    drop(outer);
    result
}

fn publish(task: u64, mut noted: Waits) {
    TASKS.change(
        task,
        || Waits::NONE,
        |before| {
            for wait in noted.waits.iter_mut().flatten() {
                let same = |old: &&Wait| old.kind == wait.kind && old.resource == wait.resource;
                wait.since = match (wait.since, before.iter().find(same)) {
                    (CONTINUES, Some(old)) => old.since,
                    (CONTINUES, None) => noted.parked,
                    (since, _) => since,
                };
            }
            *before = noted;
        },
    );
}

/// Stands for the beginning of a wait that an earlier poll has noted.
const CONTINUES: u64 = 0;

/// Forgets what a task waits for: it is finished, or was dropped.
pub(crate) fn forget(task: u64) {
    TASKS.change_or_remove(task, |_| true);
}

pub(super) fn forget_all() {
    TASKS.clear();
}

/// Notes that the task that is being polled begins to wait.
#[inline(always)]
pub(crate) fn waits(kind: WaitKind, resource: u64, site: Option<Site>) {
    if is_on() {
        note(kind, resource, site, true);
    }
}

/// Notes that the task that is being polled still waits, as an earlier poll has noted.
#[inline(always)]
pub(crate) fn waits_longer(kind: WaitKind, resource: u64, site: Option<Site>) {
    if is_on() {
        note(kind, resource, site, false);
    }
}

#[cold]
#[inline(never)]
fn note(kind: WaitKind, resource: u64, site: Option<Site>, begins: bool) {
    if polled() == 0 {
        return;
    }
    let since = match begins {
        true => Clock::new().now().max(CONTINUES + 1),
        false => CONTINUES,
    };
    let wait = Wait {
        kind,
        resource,
        site,
        since,
    };
    // Fails only while the thread ends.
    let _ = NOTED.try_with(|noted| noted.borrow_mut().push(wait));
}

/// Returns what a task waits for, if its last poll has noted something.
pub(crate) fn waits_of(task: u64) -> Option<Waits> {
    TASKS.get(task)
}

/// Returns what all tasks wait for, and how many tasks were left out.
pub(crate) fn each_waiting() -> (Vec<(u64, Waits)>, u64) {
    TASKS.all()
}
