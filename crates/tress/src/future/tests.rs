use super::*;
use crate::runtime::Builder;
use crate::sync::{Notify, oneshot};
use crate::task::{coop, yield_now};
use crate::wait::tests::Wakes;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

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
    // No member was woken, so none is polled.
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

/// Keeps the waker that it was polled with last, and is ready once told so.
fn keeping(
    waker: &Rc<RefCell<Option<Waker>>>,
    ready: &Rc<Cell<bool>>,
) -> impl Future<Output = Result<u32, ()>> + use<> {
    let (waker, ready) = (waker.clone(), ready.clone());
    poll_fn(move |cx: &mut Context<'_>| {
        *waker.borrow_mut() = Some(cx.waker().clone());
        if ready.get() {
            Poll::Ready(Ok(1))
        } else {
            Poll::Pending
        }
    })
}

/// A member that wakes itself in its last poll, and is woken again and again when it is over.
fn wakes_after_the_end<J>(join: impl FnOnce([PinnedMember; 2]) -> J, two: J::Output)
where
    J: Future<Output: PartialEq + std::fmt::Debug> + Unpin,
{
    let kept = Rc::new(RefCell::new(None::<Waker>));
    let (early, late) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(false)));
    let mut inner = Box::pin(keeping(&kept, &early));
    let first: PinnedMember = Box::pin(poll_fn(move |cx| {
        cx.waker().wake_by_ref();
        inner.as_mut().poll(cx)
    }));
    let other = Rc::new(RefCell::new(None));
    let mut all = join([first, Box::pin(keeping(&other, &late))]);
    let (wakes, waker) = Wakes::new();
    assert!(poll(&mut all, &waker).is_pending());
    early.set(true);
    assert!(poll(&mut all, &waker).is_pending());
    wakes.take();
    for _ in 0..3 {
        assert!(
            poll(&mut all, &waker).is_pending(),
            "the second is not ready"
        );
        kept.borrow().as_ref().unwrap().wake_by_ref();
        let by_value = kept.borrow().clone().unwrap();
        by_value.wake();
        assert_eq!(wakes.take(), 0, "for one who is over");
    }
    late.set(true);
    other.borrow().as_ref().unwrap().wake_by_ref();
    assert_eq!(wakes.take(), 1);
    assert_eq!(poll(&mut all, &waker), Poll::Ready(two));
    kept.borrow().as_ref().unwrap().wake_by_ref();
}

type PinnedMember = Pin<Box<dyn Future<Output = Result<u32, ()>>>>;

#[test]
fn a_wake_up_after_the_end_of_a_member_counts_for_nothing() {
    wakes_after_the_end(join_all, vec![Ok(1), Ok(1)]);
    wakes_after_the_end(try_join_all, Ok(vec![1, 1]));
}

/// Ready on the first poll; its drop panics, or the poll itself does.
struct Breaks {
    in_poll: bool,
}

impl Future for Breaks {
    type Output = Result<u32, ()>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        assert!(!self.in_poll, "a poll that panics");
        Poll::Ready(Ok(7))
    }
}

impl Drop for Breaks {
    fn drop(&mut self) {
        assert!(self.in_poll, "a drop that panics");
    }
}

fn panics(f: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(f)).unwrap_err();
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or_default().to_owned()
}

#[test]
fn a_member_whose_drop_panics_has_finished() {
    let member = |breaks: bool| -> PinnedMember {
        if breaks {
            Box::pin(Breaks { in_poll: false })
        } else {
            Box::pin(ready(Ok(1)))
        }
    };
    let mut all = join_all([member(true), member(false)]);
    let panic = panics(|| _ = poll(&mut all, Waker::noop()));
    assert_eq!(panic, "a drop that panics");
    let outputs = poll(&mut all, Waker::noop());
    assert_eq!(outputs, Poll::Ready(vec![Ok(7), Ok(1)]));
}

#[test]
fn a_group_that_lacks_an_output_says_so() {
    let kept = Rc::new(RefCell::new(None::<Waker>));
    let told = Rc::new(Cell::new(false));
    let members = || -> [PinnedMember; 2] {
        told.set(false);
        [
            Box::pin(Breaks { in_poll: true }),
            Box::pin(keeping(&kept, &told)),
        ]
    };
    let waker = Waker::noop();

    let mut all = join_all(members());
    assert_eq!(panics(|| _ = poll(&mut all, waker)), "a poll that panics");
    assert!(poll(&mut all, waker).is_pending(), "the other one goes on");
    told.set(true);
    kept.borrow().as_ref().unwrap().wake_by_ref();
    let panic = panics(|| _ = poll(&mut all, waker));
    assert!(panic.contains("has panicked and has no output"), "{panic}");

    let mut race = race(members());
    assert_eq!(panics(|| _ = poll(&mut race, waker)), "a poll that panics");
    told.set(true);
    assert_eq!(poll(&mut race, waker), Poll::Ready(Ok(1)));
}

#[test]
fn a_race_of_which_all_have_panicked_says_so() {
    let mut race = race([Breaks { in_poll: true }]);
    assert_eq!(
        panics(|| _ = poll(&mut race, Waker::noop())),
        "a poll that panics"
    );
    let panic = panics(|| _ = poll(&mut race, Waker::noop()));
    assert!(panic.contains("have all panicked"), "{panic}");
}

#[test]
fn what_was_ready_cannot_be_polled() {
    let waker = Waker::noop();
    let mut all = join_all([ready(1)]);
    assert_eq!(poll(&mut all, waker), Poll::Ready(vec![1]));
    assert!(panics(|| _ = poll(&mut all, waker)).contains("cannot be polled"));
    let mut all = try_join_all([ready(Err::<(), _>(1))]);
    assert_eq!(poll(&mut all, waker), Poll::Ready(Err(1)));
    assert!(panics(|| _ = poll(&mut all, waker)).contains("cannot be polled"));
    let mut one = race([ready(1)]);
    assert_eq!(poll(&mut one, waker), Poll::Ready(1));
    assert!(panics(|| _ = poll(&mut one, waker)).contains("cannot be polled"));
}

/// The task's waker wakes a member whenever it is cloned, dropped or woken.
#[test]
fn a_waker_may_wake_a_member_from_within() {
    struct Meddles(Mutex<Option<Waker>>);
    impl Meddles {
        fn meddle(&self) {
            let member = self.0.lock().unwrap().take();
            if let Some(member) = member {
                member.wake_by_ref();
                *self.0.lock().unwrap() = Some(member);
            }
        }
    }
    fn data(data: *const ()) -> std::mem::ManuallyDrop<Arc<Meddles>> {
        // SAFETY: every waker below was made of an `Arc<Meddles>`, which it owns.
        std::mem::ManuallyDrop::new(unsafe { Arc::from_raw(data.cast()) })
    }
    const VTABLE: RawWakerVTable = RawWakerVTable::new(
        |raw| {
            data(raw).meddle();
            RawWaker::new(Arc::into_raw(Arc::clone(&data(raw))).cast(), &VTABLE)
        },
        |raw| std::mem::ManuallyDrop::into_inner(data(raw)).meddle(),
        |raw| data(raw).meddle(),
        |raw| std::mem::ManuallyDrop::into_inner(data(raw)).meddle(),
    );
    let meddles = Arc::new(Meddles(Mutex::new(None)));
    let raw = RawWaker::new(Arc::into_raw(meddles.clone()).cast(), &VTABLE);
    // SAFETY: the functions of the table keep the contract of a waker.
    let waker = unsafe { Waker::from_raw(raw) };
    let kept = Rc::new(RefCell::new(None::<Waker>));
    let told = Rc::new(Cell::new(false));
    let mut all = join_all([Box::pin(keeping(&kept, &told))]);
    assert!(poll(&mut all, &waker).is_pending());
    *meddles.0.lock().unwrap() = kept.borrow().clone();
    for _ in 0..3 {
        assert!(poll(&mut all, &waker).is_pending());
        // Another one: the old one is dropped.
        assert!(poll(&mut all, Waker::noop()).is_pending());
        kept.borrow().as_ref().unwrap().wake_by_ref();
    }
    told.set(true);
    assert_eq!(poll(&mut all, &waker), Poll::Ready(vec![Ok(1)]));
    meddles.0.lock().unwrap().take();
}
