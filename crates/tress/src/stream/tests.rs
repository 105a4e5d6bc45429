use super::*;
use crate::channel;
use crate::runtime::{Builder, Runtime};
use crate::sync::{broadcast, mpsc, watch};
use crate::task::JoinSet;
use crate::time::{Duration, Instant, interval};
use crate::wait::tests::Wakes;
use futures_core::Stream;
use futures_sink::Sink;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

fn paused() -> Runtime {
    Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
}

async fn next<S: Stream + Unpin>(stream: &mut S) -> Option<S::Item> {
    poll_fn(|cx| Pin::new(&mut *stream).poll_next(cx)).await
}

fn poll_next<S: Stream + Unpin>(stream: &mut S, waker: &Waker) -> Poll<Option<S::Item>> {
    Pin::new(stream).poll_next(&mut Context::from_waker(waker))
}

#[test]
fn receivers_are_streams() {
    paused().block_on(async {
        let (sender, mut receiver) = mpsc::channel(2);
        sender.send(1).await.unwrap();
        sender.send(2).await.unwrap();
        assert_eq!(receiver.size_hint(), (2, None));
        drop(sender);
        assert_eq!(next(&mut receiver).await, Some(1));
        assert_eq!(next(&mut receiver).await, Some(2));
        assert_eq!(next(&mut receiver).await, None);

        let (sender, mut receiver) = mpsc::unbounded_channel();
        sender.send(1).unwrap();
        assert_eq!(receiver.size_hint(), (1, None));
        drop(sender);
        assert_eq!(next(&mut receiver).await, Some(1));
        assert_eq!(next(&mut receiver).await, None);
    });
}

#[test]
fn a_broadcast_stream_tells_what_it_missed() {
    paused().block_on(async {
        let (sender, receiver) = broadcast::channel(2);
        let mut stream = BroadcastStream::from(receiver);
        for n in 0..5 {
            sender.send(n).unwrap();
        }
        assert_eq!(next(&mut stream).await, Some(Err(Lagged(3))));
        assert_eq!(next(&mut stream).await, Some(Ok(3)));
        assert_eq!(next(&mut stream).await, Some(Ok(4)));
        drop(sender);
        assert_eq!(next(&mut stream).await, None);
        assert_eq!(next(&mut stream).await, None, "and stays there");
    });
}

/// With a buffer and from hand to hand.
#[test]
fn channels_are_streams_and_sinks() {
    paused().block_on(async {
        for capacity in [0, 1, 8] {
            let (sender, receiver) = channel::bounded(capacity);
            let mut stream = ChannelStream::from(receiver);
            let sending = crate::spawn(async move {
                let mut sink = PollSender::new(sender);
                for n in 0..100 {
                    poll_fn(|cx| Pin::new(&mut sink).poll_ready(cx))
                        .await
                        .unwrap();
                    Pin::new(&mut sink).start_send(n).unwrap();
                }
            });
            for n in 0..100 {
                assert_eq!(next(&mut stream).await, Some(n), "capacity {capacity}");
            }
            assert_eq!(next(&mut stream).await, None);
            sending.await.unwrap();
        }
        let (sender, receiver) = channel::bounded(1);
        let mut sink = PollSender::new(sender);
        drop(receiver);
        assert!(poll_fn(|cx| sink.poll_reserve(cx)).await.is_err());
        assert_eq!(sink.send_item(1).unwrap_err().into_inner(), Some(1));
    });
}

/// A task may stop polling, and another may poll instead.
#[test]
fn a_stream_that_waits_loses_nothing() {
    let (sender, receiver) = broadcast::channel(2);
    let mut stream = BroadcastStream::new(receiver);
    let ((first, first_waker), (second, second_waker)) = (Wakes::new(), Wakes::new());
    assert!(poll_next(&mut stream, &first_waker).is_pending());
    assert!(poll_next(&mut stream, &second_waker).is_pending());
    sender.send(1).unwrap();
    assert_eq!((first.take(), second.take()), (0, 1));
    assert_eq!(
        poll_next(&mut stream, &second_waker),
        Poll::Ready(Some(Ok(1)))
    );
    // Dropped while it waits.
    assert!(poll_next(&mut stream, &first_waker).is_pending());
    assert_eq!(sender.receiver_count(), 1);
    drop(stream);
    assert_eq!(sender.receiver_count(), 0);
}

#[test]
fn a_watch_stream_begins_with_the_value_or_with_a_change() {
    paused().block_on(async {
        let (sender, receiver) = watch::channel(0);
        let mut values = WatchStream::from(receiver.clone());
        let mut changes = WatchStream::from_changes(receiver);
        assert_eq!(next(&mut values).await, Some(0));
        assert!(poll_next(&mut changes, Waker::noop()).is_pending());
        sender.send(1).unwrap();
        assert_eq!(next(&mut values).await, Some(1));
        assert_eq!(next(&mut changes).await, Some(1));
        drop(sender);
        assert_eq!(next(&mut values).await, None);
        assert_eq!(next(&mut changes).await, None);
    });
}

#[test]
fn intervals_and_sets_of_tasks_are_streams() {
    paused().block_on(async {
        let second = Duration::from_secs(1);
        let started = Instant::now();
        let mut ticks = interval(second);
        assert_eq!(next(&mut ticks).await, Some(started));
        assert_eq!(next(&mut ticks).await, Some(started + second));

        let mut tasks = JoinSet::new();
        for n in 0..3 {
            tasks.spawn(async move { n });
        }
        assert_eq!(tasks.size_hint(), (3, Some(3)));
        let mut outputs = Vec::new();
        while let Some(output) = next(&mut tasks).await {
            outputs.push(output.unwrap());
        }
        outputs.sort_unstable();
        assert_eq!(outputs, [0, 1, 2]);
    });
}

fn reserve(sender: &mut PollSender<u32>, waker: &Waker) -> Poll<bool> {
    let reserved = sender.poll_reserve(&mut Context::from_waker(waker));
    reserved.map(|reserved| reserved.is_ok())
}

#[test]
fn a_place_is_reserved_then_filled() {
    let (sender, mut receiver) = mpsc::channel(1);
    let mut sender = PollSender::new(sender);
    let (wakes, waker) = Wakes::new();
    assert_eq!(reserve(&mut sender, &waker), Poll::Ready(true));
    assert_eq!(
        reserve(&mut sender, &waker),
        Poll::Ready(true),
        "the same one"
    );
    sender.send_item(1).unwrap();
    assert!(reserve(&mut sender, &waker).is_pending());
    assert!(reserve(&mut sender, &waker).is_pending());
    assert_eq!(receiver.try_recv(), Ok(1));
    assert_eq!(wakes.take(), 1);
    assert_eq!(reserve(&mut sender, &waker), Poll::Ready(true));
    sender.send_item(2).unwrap();
    assert_eq!(receiver.try_recv(), Ok(2));
}

#[test]
fn a_place_that_is_given_up_is_free() {
    let (sender, mut receiver) = mpsc::channel(1);
    let other = sender.clone();
    let mut sender = PollSender::new(sender);
    assert!(!sender.abort_send());
    assert_eq!(reserve(&mut sender, Waker::noop()), Poll::Ready(true));
    assert!(other.try_send(1).is_err());
    assert!(sender.abort_send());
    other.try_send(1).unwrap();
    // In line, given up there: the next one in line is not kept waiting.
    assert!(reserve(&mut sender, Waker::noop()).is_pending());
    assert!(sender.abort_send());
    assert_eq!(receiver.try_recv(), Ok(1));
    other.try_send(2).unwrap();
    assert!(
        sender
            .get_ref()
            .is_some_and(|sender| sender.same_channel(&other))
    );
}

#[test]
fn dropped_at_every_point_it_keeps_no_place() {
    let (sender, mut receiver) = mpsc::channel(1);
    let mut reserved = PollSender::new(sender.clone());
    assert_eq!(reserve(&mut reserved, Waker::noop()), Poll::Ready(true));
    let mut waiting = PollSender::new(sender.clone());
    assert!(reserve(&mut waiting, Waker::noop()).is_pending());
    drop(waiting);
    drop(reserved);
    sender.try_send(1).unwrap();
    drop(sender);
    assert_eq!(receiver.try_recv(), Ok(1));
    assert_eq!(
        receiver.try_recv(),
        Err(mpsc::error::TryRecvError::Disconnected)
    );
}

#[test]
fn sending_without_a_place_panics_and_spoils_nothing() {
    let (sender, mut receiver) = mpsc::channel(1);
    let mut sender = PollSender::new(sender);
    let sent = catch_unwind(AssertUnwindSafe(|| sender.send_item(1)));
    assert!(sent.is_err());
    assert_eq!(reserve(&mut sender, Waker::noop()), Poll::Ready(true));
    sender.send_item(2).unwrap();
    assert_eq!(receiver.try_recv(), Ok(2));
}

#[test]
fn a_closed_channel_takes_nothing() {
    let (sender, receiver) = mpsc::channel(1);
    let mut waiting = PollSender::new(sender.clone());
    let mut sender = PollSender::new(sender);
    assert_eq!(reserve(&mut sender, Waker::noop()), Poll::Ready(true));
    assert!(reserve(&mut waiting, Waker::noop()).is_pending());
    drop(receiver);
    assert_eq!(reserve(&mut waiting, Waker::noop()), Poll::Ready(false));
    assert_eq!(waiting.send_item(1).unwrap_err().into_inner(), Some(1));
    assert!(waiting.is_closed());
    assert!(sender.abort_send());
    assert_eq!(reserve(&mut sender, Waker::noop()), Poll::Ready(false));
}

#[test]
fn senders_are_sinks() {
    paused().block_on(async {
        let (sender, mut receiver) = mpsc::channel(1);
        let mut sink = PollSender::new(sender);
        let sending = crate::spawn(async move {
            for n in 0..100 {
                poll_fn(|cx| Pin::new(&mut sink).poll_ready(cx))
                    .await
                    .unwrap();
                Pin::new(&mut sink).start_send(n).unwrap();
            }
            poll_fn(|cx| Pin::new(&mut sink).poll_flush(cx))
                .await
                .unwrap();
            poll_fn(|cx| Pin::new(&mut sink).poll_close(cx))
                .await
                .unwrap();
            assert!(sink.is_closed());
            sink
        });
        for n in 0..100 {
            assert_eq!(receiver.recv().await, Some(n));
        }
        assert_eq!(
            receiver.recv().await,
            None,
            "closed, although the sink is there"
        );
        drop(sending.await.unwrap());

        let (mut sink, mut receiver) = mpsc::unbounded_channel();
        poll_fn(|cx| Pin::new(&mut sink).poll_ready(cx))
            .await
            .unwrap();
        Pin::new(&mut sink).start_send(1).unwrap();
        assert_eq!(receiver.recv().await, Some(1));
        drop(receiver);
        assert!(
            poll_fn(|cx| Pin::new(&mut sink).poll_ready(cx))
                .await
                .is_err()
        );
        assert_eq!(
            Pin::new(&mut sink).start_send(2).unwrap_err().into_inner(),
            Some(2)
        );
    });
}
