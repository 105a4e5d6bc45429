//! What the tests of the channels share: dice, messages whose fate is written down, and futures that
//! are given up.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use tress::runtime::{Builder, Runtime};

/// xorshift64*, seeded and printed, so that a failure can be repeated.
pub struct Dice(u64);

impl Dice {
    /// `TRESS_SEED`, or the time. `salt` tells the tests apart.
    pub fn new(salt: u64) -> Dice {
        let seed = std::env::var("TRESS_SEED")
            .ok()
            .and_then(|s| s.parse().ok());
        let seed = seed.unwrap_or_else(|| {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            now.unwrap().as_nanos() as u64
        });
        println!("TRESS_SEED={seed}");
        Dice((seed ^ salt.wrapping_mul(0x9E37_79B9_7F4A_7C15)) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() >> 33) as usize % n
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn fork(&mut self) -> Dice {
        Dice(self.next() | 1)
    }

    /// Awaits a future, or gives it up after a few polls: before the first one, or with the wake-up
    /// on its way.
    pub async fn fickle<F: Future>(&mut self, future: F) -> Option<F::Output> {
        let polls = match self.below(8) {
            polls @ 0..=3 => polls,
            _ => usize::MAX,
        };
        give_up_after(polls, future).await
    }

    /// As `fickle`, for a future that may never be ready: gives it up in any case.
    pub async fn glance<F: Future>(&mut self, future: F) -> Option<F::Output> {
        give_up_after(self.below(4), future).await
    }
}

async fn give_up_after<F: Future>(mut left: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    std::future::poll_fn(move |cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        let polled = future.as_mut().poll(cx);
        if polled.is_pending() && left != usize::MAX {
            left -= 1;
            // To be given up it has to be polled again, whoever wakes it.
            cx.waker().wake_by_ref();
        }
        polled.map(Some)
    })
    .await
}

/// `n`, times `TRESS_STRESS_SCALE`; less without optimisation, and much less under Miri.
pub fn scaled(n: usize) -> usize {
    let scale = std::env::var("TRESS_STRESS_SCALE").ok();
    let scale: usize = scale.and_then(|s| s.parse().ok()).unwrap_or(1);
    let less = if cfg!(miri) {
        1000
    } else if cfg!(debug_assertions) {
        2
    } else {
        1
    };
    (n * scale / less).max(20)
}

pub fn runtime(workers: usize) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
        .unwrap()
}

/// Counts what became of messages. Each message is written down once, when it is dropped.
#[derive(Default)]
pub struct Ledger {
    pub made: AtomicUsize,
    pub received: AtomicUsize,
    pub returned: AtomicUsize,
    /// Dropped without having been received or returned.
    pub lost: AtomicUsize,
    /// Counted by the tests: accepted by the channel, or given up with the message inside.
    pub sent: AtomicUsize,
    pub given_up: AtomicUsize,
}

pub fn add(counter: &AtomicUsize, n: usize) {
    counter.fetch_add(n, Ordering::SeqCst);
}

pub fn get(counter: &AtomicUsize) -> usize {
    counter.load(Ordering::SeqCst)
}

impl Ledger {
    pub fn new() -> Arc<Ledger> {
        Arc::default()
    }

    pub fn message(self: &Arc<Ledger>, sender: usize, number: usize) -> Message {
        add(&self.made, 1);
        Message {
            sender,
            number,
            fate: Cell::new(Fate::Lost),
            ledger: self.clone(),
        }
    }

    /// Every message has had one fate, and those that the channel accepted were received or died
    /// with it.
    #[track_caller]
    pub fn check(&self) {
        let [made, received, returned, lost, sent, given_up] = [
            &self.made,
            &self.received,
            &self.returned,
            &self.lost,
            &self.sent,
            &self.given_up,
        ]
        .map(get);
        assert_eq!(
            received + returned + lost,
            made,
            "messages multiplied or leaked"
        );
        assert!(received <= sent, "received what was not sent");
        assert_eq!(lost, given_up + (sent - received), "a message was lost");
    }
}

#[derive(Clone, Copy)]
enum Fate {
    Received,
    Returned,
    Lost,
}

/// `Send`, but not `Sync`: channels must not need more.
pub struct Message {
    pub sender: usize,
    pub number: usize,
    fate: Cell<Fate>,
    ledger: Arc<Ledger>,
}

impl Message {
    pub fn received(self) {
        self.fate.set(Fate::Received);
    }

    pub fn returned(self) {
        self.fate.set(Fate::Returned);
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        let counter = match self.fate.get() {
            Fate::Received => &self.ledger.received,
            Fate::Returned => &self.ledger.returned,
            Fate::Lost => &self.ledger.lost,
        };
        add(counter, 1);
    }
}
