//! The channels without a runtime: any executor, any waker.

mod sync_support;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use sync_support::{block_on, run_all};
use tress::sync::{broadcast, mpsc, oneshot, watch};

fn boxed(future: impl Future<Output = ()> + 'static) -> Pin<Box<dyn Future<Output = ()>>> {
    Box::pin(future)
}

const MESSAGES: u64 = if cfg!(miri) { 100 } else { 10_000 };

#[test]
fn mpsc_in_turns_on_one_thread() {
    for capacity in [1, 2, 7, 100] {
        let (tx, mut rx) = mpsc::channel(capacity);
        let total = Arc::new(AtomicU64::new(0));
        let sum = total.clone();
        let mut futures = vec![boxed(async move {
            while let Some(number) = rx.recv().await {
                sum.fetch_add(number, Ordering::Relaxed);
            }
        })];
        for _ in 0..3 {
            let tx = tx.clone();
            futures.push(boxed(async move {
                for number in 0..MESSAGES {
                    tx.send(number).await.unwrap();
                }
            }));
        }
        drop(tx);
        run_all(futures);
        assert_eq!(
            total.load(Ordering::Relaxed),
            3 * MESSAGES * (MESSAGES - 1) / 2
        );
    }
}

#[test]
fn mpsc_between_threads_with_their_own_executors() {
    let (tx, mut rx) = mpsc::channel(5);
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let tx = tx.clone();
            std::thread::spawn(move || {
                block_on(async {
                    for number in 0..MESSAGES {
                        tx.send(number).await.unwrap();
                    }
                });
            })
        })
        .collect();
    drop(tx);
    let mut count = 0;
    block_on(async {
        while rx.recv().await.is_some() {
            count += 1;
        }
    });
    assert_eq!(count, 3 * MESSAGES);
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn requests_and_answers() {
    let (requests, mut inbox) = mpsc::unbounded_channel::<(u64, oneshot::Sender<u64>)>();
    let client = boxed(async move {
        for number in 0..MESSAGES {
            let (answer, answered) = oneshot::channel();
            requests.send((number, answer)).unwrap();
            assert_eq!(answered.await, Ok(number * number));
        }
    });
    let server = boxed(async move {
        while let Some((number, answer)) = inbox.recv().await {
            answer.send(number * number).unwrap();
        }
    });
    run_all(vec![client, server]);
}

#[test]
fn broadcast_and_watch_in_turns() {
    let (tx, rx) = broadcast::channel(4);
    let (done, is_done) = watch::channel(0);
    let mut futures = Vec::new();
    for _ in 0..4 {
        let mut rx = rx.resubscribe();
        let done = done.clone();
        futures.push(boxed(async move {
            let mut next = 0;
            loop {
                match rx.recv().await {
                    Ok(number) => {
                        assert_eq!(number, next);
                        next += 1;
                    }
                    Err(broadcast::error::RecvError::Lagged(missed)) => next += missed,
                    Err(broadcast::error::RecvError::Closed) => break,
                }
            }
            assert_eq!(next, MESSAGES);
            done.send_modify(|done| *done += 1);
        }));
    }
    drop((rx, done));
    futures.push(boxed(async move {
        for number in 0..MESSAGES {
            tx.send(number).unwrap();
            if number % 3 == 0 {
                // Lets the receivers have a turn.
                let (go, gone) = oneshot::channel();
                go.send(()).unwrap();
                gone.await.unwrap();
                tress::task::yield_now().await;
            }
        }
        drop(tx);
        let mut is_done = is_done;
        is_done.wait_for(|done| *done == 4).await.unwrap();
    }));
    run_all(futures);
}
