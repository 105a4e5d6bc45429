use super::*;
use crate::event::{Message, SystemEvent};
use crate::exit::ExitReason;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake as _;

#[derive(Default)]
struct Count(AtomicUsize);

impl std::task::Wake for Count {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

struct Fixture {
    slot: Slot,
    generation: u32,
    wakes: std::sync::Arc<Count>,
}

impl Fixture {
    fn new(messages: u32, overflow: Overflow) -> Fixture {
        let slot = Slot::new();
        let generation = slot.open(Capacity::new(messages, overflow), false).get();
        let wakes = std::sync::Arc::new(Count::default());
        slot.register(&wakes.clone().into());
        Fixture {
            slot,
            generation,
            wakes,
        }
    }

    fn send(&self, n: u32) -> Result<Sent, Refused> {
        self.slot.send(self.generation, message(n), true)
    }

    fn drain(&self, most: usize) -> (Vec<u32>, Left) {
        let mut events = VecDeque::new();
        let left = self.slot.drain(&mut events, most);
        (events.into_iter().map(number).collect(), left)
    }

    fn wakes(&self) -> usize {
        self.wakes.0.load(Ordering::Relaxed)
    }
}

fn message(n: u32) -> Event {
    Event::Message(Message::new(n))
}

fn number(event: Event) -> u32 {
    peek(&event)
}

fn peek(event: &Event) -> u32 {
    match event {
        Event::Message(message) => *message.payload.downcast_ref().unwrap(),
        Event::Completion(_) => panic!("not a message"),
    }
}

#[test]
fn who_rests_is_woken_once_and_who_runs_is_not() {
    let f = Fixture::new(8, Overflow::Wait);
    // Ready: it will look by itself.
    assert!(matches!(f.send(1), Ok(Sent::In)));
    assert_eq!((f.slot.start(), f.wakes()), (Start::Run, 0));
    assert_eq!(f.drain(8), (vec![1], Left::Nothing));
    // Running: it may not rest before it has looked.
    assert!(matches!(f.send(2), Ok(Sent::In)));
    assert_eq!((f.slot.rest(Pause::Idle), f.wakes()), (Rest::Awake, 0));
    assert_eq!(f.drain(8), (vec![2], Left::Nothing));
    for pause in [Pause::Idle, Pause::Blocked] {
        let before = f.wakes();
        assert_eq!(f.slot.rest(pause), Rest::Resting);
        assert!(matches!(f.send(3), Ok(Sent::In)));
        assert!(matches!(f.send(4), Ok(Sent::In)));
        assert_eq!(f.wakes(), before + 1, "messages wake {pause:?}, once");
        assert_eq!(f.slot.start(), Start::Run);
        assert_eq!(f.drain(8), (vec![3, 4], Left::Nothing));
    }
}

#[test]
fn a_batch_is_limited_and_says_what_is_left() {
    let f = Fixture::new(8, Overflow::Wait);
    for n in 0..5 {
        assert!(matches!(f.send(n), Ok(Sent::In)));
    }
    assert_eq!(f.drain(3), (vec![0, 1, 2], Left::More));
    assert_eq!(f.drain(3), (vec![3, 4], Left::Nothing));
}

#[test]
fn a_full_mailbox_rejects() {
    let f = Fixture::new(2, Overflow::Reject);
    assert!(matches!(f.send(1), Ok(Sent::In)));
    assert!(matches!(f.send(2), Ok(Sent::In)));
    assert!(matches!(f.send(3), Err(Refused::Full(event)) if peek(&event) == 3));
    assert_eq!(f.drain(1), (vec![1], Left::More));
    assert!(matches!(f.send(4), Ok(Sent::In)));
    assert_eq!(f.drain(8), (vec![2, 4], Left::Nothing));
    let (_, counters) = f.slot.depth();
    assert_eq!((counters.accepted, counters.rejected), (3, 1));
}

#[test]
fn a_full_mailbox_drops_the_oldest_message_and_nothing_else() {
    let f = Fixture::new(2, Overflow::DropOldest);
    let cancel = SystemEvent::Cancel {
        from: None,
        reason: ExitReason::Normal,
    };
    let news = Event::Message(Message::system(None, cancel));
    assert!(f.slot.tell(f.generation, news).is_ok());
    for n in 1..=2 {
        assert!(matches!(f.send(n), Ok(Sent::In)));
    }
    assert!(matches!(f.send(3), Ok(Sent::InFor(event)) if peek(&event) == 1));
    let mut events = VecDeque::new();
    assert_eq!(f.slot.drain(&mut events, 8), Left::Nothing);
    assert!(
        !events.pop_front().unwrap().counts(),
        "the system's news stays"
    );
    assert_eq!(events.into_iter().map(number).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(f.slot.depth().1.dropped, 1);
}

#[test]
fn a_full_mailbox_lets_senders_wait_in_turn() {
    let f = Fixture::new(1, Overflow::Wait);
    assert!(matches!(f.send(1), Ok(Sent::In)));
    let Ok(Sent::Waits(second)) = f.send(2) else {
        panic!()
    };
    let Ok(Sent::Waits(third)) = f.send(3) else {
        panic!()
    };
    let Ok(Sent::Waits(fourth)) = f.send(4) else {
        panic!()
    };
    // Who cannot wait does not get in before those who do.
    let refused = f.slot.send(f.generation, message(5), false);
    assert!(matches!(refused, Err(Refused::Full(_))));
    let waker = f.wakes.clone().into();
    assert!(second.poll(&waker).is_pending());
    assert_eq!(f.drain(8), (vec![1], Left::More));
    assert_eq!(f.wakes(), 1, "the second is in and told so");
    assert!(matches!(
        second.poll(&waker),
        std::task::Poll::Ready(Outcome::In)
    ));
    assert!(third.poll(&waker).is_pending());
    // The third gives up; the fourth takes its place.
    assert_eq!(f.slot.leave_line(&third).map(number), Some(3));
    assert!(f.slot.leave_line(&third).is_none());
    assert_eq!(f.drain(8), (vec![2], Left::More));
    assert!(matches!(
        fourth.poll(&waker),
        std::task::Poll::Ready(Outcome::In)
    ));
    assert_eq!(f.drain(8), (vec![4], Left::Nothing));
    assert_eq!(f.slot.depth().0, (0, 0));
}

#[test]
fn the_line_before_a_process_that_ends_gets_its_messages_back() {
    let f = Fixture::new(1, Overflow::Wait);
    assert!(matches!(f.send(1), Ok(Sent::In)));
    let Ok(Sent::Waits(ticket)) = f.send(2) else {
        panic!()
    };
    let left = f.slot.complete();
    assert_eq!(left.events.into_iter().map(number).collect::<Vec<_>>(), [1]);
    for (event, ticket) in left.line {
        ticket.give_back(event);
    }
    let fate = ticket.poll(std::task::Waker::noop());
    assert!(matches!(fate, std::task::Poll::Ready(Outcome::Back(event)) if peek(&event) == 2));
}

#[test]
fn what_comes_late_changes_nothing_for_the_next_process() {
    let f = Fixture::new(1, Overflow::Wait);
    drop(f.slot.complete());
    let next = f.slot.open(Capacity::default(), true).get();
    assert_eq!(next, f.generation + 1);
    assert!(matches!(f.send(1), Err(Refused::Gone(_))));
    assert!(f.slot.tell(f.generation, message(1)).is_err());
    assert!(!f.slot.kill(f.generation, ExitReason::Terminated));
    assert!(!f.slot.set_trap(f.generation, false) && f.slot.traps());
    assert_eq!(f.drain(8), (vec![], Left::Nothing));
    assert_eq!(f.slot.start(), Start::Run);
}

#[test]
fn who_is_killed_does_not_rest_and_the_first_reason_counts() {
    let f = Fixture::new(1, Overflow::Wait);
    assert_eq!(f.slot.start(), Start::Run);
    assert!(f.slot.kill(f.generation, ExitReason::Terminated));
    assert!(f.slot.kill(f.generation, ExitReason::Shutdown));
    assert_eq!(f.slot.rest(Pause::Idle), Rest::Killed);
    assert_eq!(f.slot.start(), Start::Killed);
    assert!(matches!(f.slot.killed_for(), ExitReason::Terminated));
}

#[test]
fn a_part_of_a_process_is_woken_besides_its_task() {
    let f = Fixture::new(4, Overflow::Wait);
    let part = std::sync::Arc::new(Count::default());
    assert_eq!(f.slot.start(), Start::Run);
    assert!(f.slot.await_events(&part.clone().into()));
    assert_eq!(f.slot.rest(Pause::Idle), Rest::Resting);
    assert!(matches!(f.send(1), Ok(Sent::In)));
    assert_eq!((f.wakes(), part.0.load(Ordering::Relaxed)), (1, 1));
    assert!(!f.slot.await_events(&part.clone().into()), "there is one");
    // The task's own waker is not kept twice.
    assert_eq!(f.drain(4), (vec![1], Left::Nothing));
    assert!(f.slot.await_events(&f.wakes.clone().into()));
    f.wakes.clone().wake();
}

#[test]
fn generations_skip_zero() {
    let word = Word::new();
    for _ in 0..3 {
        let generation = word.open(false).get();
        assert!(word.is_alive(generation));
        word.complete();
        assert!(!word.is_alive(generation) && word.look().is_none());
    }
}
