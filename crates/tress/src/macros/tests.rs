//! What the examples do not show. Futures are polled by hand, so that every poll is accounted for.

use super::support::{Poll, poll_fn};
use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::future::{Future, IntoFuture, pending, ready};
use std::pin::{Pin, pin};
use std::task::{Context, Waker};

fn poll_once<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn now<F: Future>(future: F) -> F::Output {
    match poll_once(pin!(future)) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it should have been ready at its first poll"),
    }
}

/// Pending `n` times.
fn after(mut n: u32) -> impl Future<Output = ()> {
    poll_fn(move |_| match n.checked_sub(1) {
        Some(left) => {
            n = left;
            Poll::Pending
        }
        None => Poll::Ready(()),
    })
}

struct CountDrop<'a>(&'a Cell<u32>);

impl Drop for CountDrop<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

#[test]
fn a_branch_that_does_not_match_leaves_the_others() {
    let mut future = pin!(async {
        crate::select! {
            Some(_) = ready(None::<u32>) => unreachable!(),
            () = after(1) => 2,
        }
    });
    assert!(poll_once(future.as_mut()).is_pending());
    assert_eq!(poll_once(future.as_mut()), Poll::Ready(2));
}

#[test]
fn else_comes_when_nothing_else_can() {
    let odd = now(async {
        crate::select! {
            Some(n) = ready(None::<u32>) => n,
            Ok(n) = ready(Err::<u32, ()>(())) => n,
            n = ready(5), if false => n,
            else => 7,
        }
    });
    assert_eq!(odd, 7);
    assert_eq!(
        now(async {
            crate::select! { else => 1 }
        }),
        1
    );
}

#[test]
#[should_panic(expected = "all branches of this select! are disabled")]
fn without_else_it_panics() {
    now(async {
        crate::select! {
            () = ready(()), if false => {}
        }
    });
}

#[test]
fn patterns_bind_in_every_way() {
    struct Pair {
        left: String,
        right: String,
    }
    let text = now(async {
        crate::select! {
            Some(mut s) = ready(Some("a".to_owned())) => { s.push('!'); s }
        }
    });
    assert_eq!(text, "a!");
    let len = now(async {
        crate::select! { Some(ref s) = ready(Some("abc".to_owned())) => s.len() }
    });
    assert_eq!(len, 3);
    let len = now(async {
        crate::select! { Some(ref mut s) = ready(Some("abc".to_owned())) => { s.push('d'); s.len() } }
    });
    assert_eq!(len, 4);
    let pair = Pair {
        left: "l".into(),
        right: "r".into(),
    };
    let joined = now(async {
        crate::select! { Pair { left, right: ref r } = ready(pair) => left + r }
    });
    assert_eq!(joined, "lr");
    let n = now(async {
        crate::select! { (1 | 2, n @ 3..=5, ..) = ready((2, 4, "x".to_owned())) => n }
    });
    assert_eq!(n, 4);
    let n = now(async {
        crate::select! { &n = ready(&3) => n }
    });
    assert_eq!(n, 3);
}

#[test]
fn an_output_is_dropped_once_whether_it_matches_or_not() {
    let drops = Cell::new(0);
    now(async {
        crate::select! {
            (Some(_kept), 1) = ready((Some(CountDrop(&drops)), 2)) => unreachable!(),
            else => assert_eq!(drops.get(), 1),
        }
        crate::select! {
            (Some(_kept), 1) = ready((Some(CountDrop(&drops)), 1)) => assert_eq!(drops.get(), 1),
        }
    });
    assert_eq!(drops.get(), 2);
}

#[test]
fn futures_are_gone_when_the_code_runs() {
    let drops = Cell::new(0);
    let mut value = 1;
    now(async {
        let guard = CountDrop(&drops);
        let lose = async {
            let _guard = guard;
            pending::<()>().await;
        };
        crate::select! {
            biased;
            () = lose => {}
            () = async { value += 1 } => {
                assert_eq!(drops.get(), 1);
                value += 1;
            }
        }
    });
    assert_eq!(value, 3);
}

#[test]
fn code_can_leave_the_loop_and_the_function() {
    async fn run(results: &[Result<u32, &'static str>]) -> Result<u32, &'static str> {
        let mut sum = 0;
        for result in results {
            crate::select! {
                n = ready(*result) => match n? {
                    0 => break,
                    1 => continue,
                    99 => return Ok(99),
                    n => sum += n,
                },
            }
        }
        Ok(sum)
    }
    assert_eq!(now(run(&[Ok(2), Ok(1), Ok(3), Ok(0), Ok(4)])), Ok(5));
    assert_eq!(now(run(&[Ok(2), Err("no"), Ok(3)])), Err("no"));
    assert_eq!(now(run(&[Ok(2), Ok(99)])), Ok(99));
}

#[test]
fn biased_polls_from_the_top_and_random_from_anywhere() {
    for _ in 0..50 {
        let first = now(async {
            crate::select! { biased; n = ready(0) => n, n = ready(1) => n, n = ready(2) => n }
        });
        assert_eq!(first, 0);
    }
    let mut seen = [0u32; 3];
    for _ in 0..300 {
        let i: usize = now(async {
            crate::select! { n = ready(0) => n, n = ready(1) => n, n = ready(2) => n }
        });
        seen[i] += 1;
    }
    assert!(seen.iter().all(|&n| n > 0), "{seen:?}");
}

#[test]
fn temporaries_live_as_long_as_the_futures() {
    now(async {
        crate::select! { () = &mut ready(()) => {} }
    });
}

#[test]
fn anything_that_turns_into_a_future_will_do() {
    struct Not;
    impl IntoFuture for Not {
        type Output = u8;
        type IntoFuture = std::future::Ready<u8>;
        fn into_future(self) -> Self::IntoFuture {
            ready(9)
        }
    }
    assert_eq!(
        now(async {
            crate::select! { n = Not => n }
        }),
        9
    );
    assert_eq!(now(async { crate::join!(Not, Not) }), (9, 9));
}

#[test]
fn join_polls_a_finished_future_no_more() {
    let polls = Cell::new(0);
    let mut future = pin!(async {
        crate::join!(
            poll_fn(|_| {
                polls.set(polls.get() + 1);
                Poll::Ready("once")
            }),
            after(3),
        )
    });
    for _ in 0..3 {
        assert!(poll_once(future.as_mut()).is_pending());
    }
    assert_eq!(poll_once(future.as_mut()), Poll::Ready(("once", ())));
    assert_eq!(polls.get(), 1);
}

fn polled_order(
    mark: impl Fn(&RefCell<Vec<u32>>) -> Pin<Box<dyn Future<Output = ()> + '_>>,
) -> Vec<u32> {
    let order = RefCell::new(Vec::new());
    let mut future = mark(&order);
    while poll_once(future.as_mut()).is_pending() {}
    drop(future);
    order.into_inner()
}

async fn marks(order: &RefCell<Vec<u32>>, n: u32) {
    for _ in 0..2 {
        order.borrow_mut().push(n);
        after(1).await;
    }
}

#[test]
fn join_begins_with_another_future_each_time() {
    let order = polled_order(|o| {
        Box::pin(async move {
            crate::join!(marks(o, 1), marks(o, 2), marks(o, 3));
        })
    });
    assert_eq!(order, [1, 2, 3, 2, 3, 1]);
    let order = polled_order(|o| {
        Box::pin(async move {
            crate::join!(biased; marks(o, 1), marks(o, 2), marks(o, 3));
        })
    });
    assert_eq!(order, [1, 2, 3, 1, 2, 3]);
}

#[test]
fn try_join_leaves_with_the_first_error() {
    let drops = Cell::new(0);
    let result = now(async {
        let guard = CountDrop(&drops);
        crate::try_join!(
            biased;
            async {
                let _guard = guard;
                pending::<Result<(), &str>>().await
            },
            ready(Err::<u8, _>("no")),
            async { unreachable!("not polled any more") as Result<(), &str> },
        )
    });
    assert_eq!(result, Err("no"));
    assert_eq!(drops.get(), 1);
    assert_eq!(now(async { crate::try_join!() as Result<(), ()> }), Ok(()));
    #[allow(clippy::unit_cmp)]
    {
        assert_eq!(now(async { crate::join!() }), ());
    }
}

#[test]
fn an_output_that_cannot_be_is_no_trouble() {
    let mut future = pin!(async { crate::join!(pending::<Infallible>(), ready(1)) });
    assert!(poll_once(future.as_mut()).is_pending());
    let n = now(async {
        crate::select! {
            _ = pending::<Infallible>() => 0,
            n = ready(1) => n,
        }
    });
    assert_eq!(n, 1);
}

/// Each of the 64 branches can win, at random and in order, and each future can be joined.
#[test]
fn sixty_four_branches() {
    macro_rules! with_64 {
        ($each:ident) => {
            $each! {
                0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
                32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59
                60 61 62 63
            }
        };
    }
    macro_rules! select_all {
        ($($n:tt)+) => {
            for winner in 0..64 {
                let random = now(async {
                    crate::select! { $( () = async {}, if winner == $n => $n, )+ else => 64 }
                });
                let first = now(async {
                    crate::select! { biased; $( () = async {}, if winner <= $n => $n, )+ }
                });
                assert_eq!((random, first), (winner, winner));
            }
        };
    }
    macro_rules! join_all {
        ($($n:tt)+) => {{
            let outputs = now(async { crate::join!($( async { $n } ),+) });
            let mut sum = 0;
            // A tuple of that many has no traits: field by field.
            $( sum += outputs.$n; )+
            assert_eq!(sum, 63 * 64 / 2);
            let outputs = now(async { crate::try_join!($( async { Ok::<_, ()>($n) } ),+) });
            assert!(outputs.is_ok_and(|outputs| outputs.63 == 63));
        }};
    }
    with_64!(select_all);
    with_64!(join_all);
}
