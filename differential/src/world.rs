//! What every manual program has: a pool of futures that are polled and dropped by hand, values that they
//! have returned and that are still held, and the log.

use crate::rng::Rng;
use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

/// What a future returned: what is to be logged, and what is to be held on to.
pub struct Out<H> {
    pub text: String,
    pub held: Option<H>,
}

impl<H> Out<H> {
    pub fn text(text: impl ToString) -> Out<H> {
        Out {
            text: text.to_string(),
            held: None,
        }
    }

    pub fn held(text: impl ToString, held: H) -> Out<H> {
        Out {
            text: text.to_string(),
            held: Some(held),
        }
    }
}

pub type Fut<H> = Pin<Box<dyn Future<Output = Out<H>>>>;

struct Slot<H> {
    number: usize,
    /// Changes when it is polled with another waker.
    generation: usize,
    future: Fut<H>,
    waker: Waker,
    /// Since it was polled last.
    woken: bool,
    /// It is never dropped before it is ready.
    kept: bool,
}

type Woken = Arc<Mutex<BTreeSet<(usize, usize)>>>;

struct SlotWaker {
    number: usize,
    generation: usize,
    woken: Woken,
}

impl Wake for SlotWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut woken = self.woken.lock().unwrap();
        woken.insert((self.number, self.generation));
    }
}

pub struct World<H> {
    pub rng: Rng,
    pub log: Vec<String>,
    pub held: Vec<H>,
    slots: Vec<Slot<H>>,
    next: usize,
    woken: Woken,
}

impl<H> World<H> {
    pub fn new(seed: u64) -> World<H> {
        World {
            rng: Rng::new(seed),
            log: Vec::new(),
            held: Vec::new(),
            slots: Vec::new(),
            next: 0,
            woken: Woken::default(),
        }
    }

    pub fn say(&mut self, what: impl ToString) {
        self.log.push(what.to_string());
    }

    fn waker(&self, number: usize, generation: usize) -> Waker {
        Waker::from(Arc::new(SlotWaker {
            number,
            generation,
            woken: self.woken.clone(),
        }))
    }

    /// Adds a future to the pool; it is polled at once, more often than not. Returns its number.
    pub fn start(&mut self, name: impl ToString, future: Fut<H>) -> usize {
        self.start_kept(name, false, future)
    }

    /// From now until it is polled again, it may be woken or not.
    pub fn excuse(&mut self, number: usize) {
        for slot in &mut self.slots {
            slot.woken |= slot.number == number;
        }
    }

    /// As `start`; one that is `kept` is never dropped before it is ready.
    pub fn start_kept(&mut self, name: impl ToString, kept: bool, future: Fut<H>) -> usize {
        let number = self.next;
        self.next += 1;
        self.say(format_args!("{number} = {}", name.to_string()));
        self.slots.push(Slot {
            number,
            generation: 0,
            future,
            waker: self.waker(number, 0),
            woken: false,
            kept,
        });
        if !self.rng.one_in(4) {
            self.poll_slot(self.slots.len() - 1);
        }
        number
    }

    fn poll_slot(&mut self, at: usize) {
        if self.rng.one_in(6) {
            let (number, generation) = (self.slots[at].number, self.slots[at].generation + 1);
            self.slots[at].generation = generation;
            self.slots[at].waker = self.waker(number, generation);
        }
        let slot = &mut self.slots[at];
        let number = slot.number;
        slot.woken = false;
        let waker = slot.waker.clone();
        match slot.future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Pending => self.say(format_args!("{number} pending")),
            Poll::Ready(out) => {
                self.say(format_args!("{number} ready: {}", out.text));
                self.held.extend(out.held);
                let slot = self.slots.swap_remove(at);
                drop(slot.future);
            }
        }
    }

    /// Polls or drops a future, or drops something held; or leaves it to the caller to do something.
    pub fn step(&mut self) -> bool {
        let done = match self.rng.below(100) {
            0..35 if !self.slots.is_empty() => {
                let at = self.rng.below(self.slots.len());
                self.poll_slot(at);
                true
            }
            35..43 if !self.slots.is_empty() => {
                let at = self.rng.below(self.slots.len());
                if !self.slots[at].kept {
                    let slot = self.slots.swap_remove(at);
                    self.say(format_args!("{} dropped", slot.number));
                    drop(slot.future);
                }
                true
            }
            43..52 if !self.held.is_empty() => {
                let held = self.take_held().expect("not empty");
                self.say("let go");
                drop(held);
                true
            }
            _ => false,
        };
        self.note_wakes();
        done
    }

    pub fn take_held(&mut self) -> Option<H> {
        if self.held.is_empty() {
            return None;
        }
        let at = self.rng.below(self.held.len());
        Some(self.held.swap_remove(at))
    }

    /// Logs whom the last operation woke: by the waker that it was polled with last, for the first time
    /// since. In no order, because Tokio promises none between different waiters; and to wake again who
    /// was woken already and has not been polled means nothing.
    pub fn note_wakes(&mut self) {
        let woken = std::mem::take(&mut *self.woken.lock().unwrap());
        let mut news = Vec::new();
        for (number, generation) in woken {
            let mut slots = self.slots.iter_mut();
            let slot = slots.find(|slot| (slot.number, slot.generation) == (number, generation));
            if slot.is_some_and(|slot| !std::mem::replace(&mut slot.woken, true)) {
                news.push(number);
            }
        }
        if !news.is_empty() {
            self.say(format_args!("woken: {news:?}"));
        }
    }

    /// Polls whatever is left once more, then drops it all in a random order.
    pub fn finish(mut self) -> Vec<String> {
        for at in (0..self.slots.len()).rev() {
            self.poll_slot(at);
            self.note_wakes();
        }
        while !self.slots.is_empty() {
            let at = self.rng.below(self.slots.len());
            let slot = self.slots.swap_remove(at);
            self.say(format_args!("{} dropped", slot.number));
            drop(slot.future);
            self.note_wakes();
        }
        while let Some(held) = self.take_held() {
            drop(held);
        }
        self.log
    }
}
