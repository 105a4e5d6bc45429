//! Threads of a host: they are simulated, and see what threads of a real machine see.

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex, RwLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use tress_sim::{Builder, sim_elapsed};

const SECOND: Duration = Duration::from_secs(1);

/// Runs a program on the only host.
fn on_a_host(f: impl FnOnce() + 'static) {
    let mut sim = Builder::new().simulation_duration(100 * SECOND).build();
    sim.client("host", async {
        f();
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn each_has_thread_local_variables_of_its_own() {
    thread_local! {
        static MINE: Cell<u32> = const { Cell::new(0) };
        static TEXT: RefCell<String> = RefCell::new("new".into());
    }
    MINE.set(7);
    on_a_host(|| {
        assert_eq!(MINE.get(), 0);
        MINE.set(1);
        let others: Vec<_> = (2..50)
            .map(|n| {
                thread::spawn(move || {
                    MINE.set(n);
                    TEXT.with_borrow_mut(|text| text.push_str(&n.to_string()));
                    thread::sleep(SECOND);
                    assert_eq!(MINE.get(), n);
                    TEXT.with_borrow(|text| assert_eq!(*text, format!("new{n}")));
                })
            })
            .collect();
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(MINE.get(), 1);
        TEXT.with_borrow(|text| assert_eq!(text, "new"));
    });
    assert_eq!(MINE.get(), 7);
}

#[test]
fn destructors_of_thread_local_variables_run_at_the_end_of_a_thread() {
    struct Count(Arc<AtomicUsize>);
    impl Drop for Count {
        fn drop(&mut self) {
            // It may wait.
            thread::sleep(SECOND);
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    thread_local! {
        static COUNT: RefCell<Option<Count>> = const { RefCell::new(None) };
    }
    let dropped = Arc::new(AtomicUsize::new(0));
    let counted = dropped.clone();
    on_a_host(move || {
        let start = Instant::now();
        for n in 1..=10 {
            let counted = counted.clone();
            let other = thread::spawn(move || COUNT.set(Some(Count(counted))));
            other.join().unwrap();
            assert_eq!(counted_of(&COUNT), 0);
            assert!(start.elapsed() >= n * SECOND);
        }
    });
    assert_eq!(dropped.load(Ordering::Relaxed), 10);

    fn counted_of(count: &'static thread::LocalKey<RefCell<Option<Count>>>) -> usize {
        count.with_borrow(|count| usize::from(count.is_some()))
    }
}

#[test]
fn sleeps_take_virtual_time_only() {
    let real = Instant::now();
    on_a_host(|| {
        let start = Instant::now();
        let others: Vec<_> = (0..5)
            .map(|n| thread::spawn(move || thread::sleep(n * SECOND)))
            .collect();
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(start.elapsed().as_secs(), 4);
        assert_eq!(sim_elapsed().unwrap().as_secs(), 4);
    });
    assert!(real.elapsed() < 4 * SECOND);
}

#[test]
fn locks_and_conditions_of_the_standard_library_wait() {
    on_a_host(|| {
        let pair = Arc::new((Mutex::new(0), Condvar::new()));
        let others: Vec<_> = (0..4)
            .map(|_| {
                let pair = pair.clone();
                thread::spawn(move || {
                    let mut number = pair.0.lock().unwrap();
                    // Others wait for the lock meanwhile.
                    thread::sleep(SECOND);
                    *number += 1;
                    pair.1.notify_all();
                })
            })
            .collect();
        let number = pair.0.lock().unwrap();
        let number = pair.1.wait_while(number, |number| *number < 4).unwrap();
        assert_eq!(*number, 4);
        drop(number);
        for other in others {
            other.join().unwrap();
        }
        let timed = pair.1.wait_timeout(pair.0.lock().unwrap(), SECOND).unwrap();
        assert!(timed.1.timed_out());
        assert_eq!(sim_elapsed().unwrap().as_secs(), 5);
    });
}

#[test]
fn barriers_channels_and_scopes_work() {
    on_a_host(|| {
        let barrier = Barrier::new(10);
        let sum = RwLock::new(0);
        let (sender, receiver) = mpsc::sync_channel(1);
        thread::scope(|scope| {
            for n in 0..10 {
                let (barrier, sum, sender) = (&barrier, &sum, sender.clone());
                scope.spawn(move || {
                    barrier.wait();
                    *sum.write().unwrap() += n;
                    sender.send(n).unwrap();
                });
            }
            drop(sender);
            assert_eq!(receiver.iter().sum::<u32>(), 45);
        });
        assert_eq!(*sum.read().unwrap(), 45);
        assert!(receiver.recv_timeout(SECOND).is_err());
    });
}

#[test]
fn parking_works_with_and_without_a_limit() {
    on_a_host(|| {
        let this = thread::current();
        let other = thread::spawn(move || {
            thread::sleep(SECOND);
            this.unpark();
        });
        thread::park();
        assert_eq!(sim_elapsed().unwrap().as_secs(), 1);
        thread::park_timeout(SECOND);
        assert_eq!(sim_elapsed().unwrap().as_secs(), 2);
        other.join().unwrap();
    });
}

#[test]
fn a_panic_of_a_thread_is_its_own() {
    on_a_host(|| {
        let panicked = thread::spawn(|| {
            thread::sleep(SECOND);
            panic!("of a thread");
        });
        let panic = panicked.join().unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"of a thread"));
    });
}

#[test]
fn names_and_ids_are_those_of_the_thread() {
    on_a_host(|| {
        assert_eq!(thread::current().name(), Some("host"));
        let other = thread::Builder::new()
            .name("other".into())
            .stack_size(256 * 1024);
        let id = other
            .spawn(|| {
                assert_eq!(thread::current().name(), Some("other"));
                thread::current().id()
            })
            .unwrap();
        assert_ne!(id.join().unwrap(), thread::current().id());
    });
}

#[test]
fn many_threads_come_and_go() {
    on_a_host(|| {
        for _ in 0..20 {
            let others: Vec<_> = (0..50)
                .map(|n| thread::spawn(move || thread::sleep(n * SECOND / 100)))
                .collect();
            // Half of them are never waited for.
            for other in others.into_iter().step_by(2) {
                other.join().unwrap();
            }
        }
        thread::sleep(SECOND);
    });
}

#[test]
fn threads_that_are_left_behind_do_not_keep_the_simulation() {
    let alive = Arc::new(());
    let kept = alive.clone();
    on_a_host(move || {
        thread::spawn(move || {
            let _kept = kept;
            loop {
                thread::park();
            }
        });
        thread::sleep(SECOND);
    });
    // It was never unwound.
    assert_eq!(Arc::strong_count(&alive), 2);
}

#[test]
fn blocking_closures_are_threads_and_take_their_time() {
    let mut sim = Builder::new().build();
    sim.client("host", async {
        let start = Instant::now();
        let lock = Arc::new(Mutex::new(()));
        let closures: Vec<_> = (0..3)
            .map(|_| {
                let lock = lock.clone();
                tokio::task::spawn_blocking(move || {
                    let _locked = lock.lock().unwrap();
                    thread::sleep(SECOND);
                })
            })
            .collect();
        for closure in closures {
            closure.await?;
        }
        assert_eq!(start.elapsed().as_secs(), 3);
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn a_runtime_of_many_threads_runs_on_a_host() {
    on_a_host(|| {
        let other = thread::spawn(|| {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(4)
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let tasks: Vec<_> = (0..100)
                    .map(|n| {
                        tokio::spawn(async move {
                            tokio::time::sleep(Duration::from_millis(n)).await;
                            tokio::task::block_in_place(|| thread::sleep(SECOND / 100));
                            n
                        })
                    })
                    .collect();
                let mut sum = 0;
                for task in tasks {
                    sum += task.await.unwrap();
                }
                assert_eq!(sum, 4950);
            });
        });
        other.join().unwrap();
    });
}

#[test]
fn a_thread_that_looks_at_the_clock_makes_time_pass() {
    on_a_host(|| {
        let start = Instant::now();
        let mut looks = 0;
        while start.elapsed() < Duration::from_millis(1) {
            looks += 1;
        }
        assert!(looks > 100, "{looks}");
        let other = thread::spawn(|| {
            thread::sleep(Duration::from_micros(500));
            sim_elapsed().unwrap()
        });
        // It does not keep others from running.
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(10) {}
        assert!(other.join().unwrap() < Duration::from_millis(3));
    });
}

#[test]
fn random_numbers_are_those_of_the_seed_and_the_host() {
    let draw = |seed, name: &str| {
        let mut sim = Builder::new().rng_seed(seed).build();
        let drawn = Rc::new(RefCell::new(String::new()));
        let text = drawn.clone();
        sim.client(name, async move {
            let map: HashMap<u32, ()> = (0..20).map(|n| (n, ())).collect();
            *text.borrow_mut() = format!("{:?}", map.keys().collect::<Vec<_>>());
            Ok(())
        });
        sim.run().unwrap();
        drawn.take()
    };
    assert_eq!(draw(1, "a"), draw(1, "a"));
    assert_ne!(draw(1, "a"), draw(2, "a"));
    assert_ne!(draw(1, "a"), draw(1, "b"));
}

#[test]
fn two_simulations_may_run_at_once() {
    let run = || {
        let mut sim = Builder::new().build();
        for host in ["a", "b", "c"] {
            sim.client(host, async {
                for _ in 0..100 {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                Ok(())
            });
        }
        sim.run().unwrap();
        (sim.elapsed(), sim.events())
    };
    let others: Vec<_> = (0..4).map(|_| thread::spawn(run)).collect();
    let first = run();
    for other in others {
        assert_eq!(other.join().unwrap(), first);
    }
}

/// The processor's counter would tell real time.
#[test]
fn tasks_with_names_know_when_they_were_polled_in_virtual_time() {
    let mut sim = Builder::new().build();
    sim.client("client", async {
        let waits = std::future::pending::<()>();
        tress::task::Builder::new().name("waits").spawn(waits)?;
        tokio::time::sleep(Duration::from_secs(5)).await;
        let mut dump = Vec::new();
        tress::runtime::Handle::current().debug_dump(&mut dump)?;
        let dump = String::from_utf8(dump)?;
        assert!(dump.contains("last polled 5.00"), "{dump}");
        Ok(())
    });
    sim.run().unwrap();
}
