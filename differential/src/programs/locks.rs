//! Semaphores, locks, notifications, barriers and cells.

use super::tokio;
use crate::world::{Fut, Out, World};
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::{
    Barrier, Mutex, Notify, OnceCell, OwnedMutexGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard,
    OwnedSemaphorePermit, RwLock, Semaphore, SetOnce,
};

enum Held {
    Permit(OwnedSemaphorePermit),
    Mutex(#[expect(dead_code, reason = "held")] OwnedMutexGuard<u32>),
    Read(#[expect(dead_code, reason = "held")] OwnedRwLockReadGuard<u32>),
    Write(OwnedRwLockWriteGuard<u32>),
}

type Waiting = Rc<RefCell<Pin<Box<tokio::sync::futures::OwnedNotified>>>>;

struct Program {
    world: World<Held>,
    semaphore: Arc<Semaphore>,
    mutex: Arc<Mutex<u32>>,
    lock: Arc<RwLock<u32>>,
    notify: Arc<Notify>,
    waiting: Vec<Waiting>,
    barrier: Arc<Barrier>,
    cell: Arc<OnceCell<u32>>,
    once: Arc<SetOnce<u32>>,
    /// What initialisers of `cell` wait for.
    gate: Arc<Notify>,
}

pub fn run(seed: u64) -> Vec<String> {
    let mut world = World::new(seed);
    let rng = &mut world.rng;
    let permits = rng.below(4);
    let parties = rng.below(4);
    let lock = match rng.below(3) {
        0 => RwLock::with_max_readers(0, 1 + rng.below(3) as u32),
        _ => RwLock::new(0),
    };
    let mut program = Program {
        world,
        semaphore: Arc::new(Semaphore::new(permits)),
        mutex: Arc::new(Mutex::new(0)),
        lock: Arc::new(lock),
        notify: Arc::new(Notify::new()),
        waiting: Vec::new(),
        barrier: Arc::new(Barrier::new(parties)),
        cell: Arc::new(OnceCell::new()),
        once: Arc::new(SetOnce::new()),
        gate: Arc::new(Notify::new()),
    };
    // Most programs are about one thing, which is then busy.
    let about = program.world.rng.below(8);
    let steps = 20 + program.world.rng.below(100);
    for _ in 0..steps {
        if program.world.step() {
            continue;
        }
        let about = match about {
            6 | 7 => program.world.rng.below(6),
            _ => about,
        };
        match about {
            0 => program.semaphore(),
            1 => program.mutex(),
            2 => program.lock(),
            3 => program.notify(),
            4 => program.barrier(),
            _ => program.cell(),
        }
        program.world.note_wakes();
    }
    program.waiting.clear();
    program.world.finish()
}

impl Program {
    fn semaphore(&mut self) {
        let semaphore = self.semaphore.clone();
        let n = match self.world.rng.below(12) {
            0 => 0,
            1..7 => 1,
            7..10 => 2,
            _ => 4,
        };
        match self.world.rng.below(20) {
            0..5 => {
                let future = semaphore.acquire_many_owned(n);
                let future: Fut<Held> = Box::pin(async move {
                    match future.await {
                        Ok(permit) => Out::held("permit", Held::Permit(permit)),
                        Err(_) => Out::text("closed"),
                    }
                });
                self.world.start(format_args!("acquire owned {n}"), future);
            }
            5..9 => {
                let future: Fut<Held> = Box::pin(async move {
                    match semaphore.acquire_many(n).await {
                        // Dropped here, while the future is polled.
                        Ok(permit) => Out::text(format_args!("permit of {}", permit.num_permits())),
                        Err(_) => Out::text("closed"),
                    }
                });
                self.world.start(format_args!("acquire {n}"), future);
            }
            9..11 => match semaphore.try_acquire_many_owned(n) {
                Ok(permit) => {
                    self.world.say(format_args!("try {n}: permit"));
                    self.world.held.push(Held::Permit(permit));
                }
                Err(error) => self.world.say(format_args!("try {n}: {error:?}")),
            },
            11..14 => {
                semaphore.add_permits(n as usize);
                self.world.say(format_args!("add {n}"));
            }
            14 if !semaphore.is_closed() => {
                let gone = semaphore.forget_permits(n as usize);
                self.world.say(format_args!("forget {n}: {gone}"));
            }
            15 if self.world.rng.one_in(3) => {
                semaphore.close();
                self.world.say("close");
            }
            16..19 => match self.world.take_held() {
                Some(Held::Permit(mut permit)) => {
                    let count = permit.num_permits();
                    match self.world.rng.below(3) {
                        0 => {
                            self.world.say(format_args!("forget permit of {count}"));
                            permit.forget();
                        }
                        1 => {
                            let split = permit.split(n as usize);
                            let text = format!("split {count} by {n}: {}", split.is_some());
                            self.world.say(text);
                            self.world.held.push(Held::Permit(permit));
                            self.world.held.extend(split.map(Held::Permit));
                        }
                        _ => match self.world.take_held() {
                            Some(Held::Permit(other)) => {
                                permit.merge(other);
                                let count = permit.num_permits();
                                self.world.say(format_args!("merged: {count}"));
                                self.world.held.push(Held::Permit(permit));
                            }
                            other => {
                                self.world.held.extend(other);
                                self.world.held.push(Held::Permit(permit));
                            }
                        },
                    }
                }
                other => self.world.held.extend(other),
            },
            _ => {}
        }
        // What waiters had gathered comes back when the semaphore is closed; in Tokio, when they are dropped.
        let available = match self.semaphore.is_closed() {
            true => "none".to_string(),
            false => self.semaphore.available_permits().to_string(),
        };
        self.world.say(format_args!("available: {available}"));
    }

    fn mutex(&mut self) {
        let mutex = self.mutex.clone();
        match self.world.rng.below(6) {
            0..3 => {
                let future = mutex.lock_owned();
                let future: Fut<Held> = Box::pin(async move {
                    let mut guard = future.await;
                    *guard += 1;
                    Out::held(*guard, Held::Mutex(guard))
                });
                self.world.start("lock owned", future);
            }
            3..5 => {
                let future: Fut<Held> = Box::pin(async move {
                    let mut guard = mutex.lock().await;
                    *guard += 1;
                    Out::text(*guard)
                });
                self.world.start("lock", future);
            }
            _ => match mutex.try_lock_owned() {
                Ok(guard) => {
                    self.world.say(format_args!("try lock: {}", *guard));
                    self.world.held.push(Held::Mutex(guard));
                }
                Err(_) => self.world.say("try lock: taken"),
            },
        }
    }

    fn lock(&mut self) {
        let lock = self.lock.clone();
        match self.world.rng.below(12) {
            0..3 => {
                let future = lock.read_owned();
                let future: Fut<Held> = Box::pin(async move {
                    let guard = future.await;
                    Out::held(*guard, Held::Read(guard))
                });
                self.world.start("read owned", future);
            }
            3..5 => {
                let future: Fut<Held> = Box::pin(async move { Out::text(*lock.read().await) });
                self.world.start("read", future);
            }
            5..7 => {
                let future = lock.write_owned();
                let future: Fut<Held> = Box::pin(async move {
                    let mut guard = future.await;
                    *guard += 1;
                    Out::held(*guard, Held::Write(guard))
                });
                self.world.start("write owned", future);
            }
            7 => {
                let future: Fut<Held> = Box::pin(async move {
                    let mut guard = lock.write().await;
                    *guard += 1;
                    Out::text(*guard.downgrade())
                });
                self.world.start("write and downgrade", future);
            }
            8 => match lock.try_read_owned() {
                Ok(guard) => {
                    self.world.say(format_args!("try read: {}", *guard));
                    self.world.held.push(Held::Read(guard));
                }
                Err(_) => self.world.say("try read: taken"),
            },
            9 => match lock.try_write_owned() {
                Ok(guard) => {
                    self.world.say(format_args!("try write: {}", *guard));
                    self.world.held.push(Held::Write(guard));
                }
                Err(_) => self.world.say("try write: taken"),
            },
            _ => match self.world.take_held() {
                Some(Held::Write(guard)) => {
                    self.world.say("downgrade");
                    self.world.held.push(Held::Read(guard.downgrade()));
                }
                other => self.world.held.extend(other),
            },
        }
    }

    fn notify(&mut self) {
        match self.world.rng.below(14) {
            0..5 => {
                // Made now: what `notify_waiters` reaches goes by that.
                let waiting = Rc::new(RefCell::new(Box::pin(self.notify.clone().notified_owned())));
                self.waiting.push(waiting.clone());
                let future: Fut<Held> = Box::pin(async move {
                    poll_fn(|cx| waiting.borrow_mut().as_mut().poll(cx)).await;
                    Out::text("notified")
                });
                self.world.start("notified", future);
                // Mostly its only owner is the pool, which can drop it.
                if !self.world.rng.one_in(4) {
                    self.waiting.pop();
                }
            }
            5 => {
                let notify = self.notify.clone();
                let future: Fut<Held> = Box::pin(async move {
                    notify.notified().await;
                    notify.notified().await;
                    Out::text("notified twice")
                });
                self.world.start("notified twice", future);
            }
            6..8 if !self.waiting.is_empty() => {
                let at = self.world.rng.below(self.waiting.len());
                let enabled = self.waiting[at].borrow_mut().as_mut().enable();
                self.world.say(format_args!("enable: {enabled}"));
            }
            8 if !self.waiting.is_empty() => {
                let at = self.world.rng.below(self.waiting.len());
                drop(self.waiting.swap_remove(at));
                self.world.say("let go of a notified");
            }
            9..11 => {
                self.notify.notify_one();
                self.world.say("notify_one");
            }
            11 => {
                self.notify.notify_last();
                self.world.say("notify_last");
            }
            12 => {
                self.notify.notify_waiters();
                self.world.say("notify_waiters");
            }
            _ => {}
        }
    }

    fn barrier(&mut self) {
        let barrier = self.barrier.clone();
        let future: Fut<Held> =
            Box::pin(async move { Out::text(barrier.wait().await.is_leader()) });
        // Not dropped: in Tokio, where that is not cancel safe, a dropped one counts as arrived.
        self.world.start_kept("barrier", true, future);
    }

    fn cell(&mut self) {
        let (cell, gate, once) = (self.cell.clone(), self.gate.clone(), self.once.clone());
        let value = self.world.rng.below(100) as u32;
        match self.world.rng.below(14) {
            0..4 => {
                let future: Fut<Held> = Box::pin(async move {
                    let init = || async move {
                        gate.notified().await;
                        value
                    };
                    Out::text(cell.get_or_init(init).await)
                });
                self.world.start(format_args!("init {value}"), future);
            }
            4..6 => {
                let future: Fut<Held> = Box::pin(async move {
                    let init = || async move {
                        gate.notified().await;
                        match value % 3 {
                            0 => Ok(value),
                            _ => Err(value),
                        }
                    };
                    Out::text(format_args!("{:?}", cell.get_or_try_init(init).await))
                });
                self.world.start(format_args!("try init {value}"), future);
            }
            6..8 => {
                gate.notify_one();
                self.world.say("open the gate");
            }
            8 if self.world.rng.one_in(2) => {
                let result = cell.set(value);
                self.world.say(format_args!("set {value}: {result:?}"));
            }
            9 => {
                let (is, value) = (cell.initialized(), cell.get());
                self.world.say(format_args!("get: {is} {value:?}"));
            }
            10..12 => {
                let future: Fut<Held> = Box::pin(async move { Out::text(once.wait().await) });
                self.world.start("wait for it to be set", future);
            }
            12 if self.world.rng.one_in(3) => {
                let result = once.set(value);
                self.world.say(format_args!("set once {value}: {result:?}"));
            }
            _ => {
                let value = once.get();
                self.world.say(format_args!("get once: {value:?}"));
            }
        }
    }
}
