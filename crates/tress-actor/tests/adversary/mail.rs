//! Mailboxes: who waits for room, and who for messages.

use crate::soon;
use crate::support::run;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use tress::sync::Notify;
use tress_actor::{Capacity, Cx, Done, Host, Message, Overflow, Pid};

fn narrow() -> Host {
    let capacity = Capacity::new(1, Overflow::Wait);
    Host::builder("test").mailbox(capacity).start().unwrap()
}

/// Receives numbers once it is let, until it is sent a zero.
fn gated(host: &Host) -> (Pid, Arc<Notify>, tress_actor::ExitFuture) {
    let gate = Arc::new(Notify::new());
    let opened = gate.clone();
    let collect = |mut cx: Cx<u64>| async move {
        let mut got = Vec::new();
        opened.notified().await;
        while let Some(n @ 1..) = cx.recv().await {
            got.push(n);
        }
        Done(got)
    };
    let (pid, exit) = host.future(collect).exec().unwrap();
    (pid, gate, exit)
}

async fn received(exit: tress_actor::ExitFuture) -> Vec<u64> {
    let exit = soon("the process", exit).await;
    exit.into_result().unwrap().downcast().unwrap()
}

#[test]
fn a_send_that_is_dropped_before_it_is_ready_was_not_sent() {
    run(2, async {
        for polled_again in [false, true] {
            let host = narrow();
            let (pid, gate, exit) = gated(&host);
            host.send(pid, 1_u64).unwrap();
            let mut dropped = Box::pin(host.send_waiting(pid, Message::new(2_u64)));
            let mut cx = Context::from_waker(Waker::noop());
            assert!(dropped.as_mut().poll(&mut cx).is_pending());
            // The next in line is woken when there is room, or the one before it gives up.
            let behind = {
                let host = host.clone();
                tress::spawn(async move { host.send_waiting(pid, Message::new(3_u64)).await })
            };
            while host.process_info(pid).unwrap().waiting < 2 {
                tress::task::yield_now().await;
            }
            gate.notify_one();
            let taken = || host.process_info(pid).unwrap().counters.accepted == 1;
            while !taken() || host.process_info(pid).unwrap().mailbox > 0 {
                tress::task::yield_now().await;
            }
            if polled_again {
                // By now a place is kept for it, or will be soon.
                soon(
                    "the send",
                    std::future::poll_fn(|cx| dropped.as_mut().poll(cx)),
                )
                .await
                .unwrap();
            }
            drop(dropped);
            soon("the one behind", behind).await.unwrap().unwrap();
            soon("the last", host.send_waiting(pid, Message::new(0_u64)))
                .await
                .unwrap();
            let expected: &[u64] = if polled_again { &[1, 2, 3] } else { &[1, 3] };
            assert_eq!(received(exit).await, expected);
        }
    });
}

/// Many senders wait, each gives up at some poll or is let in: whatever is reported as sent is received,
/// and nothing else, and nobody waits for a mailbox that is empty.
#[test]
fn of_sends_that_are_dropped_at_any_poll_those_are_received_that_were_ready() {
    run(2, async {
        let host = narrow();
        let (pid, gate, exit) = gated(&host);
        gate.notify_one();
        let senders: Vec<_> = (0..8_u64)
            .map(|sender| {
                let host = host.clone();
                tress::spawn(async move {
                    let mut sent = Vec::new();
                    for n in 0..500_u64 {
                        let number = 1 + sender * 1000 + n;
                        let mut sending = pin!(host.send_waiting(pid, Message::new(number)));
                        let mut polls = (sender + n) % 4;
                        let ready = std::future::poll_fn(|cx| {
                            if let std::task::Poll::Ready(result) = sending.as_mut().poll(cx) {
                                return std::task::Poll::Ready(Some(result));
                            }
                            if polls == 0 {
                                return std::task::Poll::Ready(None);
                            }
                            polls -= 1;
                            cx.waker().wake_by_ref();
                            std::task::Poll::Pending
                        });
                        if let Some(result) = ready.await {
                            result.unwrap();
                            sent.push(number);
                        }
                    }
                    sent
                })
            })
            .collect();
        let mut sent = Vec::new();
        for sender in senders {
            sent.extend(soon("a sender", sender).await.unwrap());
        }
        soon("the last", host.send_waiting(pid, Message::new(0_u64)))
            .await
            .unwrap();
        let got = received(exit).await;
        for sender in 0..8 {
            let of_one = |all: &[u64]| -> Vec<u64> {
                let of_one = all.iter().filter(|n| (*n - 1) / 1000 == sender);
                of_one.copied().collect()
            };
            assert_eq!(of_one(&got), of_one(&sent), "in order");
        }
    });
}

/// Threads send to processes that end meanwhile and whose places are used again; somebody else waits
/// for room at the next one.
#[test]
fn a_place_that_is_used_again_keeps_nobody_waiting() {
    let target = Arc::new(std::sync::Mutex::new(None::<Pid>));
    run(2, async {
        let host = narrow();
        let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let late: Vec<_> = (0..4)
            .map(|_| {
                let (host, target, stop) = (host.clone(), target.clone(), stop.clone());
                std::thread::spawn(move || {
                    while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                        let pid = *target.lock().unwrap();
                        for _ in 0..64 {
                            if let Some(pid) = pid {
                                // It may be full, or have ended.
                                let _ = host.send(pid, 1_u64);
                            }
                        }
                    }
                })
            })
            .collect();
        let one = |mut cx: Cx<u64>| async move { Done(cx.recv().await) };
        for _ in 0..2000 {
            let (pid, exit) = host.future(one).exec().unwrap();
            *target.lock().unwrap() = Some(pid);
            soon("who everybody sends to", exit).await;
            let (pid, exit) = host.future(one).exec().unwrap();
            let sent = host.send_waiting(pid, Message::new(2_u64));
            soon("a send to an empty mailbox", sent).await.unwrap();
            let got = soon("who was sent something", exit).await;
            let got = got.into_result().unwrap().downcast::<Option<u64>>();
            assert_eq!(got.unwrap(), Some(2));
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        for thread in late {
            thread.join().unwrap();
        }
    });
}
