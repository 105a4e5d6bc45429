//! Channels, groups of futures and locks.

use crate::child;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use tress::channel::{self, Select};
use tress::future::{join_all, try_join_all};
use tress::runtime::Builder;
use tress::sync::{broadcast, oneshot};
use tress::task::yield_now;

/// A member loses a race inside, whose loser has asked to be polled again: it is woken when it is over.
#[test]
fn a_member_of_a_group_ends_with_a_wake_up_under_way() {
    type Member = Pin<Box<dyn Future<Output = Result<u32, ()>>>>;
    fn members() -> (oneshot::Sender<u32>, [Member; 2]) {
        let (sender, receiver) = oneshot::channel();
        let ends = Box::pin(async {
            tress::select! {
                biased;
                () = yield_now() => Err(()),
                one = async { 1 } => Ok(one),
            }
        });
        (
            sender,
            [ends, Box::pin(async { receiver.await.map_err(drop) })],
        )
    }
    let rt = Builder::new_current_thread().build().unwrap();
    rt.block_on(async {
        let (sender, group) = members();
        let (outputs, ()) = tress::join!(join_all(group), async {
            yield_now().await;
            yield_now().await;
            sender.send(2).unwrap();
        });
        assert_eq!(outputs, [Ok(1), Ok(2)]);
        let (sender, group) = members();
        let (outputs, ()) = tress::join!(try_join_all(group), async {
            yield_now().await;
            yield_now().await;
            sender.send(2).unwrap();
        });
        assert_eq!(outputs, Ok(vec![1, 2]));
    });
}

fn poll<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// What makes the end of a closed rendezvous that receivers already wait for.
#[derive(Clone, Copy, Debug)]
enum Last {
    HandEmptied,
    HandDropped,
    PermitUsed,
    PermitDropped,
    HopeDropped,
}

/// Whoever is the first to be told of the end goes away before it is polled: all others are told.
#[test]
fn the_end_of_a_rendezvous_reaches_everyone() {
    use Last::*;
    for last in [
        HandEmptied,
        HandDropped,
        PermitUsed,
        PermitDropped,
        HopeDropped,
    ] {
        for gone in 0..4 {
            let (tx, rx) = channel::bounded::<u32>(0);
            let mut first = Box::pin(rx.recv());
            let mut hope = Box::pin(tx.reserve());
            if matches!(last, HopeDropped) {
                assert!(poll(hope.as_mut()).is_pending());
            }
            assert!(poll(first.as_mut()).is_pending());
            let mut permit = None;
            match last {
                HandEmptied | HandDropped => tx.try_send(1).unwrap(),
                PermitUsed | PermitDropped => permit = Some(tx.try_reserve().unwrap()),
                HopeDropped => {} // promised, and not polled since
            }
            tx.close();
            let wakes: [_; 4] = std::array::from_fn(|_| Arc::<Wakes>::default());
            let mut waiting: Vec<_> = wakes
                .iter()
                .map(|wakes| {
                    let mut recv = Box::pin(rx.recv());
                    let waker = Waker::from(wakes.clone());
                    let polled = recv.as_mut().poll(&mut Context::from_waker(&waker));
                    assert!(polled.is_pending());
                    recv
                })
                .collect();
            match last {
                HandEmptied => assert!(matches!(poll(first.as_mut()), Poll::Ready(Ok(1)))),
                HandDropped => drop(first),
                PermitUsed => {
                    permit.take().unwrap().send(1).unwrap();
                    assert!(matches!(poll(first.as_mut()), Poll::Ready(Ok(1))));
                }
                PermitDropped => drop(permit.take()),
                HopeDropped => drop(hope),
            }
            drop(waiting.remove(gone));
            let mut received = 0;
            for (nth, mut recv) in waiting.into_iter().enumerate() {
                let nth = nth + usize::from(nth >= gone);
                let woken = wakes[nth].0.load(Ordering::SeqCst);
                assert!(woken > 0, "{last:?}: {nth} was not woken, {gone} is gone");
                match poll(recv.as_mut()) {
                    Poll::Ready(Ok(_)) => received += 1,
                    Poll::Ready(Err(_)) => {}
                    Poll::Pending => panic!("{last:?}: {nth} waits, {gone} is gone"),
                }
            }
            // The message of the hand that was dropped goes to the first; if that is gone, to the next.
            assert_eq!(received, usize::from(matches!(last, HandDropped)));
        }
    }
}

#[test]
fn a_select_does_not_meet_itself() {
    let (tx, rx) = channel::bounded::<u32>(0);
    for send_first in [true, false] {
        let sent = |sent: Result<(), _>| sent.map_or(0, |()| 1);
        let received = |message: Result<u32, _>| message.unwrap_or(0);
        let alone = async || {
            let select = Select::new();
            if send_first {
                select.send(&tx, 2, sent).recv(&rx, received).wait().await
            } else {
                select.recv(&rx, received).send(&tx, 2, sent).wait().await
            }
        };
        let mut one = Box::pin(alone());
        for _ in 0..3 {
            assert!(poll(one.as_mut()).is_pending(), "nobody else is there");
        }
        // A promise in between, given and taken back, does not bring it together with itself.
        drop(tx.try_reserve().unwrap());
        assert!(poll(one.as_mut()).is_pending());
        assert_eq!(rx.len(), 0);
        // Two such selects meet each other: one message passes.
        let mut two = Box::pin(alone());
        let (Poll::Ready(two), Poll::Ready(one)) = (poll(two.as_mut()), poll(one.as_mut())) else {
            panic!("they have met");
        };
        assert_eq!(one + two, 3, "one sent, one received");
        assert_eq!(rx.len(), 0);
        assert!(tx.try_reserve().is_err(), "nobody waits");
    }
}

/// A sender and a receiver stand in line, kept apart by a promise: they meet when it is taken back.
#[test]
fn a_promise_taken_back_brings_two_together() {
    for select in [false, true] {
        let (tx, rx) = channel::bounded::<u32>(0);
        let (idle, _nobody) = channel::bounded::<u32>(0);
        let mut recv: Pin<Box<dyn Future<Output = Option<u32>>>> = if select {
            let select = Select::new().send(&idle, 7, |_| None);
            Box::pin(select.recv(&rx, |message| message.ok()).wait())
        } else {
            Box::pin(async { rx.recv().await.ok() })
        };
        assert!(poll(recv.as_mut()).is_pending());
        let permit = tx.try_reserve().unwrap();
        let mut send = Box::pin(tx.send(1));
        assert!(poll(send.as_mut()).is_pending(), "the receiver is promised");
        drop(permit);
        assert!(matches!(poll(send.as_mut()), Poll::Ready(Ok(()))));
        assert_eq!(poll(recv.as_mut()), Poll::Ready(Some(1)));
    }
}

/// A clause that did not happen leaves its line at once, not when the finished future is dropped.
#[test]
fn a_select_that_is_ready_is_in_no_line() {
    let (here, in_here) = channel::bounded::<u32>(1);
    let (there, in_there) = channel::bounded::<u32>(1);
    let received = |message: Result<u32, _>| message.unwrap();
    let select = Select::new().recv(&in_here, received);
    let mut done = Box::pin(select.recv(&in_there, received).wait());
    assert!(poll(done.as_mut()).is_pending());
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(wakes.clone());
    let mut behind = Box::pin(in_there.recv());
    let mut cx = Context::from_waker(&waker);
    assert!(behind.as_mut().poll(&mut cx).is_pending());
    here.try_send(1).unwrap();
    assert_eq!(poll(done.as_mut()), Poll::Ready(1));
    there.try_send(2).unwrap();
    assert_eq!(wakes.0.load(Ordering::SeqCst), 1, "it is the first in line");
    assert!(matches!(behind.as_mut().poll(&mut cx), Poll::Ready(Ok(2))));

    // The same for places: one is not granted to who does not want it any more.
    here.try_send(1).unwrap();
    there.try_send(2).unwrap();
    let select = Select::new().send(&here, 3, |sent| sent.is_ok());
    let mut done = Box::pin(select.send(&there, 4, |sent| sent.is_ok()).wait());
    assert!(poll(done.as_mut()).is_pending());
    assert_eq!(in_here.try_recv().unwrap(), 1);
    assert_eq!(poll(done.as_mut()), Poll::Ready(true));
    assert_eq!(in_there.try_recv().unwrap(), 2);
    assert!(there.try_send(5).is_ok(), "the place is free");
}

/// Polls its future from within its waker, as some executors do.
struct Inline(Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>);

impl Wake for Inline {
    fn wake(self: Arc<Self>) {
        // Else it is being polled.
        if let Ok(mut future) = self.0.try_lock() {
            let waker = Waker::from(self.clone());
            let polled = future
                .as_mut()
                .map(|future| future.as_mut().poll(&mut Context::from_waker(&waker)));
            if polled.is_some_and(|polled| polled.is_ready()) {
                *future = None;
            }
        }
    }
}

/// What a child does; see those that start it.
#[test]
fn in_a_child() {
    match child::case().as_deref() {
        Some("polls from within") => polls_from_within(),
        Some("clones from within") => clones_from_within(),
        _ => {}
    }
}

/// More receivers than are woken at a time come back to wait for a message that was promised.
#[test]
fn closing_ends_though_receivers_poll_from_within_their_wakers() {
    child::passes("channels::in_a_child", "polls from within");
}

fn polls_from_within() {
    for capacity in [0, 1] {
        let (tx, rx) = channel::bounded::<u32>(capacity);
        let ended = Arc::new(AtomicUsize::new(0));
        for _ in 0..100 {
            let (rx, ended) = (rx.clone(), ended.clone());
            let future = Box::pin(async move {
                assert!(rx.recv().await.is_err());
                ended.fetch_add(1, Ordering::SeqCst);
            });
            Arc::new(Inline(Mutex::new(Some(future)))).wake();
        }
        let permit = tx.try_reserve().unwrap();
        tx.close();
        assert_eq!(ended.load(Ordering::SeqCst), 0, "something was promised");
        drop(permit);
        assert_eq!(ended.load(Ordering::SeqCst), 100);
    }
}

#[test]
fn a_message_whose_clone_uses_the_channel_does_not_hang() {
    child::passes("channels::in_a_child", "clones from within");
}

fn clones_from_within() {
    #[derive(Default)]
    struct Ends {
        sender: Option<broadcast::Sender<Message>>,
        receiver: Option<broadcast::Receiver<Message>>,
    }
    struct Message(Arc<Mutex<Ends>>);
    impl Clone for Message {
        fn clone(&self) -> Message {
            let ends = std::mem::take(&mut *self.0.lock().unwrap());
            if let Some(mut receiver) = ends.receiver {
                drop(receiver.try_recv());
            }
            if let Some(sender) = ends.sender {
                drop(sender.send(Message(self.0.clone())));
            }
            Message(self.0.clone())
        }
    }
    for sends in [false, true] {
        let (tx, mut rx) = broadcast::channel(1);
        let other = tx.subscribe();
        let ends = Arc::new(Mutex::new(Ends::default()));
        assert!(tx.send(Message(ends.clone())).is_ok());
        if sends {
            ends.lock().unwrap().sender = Some(tx.clone());
        } else {
            ends.lock().unwrap().receiver = Some(other);
        }
        let panic = catch_unwind(AssertUnwindSafe(|| rx.try_recv().is_ok())).unwrap_err();
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap();
        assert!(text.contains("let it not use the channel"), "{text}");
        // The channel is as good as ever.
        assert!(tx.send(Message(ends)).is_ok());
        assert!(rx.try_recv().is_ok());
    }
}
