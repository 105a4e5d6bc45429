//! The races between those who queue, drains that end, and the end of the runtime.

use super::{Queue, Queued};
use crate::task::model::explore;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use std::sync::Arc;

/// A view's queue, what happened to each task, and how many drains run.
struct Scene {
    queue: Queue<usize>,
    /// Per task: how often it ran, plus 100 if it was refused or given back.
    seen: Vec<AtomicUsize>,
    inside: AtomicUsize,
}

impl Scene {
    fn new(limit: usize, tasks: usize) -> Arc<Scene> {
        Arc::new(Scene {
            queue: Queue::new(limit),
            seen: (0..tasks).map(|_| AtomicUsize::new(0)).collect(),
            inside: AtomicUsize::new(0),
        })
    }

    /// Queues a task, and runs the drain that this owes on a thread of its own or here.
    fn push(self: &Arc<Self>, task: usize, elsewhere: bool) -> Option<thread::JoinHandle<()>> {
        match self.queue.push(task) {
            Queued::Nothing => None,
            Queued::SendDrain if elsewhere => {
                let scene = self.clone();
                Some(thread::spawn(move || scene.drain(false)))
            }
            Queued::SendDrain => {
                self.drain(false);
                None
            }
            Queued::Refused(task) => {
                self.seen[task].fetch_add(100, Ordering::Relaxed);
                None
            }
        }
    }

    /// Runs tasks to the end; each yields once if it is to.
    fn drain(&self, yields: bool) {
        while let Some(task) = self.queue.next() {
            let others = self.inside.fetch_add(1, Ordering::AcqRel);
            assert!(others < self.queue.limit(), "more at a time than the limit");
            let times = self.seen[task].fetch_add(1, Ordering::Relaxed);
            self.inside.fetch_sub(1, Ordering::AcqRel);
            if yields && times == 0 {
                if let Err(task) = self.queue.requeue(task) {
                    self.seen[task].fetch_add(100, Ordering::Relaxed);
                }
            }
        }
    }

    fn close(&self) {
        for task in self.queue.close() {
            self.seen[task].fetch_add(100, Ordering::Relaxed);
        }
    }

    fn all_ran_once(&self) {
        for seen in &self.seen {
            assert_eq!(seen.load(Ordering::Relaxed), 1, "lost, or run twice");
        }
    }
}

/// A drain finds nothing while another thread queues: that one is seen, or owes a drain.
#[test]
fn push_vs_the_end_of_a_drain() {
    explore(3, || {
        let scene = Scene::new(1, 2);
        let other = scene.clone();
        let pusher = thread::spawn(move || {
            other.push(0, false);
        });
        scene.push(1, false);
        pusher.join().unwrap();
        scene.all_ran_once();
    });
}

/// Two drains at a time, three tasks from two threads.
#[test]
fn limit_of_two() {
    explore(2, || {
        let scene = Scene::new(2, 3);
        let other = scene.clone();
        let pusher = thread::spawn(move || {
            other.push(0, false);
        });
        let drain = scene.push(1, true);
        scene.push(2, false);
        pusher.join().unwrap();
        if let Some(drain) = drain {
            drain.join().unwrap();
        }
        scene.all_ran_once();
    });
}

/// A task yields while its drain's queue is added to and closed: each is run or given back, once.
#[test]
fn requeue_vs_push_vs_close() {
    explore(3, || {
        let scene = Scene::new(1, 2);
        assert_eq!(scene.queue.push(0), Queued::SendDrain);
        let other = scene.clone();
        let drain = thread::spawn(move || other.drain(true));
        let other = scene.clone();
        let closer = thread::spawn(move || other.close());
        scene.push(1, false);
        drain.join().unwrap();
        closer.join().unwrap();
        let [first, second] = [0, 1].map(|task| scene.seen[task].load(Ordering::Relaxed));
        assert!([2, 100, 101].contains(&first), "{first}");
        // It may have been run by the drain that makes tasks yield.
        assert!([1, 2, 100, 101].contains(&second), "{second}");
        assert_eq!(scene.queue.push(0), Queued::Refused(0));
    });
}

/// A drain is lost because the runtime has shut down: what it was sent for is given back.
#[test]
fn lost_drain_vs_push() {
    explore(3, || {
        let scene = Scene::new(1, 2);
        assert_eq!(scene.queue.push(0), Queued::SendDrain);
        let other = scene.clone();
        let loser = thread::spawn(move || {
            other.queue.lose_drain();
            other.close();
        });
        if scene.queue.push(1) == Queued::SendDrain {
            scene.queue.lose_drain();
            scene.close();
        }
        loser.join().unwrap();
        for task in [0, 1] {
            let seen = scene.seen[task].load(Ordering::Relaxed);
            // Refused ones are left to the pusher here.
            assert!(seen == 100 || (task == 1 && seen == 0), "{seen}");
        }
        assert_eq!(scene.queue.next(), None);
    });
}
