//! Processes that send, yield, link and end at random: every message is received once, in the order
//! of its sender, or reported; no process is lost.
//!
//! `TRESS_ACTOR_STRESS=1000000` sets how many processes there are.

mod support;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use tress_actor::{
    Cx, ExitReason, Host, Lifecycle, Mail, Message, Pid, ProcessError, SendFailure, SystemEvent,
};

/// A message: who sent it, the how manyeth from there to this receiver.
struct Numbered {
    sender: u64,
    number: u64,
}

#[derive(Default)]
struct Book {
    started: AtomicU64,
    ended: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
    undelivered: AtomicU64,
    refused: AtomicU64,
    /// Processes to send to; some have ended.
    known: RwLock<Vec<Pid>>,
    wrong: Mutex<Vec<String>>,
}

#[derive(Clone)]
struct Hook(Arc<Book>);

impl Lifecycle for Hook {
    fn on_start(&self, _: Pid, _: Option<Pid>) -> Result<(), ProcessError> {
        self.0.started.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn on_exit(&self, _: Pid, _: &ExitReason) {
        self.0.ended.fetch_add(1, Ordering::Relaxed);
    }

    fn on_undeliverable(&self, _: Pid, message: &Message) {
        if message.payload.is::<Numbered>() {
            self.0.undelivered.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A generator of numbers that depend on the seed alone.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % n
    }
}

async fn wander(mut cx: Cx<Numbered>, book: Arc<Book>, name: u64) {
    let mut random = Random(name.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut numbers: HashMap<Pid, u64> = HashMap::new();
    let mut last: HashMap<u64, u64> = HashMap::new();
    let mut receive = |message: Numbered| {
        book.received.fetch_add(1, Ordering::Relaxed);
        if let Some(before) = last.insert(message.sender, message.number) {
            if before >= message.number {
                let wrong = format!("{} after {before} from {}", message.number, message.sender);
                book.wrong.lock().unwrap().push(wrong);
            }
        }
    };
    let host = cx.host().clone();
    for _ in 0..4 + random.below(12) {
        let target = {
            let known = book.known.read().unwrap();
            known[random.below(known.len())]
        };
        match random.below(16) {
            0..8 => {
                let number = numbers.entry(target).or_default();
                *number += 1;
                let message = Message::new(Numbered {
                    sender: name,
                    number: *number,
                })
                .from(cx.pid());
                // Counted first: it may be received before `send` returns.
                book.sent.fetch_add(1, Ordering::Relaxed);
                if let Err(error) = host.send_message(target, message) {
                    assert!(matches!(
                        error.why(),
                        SendFailure::NoProcess(_) | SendFailure::Full(_)
                    ));
                    book.refused.fetch_add(1, Ordering::Relaxed);
                }
            }
            8..11 => tress::task::yield_now().await,
            11..13 => {
                let next = std::pin::pin!(cx.next());
                match tress::future::poll_once(next).await {
                    Some(Mail::Message(message)) => receive(message),
                    Some(Mail::Event(SystemEvent::Cancel { .. })) => return,
                    _ => {}
                }
            }
            13 => drop(host.link(cx.pid(), target)),
            14 => drop(host.monitor(cx.pid(), target)),
            _ if random.below(8) == 0 => drop(host.terminate(target)),
            _ => {}
        }
    }
    if random.below(4) == 0 {
        return;
    }
    loop {
        match cx.next().await {
            Mail::Message(message) => receive(message),
            Mail::Event(SystemEvent::Cancel { .. }) => return,
            Mail::Event(_) => {}
        }
    }
}

fn stress(workers: usize) {
    let count: u64 = match std::env::var("TRESS_ACTOR_STRESS") {
        Ok(count) => count.parse().expect("a number of processes"),
        Err(_) => 40_000,
    };
    let crowd = 1_000.min(count);
    let book = Arc::new(Book::default());
    support::run(workers, async {
        let host = Host::builder("stress")
            .lifecycle(Hook(book.clone()))
            .start()
            .unwrap();
        let spawn = |name: u64| {
            let book = book.clone();
            let spawn = host.future(move |cx| wander(cx, book, name));
            let spawn = if name % 3 == 0 {
                spawn.trap_exits()
            } else {
                spawn
            };
            spawn.spawn().unwrap()
        };
        book.known.write().unwrap().push(spawn(count));
        for name in 0..count {
            let pid = spawn(name);
            {
                let mut known = book.known.write().unwrap();
                if (known.len() as u64) < crowd {
                    known.push(pid);
                } else {
                    known[(name % crowd) as usize] = pid;
                }
            }
            if name % 64 == 0 {
                tress::task::yield_now().await;
                // The old ones that only listen go.
                let old = book.known.read().unwrap()[(name / 64 % crowd.min(name + 1)) as usize];
                let _ = host.cancel(old, ExitReason::Shutdown);
            }
        }
        let left = host.shutdown(std::time::Duration::from_secs(30)).await;
        left.map_err(|left| left.terminated.len()).unwrap();
        assert_eq!(host.metrics().processes, 0);
        assert_eq!(host.processes(), []);
    });
    let get = |number: &AtomicU64| number.load(Ordering::Relaxed);
    assert_eq!(*book.wrong.lock().unwrap(), [""; 0]);
    assert_eq!(
        get(&book.started),
        count + 1,
        "every process was seen to start"
    );
    assert_eq!(get(&book.ended), count + 1, "and to end");
    let accounted = get(&book.received) + get(&book.undelivered) + get(&book.refused);
    assert_eq!(
        get(&book.sent),
        accounted,
        "every message was received, reported or refused"
    );
    assert!(get(&book.received) > 0 && get(&book.undelivered) > 0 && get(&book.refused) > 0);
}

#[test]
fn on_2_workers() {
    stress(2);
}

#[test]
fn on_16_workers() {
    stress(16);
}
