//! Runs one kind of operation a number of times, for `ci/counts`: `counts CASE N`, or `counts list`.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tress::runtime::Builder;
use tress::sync::{Mutex, Notify, mpsc, oneshot};
use tress::{task, time};

const CASES: [&str; 8] = [
    "spawn_join", "spawn_batch", "wake", "yield", "timer", "channel", "oneshot", "mutex",
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [list] if list == "list" => {
            for case in CASES {
                println!("current/{case}\nmulti/{case}");
            }
        }
        [case, n] => run(case, n.parse().expect("a number of operations")),
        _ => panic!("usage: counts CASE N"),
    }
}

fn run(case: &str, n: usize) {
    let (flavor, case) = case.split_once('/').expect("current/… or multi/…");
    let mut builder = match flavor {
        "current" => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    // What is chosen by the clock would differ from run to run.
    builder.event_interval(61).global_queue_interval(31);
    let runtime = builder.worker_threads(1).enable_all().build().unwrap();
    let case = case.to_owned();
    // In a task, so that it runs on the worker.
    runtime.block_on(async move { tress::spawn(operate(case, n)).await.unwrap() });
}

async fn operate(case: String, n: usize) {
    match &*case {
        "spawn_join" => {
            for _ in 0..n {
                tress::spawn(async {}).await.unwrap();
            }
        }
        "spawn_batch" => {
            for _ in 0..n / 100 {
                let tasks: Vec<_> = (0..100).map(|_| tress::spawn(async {})).collect();
                for task in tasks {
                    task.await.unwrap();
                }
            }
        }
        "wake" => {
            let (here, there) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
            let other = tress::spawn({
                let (here, there) = (here.clone(), there.clone());
                async move {
                    for _ in 0..n / 2 {
                        there.notified().await;
                        here.notify_one();
                    }
                }
            });
            for _ in 0..n / 2 {
                there.notify_one();
                here.notified().await;
            }
            other.await.unwrap();
        }
        "yield" => {
            for _ in 0..n {
                task::yield_now().await;
            }
        }
        "timer" => {
            for i in 0..n {
                let mut sleep = pin!(time::sleep(Duration::from_millis(1000 + i as u64 % 100)));
                poll_fn(|cx| {
                    assert!(sleep.as_mut().poll(cx).is_pending());
                    Poll::Ready(())
                })
                .await;
            }
        }
        "channel" => {
            let (tx, mut rx) = mpsc::channel(64);
            for _ in 0..n / 32 {
                for i in 0..32 {
                    tx.send(i).await.unwrap();
                }
                for _ in 0..32 {
                    rx.recv().await.unwrap();
                }
            }
        }
        "oneshot" => {
            for i in 0..n {
                let (tx, rx) = oneshot::channel();
                tx.send(i).unwrap();
                assert_eq!(rx.await, Ok(i));
            }
        }
        "mutex" => {
            let mutex = Mutex::new(0);
            for _ in 0..n {
                *mutex.lock().await += 1;
            }
        }
        _ => panic!("there is no case {case:?}"),
    }
}
