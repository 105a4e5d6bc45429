//! Channels, groups of futures and locks.

use std::future::Future;
use std::pin::Pin;
use tress::future::{join_all, try_join_all};
use tress::runtime::Builder;
use tress::sync::oneshot;
use tress::task::yield_now;

/// A member loses a race inside, whose loser has asked to be polled again: it is woken when it is over.
#[test]
fn a_member_of_a_group_ends_with_a_wake_up_under_way() {
    type Member = Pin<Box<dyn Future<Output = Result<u32, ()>>>>;
    fn members() -> (oneshot::Sender<u32>, [Member; 2]) {
        let (sender, receiver) = oneshot::channel();
        let ends = Box::pin(async {
            tress::select! {
                biased;
                () = yield_now() => Err(()),
                one = async { 1 } => Ok(one),
            }
        });
        (
            sender,
            [ends, Box::pin(async { receiver.await.map_err(drop) })],
        )
    }
    let rt = Builder::new_current_thread().build().unwrap();
    rt.block_on(async {
        let (sender, group) = members();
        let (outputs, ()) = tress::join!(join_all(group), async {
            yield_now().await;
            yield_now().await;
            sender.send(2).unwrap();
        });
        assert_eq!(outputs, [Ok(1), Ok(2)]);
        let (sender, group) = members();
        let (outputs, ()) = tress::join!(try_join_all(group), async {
            yield_now().await;
            yield_now().await;
            sender.send(2).unwrap();
        });
        assert_eq!(outputs, Ok(vec![1, 2]));
    });
}
