//! Wake-ups of members against polls of the group, in every order.

use super::{join_all, race};
use crate::sync::model::explore;
use crate::sync::oneshot;
use loom::future::block_on;
use loom::thread;

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
