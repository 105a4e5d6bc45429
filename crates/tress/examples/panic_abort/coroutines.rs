//! Coroutines that end, are aborted, and are left behind.

use std::cell::Cell;
use std::sync::Arc;
use tress::coroutine;
use tress::runtime::{Builder, Runtime};
use tress::sync::Semaphore;

/// Checks all three ways on both schedulers.
pub fn check() -> std::io::Result<()> {
    let mut current = Builder::new_current_thread();
    let mut workers = Builder::new_multi_thread();
    for builder in [current.enable_all(), workers.worker_threads(2).enable_all()] {
        ends(&builder.build()?);
        is_aborted(&builder.build()?);
        is_left_behind(builder.build()?);
    }
    println!("coroutines that could not unwind were left behind");
    Ok(())
}

/// What comes to its end does so as ever.
fn ends(rt: &Runtime) {
    let sum = rt.block_on(async {
        coroutine::spawn(|| {
            let sum = Cell::new(0);
            coroutine::scope(|scope| {
                for n in 1..=4 {
                    let sum = &sum;
                    scope.spawn(move || {
                        coroutine::yield_now();
                        sum.set(sum.get() + n);
                    });
                }
            });
            sum.get()
        })
        .await
        .unwrap()
    });
    assert_eq!(sum, 10);
}

/// Says that it has got so far, and waits for ever.
fn wait_for_ever(started: &Semaphore) {
    started.add_permits(1);
    coroutine::wait(std::future::pending::<()>());
}

fn is_aborted(rt: &Runtime) {
    rt.block_on(async {
        let (owned, started) = (Arc::new(()), Arc::new(Semaphore::new(0)));
        let (kept, tell) = (owned.clone(), started.clone());
        let waits = coroutine::spawn(move || {
            let _kept = kept;
            wait_for_ever(&tell);
        });
        let _started = started.acquire().await.unwrap();
        waits.abort();
        assert!(waits.await.unwrap_err().is_cancelled());
        assert_eq!(Arc::strong_count(&owned), 2, "its destructors do not run");
    });
}

/// The runtime ends while coroutines and the children of a scope wait.
fn is_left_behind(rt: Runtime) {
    rt.block_on(async {
        let started = Arc::new(Semaphore::new(0));
        let tell = started.clone();
        coroutine::spawn(move || {
            let data = [1, 2, 3];
            coroutine::scope(|scope| {
                for _ in &data {
                    scope.spawn(|| wait_for_ever(&tell));
                }
            });
        });
        let _started = started.acquire_many(3).await.unwrap();
    });
    drop(rt);
}
