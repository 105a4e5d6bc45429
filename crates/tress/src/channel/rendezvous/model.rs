//! The end of a rendezvous, and selects that stand in both of its lines.
//!
//! Each model hangs, which loom reports, if somebody is not told.

use crate::channel::{Receiver, Select, Sender, bounded};
use crate::model::{explore, poll_once};
use loom::future::block_on;
use loom::sync::Arc;
use loom::thread;

type Ends = (Sender<Arc<i32>>, Receiver<Arc<i32>>);

/// Another thread waits for the end.
fn waits_for_the_end(rx: &Receiver<Arc<i32>>) -> thread::JoinHandle<()> {
    let rx = rx.clone();
    thread::spawn(move || assert!(block_on(rx.recv()).is_err()))
}

/// The last message of a closed channel is taken out of a hand, and the first in line behind it gives up.
#[test]
fn the_end_reaches_all_when_the_last_hand_is_emptied() {
    explore(3, || {
        let (tx, rx): Ends = bounded(0);
        let mut holds = Box::pin(rx.recv());
        assert!(poll_once(holds.as_mut()).is_pending());
        tx.try_send(Arc::new(1)).unwrap();
        drop(tx);
        let mut fickle = Box::pin(rx.recv());
        assert!(poll_once(fickle.as_mut()).is_pending());
        let patient = waits_for_the_end(&rx);
        assert_eq!(*block_on(holds).unwrap(), 1);
        drop(fickle);
        patient.join().unwrap();
    });
}

/// As above, and the message goes on to one who gives up too.
#[test]
fn the_end_reaches_all_when_the_last_message_is_given_away() {
    explore(3, || {
        let (tx, rx): Ends = bounded(0);
        let mut holds = Box::pin(rx.recv());
        assert!(poll_once(holds.as_mut()).is_pending());
        tx.try_send(Arc::new(1)).unwrap();
        drop(tx);
        let others = [0, 1].map(|_| {
            let rx = rx.clone();
            thread::spawn(move || usize::from(block_on(rx.recv()).is_ok()))
        });
        drop(holds);
        let received: usize = others.map(|other| other.join().unwrap()).iter().sum();
        assert_eq!(received, 1);
    });
}

/// The last promise is taken back, or kept.
fn the_last_promise(used: bool) {
    explore(3, move || {
        let (tx, rx): Ends = bounded(0);
        let mut fickle = Box::pin(rx.recv());
        assert!(poll_once(fickle.as_mut()).is_pending());
        // The sender stays: its end would be told as well.
        let permit = tx.try_reserve().unwrap();
        rx.close();
        assert!(poll_once(fickle.as_mut()).is_pending(), "promised");
        let other = rx.clone();
        let patient = thread::spawn(move || {
            let received = block_on(other.recv()).is_ok();
            received || block_on(other.recv()).is_ok()
        });
        if used {
            permit.send(Arc::new(1)).unwrap();
        } else {
            drop(permit);
        }
        drop(fickle);
        assert_eq!(patient.join().unwrap(), used);
    });
}

#[test]
fn the_end_reaches_all_when_the_last_promise_is_taken_back() {
    the_last_promise(false);
}

#[test]
fn the_end_reaches_all_when_the_last_promise_is_kept() {
    the_last_promise(true);
}

/// The first two in line are one select's, which is content with one of them.
#[test]
fn the_end_passes_a_select_that_stands_in_line_twice() {
    explore(2, || {
        let (tx, rx): Ends = bounded(0);
        let mut twice = Box::pin(
            Select::new()
                .biased()
                .recv(&rx, |end| end.is_err())
                .recv(&rx, |end| end.is_err())
                .wait(),
        );
        assert!(poll_once(twice.as_mut()).is_pending());
        let permit = tx.clone().try_reserve_owned().unwrap();
        rx.close();
        assert!(poll_once(twice.as_mut()).is_pending(), "promised");
        let patient = waits_for_the_end(&rx);
        let holder = thread::spawn(move || drop(permit));
        assert!(block_on(twice));
        patient.join().unwrap();
        holder.join().unwrap();
    });
}

/// 1 if it sent, the message if it received.
fn either_way(tx: &Sender<Arc<i32>>, rx: &Receiver<Arc<i32>>, send_first: bool) -> i32 {
    let received = |message: Result<Arc<i32>, _>| *message.unwrap();
    let sent = |sent: Result<(), _>| i32::from(sent.is_ok());
    let select = Select::new().biased();
    if send_first {
        let select = select.send(tx, Arc::new(2), sent).recv(rx, received);
        block_on(select.wait())
    } else {
        let select = select.recv(rx, received).send(tx, Arc::new(2), sent);
        block_on(select.wait())
    }
}

#[test]
fn two_selects_that_stand_in_both_lines_meet_each_other() {
    for (one, two) in [(true, true), (true, false), (false, false)] {
        explore(2, move || {
            let (tx, rx): Ends = bounded(0);
            let (their_tx, their_rx) = (tx.clone(), rx.clone());
            let other = thread::spawn(move || either_way(&their_tx, &their_rx, one));
            let mine = either_way(&tx, &rx, two);
            assert_eq!(mine + other.join().unwrap(), 3, "one sent, one received");
            assert!(rx.try_recv().is_err());
        });
    }
}

#[test]
fn a_select_that_stands_in_both_lines_meets_one_that_comes() {
    explore(2, || {
        let (tx, rx): Ends = bounded(0);
        let their_tx = tx.clone();
        let sender = thread::spawn(move || block_on(their_tx.send(Arc::new(3))).unwrap());
        assert_eq!(either_way(&tx, &rx, true), 3);
        sender.join().unwrap();
    });
}

/// Two selects stand in line at two places, at each of which a promise keeps them apart. Both promises
/// are taken back at once.
#[test]
fn two_selects_are_brought_together_at_one_of_two_places() {
    explore(2, || {
        let (tx_a, rx_a): Ends = bounded(0);
        let (tx_b, rx_b): Ends = bounded(0);
        let mut takes = Box::pin(
            Select::new()
                .biased()
                .recv(&rx_a, |message| *message.unwrap())
                .recv(&rx_b, |message| *message.unwrap())
                .wait(),
        );
        assert!(poll_once(takes.as_mut()).is_pending());
        let a = tx_a.clone().try_reserve_owned().unwrap();
        let b = tx_b.clone().try_reserve_owned().unwrap();
        let mut gives = Box::pin(
            Select::new()
                .biased()
                .send(&tx_b, Arc::new(2), |sent| 2 * i32::from(sent.is_ok()))
                .send(&tx_a, Arc::new(1), |sent| i32::from(sent.is_ok()))
                .wait(),
        );
        assert!(poll_once(gives.as_mut()).is_pending());
        let release = thread::spawn(move || drop(a));
        drop(b);
        assert_eq!(block_on(gives), block_on(takes));
        release.join().unwrap();
        assert!(rx_a.try_recv().is_err() && rx_b.try_recv().is_err());
    });
}
