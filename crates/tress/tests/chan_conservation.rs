//! Nothing is lost and nothing is doubled: millions of messages, with futures given up at every poll
//! and either side dropped at any time.
//!
//! `TRESS_SEED` repeats a run's choices, `TRESS_STRESS_SCALE` makes it longer (default 1).

mod chan_support;

use chan_support::{Dice, Ledger, add, get, runtime, scaled};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use tress::sync::mpsc::error::{SendError, TryRecvError, TrySendError};
use tress::sync::{broadcast, mpsc, oneshot, watch};
use tress::task::yield_now;

const CAPACITIES: [usize; 4] = [1, 2, 7, 100];
const WORKERS: [usize; 3] = [1, 2, 8];
const SENDERS: usize = 4;

/// How the receiver ends.
#[derive(Clone, Copy, PartialEq)]
enum End {
    /// With the last message.
    Drain,
    /// Closes the channel after so many, and takes the rest.
    Close(usize),
    /// Is dropped after so many.
    Drop(usize),
}

impl End {
    fn roll(dice: &mut Dice, messages: usize) -> End {
        match dice.below(3) {
            0 => End::Drain,
            1 => End::Close(dice.below(messages)),
            _ => End::Drop(dice.below(messages)),
        }
    }

    fn is_due(self, received: usize) -> bool {
        matches!(self, End::Close(at) | End::Drop(at) if received >= at)
    }
}

/// Messages of one sender come in order.
#[derive(Default)]
struct Order([usize; SENDERS]);

impl Order {
    fn check(&mut self, message: &chan_support::Message) {
        let next = &mut self.0[message.sender];
        assert!(message.number >= *next, "out of order");
        *next = message.number + 1;
    }
}

async fn bounded_sender(
    id: usize,
    mut tx: mpsc::Sender<chan_support::Message>,
    messages: usize,
    ledger: Arc<Ledger>,
    mut dice: Dice,
) {
    let mut number = 0;
    while number < messages {
        match dice.below(16) {
            0..=5 => {
                let message = ledger.message(id, number);
                number += 1;
                match dice.fickle(tx.send(message)).await {
                    Some(Ok(())) => add(&ledger.sent, 1),
                    Some(Err(SendError(message))) => return message.returned(),
                    None => add(&ledger.given_up, 1),
                }
            }
            6..=7 => {
                let message = ledger.message(id, number);
                number += 1;
                match tx.try_send(message) {
                    Ok(()) => add(&ledger.sent, 1),
                    Err(TrySendError::Full(message)) => message.returned(),
                    Err(TrySendError::Closed(message)) => return message.returned(),
                }
            }
            8..=9 => match dice.fickle(tx.reserve()).await {
                Some(Ok(permit)) => {
                    if dice.one_in(4) {
                        yield_now().await;
                    }
                    if !dice.one_in(4) {
                        permit.send(ledger.message(id, number));
                        number += 1;
                        add(&ledger.sent, 1);
                    }
                }
                Some(Err(SendError(()))) => return,
                None => {}
            },
            10..=12 => {
                let count = dice.below(tx.max_capacity().min(5) + 1);
                match dice.fickle(tx.reserve_many(count)).await {
                    Some(Ok(permits)) => {
                        assert_eq!(permits.len(), count);
                        for permit in permits {
                            if dice.one_in(6) {
                                break;
                            }
                            permit.send(ledger.message(id, number));
                            number += 1;
                            add(&ledger.sent, 1);
                        }
                    }
                    Some(Err(SendError(()))) => return,
                    None => {}
                }
            }
            13 => match dice.fickle(tx.clone().reserve_owned()).await {
                Some(Ok(permit)) => {
                    tx = if dice.one_in(3) {
                        permit.release()
                    } else {
                        number += 1;
                        add(&ledger.sent, 1);
                        permit.send(ledger.message(id, number - 1))
                    };
                }
                Some(Err(SendError(()))) => return,
                None => {}
            },
            14 => {
                dice.glance(tx.closed()).await;
                if tx.is_closed() {
                    return;
                }
            }
            _ => yield_now().await,
        }
    }
}

macro_rules! receiver {
    ($name:ident, $receiver:ty) => {
        async fn $name(mut rx: $receiver, end: End, mut dice: Dice) {
            let mut order = Order::default();
            let mut received = 0;
            let mut batch = Vec::new();
            loop {
                if end.is_due(received) {
                    match end {
                        End::Drop(_) => return,
                        _ => rx.close(),
                    }
                }
                match dice.below(8) {
                    0..=3 => match dice.fickle(rx.recv()).await {
                        Some(Some(message)) => batch.push(message),
                        Some(None) => break,
                        None => {}
                    },
                    4..=5 => {
                        let limit = 1 + dice.below(10);
                        let got = dice.fickle(rx.recv_many(&mut batch, limit)).await;
                        assert!(batch.len() <= limit);
                        match got {
                            Some(0) => break,
                            Some(n) => assert_eq!(n, batch.len()),
                            None => assert!(batch.is_empty()),
                        }
                    }
                    6 => match rx.try_recv() {
                        Ok(message) => batch.push(message),
                        Err(TryRecvError::Empty) => yield_now().await,
                        Err(TryRecvError::Disconnected) => break,
                    },
                    _ => yield_now().await,
                }
                for message in batch.drain(..) {
                    order.check(&message);
                    message.received();
                    received += 1;
                }
            }
            assert_eq!(rx.len(), 0);
            assert!(rx.is_closed());
            assert!(rx.recv().await.is_none());
        }
    };
}

receiver!(bounded_receiver, mpsc::Receiver<chan_support::Message>);
receiver!(
    unbounded_receiver,
    mpsc::UnboundedReceiver<chan_support::Message>
);

/// One channel's life.
async fn bounded_life(capacity: usize, messages: usize, end: End, dice: &mut Dice) {
    let ledger = Ledger::new();
    let (tx, rx) = mpsc::channel(capacity);
    let weak = tx.downgrade();
    let receiver = tress::spawn(bounded_receiver(rx, end, dice.fork()));
    let senders: Vec<_> = (0..SENDERS)
        .map(|id| {
            let (tx, ledger, dice) = (tx.clone(), ledger.clone(), dice.fork());
            tress::spawn(bounded_sender(id, tx, messages / SENDERS, ledger, dice))
        })
        .collect();
    drop(tx);
    for sender in senders {
        sender.await.unwrap();
    }
    receiver.await.unwrap();
    ledger.check();
    if end == End::Drain {
        assert_eq!(get(&ledger.received), get(&ledger.sent));
    }
    assert!(weak.upgrade().is_none());
}

async fn unbounded_life(messages: usize, end: End, dice: &mut Dice) {
    let ledger = Ledger::new();
    let (tx, rx) = mpsc::unbounded_channel();
    let receiver = tress::spawn(unbounded_receiver(rx, end, dice.fork()));
    let senders: Vec<_> = (0..SENDERS)
        .map(|id| {
            let (tx, ledger, mut dice) = (tx.clone(), ledger.clone(), dice.fork());
            tress::spawn(async move {
                for number in 0..messages / SENDERS {
                    match tx.send(ledger.message(id, number)) {
                        Ok(()) => add(&ledger.sent, 1),
                        Err(SendError(message)) => return message.returned(),
                    }
                    if dice.one_in(20) {
                        dice.glance(tx.closed()).await;
                    }
                }
            })
        })
        .collect();
    drop(tx);
    for sender in senders {
        sender.await.unwrap();
    }
    receiver.await.unwrap();
    ledger.check();
    if end == End::Drain {
        assert_eq!(get(&ledger.received), get(&ledger.sent));
    }
}

#[test]
fn mpsc_many_messages() {
    let mut dice = Dice::new(1);
    for workers in WORKERS {
        let rt = runtime(workers);
        rt.block_on(async {
            for capacity in CAPACITIES {
                bounded_life(capacity, scaled(100_000), End::Drain, &mut dice).await;
            }
            unbounded_life(scaled(200_000), End::Drain, &mut dice).await;
        });
    }
}

#[test]
fn mpsc_many_channels() {
    let mut dice = Dice::new(2);
    for workers in WORKERS {
        let rt = runtime(workers);
        rt.block_on(async {
            for _ in 0..scaled(1000) {
                let capacity = CAPACITIES[dice.below(CAPACITIES.len())];
                let messages = 4 + dice.below(200);
                let end = End::roll(&mut dice, messages);
                bounded_life(capacity, messages, end, &mut dice).await;
                let end = End::roll(&mut dice, messages);
                unbounded_life(messages, end, &mut dice).await;
            }
        });
    }
}

/// On threads without a runtime, with the blocking functions.
#[test]
fn mpsc_threads() {
    let mut dice = Dice::new(3);
    for capacity in CAPACITIES {
        for _ in 0..3 {
            let ledger = Ledger::new();
            let messages = scaled(10_000);
            let end = End::roll(&mut dice, messages);
            let (tx, mut rx) = mpsc::channel(capacity);
            let senders: Vec<_> = (0..SENDERS)
                .map(|id| {
                    let (tx, ledger) = (tx.clone(), ledger.clone());
                    std::thread::spawn(move || {
                        for number in 0..messages / SENDERS {
                            match tx.blocking_send(ledger.message(id, number)) {
                                Ok(()) => add(&ledger.sent, 1),
                                Err(SendError(message)) => return message.returned(),
                            }
                        }
                    })
                })
                .collect();
            drop(tx);
            let mut order = Order::default();
            let mut received = 0;
            while let Some(message) = rx.blocking_recv() {
                order.check(&message);
                message.received();
                received += 1;
                if end.is_due(received) {
                    match end {
                        End::Drop(_) => break,
                        _ => rx.close(),
                    }
                }
            }
            drop(rx);
            for sender in senders {
                sender.join().unwrap();
            }
            ledger.check();
        }
    }
}

/// Bursts that are long enough for many blocks at once, and a receiver that lags behind and catches up.
#[test]
fn mpsc_long_bursts() {
    for lag in [0, 2_500, 10_000] {
        let ledger = Ledger::new();
        let messages = scaled(200_000);
        let (tx, mut rx) = mpsc::unbounded_channel();
        let senders: Vec<_> = (0..SENDERS)
            .map(|id| {
                let (tx, ledger) = (tx.clone(), ledger.clone());
                std::thread::spawn(move || {
                    for number in 0..messages / SENDERS {
                        assert!(tx.send(ledger.message(id, number)).is_ok());
                        add(&ledger.sent, 1);
                    }
                })
            })
            .collect();
        drop(tx);
        let mut order = Order::default();
        loop {
            match rx.try_recv() {
                Ok(message) => {
                    order.check(&message);
                    message.received();
                }
                Err(TryRecvError::Empty) => {
                    while rx.len() < lag && !rx.is_closed() {
                        std::thread::yield_now();
                    }
                }
                Err(TryRecvError::Disconnected) => break,
            }
        }
        for sender in senders {
            sender.join().unwrap();
        }
        ledger.check();
        assert_eq!(get(&ledger.received), messages / SENDERS * SENDERS);
    }
}

#[test]
fn oneshot_many_channels() {
    let mut dice = Dice::new(4);
    for workers in WORKERS {
        let rt = runtime(workers);
        let ledger = Ledger::new();
        rt.block_on(async {
            for round in 0..scaled(50_000) {
                let (tx, rx) = oneshot::channel();
                let sender = tress::spawn(oneshot_sender(tx, round, ledger.clone(), dice.fork()));
                let receiver = tress::spawn(oneshot_receiver(rx, dice.fork()));
                sender.await.unwrap();
                receiver.await.unwrap();
            }
        });
        ledger.check();
    }
}

async fn oneshot_sender(
    mut tx: oneshot::Sender<chan_support::Message>,
    number: usize,
    ledger: Arc<Ledger>,
    mut dice: Dice,
) {
    match dice.below(8) {
        0 => return,
        1..=2 => yield_now().await,
        3..=4 => {
            dice.glance(tx.closed()).await;
        }
        _ => {}
    }
    match tx.send(ledger.message(0, number)) {
        Ok(()) => add(&ledger.sent, 1),
        Err(message) => message.returned(),
    }
}

async fn oneshot_receiver(mut rx: oneshot::Receiver<chan_support::Message>, mut dice: Dice) {
    let received = match dice.below(8) {
        0 => return,
        1 => {
            rx.close();
            rx.try_recv().ok()
        }
        2 => rx.try_recv().ok(),
        3..=5 => match dice.fickle(&mut rx).await {
            Some(received) => received.ok(),
            None if dice.one_in(2) => rx.await.ok(),
            None => None,
        },
        _ => rx.await.ok(),
    };
    if let Some(message) = received {
        message.received();
    }
}

/// Counts its clones.
struct Counted {
    number: u64,
    alive: Arc<AtomicUsize>,
}

impl Counted {
    fn new(number: u64, alive: &Arc<AtomicUsize>) -> Counted {
        add(alive, 1);
        Counted {
            number,
            alive: alive.clone(),
        }
    }
}

impl Clone for Counted {
    fn clone(&self) -> Counted {
        Counted::new(self.number, &self.alive)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
    }
}

/// Every receiver has every message from its subscription on, or is told how many it missed.
async fn broadcast_receiver(
    mut rx: broadcast::Receiver<Counted>,
    mut next: u64,
    leave_after: usize,
    mut dice: Dice,
) -> Option<u64> {
    for _ in 0..leave_after {
        let received = match dice.fickle(rx.recv()).await {
            Some(received) => received,
            None if dice.one_in(2) => match rx.try_recv() {
                Ok(message) => Ok(message),
                Err(broadcast::error::TryRecvError::Empty) => continue,
                Err(broadcast::error::TryRecvError::Closed) => return Some(next),
                Err(broadcast::error::TryRecvError::Lagged(missed)) => {
                    Err(broadcast::error::RecvError::Lagged(missed))
                }
            },
            None => continue,
        };
        match received {
            Ok(message) => {
                assert_eq!(message.number, next);
                next += 1;
            }
            Err(broadcast::error::RecvError::Lagged(missed)) => {
                assert!(missed > 0);
                next += missed;
            }
            Err(broadcast::error::RecvError::Closed) => return Some(next),
        }
        if dice.one_in(50) {
            yield_now().await;
        }
    }
    None
}

#[test]
fn broadcast_many_messages() {
    let mut dice = Dice::new(5);
    for workers in WORKERS {
        let rt = runtime(workers);
        rt.block_on(async {
            for capacity in CAPACITIES {
                let alive = Arc::new(AtomicUsize::new(0));
                let total = scaled(20_000) as u64;
                let (tx, rx) = broadcast::channel(capacity);
                let mut receivers = vec![tress::spawn(broadcast_receiver(
                    rx,
                    0,
                    usize::MAX,
                    dice.fork(),
                ))];
                for number in 0..total {
                    if dice.one_in(500) {
                        let leave_after = if dice.one_in(4) {
                            usize::MAX
                        } else {
                            dice.below(500)
                        };
                        let rx = tx.subscribe();
                        let receiver = broadcast_receiver(rx, number, leave_after, dice.fork());
                        receivers.push(tress::spawn(receiver));
                    }
                    assert!(tx.send(Counted::new(number, &alive)).is_ok());
                    if dice.one_in(capacity.min(8) + 1) {
                        yield_now().await;
                    }
                }
                drop(tx);
                for receiver in receivers {
                    if let Some(next) = receiver.await.unwrap() {
                        assert_eq!(next, total);
                    }
                }
                assert_eq!(get(&alive), 0, "messages leaked or were dropped twice");
            }
        });
    }
}

#[test]
fn watch_many_changes() {
    let mut dice = Dice::new(6);
    for workers in WORKERS {
        let rt = runtime(workers);
        rt.block_on(async {
            let last = scaled(20_000);
            let (tx, rx) = watch::channel(0);
            let receivers: Vec<_> = (0..4)
                .map(|_| {
                    let (mut rx, mut dice) = (rx.clone(), dice.fork());
                    tress::spawn(async move {
                        let mut seen = 0;
                        loop {
                            let changed = match dice.fickle(rx.changed()).await {
                                Some(changed) => changed,
                                None => continue,
                            };
                            let value = rx.borrow_and_update();
                            assert!(*value >= seen, "went back");
                            seen = *value;
                            if changed.is_err() {
                                return seen;
                            }
                        }
                    })
                })
                .collect();
            let mut waiter = rx;
            let waiter =
                tress::spawn(
                    async move { *waiter.wait_for(|value| *value >= last / 2).await.unwrap() },
                );
            for value in 1..=last {
                assert!(tx.send(value).is_ok());
                if dice.one_in(4) {
                    yield_now().await;
                }
            }
            assert!(waiter.await.unwrap() >= last / 2);
            drop(tx);
            for receiver in receivers {
                assert_eq!(receiver.await.unwrap(), last, "missed the last value");
            }
        });
    }
}
