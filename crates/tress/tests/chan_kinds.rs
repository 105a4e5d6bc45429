//! What each kind of `tress::channel` promises, step by step.

mod sync_support;

use std::error::Error;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};
use sync_support::{block_on, run_all};
use tress::channel::error::{RecvTimeoutError, TryRecvError, TrySendError};
use tress::channel::{self, Overflow, Receiver, Sender};

/// Every kind that makes its senders wait: rendezvous, rings of one and more, a list.
const CAPACITIES: [usize; 4] = [0, 1, 5, 1_000_000];

/// A channel, and the list of what was not delivered.
fn told(capacity: usize, overflow: Overflow) -> (Sender<u32>, Receiver<u32>, Arc<Mutex<Vec<u32>>>) {
    let list = Arc::new(Mutex::new(Vec::new()));
    let told = list.clone();
    let (tx, rx) = channel::builder()
        .capacity(capacity)
        .overflow(overflow)
        .on_undelivered(move |n| told.lock().unwrap().push(n))
        .build();
    (tx, rx, list)
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wakes {
    fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_ring_holds_exactly_its_capacity() {
    // Powers of two, and not.
    for capacity in [1, 2, 3, 4, 5, 7, 8, 33, 100] {
        let (tx, rx) = channel::bounded(capacity);
        for lap in 0..3 {
            assert!(rx.is_empty() && !rx.is_full());
            for n in 0..capacity {
                tx.try_send(lap + n).unwrap();
            }
            assert!(tx.is_full());
            assert_eq!(tx.len(), capacity);
            assert!(tx.try_send(0).unwrap_err().is_full());
            for n in 0..capacity {
                assert_eq!(rx.try_recv().unwrap(), lap + n);
            }
            assert!(rx.try_recv().unwrap_err().is_empty());
        }
    }
}

#[test]
fn a_large_channel_holds_exactly_its_capacity() {
    const CAPACITY: usize = 300_000;
    let (tx, rx) = channel::bounded(CAPACITY);
    for n in 0..CAPACITY {
        tx.try_send(n).unwrap();
    }
    assert!(matches!(tx.try_send(0), Err(TrySendError::Full(0))));
    assert_eq!(rx.try_recv().unwrap(), 0);
    tx.try_send(CAPACITY).unwrap();
    assert_eq!(
        rx.iter().take(CAPACITY).sum::<usize>(),
        CAPACITY * (CAPACITY + 1) / 2
    );
}

#[test]
fn a_rendezvous_needs_both_sides() {
    let (tx, rx) = channel::bounded(0);
    assert!(tx.try_send(1).unwrap_err().is_full());
    assert!(rx.try_recv().unwrap_err().is_empty());
    assert!(tx.is_full() && tx.is_empty());

    let mut recv = pin!(rx.recv());
    assert!(poll(recv.as_mut()).is_pending());
    tx.try_send(2).unwrap();
    assert!(tx.try_send(3).unwrap_err().is_full());
    assert!(matches!(poll(recv), Poll::Ready(Ok(2))));

    let mut send = pin!(tx.send(4));
    assert!(poll(send.as_mut()).is_pending());
    assert_eq!(rx.try_recv().unwrap(), 4);
    assert!(matches!(poll(send), Poll::Ready(Ok(()))));
}

#[test]
fn what_a_receiver_gave_up_is_kept_for_the_next() {
    let (tx, rx) = channel::bounded(0);
    {
        let mut recv = pin!(rx.recv());
        assert!(poll(recv.as_mut()).is_pending());
        tx.try_send(1).unwrap();
    }
    assert_eq!(rx.len(), 1);
    drop(tx);
    assert_eq!(rx.try_recv().unwrap(), 1);
    assert!(rx.try_recv().unwrap_err().is_closed());
}

#[test]
fn a_promise_is_kept_by_the_next_receiver() {
    let (tx, rx) = channel::bounded(0);
    assert!(tx.try_reserve().unwrap_err().is_full());
    let permit = {
        let mut recv = pin!(rx.recv());
        assert!(poll(recv.as_mut()).is_pending());
        let permit = tx.try_reserve().unwrap();
        // The one receiver has promised itself.
        assert!(tx.try_send(0).unwrap_err().is_full());
        assert!(tx.try_reserve().unwrap_err().is_full());
        permit
    };
    permit.send(1).unwrap();
    assert_eq!(rx.try_recv().unwrap(), 1);

    // A promise that is taken back serves whoever waits.
    let mut recv = pin!(rx.recv());
    assert!(poll(recv.as_mut()).is_pending());
    let permit = tx.try_reserve().unwrap();
    let mut send = pin!(tx.send(2));
    assert!(poll(send.as_mut()).is_pending());
    drop(permit);
    assert!(matches!(poll(send), Poll::Ready(Ok(()))));
    assert!(matches!(poll(recv), Poll::Ready(Ok(2))));
}

#[test]
fn waiting_senders_are_served_in_order_and_not_overtaken() {
    let (tx, rx) = channel::bounded(1);
    tx.try_send(0).unwrap();
    let mut one = pin!(tx.send(1));
    let mut two = pin!(tx.send(2));
    assert!(poll(one.as_mut()).is_pending());
    assert!(poll(two.as_mut()).is_pending());
    assert_eq!(rx.try_recv().unwrap(), 0);
    assert!(tx.try_send(9).unwrap_err().is_full());
    assert!(poll(two.as_mut()).is_pending());
    assert!(poll(one).is_ready());
    assert_eq!(rx.try_recv().unwrap(), 1);
    assert!(poll(two).is_ready());
    assert_eq!(rx.try_recv().unwrap(), 2);
}

#[test]
fn one_message_wakes_one_receiver() {
    let (tx, rx) = channel::bounded(4);
    let wakes: Vec<_> = (0..3).map(|_| Arc::new(Wakes::default())).collect();
    let mut waiting: Vec<_> = wakes
        .iter()
        .map(|wakes| {
            let mut recv = Box::pin(rx.recv());
            let waker = Waker::from(wakes.clone());
            assert!(
                recv.as_mut()
                    .poll(&mut Context::from_waker(&waker))
                    .is_pending()
            );
            recv
        })
        .collect();
    tx.try_send(1).unwrap();
    tx.try_send(2).unwrap();
    let woken = || wakes.iter().map(|wakes| wakes.get()).collect::<Vec<_>>();
    // The first calls the second when it comes.
    assert_eq!(woken(), [1, 0, 0]);
    assert!(matches!(poll(waiting[0].as_mut()), Poll::Ready(Ok(1))));
    assert_eq!(woken(), [1, 1, 0]);
    // The second gives up, and nothing is lost.
    drop(waiting.remove(1));
    assert_eq!(woken(), [1, 1, 1]);
    assert!(matches!(poll(waiting[1].as_mut()), Poll::Ready(Ok(2))));
}

#[test]
fn both_sides_learn_of_the_close_and_its_cause() {
    for capacity in CAPACITIES {
        let (tx, rx) = channel::bounded(capacity);
        let mut recv = pin!(rx.recv());
        assert!(poll(recv.as_mut()).is_pending());
        assert!(rx.close_with("first"));
        assert!(!tx.close_with("second"));
        assert!(tx.is_closed() && rx.is_closed());

        let Poll::Ready(Err(error)) = poll(recv) else {
            panic!("told of the close");
        };
        assert_eq!(error.cause().unwrap().to_string(), "first");
        assert_eq!(error.source().unwrap().to_string(), "first");
        assert!(error.to_string().contains("first"));
        let error = block_on(tx.send(5)).unwrap_err();
        assert_eq!(error.cause().unwrap().to_string(), "first");
        assert_eq!(error.into_inner(), 5);
        assert!(block_on(tx.reserve()).is_err());
        block_on(tx.closed());
    }
}

#[test]
fn waiting_senders_get_their_messages_back() {
    for capacity in [0, 1] {
        let (tx, rx) = channel::bounded(capacity);
        for n in 0..capacity {
            tx.try_send(n).unwrap();
        }
        let mut send = pin!(tx.send(7));
        let mut reserve = pin!(tx.reserve());
        assert!(poll(send.as_mut()).is_pending());
        assert!(poll(reserve.as_mut()).is_pending());
        rx.close();
        let Poll::Ready(Err(error)) = poll(send) else {
            panic!("told of the close");
        };
        assert!(error.cause().is_none());
        assert_eq!(error.into_inner(), 7);
        assert!(matches!(poll(reserve), Poll::Ready(Err(_))));
        // What was sent before is still received.
        assert_eq!(rx.try_iter().count(), capacity);
        assert!(matches!(rx.try_recv(), Err(TryRecvError::Closed(_))));
    }
}

#[test]
fn the_last_sender_and_the_last_receiver_close_the_channel() {
    for capacity in CAPACITIES {
        let (tx, rx) = channel::bounded::<u32>(capacity);
        let (weak_tx, weak_rx) = (tx.downgrade(), rx.downgrade());
        let (tx2, rx2) = (weak_tx.upgrade().unwrap(), weak_rx.upgrade().unwrap());
        assert_eq!((tx.sender_count(), rx.receiver_count()), (2, 2));
        assert!(tx.same_channel(&tx2) && rx.same_channel(&rx2));
        drop(tx);
        assert!(!rx.is_closed());
        drop(tx2);
        assert!(rx.is_closed());
        assert!(weak_tx.upgrade().is_none());

        let (tx, rx) = channel::bounded::<u32>(capacity);
        let rx2 = rx.clone();
        drop(rx);
        assert!(!tx.is_closed());
        drop(rx2);
        assert!(tx.is_closed());
        assert!(tx.try_send(1).unwrap_err().is_closed());
        assert!(weak_rx.upgrade().is_some());
    }
}

#[test]
fn a_permit_outlives_the_close() {
    let (tx, rx) = channel::bounded(2);
    let used = tx.try_reserve().unwrap();
    let dropped = tx.try_reserve().unwrap();
    assert!(tx.try_send(0).unwrap_err().is_full());
    rx.close();
    let mut recv = pin!(rx.recv());
    assert!(poll(recv.as_mut()).is_pending());
    used.send(1).unwrap();
    assert!(matches!(poll(recv), Poll::Ready(Ok(1))));
    let mut recv = pin!(rx.recv());
    assert!(poll(recv.as_mut()).is_pending());
    drop(dropped);
    assert!(matches!(poll(recv), Poll::Ready(Err(_))));
}

#[test]
fn a_permit_without_a_receiver_returns_the_message() {
    let (tx, rx, told) = told(1, Overflow::Suspend);
    let permit = tx.clone().try_reserve_owned().unwrap();
    drop(rx);
    assert_eq!(permit.send(1).unwrap_err().into_inner(), 1);
    assert!(told.lock().unwrap().is_empty());
}

#[test]
fn overflow_drops_the_oldest_or_the_latest() {
    for (overflow, received, dropped) in [
        (Overflow::DropOldest, [3, 4], [0, 1, 2]),
        (Overflow::DropLatest, [0, 1], [2, 3, 4]),
    ] {
        let (tx, rx, told) = told(2, overflow);
        for n in 0..5 {
            match n % 3 {
                0 => tx.try_send(n).unwrap(),
                1 => block_on(tx.send(n)).unwrap(),
                _ => tx.try_reserve().unwrap().send(n).unwrap(),
            }
        }
        assert_eq!(rx.try_iter().collect::<Vec<_>>(), received);
        assert_eq!(*told.lock().unwrap(), dropped);
        rx.close();
        assert!(block_on(tx.send(9)).is_err());
        assert!(tx.try_reserve().is_err());
        assert_eq!(told.lock().unwrap().len(), 3);
    }
}

#[test]
fn what_is_left_when_the_last_receiver_goes_is_told_of() {
    for capacity in [3, 1_000_000] {
        let (tx, rx, told) = told(capacity, Overflow::Suspend);
        let other = rx.clone();
        for n in 0..3 {
            tx.try_send(n).unwrap();
        }
        drop(rx);
        assert!(told.lock().unwrap().is_empty());
        drop(other);
        assert_eq!(*told.lock().unwrap(), [0, 1, 2]);
    }
}

#[test]
fn a_send_that_is_dropped_is_told_of() {
    for capacity in [0, 1] {
        let (tx, _rx, told) = told(capacity, Overflow::Suspend);
        for n in 0..capacity as u32 {
            tx.try_send(n).unwrap();
        }
        drop(tx.send(7)); // never polled
        {
            let mut send = pin!(tx.send(8));
            assert!(poll(send.as_mut()).is_pending());
        }
        assert_eq!(*told.lock().unwrap(), [7, 8]);
    }
}

#[test]
fn a_callback_that_panics_does_not_keep_the_rest() {
    let told = Arc::new(AtomicUsize::new(0));
    let count = told.clone();
    let (tx, rx) = channel::builder()
        .capacity(4)
        .on_undelivered(move |n| {
            count.fetch_add(1, Ordering::SeqCst);
            assert_ne!(n, 1, "the callback panics");
        })
        .build();
    for n in 0..4 {
        tx.try_send(n).unwrap();
    }
    let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(rx)));
    assert!(dropped.is_err());
    assert_eq!(told.load(Ordering::SeqCst), 4);
    assert!(tx.is_empty());
}

#[test]
#[should_panic(expected = "a rendezvous holds no message that could be dropped")]
fn a_rendezvous_cannot_overflow() {
    let _ = channel::builder::<u32>()
        .capacity(0)
        .overflow(Overflow::DropOldest)
        .build();
}

#[test]
fn threads_wait_until_a_deadline() {
    let soon = || Instant::now() + Duration::from_millis(1);
    for capacity in [0, 1] {
        let (tx, rx) = channel::bounded(capacity);
        assert!(rx.recv_blocking_until(soon()).unwrap_err().is_timeout());
        for n in 0..capacity {
            tx.send_blocking_until(n, soon()).unwrap();
        }
        let error = tx.send_blocking_until(9, soon()).unwrap_err();
        assert!(error.is_timeout());
        assert_eq!(error.into_inner(), 9);
        let far = Instant::now() + Duration::from_secs(60);
        let sender = {
            let tx = tx.clone();
            std::thread::spawn(move || tx.send_blocking_until(5, far))
        };
        for n in 0..capacity {
            assert_eq!(rx.recv_blocking_until(far).unwrap(), n);
        }
        assert_eq!(rx.recv_blocking_until(far).unwrap(), 5);
        sender.join().unwrap().unwrap();
        drop(rx);
        assert!(!tx.send_blocking_until(6, far).unwrap_err().is_timeout());
    }
    let (tx, rx) = channel::bounded::<u32>(1);
    drop(tx);
    let far = Instant::now() + Duration::from_secs(60);
    assert!(matches!(
        rx.recv_blocking_until(far),
        Err(RecvTimeoutError::Closed(_))
    ));
}

#[test]
fn blocking_in_a_task_panics() {
    tress::runtime::Runtime::new().unwrap().block_on(async {
        let (tx, rx) = channel::bounded::<u32>(1);
        let blocked = std::panic::catch_unwind(|| tx.send_blocking(1));
        assert!(blocked.is_err());
        let blocked = std::panic::catch_unwind(|| rx.recv_blocking());
        assert!(blocked.is_err());
    });
}

#[test]
fn a_task_that_always_finds_messages_yields() {
    let rt = tress::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    rt.block_on(async {
        let (tx, rx) = channel::unbounded();
        for n in 0..10_000 {
            tx.try_send(n).unwrap();
        }
        let other = rx.clone();
        tress::spawn(async move { while other.recv().await.is_ok() {} });
        let left = tress::spawn(async move { rx.len() }).await.unwrap();
        assert!(left > 9_000, "{left} left after one turn");
    });
}

/// Any executor will do: three senders and two receivers in turns on one thread.
#[test]
fn without_a_runtime() {
    const MESSAGES: u32 = if cfg!(miri) { 50 } else { 5_000 };
    for capacity in CAPACITIES {
        let (tx, rx) = channel::bounded(capacity);
        let sum = Arc::new(AtomicUsize::new(0));
        let mut futures: Vec<std::pin::Pin<Box<dyn Future<Output = ()>>>> = Vec::new();
        for _ in 0..2 {
            let (rx, sum) = (rx.clone(), sum.clone());
            futures.push(Box::pin(async move {
                while let Ok(n) = rx.recv().await {
                    sum.fetch_add(n as usize, Ordering::Relaxed);
                }
            }));
        }
        for _ in 0..3 {
            let tx = tx.clone();
            futures.push(Box::pin(async move {
                for n in 0..MESSAGES {
                    tx.send(n).await.unwrap();
                }
            }));
        }
        drop((tx, rx));
        run_all(futures);
        let one: u32 = (0..MESSAGES).sum();
        assert_eq!(sum.load(Ordering::Relaxed), 3 * one as usize);
    }
}

/// A message that was handed to a receiver which gives up is another's, so a closed channel is not at
/// its end before it was taken.
#[test]
fn a_message_in_somebodys_hand_keeps_the_end_away() {
    for taken in [false, true] {
        let (tx, rx) = channel::bounded(0);
        let other = rx.clone();
        let wakes = Arc::new(Wakes::default());
        let waker = Waker::from(wakes.clone());
        let cx = &mut Context::from_waker(&waker);
        let mut first = Box::pin(rx.recv());
        assert!(first.as_mut().poll(cx).is_pending());
        tx.try_send(7).unwrap();
        drop(tx);
        let mut second = pin!(other.recv());
        assert!(second.as_mut().poll(cx).is_pending());
        assert!(other.try_recv().unwrap_err().is_empty());
        let before = wakes.get();
        if taken {
            assert!(matches!(first.as_mut().poll(cx), Poll::Ready(Ok(7))));
            assert_eq!(wakes.get(), before + 1);
            assert!(matches!(second.as_mut().poll(cx), Poll::Ready(Err(_))));
        } else {
            drop(first);
            assert_eq!(wakes.get(), before + 1);
            assert!(matches!(second.as_mut().poll(cx), Poll::Ready(Ok(7))));
            assert!(block_on(other.recv()).is_err());
        }
    }
}
