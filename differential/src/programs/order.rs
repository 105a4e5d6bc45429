//! The order in which a current-thread runtime runs what is ready.
//!
//! Tasks, of the runtime and of a `LocalSet`, go through random steps and write each one into one log, so that it shows
//! how they interleave. The clock is paused: nothing depends on how long anything takes.
//!
//! Programs do not look where Tokio itself is random: an unbiased `select!`, and whom a `watch` channel wakes first
//! of several (so does a `Barrier`). Nor do they drive a `LocalSet` from two places at once: Tokio then tells only one
//! of them. Nor at which poll out of 31 the runtime asks for tasks from outside, once it has slept: that depends on how
//! often it wakes up for nothing. Where threads spawn, tasks from outside go always first, or always last.

use super::tokio;
use crate::rng::Rng;
use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex as StdMutex};
use std::task::{Poll, Waker};
use tokio::runtime::{Handle, Runtime};
use tokio::sync::{Mutex, Notify, RwLock, Semaphore, broadcast, mpsc, oneshot, watch};
use tokio::task::{AbortHandle, JoinError, JoinHandle, JoinSet, LocalSet, coop};
use tokio::time::{self, Duration, Instant};

/// Tasks of one program, those of floods aside.
const MOST_TASKS: usize = 40;
/// Turns that the steps of one program take together, roughly.
const MOST_STEPS: usize = 400;

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What all tasks share.
struct World {
    seed: u64,
    /// Threads that do not drive the runtime spawn and wake.
    outside: bool,
    /// Tasks use their budgets up. What then waits for a lock, a permit or a place in a bounded channel gets it in Tokio,
    /// and keeps it while it pauses; a `JoinSet` forgets the order of what has ended; and a `Notified` takes no part in
    /// budgets. So nothing waits for these.
    exhausts: bool,
    start: Instant,
    log: StdMutex<Vec<String>>,
    tasks: AtomicUsize,
    steps: AtomicUsize,
    aborts: StdMutex<Vec<AbortHandle>>,
    /// Those that wait to be woken by hand, and whether they were.
    parked: StdMutex<Vec<(Waker, Arc<AtomicBool>)>>,
    mutexes: [Arc<Mutex<u32>>; 2],
    lock: Arc<RwLock<u32>>,
    semaphore: Arc<Semaphore>,
    notifies: [Notify; 2],
    queue: mpsc::Sender<u64>,
    queue_rx: Mutex<mpsc::Receiver<u64>>,
    endless: mpsc::UnboundedSender<u64>,
    endless_rx: Mutex<mpsc::UnboundedReceiver<u64>>,
    broadcast: broadcast::Sender<u64>,
    watch: watch::Sender<u64>,
    /// Somebody waits for the watch channel.
    is_watched: AtomicBool,
}

impl World {
    fn new(seed: u64, outside: bool, rng: &mut Rng) -> Arc<World> {
        let (queue, queue_rx) = mpsc::channel(1 + rng.below(3));
        let (endless, endless_rx) = mpsc::unbounded_channel();
        Arc::new(World {
            seed,
            outside,
            exhausts: rng.one_in(2),
            start: Instant::now(),
            log: StdMutex::default(),
            tasks: AtomicUsize::new(0),
            steps: AtomicUsize::new(0),
            aborts: StdMutex::default(),
            parked: StdMutex::default(),
            mutexes: Default::default(),
            lock: Arc::default(),
            semaphore: Arc::new(Semaphore::new(2)),
            notifies: Default::default(),
            queue,
            queue_rx: Mutex::new(queue_rx),
            endless,
            endless_rx: Mutex::new(endless_rx),
            broadcast: broadcast::channel(2).0,
            watch: watch::channel(0).0,
            is_watched: AtomicBool::new(false),
        })
    }

    fn say(&self, who: usize, what: impl std::fmt::Display) {
        // Outside of the runtime it is not its clock that is asked.
        let line = match Handle::try_current() {
            Ok(_) => format!("{:?} {who}: {what}", self.start.elapsed()),
            Err(_) => format!("outside {who}: {what}"),
        };
        self.log.lock().unwrap().push(line);
    }

    /// The number of a new task, if there may be one.
    fn another(&self) -> Option<usize> {
        let number = self.tasks.fetch_add(1, Ordering::Relaxed);
        (number < MOST_TASKS).then_some(number)
    }
}

/// Says when a task's future is dropped.
struct Life {
    number: usize,
    world: Arc<World>,
}

impl Drop for Life {
    fn drop(&mut self) {
        self.world.say(self.number, "gone");
    }
}

struct Task {
    /// Its name in the log.
    number: usize,
    rng: Rng,
    world: Arc<World>,
    /// It runs on a `LocalSet`, or polls one.
    local: bool,
    /// It must not wait for ever.
    main: bool,
    broadcast: broadcast::Receiver<u64>,
    children: Vec<JoinHandle<usize>>,
    _life: Life,
}

fn end<T: std::fmt::Debug>(result: Result<T, JoinError>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(error) if error.is_cancelled() => "cancelled".to_string(),
        Err(_) => "panicked".to_string(),
    }
}

pub fn run(seed: u64) -> Vec<String> {
    let mut rng = Rng::new(seed);
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().start_paused(true);
    let outside = rng.one_in(2);
    let mut intervals = (61, 31);
    if outside {
        intervals.1 = if rng.one_in(2) { 1 } else { 1_000_000 };
        builder.global_queue_interval(intervals.1);
    }
    if rng.one_in(6) {
        intervals.0 = 1 + rng.below(8) as u32;
        builder.event_interval(intervals.0);
    }
    let runtime = builder.build().expect("a runtime");
    let entered = runtime.enter();
    let world = World::new(seed, outside, &mut rng);
    drop(entered);
    world.say(999, format_args!("intervals {intervals:?}"));
    if !outside {
        first_polls(&mut rng, &world, &runtime);
    }
    let local = LocalSet::new();
    for phase in 0..1 + rng.below(3) {
        world.say(999, format_args!("phase {phase}"));
        between(&mut rng, &world, &runtime, &local);
        let panicked = std::panic::catch_unwind(AssertUnwindSafe(|| {
            block_on(&mut rng, &world, &runtime, &local);
        }));
        if panicked.is_err() {
            world.say(999, "panicked");
        }
    }
    between(&mut rng, &world, &runtime, &local);
    if rng.one_in(2) {
        world.say(999, "the set goes");
        drop(local);
        drop_runtime(&world, runtime);
    } else {
        drop_runtime(&world, runtime);
        world.say(999, "the set goes");
        drop(local);
    }
    world.say(999, "end");
    std::mem::take(&mut *world.log.lock().unwrap())
}

/// Drops the runtime. In which order Tokio drops the tasks that are left depends on their ids modulo 4, which count all
/// tasks of the process: so the log has them by their numbers.
fn drop_runtime(world: &World, runtime: Runtime) {
    world.say(999, "the runtime goes");
    let before = world.log.lock().unwrap().len();
    drop(runtime);
    world.log.lock().unwrap()[before..].sort();
}

/// The first polls of a runtime, before it has slept: every 31st is a task's from outside.
fn first_polls(rng: &mut Rng, world: &Arc<World>, runtime: &Runtime) {
    let tiny = |who: usize, n: usize| {
        let world = world.clone();
        async move {
            world.say(who, format_args!("first {n}"));
            if n % 3 == 0 {
                tokio::task::yield_now().await;
                world.say(who, format_args!("first {n} again"));
            }
        }
    };
    for n in 0..rng.below(8) {
        runtime.spawn(tiny(901, n));
    }
    runtime.block_on(async {
        for round in 0..rng.below(4) {
            for n in 0..rng.below(120) {
                tokio::spawn(tiny(902, n));
            }
            world.say(903, format_args!("round {round}"));
            tokio::task::yield_now().await;
        }
    });
}

/// What a program does while nobody drives the runtime.
fn between(rng: &mut Rng, world: &Arc<World>, runtime: &Runtime, local: &LocalSet) {
    for _ in 0..rng.below(4) {
        match rng.below(6) {
            0..3 | 4 if !world.outside => {}
            0..3 => {
                if let Some(task) = Task::new(world, false) {
                    world
                        .aborts
                        .lock()
                        .unwrap()
                        .push(runtime.spawn(task.run()).abort_handle());
                }
            }
            3 => {
                if let Some(task) = Task::new(world, true) {
                    let handle = local.spawn_local(task.run());
                    world.aborts.lock().unwrap().push(handle.abort_handle());
                }
            }
            4 => {
                let entered = runtime.enter();
                for n in 0..rng.below(40) {
                    let world = world.clone();
                    tokio::spawn(async move { world.say(900, n) });
                }
                drop(entered);
            }
            _ if !world.outside => {}
            _ => {
                world.notifies[0].notify_one();
                wake_parked(world, rng);
            }
        }
    }
}

fn block_on(rng: &mut Rng, world: &Arc<World>, runtime: &Runtime, local: &LocalSet) {
    let kind = rng.below(6);
    world.say(999, format_args!("kind {kind}"));
    let Some(mut task) = Task::new(world, (2..5).contains(&kind)) else {
        return;
    };
    task.main = true;
    let seed = rng.below(1_000_000) as u64;
    let on_the_set = |n: usize| {
        for _ in 0..n {
            if let Some(task) = Task::new(world, true) {
                local.spawn_local(task.run());
            }
        }
    };
    let number = match kind {
        0 | 1 => runtime.block_on(task.run()),
        2 => local.block_on(runtime, task.run()),
        3 => runtime.block_on(async {
            on_the_set(seed as usize % 4);
            let number = local.run_until(task.run()).await;
            world.say(999, "run until");
            tokio::task::yield_now().await;
            number
        }),
        4 => runtime.block_on(async {
            // A set inside of another one.
            let inner = LocalSet::new();
            on_the_set(seed as usize % 4);
            for _ in 0..seed % 3 {
                if let Some(task) = Task::new(world, true) {
                    inner.spawn_local(task.run());
                }
            }
            let number = local.run_until(inner.run_until(task.run())).await;
            world.say(999, "the inner set goes");
            number
        }),
        _ => runtime.block_on(async {
            // Beside other things.
            on_the_set(seed as usize % 4);
            let local = async {
                let until = Instant::now() + Duration::from_millis(seed % 6);
                local.run_until(time::sleep_until(until)).await;
            };
            let mut local = std::pin::pin!(local);
            let mut number = std::pin::pin!(task.run());
            tokio::select! {
                biased;
                number = &mut number => number,
                () = &mut local => {
                    world.say(999, "the set has had its time");
                    number.await
                }
            }
        }),
    };
    world.say(999, format_args!("{number} is ready"));
}

fn wake_parked(world: &World, rng: &mut Rng) {
    let mut parked = std::mem::take(&mut *world.parked.lock().unwrap());
    if rng.one_in(2) {
        parked.reverse();
    }
    for (waker, woken) in parked {
        woken.store(true, Ordering::Relaxed);
        waker.wake();
    }
}

impl Task {
    fn new(world: &Arc<World>, local: bool) -> Option<Task> {
        let number = world.another()?;
        Some(Task {
            number,
            rng: Rng::new(world.seed * 1_000 + number as u64 + 1),
            world: world.clone(),
            local,
            main: false,
            broadcast: world.broadcast.subscribe(),
            children: Vec::new(),
            _life: Life {
                number,
                world: world.clone(),
            },
        })
    }

    fn say(&self, what: impl std::fmt::Display) {
        self.world.say(self.number, what);
    }

    fn run(self) -> Boxed<usize> {
        let (world, number) = (self.world.clone(), self.number);
        let mut steps = self.steps();
        if !crate::LOG_POLLS.load(Ordering::Relaxed) {
            return steps;
        }
        Box::pin(poll_fn(move |cx| {
            world.say(number, "is polled");
            steps.as_mut().poll(cx)
        }))
    }

    fn steps(mut self) -> Boxed<usize> {
        Box::pin(async move {
            self.say("begins");
            for _ in 0..1 + self.rng.below(10) {
                if self.world.steps.fetch_add(1, Ordering::Relaxed) > MOST_STEPS {
                    break;
                }
                self.step().await;
            }
            self.say("ends");
            self.number
        })
    }

    async fn step(&mut self) {
        match self.rng.below(36) {
            0..3 => self.yields().await,
            3..8 => self.spawn(),
            8 => self.flood(),
            9 => self.act_outside(),
            10..12 => self.join().await,
            12..14 => self.abort(),
            14..17 => self.set().await,
            17..20 => self.tell(),
            20 => self.advance().await,
            21 => self.panic(),
            22 => self.interval().await,
            _ => {
                let op = self.op(2);
                let text = if self.main {
                    let limit = Duration::from_millis(1 + self.rng.below(12) as u64);
                    match time::timeout(limit, op).await {
                        Ok(text) => text,
                        Err(_) => "too long".to_string(),
                    }
                } else {
                    op.await
                };
                self.say(text);
            }
        }
    }

    async fn yields(&mut self) {
        for n in 0..1 + self.rng.below(4) {
            self.say(format_args!("yields {n}"));
            tokio::task::yield_now().await;
        }
    }

    fn start(&mut self) -> Option<JoinHandle<usize>> {
        let local = self.local && self.rng.one_in(2);
        let task = Task::new(&self.world, local)?;
        self.say(format_args!("spawns {}, local: {local}", task.number));
        let handle = match local {
            true => tokio::task::spawn_local(task.run()),
            false => tokio::spawn(task.run()),
        };
        self.world
            .aborts
            .lock()
            .unwrap()
            .push(handle.abort_handle());
        Some(handle)
    }

    fn spawn(&mut self) {
        for _ in 0..1 + self.rng.below(3) {
            let handle = self.start();
            if !self.rng.one_in(3) {
                self.children.extend(handle);
            }
        }
    }

    /// Many tiny tasks.
    fn flood(&mut self) {
        let local = self.local && self.rng.one_in(2);
        let yields = self.rng.one_in(3);
        self.say(format_args!("a flood, local: {local}"));
        for n in 0..10 + self.rng.below(90) {
            let (world, number) = (self.world.clone(), self.number);
            let tiny = async move {
                world.say(number, format_args!("tiny {n}"));
                if yields {
                    tokio::task::yield_now().await;
                    world.say(number, format_args!("tiny {n} again"));
                }
            };
            match local {
                true => drop(tokio::task::spawn_local(tiny)),
                false => drop(tokio::spawn(tiny)),
            }
        }
    }

    /// Spawns and wakes from another thread, which is over before this task goes on.
    fn act_outside(&mut self) {
        if !self.world.outside {
            return;
        }
        let handle = Handle::current();
        let tasks: Vec<Task> = (0..1 + self.rng.below(3))
            .filter_map(|_| Task::new(&self.world, false))
            .collect();
        let wakes = self.rng.one_in(2);
        self.say(format_args!("from outside: {}, {wakes}", tasks.len()));
        let mut rng = Rng::new(self.rng.below(1_000_000) as u64);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for task in tasks {
                    handle.spawn(task.run());
                }
                if wakes {
                    wake_parked(&self.world, &mut rng);
                }
            });
        });
    }

    async fn join(&mut self) {
        if self.children.is_empty() {
            return;
        }
        let at = self.rng.below(self.children.len());
        let child = self.children.swap_remove(at);
        let limit = Duration::from_millis(self.rng.below(20) as u64);
        let ended = match time::timeout(limit, child).await {
            Ok(ended) => end(ended),
            Err(_) => "still there".to_string(),
        };
        self.say(format_args!("joined {ended}"));
    }

    fn abort(&mut self) {
        let aborts = self.world.aborts.lock().unwrap();
        if aborts.is_empty() {
            return;
        }
        let at = self.rng.below(aborts.len());
        let abort = aborts[at].clone();
        drop(aborts);
        self.say(format_args!(
            "aborts {at}, finished: {}",
            abort.is_finished()
        ));
        abort.abort();
        if self.rng.one_in(3) {
            let n = self.children.len();
            self.say(format_args!("aborts its {n} children"));
            self.children.iter().for_each(JoinHandle::abort);
        }
    }

    /// Spawns into a set, waits for some, and lets go of the rest at once: a set that is kept wakes in Tokio whoever has
    /// joined a task of it last, also when that waits for something else.
    async fn set(&mut self) {
        if self.world.exhausts {
            return;
        }
        let mut set = JoinSet::new();
        for _ in 0..1 + self.rng.below(5) {
            let local = self.local && self.rng.one_in(2);
            if let Some(task) = Task::new(&self.world, local) {
                let number = task.number;
                self.say(format_args!("puts {number} into its set, local: {local}"));
                match local {
                    true => set.spawn_local(task.run()),
                    false => set.spawn(task.run()),
                };
            }
            if self.rng.one_in(4) {
                self.join_of(&mut set).await;
            }
        }
        for _ in 0..self.rng.below(5) {
            self.join_of(&mut set).await;
        }
        if self.rng.one_in(3) {
            self.say("aborts its set");
            set.abort_all();
            self.join_of(&mut set).await;
        }
        let joined = set.try_join_next().map(end);
        self.say(format_args!("drops its set: {joined:?}"));
    }

    async fn join_of(&mut self, set: &mut JoinSet<usize>) {
        let at = Instant::now() + Duration::from_millis(self.rng.below(8) as u64);
        let joined = match time::timeout_at(at, set.join_next()).await {
            Ok(Some(ended)) => end(ended),
            Ok(None) => "none".to_string(),
            Err(_) => "not yet".to_string(),
        };
        self.say(format_args!("of its set: {joined}"));
    }

    /// Does something that lets others go on.
    fn tell(&mut self) {
        let world = self.world.clone();
        let number = self.number as u64;
        match self.rng.below(12) {
            0 => world.notifies[0].notify_one(),
            1 => world.notifies[1].notify_one(),
            2 => world.notifies[0].notify_waiters(),
            3 => world.notifies[1].notify_last(),
            4 | 5 => {
                let sent = world.queue.try_send(number).is_ok();
                self.say(format_args!("sent: {sent}"));
            }
            6 => {
                for n in 0..1 + self.rng.below(3) as u64 {
                    let _ = world.endless.send(number * 10 + n);
                }
            }
            7 => drop(world.broadcast.send(number)),
            8 => drop(world.watch.send(number)),
            9 => {
                wake_parked(&world, &mut self.rng);
            }
            _ => {
                world.semaphore.add_permits(1);
            }
        }
        self.say("told");
    }

    async fn advance(&mut self) {
        let mut by = Duration::from_millis(self.rng.below(5) as u64);
        if self.rng.one_in(4) {
            by += Duration::from_micros(300);
        }
        self.say(format_args!("moves the clock by {by:?}"));
        time::advance(by).await;
        self.say("moved it");
    }

    fn panic(&mut self) {
        if self.rng.one_in(3) {
            self.say("panics");
            panic!("on purpose");
        }
    }

    async fn interval(&mut self) {
        let mut interval = time::interval(Duration::from_millis(1 + self.rng.below(3) as u64));
        for n in 0..1 + self.rng.below(4) {
            interval.tick().await;
            self.say(format_args!("tick {n}"));
        }
    }

    /// A future of some steps, with what to say at its end.
    fn op(&mut self, depth: usize) -> Boxed<String> {
        let world = self.world.clone();
        let number = self.number;
        let n = self.rng.below(4);
        let until = Instant::now() + Duration::from_millis(self.rng.below(7) as u64);
        let hold = self.hold();
        match self.rng.below(if depth == 0 { 22 } else { 30 }) {
            4..17 if world.exhausts => Box::pin(async move {
                hold.await;
                "held nothing".to_string()
            }),
            20 if !world.exhausts => Box::pin(async { "no sum".to_string() }),
            0 => Box::pin(async move {
                for _ in 0..n {
                    tokio::task::yield_now().await;
                }
                format!("yielded {n}")
            }),
            1 | 2 => Box::pin(async move {
                time::sleep_until(until).await;
                "slept".to_string()
            }),
            3 if n < 2 => Box::pin(async move {
                time::sleep(Duration::from_micros(700 * n as u64)).await;
                format!("slept {n}")
            }),
            3 => Box::pin(async move {
                let mut sleep = std::pin::pin!(time::sleep_until(until));
                let polled = poll_fn(|cx| Poll::Ready(sleep.as_mut().poll(cx))).await;
                world.say(number, polled.is_ready());
                // To an earlier time: one that is put off keeps its place in Tokio, until its former time has come, and
                // is then behind others of its new one. And not if it was short of budget: in Tokio a reset puts
                // into line what was not there.
                let earlier = until - Duration::from_millis(1);
                if polled.is_pending() && !world.exhausts {
                    sleep.as_mut().reset(earlier);
                }
                sleep.await;
                format!("slept until {:?}", earlier - world.start)
            }),
            4 | 5 => Box::pin(async move {
                world.notifies[n % 2].notified().await;
                "notified".to_string()
            }),
            6 | 7 => Box::pin(async move {
                let guard = world.mutexes[n % 2].clone().lock_owned().await;
                world.say(number, "locked");
                hold.await;
                drop(guard);
                "unlocked".to_string()
            }),
            8 => Box::pin(async move {
                let guard = world.lock.clone().read_owned().await;
                world.say(number, "reads");
                hold.await;
                drop(guard);
                "has read".to_string()
            }),
            9 => Box::pin(async move {
                let guard = world.lock.clone().write_owned().await;
                world.say(number, "writes");
                hold.await;
                drop(guard);
                "has written".to_string()
            }),
            10 | 11 => Box::pin(async move {
                let permits = 1 + n as u32 % 3;
                let Ok(permit) = world.semaphore.clone().acquire_many_owned(permits).await else {
                    return "closed".to_string();
                };
                world.say(number, format_args!("has {permits}"));
                hold.await;
                drop(permit);
                "gave them back".to_string()
            }),
            12 | 13 => Box::pin(async move {
                for _ in 0..n {
                    let sent = world.queue.send(number as u64).await.is_ok();
                    world.say(number, format_args!("sent: {sent}"));
                }
                "sent all".to_string()
            }),
            14 | 15 => Box::pin(async move {
                let mut queue = world.queue_rx.lock().await;
                let got = queue.recv().await;
                format!("received {got:?}")
            }),
            16 => Box::pin(async move {
                let mut queue = world.endless_rx.lock().await;
                let mut all = Vec::new();
                let count = queue.recv_many(&mut all, 3).await;
                format!("received {count}: {all:?}")
            }),
            17 => {
                let mut receiver = self.broadcast.resubscribe();
                Box::pin(async move { format!("heard {:?}", receiver.recv().await) })
            }
            18 => Box::pin(async move {
                if world.is_watched.swap(true, Ordering::Relaxed) {
                    return "watched already".to_string();
                }
                /// Lets the next one in, also if it is dropped.
                struct Over(Arc<World>);
                impl Drop for Over {
                    fn drop(&mut self) {
                        self.0.is_watched.store(false, Ordering::Relaxed);
                    }
                }
                let _over = Over(world.clone());
                let mut receiver = world.watch.subscribe();
                let changed = receiver.changed().await.is_ok();
                format!("saw {changed} {}", *receiver.borrow())
            }),
            19 if n < 2 => Box::pin(async move {
                let mut woken = false;
                poll_fn(|cx| {
                    if std::mem::replace(&mut woken, true) {
                        return Poll::Ready(());
                    }
                    cx.waker().wake_by_ref();
                    Poll::Pending
                })
                .await;
                "woke itself".to_string()
            }),
            19 => Box::pin(async move {
                let woken = Arc::new(AtomicBool::new(false));
                poll_fn(|cx| {
                    if woken.load(Ordering::Relaxed) {
                        return Poll::Ready(());
                    }
                    let parked = (cx.waker().clone(), woken.clone());
                    world.parked.lock().unwrap().push(parked);
                    Poll::Pending
                })
                .await;
                "was woken".to_string()
            }),
            20 => Box::pin(async move {
                // More than a budget.
                let queue = mpsc::unbounded_channel();
                for m in 0..150 * n {
                    let _ = queue.0.send(m);
                }
                let mut receiver = queue.1;
                let mut sum = 0;
                for m in 0..150 * n {
                    sum += receiver.recv().await.unwrap_or_default();
                    if m % 50 == 0 {
                        world.say(number, format_args!("at {m}"));
                    }
                }
                format!("sum {sum}")
            }),
            21 => Box::pin(async move {
                let (tx, rx) = oneshot::channel();
                tokio::spawn(async move {
                    hold.await;
                    let _ = tx.send(n);
                });
                format!("told {:?}", rx.await)
            }),
            // `join!` begins with another future at each poll. Tokio polls the main future more often than needed where
            // it drives a set, so it keeps to the order.
            22 | 23 if !self.main => {
                let (a, b, c) = (self.op(depth - 1), self.op(depth - 1), self.op(depth - 1));
                Box::pin(async move { format!("joined {:?}", tokio::join!(a, b, c)) })
            }
            22..25 => {
                let (a, b) = (self.op(depth - 1), self.op(depth - 1));
                Box::pin(async move { format!("joined in order {:?}", tokio::join!(biased; a, b)) })
            }
            25..28 => {
                let (a, b, c) = (self.op(depth - 1), self.op(depth - 1), self.op(depth - 1));
                Box::pin(async move {
                    tokio::select! {
                        biased;
                        a = a => format!("first: {a}"),
                        b = b => format!("second: {b}"),
                        c = c => format!("third: {c}"),
                    }
                })
            }
            28 => {
                let op = self.op(depth - 1);
                Box::pin(async move {
                    match time::timeout_at(until, op).await {
                        Ok(text) => text,
                        Err(_) => "too long".to_string(),
                    }
                })
            }
            _ => {
                let op = self.op(depth - 1);
                Box::pin(coop::unconstrained(op))
            }
        }
    }

    /// What is done while a lock is held.
    fn hold(&mut self) -> Boxed<()> {
        let n = self.rng.below(4);
        match self.rng.below(4) {
            0 => Box::pin(async {}),
            1 => Box::pin(async move {
                for _ in 0..n {
                    tokio::task::yield_now().await;
                }
            }),
            2 if self.world.exhausts => Box::pin(async move {
                for _ in 0..100 * n {
                    coop::consume_budget().await;
                }
            }),
            _ => Box::pin(async move { time::sleep(Duration::from_millis(n as u64)).await }),
        }
    }
}
