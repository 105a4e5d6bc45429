//! Several tasks, which wait for each other, for time, and for tasks of their own.
//!
//! Which of two tasks that are ready at the same moment runs first is nobody's promise. So each task acts
//! at moments of its own: its number is the moment modulo [`TASKS`] milliseconds, also for whatever limits
//! its waits. What another one's act lets it go on with, it only writes down.

use super::tokio;
use crate::rng::Rng;
use std::cell::Cell;
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::{Arc, Mutex as StdMutex};
use tokio::sync::{
    Mutex, Notify, OwnedMutexGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard,
    OwnedSemaphorePermit, RwLock, Semaphore, broadcast, mpsc, oneshot, watch,
};
use tokio::task::{AbortHandle, JoinError, JoinHandle, JoinSet, LocalSet};
use tokio::time::{self, Duration, Instant};

/// Moments in a round.
const TASKS: u64 = 8;

tokio::task_local! {
    static LOCAL: Cell<u32>;
}

/// The ends of a oneshot channel that are still to be had.
type Pair = (Option<oneshot::Sender<u64>>, Option<oneshot::Receiver<u64>>);

/// What all tasks share.
struct Shared {
    start: Instant,
    logs: StdMutex<Vec<Vec<String>>>,
    aborts: StdMutex<Vec<AbortHandle>>,
    mutex: Arc<Mutex<u32>>,
    lock: Arc<RwLock<u32>>,
    semaphore: Arc<Semaphore>,
    notify: Notify,
    queue: mpsc::Sender<u64>,
    queue_rx: Mutex<mpsc::Receiver<u64>>,
    watch: watch::Sender<u64>,
    broadcast: broadcast::Sender<u64>,
    /// The last one that was made, by anybody.
    oneshot: StdMutex<Pair>,
}

#[expect(dead_code, reason = "held")]
enum Held {
    Mutex(OwnedMutexGuard<u32>),
    Read(OwnedRwLockReadGuard<u32>),
    Write(OwnedRwLockWriteGuard<u32>),
    Permit(OwnedSemaphorePermit),
}

pub fn run(seed: u64) -> Vec<String> {
    let mut rng = Rng::new(seed);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    let (queue, queue_rx) = mpsc::channel(1 + rng.below(2));
    let tasks = 2 + rng.below(4);
    let local = rng.one_in(2).then(LocalSet::new);
    let program = async {
        let shared = Arc::new(Shared {
            start: Instant::now(),
            logs: StdMutex::new(vec![Vec::new(); tasks]),
            aborts: StdMutex::default(),
            mutex: Arc::default(),
            lock: Arc::default(),
            semaphore: Arc::new(Semaphore::new(2)),
            notify: Notify::new(),
            queue,
            queue_rx: Mutex::new(queue_rx),
            watch: watch::channel(0).0,
            broadcast: broadcast::channel(2).0,
            oneshot: StdMutex::default(),
        });
        let mut handles = Vec::new();
        for number in 0..tasks {
            let rng = Rng::new(seed * 100 + number as u64 + 1);
            let task = Task::new(number, rng, shared.clone()).run();
            let handle = match &local {
                // The future is the same: what differs is who runs it.
                Some(local) => local.spawn_local(task),
                None => tokio::spawn(task),
            };
            shared.aborts.lock().unwrap().push(handle.abort_handle());
            handles.push(handle);
        }
        let ends = async {
            let mut ends = Vec::new();
            for handle in handles {
                ends.push(end(handle.await));
            }
            ends
        };
        let ends = match &local {
            Some(local) => local.run_until(ends).await,
            None => ends.await,
        };
        let logs = std::mem::take(&mut *shared.logs.lock().unwrap());
        let mut log = Vec::new();
        for (number, lines) in logs.into_iter().enumerate() {
            log.extend(
                lines
                    .into_iter()
                    .map(|line| format!("task {number} {line}")),
            );
        }
        log.push(format!("ends: {ends:?}"));
        log
    };
    let log = runtime.block_on(program);
    drop(local);
    log
}

/// How a task ended, in words that are not the crates' own.
fn end<T: std::fmt::Debug>(result: Result<T, JoinError>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(error) if error.is_cancelled() => "cancelled".to_string(),
        Err(_) => "panicked".to_string(),
    }
}

struct Task {
    number: usize,
    rng: Rng,
    shared: Arc<Shared>,
    held: Vec<Held>,
    children: JoinSet<u64>,
    child: Option<JoinHandle<u64>>,
    watch: watch::Receiver<u64>,
    broadcast: broadcast::Receiver<u64>,
}

impl Task {
    fn new(number: usize, rng: Rng, shared: Arc<Shared>) -> Task {
        Task {
            number,
            rng,
            held: Vec::new(),
            children: JoinSet::new(),
            child: None,
            watch: shared.watch.subscribe(),
            broadcast: shared.broadcast.subscribe(),
            shared,
        }
    }

    fn say(&self, what: impl std::fmt::Display) {
        let at = self.shared.start.elapsed();
        let line = format!("{at:?}: {what}");
        self.shared.logs.lock().unwrap()[self.number].push(line);
    }

    /// Whole rounds: what ends after them ends at a moment of this task.
    fn rounds(&mut self) -> Duration {
        Duration::from_millis(TASKS * (1 + self.rng.below(6) as u64))
    }

    /// The next moment that is this task's.
    fn next_moment(&self) -> Instant {
        let now = self.shared.start.elapsed().as_millis() as u64;
        let own = self.number as u64;
        let mut next = now - now % TASKS + own;
        if next <= now {
            next += TASKS;
        }
        self.shared.start + Duration::from_millis(next)
    }

    /// Waits, but not for ever.
    async fn limited<F: Future>(&mut self, what: &str, future: F) -> Option<F::Output> {
        let limit = self.rounds();
        match time::timeout(limit, future).await {
            Ok(output) => Some(output),
            Err(_) => {
                self.say(format_args!("{what}: nothing in {limit:?}"));
                None
            }
        }
    }

    async fn run(mut self) -> u64 {
        let steps = 3 + self.rng.below(14);
        for _ in 0..steps {
            time::sleep_until(self.next_moment()).await;
            match self.rng.below(30) {
                0..4 => self.lock().await,
                4..7 => self.acquire().await,
                7..9 => self.notify().await,
                9..13 => self.talk().await,
                13..20 => self.children().await,
                20..22 => self.child().await,
                22..25 => self.select().await,
                25 => self.local().await,
                26 => {
                    let other = {
                        let aborts = self.shared.aborts.lock().unwrap();
                        aborts[self.rng.below(aborts.len())].clone()
                    };
                    // Seldom: a program without tasks does little.
                    if self.rng.one_in(3) {
                        self.say("abort another");
                        other.abort();
                    }
                }
                _ => {
                    let held = self.held.pop().is_some();
                    self.say(format_args!("let go: {held}"));
                }
            }
        }
        self.say("done");
        steps as u64
    }

    async fn lock(&mut self) {
        match self.rng.below(3) {
            0 => {
                let lock = self.shared.mutex.clone().lock_owned();
                if let Some(mut guard) = self.limited("lock", lock).await {
                    *guard += 1;
                    self.say(format_args!("locked: {}", *guard));
                    self.held.push(Held::Mutex(guard));
                }
            }
            1 => {
                let lock = self.shared.lock.clone().read_owned();
                if let Some(guard) = self.limited("read", lock).await {
                    self.say(format_args!("read: {}", *guard));
                    self.held.push(Held::Read(guard));
                }
            }
            _ => {
                let lock = self.shared.lock.clone().write_owned();
                if let Some(mut guard) = self.limited("write", lock).await {
                    *guard += 1;
                    self.say(format_args!("write: {}", *guard));
                    self.held.push(Held::Write(guard));
                }
            }
        }
    }

    async fn acquire(&mut self) {
        let n = 1 + self.rng.below(2) as u32;
        let acquire = self.shared.semaphore.clone().acquire_many_owned(n);
        if let Some(permit) = self.limited("acquire", acquire).await {
            self.say(format_args!("acquire {n}: {}", permit.is_ok()));
            self.held.extend(permit.ok().map(Held::Permit));
        }
    }

    async fn notify(&mut self) {
        let shared = self.shared.clone();
        match self.rng.below(5) {
            0..3 => {
                if self
                    .limited("notified", shared.notify.notified())
                    .await
                    .is_some()
                {
                    self.say("notified");
                }
            }
            3 => {
                shared.notify.notify_one();
                self.say("notify one");
            }
            _ => {
                shared.notify.notify_waiters();
                self.say("notify waiters");
            }
        }
    }

    async fn talk(&mut self) {
        let shared = self.shared.clone();
        let value = self.rng.below(1_000) as u64;
        match self.rng.below(11) {
            0 | 1 => {
                if let Some(sent) = self.limited("send", shared.queue.send(value)).await {
                    self.say(format_args!("send {value}: {}", sent.is_ok()));
                }
            }
            2 | 3 => {
                let Ok(mut receiver) = shared.queue_rx.try_lock() else {
                    return self.say("somebody else receives");
                };
                if let Some(value) = self.limited("recv", receiver.recv()).await {
                    self.say(format_args!("recv: {value:?}"));
                }
            }
            4 => {
                shared.watch.send_replace(value);
                self.say(format_args!("show {value}"));
            }
            5 => {
                let mut watch = self.watch.clone();
                if let Some(changed) = self.limited("changed", watch.changed()).await {
                    let value = *watch.borrow_and_update();
                    self.say(format_args!("changed: {} {value}", changed.is_ok()));
                }
                self.watch = watch;
            }
            6 | 7 => {
                let receivers = shared.broadcast.send(value).unwrap_or(0);
                self.say(format_args!("tell {receivers} of {value}"));
            }
            8 => {
                let again = self.broadcast.resubscribe();
                let mut broadcast = std::mem::replace(&mut self.broadcast, again);
                if let Some(heard) = self.limited("hear", broadcast.recv()).await {
                    self.say(format_args!("hear {:?}", heard.ok()));
                }
                self.broadcast = broadcast;
            }
            9 => {
                let sender = shared.oneshot.lock().unwrap().0.take();
                let sent = sender.map(|sender| sender.send(value).is_ok());
                self.say(format_args!("answer {value}: {sent:?}"));
            }
            _ => {
                let (sender, receiver) = oneshot::channel();
                let former = {
                    let mut last = shared.oneshot.lock().unwrap();
                    std::mem::replace(&mut *last, (Some(sender), Some(receiver)))
                };
                // Whoever asked before gets no answer.
                drop(former);
                let receiver = shared.oneshot.lock().unwrap().1.take();
                if let Some(receiver) = receiver {
                    if let Some(answer) = self.limited("ask", receiver).await {
                        self.say(format_args!("answer: {:?}", answer.ok()));
                    }
                }
            }
        }
    }

    /// A task that ends at a moment of this one's, or never.
    fn child_future(&mut self) -> Pin<Box<dyn Future<Output = u64> + Send>> {
        let (rounds, value) = (self.rounds(), self.rng.below(1_000) as u64);
        match self.rng.below(6) {
            0 => Box::pin(pending()),
            1 => Box::pin(async move {
                time::sleep(rounds).await;
                panic!("a child that panics");
            }),
            2 => Box::pin(async move {
                for _ in 0..value % 4 {
                    tokio::task::yield_now().await;
                }
                value
            }),
            3 => Box::pin(async move {
                let outer = rounds + Duration::from_millis(TASKS / 2 * TASKS);
                let inner = time::timeout(outer, time::sleep(rounds));
                u64::from(inner.await.is_ok())
            }),
            _ => Box::pin(async move {
                time::sleep(rounds).await;
                value
            }),
        }
    }

    async fn children(&mut self) {
        match self.rng.below(10) {
            0..4 => {
                let child = self.child_future();
                // Children that end at the same moment end in an order that nobody promises.
                if self.children.is_empty() || self.rng.one_in(3) {
                    self.children.spawn(child);
                }
                self.say(format_args!("{} children", self.children.len()));
            }
            4..7 => {
                let mut children = std::mem::take(&mut self.children);
                if let Some(child) = self.limited("join", children.join_next()).await {
                    self.say(format_args!("joined: {:?}", child.map(end)));
                }
                self.children = children;
            }
            7 => {
                let mut ends = Vec::new();
                while let Some(child) = self.children.try_join_next() {
                    ends.push(end(child));
                }
                ends.sort();
                self.say(format_args!("joined at once: {ends:?}"));
            }
            8 => {
                self.children.abort_all();
                self.say("abort all children");
            }
            _ => {
                self.children.shutdown().await;
                self.say(format_args!("{} children are left", self.children.len()));
            }
        }
    }

    async fn child(&mut self) {
        match self.child.take() {
            None => {
                let child = self.child_future();
                self.child = Some(tokio::spawn(child));
                self.say("spawn");
            }
            Some(mut child) => {
                if self.rng.one_in(2) {
                    child.abort();
                    self.say("abort");
                }
                if let Some(result) = self.limited("await", &mut child).await {
                    self.say(format_args!("end: {}", end(result)));
                } else {
                    self.child = Some(child);
                }
            }
        }
    }

    async fn select(&mut self) {
        let shared = self.shared.clone();
        let (first, second) = (self.rounds(), self.rounds());
        let (wanted, also) = (self.rng.one_in(2), self.rng.one_in(2));
        let text = tokio::select! {
            biased;
            () = shared.notify.notified(), if wanted => "notified".to_string(),
            () = time::sleep(first), if also => "first".to_string(),
            result = time::timeout(second, shared.semaphore.acquire()) => match result {
                Ok(permit) => format!("permit: {}", permit.is_ok()),
                Err(_) => "no permit".to_string(),
            },
        };
        self.say(format_args!("select: {text}"));
        let always = self.rng.one_in(2);
        let never = always && self.rng.one_in(2);
        let text = tokio::select! {
            () = pending::<()>(), if never => "never",
            Some(()) = async { None::<()> } => "a pattern that does not match",
            () = time::sleep(first), if always => "slept",
            else => "nothing left",
        };
        self.say(format_args!("select: {text}"));
        let (a, b) = tokio::join!(
            async {
                time::sleep(first).await;
                1
            },
            async {
                tokio::task::yield_now().await;
                2
            },
        );
        let tried: Result<(u32, ()), u32> = tokio::try_join!(
            async {
                time::sleep(second).await;
                Ok(a)
            },
            async { if wanted { Err(b) } else { Ok(()) } },
        );
        self.say(format_args!("joined {a} {b}, tried {tried:?}"));
    }

    async fn local(&mut self) {
        let value = self.rng.below(100) as u32;
        let rounds = self.rounds();
        let text = LOCAL
            .scope(Cell::new(value), async move {
                let before = LOCAL.get();
                let inner = LOCAL.scope(Cell::new(value + 1), async move {
                    time::sleep(rounds).await;
                    LOCAL.with(|local| local.replace(0))
                });
                let inner = inner.await;
                let spawned = tokio::spawn(async { LOCAL.try_with(Cell::get).is_ok() });
                let inherited = spawned.await.expect("no panic");
                let sync = LOCAL.sync_scope(Cell::new(7), || LOCAL.with(Cell::get));
                format!("{before:?} {inner} {inherited} {sync} {:?}", LOCAL.get())
            })
            .await;
        self.say(format_args!("local: {text}"));
    }
}
