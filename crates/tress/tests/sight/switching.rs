//! Sight is switched on and off while tasks run.

use super::support::{alone, dump, settle, wait, waits};
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tress::runtime::Builder;
use tress::sync::{Mutex, Notify, Semaphore};
use tress::task::{spawn, yield_now};
use tress::trace::keep_sight_on;

#[test]
fn it_is_off_unless_asked_for() {
    let _alone = alone();
    let rt = Builder::new_current_thread().build().unwrap();
    rt.block_on(async {
        let notify = Arc::new(Notify::new());
        let waits_for = notify.clone();
        let task = spawn(async move {
            loop {
                waits_for.notified().await;
            }
        });
        settle().await;
        assert_eq!(waits(task.id()), [""; 0]);
        assert!(!dump().contains("block_on at"));

        let on = keep_sight_on();
        let another = keep_sight_on();
        settle().await;
        assert_eq!(waits(task.id()), [""; 0], "it has not been polled since");
        notify.notify_one();
        settle().await;
        assert!(wait(task.id()).contains("waits for a Notify"));
        drop(on);
        assert!(
            wait(task.id()).contains("waits for a Notify"),
            "wanted by another"
        );
        drop(another);
        let _on = keep_sight_on();
        assert_eq!(waits(task.id()), [""; 0], "what was noted is forgotten");
    });
}

/// What is acquired or released while it is off is not known, and nothing wrong is said of it.
#[test]
fn a_lock_is_taken_or_released_while_it_is_off() {
    let _alone = alone();
    let rt = Builder::new_current_thread().build().unwrap();
    rt.block_on(async {
        let mutex = Arc::new(Mutex::new(()));
        let waiter = |lock: &Arc<Mutex<()>>| {
            let lock = lock.clone();
            spawn(async move { drop(lock.lock().await) })
        };
        let guard = mutex.clone().lock_owned().await;
        let on = keep_sight_on();
        let task = waiter(&mutex);
        settle().await;
        assert!(!wait(task.id()).contains("held by"), "{}", wait(task.id()));
        drop(guard);
        task.await.unwrap();

        let holds = mutex.clone().lock_owned().await;
        drop(on);
        drop(holds);
        let guard = mutex.clone().lock_owned().await;
        let on = keep_sight_on();
        let task = waiter(&mutex);
        settle().await;
        assert!(!wait(task.id()).contains("held by"), "{}", wait(task.id()));
        drop((guard, on));
        task.await.unwrap();
    });
}

/// Eight tasks acquire and release while sight is switched. In the end each semaphore has the holder that it has.
#[test]
fn switching_under_load_leaves_nothing_stale() {
    const TASKS: usize = 8;
    let rounds = if cfg!(miri) { 20 } else { 10_000 };
    let _alone = alone();
    let rt = Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()
        .unwrap();
    let locks: Arc<Vec<Semaphore>> = Arc::new((0..3).map(|_| Semaphore::new(1)).collect());
    let over = Arc::new(AtomicBool::new(false));
    let switcher = std::thread::spawn({
        let over = over.clone();
        move || {
            while !over.load(Ordering::Relaxed) {
                let on = keep_sight_on();
                std::thread::yield_now();
                drop(on);
            }
        }
    });
    rt.block_on(async {
        let tasks: Vec<_> = (0..TASKS)
            .map(|task| {
                let locks = locks.clone();
                spawn(async move {
                    for round in 0..rounds {
                        let lock = &locks[(task + round) % locks.len()];
                        let _permit = lock.acquire().await.unwrap();
                        if round % 7 == 0 {
                            yield_now().await;
                        }
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
    let _on = keep_sight_on();
    over.store(true, Ordering::Relaxed);
    switcher.join().unwrap();
    rt.block_on(async {
        for n in 0..locks.len() {
            assert_eq!(locks[n].available_permits(), 1);
            let lock = locks.clone();
            let holds = spawn(async move {
                let _permit = lock[n].acquire().await.unwrap();
                pending::<()>().await;
            });
            while locks[n].available_permits() > 0 {
                yield_now().await;
            }
            let lock = locks.clone();
            let task = spawn(async move { drop(lock[n].acquire().await) });
            while waits(task.id()).is_empty() {
                yield_now().await;
            }
            let line = wait(task.id());
            let holder = format!(", held by task {} for ", holds.id());
            assert!(line.contains(&holder), "{line}");
            assert!(!line.contains(" and "), "{line}");
            holds.abort();
            task.await.unwrap();
        }
    });
}
