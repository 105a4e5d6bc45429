//! A random program.

use super::mischief::{Dice, Good, bad_waker, caught};
use super::world::{KIND, Waiting, World};
use std::future::poll_fn;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;
use std::time::Duration;
use tress::runtime::{Builder, Handle, Runtime};
use tress::task::LocalSet;

const STEPS: usize = 80;
const MOST: usize = 12;

/// Something that waits, and who it was last told to wake.
struct Slot {
    future: Waiting,
    /// It may be polled again after a panic.
    again: bool,
    /// For people.
    what: &'static str,
    /// None: a bad waker, or nobody yet.
    good: Option<Arc<Good>>,
}

fn runtime(seed: u64, life: Arc<()>) -> Runtime {
    let mut builder = match seed % 3 {
        0 => Builder::new_current_thread(),
        n => {
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(n as usize);
            builder
        }
    };
    let hook = move || drop(life.clone());
    builder.on_thread_start(hook).enable_time().build().unwrap()
}

/// What was not ready when it was last looked at.
static PENDING: Mutex<Vec<&str>> = Mutex::new(Vec::new());

/// How long a program may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Ends the process, and says what the runtime does, if the program does not end in time.
struct Watch {
    next: mpsc::Sender<()>,
    thread: JoinHandle<()>,
}

impl Watch {
    fn start(handle: Handle) -> Watch {
        let (next, ended) = mpsc::channel();
        let watch = move || {
            let late = Err(mpsc::RecvTimeoutError::Timeout);
            if ended.recv_timeout(PATIENCE) == late {
                eprintln!("hangs, waiting for {:?}", PENDING.lock().unwrap());
                let dumped = handle.debug_dump(&mut std::io::stderr());
                eprintln!("{dumped:?}");
                std::process::exit(1);
            }
            drop(handle);
            if ended.recv_timeout(PATIENCE) == late {
                eprintln!("the runtime is gone, but not all that it had");
                std::process::exit(1);
            }
        };
        let thread = std::thread::spawn(watch);
        Watch { next, thread }
    }

    /// The next part begins.
    fn go_on(&self) {
        self.next.send(()).unwrap();
    }

    fn stop(self) {
        self.go_on();
        self.thread.join().unwrap();
    }
}

pub fn run(seed: u64) {
    let dice = Dice::new(seed);
    // The runtime has it for as long as it lives.
    let life = Arc::new(());
    let rt = runtime(seed, life.clone());
    let watch = Watch::start(rt.handle().clone());
    let world = World::new(&dice, rt.handle().clone());
    let weak = Arc::downgrade(&world);
    dice.set_reenter(move |roll| {
        if let Some(world) = weak.upgrade() {
            world.act(roll);
        }
    });
    let mut slots = Vec::new();
    {
        let _entered = rt.enter();
        for _ in 0..STEPS {
            step(&world, &mut slots);
        }
        for at in (0..slots.len()).rev() {
            let good = Some(Arc::default());
            if dice.below(4) > 0 && is_over(poll(&dice, &mut slots[at], good)) {
                let slot = slots.swap_remove(at);
                caught(|| drop(slot));
            }
        }
    }
    let local = LocalSet::new();
    for _ in 0..dice.below(4) {
        if let Some(wait) = caught(|| world.wait(1)) {
            drop(local.spawn_local(wait));
        }
    }
    // A current-thread runtime has run nothing yet.
    caught(|| {
        rt.block_on(local.run_until(async {
            for _ in 0..dice.below(20) {
                caught(|| world.act(dice.roll()));
                tress::task::yield_now().await;
            }
        }));
    });
    caught(|| drop(local));
    rt.block_on(async {
        for _ in 0..dice.below(40) {
            caught(|| world.act(dice.roll()));
            tress::task::yield_now().await;
        }
        let letting_go = tress::spawn(world.clone().let_go());
        resolve(&dice, slots).await;
        // What was detached may hold something.
        while Arc::strong_count(&world) > 2 {
            tress::task::yield_now().await;
        }
        dice.calm_down();
        letting_go.abort();
        assert!(letting_go.await.unwrap_err().is_cancelled());
    });
    rt.block_on(world.check());
    drop(world);
    drop(rt);
    assert_eq!(dice.twice.load(Ordering::Relaxed), 0, "dropped twice");
    let alive = dice.alive();
    assert!(alive.is_empty(), "values leaked: {alive:#?}");
    drop(dice);
    // Nothing keeps the runtime; other threads may have it for a moment.
    watch.go_on();
    while Arc::strong_count(&life) > 1 {
        std::thread::yield_now();
    }
    watch.stop();
}

fn step(world: &Arc<World>, slots: &mut Vec<Slot>) {
    let dice = &world.dice;
    match dice.below(8) {
        0 | 1 if slots.len() < MOST => {
            let again = dice.below(2) == 0;
            let made = caught(|| match again {
                true => world.wait_again(),
                false => world.wait(0),
            });
            if let Some(future) = made {
                let good = None;
                let what = if again { KIND.get() } else { "something" };
                slots.push(Slot {
                    future,
                    again,
                    what,
                    good,
                });
            }
        }
        2 | 3 if !slots.is_empty() => {
            let at = dice.below(slots.len());
            let good = (dice.below(3) == 0).then(Arc::default);
            if is_over(poll(dice, &mut slots[at], good)) {
                let slot = slots.swap_remove(at);
                caught(|| drop(slot));
            }
        }
        4 if !slots.is_empty() => {
            let slot = slots.swap_remove(dice.below(slots.len()));
            caught(|| drop(slot));
        }
        _ => drop(caught(|| world.act(dice.roll()))),
    }
}

/// None if it panicked: it must not be polled again.
fn poll(dice: &Arc<Dice>, slot: &mut Slot, good: Option<Arc<Good>>) -> Option<Poll<()>> {
    let waker = match &good {
        Some(good) => Waker::from(good.clone()),
        None => bad_waker(dice),
    };
    slot.good = good;
    let polled = caught(|| slot.future.as_mut().poll(&mut Context::from_waker(&waker)));
    caught(|| drop(waker));
    if polled.is_none() && slot.again {
        // Whom it would wake is not known.
        slot.good = None;
        return Some(Poll::Pending);
    }
    polled
}

fn is_over(polled: Option<Poll<()>>) -> bool {
    polled.is_none_or(|polled| polled.is_ready())
}

/// Polls each until it is ready, but not before the waker that it was given has been woken.
async fn resolve(dice: &Arc<Dice>, slots: Vec<Slot>) {
    let mut slots: Vec<_> = slots.into_iter().map(Some).collect();
    poll_fn(|cx| {
        for place in &mut slots {
            while let Some(slot) = place {
                if let Some(good) = &slot.good {
                    good.pass_on_to(cx.waker());
                    if !good.take() {
                        break;
                    }
                }
                if is_over(poll(dice, slot, Some(Arc::default()))) {
                    let slot = place.take();
                    caught(|| drop(slot));
                }
            }
        }
        *PENDING.lock().unwrap() = slots.iter().flatten().map(|slot| slot.what).collect();
        match slots.iter().all(Option::is_none) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
}
