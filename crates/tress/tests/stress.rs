//! Everything at once, at random: every task runs to its end or is dropped, exactly once.
//!
//! `TRESS_SEED` repeats a run's choices, `TRESS_STRESS_SCALE` makes it longer (default 1).

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tress::runtime::{Builder, Handle, Runtime};
use tress::task::{JoinHandle, block_in_place, spawn_blocking, yield_now};
use tress::time::{sleep, timeout};

/// xorshift64*, seeded and printed, so that a failure can be repeated.
struct Rng(u64);

impl Rng {
    fn new(salt: u64) -> Rng {
        let seed = std::env::var("TRESS_SEED")
            .ok()
            .and_then(|s| s.parse().ok());
        let seed = seed.unwrap_or_else(|| {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            now.unwrap().as_nanos() as u64
        });
        println!("TRESS_SEED={seed}");
        Rng((seed ^ salt.wrapping_mul(0x9E37_79B9_7F4A_7C15)) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 33) % n
    }

    fn fork(&mut self) -> Rng {
        Rng(self.next() | 1)
    }
}

fn scale(n: usize) -> usize {
    let scale = std::env::var("TRESS_STRESS_SCALE").ok();
    let scale: usize = scale.and_then(|s| s.parse().ok()).unwrap_or(1);
    n * scale / if cfg!(debug_assertions) { 2 } else { 1 }
}

/// What became of each task: how often its future was dropped, and whether it finished.
#[derive(Default)]
struct Ledger {
    made: AtomicUsize,
    dropped: AtomicUsize,
    finished: AtomicUsize,
}

/// Lives in a task's future.
struct Ticket {
    ledger: Arc<Ledger>,
    drops: AtomicU32,
}

impl Ticket {
    fn new(ledger: &Arc<Ledger>) -> Ticket {
        ledger.made.fetch_add(1, Ordering::Relaxed);
        Ticket {
            ledger: ledger.clone(),
            drops: AtomicU32::new(0),
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        assert_eq!(
            self.drops.fetch_add(1, Ordering::Relaxed),
            0,
            "dropped twice"
        );
        self.ledger.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

/// Wakers of tasks that wait, for others to wake from anywhere, also after the runtime is gone.
#[derive(Default)]
struct Board(Mutex<Vec<Waker>>);

impl Board {
    fn wake_some(&self, rng: &mut Rng) {
        let mut wakers = self.0.lock().unwrap();
        let n = rng.below(4) as usize;
        let mut woken: Vec<Waker> = Vec::new();
        for _ in 0..n.min(wakers.len()) {
            let i = rng.below(wakers.len() as u64) as usize;
            woken.push(wakers.swap_remove(i));
        }
        drop(wakers);
        for waker in woken {
            match rng.below(3) {
                0 => waker.wake_by_ref(),
                1 => {
                    let other = waker.clone();
                    drop(waker);
                    other.wake();
                    continue;
                }
                _ => {
                    waker.wake();
                    continue;
                }
            }
        }
    }

    /// Waits until somebody wakes it, or it was polled a few times.
    fn wait(self: &Arc<Self>, rounds: u64) -> impl Future<Output = ()> + use<> {
        struct Wait(Arc<Board>, u64);
        impl Future for Wait {
            type Output = ();
            fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
                if self.1 == 0 {
                    return Poll::Ready(());
                }
                self.1 -= 1;
                self.0.0.lock().unwrap().push(cx.waker().clone());
                Poll::Pending
            }
        }
        Wait(self.clone(), rounds)
    }
}

#[derive(Clone)]
struct World {
    ledger: Arc<Ledger>,
    board: Arc<Board>,
    handle: Handle,
    can_block: bool,
}

impl World {
    fn spawn(&self, rng: &mut Rng, depth: u32) -> JoinHandle<u64> {
        let ticket = Ticket::new(&self.ledger);
        let (world, mut rng) = (self.clone(), rng.fork());
        self.handle.spawn(async move {
            let ticket = ticket;
            world.live(&mut rng, depth).await;
            ticket.ledger.finished.fetch_add(1, Ordering::Relaxed);
            7
        })
    }

    /// A few random things to do.
    fn live<'a>(
        &'a self,
        rng: &'a mut Rng,
        depth: u32,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(async move {
            for _ in 0..rng.below(6) {
                match rng.below(12) {
                    0..=2 => yield_now().await,
                    3 => self.board.wait(1 + rng.below(2)).await,
                    4 => self.board.wake_some(rng),
                    5 => sleep(Duration::from_micros(rng.below(3000))).await,
                    6 => {
                        let limit = Duration::from_micros(rng.below(2000));
                        let _ = timeout(limit, self.board.wait(2)).await;
                    }
                    7 if depth > 0 => {
                        let child = self.spawn(rng, depth - 1);
                        match rng.below(4) {
                            0 => drop(child),
                            1 => child.abort(),
                            2 => {
                                child.abort();
                                let _ = child.await;
                            }
                            _ => {
                                self.board.wake_some(rng);
                                let _ = timeout(Duration::from_millis(5), child).await;
                            }
                        }
                    }
                    8 if rng.below(8) == 0 => {
                        let ticket = Ticket::new(&self.ledger);
                        let _ = spawn_blocking(move || drop(ticket)).await;
                    }
                    9 if self.can_block && rng.below(8) == 0 => {
                        block_in_place(std::thread::yield_now);
                    }
                    10 => {
                        let mut rng = rng.fork();
                        tress::task::shield(async move {
                            for _ in 0..rng.below(3) {
                                yield_now().await;
                            }
                        })
                        .await;
                    }
                    _ => {}
                }
            }
        })
    }
}

fn check(ledger: &Ledger) {
    let made = ledger.made.load(Ordering::SeqCst);
    let dropped = ledger.dropped.load(Ordering::SeqCst);
    assert_eq!(made, dropped, "tasks made and futures dropped");
    assert!(ledger.finished.load(Ordering::SeqCst) <= made);
}

/// Runs `tasks` tasks and drops the runtime while some are alive and outside threads spawn and wake.
fn run(rt: Runtime, can_block: bool, salt: u64, tasks: usize) {
    let mut rng = Rng::new(salt);
    let world = World {
        ledger: Arc::new(Ledger::default()),
        board: Arc::new(Board::default()),
        handle: rt.handle().clone(),
        can_block,
    };
    let stop = Arc::new(AtomicBool::new(false));
    let outside: Vec<_> = (0..2)
        .map(|_| {
            let (world, stop, mut rng) = (world.clone(), stop.clone(), rng.fork());
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    world.board.wake_some(&mut rng);
                    if rng.below(16) == 0 {
                        drop(world.spawn(&mut rng, 1));
                    }
                    std::thread::yield_now();
                }
            })
        })
        .collect();
    rt.block_on(async {
        let mut handles = Vec::new();
        for _ in 0..tasks {
            handles.push(world.spawn(&mut rng, 2));
            if rng.below(32) == 0 {
                world.board.wake_some(&mut rng);
                yield_now().await;
            }
        }
        // Half of them are awaited, while the board keeps waking.
        for handle in handles.drain(..tasks / 2) {
            if rng.below(4) == 0 {
                handle.abort();
            }
            let _ = timeout(Duration::from_millis(20), handle).await;
        }
    });
    drop(rt);
    // The wakers on the board outlive the runtime; so do spawns through its handle.
    world.board.wake_some(&mut rng);
    stop.store(true, Ordering::Relaxed);
    for thread in outside {
        thread.join().unwrap();
    }
    drop(world.spawn(&mut rng, 0));
    let World { ledger, board, .. } = world;
    drop(board);
    check(&ledger);
}

fn multi(workers: usize, salt: u64, tasks: usize) {
    let mut builder = Builder::new_multi_thread();
    let rt = builder
        .worker_threads(workers)
        .enable_all()
        .build()
        .unwrap();
    run(rt, true, salt, tasks);
}

#[test]
fn one_worker() {
    multi(1, 1, scale(2000));
}

#[test]
fn two_workers() {
    multi(2, 2, scale(4000));
}

#[test]
fn eight_workers() {
    multi(8, 8, scale(4000));
}

#[test]
fn sixty_four_workers() {
    multi(64, 64, scale(4000));
}

#[test]
fn two_hundred_workers() {
    multi(200, 200, scale(4000));
}

#[test]
fn current_thread() {
    let rt = Builder::new_current_thread().enable_all().build().unwrap();
    run(rt, false, 0, scale(2000));
}

#[test]
fn several_runtimes_at_once() {
    let threads: Vec<_> = (0..4)
        .map(|i| std::thread::spawn(move || multi(2, 1000 + i, scale(500))))
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn many_short_lives() {
    for i in 0..scale(40) {
        multi(1 + i % 3, 2000 + i as u64, 20);
    }
}

#[test]
fn without_stealing_and_without_a_lifo_slot() {
    for (stealing, lifo) in [(false, 3), (true, 0), (false, 0)] {
        let mut builder = Builder::new_multi_thread();
        builder
            .worker_threads(3)
            .enable_stealing(stealing)
            .lifo_limit(lifo);
        let rt = builder.enable_all().build().unwrap();
        run(rt, true, 31, scale(1000));
    }
}
