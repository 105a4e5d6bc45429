//! Each lock knows which task holds it, for as long as it does.

use super::support::{run, settle, wait, waits};
use std::future::{Future, pending};
use std::mem;
use std::sync::Arc;
use tress::sync::{
    Mutex, MutexGuard, OnceCell, OwnedMutexGuard, OwnedRwLockWriteGuard, RwLock, RwLockReadGuard,
    RwLockWriteGuard, Semaphore, oneshot,
};
use tress::task::{JoinHandle, spawn, spawn_blocking, yield_now};

/// Spawns a task that waits for a future, and returns what the dump says of its holders.
async fn holders_for<F>(waits_for: F) -> String
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    let task = spawn(async move {
        drop(waits_for.await);
    });
    settle().await;
    let line = wait(task.id());
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    match line.split_once(", held by ") {
        Some((_, holders)) => holders.to_owned(),
        None => String::new(),
    }
}

/// Spawns a task that holds what `take` returns.
async fn holder<F>(take: F) -> JoinHandle<()>
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    let task = spawn(async move {
        let _held = take.await;
        pending::<()>().await;
    });
    settle().await;
    task
}

/// Checks that `task` is said to hold what is waited for, and the only one.
#[track_caller]
fn assert_holds(task: &JoinHandle<()>, holders: &str) {
    let expected = format!("task {} for ", task.id());
    assert!(holders.starts_with(&expected), "{expected}: {holders:?}");
    assert!(!holders.contains(" and "), "{holders:?}");
}

#[test]
fn guards_of_a_mutex() {
    run(async {
        let mutex = Arc::new(Mutex::new((0, 0)));
        let other = || mutex.clone().lock_owned();

        let lock = mutex.clone();
        let task = spawn(async move {
            let _guard = lock.lock().await;
            pending::<()>().await;
        });
        settle().await;
        assert_holds(&task, &holders_for(other()).await);
        task.abort();
        settle().await;

        let lock = mutex.clone();
        let task = spawn(async move {
            let guard = lock.try_lock().unwrap();
            let _part = MutexGuard::map(guard, |pair| &mut pair.0);
            pending::<()>().await;
        });
        settle().await;
        assert_holds(&task, &holders_for(other()).await);
        task.abort();
        settle().await;

        let task = holder(other()).await;
        assert_holds(&task, &holders_for(other()).await);
        task.abort();
        settle().await;

        let lock = mutex.clone();
        let task = holder(async move {
            let guard = lock.try_lock_owned().unwrap();
            OwnedMutexGuard::map(guard, |pair| &mut pair.1)
        });
        let task = task.await;
        assert_holds(&task, &holders_for(other()).await);
        task.abort();
        settle().await;
        assert!(mutex.try_lock().is_ok());
    });
}

#[test]
fn a_lock_that_is_handed_over_has_a_new_holder() {
    run(async {
        let mutex = Arc::new(Mutex::new(()));
        let first = holder(mutex.clone().lock_owned()).await;
        let second = holder(mutex.clone().lock_owned()).await;
        let third = holder(mutex.clone().lock_owned()).await;
        assert!(wait(second.id()).contains(&format!(", held by task {} for ", first.id())));
        first.abort();
        settle().await;
        assert_eq!(waits(second.id()), [""; 0]);
        assert!(wait(third.id()).contains(&format!(", held by task {} for ", second.id())));
        second.abort();
        third.abort();
        settle().await;
        assert!(mutex.try_lock().is_ok());
    });
}

#[test]
fn a_guard_may_be_dropped_by_another_task_or_never() {
    run(async {
        let mutex = Arc::new(Mutex::new(()));
        let guard = spawn(mutex.clone().lock_owned()).await.unwrap();
        spawn(async move { drop(guard) }).await.unwrap();
        let task = holder(mutex.clone().lock_owned()).await;
        assert_holds(&task, &holders_for(mutex.clone().lock_owned()).await);
        task.abort();
        settle().await;

        let lock = mutex.clone();
        let task = spawn(async move {
            mem::forget(lock.lock().await);
            pending::<()>().await;
        });
        settle().await;
        assert_holds(&task, &holders_for(mutex.clone().lock_owned()).await);
    });
}

#[test]
fn guards_of_a_read_write_lock() {
    run(async {
        let lock = Arc::new(RwLock::new((0, 0)));
        let writer = || lock.clone().write_owned();
        let reader = || lock.clone().read_owned();

        let task = holder(writer()).await;
        assert_holds(&task, &holders_for(reader()).await);
        task.abort();
        settle().await;

        let (one, two) = (holder(reader()).await, holder(reader()).await);
        let holders = holders_for(writer()).await;
        for task in [&one, &two] {
            assert!(
                holders.contains(&format!("task {} for ", task.id())),
                "{holders}"
            );
        }
        one.abort();
        settle().await;
        assert_holds(&two, &holders_for(writer()).await);
        two.abort();
        settle().await;

        // One that becomes a reader still holds it.
        let written = lock.clone();
        let task = spawn(async move {
            let guard = written.write().await;
            let guard = RwLockWriteGuard::downgrade(guard);
            let _part = RwLockReadGuard::map(guard, |pair| &pair.0);
            pending::<()>().await;
        });
        settle().await;
        assert_holds(&task, &holders_for(writer()).await);
        task.abort();
        settle().await;
        let written = writer();
        let task = holder(async { OwnedRwLockWriteGuard::downgrade(written.await) }).await;
        assert_holds(&task, &holders_for(writer()).await);
        task.abort();
        settle().await;
        let written = writer();
        let mapped = async { OwnedRwLockWriteGuard::map(written.await, |pair| &mut pair.0) };
        let task = holder(mapped).await;
        assert_holds(&task, &holders_for(reader()).await);
        task.abort();
        settle().await;
        assert!(lock.try_write().is_ok());
    });
}

#[test]
fn permits() {
    run(async {
        let semaphore = Arc::new(Semaphore::new(3));
        let all = || semaphore.clone().acquire_many_owned(3);
        let one = || semaphore.clone().acquire_owned();

        let task = holder(one()).await;
        assert_holds(&task, &holders_for(all()).await);
        // Added ones are nobody's.
        semaphore.add_permits(1);
        semaphore.forget_permits(1);
        assert_holds(&task, &holders_for(all()).await);
        task.abort();
        settle().await;

        let many = semaphore.clone();
        let (split, told) = oneshot::channel::<()>();
        let task = spawn(async move {
            let mut permits = many.acquire_many(2).await.unwrap();
            let mut part = permits.split(1).unwrap();
            assert!(permits.split(0).is_some());
            part.merge(permits);
            drop(part.split(2));
            assert_eq!(part.num_permits(), 0);
            split.send(()).unwrap();
            pending::<()>().await;
        });
        told.await.unwrap();
        let other = holder(one()).await;
        assert_holds(&other, &holders_for(all()).await);
        task.abort();
        other.abort();
        settle().await;

        // Forgotten permits do not come back, and nobody holds them.
        one().await.unwrap().forget();
        assert_eq!(holders_for(all()).await, "");
        let nothing = semaphore.try_acquire_many(0).unwrap();
        drop(nothing);
        assert_eq!(holders_for(all()).await, "");
        let five: Vec<_> = (0..5)
            .map(|_| {
                semaphore.add_permits(1);
                semaphore.clone().try_acquire_owned().unwrap()
            })
            .collect();
        let holders = holders_for(semaphore.clone().acquire_many_owned(7)).await;
        assert!(holders.ends_with(" and 1 more"), "{holders}");
        drop(five);
        assert_eq!(
            holders_for(semaphore.clone().acquire_many_owned(8)).await,
            ""
        );
    });
}

#[test]
fn the_task_that_makes_a_value() {
    run(async {
        let cell = Arc::new(OnceCell::<()>::new());
        let make = |cell: &Arc<OnceCell<()>>| {
            let cell = cell.clone();
            async move {
                cell.get_or_init(pending).await;
            }
        };
        let maker = holder(make(&cell)).await;
        assert_holds(&maker, &holders_for(make(&cell)).await);
        let next = spawn(make(&cell));
        settle().await;
        maker.abort();
        settle().await;
        assert_holds(&next, &holders_for(make(&cell)).await);
        next.abort();
        settle().await;
        cell.get_or_init(async || ()).await;
    });
}

#[test]
fn a_thread_that_is_no_task() {
    run(async {
        let mutex = Arc::new(Mutex::new(()));
        let lock = mutex.clone();
        let (held, is_held) = oneshot::channel();
        let (let_go, until) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let _guard = lock.blocking_lock();
            held.send(()).unwrap();
            until.recv().unwrap_err();
        });
        is_held.await.unwrap();
        let holders = holders_for(mutex.clone().lock_owned()).await;
        assert!(
            holders.starts_with("something that is no task for "),
            "{holders}"
        );
        drop(let_go);
        thread.join().unwrap();

        // A closure of the blocking pool has a number, and waits as a task does.
        let guard = mutex.clone().lock_owned().await;
        let lock = mutex.clone();
        let closure = spawn_blocking(move || drop(lock.blocking_lock()));
        while !waits(closure.id())
            .iter()
            .any(|line| line.contains("waits for a Mutex"))
        {
            yield_now().await;
        }
        drop(guard);
        closure.await.unwrap();
    });
}

/// What lies where a lock was has no old holder.
#[test]
fn a_lock_that_is_dropped_is_forgotten() {
    run(async {
        let mut place = Box::new(Semaphore::new(1));
        mem::forget(place.try_acquire().unwrap());
        *place = Semaphore::new(0);
        let holders = holders_for(async move { drop(place.acquire().await) }).await;
        assert_eq!(holders, "");
    });
}
