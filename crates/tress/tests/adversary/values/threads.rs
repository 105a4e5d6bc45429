//! Tasks that three threads poll, abort, wake and let go of at once, with wakers and values that misbehave, while
//! a fourth may end the runtime.

use super::mischief::{Dice, Value, bad_waker, caught};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use tress::runtime::{Builder, Handle, Runtime};
use tress::task::{AbortHandle, JoinHandle, JoinSet};

const TASKS: usize = 24;

/// The wakers that the tasks have been polled with.
type Wakers = Mutex<Vec<Waker>>;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Needs no runtime, which may be gone.
fn wait_for<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// A task that waits so many times to be woken by somebody.
fn spawn(handle: &Handle, dice: &Arc<Dice>, wakers: &Arc<Wakers>) -> JoinHandle<Value> {
    let (dice, wakers) = (dice.clone(), wakers.clone());
    let (value, mut turns) = (Value::new(&dice), dice.below(4));
    handle.spawn(async move {
        poll_fn(|cx| {
            wakers.lock().unwrap().push(cx.waker().clone());
            dice.mischief();
            turns = turns.saturating_sub(1);
            match turns {
                0 => Poll::Ready(()),
                _ => Poll::Pending,
            }
        })
        .await;
        value
    })
}

/// Polls with bad wakers, then lets go of the handle or waits for the end.
fn join(dice: &Arc<Dice>, tasks: Vec<JoinHandle<Value>>) {
    for mut task in tasks {
        let mut over = false;
        for _ in 0..dice.below(4) {
            if over {
                break;
            }
            let waker = bad_waker(dice);
            let mut cx = Context::from_waker(&waker);
            let polled = caught(|| pin!(&mut task).poll(&mut cx));
            over = polled.as_ref().is_some_and(Poll::is_ready);
            caught(|| drop(polled));
            caught(|| drop(waker));
        }
        if !over && dice.below(2) == 0 {
            caught(|| drop(wait_for(&mut task)));
        }
        caught(|| drop(task));
    }
}

fn abort(dice: &Dice, tasks: Vec<AbortHandle>) {
    for task in tasks {
        if dice.below(4) == 0 {
            thread::yield_now();
        }
        let other = task.clone();
        task.abort();
        drop(task);
        other.abort();
    }
}

fn wake(dice: &Dice, wakers: &Wakers) {
    for _ in 0..TASKS * 2 {
        let waker = wakers.lock().unwrap().pop();
        match (waker, dice.below(4)) {
            (None, _) => thread::yield_now(),
            (Some(waker), 0) => drop(waker),
            (Some(waker), 1) => waker.wake(),
            (Some(waker), 2) => {
                let other = waker.clone();
                drop(waker);
                other.wake();
            }
            (Some(waker), _) => waker.wake_by_ref(),
        }
    }
}

pub fn run(seed: u64) {
    let dice = Dice::new(seed);
    let life = Arc::new(());
    let held = life.clone();
    let rt = Builder::new_multi_thread()
        .worker_threads(2)
        .on_thread_start(move || drop(held.clone()))
        .build()
        .unwrap();
    let handle = rt.handle().clone();
    let mut rt = Some(rt);
    let (reentered, values) = (handle.clone(), Arc::downgrade(&dice));
    dice.set_reenter(move |_| {
        if let Some(dice) = values.upgrade() {
            let value = Value::new(&dice);
            drop(reentered.spawn(async move { value }));
        }
    });
    let wakers = Arc::<Wakers>::default();
    let tasks: Vec<_> = (0..TASKS).map(|_| spawn(&handle, &dice, &wakers)).collect();
    let aborts = tasks.iter().map(JoinHandle::abort_handle).collect();
    let mut set = JoinSet::new();
    for _ in 0..4 {
        let value = Value::new(&dice);
        set.spawn_on(async move { value }, &handle);
    }
    drop(handle);
    let start = Barrier::new(4);
    thread::scope(|scope| {
        let (dice, wakers, start) = (&dice, &wakers, &start);
        scope.spawn(move || {
            start.wait();
            join(dice, tasks);
        });
        scope.spawn(move || {
            start.wait();
            abort(dice, aborts);
            caught(|| drop(set));
        });
        scope.spawn(move || {
            start.wait();
            wake(dice, wakers);
        });
        start.wait();
        // The others go on, whether there is a runtime or not.
        match seed % 3 {
            0 => drop(rt.take()),
            1 => rt.take().into_iter().for_each(Runtime::shutdown_background),
            _ => {}
        }
    });
    drop(rt);
    dice.calm_down();
    wakers.lock().unwrap().clear();
    drop(wakers);
    // Workers that were left alone may still be at it.
    while !dice.alive().is_empty() {
        thread::yield_now();
    }
    assert_eq!(dice.twice.load(Ordering::Relaxed), 0, "dropped twice");
    drop(dice);
    while Arc::strong_count(&life) > 1 {
        thread::yield_now();
    }
}
