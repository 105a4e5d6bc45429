//! What the primitives promise, one at a time: order, hand-over, budget, blocking, panics.

mod sync_support;

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use sync_support::{Random, Task, task};
use tress::runtime::{Builder, Runtime};
use tress::sync::{
    Barrier, CancellationToken, MappedMutexGuard, Mutex, MutexGuard, Notify, OnceCell,
    OwnedMutexGuard, OwnedRwLockWriteGuard, RwLock, RwLockWriteGuard, Semaphore, SetOnce,
    TryAcquireError,
};
use tress::task::{consume_budget, coop, yield_now};

/// An unlock hands the lock over: nobody gets in between, not even the one who unlocks.
#[test]
fn unlocking_hands_over_to_the_first_in_line() {
    let mutex = Mutex::new(0);
    let guard = mutex.try_lock().unwrap();
    let mut waiting: Vec<_> = (0..3).map(|_| task(mutex.lock())).collect();
    waiting.iter_mut().for_each(Task::pending);
    drop(guard);
    for i in 0..3 {
        assert!(mutex.try_lock().is_err());
        let mut latecomer = task(mutex.lock());
        latecomer.pending();
        assert!(waiting[i].is_woken());
        assert!(waiting[i + 1..].iter().all(|t| !t.is_woken()));
        drop(latecomer);
        drop(waiting[i].ready());
    }
    assert!(mutex.try_lock().is_ok());
}

/// In any order of arrival and departure, those who stay are served as they came.
#[test]
fn locks_are_given_in_the_order_of_arrival() {
    for seed in 0..50 {
        let mut random = Random::new(seed);
        let semaphore = Arc::new(Semaphore::new(0));
        let mut line = Vec::new();
        for i in 0..20 {
            let n = 1 + random.below(3);
            let mut acquire = task(semaphore.clone().acquire_many_owned(n as u32));
            acquire.pending();
            line.push((i, n, acquire));
        }
        for _ in 0..5 {
            drop(line.remove(random.below(line.len())));
        }
        let mut served = Vec::new();
        let mut permits = Vec::new();
        for (i, n, acquire) in &mut line {
            for k in 1..=*n {
                assert!(!acquire.is_woken());
                semaphore.add_permits(1);
                assert_eq!(acquire.is_woken(), k == *n);
            }
            permits.push(acquire.ready().unwrap());
            served.push(*i);
        }
        assert!(served.is_sorted());
        let total: usize = line.iter().map(|(_, n, _)| n).sum();
        drop(permits);
        assert_eq!(semaphore.available_permits(), total);
    }
}

#[test]
fn a_reader_does_not_pass_a_waiting_writer() {
    let lock = RwLock::new(0);
    let reader = lock.try_read().unwrap();
    let mut writer = task(lock.write());
    writer.pending();
    assert!(lock.try_read().is_err());
    let mut late = task(lock.read());
    late.pending();
    drop(reader);
    assert!(writer.is_woken() && !late.is_woken());
    drop(writer.ready());
    assert!(late.is_woken());
    assert_eq!(*late.ready(), 0);
}

#[test]
fn a_downgrade_lets_readers_in_but_no_writer() {
    let lock = RwLock::new(1);
    let guard = lock.try_write().unwrap();
    let mut reader = task(lock.read());
    reader.pending();
    let mut writer = task(lock.write());
    writer.pending();
    let guard = guard.downgrade();
    let other = reader.ready();
    writer.pending();
    drop((guard, other));
    drop(writer.ready());
}

#[test]
fn mapping_keeps_the_lock_and_a_panic_releases_it() {
    let mutex = Mutex::new((1, 2));
    let part = MutexGuard::map(mutex.try_lock().unwrap(), |pair| &mut pair.1);
    let mut part = MappedMutexGuard::map(part, |two| two);
    *part += 1;
    assert!(mutex.try_lock().is_err());
    drop(part);
    assert_eq!(*mutex.try_lock().unwrap(), (1, 3));

    for panics in [
        &(|| {
            drop(MutexGuard::map(mutex.try_lock().unwrap(), |_| -> &mut u8 {
                panic!()
            }))
        }) as &dyn Fn(),
        &|| {
            drop(MutexGuard::try_map(
                mutex.try_lock().unwrap(),
                |_| -> Option<&mut u8> { panic!() },
            ))
        },
    ] {
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        assert!(mutex.try_lock().is_ok());
    }

    let mutex = Arc::new(mutex);
    let lock = Arc::new(RwLock::new(5));
    for panics in [
        &(|| {
            let guard = mutex.clone().try_lock_owned().unwrap();
            drop(OwnedMutexGuard::map(guard, |_| -> &mut u8 { panic!() }));
        }) as &dyn Fn(),
        &|| {
            let guard = lock.try_write().unwrap();
            drop(RwLockWriteGuard::downgrade_map(guard, |_| -> &u8 {
                panic!()
            }));
        },
        &|| {
            let guard = lock.clone().try_write_owned().unwrap();
            drop(OwnedRwLockWriteGuard::map(guard, |_| -> &mut u8 {
                panic!()
            }));
        },
    ] {
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        assert!(mutex.try_lock().is_ok() && lock.try_write().is_ok());
    }
}

/// A holder that panics releases the lock; it is not poisoned.
#[test]
fn a_panic_unlocks() {
    let rt = Runtime::new().unwrap();
    let mutex = Arc::new(Mutex::new(1));
    let other = mutex.clone();
    let task = rt.spawn(async move {
        let mut guard = other.lock().await;
        *guard = 2;
        panic!("while it holds the lock");
    });
    assert!(rt.block_on(task).unwrap_err().is_panic());
    assert_eq!(*mutex.try_lock().unwrap(), 2);
}

#[test]
fn closing_tells_those_in_line_and_those_who_come() {
    let semaphore = Semaphore::new(1);
    let permit = semaphore.try_acquire().unwrap();
    let mut waiting = task(semaphore.acquire());
    waiting.pending();
    semaphore.close();
    assert!(waiting.is_woken());
    assert!(waiting.ready().is_err());
    assert_eq!(
        semaphore.try_acquire().unwrap_err(),
        TryAcquireError::Closed
    );
    drop(permit);
    assert_eq!(semaphore.available_permits(), 1);
    assert!(task(semaphore.acquire()).ready().is_err());
}

/// A task may not lock for ever without a pause, and does not take the lock into its pause.
#[test]
fn the_budget_ends_a_poll_but_does_not_hold_the_lock() {
    let rt = Builder::new_current_thread().build().unwrap();
    rt.block_on(async {
        let mutex = Mutex::new(0);
        let mut looping = task(async {
            loop {
                *mutex.lock().await += 1;
            }
        });
        coop::cooperative(std::future::poll_fn(|_| {
            looping.pending();
            Poll::Ready(())
        }))
        .await;
        let done = *mutex.try_lock().expect("held over the pause");
        assert!((1..=128).contains(&done));
        // At the end of the round.
        yield_now().await;
        assert!(looping.is_woken());
    });
}

/// A task whose budget is used up gets in line all the same, and is not woken before its turn.
#[test]
fn a_place_in_line_costs_no_budget() {
    let rt = Builder::new_current_thread().build().unwrap();
    rt.block_on(async {
        let mutex = Mutex::new(());
        let guard = mutex.try_lock().unwrap();
        while task(consume_budget()).poll().is_ready() {}
        let (mut first, mut second) = (task(mutex.lock()), task(mutex.lock()));
        first.pending();
        second.pending();
        assert!(!first.is_woken() && !second.is_woken());
        drop(guard);
        assert!(first.is_woken() && !second.is_woken());
    });
}

#[test]
fn every_wait_spends_budget() {
    let rt = Builder::new_current_thread().build().unwrap();
    type Make = fn() -> std::pin::Pin<Box<dyn Future<Output = ()>>>;
    let loops: Vec<(&str, Make)> = vec![
        ("semaphore", || {
            Box::pin(async {
                let semaphore = Semaphore::new(1);
                loop {
                    drop(semaphore.acquire().await);
                }
            })
        }),
        ("closed semaphore", || {
            Box::pin(async {
                let semaphore = Semaphore::new(1);
                semaphore.close();
                loop {
                    assert!(semaphore.acquire().await.is_err());
                }
            })
        }),
        ("rwlock", || {
            Box::pin(async {
                let lock = RwLock::new(1);
                loop {
                    drop(lock.read().await);
                    drop(lock.write().await);
                }
            })
        }),
        ("notify", || {
            Box::pin(async {
                let notify = Notify::new();
                loop {
                    notify.notify_one();
                    notify.notified().await;
                }
            })
        }),
        ("barrier", || {
            Box::pin(async {
                let barrier = Barrier::new(1);
                loop {
                    barrier.wait().await;
                }
            })
        }),
        ("set once", || {
            Box::pin(async {
                let once = SetOnce::from(1);
                loop {
                    once.wait().await;
                }
            })
        }),
        ("token", || {
            Box::pin(async {
                let token = CancellationToken::new();
                token.cancel();
                loop {
                    token.cancelled().await;
                    token.clone().cancelled_owned().await;
                }
            })
        }),
    ];
    for (name, make) in loops {
        rt.block_on(async {
            let mut looping = task(make());
            // Would not return if nothing were spent.
            looping.pending();
            // At the end of the round.
            yield_now().await;
            assert!(looping.is_woken(), "{name}");
        });
    }
}

/// A future that uses its budget up each time is cancelled all the same.
#[test]
fn run_until_cancelled_does_not_depend_on_the_budget() {
    let rt = Builder::new_current_thread().build().unwrap();
    rt.block_on(async {
        let token = CancellationToken::new();
        let mut greedy = task(token.run_until_cancelled(async {
            loop {
                consume_budget().await;
            }
        }));
        greedy.pending();
        token.cancel();
        assert_eq!(greedy.ready(), None::<()>);
    });
}

#[test]
fn a_ready_future_wins_over_a_later_cancellation() {
    let token = CancellationToken::new();
    let notify = Notify::new();
    let mut running = task(token.run_until_cancelled(notify.notified()));
    running.pending();
    notify.notify_one();
    token.cancel();
    assert_eq!(running.ready(), Some(()));
    let polled = AtomicBool::new(false);
    let not_polled = async { polled.store(true, Ordering::Relaxed) };
    assert_eq!(task(token.run_until_cancelled(not_polled)).ready(), None);
    assert!(!polled.into_inner());
}

#[test]
fn notify_waiters_wakes_those_who_waited_and_no_others() {
    let notify = Arc::new(Notify::new());
    // More than one batch.
    let mut before: Vec<_> = (0..100)
        .map(|_| task(notify.clone().notified_owned()))
        .collect();
    for waiting in &mut before[..90] {
        waiting.pending();
    }
    notify.notify_waiters();
    let mut after = task(notify.notified());
    after.pending();
    assert!(before[..90].iter().all(Task::is_woken));
    before.iter_mut().for_each(Task::ready);
    after.pending();
    notify.notify_one();
    after.ready();
}

/// While the waiters are being woken, one of them is dropped and another one comes: the first is
/// not touched any more, the second is not woken.
#[test]
fn the_line_may_change_while_it_is_woken() {
    struct Meddle {
        notify: Arc<Notify>,
        victims: StdMutex<Vec<Task<tress::sync::futures::OwnedNotified>>>,
        newcomers: StdMutex<Vec<Task<tress::sync::futures::OwnedNotified>>>,
    }
    impl Wake for Meddle {
        fn wake(self: Arc<Self>) {
            drop(self.victims.lock().unwrap().pop());
            let mut newcomer = task(self.notify.clone().notified_owned());
            newcomer.pending();
            self.newcomers.lock().unwrap().push(newcomer);
        }
    }
    let notify = Arc::new(Notify::new());
    let meddle = Arc::new(Meddle {
        notify: notify.clone(),
        victims: StdMutex::default(),
        newcomers: StdMutex::default(),
    });
    let waker = Waker::from(meddle.clone());
    let mut cx = Context::from_waker(&waker);
    let mut meddling: Vec<_> = (0..50).map(|_| Box::pin(notify.notified())).collect();
    for notified in &mut meddling {
        assert!(notified.as_mut().poll(&mut cx).is_pending());
        let mut victim = task(notify.clone().notified_owned());
        victim.pending();
        meddle.victims.lock().unwrap().push(victim);
    }
    notify.notify_waiters();
    let newcomers = std::mem::take(&mut *meddle.newcomers.lock().unwrap());
    assert_eq!(newcomers.len(), 50);
    assert!(newcomers.iter().all(|newcomer| !newcomer.is_woken()));
    // Newcomers came in order, and are still in line.
    notify.notify_one();
    assert!(newcomers[0].is_woken());
}

#[test]
fn a_barrier_opens_again_and_again() {
    let barrier = Barrier::new(3);
    for _ in 0..10 {
        let mut waiting: Vec<_> = (0..2).map(|_| task(barrier.wait())).collect();
        waiting.iter_mut().for_each(Task::pending);
        assert!(task(barrier.wait()).ready().is_leader());
        assert!(waiting.iter().all(Task::is_woken));
        for wait in &mut waiting {
            assert!(!wait.ready().is_leader());
        }
    }
}

#[test]
fn a_cell_that_could_not_be_made_stays_empty() {
    let cell = OnceCell::new();
    let mut failing = task(cell.get_or_try_init(|| std::future::ready(Err::<u32, _>("no"))));
    assert_eq!(failing.ready(), Err("no"));
    let mut panicking = task(cell.get_or_init(async || panic!("while making it")));
    assert!(catch_unwind(AssertUnwindSafe(|| panicking.poll())).is_err());
    drop(panicking);
    assert!(!cell.initialized());
    assert_eq!(*task(cell.get_or_init(async || 3)).ready(), 3);
    assert_eq!(cell.clone(), cell);
    assert_eq!(format!("{cell:?}"), "OnceCell { value: Some(3) }");
}

/// Blocking functions panic, at the caller's line, on a thread that drives tasks.
#[test]
fn blocking_in_a_task_panics_in_this_file() {
    let rt = Builder::new_current_thread().build().unwrap();
    let mutex = Arc::new(Mutex::new(1));
    let lock = RwLock::new(1);
    let semaphore = Arc::new(Semaphore::new(1));
    let blocking: [&dyn Fn(); 8] = [
        &|| drop(mutex.blocking_lock()),
        &|| drop(mutex.clone().blocking_lock_owned()),
        &|| drop(lock.blocking_read()),
        &|| drop(lock.blocking_write()),
        &|| drop(semaphore.blocking_acquire()),
        &|| drop(semaphore.blocking_acquire_many(1)),
        &|| drop(semaphore.clone().blocking_acquire_owned()),
        &|| drop(semaphore.clone().blocking_acquire_many_owned(1)),
    ];
    for f in blocking {
        let file = panic_file(|| rt.block_on(async { f() }));
        assert_eq!(file.as_deref(), Some(file!()));
        // Where tasks are not driven it is fine, also in a runtime's context.
        let _entered = rt.enter();
        f();
    }
}

#[test]
fn other_panics_are_in_this_file_too() {
    let (one, two) = (Semaphore::new(1), Semaphore::new(1));
    let panics: [&dyn Fn(); 5] = [
        &|| {
            Semaphore::new(Semaphore::MAX_PERMITS + 1);
        },
        &|| one.add_permits(Semaphore::MAX_PERMITS),
        &|| {
            let mut permit = one.try_acquire().unwrap();
            permit.merge(two.try_acquire().unwrap());
        },
        &|| {
            RwLock::with_max_readers(0, 0);
        },
        &|| {
            RwLock::with_max_readers(0, u32::MAX);
        },
    ];
    for f in panics {
        let file = panic_file(f);
        assert_eq!(file.as_deref(), Some(file!()));
    }
    assert_eq!((one.available_permits(), two.available_permits()), (1, 1));
}

/// The file in which `f` panics.
fn panic_file(f: impl FnOnce()) -> Option<String> {
    // The hook is the process's: one test at a time.
    static HOOK: StdMutex<()> = StdMutex::new(());
    let _alone = HOOK.lock().unwrap_or_else(PoisonError::into_inner);
    let file = Arc::new(StdMutex::new(None));
    let previous = std::panic::take_hook();
    let seen = file.clone();
    let thread = std::thread::current().id();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().id() == thread {
            *seen.lock().unwrap() = info.location().map(|at| at.file().to_owned());
        }
    }));
    let panicked = catch_unwind(AssertUnwindSafe(f));
    std::panic::set_hook(previous);
    assert!(panicked.is_err());
    file.lock().unwrap().take()
}

/// A waker that runs the primitive's own functions when it is woken or dropped finds no lock held.
#[test]
fn wakers_may_use_what_wakes_them() {
    struct Reenter {
        semaphore: Arc<Semaphore>,
        notify: Arc<Notify>,
        token: CancellationToken,
        woken: AtomicUsize,
    }
    impl Reenter {
        fn reenter(&self) {
            self.semaphore.add_permits(1);
            self.notify.notify_waiters();
            self.notify.notify_one();
            self.token.child_token().cancel();
        }
    }
    impl Wake for Reenter {
        fn wake(self: Arc<Self>) {
            self.woken.fetch_add(1, Ordering::Relaxed);
            self.reenter();
        }
    }
    impl Drop for Reenter {
        fn drop(&mut self) {
            self.reenter();
        }
    }
    let semaphore = Arc::new(Semaphore::new(0));
    let notify = Arc::new(Notify::new());
    let token = CancellationToken::new();
    let waker = || {
        Waker::from(Arc::new(Reenter {
            semaphore: semaphore.clone(),
            notify: notify.clone(),
            token: token.clone(),
            woken: AtomicUsize::new(0),
        }))
    };
    let mut acquire = Box::pin(semaphore.acquire());
    let mut notified = Box::pin(notify.notified());
    let mut cancelled = Box::pin(token.cancelled());
    for _ in 0..2 {
        // The second waker replaces the first, which is dropped by that.
        let _ = acquire.as_mut().poll(&mut Context::from_waker(&waker()));
        let _ = notified.as_mut().poll(&mut Context::from_waker(&waker()));
        let _ = cancelled.as_mut().poll(&mut Context::from_waker(&waker()));
    }
    semaphore.add_permits(1);
    notify.notify_waiters();
    token.cancel();
    semaphore.close();
    drop((acquire, notified, cancelled));
}

#[test]
fn debug_tells_the_state() {
    let mutex = Mutex::new("data");
    assert_eq!(format!("{mutex:?}"), r#"Mutex { data: "data" }"#);
    let guard = mutex.try_lock().unwrap();
    assert_eq!(format!("{mutex:?}"), "Mutex { data: <locked> }");
    assert_eq!(format!("{guard:?} {guard}"), r#""data" data"#);
    let lock = RwLock::new(1);
    assert_eq!(format!("{lock:?}"), "RwLock { data: 1 }");
    let _guard = lock.try_write().unwrap();
    assert_eq!(format!("{lock:?}"), "RwLock { data: <locked> }");
    let token = CancellationToken::default();
    assert_eq!(
        format!("{token:?}"),
        "CancellationToken { is_cancelled: false }"
    );
}

/// Formatting holds no lock: what the text is written to may use what is formatted.
#[test]
fn debug_of_notify_holds_no_lock() {
    struct Notifying<'a>(&'a Notify);

    impl std::fmt::Write for Notifying<'_> {
        fn write_str(&mut self, _: &str) -> std::fmt::Result {
            self.0.notify_one();
            Ok(())
        }
    }

    let notify = Notify::new();
    // More than there are pieces of text, so that each of them finds the queue in use.
    let mut waiting: Vec<_> = (0..100).map(|_| task(notify.notified())).collect();
    waiting.iter_mut().for_each(Task::pending);
    std::fmt::write(&mut Notifying(&notify), format_args!("{notify:?}")).unwrap();
    waiting[0].ready();
    waiting[99].pending();
}
