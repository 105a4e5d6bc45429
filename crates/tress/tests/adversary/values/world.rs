//! One of each thing that can be shared, and what can be done with it.

use super::mischief::{Dice, Value, caught};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex as StdMutex};
use std::task::{Poll, ready};
use std::time::Duration;
use tress::channel::{self, Select};
use tress::io::{AsyncReadExt, AsyncWriteExt};
use tress::runtime::{Handle, Samples};
use tress::shutdown::Shutdown;
use tress::sync::{
    CancellationToken, Mutex, Notify, OnceCell, RwLock, Semaphore, SetOnce, broadcast, mpsc,
    oneshot, watch,
};
use tress::task::{AbortHandle, JoinSet};
use tress::trace::{Section, SectionGuard};
use tress::{dispatch, future, task, time};

/// Drops the output once there is one.
fn raw<F: Future + Send + 'static>(future: F) -> Waiting {
    KIND.set(std::any::type_name::<F>());
    let mut future = Some(Box::pin(future));
    Box::pin(poll_fn(move |cx| {
        if let Some(running) = &mut future {
            let output = ready!(running.as_mut().poll(cx));
            // Before anything else panics.
            let over = future.take();
            drop((output, over));
        }
        Poll::Ready(())
    }))
}

thread_local! {
    /// What was last made to be polled again.
    pub static KIND: std::cell::Cell<&'static str> = const { std::cell::Cell::new("") };
}

pub type Waiting = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What the semaphore begins with, and the most that anybody wants of it.
const PERMITS: usize = 2;

tress::task_local! {
    static LOCAL: Value;
}

/// A sender and the receiver's place.
struct Ends<S, R> {
    sender: StdMutex<Option<S>>,
    receiver: R,
}

impl<S: Clone, R> Ends<S, R> {
    fn new((sender, receiver): (S, R)) -> Ends<S, R> {
        Ends {
            sender: StdMutex::new(Some(sender)),
            receiver,
        }
    }

    fn sender(&self) -> Option<S> {
        self.sender.lock().unwrap().clone()
    }

    fn close(&self) {
        let sender = self.sender.lock().unwrap().take();
        caught(|| drop(sender));
    }
}

pub struct World {
    pub dice: Arc<Dice>,
    pub handle: Handle,
    bounded: Ends<mpsc::Sender<Value>, Mutex<mpsc::Receiver<Value>>>,
    unbounded: Ends<mpsc::UnboundedSender<Value>, Mutex<mpsc::UnboundedReceiver<Value>>>,
    channels: Vec<(channel::Sender<Value>, channel::Receiver<Value>)>,
    broadcast: Ends<broadcast::Sender<Value>, ()>,
    watch: Ends<watch::Sender<Value>, ()>,
    oneshots: StdMutex<Vec<oneshot::Sender<Value>>>,
    notify: Arc<Notify>,
    semaphore: Arc<Semaphore>,
    added: AtomicUsize,
    mutex: Arc<Mutex<Value>>,
    lock: Arc<RwLock<Value>>,
    once: OnceCell<Value>,
    set_once: SetOnce<Value>,
    token: CancellationToken,
    shutdown: Shutdown,
    aborts: StdMutex<Vec<AbortHandle>>,
    _section: SectionGuard,
}

/// A part of the dump that fails.
struct Report(Arc<Dice>);

impl Section for Report {
    fn name(&self) -> &str {
        self.0.mischief();
        "report"
    }

    fn dump(&self, out: &mut dyn std::io::Write) -> std::io::Result<()> {
        self.0.mischief();
        writeln!(out, "nothing")
    }

    fn metrics(&self, out: &mut Samples) {
        self.0.mischief();
        out.gauge("chaos", "How much of it there is.", &[], 1.0);
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        self.0.mischief();
    }
}

impl World {
    pub fn new(dice: &Arc<Dice>, handle: Handle) -> Arc<World> {
        let value = || Value::new(dice);
        let undelivered = {
            let dice = dice.clone();
            move |value: Value| {
                dice.mischief();
                drop(value);
            }
        };
        let (bounded, receiver) = mpsc::channel(2);
        let bounded = Ends::new((bounded, Mutex::new(receiver)));
        let (unbounded, receiver) = mpsc::unbounded_channel();
        let unbounded = Ends::new((unbounded, Mutex::new(receiver)));
        let section = handle.add_section(Arc::new(Report(dice.clone())));
        Arc::new(World {
            _section: section,
            dice: dice.clone(),
            handle,
            bounded,
            unbounded,
            channels: vec![
                channel::bounded(0),
                channel::bounded(2),
                channel::unbounded(),
                channel::conflated(),
                channel::builder()
                    .capacity(1)
                    .on_undelivered(undelivered)
                    .build(),
            ],
            broadcast: Ends::new((broadcast::Sender::new(2), ())),
            watch: Ends::new((watch::Sender::new(value()), ())),
            oneshots: StdMutex::default(),
            notify: Arc::default(),
            semaphore: Arc::new(Semaphore::new(PERMITS)),
            added: AtomicUsize::new(0),
            mutex: Arc::new(Mutex::new(value())),
            lock: Arc::new(RwLock::new(value())),
            once: OnceCell::new(),
            set_once: SetOnce::new(),
            token: CancellationToken::new(),
            shutdown: Shutdown::new(),
            aborts: StdMutex::default(),
        })
    }

    #[track_caller]
    fn value(&self) -> Value {
        Value::new(&self.dice)
    }

    fn channel(&self) -> &(channel::Sender<Value>, channel::Receiver<Value>) {
        &self.channels[self.dice.below(self.channels.len())]
    }

    fn note(&self, task: AbortHandle) {
        self.aborts.lock().unwrap().push(task);
    }

    /// Does something that does not wait. Called from wakers and destructors, too.
    pub fn act(self: &Arc<World>, roll: u64) {
        match roll % 26 {
            0 => drop(self.bounded.sender().map(|s| s.try_send(self.value()))),
            1 => drop(self.bounded.receiver.try_lock().map(|mut r| r.try_recv())),
            2 => drop(self.unbounded.sender().map(|s| s.send(self.value()))),
            3 => drop(self.unbounded.receiver.try_lock().map(|mut r| r.try_recv())),
            4 => drop(self.channel().0.try_send(self.value())),
            5 => drop(self.channel().1.try_recv()),
            6 => drop(self.broadcast.sender().map(|s| s.send(self.value()))),
            7 => drop(self.watch.sender().map(|s| s.send_replace(self.value()))),
            8 => drop(self.watch.sender().map(|s| {
                let mut value = self.value();
                s.send_if_modified(|old| {
                    std::mem::swap(old, &mut value);
                    // A panic only: the channel must not be used by who modifies the value.
                    self.dice.trip();
                    self.dice.below(2) == 0
                })
            })),
            9 => drop(self.take_oneshot().map(|s| s.send(self.value()))),
            10 => drop(self.take_oneshot()),
            11 => self.notify.notify_one(),
            12 => self.notify.notify_waiters(),
            13 => {
                self.added.fetch_add(1, Ordering::Relaxed);
                self.semaphore.add_permits(1);
            }
            14 => drop(self.semaphore.try_acquire()),
            15 => drop(self.mutex.try_lock().map(|mut v| *v = self.value())),
            16 => drop(self.lock.try_write().map(|mut v| *v = self.value())),
            17 => drop(self.lock.try_read().map(|v| v.clone())),
            18 => {
                let task = self.aborts.lock().unwrap().pop();
                if let Some(task) = task {
                    task.abort();
                }
            }
            19 => drop(self.shutdown.child("part").start_work()),
            20 => {
                let value = self.value();
                drop(self.handle.spawn(async move { value }));
            }
            21 => drop(format!("{:?}", self.mutex)),
            22 => drop(format!("{:?} {:?}", self.lock, self.once)),
            23 => drop(format!("{:?} {:?}", self.channel(), self.set_once)),
            24 => {
                drop(self.handle.metrics().to_json());
                drop(self.handle.debug_dump(&mut std::io::sink()));
            }
            _ => {
                let world = Arc::downgrade(self);
                drop(self.handle.spawn_blocking(move || {
                    if let Some(world) = world.upgrade() {
                        world.dice.mischief();
                    }
                }));
            }
        }
    }

    fn take_oneshot(&self) -> Option<oneshot::Sender<Value>> {
        self.oneshots.lock().unwrap().pop()
    }

    /// Something that waits, that `let_go` lets end, and that may be polled again after a poll that panicked.
    pub fn wait_again(self: &Arc<World>) -> Waiting {
        let world = self.clone();
        // Made where it is used: if it was dropped at the end of this function and panicked, what is returned
        // would be leaked.
        let output = || {
            let (inner, value) = (self.wait(1), self.value());
            async move {
                inner.await;
                value
            }
        };
        match self.dice.below(11) {
            0 | 1 => {
                let task = self.handle.spawn(output());
                self.note(task.abort_handle());
                raw(task)
            }
            2 => raw(self.handle.spawn_batch([output()])),
            3 => {
                let mut set = JoinSet::new();
                for _ in 0..3 {
                    let value = self.value();
                    self.note(set.spawn_on(async move { value }, &self.handle));
                }
                self.note(set.spawn_on(output(), &self.handle));
                raw(poll_fn(move |cx| {
                    loop {
                        match set.poll_join_next(cx) {
                            Poll::Ready(Some(ended)) => drop(ended),
                            Poll::Ready(None) => return Poll::Ready(()),
                            Poll::Pending => return Poll::Pending,
                        }
                    }
                }))
            }
            4 => {
                let (sender, receiver) = oneshot::channel();
                self.oneshots.lock().unwrap().push(sender);
                raw(receiver)
            }
            5 => raw(self.notify.clone().notified_owned()),
            6 => raw(self.token.clone().cancelled_owned()),
            7 => raw(self.shutdown.wait_owned()),
            8 => raw(time::sleep(
                Duration::from_millis(self.dice.below(3) as u64),
            )),
            9 => {
                let never = future::pending::<Value>();
                raw(time::timeout(Duration::from_millis(1), never))
            }
            _ => {
                let value = self.value();
                raw(self.handle.spawn_blocking(move || {
                    world.dice.mischief();
                    value
                }))
            }
        }
    }

    /// Something that waits, and that `let_go` lets end.
    pub fn wait(self: &Arc<World>, depth: u32) -> Waiting {
        let world = self.clone();
        let dice = self.dice.clone();
        let (flat, all) = (25, 38);
        match self.dice.below(if depth > 2 { flat } else { all }) {
            0 => Box::pin(async move {
                let Some(sender) = world.bounded.sender() else {
                    return;
                };
                drop(sender.send(world.value()).await);
            }),
            1 => Box::pin(async move { drop(world.bounded.receiver.lock().await.recv().await) }),
            2 => Box::pin(async move {
                let mut all = Vec::new();
                let mut receiver = world.unbounded.receiver.lock().await;
                receiver.recv_many(&mut all, 3).await;
            }),
            3 | 4 => Box::pin(async move { drop(world.channel().0.send(world.value()).await) }),
            5 | 6 => Box::pin(async move { drop(world.channel().1.recv().await) }),
            7 => Box::pin(async move {
                let (one, other) = (&world.channels[0], &world.channels[1]);
                Select::new()
                    .recv(&one.1, drop)
                    .recv(&other.1, drop)
                    .send(&other.0, world.value(), drop)
                    .wait()
                    .await;
            }),
            8 => Box::pin(async move {
                let Some(sender) = world.broadcast.sender() else {
                    return;
                };
                let mut receiver = sender.subscribe();
                drop(sender);
                drop(receiver.recv().await);
            }),
            9 => Box::pin(async move {
                let Some(sender) = world.watch.sender() else {
                    return;
                };
                let mut receiver = sender.subscribe();
                drop(sender);
                drop(receiver.changed().await);
            }),
            10 => {
                let (sender, receiver) = oneshot::channel();
                self.oneshots.lock().unwrap().push(sender);
                Box::pin(async move { drop(receiver.await) })
            }
            11 => Box::pin(async move {
                let (mut sender, receiver) = oneshot::channel::<Value>();
                world.handle.spawn(async move { drop(receiver) });
                sender.closed().await;
            }),
            12 => Box::pin(async move { world.notify.notified().await }),
            13 => Box::pin(async move {
                let wanted = 1 + world.dice.below(PERMITS) as u32;
                let permit = world.semaphore.acquire_many(wanted).await.unwrap();
                dice.mischief();
                drop(permit);
            }),
            14 => Box::pin(async move {
                let permit = world.semaphore.clone().acquire_owned().await.unwrap();
                task::yield_now().await;
                dice.mischief();
                drop(permit);
            }),
            15 => Box::pin(async move {
                let mut value = world.mutex.lock().await;
                task::yield_now().await;
                *value = world.value();
            }),
            16 => Box::pin(async move {
                let mut value = world.lock.clone().write_owned().await;
                task::yield_now().await;
                *value = world.value();
            }),
            17 => Box::pin(async move {
                let value = world.lock.read().await;
                task::yield_now().await;
                drop(value.clone());
            }),
            18 => Box::pin(async move {
                let make = || async {
                    task::yield_now().await;
                    dice.mischief();
                    world.value()
                };
                world.once.get_or_init(make).await;
            }),
            19 => Box::pin(async move { drop(world.set_once.wait().await.clone()) }),
            20 => Box::pin(async move { world.token.child_token().cancelled().await }),
            21 => Box::pin(async move {
                let part = world.shutdown.child("part");
                let Some(guard) = part.start_work() else {
                    return;
                };
                part.wait().await;
                drop(guard);
                part.drained().await;
            }),
            22 => Box::pin(async move {
                let Some(sender) = world.watch.sender() else {
                    return;
                };
                let mut receiver = sender.subscribe();
                drop(sender);
                let wanted = |_: &Value| {
                    dice.trip();
                    false
                };
                drop(receiver.wait_for(wanted).await.map(drop));
            }),
            23 => Box::pin(async move {
                let Some(sender) = world.bounded.sender() else {
                    return;
                };
                if let Ok(permit) = sender.reserve_owned().await {
                    dice.mischief();
                    drop(permit.send(world.value()));
                }
            }),
            24 => Box::pin(async move {
                let sender = &world.channels[1 + world.dice.below(4)].0;
                if let Ok(permit) = sender.reserve().await {
                    task::yield_now().await;
                    dice.mischief();
                    drop(permit);
                }
            }),
            25 => {
                let inner = self.wait(depth + 1);
                let value = self.value();
                Box::pin(async move {
                    let work = async move {
                        inner.await;
                        dice.mischief();
                        value
                    };
                    let named = task::Builder::new().name("n");
                    let task = match world.dice.below(3) {
                        0 => named.spawn_on(work, &world.handle).unwrap(),
                        1 => dispatch::spawn_on(&dispatch::single(), work),
                        _ => world.handle.spawn(work),
                    };
                    world.note(task.abort_handle());
                    drop(task.await);
                })
            }
            26 => {
                let value = self.value();
                Box::pin(async move {
                    let task = world.handle.spawn_blocking(move || {
                        dice.mischief();
                        value
                    });
                    drop(task.await);
                })
            }
            27 => {
                let waits: Vec<_> = (0..3).map(|_| self.wait(depth + 1)).collect();
                Box::pin(async move {
                    let mut set = JoinSet::new();
                    for wait in waits {
                        let value = world.value();
                        let task = async move {
                            wait.await;
                            value
                        };
                        world.note(set.spawn_on(task, &world.handle));
                    }
                    for _ in 0..world.dice.below(4) {
                        drop(set.join_next().await);
                    }
                    set.abort_all();
                    while let Some(ended) = set.join_next().await {
                        drop(ended);
                    }
                })
            }
            28 => {
                let waits: Vec<_> = (0..3).map(|_| self.wait(depth + 1)).collect();
                Box::pin(async move { drop(future::join_all(waits).await) })
            }
            29 => {
                let waits: Vec<_> = (0..2).map(|_| self.wait(depth + 1)).collect();
                Box::pin(async move { future::race(waits).await })
            }
            30 => {
                let (a, b) = (self.wait(depth + 1), self.wait(depth + 1));
                Box::pin(async move {
                    tress::select! {
                        () = a => dice.mischief(),
                        () = b => dice.mischief(),
                    }
                })
            }
            31 => {
                let (inner, value) = (self.wait(depth + 1), self.value());
                Box::pin(LOCAL.scope(value, async move {
                    inner.await;
                    drop(LOCAL.get());
                }))
            }
            32 => {
                let inner = self.wait(depth + 1);
                Box::pin(async move { task::shield(inner).await })
            }
            33 => {
                let waits = (0..3).map(|n| (n, self.wait(depth + 1)));
                let waits = waits.map(|(n, wait)| {
                    if n == 2 {
                        self.dice.mischief();
                    }
                    wait
                });
                // What the iterator gave before a panic goes on.
                let batch = caught(|| self.handle.spawn_batch(waits));
                Box::pin(async move {
                    if let Some(batch) = batch {
                        drop(batch.await);
                    }
                })
            }
            34 => Box::pin(async move {
                let (mut one, mut other) = tress::io::duplex(2);
                let write = world.handle.spawn(async move {
                    drop(one.write_all(b"chaos").await);
                    dice.mischief();
                });
                let mut bytes = [0; 5];
                drop(other.read_exact(&mut bytes).await);
                drop(write.await);
            }),
            35 | 36 => {
                let (body, one, other) = (
                    self.wait(depth + 1),
                    self.wait(depth + 1),
                    self.wait(depth + 1),
                );
                Box::pin(async move {
                    let scope = task::scope(|scope| {
                        let value = world.value();
                        drop(scope.supervise(one));
                        let child = scope.spawn(async move {
                            other.await;
                            match dice.below(2) {
                                0 => Ok(value),
                                _ => Err(value),
                            }
                        });
                        async move {
                            body.await;
                            drop(child.await);
                            Err::<Value, _>(world.value())
                        }
                    });
                    drop(scope.await);
                })
            }
            _ => {
                let inner = self.wait(depth + 1);
                Box::pin(async move {
                    // The timer is waited for by a task: foreign wakers have a test of their own.
                    let task = world.handle.spawn(async move {
                        drop(time::timeout(Duration::from_millis(2), inner).await);
                        dice.mischief();
                    });
                    drop(task.await);
                })
            }
        }
    }

    /// Says that all is over.
    fn close(&self) {
        caught(|| self.token.cancel());
        caught(|| self.shutdown.trigger());
        caught(|| drop(self.set_once.set(self.value())));
        self.broadcast.close();
        self.watch.close();
        self.bounded.close();
        self.unbounded.close();
        for (sender, _) in &self.channels {
            caught(|| sender.close());
        }
    }

    /// Lets everything end that waits. Never ends by itself.
    pub async fn let_go(self: Arc<World>) {
        self.close();
        loop {
            caught(|| self.notify.notify_waiters());
            let oneshots = std::mem::take(&mut *self.oneshots.lock().unwrap());
            for sender in oneshots {
                caught(|| drop(sender));
            }
            caught(|| {
                if let Ok(mut receiver) = self.bounded.receiver.try_lock() {
                    caught(|| receiver.close());
                    while let Some(Ok(value)) = caught(|| receiver.try_recv()) {
                        caught(|| drop(value));
                    }
                }
            });
            task::yield_now().await;
        }
    }

    /// What everybody must be able to do once nobody else does anything.
    pub async fn check(&self) {
        // It may not have been said yet.
        self.close();
        *self.mutex.lock().await = self.value();
        *self.lock.write().await = self.value();
        drop(self.lock.read().await);
        self.once.get_or_init(|| async { self.value() }).await;
        let permits = PERMITS + self.added.load(Ordering::Relaxed);
        assert_eq!(self.semaphore.available_permits(), permits);
        drop(self.semaphore.acquire_many(permits as u32).await.unwrap());
        assert_eq!(self.shutdown.pending_count(), 0);
        self.shutdown.drained().await;
        while self.bounded.receiver.lock().await.recv().await.is_some() {}
        while self.unbounded.receiver.lock().await.recv().await.is_some() {}
        let task = self.handle.spawn(async { 7 });
        assert_eq!(task.await.unwrap(), 7);
        let closure = self.handle.spawn_blocking(|| 7);
        assert_eq!(closure.await.unwrap(), 7);
    }
}
