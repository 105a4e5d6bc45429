//! Wake-ups of members against polls of the group, in every order.

use super::{join_all, race, try_join_all};
use crate::model::explore;
use crate::sync::oneshot;
use loom::future::block_on;
use loom::thread;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

#[test]
fn two_wake_while_the_task_polls() {
    explore(3, || {
        let (one, first) = oneshot::channel();
        let (two, second) = oneshot::channel();
        let threads = [one, two].map(|sender| thread::spawn(move || sender.send(1).unwrap()));
        let received = block_on(join_all([first, second]));
        assert_eq!(received, [Ok(1), Ok(1)]);
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn the_race_is_over_while_another_member_wakes() {
    explore(3, || {
        let (one, first) = oneshot::channel();
        let (two, second) = oneshot::channel();
        // Either may find its receiver gone: the other one has won.
        let thread = thread::spawn(move || two.send(2).is_ok());
        let mine = one.send(1).is_ok();
        let won = block_on(race([first, second])).unwrap();
        let other = thread.join().unwrap();
        assert!(mine && (won == 1 || other));
    });
}

/// Ready as soon as either is, with a wake-up by the other one to come.
async fn either(mut one: oneshot::Receiver<i32>, mut two: oneshot::Receiver<i32>) -> i32 {
    poll_fn(move |cx| match Pin::new(&mut one).poll(cx) {
        Poll::Pending => Pin::new(&mut two).poll(cx),
        ready => ready,
    })
    .await
    .unwrap()
}

/// The second wake-up comes before the member's last poll, in the middle of it, or after.
fn woken_twice<R>(join: fn([Pin<Box<dyn Future<Output = i32>>>; 2]) -> R, expected: R::Output)
where
    R: Future<Output: PartialEq + std::fmt::Debug + Clone + Send + Sync> + 'static,
{
    explore(2, move || {
        let (one, first) = oneshot::channel();
        let (two, second) = oneshot::channel();
        let (three, third) = oneshot::channel();
        let thread = thread::spawn(move || {
            let _ = one.send(1);
            let _ = two.send(1);
            three.send(2).unwrap();
        });
        let last = Box::pin(async { third.await.unwrap() });
        let joined = block_on(join([Box::pin(either(first, second)), last]));
        assert_eq!(joined, expected);
        thread.join().unwrap();
    });
}

#[test]
fn a_member_is_woken_after_its_end() {
    woken_twice(|members| join_all(members), vec![1, 2]);
}

#[test]
fn a_member_that_may_fail_is_woken_after_its_end() {
    woken_twice(
        |members| {
            try_join_all(
                members.map(|member| -> Pin<Box<dyn Future<Output = Result<i32, ()>>>> {
                    Box::pin(async { Ok(member.await) })
                }),
            )
        },
        Ok(vec![1, 2]),
    );
}
