//! Every interleaving of a process with the threads that bring it events.

use super::*;
use crate::event::{Completion, Message};
use crate::payload::Payload;
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

/// What needs no place.
fn completion(n: u32) -> Event {
    Event::Completion(Completion {
        tag: n.into(),
        result: Ok(Payload::empty()),
        more: false,
    })
}

fn parcel(n: u32) -> Parcel {
    Parcel::new(Message::new(n))
}

fn number(event: Event) -> u32 {
    match event {
        Event::Message(message) => message.payload.downcast().unwrap(),
        Event::Completion(completion) => completion.tag as u32,
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
                            f.slot.send(f.generation, parcel(n), IfFull::Refuse),
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
            thread::spawn(move || f.slot.tell(f.generation, completion(1)).unwrap())
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
            thread::spawn(move || f.slot.tell(f.generation, completion(1)).is_ok())
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
                thread::spawn(move || f.slot.send(f.generation, parcel(n), IfFull::Refuse).is_ok())
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

/// Fills a mailbox of one, and lets others wait.
fn full() -> Arc<Fixture> {
    let f = fixture(1, Overflow::Wait);
    assert!(matches!(
        f.slot.send(f.generation, parcel(1), IfFull::Wait),
        Ok(Sent::In)
    ));
    f
}

fn wait(f: &Fixture, n: u32) -> (Arc<Ticket>, Parcel) {
    match f.slot.send(f.generation, parcel(n), IfFull::Wait) {
        Ok(Sent::Waits(ticket, Some(message))) => (ticket, message),
        other => panic!("it is full, but {other:?}"),
    }
}

fn queue(f: &Fixture, n: u32) -> Arc<Ticket> {
    match f.slot.send(f.generation, parcel(n), IfFull::Queue) {
        Ok(Sent::Waits(ticket, None)) => ticket,
        other => panic!("it is full, but {other:?}"),
    }
}

/// Is it the sender's turn, as far as it can know? Polls as it would: with a waker, and again only
/// when that was woken.
struct Sender {
    ticket: Arc<Ticket>,
    message: Option<Parcel>,
    woken: std::sync::Arc<Count>,
}

impl Sender {
    fn new((ticket, message): (Arc<Ticket>, Parcel)) -> Sender {
        let woken = std::sync::Arc::new(Count(AtomicUsize::new(0)));
        Sender {
            ticket,
            message: Some(message),
            woken,
        }
    }

    /// True once the message is in.
    fn poll(&mut self, f: &Fixture) -> bool {
        match self.ticket.poll(&self.woken.clone().into()) {
            std::task::Poll::Ready(Outcome::Place) => {
                let message = self.message.take().unwrap();
                f.slot.redeem(f.generation, message).unwrap();
                true
            }
            std::task::Poll::Ready(other) => panic!("{other:?}"),
            std::task::Poll::Pending => false,
        }
    }

    fn is_woken(&self) -> bool {
        self.woken.0.load(Ordering::Acquire) > 0
    }
}

#[test]
fn model_a_sender_that_waits_is_told_of_the_place_that_is_kept_for_it() {
    loom::model(|| {
        let f = full();
        let mut sender = Sender::new(wait(&f, 2));
        let waits = {
            let f = f.clone();
            thread::spawn(move || {
                let sent = sender.poll(&f);
                (sender, sent)
            })
        };
        let mut seen = Vec::new();
        turn(&f, &mut seen);
        let (mut sender, sent) = waits.join().unwrap();
        if !sent {
            assert!(sender.is_woken() && sender.poll(&f));
        }
        settle(&f, &mut seen, 1);
        assert_eq!(seen, [1, 2]);
        assert_eq!(f.slot.depth().0, (0, 0));
    });
}

#[test]
fn model_who_gives_up_at_any_moment_leaves_its_turn_to_the_next() {
    loom::model(|| {
        let f = full();
        let (first, _) = wait(&f, 2);
        let mut second = Sender::new(wait(&f, 3));
        assert!(!second.poll(&f));
        let gives_up = {
            let f = f.clone();
            thread::spawn(move || f.slot.leave_line(f.generation, &first))
        };
        let mut seen = Vec::new();
        turn(&f, &mut seen);
        gives_up.join().unwrap();
        assert!(second.is_woken() && second.poll(&f));
        settle(&f, &mut seen, 1);
        assert_eq!(seen, [1, 3], "what was given up is not sent");
        assert_eq!(f.slot.depth().0, (0, 0));
    });
}

#[test]
fn model_a_message_in_line_behind_who_gives_up_wakes_a_process_that_rests() {
    loom::model(|| {
        let f = full();
        let (first, _) = wait(&f, 2);
        let ticket = queue(&f, 3);
        let gives_up = {
            let f = f.clone();
            thread::spawn(move || f.slot.leave_line(f.generation, &first))
        };
        let mut seen = Vec::new();
        turn(&f, &mut seen);
        gives_up.join().unwrap();
        settle(&f, &mut seen, 1);
        assert_eq!(seen, [1, 3]);
        let fate = ticket.poll(Waker::noop());
        assert!(matches!(fate, std::task::Poll::Ready(Outcome::In)));
        assert_eq!(f.slot.depth().0, (0, 0));
    });
}

#[test]
fn model_a_message_in_line_is_taken_in_or_taken_out() {
    loom::model(|| {
        let f = full();
        let ticket = queue(&f, 2);
        let sender = {
            let f = f.clone();
            thread::spawn(move || f.slot.leave_line(f.generation, &ticket))
        };
        let mut seen = Vec::new();
        turn(&f, &mut seen);
        sender.join().unwrap();
        settle(&f, &mut seen, 1);
        assert!(seen == [1] || seen == [1, 2], "{seen:?}");
        assert_eq!(f.slot.depth().0, (0, 0));
    });
}

#[test]
fn model_who_finds_no_room_is_let_in_when_there_is_some() {
    loom::model(|| {
        let f = full();
        let sender = {
            let f = f.clone();
            thread::spawn(
                move || match f.slot.send(f.generation, parcel(2), IfFull::Wait) {
                    Ok(Sent::In) => None,
                    Ok(Sent::Waits(ticket, message)) => {
                        Some(Sender::new((ticket, message.unwrap())))
                    }
                    other => panic!("{other:?}"),
                },
            )
        };
        let mut seen = Vec::new();
        turn(&f, &mut seen);
        if let Some(mut sender) = sender.join().unwrap() {
            assert!(sender.poll(&f), "there is room");
        }
        settle(&f, &mut seen, 1);
        assert_eq!(seen, [1, 2]);
        assert_eq!(f.slot.depth().0, (0, 0));
    });
}

/// A thread sends to a process while it ends and the next one begins in its slot, and another thread sends to
/// that one, whose mailbox has room for one message: only these two have a place there.
#[test]
fn model_who_sends_to_the_next_process_is_not_hindered_by_who_sent_to_the_last() {
    loom::model(|| {
        let f = fixture(1, Overflow::Wait);
        let late = {
            let f = f.clone();
            thread::spawn(move || {
                let sent = f.slot.send(f.generation, parcel(1), IfFull::Refuse);
                assert!(matches!(sent, Ok(Sent::In) | Err(Refused::Gone(_))));
            })
        };
        f.slot.complete().settle();
        let capacity = Capacity::new(1, Overflow::Wait);
        let next = f.slot.open(capacity, false).get();
        f.slot.register(&f.wakes.clone().into());
        let mut seen = Vec::new();
        turn(&f, &mut seen);
        let sent = f.slot.send(next, parcel(2), IfFull::Wait);
        assert!(
            matches!(sent, Ok(Sent::In)),
            "its mailbox is empty, but {sent:?}"
        );
        late.join().unwrap();
        settle(&f, &mut seen, 1);
        assert_eq!(seen, [2]);
        assert_eq!(f.slot.depth().0, (0, 0));
    });
}

/// As the one before, for a process that receives until nothing comes, and with a message in line
/// behind one that is in: the late one is among them somewhere, or was refused.
#[test]
fn model_who_receives_does_not_rest_on_what_a_late_message_hides() {
    loom::model(|| {
        let f = fixture(1, Overflow::Wait);
        let late = {
            let f = f.clone();
            thread::spawn(move || {
                let sent = f.slot.send(f.generation, parcel(1), IfFull::Refuse);
                assert!(matches!(sent, Ok(Sent::In) | Err(Refused::Gone(_))));
            })
        };
        f.slot.complete().settle();
        let capacity = Capacity::new(1, Overflow::Wait);
        let next = f.slot.open(capacity, false).get();
        let task: Waker = f.wakes.clone().into();
        f.slot.register(&task);
        let sent = f.slot.send(next, parcel(2), IfFull::Queue);
        assert!(matches!(sent, Ok(Sent::In)));
        let sent = f.slot.send(next, parcel(3), IfFull::Queue);
        assert!(matches!(sent, Ok(Sent::Waits(_, None))));
        let mut seen = Vec::new();
        let mut turns = 0;
        while turns < 1 + f.wakes.0.load(Ordering::Acquire) {
            turns += 1;
            assert_eq!(f.slot.start(), Start::Run);
            loop {
                let mut events = Chain::new();
                let _ = f.slot.receive(&mut events, 8, &task);
                if events.is_empty() && f.slot.rest(Pause::Idle) == Rest::Resting {
                    break;
                }
                seen.extend(numbers(events));
            }
        }
        assert_eq!(seen, [2, 3]);
        late.join().unwrap();
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
                    match f.slot.send(f.generation, parcel(n), IfFull::Refuse) {
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
            thread::spawn(
                move || match f.slot.send(f.generation, parcel(1), IfFull::Wait) {
                    Ok(Sent::In) => true,
                    Err(Refused::Gone(_)) => false,
                    other => panic!("{other:?}"),
                },
            )
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
