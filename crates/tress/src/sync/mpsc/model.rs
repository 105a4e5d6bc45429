//! Interleavings of senders and the receiver. Blocks have two slots here, so that three messages
//! already hang a block in and recycle one.
//!
//! Messages are loom `Arc`s: one that is dropped twice or never fails the model by itself.

use super::error::TryRecvError;
use super::{channel, unbounded_channel};
use crate::model::{explore, poll_once};
use loom::future::block_on;
use loom::sync::Arc;
use loom::thread;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

#[test]
fn messages_come_in_order_over_a_block_boundary() {
    explore(3, || {
        let (tx, mut rx) = unbounded_channel();
        let sender = thread::spawn(move || {
            for i in 0..3 {
                tx.send(Arc::new(i)).unwrap();
            }
        });
        for i in 0..3 {
            assert_eq!(*block_on(rx.recv()).unwrap(), i);
        }
        assert!(block_on(rx.recv()).is_none());
        sender.join().unwrap();
    });
}

#[test]
fn two_senders_meet_at_a_block_boundary() {
    explore(2, || {
        let (tx, mut rx) = unbounded_channel();
        tx.send(Arc::new(0)).unwrap();
        let other = tx.clone();
        let sender = thread::spawn(move || {
            other.send(Arc::new(1)).unwrap();
        });
        tx.send(Arc::new(2)).unwrap();
        drop(tx);
        let mut sum = 0;
        while let Some(n) = block_on(rx.recv()) {
            sum += *n;
        }
        assert_eq!(sum, 3);
        sender.join().unwrap();
    });
}

#[test]
fn the_last_sender_goes_while_the_receiver_falls_asleep() {
    explore(3, || {
        let (tx, mut rx) = unbounded_channel::<Arc<i32>>();
        let other = tx.clone();
        let sender = thread::spawn(move || drop(other));
        drop(tx);
        assert!(block_on(rx.recv()).is_none());
        sender.join().unwrap();
    });
}

#[test]
fn send_and_close_agree_on_the_message() {
    explore(3, || {
        let (tx, mut rx) = channel(1);
        let sender = thread::spawn(move || tx.try_send(Arc::new(1)).is_ok());
        rx.close();
        let received = block_on(rx.recv()).is_some();
        assert_eq!(received, sender.join().unwrap());
    });
}

#[test]
fn no_message_outlives_the_receiver() {
    explore(3, || {
        let (tx, rx) = unbounded_channel();
        let message = Arc::new(());
        let (one, two) = (message.clone(), message.clone());
        let sender = thread::spawn(move || {
            let sent = (tx.send(one).is_ok(), tx.send(two).is_ok());
            // A message cannot be accepted after one was refused.
            assert!(sent.0 || !sent.1);
            tx
        });
        drop(rx);
        let tx = sender.join().unwrap();
        assert_eq!(Arc::strong_count(&message), 1);
        drop(tx);
    });
}

#[test]
fn a_full_channel_passes_places_on() {
    explore(2, || {
        let (tx, mut rx) = channel(1);
        let sender = thread::spawn(move || {
            for i in 0..2 {
                block_on(tx.send(Arc::new(i))).unwrap();
            }
        });
        for i in 0..2 {
            assert_eq!(*block_on(rx.recv()).unwrap(), i);
        }
        assert!(block_on(rx.recv()).is_none());
        sender.join().unwrap();
    });
}

#[test]
fn a_cancelled_reservation_passes_its_place_on() {
    explore(3, || {
        let (tx, mut rx) = channel(1);
        tx.try_send(Arc::new(0)).unwrap();
        let mut fickle = Box::pin(tx.clone().reserve_owned());
        let mut patient = Box::pin(tx.reserve_owned());
        assert!(poll_once(fickle.as_mut()).is_pending());
        assert!(poll_once(patient.as_mut()).is_pending());
        let canceller = thread::spawn(move || drop(fickle));
        assert!(rx.try_recv().is_ok());
        canceller.join().unwrap();
        assert!(matches!(poll_once(patient.as_mut()), Poll::Ready(Ok(_))));
        assert_eq!(rx.capacity(), 1);
    });
}

#[test]
fn a_reservation_gets_in_line_while_a_place_becomes_free() {
    explore(3, || {
        let (tx, mut rx) = channel(1);
        tx.try_send(Arc::new(0)).unwrap();
        let sender = thread::spawn(move || {
            {
                // Cancelled at once, in line or not.
                let mut fickle = pin!(tx.reserve());
                let _ = poll_once(fickle.as_mut());
            }
            drop(block_on(tx.reserve()).unwrap());
            tx
        });
        assert!(rx.try_recv().is_ok());
        let tx = sender.join().unwrap();
        assert_eq!(tx.capacity(), 1);
    });
}

#[test]
fn a_closed_receiver_is_told_of_the_last_permit() {
    explore(3, || {
        let (tx, mut rx) = channel::<Arc<i32>>(2);
        let permit = tx.clone().try_reserve_owned().unwrap();
        rx.close();
        let holder = thread::spawn(move || drop(permit));
        assert!(block_on(rx.recv()).is_none());
        holder.join().unwrap();
        drop(tx);
    });
}

#[test]
fn a_permit_is_honoured_after_close_and_not_after_drop() {
    explore(3, || {
        let (tx, mut rx) = channel(1);
        let permit = tx.try_reserve_owned().unwrap();
        rx.close();
        let holder = thread::spawn(move || permit.send(Arc::new(1)));
        let received = rx.try_recv();
        drop(rx);
        if let Err(error) = received {
            assert_eq!(error, TryRecvError::Empty);
        }
        drop(holder.join().unwrap());
    });
}

#[test]
fn senders_in_line_are_told_of_the_close() {
    explore(2, || {
        let (tx, mut rx) = channel(1);
        tx.try_send(Arc::new(0)).unwrap();
        let sender = thread::spawn(move || block_on(tx.send(Arc::new(1))).is_err());
        rx.close();
        assert!(sender.join().unwrap());
        assert!(block_on(rx.recv()).is_some());
        assert!(block_on(rx.recv()).is_none());
    });
}

#[test]
fn closed_is_told_of_the_drop() {
    explore(3, || {
        let (tx, rx) = channel::<Arc<i32>>(1);
        let sender = thread::spawn(move || block_on(tx.closed()));
        drop(rx);
        sender.join().unwrap();
    });
}

#[test]
fn a_change_of_wakers_misses_nothing() {
    explore(3, || {
        let (tx, mut rx) = unbounded_channel();
        let sender = thread::spawn(move || {
            tx.send(Arc::new(0)).unwrap();
            tx.send(Arc::new(1)).unwrap();
        });
        let mut next = 0;
        if let Poll::Ready(message) = rx.poll_recv(&mut Context::from_waker(Waker::noop())) {
            assert_eq!(*message.unwrap(), 0);
            next += 1;
        }
        while next < 2 {
            assert_eq!(*block_on(rx.recv()).unwrap(), next);
            next += 1;
        }
        sender.join().unwrap();
    });
}

#[test]
fn try_recv_finds_what_was_sent_before() {
    explore(3, || {
        let (tx, mut rx) = unbounded_channel();
        let other = tx.clone();
        let sender = thread::spawn(move || other.send(Arc::new(1)).unwrap());
        tx.send(Arc::new(0)).unwrap();
        // Ours is in, whatever the other one is doing.
        assert!(rx.try_recv().is_ok());
        sender.join().unwrap();
    });
}

/// Sends so many messages before the model begins; with five, the next one gets two blocks at once.
fn long(
    count: usize,
) -> (
    super::UnboundedSender<Arc<usize>>,
    super::UnboundedReceiver<Arc<usize>>,
) {
    let (tx, rx) = unbounded_channel();
    for i in 0..count {
        tx.send(Arc::new(i)).unwrap();
    }
    (tx, rx)
}

#[test]
fn two_senders_need_a_run() {
    explore(2, || {
        let (tx, mut rx) = long(5);
        let other = tx.clone();
        let sender = thread::spawn(move || {
            other.send(Arc::new(10)).unwrap();
            other.send(Arc::new(11)).unwrap();
        });
        tx.send(Arc::new(20)).unwrap();
        sender.join().unwrap();
        drop(tx);
        let mut sum = 0;
        while let Some(n) = block_on(rx.recv()) {
            sum += *n;
        }
        assert_eq!(sum, 10 + 41);
    });
}

#[test]
fn the_blocks_of_a_run_come_back_while_others_are_taken() {
    explore(2, || {
        let (tx, mut rx) = long(6);
        let sender = thread::spawn(move || {
            for i in 6..9 {
                tx.send(Arc::new(i)).unwrap();
            }
        });
        for i in 0..9 {
            assert_eq!(*block_on(rx.recv()).unwrap(), i);
        }
        assert!(block_on(rx.recv()).is_none());
        sender.join().unwrap();
    });
}

#[test]
fn the_receiver_leaves_a_run_while_a_sender_comes() {
    for more in 1..=2 {
        explore(3, move || {
            let (tx, mut rx) = long(6);
            for _ in 0..6 {
                assert!(rx.try_recv().is_ok());
            }
            let sender = thread::spawn(move || {
                for i in 6..6 + more {
                    tx.send(Arc::new(i)).unwrap();
                }
            });
            for i in 6..6 + more {
                assert_eq!(*block_on(rx.recv()).unwrap(), i);
            }
            assert!(block_on(rx.recv()).is_none());
            sender.join().unwrap();
        });
    }
}

#[test]
fn the_last_sender_goes_while_the_receiver_leaves_a_run() {
    explore(3, || {
        let (tx, mut rx) = long(6);
        for _ in 0..6 {
            assert!(rx.try_recv().is_ok());
        }
        let sender = thread::spawn(move || drop(tx));
        loop {
            match rx.try_recv() {
                Err(TryRecvError::Empty) => thread::yield_now(),
                end => break assert!(matches!(end, Err(TryRecvError::Disconnected))),
            }
        }
        sender.join().unwrap();
    });
}

#[test]
fn the_receiver_of_a_run_goes_while_a_sender_comes() {
    explore(2, || {
        let (tx, rx) = long(6);
        let message = Arc::new(6);
        let ours = message.clone();
        let sender = thread::spawn(move || {
            let _ = tx.send(ours);
            tx
        });
        drop(rx);
        let tx = sender.join().unwrap();
        assert_eq!(Arc::strong_count(&message), 1);
        drop(tx);
    });
}

#[test]
fn a_place_is_reserved_while_the_receiver_leaves_a_run() {
    explore(3, || {
        let (tx, mut rx) = channel(6);
        for i in 0..6 {
            tx.try_send(Arc::new(i)).unwrap();
        }
        for _ in 0..6 {
            assert!(rx.try_recv().is_ok());
        }
        let sender = thread::spawn(move || {
            // All but the one that the receiver leaves out can be had at any time.
            let permits = tx.try_reserve_many(5).unwrap();
            drop(permits);
            drop(block_on(tx.reserve_many(6)).unwrap());
            tx
        });
        assert!(rx.try_recv().is_err());
        let tx = sender.join().unwrap();
        assert_eq!(tx.capacity(), 6);
    });
}
