//! A future that keeps the first waker it is given. Polled by one task and then moved to another, it wakes the one that does
//! not wait for it any more.
//!
//! Mended: the waker is replaced at each poll.

use crate::lines::{ask_again, serve};
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::task::spawn_local;
use tokio::time::timeout;
use tress_sim::Sim;

/// A place for an answer that is to come.
#[derive(Default)]
struct Slot {
    answer: Option<String>,
    waker: Option<Waker>,
}

impl Slot {
    fn fill(slot: &RefCell<Slot>, answer: String) {
        let mut slot = slot.borrow_mut();
        slot.answer = Some(answer);
        if let Some(waker) = slot.waker.take() {
            waker.wake();
        }
    }
}

/// Waits for an answer.
struct Answer {
    slot: Rc<RefCell<Slot>>,
    is_mended: bool,
}

impl Future for Answer {
    type Output = String;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<String> {
        let mut slot = self.slot.borrow_mut();
        if let Some(answer) = slot.answer.take() {
            return Poll::Ready(answer);
        }
        if slot.waker.is_none() || self.is_mended {
            slot.waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }
}

/// Asks in the background, as often as it takes.
fn answer(question: String, is_mended: bool) -> Answer {
    let slot = Rc::new(RefCell::new(Slot::default()));
    let filled = slot.clone();
    spawn_local(async move {
        let answer = ask_again("server", &question).await;
        Slot::fill(&filled, answer);
    });
    Answer { slot, is_mended }
}

pub fn service(sim: &mut Sim<'static>, is_mended: bool) {
    sim.host("server", || serve(|question| format!("{question}!")));
    sim.client("client", async move {
        for number in 0..10 {
            let mut answer = answer(number.to_string(), is_mended);
            let text = match timeout(Duration::from_millis(500), &mut answer).await {
                Ok(text) => text,
                // Another task waits for what is late.
                Err(_) => spawn_local(answer).await?,
            };
            assert_eq!(text, format!("{number}!"));
        }
        Ok(())
    });
}
