//! What each task waits for.

use super::parts::Table;
use super::switch::{Stage, is_on};
use super::{Site, WaitKind};
use crate::sys::clock::Clock;
use crate::sys::thread_local;
use std::cell::{Cell, RefCell};
use std::task::Poll;

/// Maximum number of waits of one poll that are kept.
pub(crate) const MOST_WAITS: usize = 3;

/// Something that a task waits for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wait {
    pub(crate) kind: WaitKind,
    /// The address of what is waited for, or, for [`WaitKind::Join`], the number of the task; 0: of several tasks.
    pub(crate) resource: u64,
    /// Where what is waited for was created.
    pub(crate) site: Option<Site>,
    /// When the wait began, in counts of the clock.
    pub(crate) since: u64,
}

impl Wait {
    fn is_for(&self, kind: WaitKind, resource: u64) -> bool {
        self.kind == kind && self.resource == resource
    }
}

/// What a task waits for: any of these.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waits {
    waits: [Option<Wait>; MOST_WAITS],
    /// How many more there were.
    pub(crate) more: u32,
    /// When the poll ended, in counts of the clock.
    pub(crate) parked: u64,
    /// How often polls have ended so, and when the first did.
    pub(crate) polls: u32,
    pub(crate) first: u64,
}

impl Waits {
    const NONE: Waits = Waits {
        waits: [None; MOST_WAITS],
        more: 0,
        parked: 0,
        polls: 0,
        first: 0,
    };

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Wait> {
        self.waits.iter().flatten()
    }

    /// Adds a wait, unless the same poll has added it before.
    fn push(&mut self, wait: Wait) {
        if self.iter().any(|old| old.is_for(wait.kind, wait.resource)) {
            return;
        }
        match self.waits.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some(wait),
            None => self.more = self.more.saturating_add(1),
        }
    }

    fn remove(&mut self, kind: WaitKind, resource: u64) {
        let same =
            |place: &&mut Option<Wait>| place.is_some_and(|wait| wait.is_for(kind, resource));
        if let Some(place) = self.waits.iter_mut().find(same) {
            *place = None;
        }
    }
}

static TASKS: Table<Waits> = Table::new();

const _: () = assert!(
    size_of::<(u64, Waits)>() <= 136,
    "see the module's documentation"
);

thread_local! {
    /// The number of the task that is being polled here; 0: none, or sight was off when its poll began.
    static POLLED: Cell<u64> = const { Cell::new(0) };
    /// What its poll has noted so far.
    static NOTED: RefCell<Waits> = const { RefCell::new(Waits::NONE) };
    /// What has served its poll last.
    static SERVED: Cell<Served> = const { Cell::new([0; MOST_SERVED]) };
    /// Something was noted: one of the two above is not as it was when the poll began.
    static HAS_NOTED: Cell<bool> = const { Cell::new(false) };
}

/// How many resources that have served a poll are remembered.
const MOST_SERVED: usize = 4;

type Served = [u64; MOST_SERVED];

/// Returns the number of the task that is being polled here; 0: none.
pub(super) fn polled() -> u64 {
    POLLED.try_with(Cell::get).unwrap_or(0)
}

/// Polls a task of that number. What it waits for is published when the poll ends, and forgotten when the task is
/// finished.
#[cold]
#[inline(never)]
pub(crate) fn watch<R>(task: u64, poll: impl FnOnce() -> (R, Stage)) -> R {
    let outer = Outer::replaced_by(task);
    let (result, stage) = poll();
    match stage {
        // A task that only yields has nothing to publish: what is known of a task that does not wait is not looked at.
        Stage::Yielded if !has_noted() => {}
        Stage::Pending | Stage::Yielded => {
            let mut noted = NOTED
                .try_with(|noted| *noted.borrow())
                .unwrap_or(Waits::NONE);
            noted.parked = Clock::new().now();
            publish(task, noted);
        }
        Stage::Finished => forget(task),
        Stage::Traced => {}
    }
    drop(outer);
    result
}

fn has_noted() -> bool {
    HAS_NOTED.try_with(Cell::get).unwrap_or(false)
}

/// The poll around the present one, to which the thread goes back, also if the present one panics.
struct Outer {
    task: u64,
    /// What it has noted, if anything.
    noted: Option<(Waits, Served)>,
}

impl Outer {
    fn replaced_by(task: u64) -> Outer {
        // These fail only while the thread ends.
        let task = POLLED.try_with(|polled| polled.replace(task)).unwrap_or(0);
        let noted = has_noted().then(Outer::take_noted);
        Outer { task, noted }
    }

    #[cold]
    fn take_noted() -> (Waits, Served) {
        let _ = HAS_NOTED.try_with(|has| has.set(false));
        let noted = NOTED.try_with(|noted| noted.replace(Waits::NONE));
        let served = SERVED.try_with(Cell::take);
        (noted.unwrap_or(Waits::NONE), served.unwrap_or_default())
    }
}

impl Drop for Outer {
    fn drop(&mut self) {
        let _ = POLLED.try_with(|polled| polled.set(self.task));
        if has_noted() {
            Outer::take_noted();
        }
        if let Some((noted, served)) = self.noted {
            let _ = HAS_NOTED.try_with(|has| has.set(true));
            let _ = NOTED.try_with(|old| *old.borrow_mut() = noted);
            let _ = SERVED.try_with(|old| old.set(served));
        }
    }
}

fn publish(task: u64, mut noted: Waits) {
    TASKS.change(
        task,
        || is_on().then_some(Waits::NONE),
        |before| {
            for wait in noted.waits.iter_mut().flatten() {
                let same = |old: &&Wait| old.is_for(wait.kind, wait.resource);
                wait.since = match (wait.since, before.iter().find(same)) {
                    (CONTINUES, Some(old)) => old.since,
                    (CONTINUES, None) => noted.parked,
                    (since, _) => since,
                };
            }
            noted.polls = before.polls.saturating_add(1);
            noted.first = match before.polls {
                0 => noted.parked,
                _ => before.first,
            };
            *before = noted;
        },
    );
}

/// Says that something is about to be noted.
fn will_note() {
    // Fails only while the thread ends.
    let _ = HAS_NOTED.try_with(|has| has.set(true));
}

/// Stands for the beginning of a wait that an earlier poll has noted.
const CONTINUES: u64 = 0;

/// Polls what a thread blocks on. If a task runs on the thread, what is waited for is published as that task's.
#[cold]
#[inline(never)]
pub(crate) fn watch_blocking<T>(poll: impl FnOnce() -> Poll<T>) -> Poll<T> {
    match polled() {
        0 => poll(),
        task => watch(task, || staged(poll())),
    }
}

/// Returns how a poll has ended, beside what it has returned.
pub(super) fn staged<T>(polled: Poll<T>) -> (Poll<T>, Stage) {
    let stage = match polled {
        Poll::Ready(_) => Stage::Finished,
        Poll::Pending => Stage::Pending,
    };
    (polled, stage)
}

/// Forgets what a task waits for: it is finished, or is torn down.
#[inline(always)]
pub(crate) fn ended(task: u64) {
    if is_on() {
        forget(task);
    }
}

#[cold]
#[inline(never)]
pub(super) fn forget(task: u64) {
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

/// Does what [`waits`] does if the wait `begins` with this poll, else what [`waits_longer`] does.
#[inline(always)]
pub(crate) fn waits_if(begins: bool, kind: WaitKind, resource: u64, site: Option<Site>) {
    if is_on() {
        note(kind, resource, site, begins);
    }
}

/// Notes that the task that is being polled waits for that many more things, which are not named.
#[inline(always)]
pub(crate) fn waits_for_more(more: usize) {
    if is_on() && more > 0 {
        note_more(more);
    }
}

#[cold]
#[inline(never)]
fn note_more(more: usize) {
    if polled() == 0 {
        return;
    }
    will_note();
    let more = u32::try_from(more).unwrap_or(u32::MAX);
    // Fails only while the thread ends.
    let _ = NOTED.try_with(|noted| {
        let mut noted = noted.borrow_mut();
        noted.more = noted.more.saturating_add(more);
    });
}

/// Notes that a wait that may have been noted by the poll that is under way is given up: its future is dropped.
#[inline(always)]
pub(crate) fn gives_up(kind: WaitKind, resource: u64) {
    if is_on() {
        take_back(kind, resource);
    }
}

#[cold]
#[inline(never)]
fn take_back(kind: WaitKind, resource: u64) {
    // Fails only while the thread ends.
    let _ = NOTED.try_with(|noted| noted.borrow_mut().remove(kind, resource));
}

/// Notes that the poll that is under way has got what it wanted of a resource: a wait for it that is noted later in
/// the same poll is a new one, although it goes by [`waits_longer`]. For resources that do not know their waiters.
#[inline(always)]
pub(crate) fn served(resource: u64) {
    if is_on() {
        note_served(resource);
    }
}

#[cold]
#[inline(never)]
fn note_served(resource: u64) {
    if polled() == 0 {
        return;
    }
    will_note();
    // Fails only while the thread ends.
    let _ = SERVED.try_with(|served| {
        let mut all = served.get();
        all.rotate_right(1);
        all[0] = resource;
        served.set(all);
    });
    let _ = NOTED.try_with(|noted| {
        let mut noted = noted.borrow_mut();
        for place in &mut noted.waits {
            if place.is_some_and(|wait| wait.resource == resource) {
                *place = None;
            }
        }
    });
}

#[cold]
#[inline(never)]
fn note(kind: WaitKind, resource: u64, site: Option<Site>, begins: bool) {
    if polled() == 0 {
        return;
    }
    will_note();
    let served = || SERVED.try_with(Cell::get).unwrap_or_default();
    let since = match begins || served().contains(&resource) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sight::Switch;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// Numbers that no task has.
    const FIRST: u64 = 1 << 60;

    fn poll(task: u64, body: impl FnOnce()) {
        watch(task, || {
            body();
            ((), Stage::Pending)
        });
    }

    fn kinds(task: u64) -> Vec<WaitKind> {
        let waits = waits_of(task);
        waits
            .iter()
            .flat_map(Waits::iter)
            .map(|wait| wait.kind)
            .collect()
    }

    #[test]
    fn a_poll_replaces_what_the_one_before_has_noted() {
        let _on = Switch::on();
        let task = FIRST;
        poll(task, || waits(WaitKind::Mutex, 1, None));
        assert_eq!(kinds(task), [WaitKind::Mutex]);
        poll(task, || waits(WaitKind::Timer, 1, None));
        assert_eq!(kinds(task), [WaitKind::Timer]);
        poll(task, || ());
        assert_eq!(kinds(task), []);
        watch(task, || ((), Stage::Finished));
        assert!(waits_of(task).is_none());
    }

    #[test]
    fn a_wait_that_goes_on_keeps_its_beginning() {
        let _on = Switch::on();
        let task = FIRST + 1;
        let since = || {
            waits_of(task)
                .expect("waits")
                .iter()
                .next()
                .expect("one")
                .since
        };
        poll(task, || waits(WaitKind::Mutex, 1, None));
        let began = since();
        poll(task, || waits_longer(WaitKind::Mutex, 1, None));
        assert_eq!(since(), began);
        watch(task, || ((), Stage::Traced));
        assert_eq!(since(), began);
        while Clock::new().now() == began {}
        poll(task, || waits(WaitKind::Mutex, 1, None));
        assert_ne!(since(), began);
        let began = since();
        poll(task, || waits_longer(WaitKind::Mutex, 2, None));
        assert_ne!(since(), began, "another lock");
        ended(task);
    }

    #[test]
    fn a_wait_is_noted_once_and_may_be_given_up() {
        let _on = Switch::on();
        let task = FIRST + 2;
        poll(task, || {
            for resource in [1, 1, 2, 1] {
                waits(WaitKind::Mutex, resource, None);
            }
            waits(WaitKind::Timer, 1, None);
            waits(WaitKind::Notify, 1, None);
            gives_up(WaitKind::Mutex, 1);
        });
        assert_eq!(kinds(task), [WaitKind::Mutex, WaitKind::Timer]);
        assert_eq!(waits_of(task).expect("waits").more, 1);
        ended(task);
        assert!(waits_of(task).is_none());
    }

    #[test]
    fn a_wait_for_what_has_just_served_is_a_new_one() {
        let _on = Switch::on();
        let task = FIRST + 6;
        let since = || {
            waits_of(task)
                .expect("waits")
                .iter()
                .next()
                .expect("one")
                .since
        };
        poll(task, || waits_longer(WaitKind::Read, 1, None));
        let began = since();
        while Clock::new().now() == began {}
        poll(task, || {
            served(2);
            waits_longer(WaitKind::Read, 1, None);
        });
        assert_eq!(since(), began);
        poll(task, || {
            served(1);
            waits_longer(WaitKind::Read, 1, None);
        });
        assert_ne!(since(), began);
        let began = since();
        poll(task, || waits_longer(WaitKind::Read, 1, None));
        assert_eq!(since(), began);
        ended(task);
    }

    #[test]
    fn a_poll_within_a_poll_notes_its_own() {
        let _on = Switch::on();
        let (outer, inner) = (FIRST + 3, FIRST + 4);
        poll(outer, || {
            waits(WaitKind::Mutex, 1, None);
            poll(inner, || waits(WaitKind::Timer, 1, None));
            let panics = || poll(inner, || panic!("a task's"));
            catch_unwind(AssertUnwindSafe(panics)).unwrap_err();
            assert_eq!(polled(), outer);
            waits(WaitKind::Notify, 1, None);
        });
        assert_eq!(kinds(outer), [WaitKind::Mutex, WaitKind::Notify]);
        assert_eq!(kinds(inner), [WaitKind::Timer]);
        ended(outer);
        ended(inner);
    }

    #[test]
    fn what_a_blocked_thread_waits_for_is_its_tasks() {
        let _on = Switch::on();
        let task = FIRST + 5;
        poll(task, || {
            let _ = watch_blocking(|| {
                waits(WaitKind::Mutex, 1, None);
                Poll::<()>::Pending
            });
            assert_eq!(kinds(task), [WaitKind::Mutex]);
            let _ = watch_blocking(|| Poll::Ready(()));
            assert!(waits_of(task).is_none());
        });
        ended(task);
    }
}
