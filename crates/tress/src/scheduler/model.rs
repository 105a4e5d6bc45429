//! The races of the queues and of the parking protocol, in every order (`ci/loom`).
//!
//! `README.md` in this folder names them. The ring has four slots here, so that two pushes wrap it and five overflow
//! it. Queue entries are real tasks, which are never run but cancelled once a queue has given them back: each of them
//! exactly once, or not all cells are freed.
//!
//! The last part runs the real `IdleSet`, `Parker` and `Inject` under a worker loop that follows
//! `worker.rs` step by step. A lost wake-up shows as a deadlock, which loom reports.

use super::idle::{IdleSet, Unparked};
use super::inject::Inject;
use super::lifo::LifoSlot;
use super::queue::{self, Local, Steal};
use crate::sys::Parker;
use crate::sys::atomic::{AtomicBool, Ordering};
use crate::task::model::{Depot, explore};
use crate::task::{Header, JoinHandle, Ready};
use loom::thread;
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// A number of tasks to queue, and the proof that each came out exactly once.
struct Tasks {
    depot: Arc<Depot>,
    made: Vec<(NonNull<Header>, JoinHandle<()>)>,
    /// The tasks that came out again. Not loom's: no thread waits for it.
    seen: std::sync::Mutex<Vec<usize>>,
}

// SAFETY: the pointers are compared, or are queue entries of tasks that may go to any thread.
unsafe impl Send for Tasks {}
// SAFETY: as above.
unsafe impl Sync for Tasks {}

impl Tasks {
    fn new(n: usize) -> Arc<Tasks> {
        let depot = Depot::new();
        let made = (0..n)
            .map(|_| depot.make(async {}))
            .map(|(task, handle)| (task.into_raw(), handle))
            .collect();
        Arc::new(Tasks {
            depot,
            made,
            seen: std::sync::Mutex::new(Vec::new()),
        })
    }

    /// A task, to be queued once.
    fn get(&self, index: usize) -> Ready {
        // SAFETY: no other thread asks for it.
        unsafe { Ready::from_raw(self.made[index].0) }
    }

    fn index(&self, task: &Ready) -> usize {
        self.made
            .iter()
            .position(|(made, _)| std::ptr::eq(made.as_ptr(), task.header()))
            .expect("a task of ours")
    }

    fn saw(&self, task: Ready) {
        let index = self.index(&task);
        task.into_raw();
        self.seen.lock().unwrap().push(index);
    }

    /// Checks that each of them came out exactly once.
    fn finish(self: Arc<Self>) {
        let tasks = Arc::into_inner(self).expect("the threads have ended");
        let mut seen = tasks.seen.lock().unwrap().clone();
        seen.sort_unstable();
        let all: Vec<usize> = (0..tasks.made.len()).collect();
        assert_eq!(seen, all, "lost, or seen twice");
        for (task, handle) in tasks.made {
            // SAFETY: it is in no queue any more.
            unsafe { Ready::from_raw(task) }.refuse();
            assert!(handle.is_finished());
        }
        tasks.depot.finish();
    }
}

/// Takes everything out of a ring.
fn empty(ring: &Local, tasks: &Tasks) {
    while let Some(task) = ring.pop() {
        tasks.saw(task);
    }
}

fn empty_inject(inject: &Inject, tasks: &Tasks) {
    while let Some(task) = inject.pop() {
        tasks.saw(task);
    }
    assert_eq!(inject.len(), 0);
}

/// Steals `times` times, and takes what was stolen out of the thief's own ring.
fn thief(steal: Arc<Steal>, tasks: Arc<Tasks>, times: usize) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let (own, _) = queue::ring();
        for _ in 0..times {
            if let Some((task, n)) = steal.steal_into(&own) {
                assert_eq!(own.len() + 1, n);
                tasks.saw(task);
                empty(&own, &tasks);
            }
        }
    })
}

#[test]
fn ring_push_and_pop_vs_thief() {
    explore(4, || {
        let tasks = Tasks::new(4);
        let inject = Inject::new();
        let (ring, steal) = queue::ring();
        // Beginning in the middle, so that the positions wrap around the slots.
        ring.push(tasks.get(0), &inject);
        ring.push(tasks.get(1), &inject);
        let thief = thief(Arc::new(steal), tasks.clone(), 2);
        ring.push(tasks.get(2), &inject);
        if let Some(task) = ring.pop() {
            tasks.saw(task);
        }
        ring.push(tasks.get(3), &inject);
        empty(&ring, &tasks);
        thief.join().unwrap();
        empty(&ring, &tasks);
        assert!(inject.is_empty());
        tasks.finish();
    });
}

#[test]
fn ring_vs_two_thieves() {
    explore(3, || {
        let tasks = Tasks::new(4);
        let inject = Inject::new();
        let (ring, steal) = queue::ring();
        let steal = Arc::new(steal);
        for i in 0..3 {
            ring.push(tasks.get(i), &inject);
        }
        let first = thief(steal.clone(), tasks.clone(), 1);
        let second = thief(steal, tasks.clone(), 1);
        if let Some(task) = ring.pop() {
            tasks.saw(task);
        }
        ring.push(tasks.get(3), &inject);
        first.join().unwrap();
        second.join().unwrap();
        empty(&ring, &tasks);
        assert!(inject.is_empty());
        tasks.finish();
    });
}

/// The ring is full: half of it moves to the inject queue, or, if a thief is at work, the new task.
#[test]
fn ring_overflow_vs_thief() {
    explore(4, || {
        let tasks = Tasks::new(6);
        let inject = Inject::new();
        let (ring, steal) = queue::ring();
        for i in 0..4 {
            assert!(!ring.push(tasks.get(i), &inject));
        }
        let thief = thief(Arc::new(steal), tasks.clone(), 1);
        ring.push(tasks.get(4), &inject);
        ring.push(tasks.get(5), &inject);
        thief.join().unwrap();
        empty_inject(&inject, &tasks);
        empty(&ring, &tasks);
        tasks.finish();
    });
}

#[test]
fn ring_overflow_vs_two_thieves() {
    explore(2, || {
        let tasks = Tasks::new(5);
        let inject = Inject::new();
        let (ring, steal) = queue::ring();
        let steal = Arc::new(steal);
        for i in 0..4 {
            assert!(!ring.push(tasks.get(i), &inject));
        }
        let first = thief(steal.clone(), tasks.clone(), 1);
        let second = thief(steal, tasks.clone(), 1);
        ring.push(tasks.get(4), &inject);
        if let Some(task) = ring.pop() {
            tasks.saw(task);
        }
        first.join().unwrap();
        second.join().unwrap();
        empty_inject(&inject, &tasks);
        empty(&ring, &tasks);
        tasks.finish();
    });
}

/// Two workers steal from each other.
#[test]
fn thieves_of_each_other() {
    explore(3, || {
        let tasks = Tasks::new(4);
        let inject = Arc::new(Inject::new());
        let (ring_a, steal_a) = queue::ring();
        let (ring_b, steal_b) = queue::ring();
        let steal_a = Arc::new(steal_a);
        ring_a.push(tasks.get(0), &inject);
        ring_a.push(tasks.get(1), &inject);
        let other = {
            let (tasks, inject, steal_a) = (tasks.clone(), inject.clone(), steal_a.clone());
            thread::spawn(move || {
                ring_b.push(tasks.get(2), &inject);
                ring_b.push(tasks.get(3), &inject);
                if let Some((task, _)) = steal_a.steal_into(&ring_b) {
                    tasks.saw(task);
                }
                empty(&ring_b, &tasks);
            })
        };
        if let Some((task, _)) = steal_b.steal_into(&ring_a) {
            tasks.saw(task);
        }
        empty(&ring_a, &tasks);
        other.join().unwrap();
        empty(&ring_a, &tasks);
        assert!(inject.is_empty());
        tasks.finish();
    });
}

/// Writes to a task as a thread that took it out of a queue may: loom finds what is not ordered.
fn touch(task: Ready) -> Ready {
    let task = task.into_raw();
    // SAFETY: the caller has just taken it out of its queue, or not yet put it into one.
    unsafe {
        Header::touch(task);
        Ready::from_raw(task)
    }
}

#[test]
fn lifo_replace_vs_take() {
    explore(5, || {
        let tasks = Tasks::new(3);
        let slot = Arc::new(LifoSlot::new());
        let thief = {
            let (slot, tasks) = (slot.clone(), tasks.clone());
            thread::spawn(move || {
                for _ in 0..2 {
                    if let Some(task) = slot.take() {
                        tasks.saw(touch(task));
                    }
                }
            })
        };
        for i in 0..3 {
            if let Some(older) = slot.replace(touch(tasks.get(i))) {
                tasks.saw(touch(older));
            }
        }
        if let Some(task) = slot.take() {
            tasks.saw(task);
        }
        thief.join().unwrap();
        assert!(slot.is_empty());
        tasks.finish();
    });
}

#[test]
fn lifo_replace_vs_two_takers() {
    explore(4, || {
        let tasks = Tasks::new(2);
        let slot = Arc::new(LifoSlot::new());
        assert!(slot.replace(tasks.get(0)).is_none());
        let takers: Vec<_> = (0..2)
            .map(|_| {
                let (slot, tasks) = (slot.clone(), tasks.clone());
                thread::spawn(move || {
                    if let Some(task) = slot.take() {
                        tasks.saw(task);
                    }
                })
            })
            .collect();
        if let Some(older) = slot.replace(tasks.get(1)) {
            tasks.saw(older);
        }
        for taker in takers {
            taker.join().unwrap();
        }
        if let Some(task) = slot.take() {
            tasks.saw(task);
        }
        tasks.finish();
    });
}

#[test]
fn inject_push_vs_pop() {
    explore(4, || {
        let tasks = Tasks::new(4);
        let inject = Arc::new(Inject::new());
        let other = {
            let (inject, tasks) = (inject.clone(), tasks.clone());
            thread::spawn(move || {
                inject.push(tasks.get(0));
                if let Some(task) = inject.pop() {
                    tasks.saw(task);
                }
                inject.push(tasks.get(1));
            })
        };
        // Two under one lock.
        inject.push_batch([tasks.get(2), tasks.get(3)]);
        if let Some(task) = inject.pop() {
            tasks.saw(task);
        }
        other.join().unwrap();
        let left = tasks.made.len() - tasks.seen.lock().unwrap().len();
        assert_eq!(inject.len(), left, "wrong length at rest");
        empty_inject(&inject, &tasks);
        tasks.finish();
    });
}

/// The batch goes into a ring from which a thief steals at the same time.
#[test]
fn inject_pop_batch_vs_push_vs_thief() {
    explore(3, || {
        let tasks = Tasks::new(5);
        let inject = Arc::new(Inject::new());
        for i in 0..4 {
            inject.push(tasks.get(i));
        }
        let (ring, steal) = queue::ring();
        let thief = thief(Arc::new(steal), tasks.clone(), 1);
        let pusher = {
            let (inject, tasks) = (inject.clone(), tasks.clone());
            thread::spawn(move || inject.push(tasks.get(4)))
        };
        let first = inject.pop_batch(&ring, 1, 64).expect("four were there").0;
        tasks.saw(first);
        // The oldest comes first, and the others stay in order.
        if let Some(task) = ring.pop() {
            assert!(tasks.index(&task) > 0);
            tasks.saw(task);
        }
        thief.join().unwrap();
        pusher.join().unwrap();
        empty(&ring, &tasks);
        let left = tasks.made.len() - tasks.seen.lock().unwrap().len();
        assert_eq!(inject.len(), left, "wrong length at rest");
        empty_inject(&inject, &tasks);
        tasks.finish();
    });
}

/// Two workers fetch their shares.
#[test]
fn inject_two_pop_batches() {
    explore(4, || {
        let tasks = Tasks::new(6);
        let inject = Arc::new(Inject::new());
        for i in 0..6 {
            inject.push(tasks.get(i));
        }
        let other = {
            let (inject, tasks) = (inject.clone(), tasks.clone());
            thread::spawn(move || {
                let (ring, _steal) = queue::ring();
                if let Some((task, _)) = inject.pop_batch(&ring, 2, 64) {
                    tasks.saw(task);
                }
                empty(&ring, &tasks);
            })
        };
        let (ring, _steal) = queue::ring();
        if let Some((task, _)) = inject.pop_batch(&ring, 2, 64) {
            tasks.saw(task);
        }
        empty(&ring, &tasks);
        other.join().unwrap();
        empty_inject(&inject, &tasks);
        tasks.finish();
    });
}

/// What `Multi` is to the workers of a model.
struct Floor {
    tasks: Arc<Tasks>,
    inject: Inject,
    idle: IdleSet,
    parkers: Vec<Parker>,
    /// Empty where nothing is pushed to them: looking at them would only slow down the model.
    rings: Vec<Steal>,
    /// The mail of each worker.
    mail: Vec<Inject>,
    closing: AtomicBool,
    /// The worker that cannot have a thread, if there is one.
    threadless: Option<usize>,
    /// Tasks run so far. Not loom's: it only decides when to close.
    done: AtomicUsize,
}

/// What `Core` is to a worker.
struct Hand {
    index: usize,
    ring: Option<Local>,
    searching: Cell<bool>,
    /// The worker begins in the middle of a park.
    parked: bool,
}

impl Hand {
    /// `Core::schedule` of a task that goes to the ring.
    fn push(&self, floor: &Floor, index: usize) {
        let ring = self.ring.as_ref().expect("a model that uses the rings");
        ring.push(floor.tasks.get(index), &floor.inject);
        floor.notify();
    }
}

enum Rings {
    Used,
    Unused,
}

impl Floor {
    /// Returns workers that are awake: claimed, as are all whose threads ever began.
    fn awake(workers: usize, rings: Rings, tasks: usize) -> (Arc<Floor>, Vec<Hand>) {
        let (floor, mut hands) = Floor::parked(workers, rings, tasks);
        for hand in &mut hands {
            assert!(floor.idle.claim_worker(hand.index));
            hand.searching.set(true);
            hand.parked = false;
        }
        (floor, hands)
    }

    /// Returns workers that sleep.
    fn parked(workers: usize, rings: Rings, tasks: usize) -> (Arc<Floor>, Vec<Hand>) {
        let (locals, steals): (Vec<_>, Vec<_>) = match rings {
            Rings::Used => (0..workers).map(|_| queue::ring()).unzip(),
            Rings::Unused => Default::default(),
        };
        let mut locals = locals.into_iter();
        let hands = (0..workers)
            .map(|index| Hand {
                index,
                ring: locals.next(),
                searching: Cell::new(false),
                parked: true,
            })
            .collect();
        let floor = Floor {
            tasks: Tasks::new(tasks),
            inject: Inject::new(),
            idle: IdleSet::all_parked(workers),
            parkers: (0..workers).map(|_| Parker::new()).collect(),
            rings: steals,
            mail: (0..workers).map(|_| Inject::new()).collect(),
            closing: AtomicBool::new(false),
            threadless: None,
            done: AtomicUsize::new(0),
        };
        (Arc::new(floor), hands)
    }

    /// `Multi::notify`.
    fn notify(&self) {
        if let Some(worker) = self.idle.claim_for_work() {
            self.wake(worker);
        }
    }

    /// `Multi::wake`.
    fn wake(&self, worker: usize) {
        let has_thread = |worker| self.threadless != Some(worker);
        let woken = match has_thread(worker) {
            true => Some(worker),
            false => self.idle.replace(worker, has_thread),
        };
        if let Some(worker) = woken {
            self.parkers[worker].unpark();
        }
    }

    /// A push from outside.
    fn push(&self, index: usize) {
        self.inject.push(self.tasks.get(index));
        self.notify();
    }

    /// A push from outside where there is no core for a second worker.
    fn push_for_one(&self, index: usize) {
        self.inject.push(self.tasks.get(index));
        if let Some(worker) = self.idle.claim_if_none_is_awake() {
            self.parkers[worker].unpark();
        }
    }

    /// A push of a task that is pinned to a worker, from another thread.
    fn post(&self, worker: usize, index: usize) {
        self.mail[worker].push(self.tasks.get(index));
        if self.idle.claim_for_mail(worker) {
            self.parkers[worker].unpark();
        }
    }

    /// `Multi::close`.
    fn close(&self) {
        self.closing.store(true, Ordering::Release);
        self.parkers.iter().for_each(Parker::unpark);
    }

    fn close_one(&self, worker: usize) {
        self.closing.store(true, Ordering::Release);
        self.parkers[worker].unpark();
    }

    fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    /// `Core::work_in_sight`.
    fn work_in_sight(&self) -> bool {
        !self.inject.is_empty() || self.rings.iter().any(|ring| !ring.is_empty())
    }

    /// `Worker::run_task`, with `run` for the poll. The worker that runs the last task closes.
    fn run_task(&self, hand: &Hand, task: Ready, run: &impl Fn(&Floor, &Hand, usize)) {
        if hand.searching.take() && self.idle.stop_searching() && self.work_in_sight() {
            self.notify();
        }
        let index = self.tasks.index(&task);
        self.tasks.saw(task);
        run(self, hand, index);
        if self.done.fetch_add(1, SeqCst) + 1 == self.tasks.made.len() {
            self.close();
        }
    }

    fn steal(&self, hand: &Hand) -> Option<Ready> {
        let own = hand.ring.as_ref()?;
        let others = self
            .rings
            .iter()
            .enumerate()
            .filter(|(i, _)| *i != hand.index);
        others
            .filter_map(|(_, ring)| ring.steal_into(own))
            .map(|(task, _)| task)
            .next()
    }

    /// `Worker::run` and what it calls, without clock, timers, LIFO slot and spinning: those add
    /// looks but take none away.
    fn work(&self, hand: &Hand, run: impl Fn(&Floor, &Hand, usize)) {
        self.work_until(hand, run, || false);
        if hand.searching.take() {
            // For the count at the end; a real worker would not care.
            let _ = self.idle.stop_searching();
        }
    }

    fn work_until(&self, hand: &Hand, run: impl Fn(&Floor, &Hand, usize), stop: impl Fn() -> bool) {
        if hand.parked {
            self.sleep(hand);
        }
        while !stop() && !self.is_closing() {
            let local = hand.ring.as_ref().and_then(Local::pop);
            let local = local.or_else(|| self.mail[hand.index].pop());
            if let Some(task) = local.or_else(|| self.inject.pop()) {
                self.run_task(hand, task, &run);
                continue;
            }
            if !hand.searching.get() && self.idle.try_search() {
                hand.searching.set(true);
            }
            if hand.searching.get() {
                if let Some(task) = self.steal(hand) {
                    self.run_task(hand, task, &run);
                    continue;
                }
            }
            self.idle.park(hand.index, hand.searching.take());
            self.sleep(hand);
        }
    }

    /// `Worker::park` from the look after the publication on.
    fn sleep(&self, hand: &Hand) {
        if self.work_in_sight() || !self.mail[hand.index].is_empty() || self.is_closing() {
            self.idle.claim_worker(hand.index);
            hand.searching.set(true);
            return;
        }
        self.parkers[hand.index].park(None);
        if self.idle.unpark(hand.index) == Unparked::Claimed {
            hand.searching.set(true);
        }
    }

    /// Checks that nothing is left, and that no worker is counted as anything.
    fn finish(self: Arc<Self>) {
        let floor = Arc::into_inner(self).expect("the threads have ended");
        assert_eq!(floor.idle.num_searching(), 0, "the searching count drifted");
        if let Some(worker) = floor.threadless {
            assert!(floor.idle.claim_worker(worker) && floor.idle.stop_searching());
        }
        for worker in 0..floor.parkers.len() {
            assert!(!floor.idle.is_parked(worker));
            floor.idle.park(worker, false);
        }
        assert!(floor.idle.all_are_parked(), "the parked count drifted");
        assert!(!floor.work_in_sight());
        floor.tasks.finish();
    }
}

/// What a task does in its poll.
type Body = fn(&Floor, &Hand, usize, &Parker);

/// Lets the workers run while `produce` does, until all tasks have run.
fn run_all((floor, hands): (Arc<Floor>, Vec<Hand>), body: Body, produce: impl FnOnce(&Arc<Floor>)) {
    let event = Arc::new(Parker::new());
    let workers: Vec<_> = hands
        .into_iter()
        .map(|hand| {
            let (floor, event) = (floor.clone(), event.clone());
            thread::spawn(move || floor.work(&hand, |floor, hand, i| body(floor, hand, i, &event)))
        })
        .collect();
    produce(&floor);
    for worker in workers {
        worker.join().unwrap();
    }
    floor.finish();
}

fn nothing(_: &Floor, _: &Hand, _: usize, _: &Parker) {}

/// The first task blocks its worker until the second one has run. A wake-up that is merely late,
/// because it is left to the worker that is stuck, is then a deadlock too.
fn first_needs_second(_: &Floor, _: &Hand, index: usize, second_ran: &Parker) {
    match index {
        0 => while !second_ran.park(None) {},
        1 => second_ran.unpark(),
        _ => {}
    }
}

/// The first task queues the others on its own worker, as a wake-up there does.
fn first_queues_others(floor: &Floor, hand: &Hand, index: usize, _: &Parker) {
    if index == 0 {
        for other in 1..floor.tasks.made.len() {
            hand.push(floor, other);
        }
    }
}

/// The first task queues the second on its own worker and blocks it until a thief has run it.
fn first_queues_and_needs_second(floor: &Floor, hand: &Hand, index: usize, second_ran: &Parker) {
    if index == 0 {
        hand.push(floor, 1);
    }
    first_needs_second(floor, hand, index, second_ran);
}

#[test]
fn push_vs_park() {
    explore(4, || {
        run_all(Floor::awake(1, Rings::Unused, 2), nothing, |floor| {
            floor.push(0);
            floor.push(1);
        });
    });
}

#[test]
fn two_producers_vs_one_worker() {
    explore(3, || {
        run_all(Floor::awake(1, Rings::Unused, 2), nothing, |floor| {
            let other = floor.clone();
            let producer = thread::spawn(move || other.push(0));
            floor.push(1);
            producer.join().unwrap();
        });
    });
}

#[test]
fn push_vs_two_parking_workers() {
    explore(2, || {
        run_all(Floor::awake(2, Rings::Unused, 2), nothing, |floor| {
            floor.push(0);
            floor.push(1);
        });
    });
}

/// A producer wakes no worker while one is awake, which may be about to sleep.
#[test]
fn push_for_one_vs_two_parking_workers() {
    explore(2, || {
        run_all(Floor::awake(2, Rings::Unused, 2), nothing, |floor| {
            floor.push_for_one(0);
            floor.push_for_one(1);
        });
    });
}

/// As above, with two workers that sleep.
#[test]
fn push_for_one_vs_two_parked_workers() {
    explore(2, || {
        run_all(Floor::parked(2, Rings::Unused, 2), nothing, |floor| {
            floor.push_for_one(0);
            floor.push_for_one(1);
        });
    });
}

/// A producer sees a searcher and wakes no worker: the searcher must, when it finds something else.
#[test]
fn push_vs_last_searcher() {
    explore(2, || {
        run_all(
            Floor::awake(2, Rings::Unused, 2),
            first_needs_second,
            |floor| {
                floor.push(0);
                floor.push(1);
            },
        );
    });
}

/// A worker queues on itself while the other one goes to sleep.
#[test]
fn push_into_the_own_ring_vs_park_of_the_thief() {
    explore(2, || {
        run_all(
            Floor::awake(2, Rings::Used, 3),
            first_queues_others,
            |floor| floor.push(0),
        );
    });
}

/// As above, and the pusher is stuck afterwards: only the thief can run the second task.
#[test]
fn task_in_the_ring_of_a_stuck_worker_is_stolen() {
    explore(2, || {
        run_all(
            Floor::awake(2, Rings::Used, 2),
            first_queues_and_needs_second,
            |floor| floor.push(0),
        );
    });
}

/// Shutdown finds the workers on their way to sleep.
#[test]
fn close_vs_park() {
    explore(3, || {
        run_all(Floor::awake(2, Rings::Unused, 0), nothing, |floor| {
            floor.close()
        });
    });
}

/// One worker, which is stuck for good in the poll of task 0, beside one that sleeps. Unless the first one ran task 1
/// before, the second one must have been woken for it.
///
/// The second worker is nothing but its bit and its parker: another thread would make the model too large for the
/// preemptions that these races take.
fn stuck_beside_sleeper(produce: impl FnOnce(&Arc<Floor>)) {
    let (floor, hands) = Floor::parked(2, Rings::Unused, 2);
    let hand = hands.into_iter().next().expect("two");
    let worker = {
        let floor = floor.clone();
        thread::spawn(move || {
            let stuck = Cell::new(false);
            floor.work_until(
                &hand,
                |_, _, index| stuck.set(stuck.get() || index == 0),
                || stuck.get(),
            );
            if !stuck.get() {
                // Closed before it was woken, or the other one has been woken instead: what is left would have been
                // found.
                empty_inject(&floor.inject, &floor.tasks);
            }
        })
    };
    produce(&floor);
    floor.close_one(0);
    worker.join().unwrap();
    if !floor.inject.is_empty() {
        let told = floor.parkers[1].is_notified();
        assert!(
            told && !floor.idle.is_parked(1),
            "task 1 waits behind a stuck poll"
        );
        empty_inject(&floor.inject, &floor.tasks);
    }
    let floor = Arc::into_inner(floor).expect("the threads have ended");
    floor.tasks.finish();
}

#[test]
fn two_producers_vs_a_worker_that_gets_stuck() {
    explore(2, || {
        stuck_beside_sleeper(|floor| {
            let other = floor.clone();
            let producer = thread::spawn(move || other.push(0));
            floor.push(1);
            producer.join().unwrap();
        });
    });
}

/// A worker is woken for another reason, such as a timer, while a producer is claiming it.
#[test]
fn claim_vs_wake_up_for_another_reason() {
    explore(2, || {
        stuck_beside_sleeper(|floor| {
            let other = floor.clone();
            let producer = thread::spawn(move || {
                other.parkers[0].unpark();
                other.push(1);
            });
            floor.push(0);
            producer.join().unwrap();
        });
    });
}

/// A pinned task comes while its worker parks or sleeps: only that worker may run it, and it does.
#[test]
fn mail_vs_park() {
    for awake in [true, false] {
        explore(3, move || {
            let (floor, hands) = match awake {
                true => Floor::awake(1, Rings::Unused, 1),
                false => Floor::parked(1, Rings::Unused, 1),
            };
            let poster = {
                let floor = floor.clone();
                thread::spawn(move || floor.post(0, 0))
            };
            floor.work(&hands[0], |_, _, _| {});
            poster.join().unwrap();
            floor.finish();
        });
    }
}

/// The worker with mail is claimed for other work at the same moment, and another one sleeps: both tasks run, the
/// pinned one where it must.
#[test]
fn mail_vs_a_claim_for_other_work() {
    explore(2, || {
        let (floor, mut hands) = Floor::parked(2, Rings::Unused, 2);
        let other = {
            let (floor, hand) = (floor.clone(), hands.pop().unwrap());
            thread::spawn(move || floor.work(&hand, |_, _, index| assert_eq!(index, 1)))
        };
        let poster = {
            let floor = floor.clone();
            thread::spawn(move || {
                floor.push(1);
                floor.post(0, 0);
            })
        };
        floor.work(&hands[0], |_, _, _| {});
        poster.join().unwrap();
        other.join().unwrap();
        floor.finish();
    });
}

/// Two workers, the first of which cannot have a thread. The second is awake, or sleeps.
fn with_a_threadless(is_parked: bool, tasks: usize) -> (Arc<Floor>, Vec<Hand>) {
    let (mut floor, mut hands) = Floor::parked(2, Rings::Unused, tasks);
    Arc::get_mut(&mut floor).expect("not shared yet").threadless = Some(0);
    hands.remove(0);
    if !is_parked {
        assert!(floor.idle.claim_worker(1));
        hands[0].searching.set(true);
        hands[0].parked = false;
    }
    (floor, hands)
}

/// The claim of a worker that cannot run holds another producer back, and the worker that can run may be about to
/// sleep.
#[test]
fn two_producers_vs_a_worker_without_a_thread() {
    for is_parked in [true, false] {
        explore(3, move || {
            run_all(with_a_threadless(is_parked, 2), nothing, |floor| {
                let other = floor.clone();
                let producer = thread::spawn(move || other.push(0));
                floor.push(1);
                producer.join().unwrap();
            });
        });
    }
}
