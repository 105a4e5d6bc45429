use super::*;
use crate::runtime::Builder;
use crate::sync::wait_list::tests::Wakes;
use crate::sync::{Notify, oneshot};
use crate::task::{coop, yield_now};
use std::cell::Cell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Counts its polls, and is ready once the channel has something.
fn counting<T>(
    receiver: oneshot::Receiver<T>,
    polls: &Rc<Cell<usize>>,
) -> impl Future<Output = T> + use<T> {
    let (polls, mut receiver) = (polls.clone(), receiver);
    poll_fn(move |cx| {
        polls.set(polls.get() + 1);
        Pin::new(&mut receiver).poll(cx).map(Result::unwrap)
    })
}

fn poll<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

#[test]
fn only_who_was_woken_is_polled() {
    const MANY: usize = if cfg!(miri) { 50 } else { 1_000 };
    let polls = Rc::new(Cell::new(0));
    let (wakes, waker) = Wakes::new();
    let (mut senders, futures): (Vec<_>, Vec<_>) = (0..MANY)
        .map(|_| {
            let (sender, receiver) = oneshot::channel();
            (sender, counting(receiver, &polls))
        })
        .unzip();
    let mut all = join_all(futures);
    assert!(poll(&mut all, &waker).is_pending());
    assert_eq!((polls.take(), wakes.take()), (MANY, 0));
    // From the back, in pairs: one wake-up of the task for both.
    while senders.len() > 2 {
        for _ in 0..2 {
            let number = senders.len() - 1;
            senders.pop().unwrap().send(number).unwrap();
        }
        assert_eq!(wakes.take(), 1);
        assert!(poll(&mut all, &waker).is_pending());
        assert_eq!(polls.take(), 2);
    }
    // Nobody was woken, nobody is polled.
    assert!(poll(&mut all, &waker).is_pending());
    assert_eq!(polls.take(), 0);
    for (number, sender) in senders.into_iter().enumerate() {
        sender.send(number).unwrap();
    }
    let Poll::Ready(outputs) = poll(&mut all, &waker) else {
        panic!("all have sent");
    };
    assert!(outputs.into_iter().eq(0..MANY));
}

#[test]
fn the_latest_waker_is_woken() {
    let (sender, receiver) = oneshot::channel();
    let mut all = join_all([receiver]);
    let ((old, old_waker), (new, new_waker)) = (Wakes::new(), Wakes::new());
    assert!(poll(&mut all, &old_waker).is_pending());
    assert!(poll(&mut all, &new_waker).is_pending());
    sender.send(5).unwrap();
    assert_eq!((old.take(), new.take()), (0, 1));
    assert_eq!(poll(&mut all, &new_waker), Poll::Ready(vec![Ok(5)]));
}

#[test]
fn a_member_that_wakes_itself_does_not_keep_the_task() {
    let (wakes, waker) = Wakes::new();
    let mut turns = 0;
    let busy = poll_fn(move |cx: &mut Context<'_>| {
        turns += 1;
        cx.waker().wake_by_ref();
        if turns == 10 {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    });
    let mut all = join_all([busy]);
    for _ in 1..10 {
        assert!(poll(&mut all, &waker).is_pending());
        assert_eq!(wakes.take(), 1);
    }
    assert!(poll(&mut all, &waker).is_ready());
}

/// Members that are ready, but many more than a budget allows for.
#[test]
fn out_of_budget_the_rest_waits_unpolled() {
    const MANY: usize = if cfg!(miri) { 400 } else { 10_000 };
    let rt = Builder::new_current_thread().build().unwrap();
    let polls = Rc::new(Cell::new(0));
    rt.block_on(async {
        let member = |number| {
            let polls = polls.clone();
            let mut ready = Box::pin(coop::cooperative(std::future::ready(number)));
            poll_fn(move |cx| {
                polls.set(polls.get() + 1);
                ready.as_mut().poll(cx)
            })
        };
        let outputs = join_all((0..MANY).map(member)).await;
        assert!(outputs.into_iter().eq(0..MANY));
    });
    assert_eq!(polls.get(), MANY);
}

/// A wake-up that comes while the rest of a round waits for budget is not forgotten.
#[test]
fn woken_between_two_halves_of_a_round() {
    const MANY: usize = 300;
    let rt = Builder::new_current_thread().build().unwrap();
    rt.block_on(async {
        let notify = Notify::new();
        let member = |number| {
            let notify = &notify;
            async move {
                if number == 0 {
                    // Linked in the first half, woken in it as well.
                    notify.notified().await;
                } else {
                    coop::cooperative(std::future::ready(())).await;
                    notify.notify_waiters();
                }
                number
            }
        };
        let outputs = join_all((0..MANY).map(member)).await;
        assert!(outputs.into_iter().eq(0..MANY));
    });
}

#[test]
fn joining_nothing_is_ready() {
    let waker = Waker::noop();
    let nothing: [std::future::Ready<()>; 0] = [];
    assert_eq!(poll(&mut join_all(nothing), waker), Poll::Ready(vec![]));
    let nothing: [std::future::Ready<Result<(), ()>>; 0] = [];
    let nothing = poll(&mut try_join_all(nothing), waker);
    assert_eq!(nothing, Poll::Ready(Ok(vec![])));
}

#[test]
fn dropping_it_drops_members_and_outputs() {
    let marker = Arc::new(());
    let member = |ready: bool| {
        let marker = marker.clone();
        Box::pin(async move {
            if !ready {
                std::future::pending::<()>().await;
            }
            marker
        })
    };
    let mut all = join_all([member(true), member(false)]);
    assert!(poll(&mut all, Waker::noop()).is_pending());
    assert_eq!(Arc::strong_count(&marker), 3);
    drop(all);
    assert_eq!(Arc::strong_count(&marker), 1);
}

#[test]
fn the_first_error_drops_the_others() {
    let marker = Arc::new(());
    let (sender, receiver) = oneshot::channel::<()>();
    let held = marker.clone();
    let fails: Pin<Box<dyn Future<Output = Result<u32, &str>>>> =
        Box::pin(async { receiver.await.map(|()| 1).map_err(|_| "gone") });
    let waits: Pin<Box<dyn Future<Output = Result<u32, &str>>>> = Box::pin(async move {
        let _held = held;
        std::future::pending().await
    });
    let mut all = try_join_all([waits, fails]);
    assert!(poll(&mut all, Waker::noop()).is_pending());
    drop(sender);
    assert_eq!(poll(&mut all, Waker::noop()), Poll::Ready(Err("gone")));
    assert_eq!(
        Arc::strong_count(&marker),
        1,
        "before the future itself goes"
    );
}

#[test]
fn a_panic_of_a_member_leaves_the_others_alone() {
    let (sender, receiver) = oneshot::channel();
    let member = |panics: bool, receiver: Option<oneshot::Receiver<u32>>| {
        Box::pin(async move {
            assert!(!panics, "a member that panics");
            receiver.unwrap().await.unwrap()
        })
    };
    let mut all = join_all([member(true, None), member(false, Some(receiver))]);
    let polled = catch_unwind(AssertUnwindSafe(|| {
        poll(&mut all, Waker::noop()).is_pending()
    }));
    assert!(polled.is_err());
    // The second has not had its turn; it has it now.
    assert!(poll(&mut all, Waker::noop()).is_pending());
    drop(all);
    assert!(sender.send(1).is_err(), "the receiver is gone");
}

#[test]
fn the_winner_ends_the_race_for_all() {
    let marker = Arc::new(());
    let (sender, receiver) = oneshot::channel();
    let member = |receiver: Option<oneshot::Receiver<u32>>| {
        let marker = marker.clone();
        Box::pin(async move {
            let _held = marker;
            match receiver {
                Some(receiver) => receiver.await.unwrap(),
                None => std::future::pending().await,
            }
        })
    };
    let mut race = race([member(None), member(Some(receiver)), member(None)]);
    let (wakes, waker) = Wakes::new();
    assert!(poll(&mut race, &waker).is_pending());
    sender.send(7).unwrap();
    assert_eq!(wakes.take(), 1);
    assert_eq!(poll(&mut race, &waker), Poll::Ready(7));
    assert_eq!(Arc::strong_count(&marker), 1, "the losers are gone");
}

#[test]
#[should_panic(expected = "give it at least one")]
fn a_race_needs_a_runner() {
    let nobody: [std::future::Ready<()>; 0] = [];
    drop(race(nobody));
}

#[test]
fn select_is_fair_and_gives_the_other_one_back() {
    let rt = Builder::new_current_thread().build().unwrap();
    rt.block_on(async {
        const ROUNDS: usize = if cfg!(miri) { 100 } else { 1_000 };
        let mut wins = [0, 0];
        for _ in 0..ROUNDS {
            match select(ready('a'), ready('b')).await {
                Either::Left(('a', other)) => {
                    assert_eq!(other.await, 'b');
                    wins[0] += 1;
                }
                Either::Right(('b', other)) => {
                    assert_eq!(other.await, 'a');
                    wins[1] += 1;
                }
                swapped => panic!("{swapped:?}"),
            }
        }
        assert!(wins.iter().all(|&wins| wins > ROUNDS / 5), "{wins:?}");
    });
}

#[test]
fn the_loser_of_a_select_goes_on_where_it_was() {
    let rt = Builder::new_current_thread().build().unwrap();
    rt.block_on(async {
        let steps = Cell::new(0);
        let slow = pin!(async {
            for _ in 0..5 {
                steps.set(steps.get() + 1);
                yield_now().await;
            }
            "slow"
        });
        let Either::Right(((), slow)) = select(slow, Box::pin(yield_now())).await else {
            panic!("one yield is less than five");
        };
        assert!(steps.get() <= 2);
        assert_eq!(slow.await, "slow");
        assert_eq!(steps.get(), 5);
    });
}

#[test]
fn poll_once_leaves_a_borrowed_future_as_it_is() {
    let rt = Builder::new_current_thread().build().unwrap();
    rt.block_on(async {
        let mut twice = pin!(async {
            yield_now().await;
            5
        });
        assert_eq!(poll_once(twice.as_mut()).await, None);
        assert_eq!(twice.await, 5);
    });
}
