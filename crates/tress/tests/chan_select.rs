//! `channel::Select`: fair, parked while it waits, exactly one clause, nothing lost.

mod chan_support;
mod sync_support;

use chan_support::{Dice, Ledger, Message, add, get, runtime, scaled};
use std::pin::pin;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tress::channel::{self, Overflow, Receiver, Select, Sender};
use tress::time::Instant;

#[derive(Default)]
struct CountedWaker(AtomicUsize);

impl Wake for CountedWaker {
    fn wake(self: Arc<Self>) {
        add(&self.0, 1);
    }
}

#[test]
fn ready_clauses_are_equally_likely() {
    const ROUNDS: usize = 6000;
    runtime(1).block_on(async {
        let (full, rx) = channel::bounded(ROUNDS);
        for _ in 0..ROUNDS {
            full.try_send(()).unwrap();
        }
        let (tx, _keep) = channel::unbounded();
        let (closed, dead) = channel::bounded::<()>(0);
        drop(closed);
        let mut happened = [0; 3];
        for _ in 0..ROUNDS {
            let which = Select::new()
                .recv(&rx, |message| message.map(|()| 0).unwrap())
                .send(&tx, (), |sent| sent.map(|()| 1).unwrap())
                .recv(&dead, |message| message.map(|()| 9).unwrap_or(2))
                .wait()
                .await;
            happened[which] += 1;
        }
        for times in happened {
            assert!((ROUNDS / 4..ROUNDS / 2).contains(&times), "{happened:?}");
        }
    });
}

#[test]
fn a_biased_select_prefers_what_comes_first() {
    let (tx, rx) = channel::unbounded();
    for _ in 0..100 {
        tx.try_send(()).unwrap();
        let first = Select::new()
            .biased()
            .recv(&rx, |_| true)
            .send(&tx, (), |_| false)
            .try_now();
        assert_eq!(first, Some(true));
    }
}

#[test]
fn a_select_sleeps_until_one_of_its_channels_wakes_it() {
    let (a, from_a) = channel::bounded::<u32>(1);
    let (b, from_b) = channel::bounded::<u32>(0);
    let (full, _rx) = channel::bounded(1);
    full.try_send(0).unwrap();

    let woken = Arc::new(CountedWaker::default());
    let waker = Waker::from(woken.clone());
    let mut cx = Context::from_waker(&waker);
    let mut message = Some(1);
    {
        let mut wait = pin!(
            Select::new()
                .recv(&from_a, |n| n.unwrap())
                .recv(&from_b, |n| n.unwrap())
                .send_from(&full, &mut message, |_| 99)
                .wait()
        );
        assert!(wait.as_mut().poll(&mut cx).is_pending());
        assert_eq!(get(&woken.0), 0);
        b.try_send(7).unwrap();
        assert_eq!(get(&woken.0), 1);
        // It has met `b`, so the other channels cannot happen.
        a.try_send(8).unwrap();
        assert_eq!(wait.as_mut().poll(&mut cx), Poll::Ready(7));
    }
    assert_eq!(message, Some(1));
    assert_eq!(from_a.try_recv().unwrap(), 8);
}

#[test]
fn what_was_not_sent_stays_or_is_told_of() {
    let told = Arc::new(Mutex::new(Vec::new()));
    for capacity in [0, 1] {
        let list = told.clone();
        let (tx, _rx) = channel::builder()
            .capacity(capacity)
            .on_undelivered(move |n| list.lock().unwrap().push(n))
            .build();
        if capacity == 1 {
            tx.try_send(0).unwrap();
        }
        let (ready, got) = channel::bounded(1);
        ready.try_send(()).unwrap();
        let mut kept = Some(1);
        let which = Select::new()
            .biased()
            .send_from(&tx, &mut kept, |_| "kept")
            .send(&tx, 2, |_| "told of")
            .recv(&got, |_| "received")
            .try_now();
        assert_eq!(which, Some("received"));
        assert_eq!(kept, Some(1));
        assert_eq!(std::mem::take(&mut *told.lock().unwrap()), [2]);
    }
}

#[test]
fn a_clause_without_a_message_cannot_happen() {
    let (tx, rx) = channel::unbounded::<u32>();
    let sent = Select::new().send_from(&tx, &mut None, |_| ()).try_now();
    assert_eq!(sent, None);
    assert!(rx.is_empty());
}

#[test]
fn a_clause_of_a_closed_channel_happens_with_the_cause() {
    let (tx, rx) = channel::bounded::<u32>(0);
    tx.close_with("enough");
    let cause = Select::new()
        .recv(&rx, |n| n.unwrap_err().cause().unwrap().to_string())
        .try_now();
    assert_eq!(cause.unwrap(), "enough");
    let returned = Select::new()
        .send(&tx, 5, |sent| sent.unwrap_err().into_inner())
        .try_now();
    assert_eq!(returned, Some(5));
}

#[test]
fn channels_that_drop_messages_never_wait() {
    let (tx, rx) = channel::conflated();
    for n in 0..3 {
        let sent = Select::new().send(&tx, n, |sent| sent.is_ok()).try_now();
        assert_eq!(sent, Some(true));
    }
    assert_eq!(rx.try_recv().unwrap(), 2);
}

#[test]
fn deadlines_end_a_wait() {
    let (_tx, rx) = channel::bounded::<u32>(0);
    runtime(1).block_on(async {
        let soon = Instant::now() + Duration::from_millis(1);
        let got = Select::new().recv(&rx, |_| ()).wait_until(soon).await;
        assert_eq!(got, None);
    });
    let soon = std::time::Instant::now() + Duration::from_millis(1);
    let got = Select::new().recv(&rx, |_| ()).wait_blocking_until(soon);
    assert_eq!(got, None);
}

#[test]
fn a_select_does_not_meet_itself() {
    let (tx, rx) = channel::bounded(0);
    let mut message = Some(1);
    let met = Select::new()
        .recv(&rx, |_| ())
        .send_from(&tx, &mut message, |_| ())
        .try_now();
    assert_eq!(met, None);
    assert_eq!(message, Some(1));
}

#[test]
fn futures_of_channels_work_in_the_macro() {
    runtime(1).block_on(async {
        let (tx, rx) = channel::bounded(1);
        let (meet, met) = channel::bounded::<u32>(0);
        tx.try_send(1).unwrap();
        let got = tress::select! {
            n = rx.recv() => n.unwrap(),
            _ = met.recv() => unreachable!("nobody sends"),
        };
        assert_eq!(got, 1);
        drop(meet);
        let got = tress::select! {
            n = rx.recv() => n.unwrap(),
            n = met.recv() => n.map_err(|_| 7).unwrap_or_else(|n| n),
        };
        assert_eq!(got, 7);
    });
}

/// The channels of a round: what is sent over one, and what over the other.
struct Pair {
    tx: [Sender<Message>; 2],
    rx: [Receiver<Message>; 2],
}

fn channel_of(kind: usize, told: &Arc<AtomicUsize>) -> (Sender<Message>, Receiver<Message>) {
    let told = told.clone();
    let builder = channel::builder().on_undelivered(move |message: Message| {
        add(&told, 1);
        message.returned();
    });
    match kind {
        0..=3 => builder.capacity(0).build(),
        4 => builder.capacity(1).build(),
        5 => builder.capacity(4).build(),
        6 => builder.build(),
        _ => builder.capacity(2).overflow(Overflow::DropOldest).build(),
    }
}

async fn send_both(id: usize, pair: Arc<Pair>, messages: usize, ledger: Arc<Ledger>, dice: Dice) {
    let mut dice = dice;
    let mut number = 0;
    let mut waiting = [None, None];
    while number < messages {
        for message in &mut waiting {
            if message.is_none() {
                *message = Some(ledger.message(id, number));
                number += 1;
            }
        }
        let [one, two] = &mut waiting;
        let select = Select::new()
            .send_from(&pair.tx[0], one, |sent| sent.is_ok())
            .send_from(&pair.tx[1], two, |sent| sent.is_ok());
        if let Some(sent) = dice.fickle(select.wait()).await {
            assert!(sent, "closed");
            assert_eq!(waiting.iter().flatten().count(), 1, "exactly one was sent");
        }
    }
    for message in waiting.into_iter().flatten() {
        message.returned();
    }
}

async fn receive_both(pair: Arc<Pair>, received: Arc<AtomicUsize>, all: usize, mut dice: Dice) {
    let (stop, stopped) = channel::bounded::<()>(1);
    while get(&received) < all {
        let select = Select::new()
            .recv(&pair.rx[0], Some)
            .recv(&pair.rx[1], Some)
            .recv(&stopped, |_| None);
        match dice.fickle(select.wait()).await {
            Some(Some(message)) => {
                if let Ok(message) = message {
                    message.received();
                    add(&received, 1);
                } else {
                    break;
                }
            }
            Some(None) => unreachable!("nobody stops"),
            None => tress::task::yield_now().await,
        }
    }
    drop(stop);
}

/// Selects against selects, on one channel and the other at once, given up at any poll.
#[test]
fn selects_meet_selects() {
    let mut dice = Dice::new(21);
    for workers in [1, 2, 8] {
        let rt = runtime(workers);
        for round in 0..scaled(40) {
            let ledger = Ledger::new();
            let told = Arc::new(AtomicUsize::new(0));
            let (tx0, rx0) = channel_of(dice.below(8), &told);
            let (tx1, rx1) = channel_of(dice.below(8), &told);
            let pair = Arc::new(Pair {
                tx: [tx0, tx1],
                rx: [rx0, rx1],
            });
            let messages = 2000;
            let received = Arc::new(AtomicUsize::new(0));
            rt.block_on(async {
                let receivers: Vec<_> = (0..2)
                    .map(|_| {
                        let (pair, received) = (pair.clone(), received.clone());
                        tress::spawn(receive_both(pair, received, usize::MAX, dice.fork()))
                    })
                    .collect();
                let senders: Vec<_> = (0..2)
                    .map(|id| {
                        let (pair, ledger, dice) = (pair.clone(), ledger.clone(), dice.fork());
                        tress::spawn(send_both(id, pair, messages, ledger, dice))
                    })
                    .collect();
                for sender in senders {
                    sender.await.unwrap();
                }
                for tx in &pair.tx {
                    tx.close();
                }
                for receiver in receivers {
                    receiver.await.unwrap();
                }
            });
            // Either channel may have been left with messages when the other one was seen closed.
            for rx in &pair.rx {
                for message in rx.try_iter() {
                    message.received();
                }
            }
            drop(pair);
            let fates = get(&ledger.received) + get(&ledger.returned);
            assert_eq!(get(&ledger.lost), 0, "round {round}");
            assert_eq!(fates, get(&ledger.made));
        }
    }
}

/// With threads, and without a runtime.
#[test]
fn threads_select() {
    let (one, from_one) = channel::bounded(0);
    let (two, from_two) = channel::bounded(2);
    let messages = scaled(2000);
    let sender = std::thread::spawn(move || {
        let mut sent = [0, 0];
        let mut waiting = [None, None];
        while sent[0] + sent[1] < messages {
            for message in &mut waiting {
                message.get_or_insert(1);
            }
            let [a, b] = &mut waiting;
            let which = Select::new()
                .send_from(&one, a, |s| s.map(|()| 0).unwrap())
                .send_from(&two, b, |s| s.map(|()| 1).unwrap())
                .wait_blocking();
            sent[which] += 1;
        }
        // Open until all has been received: a closed channel would be a clause that can happen.
        (sent, one, two)
    });
    let mut received = [0, 0];
    while received[0] + received[1] < messages {
        let which = Select::new()
            .recv(&from_one, |n: Result<usize, _>| n.map(|_| 0).unwrap())
            .recv(&from_two, |n: Result<usize, _>| n.map(|_| 1).unwrap())
            .wait_blocking();
        received[which] += 1;
    }
    assert_eq!(sender.join().unwrap().0, received);
}

#[test]
fn a_plain_executor_runs_a_select() {
    let (tx, rx) = channel::bounded(0);
    let thread = std::thread::spawn(move || {
        sync_support::block_on(async { Select::new().recv(&rx, |n| n.unwrap()).wait().await })
    });
    sync_support::block_on(async { tx.send(3).await }).unwrap();
    assert_eq!(thread.join().unwrap(), 3);
}
