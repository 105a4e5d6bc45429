//! Shields: how many, whose, and for how long.

use super::{counting, current_thread, multi_thread, poll};
use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::Poll;
use tress::runtime::Runtime;
use tress::sync::{Semaphore, oneshot};
use tress::task::{self, shield};
use tress::time::{self, Duration};

/// Waits for what must not hang.
async fn within_a_minute<F: Future>(what: &str, future: F) -> F::Output {
    match time::timeout(Duration::from_secs(60), future).await {
        Ok(output) => output,
        Err(_) => panic!("{what} hangs"),
    }
}

/// A task with so many shields, all of them up; they end with what is sent, and the number of those that
/// got there is returned. After them the task waits for ever.
fn shielded_task(
    rt: &Runtime,
    nested: bool,
    shields: usize,
) -> (
    task::JoinHandle<()>,
    oneshot::Receiver<()>,
    Arc<Semaphore>,
    Arc<AtomicUsize>,
) {
    let (up, is_up) = oneshot::channel();
    let end = Arc::new(Semaphore::new(0));
    let ended = Arc::new(AtomicUsize::new(0));
    let (wait, count) = (end.clone(), ended.clone());
    let one = move || {
        let (wait, count) = (wait.clone(), count.clone());
        async move {
            drop(wait.acquire().await);
            count.fetch_add(1, SeqCst);
        }
    };
    let handle = rt.spawn(async move {
        let mut all: Vec<Pin<Box<dyn Future<Output = ()> + Send>>> = Vec::new();
        if nested {
            let mut inner: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(one());
            for _ in 0..shields {
                inner = Box::pin(shield(inner));
            }
            all.push(inner);
        } else {
            all.extend((0..shields).map(|_| Box::pin(shield(one())) as Pin<Box<_>>));
        }
        let mut up = Some(up);
        poll_fn(|cx| {
            all.retain_mut(|one| one.as_mut().poll(cx).is_pending());
            if let Some(up) = up.take() {
                let _ = up.send(());
            }
            match all.is_empty() {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
        pending::<()>().await;
    });
    (handle, is_up, end, ended)
}

#[test]
fn any_number_of_shields_side_by_side_defers_an_abort() {
    for (rt, most) in [(current_thread(), 300), (multi_thread(), 100_000)] {
        for shields in [1, 254, 255, 256, most] {
            let (handle, is_up, end, ended) = shielded_task(&rt, false, shields);
            rt.block_on(async {
                is_up.await.unwrap();
                handle.abort();
                // Each one passes it on to the next.
                end.add_permits(1);
                let result = within_a_minute("an aborted task", handle).await;
                assert!(result.unwrap_err().is_cancelled());
            });
            assert_eq!(ended.load(SeqCst), shields);
        }
    }
}

#[test]
fn any_depth_of_shields_defers_an_abort() {
    // As deep as the stack allows: each of them is a frame or two.
    for shields in [255, 256, 1_000] {
        let rt = multi_thread();
        let (handle, is_up, end, ended) = shielded_task(&rt, true, shields);
        rt.block_on(async {
            is_up.await.unwrap();
            handle.abort();
            end.add_permits(1);
            let result = within_a_minute("an aborted task", handle).await;
            assert!(result.unwrap_err().is_cancelled());
        });
        assert_eq!(ended.load(SeqCst), 1);
    }
}

#[test]
fn shields_that_are_dropped_in_any_order_uncover_the_task() {
    let rt = multi_thread();
    for (first, step) in [(0, 1), (599, 599), (7, 13)] {
        let (send, receive) = std::sync::mpsc::channel();
        let handle = rt.spawn(async move {
            let mut all: Vec<_> = (0..600)
                .map(|_| Box::pin(shield(pending::<()>())))
                .collect();
            poll_fn(|cx| {
                for one in &mut all {
                    assert!(one.as_mut().poll(cx).is_pending());
                }
                Poll::Ready(())
            })
            .await;
            send.send(all).unwrap();
            pending::<()>().await;
        });
        let mut all: Vec<_> = receive.recv().unwrap().into_iter().map(Some).collect();
        handle.abort();
        for i in 0..600 {
            assert!(!handle.is_finished(), "{i} of 600 were dropped");
            assert!(all[(first + i * step) % 600].take().is_some());
        }
        let result = rt.block_on(within_a_minute("an uncovered task", handle));
        assert!(result.unwrap_err().is_cancelled());
    }
}

#[test]
fn a_runtime_with_a_shielded_task_can_be_dropped() {
    for nested in [false, true] {
        for rt in [current_thread(), multi_thread()] {
            let (handle, is_up, end, ended) = shielded_task(&rt, nested, 300);
            rt.block_on(is_up).unwrap();
            drop(rt);
            assert!(handle.is_finished());
            assert_eq!(ended.load(SeqCst), 0);
            assert_eq!(Arc::strong_count(&end), 1);
        }
    }
}

/// A shield goes from the task that polls it first to another one, and protects that one.
#[test]
fn a_shield_protects_the_task_that_polls_it() {
    for rt in [current_thread(), multi_thread()] {
        let (send, receive) = oneshot::channel();
        let (up, is_up) = oneshot::channel();
        let (end, wait) = oneshot::channel::<()>();
        let (ended, has_ended) = oneshot::channel();
        let former = rt.spawn(async move {
            let mut shielded = Box::pin(shield(async move {
                wait.await.unwrap();
                ended.send(()).unwrap();
            }));
            assert!(
                poll_fn(|cx| Poll::Ready(shielded.as_mut().poll(cx)))
                    .await
                    .is_pending()
            );
            send.send(shielded).map_err(|_| "gone").unwrap();
            pending::<()>().await;
        });
        let latter = rt.spawn(async move {
            let mut shielded = receive.await.unwrap();
            let mut up = Some(up);
            poll_fn(|cx| {
                let polled = shielded.as_mut().poll(cx);
                if let Some(up) = up.take() {
                    up.send(()).unwrap();
                }
                polled
            })
            .await;
            pending::<()>().await;
        });
        rt.block_on(within_a_minute("a shield", async {
            is_up.await.unwrap();
            latter.abort();
            former.abort();
            assert!(former.await.unwrap_err().is_cancelled(), "it has no shield");
            assert!(!latter.is_finished(), "it has one");
            end.send(()).unwrap();
            has_ended.await.unwrap();
            assert!(latter.await.unwrap_err().is_cancelled());
        }));
    }
}

/// Polled in a task, and then outside of any: that protects nobody, and the task no more.
#[test]
fn a_shield_that_leaves_its_task_uncovers_it() {
    let rt = multi_thread();
    let (send, receive) = oneshot::channel();
    let task = rt.spawn(async move {
        let mut shielded = Box::pin(shield(pending::<()>()));
        assert!(
            poll_fn(|cx| Poll::Ready(shielded.as_mut().poll(cx)))
                .await
                .is_pending()
        );
        send.send(shielded).map_err(|_| "gone").unwrap();
        pending::<()>().await;
    });
    let mut shielded = rt.block_on(receive).unwrap();
    task.abort();
    assert!(!task.is_finished());
    let (_, waker) = counting();
    assert!(poll(shielded.as_mut(), &waker).is_pending());
    let result = rt.block_on(within_a_minute("an uncovered task", task));
    assert!(result.unwrap_err().is_cancelled());
}

/// The task of a `LocalSet` is uncovered from another thread, and so is one whose runtime is gone.
#[test]
fn a_shield_may_outlive_its_task_and_runtime() {
    let rt = current_thread();
    let local = task::LocalSet::new();
    let (send, receive) = std::sync::mpsc::channel();
    let spawned = local.block_on(&rt, async move {
        let handle = task::spawn_local(async move {
            let mut shielded = Box::pin(shield(pending::<()>()));
            assert!(
                poll_fn(|cx| Poll::Ready(shielded.as_mut().poll(cx)))
                    .await
                    .is_pending()
            );
            send.send(shielded).unwrap();
            pending::<()>().await;
        });
        task::yield_now().await;
        Some(handle)
    });
    let handle = spawned.unwrap();
    let shielded = receive.recv().unwrap();
    handle.abort();
    assert!(!handle.is_finished());
    std::thread::spawn(move || drop(shielded)).join().unwrap();
    let result = local.block_on(&rt, within_a_minute("an uncovered task", handle));
    assert!(result.unwrap_err().is_cancelled());

    let (send, receive) = std::sync::mpsc::channel();
    let handle = rt.spawn(async move {
        let mut all: Vec<_> = (0..300)
            .map(|_| Box::pin(shield(pending::<()>())))
            .collect();
        poll_fn(|cx| {
            for one in &mut all {
                assert!(one.as_mut().poll(cx).is_pending());
            }
            Poll::Ready(())
        })
        .await;
        send.send(all).unwrap();
        pending::<()>().await;
    });
    rt.block_on(task::yield_now());
    let all = receive.recv().unwrap();
    drop(local);
    drop(rt);
    assert!(handle.is_finished());
    drop(all);
}

/// Forgotten shields keep an abort away; nothing else suffers.
#[test]
fn forgotten_shields_keep_the_task_shielded() {
    for shields in [1, 300] {
        let rt = current_thread();
        let task = rt.spawn(async move {
            for _ in 0..shields {
                let mut shielded = Box::pin(shield(pending::<()>()));
                poll_fn(|cx| Poll::Ready(shielded.as_mut().poll(cx).is_pending())).await;
                std::mem::forget(shielded);
            }
            pending::<()>().await;
        });
        rt.block_on(task::yield_now());
        task.abort();
        rt.block_on(task::yield_now());
        assert!(!task.is_finished());
        drop(rt);
        assert!(task.is_finished());
    }
}
