//! Faults that services have, planted in the running one.

use super::args::Fault;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tress::runtime::Runtime;
use tress::sync::{Barrier, Mutex, Semaphore};
use tress::task;

/// Tasks that the convoy and the starvation consist of.
const CROWD: usize = 60;
const FLOOD: usize = 20_000;

/// What was planted, until it is removed.
#[derive(Default)]
pub(super) struct Planted {
    removed: Arc<AtomicBool>,
    stop: CancellationToken,
}

impl Planted {
    pub(super) fn plant(&self, fault: Fault, rt: &Runtime) {
        match fault {
            Fault::Deadlock => self.deadlock(rt),
            Fault::SlowPoll => self.slow_poll(rt),
            Fault::Leak => self.leak(rt),
            Fault::Convoy => self.convoy(rt),
            Fault::Starve => self.starve(rt),
        }
    }

    /// Ends what has to be ended by itself. The runtime's shutdown drops the rest.
    pub(super) fn remove(&self) {
        self.removed.store(true, Ordering::Relaxed);
        self.stop.cancel();
    }

    #[track_caller]
    fn spawn<F>(&self, rt: &Runtime, name: &str, future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let stopped = self.stop.clone().run_until_cancelled_owned(future);
        let named = task::Builder::new().name(name);
        let future = async move {
            // Nothing, if it was stopped.
            stopped.await.unwrap_or_default();
        };
        // The task ends with the runtime, or when it is stopped.
        drop(named.spawn_on(future, rt.handle()));
    }

    fn deadlock(&self, rt: &Runtime) {
        let accounts = Arc::new(Mutex::new(100));
        let journal = Arc::new(Mutex::new(Vec::new()));
        let both_have_one = Arc::new(Barrier::new(2));
        let (first, second, both) = (accounts.clone(), journal.clone(), both_have_one.clone());
        self.spawn(rt, "transfer", async move {
            let mut account = first.lock().await;
            both.wait().await;
            second.lock().await.push(*account);
            *account = 0;
        });
        self.spawn(rt, "audit", async move {
            let mut journal = journal.lock().await;
            both_have_one.wait().await;
            journal.push(*accounts.lock().await);
        });
    }

    fn slow_poll(&self, rt: &Runtime) {
        let removed = self.removed.clone();
        self.spawn(rt, "report", async move {
            while !removed.load(Ordering::Relaxed) {
                // It should be tress::time::sleep: this keeps the worker from everything else.
                std::thread::sleep(Duration::from_millis(400));
                task::yield_now().await;
            }
        });
    }

    fn leak(&self, rt: &Runtime) {
        let never = Arc::new(Semaphore::new(0));
        let handle = rt.handle().clone();
        self.spawn(rt, "accept", async move {
            let mut ticks = tress::time::interval(Duration::from_millis(2));
            loop {
                ticks.tick().await;
                let never = never.clone();
                // Waits for a permit that nobody gives.
                handle.spawn(async move { drop(never.acquire_owned().await) });
            }
        });
    }

    fn convoy(&self, rt: &Runtime) {
        let cache = Arc::new(Mutex::new(0_u64));
        for _ in 0..CROWD {
            let cache = cache.clone();
            self.spawn(rt, "cache", async move {
                loop {
                    let mut cache = cache.lock().await;
                    *cache += 1;
                    // The lock is held over an await that takes its time.
                    tress::time::sleep(Duration::from_millis(2)).await;
                }
            });
        }
    }

    fn starve(&self, rt: &Runtime) {
        for _ in 0..FLOOD {
            let removed = self.removed.clone();
            rt.spawn(async move {
                while !removed.load(Ordering::Relaxed) {
                    task::yield_now().await;
                }
            });
        }
    }
}
