//! Interleavings of senders and receivers, for every kind of channel.
//!
//! Messages are loom `Arc`s: one that is dropped twice or never fails the model by itself.

use super::{Overflow, Receiver, Select, Sender, bounded, builder, conflated, unbounded};
use crate::model::{explore, poll_once};
use loom::future::block_on;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

type Ends = (Sender<Arc<i32>>, Receiver<Arc<i32>>);

/// One sender and one receiver, which wait for each other. `before` messages are sent before they
/// meet, two while they do: over the end of a ring, or of a block.
fn in_order(before: i32, make: fn() -> Ends) {
    explore(2, move || {
        let (tx, rx) = make();
        for i in 0..before {
            tx.try_send(Arc::new(i)).unwrap();
        }
        let sender = thread::spawn(move || {
            for i in before..before + 2 {
                block_on(tx.send(Arc::new(i))).unwrap();
            }
        });
        for i in 0..before + 2 {
            assert_eq!(*block_on(rx.recv()).unwrap(), i);
        }
        assert!(block_on(rx.recv()).is_err());
        sender.join().unwrap();
    });
}

#[test]
fn messages_pass_a_ring_of_one_in_order() {
    in_order(0, || bounded(1));
}

#[test]
fn messages_pass_a_ring_of_two_in_order() {
    in_order(1, || bounded(2));
}

#[test]
fn messages_pass_a_list_in_order() {
    in_order(1, unbounded);
}

#[test]
fn messages_pass_from_hand_to_hand_in_order() {
    in_order(0, || bounded(0));
}

/// Two receivers wait, two messages come: each gets one.
fn both_receive(make: fn() -> Ends) {
    explore(2, move || {
        let (tx, rx) = make();
        let mut first = Box::pin(rx.recv());
        assert!(poll_once(first.as_mut()).is_pending());
        let sender = thread::spawn(move || {
            for i in 1..3 {
                block_on(tx.send(Arc::new(i))).unwrap();
            }
        });
        let second = *block_on(rx.recv()).unwrap();
        assert_eq!(*block_on(first).unwrap() + second, 3);
        sender.join().unwrap();
    });
}

#[test]
fn two_receivers_of_a_ring_both_receive() {
    both_receive(|| bounded(2));
}

#[test]
fn two_receivers_of_a_list_both_receive() {
    both_receive(unbounded);
}

#[test]
fn two_receivers_from_hand_to_hand_both_receive() {
    both_receive(|| bounded(0));
}

#[test]
fn two_receivers_meet_at_a_block_boundary() {
    explore(2, || {
        let (tx, rx) = unbounded();
        for i in 0..3 {
            assert!(tx.try_send(Arc::new(i)).is_ok());
        }
        drop(tx);
        let other = rx.clone();
        let receiver = thread::spawn(move || {
            let mut sum = 0;
            while let Ok(n) = other.try_recv() {
                sum += *n;
            }
            sum
        });
        let mut sum = 0;
        while let Ok(n) = rx.try_recv() {
            sum += *n;
        }
        assert_eq!(sum + receiver.join().unwrap(), 3);
    });
}

/// The last sender goes while one receiver waits and another falls asleep.
fn all_are_told_of_the_end(make: fn() -> Ends) {
    explore(2, move || {
        let (tx, rx) = make();
        let mut first = Box::pin(rx.recv());
        assert!(poll_once(first.as_mut()).is_pending());
        let sender = thread::spawn(move || drop(tx));
        assert!(block_on(rx.recv()).is_err());
        assert!(block_on(first).is_err());
        sender.join().unwrap();
    });
}

#[test]
fn all_receivers_of_a_ring_are_told_of_the_end() {
    all_are_told_of_the_end(|| bounded(1));
}

#[test]
fn all_receivers_from_hand_to_hand_are_told_of_the_end() {
    all_are_told_of_the_end(|| bounded(0));
}

/// A receiver that was called, or given the message, gives up: the other one gets it.
fn passed_on(make: fn() -> Ends) {
    explore(3, move || {
        let (tx, rx) = make();
        let mut fickle = Box::pin(rx.recv());
        let mut patient = Box::pin(rx.recv());
        assert!(poll_once(fickle.as_mut()).is_pending());
        assert!(poll_once(patient.as_mut()).is_pending());
        let sender = thread::spawn(move || {
            tx.try_send(Arc::new(1)).unwrap();
            tx
        });
        drop(fickle);
        assert_eq!(*block_on(patient).unwrap(), 1);
        drop(sender.join().unwrap());
    });
}

#[test]
fn a_receiver_of_a_ring_that_gives_up_passes_on() {
    passed_on(|| bounded(2));
}

#[test]
fn a_receiver_from_hand_to_hand_that_gives_up_passes_on() {
    passed_on(|| bounded(0));
}

/// A message is received, comes back, or is told of; exactly one of these.
fn one_fate(capacity: Option<usize>) {
    explore(2, move || {
        let lost = Arc::new(AtomicUsize::new(0));
        let count = lost.clone();
        let mut builder = builder().on_undelivered(move |_: Arc<i32>| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        if let Some(capacity) = capacity {
            builder = builder.capacity(capacity);
        }
        let (tx, rx) = builder.build();
        let message = Arc::new(1);
        let sent = message.clone();
        let sender = thread::spawn(move || block_on(tx.send(sent)).is_err());
        let received = rx.try_recv().is_ok();
        drop(rx);
        let returned = sender.join().unwrap();
        let fates = usize::from(received) + usize::from(returned) + lost.load(Ordering::Relaxed);
        assert_eq!(fates, 1);
        assert_eq!(Arc::strong_count(&message), 1);
    });
}

#[test]
fn a_message_has_one_fate_when_the_receiver_of_a_ring_goes() {
    one_fate(Some(1));
}

#[test]
fn a_message_has_one_fate_when_the_receiver_of_a_list_goes() {
    one_fate(None);
}

#[test]
fn a_message_has_one_fate_when_the_receiver_from_hand_to_hand_goes() {
    one_fate(Some(0));
}

#[test]
fn send_and_close_agree_on_the_message() {
    explore(3, || {
        let (tx, rx) = bounded(1);
        let sender = thread::spawn(move || tx.try_send(Arc::new(1)).is_ok());
        rx.close();
        let received = block_on(rx.recv()).is_ok();
        assert_eq!(received, sender.join().unwrap());
    });
}

#[test]
fn a_full_ring_hands_places_out() {
    explore(2, || {
        let (tx, rx) = bounded(1);
        tx.try_send(Arc::new(0)).unwrap();
        let mut fickle = Box::pin(tx.send(Arc::new(1)));
        let mut patient = Box::pin(tx.send(Arc::new(2)));
        assert!(poll_once(fickle.as_mut()).is_pending());
        assert!(poll_once(patient.as_mut()).is_pending());
        let receiver = thread::spawn(move || {
            assert_eq!(*rx.try_recv().unwrap(), 0);
            rx
        });
        drop(fickle);
        block_on(patient).unwrap();
        assert_eq!(*receiver.join().unwrap().try_recv().unwrap(), 2);
    });
}

#[test]
fn a_sender_gets_in_line_while_a_place_becomes_free() {
    explore(3, || {
        let (tx, rx) = bounded(1);
        tx.try_send(Arc::new(0)).unwrap();
        let sender = thread::spawn(move || block_on(tx.send(Arc::new(1))).unwrap());
        assert_eq!(*rx.try_recv().unwrap(), 0);
        sender.join().unwrap();
        assert_eq!(*rx.try_recv().unwrap(), 1);
    });
}

#[test]
fn a_closed_ring_waits_for_the_last_permit() {
    explore(3, || {
        let (tx, rx) = bounded::<Arc<i32>>(2);
        let permit = tx.clone().try_reserve_owned().unwrap();
        let used = tx.try_reserve_owned().unwrap();
        rx.close();
        let holder = thread::spawn(move || {
            drop(permit);
            drop(used.send(Arc::new(1)));
        });
        assert!(block_on(rx.recv()).is_ok());
        assert!(block_on(rx.recv()).is_err());
        holder.join().unwrap();
    });
}

#[test]
fn a_permit_meets_a_receiver() {
    explore(2, || {
        let (tx, rx) = bounded::<Arc<i32>>(0);
        let sender = thread::spawn(move || {
            let permit = block_on(tx.reserve_owned()).unwrap();
            drop(permit.send(Arc::new(1)));
        });
        assert_eq!(*block_on(rx.recv()).unwrap(), 1);
        assert!(block_on(rx.recv()).is_err());
        sender.join().unwrap();
    });
}

#[test]
fn the_latest_message_wins() {
    explore(2, || {
        let (tx, rx) = conflated();
        let sender = thread::spawn(move || {
            for i in 0..2 {
                tx.try_send(Arc::new(i)).unwrap();
            }
        });
        let mut last = -1;
        while let Ok(message) = block_on(rx.recv()) {
            assert!(*message > last);
            last = *message;
        }
        assert_eq!(last, 1);
        sender.join().unwrap();
    });
}

#[test]
fn two_senders_push_each_other_out() {
    explore(2, || {
        let lost = Arc::new(AtomicUsize::new(0));
        let count = lost.clone();
        let (tx, rx) = builder()
            .capacity(1)
            .overflow(Overflow::DropOldest)
            .on_undelivered(move |_: Arc<i32>| {
                count.fetch_add(1, Ordering::Relaxed);
            })
            .build();
        let other = tx.clone();
        let sender = thread::spawn(move || other.try_send(Arc::new(1)).unwrap());
        tx.try_send(Arc::new(2)).unwrap();
        sender.join().unwrap();
        assert!(rx.try_recv().is_ok());
        assert!(rx.try_recv().is_err());
        assert_eq!(lost.load(Ordering::Relaxed), 1);
    });
}

// The selects are biased: a model must not depend on chance.

/// A select over both directions, against one that comes from the other side.
fn select_meets(make: fn() -> Ends) {
    explore(2, move || {
        let (tx, rx) = make();
        let (spare, idle) = bounded::<Arc<i32>>(0);
        let sender = thread::spawn(move || {
            block_on(tx.send(Arc::new(1))).unwrap();
        });
        let select = Select::new()
            .biased()
            .recv(&rx, |message| *message.unwrap())
            .send(&spare, Arc::new(2), |_| 2);
        assert_eq!(block_on(select.wait()), 1);
        sender.join().unwrap();
        assert!(idle.try_recv().is_err());
    });
}

#[test]
fn a_select_receives_from_a_ring() {
    select_meets(|| bounded(1));
}

#[test]
fn a_select_receives_from_hand_to_hand() {
    select_meets(|| bounded(0));
}

#[test]
fn a_select_sends_from_hand_to_hand() {
    explore(2, || {
        let (tx, rx) = bounded::<Arc<i32>>(0);
        let (_spare, idle) = bounded::<Arc<i32>>(0);
        let receiver = thread::spawn(move || *block_on(rx.recv()).unwrap());
        let mut message = Some(Arc::new(1));
        let select =
            Select::new()
                .biased()
                .recv(&idle, |_| false)
                .send_from(&tx, &mut message, |sent| sent.is_ok());
        assert!(block_on(select.wait()));
        assert!(message.is_none());
        assert_eq!(receiver.join().unwrap(), 1);
    });
}

#[test]
fn two_selects_meet() {
    explore(2, || {
        let (tx, rx) = bounded::<Arc<i32>>(0);
        let one = thread::spawn(move || {
            let select = Select::new()
                .biased()
                .send(&tx, Arc::new(1), |sent| sent.is_ok());
            assert!(block_on(select.wait()));
        });
        let select = Select::new()
            .biased()
            .recv(&rx, |message| *message.unwrap());
        assert_eq!(block_on(select.wait()), 1);
        one.join().unwrap();
    });
}

#[test]
fn a_select_that_is_dropped_has_sent_or_kept_its_message() {
    explore(2, || {
        let (tx, rx) = bounded::<Arc<i32>>(0);
        let receiver = thread::spawn(move || (rx.try_recv().is_ok(), rx));
        let mut message = Some(Arc::new(1));
        let mut wait = Box::pin(
            Select::new()
                .biased()
                .send_from(&tx, &mut message, |sent| sent.is_ok())
                .wait(),
        );
        assert!(poll_once(wait.as_mut()).is_pending());
        drop(wait);
        assert_eq!(receiver.join().unwrap().0, message.is_none());
    });
}

#[test]
fn a_select_is_told_of_the_end() {
    explore(2, || {
        let (tx, rx) = bounded::<Arc<i32>>(1);
        let (other, hand) = bounded::<Arc<i32>>(0);
        let sender = thread::spawn(move || drop((tx, other)));
        let select = Select::new()
            .biased()
            .recv(&rx, |message| message.is_err())
            .recv(&hand, |message| message.is_err());
        assert!(block_on(select.wait()));
        sender.join().unwrap();
    });
}
