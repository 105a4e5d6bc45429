//! What a dump says of processes that wait, and of those that wait for room in a mailbox.

#![cfg(not(loom))]

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use tress::runtime::{Builder, Handle};
use tress::task::yield_now;
use tress::trace::{FindingKind, keep_sight_on};
use tress_actor::{Capacity, Cx, Host, Message, Overflow};

fn dump() -> String {
    let mut text = Vec::new();
    Handle::current().debug_dump(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// Lets the other tasks run until the dump says so.
async fn until(says: &str) {
    while !dump().contains(says) {
        yield_now().await;
    }
}

#[test]
fn a_mailbox_that_is_not_read_is_found() {
    let (tell, told) = std::sync::mpsc::channel();
    let rt = Builder::new_multi_thread()
        .enable_all()
        .sight(true)
        // The receiver is gone at the end.
        .on_finding(move |finding| drop(tell.send(finding.clone())))
        .build()
        .unwrap();
    rt.block_on(async {
        let host = Host::builder("sight").start().unwrap();
        let process = host.future(|cx: Cx<u8>| async move {
            // Reads nothing.
            std::future::pending::<()>().await;
            drop(cx);
        });
        let pid = process.spawn().unwrap();
        for _ in 0..600 {
            host.send(pid, 1_u8).unwrap();
        }
        let found = tress::task::spawn_blocking(move || {
            told.iter()
                .find(|finding| finding.kind == FindingKind::FullMailbox)
        });
        let found = found.await.unwrap().unwrap();
        assert!(
            found.text.contains("mailbox holds 512 messages or more"),
            "{found}"
        );
    });
}

#[test]
fn processes_and_senders_wait() {
    let _on = keep_sight_on();
    let rt = Builder::new_current_thread().enable_all().build().unwrap();
    rt.block_on(async {
        let host = Host::builder("sight").start().unwrap();
        let mailbox = "waits for a message in a mailbox for ";
        assert!(!dump().contains(mailbox));
        let (tell, told) = tress::sync::oneshot::channel::<()>();
        let process = host.future(move |mut cx: Cx<u8>| async move {
            assert_eq!(cx.recv().await, Some(1));
            told.await.unwrap();
            while cx.recv().await.is_some() {}
        });
        let pid = process
            .mailbox(Capacity::new(1, Overflow::Wait))
            .spawn()
            .unwrap();
        until(mailbox).await;
        host.send(pid, 1_u8).unwrap();
        until("waits for a value from a oneshot channel").await;
        assert!(!dump().contains(mailbox), "{}", dump());

        host.send(pid, 2_u8).unwrap();
        let sender = tress::spawn({
            let host = host.clone();
            async move { host.send_waiting(pid, Message::new(3_u8)).await.is_ok() }
        });
        until("waits for room in a channel for ").await;
        {
            // One that gives up leaves nothing behind.
            let mut given_up = pin!(host.send_waiting(pid, Message::new(4_u8)));
            poll_fn(|cx| {
                assert!(given_up.as_mut().poll(cx).is_pending());
                Poll::Ready(())
            })
            .await;
        }
        tell.send(()).unwrap();
        assert!(sender.await.unwrap());
        until(mailbox).await;
        assert!(
            !dump().contains("waits for room in a channel"),
            "{}",
            dump()
        );
    });
}
