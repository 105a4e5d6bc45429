//! The races of a task's life, in every order (`ci/loom`).
//!
//! The tasks are real: cells from [`new`](super::new), run by [`Ready::run`], woken by their
//! own wakers. Only their owner is a small one with a locked queue. Loom sees two threads in the
//! future, the output or the join waker at once (they are its cells) and a leaked [`Probe`]; the
//! counters see a future or an output dropped twice, and a cell that is not freed exactly once.
//!
//! What loom does not see is a touch of memory after it was freed. AddressSanitizer does, on the
//! stress tests (`ci/asan`), and Miri on the unit tests (`ci/miri`).

use super::*;
use crate::sys::Mutex;
use loom::thread;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::panic::Location;
use std::pin::{Pin, pin};
use std::sync::Arc as StdArc;
// Bookkeeping of the models themselves: nothing is decided from it while threads run, so loom need
// not explore it.
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Waker};

/// Explores `f` with at most so many preemptions, unless the environment says otherwise.
pub(crate) fn explore(preemptions: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound.get_or_insert(preemptions);
    model.max_branches = 20_000;
    model.check(f);
}

/// An owner with one locked queue.
pub(crate) struct Depot {
    owner: Owner<Depot>,
    queue: Mutex<VecDeque<Ready>>,
    /// Cells allocated and not freed.
    cells: AtomicIsize,
}

impl Parent for Depot {
    type Whole = Depot;

    fn schedule(task: Woken<Depot>) {
        let depot = task.hold();
        depot.queue.lock().push_back(task.into_ready());
    }

    // Under the model every cell comes from the system, and is retained and released one by one.

    unsafe fn retain(depot: *const Depot) {
        // SAFETY: a depot outlives its tasks.
        unsafe { &*depot }.cells.fetch_add(1, SeqCst);
    }

    unsafe fn release(depot: *const Depot) {
        // SAFETY: as above.
        unsafe { &*depot }.cells.fetch_sub(1, SeqCst);
    }
}

// SAFETY: `make` takes only what is `Send`.
unsafe impl Roaming for Depot {}

/// How a step ended.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Idle,
    Requeued,
    Complete,
}

impl Depot {
    pub(crate) fn new() -> StdArc<Depot> {
        let depot = StdArc::new(Depot {
            owner: Owner::new(),
            queue: Mutex::new(VecDeque::new()),
            cells: AtomicIsize::new(0),
        });
        depot.owner.set_whole(&depot);
        depot
    }

    /// A task that is in no queue.
    #[track_caller]
    pub(crate) fn make<F>(&self, future: F) -> (Ready, JoinHandle<F::Output>)
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let origin = Origin::unnamed(Location::caller());
        // SAFETY: the future is `Send` and `'static`; the depot outlives it, since `finish` is
        // called on every one.
        unsafe { new(future, &self.owner, Source::System, Id::next(), origin) }
    }

    #[track_caller]
    fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (task, handle) = self.make(future);
        self.queue.lock().push_back(task);
        handle
    }

    /// Runs the oldest queued task once.
    fn step(&self) -> Option<Step> {
        let task = self.queue.lock().pop_front()?;
        Some(match task.run() {
            Ran::Idle => Step::Idle,
            Ran::Complete => Step::Complete,
            Ran::Requeue(task) => {
                self.queue.lock().push_back(task);
                Step::Requeued
            }
        })
    }

    /// Runs what is queued, and what that queues.
    fn drain(&self) {
        while self.step().is_some() {}
    }

    /// Everything must be over: no task queued, no cell left.
    pub(crate) fn finish(&self) {
        assert!(self.queue.lock().is_empty(), "a task is still queued");
        assert_eq!(
            self.cells.load(SeqCst),
            0,
            "cells not freed, or freed twice"
        );
    }
}

/// Counts its end. Loom reports it if it is leaked.
#[derive(Clone)]
struct Probe {
    drops: StdArc<AtomicUsize>,
    _leak: loom::sync::Arc<()>,
}

impl Probe {
    /// The probe and its counter.
    fn new() -> (Probe, StdArc<AtomicUsize>) {
        let drops = StdArc::new(AtomicUsize::new(0));
        let probe = Probe {
            drops: drops.clone(),
            _leak: loom::sync::Arc::new(()),
        };
        (probe, drops)
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.drops.fetch_add(1, SeqCst);
    }
}

/// Something to wait for, and the waker of who does.
#[derive(Clone)]
struct Event(StdArc<Mutex<(bool, Option<Waker>)>>);

impl Event {
    fn new() -> Event {
        Event(StdArc::new(Mutex::new((false, None))))
    }

    fn happen(&self) {
        let waker = {
            let mut event = self.0.lock();
            event.0 = true;
            event.1.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut event = self.0.lock();
        if event.0 {
            return Poll::Ready(());
        }
        event.1 = Some(cx.waker().clone());
        Poll::Pending
    }

    fn wait(&self) -> impl Future<Output = ()> + Send + use<> {
        let event = self.clone();
        poll_fn(move |cx| event.poll(cx))
    }

    /// The waker of who waits.
    fn waker(&self) -> Option<Waker> {
        self.0.lock().1.clone()
    }
}

/// A waker that counts.
struct Alarm(AtomicUsize);

impl std::task::Wake for Alarm {
    fn wake(self: StdArc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

impl Alarm {
    fn new() -> (StdArc<Alarm>, Waker) {
        let alarm = StdArc::new(Alarm(AtomicUsize::new(0)));
        (alarm.clone(), alarm.into())
    }

    fn rang(&self) -> usize {
        self.0.load(SeqCst)
    }
}

fn poll_handle<T>(handle: &mut JoinHandle<T>, waker: &Waker) -> Poll<Result<T, JoinError>> {
    Pin::new(handle).poll(&mut Context::from_waker(waker))
}

/// The result of a task that must be complete.
#[track_caller]
fn result<T>(mut handle: JoinHandle<T>) -> Result<T, JoinError> {
    match poll_handle(&mut handle, Waker::noop()) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("not complete"),
    }
}

#[test]
fn wake_vs_poll() {
    explore(4, || {
        let depot = Depot::new();
        let event = Event::new();
        let (probe, drops) = Probe::new();
        let wait = event.wait();
        let handle = depot.spawn(async move {
            wait.await;
            probe
        });
        let worker = {
            let depot = depot.clone();
            thread::spawn(move || depot.drain())
        };
        event.happen();
        worker.join().unwrap();
        // A wake-up that came too late for the worker has queued the task.
        depot.drain();
        drop(result(handle).unwrap());
        assert_eq!(drops.load(SeqCst), 1);
        depot.finish();
    });
}

/// By reference, from two threads, while a third one polls.
#[test]
fn two_wakes_vs_poll() {
    explore(3, || {
        let depot = Depot::new();
        let event = Event::new();
        let polls = StdArc::new(AtomicUsize::new(0));
        let (counted, registered) = (polls.clone(), event.clone());
        // Ready in the first poll that begins after both wakers were called.
        let handle = depot.spawn(poll_fn(move |cx| {
            counted.fetch_add(1, SeqCst);
            registered.poll(cx)
        }));
        assert_eq!(depot.step(), Some(Step::Idle));
        let waker = event.waker().unwrap();
        let wakers: Vec<_> = (0..2)
            .map(|_| {
                let waker = waker.clone();
                thread::spawn(move || waker.wake_by_ref())
            })
            .collect();
        depot.drain();
        for thread in wakers {
            thread.join().unwrap();
        }
        depot.drain();
        let polled = polls.load(SeqCst);
        assert!((2..=3).contains(&polled), "two wake-ups, {polled} polls");
        drop(waker);
        event.happen();
        depot.drain();
        result(handle).unwrap();
        depot.finish();
    });
}

/// The event happens between two wake-ups: the later one must lead to a poll that sees it.
#[test]
fn consuming_wake_vs_poll_vs_consuming_wake() {
    explore(3, || {
        let depot = Depot::new();
        let event = Event::new();
        let handle = depot.spawn(event.wait());
        assert_eq!(depot.step(), Some(Step::Idle));
        let early = event.waker().unwrap();
        let worker = {
            let depot = depot.clone();
            thread::spawn(move || depot.drain())
        };
        let happens = {
            let event = event.clone();
            thread::spawn(move || event.happen())
        };
        early.wake();
        worker.join().unwrap();
        happens.join().unwrap();
        depot.drain();
        result(handle).unwrap();
        depot.finish();
    });
}

/// What a plain store says and a wake-up announces is seen by a poll, also if the task was queued and
/// told already: a wake-up that only looks at the word can be overtaken by the poll it relies on.
#[test]
fn store_then_redundant_wake_vs_poll() {
    use crate::sys::atomic::{AtomicBool, Ordering};
    explore(3, || {
        let depot = Depot::new();
        let flag = StdArc::new(AtomicBool::new(false));
        let kept = StdArc::new(Mutex::new(None));
        let (seen, keep) = (flag.clone(), kept.clone());
        let handle = depot.spawn(poll_fn(move |cx| {
            keep.lock().get_or_insert_with(|| cx.waker().clone());
            match seen.load(Ordering::Acquire) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        }));
        assert_eq!(depot.step(), Some(Step::Idle));
        let waker: Waker = kept.lock().take().unwrap();
        // Queued, and told once more.
        waker.wake_by_ref();
        waker.wake_by_ref();
        let announcer = {
            let flag = flag.clone();
            thread::spawn(move || {
                flag.store(true, Ordering::Release);
                waker.wake_by_ref();
                drop(waker);
            })
        };
        depot.drain();
        announcer.join().unwrap();
        depot.drain();
        drop(kept.lock().take());
        result(handle).unwrap();
        depot.finish();
    });
}

#[test]
fn abort_vs_poll() {
    explore(4, || {
        let depot = Depot::new();
        let (probe, drops) = Probe::new();
        let mut polled = false;
        let handle = depot.spawn(poll_fn(move |cx| {
            let _probe = &probe;
            if std::mem::replace(&mut polled, true) {
                return Poll::Ready(7);
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        }));
        let worker = {
            let depot = depot.clone();
            thread::spawn(move || depot.drain())
        };
        handle.abort();
        worker.join().unwrap();
        depot.drain();
        assert_eq!(drops.load(SeqCst), 1);
        match result(handle) {
            Ok(seven) => assert_eq!(seven, 7),
            Err(error) => assert!(error.is_cancelled()),
        }
        depot.finish();
    });
}

/// Whoever comes first queues the idle task; it is queued once, and the abort completes it.
#[test]
fn abort_vs_wake_of_an_idle_task() {
    explore(4, || {
        let depot = Depot::new();
        let event = Event::new();
        let (probe, drops) = Probe::new();
        let wait = event.wait();
        let handle = depot.spawn(async move {
            let _probe = probe;
            wait.await;
            std::future::pending::<()>().await;
        });
        assert_eq!(depot.step(), Some(Step::Idle));
        let waker = {
            let event = event.clone();
            thread::spawn(move || event.happen())
        };
        let worker = {
            let depot = depot.clone();
            thread::spawn(move || depot.drain())
        };
        handle.abort();
        waker.join().unwrap();
        worker.join().unwrap();
        depot.drain();
        assert_eq!(drops.load(SeqCst), 1);
        assert!(result(handle).unwrap_err().is_cancelled());
        depot.finish();
    });
}

#[test]
fn two_aborts_of_an_idle_task_vs_its_handles_drop() {
    explore(4, || {
        let depot = Depot::new();
        let (probe, drops) = Probe::new();
        let handle = depot.spawn(async move {
            let _probe = probe;
            std::future::pending::<()>().await;
        });
        assert_eq!(depot.step(), Some(Step::Idle));
        let aborts: Vec<_> = (0..2)
            .map(|_| {
                let (abort, depot) = (handle.abort_handle(), depot.clone());
                thread::spawn(move || {
                    abort.abort();
                    depot.drain();
                })
            })
            .collect();
        drop(handle);
        for thread in aborts {
            thread.join().unwrap();
        }
        assert_eq!(drops.load(SeqCst), 1);
        depot.finish();
    });
}

/// A handle that was left pending has its latest waker woken.
#[test]
fn join_poll_vs_completion() {
    explore(4, || {
        let depot = Depot::new();
        let (probe, drops) = Probe::new();
        let mut handle = depot.spawn(async move { probe });
        let worker = {
            let depot = depot.clone();
            thread::spawn(move || depot.drain())
        };
        let (alarm, waker) = Alarm::new();
        match poll_handle(&mut handle, &waker) {
            Poll::Ready(output) => drop(output.unwrap()),
            Poll::Pending => {
                worker.join().unwrap();
                assert_eq!(alarm.rang(), 1, "nobody told the handle");
                drop(result(handle).unwrap());
                assert_eq!(drops.load(SeqCst), 1);
                return depot.finish();
            }
        }
        worker.join().unwrap();
        drop(handle);
        assert_eq!(drops.load(SeqCst), 1);
        depot.finish();
    });
}

#[test]
fn join_waker_replacement_vs_completion() {
    explore(4, || {
        let depot = Depot::new();
        let (probe, drops) = Probe::new();
        let mut handle = depot.spawn(async move { probe });
        let (first, first_waker) = Alarm::new();
        let (second, second_waker) = Alarm::new();
        assert!(poll_handle(&mut handle, &first_waker).is_pending());
        let worker = {
            let depot = depot.clone();
            thread::spawn(move || depot.drain())
        };
        let again = poll_handle(&mut handle, &second_waker);
        worker.join().unwrap();
        match again {
            Poll::Ready(output) => {
                assert_eq!(second.rang(), 0);
                drop(output.unwrap());
            }
            Poll::Pending => {
                assert_eq!((first.rang(), second.rang()), (0, 1));
                assert!(poll_handle(&mut handle, Waker::noop()).is_ready());
            }
        }
        drop(handle);
        // The slot is empty again: the wakers are gone with it.
        drop((first_waker, second_waker));
        assert_eq!(StdArc::strong_count(&first), 1);
        assert_eq!(StdArc::strong_count(&second), 1);
        assert_eq!(drops.load(SeqCst), 1);
        depot.finish();
    });
}

/// A poll with the same waker again takes the slot back and gives it away anew.
#[test]
fn same_join_waker_again_vs_completion() {
    explore(4, || {
        let depot = Depot::new();
        let mut handle = depot.spawn(async { 1 });
        let (alarm, waker) = Alarm::new();
        assert!(poll_handle(&mut handle, &waker).is_pending());
        let worker = {
            let depot = depot.clone();
            thread::spawn(move || depot.drain())
        };
        let again = poll_handle(&mut handle, &waker);
        worker.join().unwrap();
        if again.is_pending() {
            assert_eq!(alarm.rang(), 1);
            assert_eq!(result(handle).unwrap(), 1);
        } else {
            drop(handle);
        }
        depot.finish();
    });
}

#[test]
fn join_handle_drop_vs_completion() {
    for registered in [false, true] {
        explore(4, move || {
            let depot = Depot::new();
            let (probe, drops) = Probe::new();
            let mut handle = depot.spawn(async move { probe });
            let (alarm, waker) = Alarm::new();
            if registered {
                assert!(poll_handle(&mut handle, &waker).is_pending());
            }
            let worker = {
                let depot = depot.clone();
                thread::spawn(move || depot.drain())
            };
            drop(handle);
            worker.join().unwrap();
            assert_eq!(
                drops.load(SeqCst),
                1,
                "the output is dropped by one of the two"
            );
            drop(waker);
            assert_eq!(StdArc::strong_count(&alarm), 1, "the join waker is leaked");
            depot.finish();
        });
    }
}

/// Three references are given up at once: the task's own, the handle's and a waker's.
#[test]
fn last_waker_vs_completion_vs_handle() {
    for wake in [false, true] {
        explore(3, move || {
            let depot = Depot::new();
            let event = Event::new();
            let (probe, drops) = Probe::new();
            let wait = event.wait();
            let handle = depot.spawn(async move {
                wait.await;
                probe
            });
            assert_eq!(depot.step(), Some(Step::Idle));
            let waker = event.waker().unwrap();
            event.happen();
            let worker = {
                let depot = depot.clone();
                thread::spawn(move || depot.drain())
            };
            let outside = thread::spawn(move || match wake {
                true => waker.wake(),
                false => drop(waker),
            });
            drop(handle);
            worker.join().unwrap();
            outside.join().unwrap();
            assert_eq!(drops.load(SeqCst), 1);
            depot.finish();
        });
    }
}

/// The owner shuts down while the task is woken and run elsewhere.
#[test]
fn shutdown_vs_wake_vs_run() {
    explore(3, || {
        let depot = Depot::new();
        let event = Event::new();
        let (probe, drops) = Probe::new();
        let wait = event.wait();
        let handle = depot.spawn(async move {
            let _probe = probe;
            wait.await;
            std::future::pending::<()>().await;
        });
        assert_eq!(depot.step(), Some(Step::Idle));
        let closer = {
            let depot = depot.clone();
            thread::spawn(move || {
                for task in depot.owner.live_tasks() {
                    // SAFETY: the future is `Send`.
                    let _ = unsafe { task.shut_down() };
                }
            })
        };
        let worker = {
            let depot = depot.clone();
            thread::spawn(move || depot.drain())
        };
        event.happen();
        closer.join().unwrap();
        worker.join().unwrap();
        depot.drain();
        assert_eq!(drops.load(SeqCst), 1);
        assert!(result(handle).unwrap_err().is_cancelled());
        depot.finish();
    });
}

/// The walk over the live tasks meets one that completes and is freed.
#[test]
fn shutdown_walk_vs_completion_and_free() {
    explore(4, || {
        let depot = Depot::new();
        let (probe, drops) = Probe::new();
        drop(depot.spawn(async move {
            let _probe = probe;
        }));
        let worker = {
            let depot = depot.clone();
            thread::spawn(move || depot.drain())
        };
        for task in depot.owner.live_tasks() {
            // SAFETY: the future is `Send`.
            let _ = unsafe { task.shut_down() };
        }
        worker.join().unwrap();
        assert_eq!(drops.load(SeqCst), 1);
        depot.finish();
    });
}

/// Shutdown uncovers a shielded task, whatever it and its wakers do meanwhile.
#[test]
fn shutdown_vs_shield() {
    explore(3, || {
        let depot = Depot::new();
        let event = Event::new();
        let (probe, drops) = Probe::new();
        let wait = event.wait();
        let handle = depot.spawn(async move {
            let _probe = probe;
            shield(wait).await;
        });
        let worker = {
            let depot = depot.clone();
            thread::spawn(move || depot.drain())
        };
        for task in depot.owner.live_tasks() {
            // SAFETY: the future is `Send`.
            let _ = unsafe { task.shut_down() };
        }
        worker.join().unwrap();
        // A shield raised after the walk does not count.
        depot.drain();
        assert_eq!(drops.load(SeqCst), 1);
        assert!(result(handle).unwrap_err().is_cancelled());
        drop(event);
        depot.finish();
    });
}

/// A task made but refused by a closing owner, with an abort under way.
#[test]
fn refusal_vs_abort() {
    explore(4, || {
        let depot = Depot::new();
        let (probe, drops) = Probe::new();
        let (task, handle) = depot.make(async move {
            let _probe = probe;
        });
        let abort = handle.abort_handle();
        let outside = thread::spawn(move || abort.abort());
        task.refuse();
        assert!(result(handle).unwrap_err().is_cancelled());
        outside.join().unwrap();
        assert_eq!(drops.load(SeqCst), 1);
        depot.finish();
    });
}

/// An abort that meets the shielded part waits for its end, and takes effect after it.
#[test]
fn abort_vs_shield() {
    explore(3, || {
        let depot = Depot::new();
        let event = Event::new();
        let (probe, drops) = Probe::new();
        let wait = event.wait();
        let (begun, ended) = (
            StdArc::new(AtomicUsize::new(0)),
            StdArc::new(AtomicUsize::new(0)),
        );
        let (begins, ends) = (begun.clone(), ended.clone());
        let handle = depot.spawn(async move {
            let _probe = probe;
            shield(async move {
                begins.fetch_add(1, SeqCst);
                wait.await;
                ends.fetch_add(1, SeqCst);
            })
            .await;
            std::future::pending::<()>().await;
        });
        let worker = {
            let depot = depot.clone();
            thread::spawn(move || depot.drain())
        };
        let happens = {
            let event = event.clone();
            thread::spawn(move || event.happen())
        };
        handle.abort();
        worker.join().unwrap();
        happens.join().unwrap();
        depot.drain();
        assert_eq!(drops.load(SeqCst), 1);
        assert!(result(handle).unwrap_err().is_cancelled());
        assert_eq!(begun.load(SeqCst), ended.load(SeqCst), "cut short");
        depot.finish();
    });
}

/// The shield goes down in another thread than the idle task's, which must then be queued by
/// whoever comes second.
#[test]
fn abort_vs_shield_dropped_elsewhere() {
    explore(4, || {
        let depot = Depot::new();
        let (probe, drops) = Probe::new();
        type Shared = StdArc<Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>>;
        let inner: Shared = StdArc::new(Mutex::new(Some(Box::pin(shield(std::future::pending())))));
        let polled = inner.clone();
        let handle = depot.spawn(poll_fn(move |cx| {
            let _probe = &probe;
            match &mut *polled.lock() {
                Some(shielded) => shielded.as_mut().poll(cx),
                None => Poll::Pending,
            }
        }));
        assert_eq!(depot.step(), Some(Step::Idle));
        let dropper = thread::spawn(move || {
            let shielded = inner.lock().take();
            drop(shielded);
        });
        handle.abort();
        dropper.join().unwrap();
        depot.drain();
        assert_eq!(drops.load(SeqCst), 1);
        assert!(result(handle).unwrap_err().is_cancelled());
        depot.finish();
    });
}

/// Shields beyond those that the word counts go down elsewhere while the task raises another one: an
/// abort waits for that one, and for none that is gone.
#[test]
fn abort_vs_further_shields() {
    explore(3, || {
        let depot = Depot::new();
        let (probe, drops) = Probe::new();
        type Shielded = Pin<Box<dyn Future<Output = ()> + Send>>;
        let shielded = || -> Option<Shielded> { Some(Box::pin(shield(std::future::pending()))) };
        let slots = StdArc::new(Mutex::new([shielded(), shielded(), shielded()]));
        let polls = StdArc::new(AtomicUsize::new(0));
        let (polled, count) = (slots.clone(), polls.clone());
        let handle = depot.spawn(poll_fn(move |cx| {
            let _probe = &probe;
            // The first poll raises two, the second one more.
            let raised = 2 + count.fetch_add(1, SeqCst);
            for slot in polled.lock().iter_mut().take(raised).flatten() {
                assert!(slot.as_mut().poll(cx).is_pending());
            }
            if raised == 2 {
                cx.waker().wake_by_ref();
            }
            Poll::<()>::Pending
        }));
        assert_eq!(depot.step(), Some(Step::Requeued));
        let dropper = {
            let slots = slots.clone();
            thread::spawn(move || {
                for slot in [0, 1] {
                    let shielded = slots.lock()[slot].take();
                    drop(shielded);
                }
            })
        };
        handle.abort();
        depot.drain();
        dropper.join().unwrap();
        depot.drain();
        let third_is_up = polls.load(SeqCst) > 1;
        assert_eq!(drops.load(SeqCst), usize::from(!third_is_up));
        let third = slots.lock()[2].take();
        drop(third);
        depot.drain();
        assert_eq!(drops.load(SeqCst), 1);
        assert!(result(handle).unwrap_err().is_cancelled());
        depot.finish();
    });
}

/// A panic in the poll is the output; a wake-up under way does not get in its way.
#[test]
fn panic_vs_wake() {
    explore(4, || {
        let depot = Depot::new();
        let event = Event::new();
        let (probe, drops) = Probe::new();
        let wait = event.wait();
        let handle = depot.spawn(async move {
            let _probe = probe;
            wait.await;
            std::panic::resume_unwind(Box::new("no message, no backtrace"));
        });
        assert_eq!(depot.step(), Some(Step::Idle));
        let waker = event.waker().unwrap();
        event.happen();
        let worker = {
            let depot = depot.clone();
            thread::spawn(move || depot.drain())
        };
        waker.wake();
        worker.join().unwrap();
        depot.drain();
        assert_eq!(drops.load(SeqCst), 1);
        assert!(result(handle).unwrap_err().is_panic());
        depot.finish();
    });
}

/// One task waits for another through its handle: the wake-up crosses from completion to poll.
#[test]
fn task_joins_task() {
    explore(3, || {
        let depot = Depot::new();
        let (probe, drops) = Probe::new();
        let first = depot.spawn(async move { probe });
        let second = depot.spawn(async move { drop(first.await.unwrap()) });
        let worker = {
            let depot = depot.clone();
            thread::spawn(move || depot.drain())
        };
        depot.drain();
        worker.join().unwrap();
        depot.drain();
        result(second).unwrap();
        assert_eq!(drops.load(SeqCst), 1);
        depot.finish();
    });
}

/// A yield is a requeue, not an idle state: a wake-up meanwhile adds no second entry.
#[test]
fn yield_vs_wake() {
    explore(4, || {
        let depot = Depot::new();
        let slot = Event::new();
        let registered = slot.clone();
        let polls = StdArc::new(AtomicUsize::new(0));
        let counted = polls.clone();
        let handle = depot.spawn(async move {
            let mut yielding = pin!(yield_now());
            poll_fn(|cx| {
                counted.fetch_add(1, SeqCst);
                let _ = registered.poll(cx);
                yielding.as_mut().poll(cx)
            })
            .await;
        });
        let worker = {
            let depot = depot.clone();
            thread::spawn(move || depot.drain())
        };
        if let Some(waker) = slot.waker() {
            waker.wake();
        }
        worker.join().unwrap();
        depot.drain();
        assert_eq!(polls.load(SeqCst), 2);
        result(handle).unwrap();
        drop(slot);
        depot.finish();
    });
}

/// A coroutine's task: bound to its thread by its first poll, and dropped there, whatever the others do
/// meanwhile.
#[test]
fn pin_vs_wake_vs_shutdown() {
    struct Bound(thread::ThreadId);
    impl Drop for Bound {
        fn drop(&mut self) {
            assert_eq!(thread::current().id(), self.0, "dropped elsewhere");
        }
    }
    explore(3, || {
        let depot = Depot::new();
        let event = Event::new();
        let wait = event.wait();
        let handle = depot.spawn(async move {
            crate::context::with(|cx| {
                // SAFETY: the running task is alive.
                unsafe { cx.task.get().unwrap().as_ref() }.state.pin(0);
            });
            let _bound = Bound(thread::current().id());
            wait.await;
        });
        let closer = {
            let depot = depot.clone();
            thread::spawn(move || {
                for task in depot.owner.live_tasks() {
                    // SAFETY: it leaves a pinned task to its thread, and before the pin the future
                    // may be dropped anywhere.
                    let _ = unsafe { task.shut_down() };
                }
            })
        };
        let waker = thread::spawn(move || event.happen());
        depot.drain();
        closer.join().unwrap();
        waker.join().unwrap();
        depot.drain();
        // Woken first, it may have come to its end.
        if let Err(error) = result(handle) {
            assert!(error.is_cancelled());
        }
        depot.finish();
    });
}
