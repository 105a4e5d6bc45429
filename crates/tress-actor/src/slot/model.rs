//! Every interleaving of a process with those who bring it events.

use super::*;
use crate::event::Message;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

/// Counts wake-ups. A plain counter would not do: the model must see it.
struct Count(AtomicUsize);

impl std::task::Wake for Count {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

struct Fixture {
    slot: Slot,
    generation: u32,
    wakes: std::sync::Arc<Count>,
}

fn fixture(messages: u32, overflow: Overflow) -> Arc<Fixture> {
    let slot = Slot::new();
    let generation = slot.open(Capacity::new(messages, overflow), false).get();
    let wakes = std::sync::Arc::new(Count(AtomicUsize::new(0)));
    slot.register(&wakes.clone().into());
    Arc::new(Fixture {
        slot,
        generation,
        wakes,
    })
}

fn message(n: u32) -> Event {
    Event::Message(Message::new(n))
}

fn parcel(n: u32) -> Parcel {
    Parcel::new(Message::new(n))
}

fn number(event: Event) -> u32 {
    match event {
        Event::Message(message) => message.payload.downcast().unwrap(),
        Event::Completion(_) => panic!("not a message"),
    }
}

fn numbers(mut events: Chain) -> Vec<u32> {
    std::iter::from_fn(|| events.pop()).map(number).collect()
}

/// A turn as the task of a process makes it: takes what there is until it rests. True if killed.
fn turn(f: &Fixture, seen: &mut Vec<u32>) -> bool {
    if f.slot.start() == Start::Killed {
        return true;
    }
    loop {
        let mut events = Chain::new();
        let left = f.slot.drain(&mut events, 1).left;
        seen.extend(numbers(events));
        if left == Left::More {
            continue;
        }
        match f.slot.rest(Pause::Idle) {
            Rest::Resting => return false,
            Rest::Awake => {}
            Rest::Killed => return true,
        }
    }
}

/// Runs turns as a scheduler would, one for the start and one for each wake-up.
fn settle(f: &Fixture, seen: &mut Vec<u32>, mut turns: usize) {
    while turns < 1 + f.wakes.0.load(Ordering::Acquire) {
        turn(f, seen);
        turns += 1;
    }
}

#[test]
fn model_no_event_is_lost_and_senders_stay_in_order() {
    loom::model(|| {
        let f = fixture(8, Overflow::Wait);
        let senders: Vec<_> = [10, 20]
            .into_iter()
            .map(|first| {
                let f = f.clone();
                thread::spawn(move || {
                    for n in first..first + 2 {
                        assert!(matches!(
                            f.slot.send(f.generation, parcel(n), false),
                            Ok(Sent::In)
                        ));
                    }
                })
            })
            .collect();
        let mut seen = Vec::new();
        turn(&f, &mut seen);
        for sender in senders {
            sender.join().unwrap();
        }
        settle(&f, &mut seen, 1);
        for first in [10, 20] {
            let of_one: Vec<u32> = seen
                .iter()
                .copied()
                .filter(|n| n / 10 == first / 10)
                .collect();
            assert_eq!(of_one, [first, first + 1]);
        }
    });
}

#[test]
fn model_a_completion_while_running_or_resting_is_never_lost() {
    loom::model(|| {
        let f = fixture(1, Overflow::Wait);
        let handler = {
            let f = f.clone();
            thread::spawn(move || f.slot.tell(f.generation, message(1)).unwrap())
        };
        let mut seen = Vec::new();
        turn(&f, &mut seen);
        handler.join().unwrap();
        settle(&f, &mut seen, 1);
        assert_eq!(seen, [1]);
    });
}

#[test]
fn model_a_late_completion_does_not_reach_the_next_process() {
    loom::model(|| {
        let f = fixture(1, Overflow::Wait);
        let late = {
            let f = f.clone();
            thread::spawn(move || f.slot.tell(f.generation, message(1)).is_ok())
        };
        assert_eq!(f.slot.start(), Start::Run);
        let left = usize::from(f.slot.complete().next_event().is_some());
        let next = f.slot.open(Capacity::default(), false).get();
        assert_ne!(next, f.generation);
        let delivered = late.join().unwrap();
        let mut events = Chain::new();
        let drained = f.slot.drain(&mut events, 8);
        assert!(events.is_empty() && drained.left == Left::Nothing);
        assert_eq!(
            left + drained.late.len(),
            usize::from(delivered),
            "left by the old one, sorted out by the new one, or refused"
        );
    });
}

#[test]
fn model_a_kill_ends_a_process_wherever_it_is() {
    loom::model(|| {
        let f = fixture(1, Overflow::Wait);
        let killer = {
            let f = f.clone();
            thread::spawn(move || assert!(f.slot.kill(f.generation, ExitReason::Terminated)))
        };
        let mut seen = Vec::new();
        let mut killed = turn(&f, &mut seen);
        killer.join().unwrap();
        if !killed {
            assert_eq!(f.wakes.0.load(Ordering::Acquire), 1);
            killed = turn(&f, &mut seen);
        }
        assert!(killed);
    });
}

#[test]
fn model_a_mailbox_never_holds_more_than_it_may() {
    loom::model(|| {
        let f = fixture(1, Overflow::Reject);
        let senders: Vec<_> = (0..2)
            .map(|n| {
                let f = f.clone();
                thread::spawn(move || f.slot.send(f.generation, parcel(n), false).is_ok())
            })
            .collect();
        assert_eq!(f.slot.start(), Start::Run);
        let mut events = Chain::new();
        let left = f.slot.drain(&mut events, 8).left;
        assert!(events.len() <= 1 && left == Left::Nothing);
        let sent = senders.into_iter().map(|sender| sender.join().unwrap());
        let sent = sent.filter(|sent| *sent).count();
        assert_eq!(f.slot.drain(&mut events, 8).left, Left::Nothing);
        assert_eq!(events.len(), sent);
        let (_, counters) = f.slot.depth();
        assert_eq!(counters.accepted + counters.rejected, 2);
    });
}

#[test]
fn model_a_message_in_line_is_taken_in_given_back_or_taken_out() {
    loom::model(|| {
        let f = fixture(1, Overflow::Wait);
        assert!(matches!(
            f.slot.send(f.generation, parcel(1), true),
            Ok(Sent::In)
        ));
        let Ok(Sent::Waits(ticket)) = f.slot.send(f.generation, parcel(2), true) else {
            panic!("it is full");
        };
        let sender = {
            let f = f.clone();
            thread::spawn(move || f.slot.leave_line(&ticket).is_some())
        };
        assert_eq!(f.slot.start(), Start::Run);
        let mut events = Chain::new();
        for _ in 0..2 {
            assert!(f.slot.drain(&mut events, 1).late.is_empty());
        }
        let taken_out = sender.join().unwrap();
        assert!(f.slot.drain(&mut events, 1).late.is_empty());
        assert_eq!(
            numbers(events),
            if taken_out { vec![1] } else { vec![1, 2] }
        );
    });
}

#[test]
fn model_who_finds_no_room_is_let_in_when_there_is_some() {
    loom::model(|| {
        let f = fixture(1, Overflow::Wait);
        assert!(matches!(
            f.slot.send(f.generation, parcel(1), true),
            Ok(Sent::In)
        ));
        let sender = {
            let f = f.clone();
            thread::spawn(move || match f.slot.send(f.generation, parcel(2), true) {
                Ok(Sent::In) => None,
                Ok(Sent::Waits(ticket)) => Some(ticket),
                other => panic!("{other:?}"),
            })
        };
        let mut seen = Vec::new();
        turn(&f, &mut seen);
        let ticket = sender.join().unwrap();
        settle(&f, &mut seen, 1);
        assert_eq!(seen, [1, 2]);
        if let Some(ticket) = ticket {
            assert!(ticket.poll(Waker::noop()).is_ready(), "it is told");
        }
        assert_eq!(f.slot.depth().0, (0, 0));
    });
}

#[test]
fn model_the_oldest_makes_room_and_nobody_sleeps_on_the_rest() {
    loom::model(|| {
        let f = fixture(1, Overflow::DropOldest);
        let sender = {
            let f = f.clone();
            thread::spawn(move || {
                let mut dropped = Vec::new();
                for n in 1..=2 {
                    match f.slot.send(f.generation, parcel(n), false) {
                        Ok(Sent::In) => {}
                        Ok(Sent::InFor(event)) => dropped.push(number(event)),
                        other => panic!("{other:?}"),
                    }
                }
                dropped
            })
        };
        let mut seen = Vec::new();
        turn(&f, &mut seen);
        let mut all = sender.join().unwrap();
        settle(&f, &mut seen, 1);
        all.append(&mut seen);
        assert_eq!(all, [1, 2]);
    });
}

#[test]
fn model_a_message_to_a_process_that_ends_is_left_late_or_refused() {
    loom::model(|| {
        let f = fixture(1, Overflow::Wait);
        let sender = {
            let f = f.clone();
            thread::spawn(move || match f.slot.send(f.generation, parcel(1), true) {
                Ok(Sent::In) => true,
                Err(Refused::Gone(_)) => false,
                other => panic!("{other:?}"),
            })
        };
        let left = usize::from(f.slot.complete().next_event().is_some());
        f.slot.open(Capacity::new(1, Overflow::Reject), false);
        let mut events = Chain::new();
        let early = f.slot.drain(&mut events, 8).late.len();
        let sent = sender.join().unwrap();
        let late = f.slot.drain(&mut events, 8).late.len();
        assert!(events.is_empty());
        assert_eq!(left + early + late, usize::from(sent));
        assert_eq!(f.slot.depth().0.0, 0, "no place is lost");
    });
}
