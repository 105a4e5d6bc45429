//! Many tasks, few and many workers, futures given up at random: what must hold, holds.

mod sync_support;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use sync_support::{Exclusion, Random, give_up_after};
use tress::runtime::Builder;
use tress::sync::{
    Barrier, CancellationToken, Mutex, Notify, OnceCell, RwLock, Semaphore, SetOnce,
};
use tress::task::yield_now;

const TASKS: usize = 48;
const OPERATIONS: usize = if cfg!(debug_assertions) { 300 } else { 1_000 };

/// `TASKS` tasks over 2 and over 8 workers, on a world of their own each time.
fn over_workers<W, F>(world: impl Fn() -> W, run: impl Fn(Arc<W>, Random) -> F, check: impl Fn(&W))
where
    W: Send + Sync + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    for workers in [2, 8] {
        let rt = Builder::new_multi_thread()
            .worker_threads(workers)
            .enable_all()
            .build()
            .unwrap();
        let world = Arc::new(world());
        let tasks: Vec<_> = (0..TASKS)
            .map(|i| {
                rt.spawn(run(
                    world.clone(),
                    Random::new((workers * 1_000 + i) as u64),
                ))
            })
            .collect();
        rt.block_on(async {
            for task in tasks {
                task.await.unwrap();
            }
        });
        check(&world);
    }
}

/// A counter that only the lock keeps right.
#[test]
fn mutex() {
    struct World {
        mutex: Arc<Mutex<usize>>,
        done: AtomicUsize,
    }
    over_workers(
        || World {
            mutex: Arc::new(Mutex::new(0)),
            done: AtomicUsize::new(0),
        },
        |world, mut random| async move {
            for _ in 0..OPERATIONS {
                let count = |value: &mut usize| {
                    *value += 1;
                    world.done.fetch_add(1, Ordering::Relaxed);
                };
                match random.below(10) {
                    0..4 => count(&mut *world.mutex.lock().await),
                    4 => {
                        let mut guard = world.mutex.lock().await;
                        let read = *guard;
                        yield_now().await;
                        *guard = read;
                        count(&mut guard);
                    }
                    5 => count(&mut *world.mutex.clone().lock_owned().await),
                    6 => {
                        if let Ok(mut guard) = world.mutex.try_lock() {
                            count(&mut guard);
                        }
                    }
                    7 => yield_now().await,
                    _ => {
                        let lock = give_up_after(random.below(3), world.mutex.lock());
                        if let Some(mut guard) = lock.await {
                            count(&mut guard);
                        }
                    }
                }
            }
        },
        |world| {
            let counted = *world.mutex.try_lock().expect("still locked");
            assert_eq!(counted, world.done.load(Ordering::Relaxed));
        },
    );
}

/// Permits in use never exceed those there are, and all come back.
#[test]
fn semaphore() {
    const PERMITS: usize = 7;
    struct World {
        semaphore: Arc<Semaphore>,
        in_use: AtomicUsize,
    }
    impl World {
        fn enter(&self, n: usize) {
            assert!(self.in_use.fetch_add(n, Ordering::SeqCst) + n <= PERMITS);
        }
        fn leave(&self, n: usize) {
            self.in_use.fetch_sub(n, Ordering::SeqCst);
        }
    }
    over_workers(
        || World {
            semaphore: Arc::new(Semaphore::new(PERMITS)),
            in_use: AtomicUsize::new(0),
        },
        |world, mut random| async move {
            for _ in 0..OPERATIONS {
                let n = 1 + random.below(PERMITS);
                let mut permit = match random.below(4) {
                    0 => {
                        let acquire = world.semaphore.acquire_many(n as u32);
                        match give_up_after(random.below(3), acquire).await {
                            Some(permit) => permit.unwrap(),
                            None => continue,
                        }
                    }
                    1 => match world.semaphore.try_acquire_many(n as u32) {
                        Ok(permit) => permit,
                        Err(_) => continue,
                    },
                    _ => world.semaphore.acquire_many(n as u32).await.unwrap(),
                };
                world.enter(n);
                if random.below(4) == 0 {
                    yield_now().await;
                }
                let part = random.below(n + 1);
                world.leave(part);
                drop(permit.split(part));
                world.leave(n - part);
                drop(permit);
            }
        },
        |world| assert_eq!(world.semaphore.available_permits(), PERMITS),
    );
}

/// Readers or one writer.
#[test]
fn rwlock() {
    struct World {
        lock: Arc<RwLock<usize>>,
        exclusion: Exclusion,
        written: AtomicUsize,
    }
    over_workers(
        || World {
            lock: Arc::new(RwLock::with_max_readers(0, 5)),
            exclusion: Exclusion::default(),
            written: AtomicUsize::new(0),
        },
        |world, mut random| async move {
            for _ in 0..OPERATIONS {
                match random.below(10) {
                    0..5 => {
                        let _guard = world.lock.read().await;
                        let _reading = world.exclusion.read();
                        if random.below(4) == 0 {
                            yield_now().await;
                        }
                    }
                    5 => {
                        let mut guard = world.lock.clone().write_owned().await;
                        {
                            let _writing = world.exclusion.write();
                            *guard += 1;
                            world.written.fetch_add(1, Ordering::Relaxed);
                        }
                        let _guard = guard.downgrade();
                        let _reading = world.exclusion.read();
                        yield_now().await;
                    }
                    6 | 7 => {
                        let mut guard = world.lock.write().await;
                        let _writing = world.exclusion.write();
                        *guard += 1;
                        world.written.fetch_add(1, Ordering::Relaxed);
                    }
                    8 => {
                        let write = give_up_after(random.below(3), world.lock.write());
                        if let Some(mut guard) = write.await {
                            let _writing = world.exclusion.write();
                            *guard += 1;
                            world.written.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                    _ => {
                        let read = give_up_after(random.below(3), world.lock.read());
                        if let Some(_guard) = read.await {
                            let _reading = world.exclusion.read();
                        }
                    }
                }
            }
        },
        |world| {
            let value = *world.lock.try_write().expect("still locked");
            assert_eq!(value, world.written.load(Ordering::Relaxed));
        },
    );
}

/// Each item is announced by one notification. Waiters give up at random, after having been chosen
/// perhaps; all items are found all the same.
#[test]
fn notify_one() {
    struct World {
        items: AtomicUsize,
        filled: Notify,
        found: AtomicUsize,
    }
    const ITEMS: usize = TASKS / 2 * OPERATIONS;
    impl World {
        fn take(&self) -> bool {
            let take = |items: usize| items.checked_sub(1);
            let order = Ordering::AcqRel;
            let taken = self.items.fetch_update(order, Ordering::Acquire, take);
            if taken.is_ok_and(|before| before > 1) {
                // One kept notification may stand for several items.
                self.filled.notify_one();
            }
            taken.is_ok()
        }
    }
    let number = AtomicUsize::new(0);
    over_workers(
        || World {
            items: AtomicUsize::new(0),
            filled: Notify::new(),
            found: AtomicUsize::new(0),
        },
        |world, mut random| {
            let produces = number.fetch_add(1, Ordering::Relaxed) % 2 == 0;
            async move {
                if produces {
                    for _ in 0..OPERATIONS {
                        world.items.fetch_add(1, Ordering::AcqRel);
                        if random.below(2) == 0 {
                            world.filled.notify_one();
                        } else {
                            world.filled.notify_last();
                        }
                        if random.below(8) == 0 {
                            yield_now().await;
                        }
                    }
                    return;
                }
                while world.found.load(Ordering::Acquire) < ITEMS {
                    if world.take() {
                        if world.found.fetch_add(1, Ordering::AcqRel) + 1 == ITEMS {
                            world.filled.notify_waiters();
                        }
                        continue;
                    }
                    let notified = world.filled.notified();
                    if world.found.load(Ordering::Acquire) == ITEMS {
                        break;
                    }
                    if random.below(3) == 0 {
                        give_up_after(random.below(4), notified).await;
                    } else {
                        notified.await;
                    }
                }
            }
        },
        |world| assert_eq!(world.found.load(Ordering::Relaxed), ITEMS),
    );
}

/// A condition that is told to all: whoever looks after having made the future misses nothing.
#[test]
fn notify_waiters() {
    struct World {
        round: AtomicUsize,
        arrived: AtomicUsize,
        advanced: Notify,
    }
    const ROUNDS: usize = OPERATIONS / 10;
    over_workers(
        || World {
            round: AtomicUsize::new(0),
            arrived: AtomicUsize::new(0),
            advanced: Notify::new(),
        },
        |world, mut random| async move {
            for round in 0..ROUNDS {
                if world.arrived.fetch_add(1, Ordering::AcqRel) + 1 == TASKS * (round + 1) {
                    world.round.store(round + 1, Ordering::Release);
                    world.advanced.notify_waiters();
                }
                loop {
                    let advanced = world.advanced.notified();
                    if world.round.load(Ordering::Acquire) > round {
                        break;
                    }
                    if random.below(4) == 0 {
                        give_up_after(random.below(3), advanced).await;
                    } else {
                        advanced.await;
                    }
                }
            }
        },
        |world| assert_eq!(world.round.load(Ordering::Relaxed), ROUNDS),
    );
}

#[test]
fn barrier() {
    struct World {
        barrier: Barrier,
        leaders: AtomicUsize,
        arrived: AtomicUsize,
    }
    const ROUNDS: usize = OPERATIONS / 10;
    over_workers(
        || World {
            barrier: Barrier::new(TASKS),
            leaders: AtomicUsize::new(0),
            arrived: AtomicUsize::new(0),
        },
        |world, mut random| async move {
            for round in 1..=ROUNDS {
                world.arrived.fetch_add(1, Ordering::Relaxed);
                if random.below(4) == 0 {
                    yield_now().await;
                }
                let result = world.barrier.wait().await;
                assert!(world.arrived.load(Ordering::Relaxed) >= TASKS * round);
                if result.is_leader() {
                    world.leaders.fetch_add(1, Ordering::Relaxed);
                }
            }
        },
        |world| assert_eq!(world.leaders.load(Ordering::Relaxed), ROUNDS),
    );
}

/// Made once, although those who make it fail and give up.
#[test]
fn cells() {
    struct World {
        cells: Vec<OnceCell<usize>>,
        onces: Vec<SetOnce<usize>>,
        made: AtomicUsize,
    }
    over_workers(
        || World {
            cells: (0..OPERATIONS).map(|_| OnceCell::new()).collect(),
            onces: (0..OPERATIONS).map(|_| SetOnce::new()).collect(),
            made: AtomicUsize::new(0),
        },
        |world, mut random| async move {
            for (cell, once) in world.cells.iter().zip(&world.onces) {
                let value = loop {
                    let (fails, pauses) = (random.below(3) == 0, random.below(2) == 0);
                    let make = cell.get_or_try_init(async || {
                        if pauses {
                            yield_now().await;
                        }
                        if fails {
                            return Err(());
                        }
                        Ok(world.made.fetch_add(1, Ordering::Relaxed))
                    });
                    let made = if random.below(4) == 0 {
                        give_up_after(random.below(3), make).await
                    } else {
                        Some(make.await)
                    };
                    if let Some(Ok(value)) = made {
                        break *value;
                    }
                };
                let _ = once.set(value);
                assert_eq!(*once.wait().await, value);
            }
        },
        |world| assert_eq!(world.made.load(Ordering::Relaxed), OPERATIONS),
    );
}

/// Trees that grow, shrink and are cancelled by all at once; at the end the root reaches everybody.
#[test]
fn cancellation() {
    over_workers(
        CancellationToken::new,
        |root, mut random| async move {
            let mut tokens = vec![root.child_token()];
            for _ in 0..OPERATIONS {
                let at = random.below(tokens.len());
                match random.below(8) {
                    0..4 if tokens.len() < 50 => tokens.push(tokens[at].child_token()),
                    4 => tokens[at].cancel(),
                    5 if tokens.len() > 1 => drop(tokens.swap_remove(at)),
                    6 => {
                        give_up_after(random.below(3), tokens[at].cancelled()).await;
                    }
                    _ => {
                        tokens[at] = root.child_token();
                    }
                }
            }
            if random.below(TASKS) == 0 {
                root.cancel();
            }
            let waiting = tokens.pop().unwrap();
            if waiting.is_cancelled() {
                waiting.cancelled_owned().await;
            }
        },
        |root| root.cancel(),
    );
}
