//! The soft budget of a task: so many operations, then the tail of the queue.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use tress::dispatch;
use tress::runtime::{Builder, Runtime};
use tress::task::{LocalSet, consume_budget, unconstrained};

fn with_budget(mut builder: Builder, operations: u8) -> Runtime {
    builder
        .worker_threads(1)
        .enable_all()
        .task_budget(operations)
        .build()
        .unwrap()
}

fn each_runtime(operations: u8) -> [Runtime; 2] {
    [Builder::new_multi_thread(), Builder::new_current_thread()]
        .map(|builder| with_budget(builder, operations))
}

/// The operations of each poll of a future that does as many as it may, and 1000 in all.
async fn operations_by_poll() -> Vec<usize> {
    let mut polls = vec![0];
    let counted = Arc::new(Mutex::new(0));
    let counter = counted.clone();
    let mut greedy = pin!(async move {
        for _ in 0..1000 {
            consume_budget().await;
            *counter.lock().unwrap() += 1;
        }
    });
    poll_fn(|cx| {
        let polled = greedy.as_mut().poll(cx);
        polls.push(std::mem::take(&mut *counted.lock().unwrap()));
        polled
    })
    .await;
    polls
}

fn check(polls: &[usize], operations: u8) {
    let operations = usize::from(operations);
    let (last, full) = polls[1..].split_last().unwrap();
    assert!(
        full.iter().all(|n| *n == operations),
        "{operations}: {polls:?}"
    );
    assert!((1..=operations).contains(last), "{operations}: {polls:?}");
}

/// In tasks, in `block_on`, in a dispatcher's threads and in a local set.
#[test]
fn a_poll_does_so_many_operations() {
    for operations in [1, 2, 32, 128, 254] {
        for rt in each_runtime(operations) {
            rt.block_on(async {
                check(&operations_by_poll().await, operations);
                check(
                    &tress::spawn(operations_by_poll()).await.unwrap(),
                    operations,
                );
                let io = dispatch::spawn_on(&dispatch::io(), operations_by_poll());
                check(&io.await.unwrap(), operations);
                let set = LocalSet::new();
                let local = set.spawn_local(operations_by_poll());
                set.await;
                check(&local.await.unwrap(), operations);
                let free = unconstrained(operations_by_poll()).await;
                assert_eq!(free[1..], [1000]);
            });
        }
    }
}

#[test]
fn the_default_is_128() {
    let rt = Builder::new_multi_thread().build().unwrap();
    check(&rt.block_on(operations_by_poll()), 128);
    // Each runtime has its own, also while another one is entered.
    let other = with_budget(Builder::new_current_thread(), 7);
    let _entered = rt.enter();
    check(&other.block_on(operations_by_poll()), 7);
}

/// Two tasks that are always ready take turns: neither has two more than the other. On a current-thread runtime those that
/// gave way in a round are woken in reverse.
#[test]
fn whoever_has_used_it_up_goes_to_the_tail() {
    for rt in each_runtime(16) {
        let log = Arc::new(Mutex::new(Vec::new()));
        rt.block_on(async {
            let greedy = |name: char| {
                let log = log.clone();
                async move {
                    for _ in 0..160 {
                        consume_budget().await;
                        log.lock().unwrap().push(name);
                    }
                }
            };
            // Both are there before either runs.
            let [a, b] = tress::spawn({
                let (a, b) = (greedy('a'), greedy('b'));
                async move { [tress::spawn(a), tress::spawn(b)] }
            })
            .await
            .unwrap();
            a.await.unwrap();
            b.await.unwrap();
        });
        let log = log.lock().unwrap();
        for turn in log.chunks(16) {
            assert!(turn.iter().all(|name| *name == turn[0]), "{log:?}");
        }
        let turns: Vec<char> = log.chunks(16).map(|turn| turn[0]).collect();
        for pair in turns.chunks(2) {
            assert_ne!(pair[0], pair[1], "{turns:?}");
        }
        assert!(rt.metrics().budget_forced_yield_count() >= 18);
    }
}

/// The same between coroutines, which spend it wherever they wait for what is ready.
#[test]
#[cfg(all(feature = "coroutine", unix))]
fn coroutines_have_one_too() {
    use tress::coroutine;
    for rt in each_runtime(16) {
        let log = Arc::new(Mutex::new(Vec::new()));
        rt.block_on(async {
            let greedy = |name: char| {
                let log = log.clone();
                move || {
                    for _ in 0..160 {
                        coroutine::wait(consume_budget());
                        log.lock().unwrap().push(name);
                    }
                }
            };
            let both = coroutine::spawn({
                let (a, b) = (greedy('a'), greedy('b'));
                move || [coroutine::spawn(a), coroutine::spawn(b)]
            });
            for task in both.await.unwrap() {
                task.await.unwrap();
            }
        });
        let log = log.lock().unwrap();
        for turn in log.chunks(16) {
            assert!(turn.iter().all(|name| *name == turn[0]), "{log:?}");
        }
    }
}

#[test]
fn what_is_out_of_range_is_refused() {
    for operations in [0, 255] {
        let built = Builder::new_current_thread()
            .task_budget(operations)
            .build();
        assert!(built.unwrap_err().to_string().contains("1 to 254"));
    }
}
