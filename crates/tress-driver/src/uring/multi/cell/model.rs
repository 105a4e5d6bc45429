//! Loom models of a multishot operation, with its companion. Threads play the kernel: they get requests through
//! a ring that keeps their order, and answer by `complete`.

use super::*;
use crate::uring::multi::sealed::Prepare;
use io_uring::squeue::Entry;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::sync::{Arc as Shared, Condvar, Mutex};
use loom::thread;
use std::task::Poll;

/// A result that counts how often it was made away with.
struct Item(u32, Shared<AtomicUsize>);

impl Drop for Item {
    fn drop(&mut self) {
        self.1.fetch_add(1, Ordering::Relaxed);
    }
}

/// Receives numbers until a zero.
struct Numbers(Shared<AtomicUsize>);

impl Prepare for Numbers {
    const OPCODE: u8 = 0;
    const SURVIVES_ERRORS: bool = false;

    fn entry(&self) -> Entry {
        unreachable!("nothing is handed over again in a model")
    }

    fn is_end(value: u32) -> bool {
        value == 0
    }
}

impl MultiOperation for Numbers {
    type Item = Item;

    unsafe fn item(&self, value: u32, _: u32) -> Option<Item> {
        (value != 0).then(|| Item(value, self.0.clone()))
    }

    fn copied(&self, item: &Item) -> Option<Item> {
        Some(Item(item.0, self.0.clone()))
    }
}

/// What the kernel was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    Start,
    Cancel,
}

/// The ring, as far as requests go.
struct Asked {
    queue: Mutex<VecDeque<Request>>,
    changed: Condvar,
}

impl Asked {
    fn push(&self, request: Request) {
        self.queue.lock().unwrap().push_back(request);
        self.changed.notify_all();
    }

    /// Waits for a request, and takes it.
    fn wait(&self, request: Request) {
        let mut queue = self.queue.lock().unwrap();
        loop {
            if let Some(at) = queue.iter().position(|asked| *asked == request) {
                queue.remove(at);
                return;
            }
            queue = self.changed.wait(queue).unwrap();
        }
    }
}

#[derive(Clone)]
struct Scene {
    cell: Arc<MultiCell<Numbers>>,
    asked: Shared<Asked>,
    dropped: Shared<AtomicUsize>,
}

/// A result of a ring that is open.
fn arrived(value: i32, more: bool) -> Arrived {
    Arrived {
        value,
        flags: 0,
        more,
        closed: false,
    }
}

impl Scene {
    fn new() -> Scene {
        let dropped = Shared::new(AtomicUsize::new(0));
        Scene {
            cell: Arc::new(MultiCell::new(Numbers(dropped.clone()))),
            asked: Shared::new(Asked {
                queue: Mutex::new(VecDeque::new()),
                changed: Condvar::new(),
            }),
            dropped,
        }
    }

    /// The part of `Multishot`: asks for what the cell says.
    fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Option<u32>> {
        match self.cell.poll(cx) {
            Found::Result(item) => return Poll::Ready(Some(item.unwrap().0)),
            Found::End => return Poll::Ready(None),
            Found::Nothing => {}
            Found::Missed => self.asked.push(Request::Cancel),
            Found::Stopped => {
                self.cell.expect(cx);
                self.cell.run();
                self.asked.push(Request::Start);
            }
        }
        Poll::Pending
    }

    /// Fetches everything until the end.
    fn fetch(&self) -> Vec<u32> {
        let mut fetched = Vec::new();
        while let Some(number) =
            loom::future::block_on(std::future::poll_fn(|cx| self.poll_next(cx)))
        {
            fetched.push(number);
        }
        fetched
    }

    /// The part of the thread that takes results off the ring.
    fn complete(&self, value: i32, more: bool) -> Next {
        let mut wakers = Wakers::default();
        let next = self.cell.complete(arrived(value, more), &mut wakers);
        if next == Next::Stop {
            self.asked.push(Request::Cancel);
        }
        wakers.wake_all();
        next
    }

    /// The same for the last result, and begins it again if it should, as the ring does: under its lock.
    fn complete_or_begin_again(&self, value: i32) {
        let mut wakers = Wakers::default();
        let mut queue = self.asked.queue.lock().unwrap();
        if self.cell.complete(arrived(value, false), &mut wakers) == Next::Again {
            queue.push_back(Request::Start);
            self.asked.changed.notify_all();
        }
        drop(queue);
        wakers.wake_all();
    }

    fn complete_companion(&self, value: i32) -> Next {
        let mut wakers = Wakers::default();
        let watch = Watch(self.cell.clone());
        let next = watch.complete(arrived(value, false), &mut wakers);
        wakers.wake_all();
        next
    }
}

/// The kernel as it takes requests one by one. A cancellation that finds nothing to cancel does nothing.
fn obey(scene: &Scene, is_running: &mut bool) {
    loop {
        let Some(request) = scene.asked.queue.lock().unwrap().pop_front() else {
            return;
        };
        match request {
            Request::Start => *is_running = true,
            Request::Cancel if std::mem::take(is_running) => {
                scene.complete_or_begin_again(-libc::ECANCELED);
            }
            Request::Cancel => {}
        }
    }
}

/// An operation is repeated (because the thread that had handed it over is gone, say) while it is stopped or
/// abandoned: its cancellation is not queued before the operation itself, or it would run on unwanted.
#[test]
fn model_beginning_again_beside_a_stop() {
    beginning_again_beside(|cell, cx| cell.stop(cx) == Stop::Ask);
}

#[test]
fn model_beginning_again_beside_one_who_goes() {
    beginning_again_beside(|cell, _| cell.abandon().operation);
}

fn beginning_again_beside(end: fn(&MultiCell<Numbers>, &mut Context<'_>) -> bool) {
    loom::model(move || {
        let scene = Scene::new();
        scene.cell.run();
        let ring = scene.clone();
        let ring = thread::spawn(move || ring.complete_or_begin_again(-libc::ECANCELED));
        let mut cx = Context::from_waker(Waker::noop());
        if end(&scene.cell, &mut cx) {
            scene.asked.push(Request::Cancel);
        }
        ring.join().unwrap();
        let mut is_running = false;
        obey(&scene, &mut is_running);
        assert!(!is_running, "it runs on: {:?}", scene.cell.phase());
    });
}

/// The end of the stream comes with its last bytes and the kernel misses it: whatever the order of the bytes,
/// the companion's report and the fetching task, the end is found. (Else it would hang here.)
#[test]
fn model_an_end_that_was_missed_is_found() {
    loom::model(|| {
        let scene = Scene::new();
        scene.cell.accompany();
        let (receive, watch) = (scene.clone(), scene.clone());
        let receive = thread::spawn(move || {
            receive.asked.wait(Request::Start);
            assert_eq!(receive.complete(7, true), Next::Wait);
            // It waits for ever unless it is stopped.
            receive.asked.wait(Request::Cancel);
            assert_eq!(receive.complete(-libc::ECANCELED, false), Next::Finish);
            receive.asked.wait(Request::Start);
            assert_eq!(receive.complete(0, false), Next::Finish);
        });
        let watch = thread::spawn(move || assert_eq!(watch.complete_companion(1), Next::Finish));
        assert_eq!(scene.fetch(), [7]);
        receive.join().unwrap();
        watch.join().unwrap();
        assert_eq!(scene.dropped.load(Ordering::Relaxed), 1);
    });
}

/// The kernel has not missed the end: the companion's report, at any moment, ends nothing early and asks for
/// nothing that is not answered.
#[test]
fn model_the_companions_word_beside_the_end() {
    loom::model(|| {
        let scene = Scene::new();
        scene.cell.accompany();
        let (receive, watch) = (scene.clone(), scene.clone());
        let receive = thread::spawn(move || {
            receive.asked.wait(Request::Start);
            let _ = receive.complete(7, true);
            assert_eq!(receive.complete(0, false), Next::Finish);
        });
        let watch = thread::spawn(move || assert_eq!(watch.complete_companion(1), Next::Finish));
        assert_eq!(scene.fetch(), [7]);
        receive.join().unwrap();
        watch.join().unwrap();
    });
}

/// The fetching task goes while both are under way: the kernel then ends what it has left, and every result is
/// undone once.
#[test]
fn model_abandoned_beside_both() {
    loom::model(|| {
        let scene = Scene::new();
        scene.cell.accompany();
        scene.cell.run();
        let (receive, watch) = (scene.clone(), scene.clone());
        let receive = thread::spawn(move || {
            let _ = receive.complete(7, true);
            let next = receive.complete(0, false);
            receive.cell.bury();
            next
        });
        let watch = thread::spawn(move || watch.complete_companion(1));
        let left = scene.cell.abandon();
        let (receive, watch) = (receive.join().unwrap(), watch.join().unwrap());
        let finish = |orphan| {
            if orphan {
                Next::FinishOrphan
            } else {
                Next::Finish
            }
        };
        assert_eq!(receive, finish(left.operation));
        assert_eq!(watch, finish(left.companion));
        assert_eq!(scene.dropped.load(Ordering::Relaxed), 1);
        assert_eq!(scene.cell.pending(), 0);
    });
}

/// More results than may wait: the kernel is stopped and started again, and nothing is lost or out of order.
#[test]
fn model_a_backlog_stops_and_goes_on() {
    loom::model(|| {
        let scene = Scene::new();
        let kernel = scene.clone();
        let kernel = thread::spawn(move || {
            kernel.asked.wait(Request::Start);
            let mut stopped = false;
            for number in 1..=3 {
                stopped |= kernel.complete(number, true) == Next::Stop;
            }
            if stopped {
                kernel.asked.wait(Request::Cancel);
                assert_eq!(kernel.complete(-libc::ECANCELED, false), Next::Finish);
                kernel.asked.wait(Request::Start);
            }
            assert_eq!(kernel.complete(0, false), Next::Finish);
        });
        assert_eq!(scene.fetch(), [1, 2, 3]);
        kernel.join().unwrap();
    });
}

/// A stop against a result and the companion's word: it ends, once nothing arrives any more, and what has
/// arrived is there.
#[test]
fn model_a_stop_beside_a_result() {
    loom::model(|| {
        let scene = Scene::new();
        scene.cell.accompany();
        scene.cell.run();
        let (receive, watch) = (scene.clone(), scene.clone());
        let receive = thread::spawn(move || {
            assert_eq!(receive.complete(7, true), Next::Wait);
            receive.asked.wait(Request::Cancel);
            assert_eq!(receive.complete(-libc::ECANCELED, false), Next::Finish);
        });
        let watch = thread::spawn(move || assert_eq!(watch.complete_companion(1), Next::Finish));
        loom::future::block_on(std::future::poll_fn(|cx| match scene.cell.stop(cx) {
            Stop::Done => Poll::Ready(()),
            Stop::Wait => Poll::Pending,
            Stop::Ask => {
                scene.asked.push(Request::Cancel);
                Poll::Pending
            }
        }));
        assert_eq!(scene.cell.phase(), Phase::Stopped);
        assert_eq!(scene.cell.try_next().unwrap().unwrap().0, 7);
        receive.join().unwrap();
        watch.join().unwrap();
    });
}

/// A thread needs the buffers of results that were not fetched, while results arrive and are fetched: all are
/// fetched in order, and each buffer that was exchanged is given back once.
#[test]
fn model_copies_beside_results_and_who_fetches() {
    loom::model(|| {
        let scene = Scene::new();
        let (kernel, needy) = (scene.clone(), scene.clone());
        let kernel = thread::spawn(move || {
            kernel.asked.wait(Request::Start);
            let stopped = [1, 2].map(|number| kernel.complete(number, true) == Next::Stop);
            if stopped.contains(&true) {
                kernel.asked.wait(Request::Cancel);
                assert_eq!(kernel.complete(-libc::ECANCELED, false), Next::Finish);
                kernel.asked.wait(Request::Start);
            }
            assert_eq!(kernel.complete(0, false), Next::Finish);
        });
        let needy = thread::spawn(move || {
            needy.cell.copy_out();
        });
        assert_eq!(scene.fetch(), [1, 2]);
        kernel.join().unwrap();
        needy.join().unwrap();
        assert!((2..=4).contains(&scene.dropped.load(Ordering::Relaxed)));
    });
}

/// The same while the operation is abandoned: nothing is given back twice, and nothing is kept.
#[test]
fn model_copies_beside_one_who_goes() {
    loom::model(|| {
        let scene = Scene::new();
        scene.cell.run();
        assert_eq!(scene.complete(7, true), Next::Wait);
        let (needy, ring) = (scene.clone(), scene.clone());
        let needy = thread::spawn(move || needy.cell.copy_out());
        let ring = thread::spawn(move || {
            let _ = ring.complete(8, true);
            ring.cell.bury();
        });
        let left = scene.cell.abandon();
        needy.join().unwrap();
        ring.join().unwrap();
        assert!(left.operation);
        assert_eq!(scene.cell.pending(), 0);
        scene.cell.bury();
        assert!((2..=4).contains(&scene.dropped.load(Ordering::Relaxed)));
    });
}

/// A result that a task waits for stops nothing; an unfetched one stops the operation if the share is one.
#[test]
fn model_a_share_counts_what_nobody_waits_for() {
    loom::model(|| {
        let scene = Scene::new();
        let mut cx = Context::from_waker(Waker::noop());
        assert!(scene.poll_next(&mut cx).is_pending());
        assert_eq!(scene.complete(1, true), Next::Wait);
        assert_eq!(scene.complete(2, true), Next::Stop);
        assert_eq!(scene.complete(3, true), Next::Wait);
        assert_eq!(scene.cell.phase(), Phase::Stopping);
    });
}
