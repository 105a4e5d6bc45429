//! Nothing is lost and nothing is doubled in channels with many receivers, of every kind: millions of
//! messages, with futures given up at every poll and either side closed or dropped at any time.
//!
//! received + returned to the sender + told of as undelivered = sent.
//!
//! `TRESS_SEED` repeats a run's choices, `TRESS_STRESS_SCALE` makes it longer (default 1).

mod chan_support;

use chan_support::{Dice, Ledger, Message, add, get, runtime, scaled};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use tress::channel::error::TrySendError;
use tress::channel::{self, Overflow, Receiver, Sender};
use tress::task::yield_now;

const WORKERS: [usize; 3] = [1, 2, 8];
const SENDERS: usize = 3;

#[derive(Clone, Copy, Debug)]
struct Kind {
    capacity: Option<usize>,
    overflow: Overflow,
}

const fn kind(capacity: usize, overflow: Overflow) -> Kind {
    Kind {
        capacity: Some(capacity),
        overflow,
    }
}

const KINDS: [Kind; 11] = [
    kind(0, Overflow::Suspend),
    kind(1, Overflow::Suspend),
    kind(2, Overflow::Suspend),
    kind(7, Overflow::Suspend),
    kind(100, Overflow::Suspend),
    // Beyond the largest ring.
    kind(1_000_000, Overflow::Suspend),
    Kind {
        capacity: None,
        overflow: Overflow::Suspend,
    },
    kind(1, Overflow::DropOldest),
    kind(7, Overflow::DropOldest),
    kind(1, Overflow::DropLatest),
    kind(7, Overflow::DropLatest),
];

/// How a channel ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    /// With the last message.
    Drain,
    /// Is closed by a receiver after so many, and drained.
    Close(usize),
    /// Its receivers are dropped after so many each.
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
}

/// The fates of one channel's messages.
struct Life {
    ledger: Arc<Ledger>,
    /// In errors.
    returned: AtomicUsize,
    undelivered: AtomicUsize,
}

impl Life {
    fn open(kind: Kind) -> (Arc<Life>, Sender<Message>, Receiver<Message>) {
        let life = Arc::new(Life {
            ledger: Ledger::new(),
            returned: AtomicUsize::new(0),
            undelivered: AtomicUsize::new(0),
        });
        let told = life.clone();
        let mut builder =
            channel::builder()
                .overflow(kind.overflow)
                .on_undelivered(move |message: Message| {
                    add(&told.undelivered, 1);
                    message.returned();
                });
        if let Some(capacity) = kind.capacity {
            builder = builder.capacity(capacity);
        }
        let (tx, rx) = builder.build();
        (life, tx, rx)
    }

    fn give_back(&self, message: Message) {
        add(&self.returned, 1);
        message.returned();
    }

    #[track_caller]
    fn check(&self, kind: Kind, end: End) {
        let made = get(&self.ledger.made);
        let received = get(&self.ledger.received);
        let returned = get(&self.returned);
        let undelivered = get(&self.undelivered);
        assert_eq!(get(&self.ledger.lost), 0, "a message was lost: {kind:?}");
        assert_eq!(
            received + returned + undelivered,
            made,
            "{kind:?} {end:?}: {received} received, {returned} returned, {undelivered} undelivered"
        );
    }
}

async fn send_all(
    id: usize,
    mut tx: Sender<Message>,
    messages: usize,
    life: Arc<Life>,
    dice: Dice,
) {
    let mut dice = dice;
    let mut number = 0;
    while number < messages {
        match dice.below(16) {
            0..=6 => {
                let message = life.ledger.message(id, number);
                number += 1;
                if let Some(Err(error)) = dice.fickle(tx.send(message)).await {
                    return life.give_back(error.into_inner());
                }
            }
            7..=8 => {
                let message = life.ledger.message(id, number);
                number += 1;
                match tx.try_send(message) {
                    Ok(()) => {}
                    Err(TrySendError::Full(message)) => life.give_back(message),
                    Err(TrySendError::Closed(error)) => {
                        return life.give_back(error.into_inner());
                    }
                }
            }
            9..=10 => match dice.fickle(tx.reserve()).await {
                Some(Ok(permit)) => {
                    if dice.one_in(4) {
                        yield_now().await;
                    }
                    if !dice.one_in(4) {
                        let message = life.ledger.message(id, number);
                        number += 1;
                        if let Err(error) = permit.send(message) {
                            return life.give_back(error.into_inner());
                        }
                    }
                }
                Some(Err(_)) => return,
                None => {}
            },
            11 => match dice.fickle(tx.clone().reserve_owned()).await {
                Some(Ok(permit)) if dice.one_in(3) => tx = permit.release(),
                Some(Ok(permit)) => {
                    let message = life.ledger.message(id, number);
                    number += 1;
                    match permit.send(message) {
                        Ok(sender) => tx = sender,
                        Err(error) => return life.give_back(error.into_inner()),
                    }
                }
                Some(Err(_)) => return,
                None => {}
            },
            12 => {
                if let Ok(permit) = tx.try_reserve() {
                    let message = life.ledger.message(id, number);
                    number += 1;
                    if let Err(error) = permit.send(message) {
                        return life.give_back(error.into_inner());
                    }
                }
            }
            13 => {
                dice.glance(tx.closed()).await;
            }
            _ => yield_now().await,
        }
    }
}

/// `ordered`: messages of one sender come in order.
async fn receive_all(rx: Receiver<Message>, end: End, ordered: bool, mut dice: Dice) {
    let mut next = [0; SENDERS];
    let mut received = 0;
    let mut batch = Vec::new();
    loop {
        match end {
            End::Drop(after) if received >= after => return,
            End::Close(after) if received >= after => drop(rx.close()),
            _ => {}
        }
        match dice.below(8) {
            0..=4 => match dice.fickle(rx.recv()).await {
                Some(Ok(message)) => batch.push(message),
                Some(Err(_)) => break,
                None => {}
            },
            5 => {
                let limit = 1 + dice.below(10);
                match dice.fickle(rx.recv_many(&mut batch, limit)).await {
                    Some(Ok(n)) => assert_eq!(n, batch.len()),
                    Some(Err(_)) => break,
                    None => assert!(batch.is_empty()),
                }
                assert!(batch.len() <= limit);
            }
            6 => match rx.try_recv() {
                Ok(message) => batch.push(message),
                Err(error) if error.is_empty() => yield_now().await,
                Err(_) => break,
            },
            _ => yield_now().await,
        }
        for message in batch.drain(..) {
            if ordered {
                assert!(message.number >= next[message.sender], "out of order");
                next[message.sender] = message.number + 1;
            }
            message.received();
            received += 1;
        }
    }
    assert!(rx.is_closed());
    assert!(rx.recv().await.is_err());
}

async fn live(kind: Kind, receivers: usize, messages: usize, end: End, dice: &mut Dice) {
    let (life, tx, rx) = Life::open(kind);
    // What a receiver gave up after it was handed over goes to another one, late.
    let ordered = kind.capacity != Some(0) || receivers == 1;
    let mut tasks: Vec<_> = (0..receivers)
        .map(|_| tress::spawn(receive_all(rx.clone(), end, ordered, dice.fork())))
        .collect();
    drop(rx);
    for id in 0..SENDERS {
        let (tx, life, dice) = (tx.clone(), life.clone(), dice.fork());
        tasks.push(tress::spawn(send_all(
            id,
            tx,
            messages / SENDERS,
            life,
            dice,
        )));
    }
    drop(tx);
    for task in tasks {
        task.await.unwrap();
    }
    life.check(kind, end);
}

#[test]
fn many_messages() {
    let mut dice = Dice::new(11);
    for workers in WORKERS {
        runtime(workers).block_on(async {
            for kind in KINDS {
                for receivers in [1, 3] {
                    live(kind, receivers, scaled(40_000), End::Drain, &mut dice).await;
                }
            }
        });
    }
}

#[test]
fn many_channels() {
    let mut dice = Dice::new(12);
    for workers in WORKERS {
        runtime(workers).block_on(async {
            for _ in 0..scaled(2000) {
                let kind = KINDS[dice.below(KINDS.len())];
                if kind.capacity == Some(1_000_000) && !dice.one_in(10) {
                    continue;
                }
                let messages = SENDERS + dice.below(100);
                let end = End::roll(&mut dice, messages);
                live(kind, 1 + dice.below(3), messages, end, &mut dice).await;
            }
        });
    }
}

/// Threads with the blocking functions on one side, tasks on the other.
#[test]
fn threads_and_tasks() {
    let mut dice = Dice::new(13);
    for kind in KINDS {
        let rt = runtime(2);
        for blocking_senders in [false, true] {
            let (life, tx, rx) = Life::open(kind);
            let messages = scaled(5_000);
            let mut tasks = Vec::new();
            let mut threads = Vec::new();
            for id in 0..SENDERS {
                let (tx, life, dice) = (tx.clone(), life.clone(), dice.fork());
                if blocking_senders {
                    threads.push(std::thread::spawn(move || {
                        for number in 0..messages / SENDERS {
                            if let Err(error) = tx.send_blocking(life.ledger.message(id, number)) {
                                return life.give_back(error.into_inner());
                            }
                        }
                    }));
                } else {
                    tasks.push(rt.spawn(send_all(id, tx, messages / SENDERS, life, dice)));
                }
            }
            drop(tx);
            for _ in 0..2 {
                let rx = rx.clone();
                if blocking_senders {
                    tasks.push(rt.spawn(receive_all(rx, End::Drain, false, dice.fork())));
                } else {
                    threads.push(std::thread::spawn(move || {
                        for message in rx {
                            message.received();
                        }
                    }));
                }
            }
            drop(rx);
            for thread in threads {
                thread.join().unwrap();
            }
            rt.block_on(async {
                for task in tasks {
                    task.await.unwrap();
                }
            });
            life.check(kind, End::Drain);
        }
    }
}
