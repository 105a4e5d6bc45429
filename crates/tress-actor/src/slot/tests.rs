use super::*;
use crate::event::{Completion, Message, SystemEvent};
use crate::exit::ExitReason;
use crate::payload::Payload;
use std::sync::atomic::{AtomicUsize, Ordering};

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
        self.slot.send(self.generation, parcel(n), IfFull::Wait)
    }

    fn drain(&self, most: usize) -> (Vec<u32>, Left) {
        let mut events = Chain::new();
        let drained = self.slot.drain(&mut events, most);
        assert!(drained.late.is_empty());
        (numbers(events), drained.left)
    }

    fn wakes(&self) -> usize {
        self.wakes.0.load(Ordering::Relaxed)
    }
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
    peek(&event)
}

fn content(parcel: &Parcel) -> u32 {
    peek(parcel.0.event.as_ref().unwrap())
}

fn numbers(mut events: Chain) -> Vec<u32> {
    std::iter::from_fn(|| events.pop()).map(number).collect()
}

fn leftovers(mut left: Leftovers) -> Vec<(u32, u32)> {
    let events = std::iter::from_fn(|| left.next_event());
    events.map(|(of, event)| (of, number(event))).collect()
}

fn peek(event: &Event) -> u32 {
    match event {
        Event::Message(message) => *message.payload.downcast_ref().unwrap(),
        Event::Completion(completion) => completion.tag as u32,
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
fn who_does_not_take_what_has_come_rests_on_it_until_more_comes() {
    let f = Fixture::new(8, Overflow::Wait);
    assert!(matches!(f.send(1), Ok(Sent::In)));
    assert_eq!(f.slot.start(), Start::Run);
    assert_eq!(f.slot.rest(Pause::Idle), Rest::Awake, "look");
    assert_eq!(f.slot.rest(Pause::Idle), Rest::Resting, "it has looked");
    assert_eq!(f.slot.look().unwrap().1, ProcessState::Idle);
    assert_eq!((f.slot.depth().0, f.wakes()), ((1, 0), 0));
    assert!(matches!(f.send(2), Ok(Sent::In)));
    assert_eq!((f.slot.start(), f.wakes()), (Start::Run, 1));
    assert_eq!(f.drain(8), (vec![1, 2], Left::Nothing));
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
    assert!(matches!(f.send(3), Err(Refused::Full(back)) if content(&back) == 3));
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
    let mut events = Chain::new();
    assert_eq!(f.slot.drain(&mut events, 8).left, Left::Nothing);
    assert!(!events.pop().unwrap().counts(), "the system's news stays");
    assert_eq!(numbers(events), [2, 3]);
    let (_, counters) = f.slot.depth();
    assert_eq!((counters.accepted, counters.dropped), (3, 1));
}

/// Waits in line with a message of its own.
fn wait(f: &Fixture, n: u32) -> (std::sync::Arc<Ticket>, Parcel) {
    match f.send(n) {
        Ok(Sent::Waits(ticket, Some(message))) => (ticket, message),
        other => panic!("{other:?}"),
    }
}

/// Puts a message in line.
fn queue(f: &Fixture, n: u32) -> std::sync::Arc<Ticket> {
    match f.slot.send(f.generation, parcel(n), IfFull::Queue) {
        Ok(Sent::Waits(ticket, None)) => ticket,
        other => panic!("{other:?}"),
    }
}

fn outcome(ticket: &Ticket) -> Option<Outcome> {
    match ticket.poll(Waker::noop()) {
        std::task::Poll::Ready(outcome) => Some(outcome),
        std::task::Poll::Pending => None,
    }
}

#[test]
fn senders_wait_in_turn_and_put_their_messages_in_themselves() {
    let f = Fixture::new(1, Overflow::Wait);
    assert!(matches!(f.send(1), Ok(Sent::In)));
    let [second, third, fourth] = [2, 3, 4].map(|n| wait(&f, n));
    // A sender that cannot wait does not get in before those that do.
    let refused = f.slot.send(f.generation, parcel(5), IfFull::Refuse);
    assert!(matches!(refused, Err(Refused::Full(_))));
    assert!(second.0.poll(&f.wakes.clone().into()).is_pending());
    assert_eq!(f.drain(8), (vec![1], Left::Nothing));
    assert_eq!(f.wakes(), 1, "it is the second's turn");
    assert_eq!(
        f.slot.depth().0,
        (0, 3),
        "but its message is not in before it says so"
    );
    assert!(matches!(outcome(&second.0), Some(Outcome::Place)));
    assert!(f.slot.redeem(f.generation, second.1).is_ok());
    assert_eq!(f.slot.depth().0, (1, 2));
    assert!(outcome(&third.0).is_none());
    // The third gives up; the fourth has its turn.
    f.slot.leave_line(f.generation, &third.0);
    assert_eq!(f.drain(8), (vec![2], Left::Nothing));
    assert!(matches!(outcome(&fourth.0), Some(Outcome::Place)));
    assert!(f.slot.redeem(f.generation, fourth.1).is_ok());
    assert_eq!(f.drain(8), (vec![4], Left::Nothing));
    assert_eq!(f.slot.depth().0, (0, 0));
}

#[test]
fn a_place_that_was_kept_for_a_sender_that_gives_up_is_the_next_ones() {
    for queued in [false, true] {
        let f = Fixture::new(1, Overflow::Wait);
        assert!(matches!(f.send(1), Ok(Sent::In)));
        let (gives_up, _) = wait(&f, 2);
        let next = if queued { queue(&f, 3) } else { wait(&f, 3).0 };
        assert_eq!(f.slot.start(), Start::Run);
        assert_eq!(f.drain(8), (vec![1], Left::Nothing));
        assert_eq!(f.slot.rest(Pause::Idle), Rest::Resting);
        f.slot.leave_line(f.generation, &gives_up);
        if queued {
            assert!(matches!(outcome(&next), Some(Outcome::In)));
            assert_eq!(f.wakes(), 1, "the process rested");
            assert_eq!(f.slot.start(), Start::Run);
            assert_eq!(f.drain(8), (vec![3], Left::Nothing));
        } else {
            assert!(matches!(outcome(&next), Some(Outcome::Place)));
            f.slot.leave_line(f.generation, &next);
        }
        assert_eq!(f.slot.depth().0, (0, 0));
        assert!(matches!(f.send(4), Ok(Sent::In)), "there is room");
    }
}

#[test]
fn a_message_in_line_is_in_when_there_is_room() {
    let f = Fixture::new(2, Overflow::Wait);
    for n in 1..=2 {
        assert!(matches!(f.send(n), Ok(Sent::In)));
    }
    let [third, fourth, fifth] = [3, 4, 5].map(|n| queue(&f, n));
    f.slot.leave_line(f.generation, &fourth);
    assert_eq!(f.drain(1), (vec![1], Left::More));
    assert!(matches!(outcome(&third), Some(Outcome::In)));
    assert!(outcome(&fifth).is_none());
    assert_eq!(f.drain(8), (vec![2, 3], Left::Nothing));
    assert_eq!(f.slot.rest(Pause::Idle), Rest::Awake, "the fifth is in");
    assert_eq!(f.drain(8), (vec![5], Left::Nothing));
    assert!(matches!(outcome(&fifth), Some(Outcome::In)));
}

#[test]
fn giving_up_takes_a_constant_time() {
    let f = Fixture::new(1, Overflow::Wait);
    assert!(matches!(f.send(0), Ok(Sent::In)));
    // Miri is thousands of times slower, and looks for something else.
    let senders = if cfg!(miri) { 200 } else { 200_000 };
    let waiting: Vec<_> = (0..senders).map(|n| wait(&f, n).0).collect();
    for ticket in waiting.iter().rev().skip(1) {
        f.slot.leave_line(f.generation, ticket);
    }
    assert_eq!(f.slot.depth().0, (1, 1));
    assert_eq!(f.drain(8), (vec![0], Left::Nothing));
    let last = waiting.last().unwrap();
    assert!(matches!(outcome(last), Some(Outcome::Place)));
}

#[test]
fn the_line_before_a_process_that_ends_learns_of_it() {
    let f = Fixture::new(1, Overflow::Wait);
    assert!(matches!(f.send(1), Ok(Sent::In)));
    let (kept, _) = wait(&f, 2);
    assert_eq!(f.drain(8), (vec![1], Left::Nothing));
    let (waits, queued) = (wait(&f, 3).0, queue(&f, 4));
    assert!(waits.poll(&f.wakes.clone().into()).is_pending());
    f.slot.complete().settle();
    assert_eq!(f.wakes(), 1);
    assert!(matches!(outcome(&waits), Some(Outcome::Gone(None))));
    assert!(
        matches!(outcome(&queued), Some(Outcome::Gone(Some(back))) if content(&back) == 4),
        "it has its message back"
    );
    // The place of the first ended with the process.
    let next = f.slot.open(Capacity::new(1, Overflow::Wait), false).get();
    assert!(matches!(outcome(&kept), Some(Outcome::Place)));
    assert!(f.slot.redeem(f.generation, parcel(2)).is_err());
    f.slot.leave_line(f.generation, &kept);
    assert_eq!(f.slot.depth().0, (0, 0));
    assert!(f.slot.send(next, parcel(5), IfFull::Refuse).is_ok());
    assert!(f.slot.send(next, parcel(6), IfFull::Refuse).is_err());
}

#[test]
fn what_comes_late_changes_nothing_for_the_next_process() {
    let f = Fixture::new(1, Overflow::Wait);
    drop(f.slot.complete());
    let next = f.slot.open(Capacity::default(), true).get();
    assert_eq!(next, f.generation + 1);
    assert!(matches!(f.send(1), Err(Refused::Gone(_))));
    assert!(f.slot.tell(f.generation, completion(1)).is_err());
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
fn what_was_on_its_way_when_its_process_ended_is_sorted_out_by_the_next() {
    for ends_too in [false, true] {
        let f = Fixture::new(2, Overflow::Wait);
        // The sender has found the process alive, and has a place.
        assert!(f.slot.is_alive(f.generation));
        assert_eq!(f.slot.room.reserve(f.generation), Reserved::Place);
        assert_eq!(leftovers(f.slot.complete()), []);
        let next = f.slot.open(Capacity::new(1, Overflow::Wait), false).get();
        assert!(f.slot.put_message(f.generation, parcel(1)).is_ok());
        if ends_too {
            assert_eq!(leftovers(f.slot.complete()), [(f.generation, 1)]);
        } else {
            assert!(f.slot.tell(next, completion(2)).is_ok());
            let mut events = Chain::new();
            let drained = f.slot.drain(&mut events, 8);
            let late = drained
                .late
                .into_iter()
                .map(|(of, event)| (of, number(event)));
            assert_eq!(late.collect::<Vec<_>>(), [(f.generation, 1)]);
            assert_eq!(numbers(events), [2]);
        }
    }
    let f = Fixture::new(2, Overflow::Wait);
    assert_eq!(f.slot.room.reserve(f.generation), Reserved::Place);
    drop(f.slot.complete());
    assert_eq!(f.slot.room.reserve(f.generation), Reserved::Gone);
    let refused = f.slot.put_message(f.generation, parcel(1));
    assert!(matches!(refused, Err(Refused::Gone(back)) if content(&back) == 1));
    assert_eq!(f.slot.depth().0.0, 0, "its place ended with the process");
}

#[test]
fn a_part_of_a_process_is_woken_besides_its_task() {
    let f = Fixture::new(4, Overflow::Wait);
    let part = std::sync::Arc::new(Count::default());
    let (waker, woken) = (part.clone().into(), || part.0.load(Ordering::Relaxed));
    let mut events = Chain::new();
    assert_eq!(f.slot.start(), Start::Run);
    assert_eq!(f.slot.receive(&mut events, 4, &waker).left, Left::Nothing);
    assert_eq!(f.slot.rest(Pause::Idle), Rest::Resting);
    // Its task is polled for something else.
    assert_eq!((f.slot.start(), woken()), (Start::Run, 0));
    assert_eq!(f.slot.rest(Pause::Idle), Rest::Resting);
    assert!(matches!(f.send(1), Ok(Sent::In)));
    assert_eq!((f.wakes(), woken()), (1, 0));
    assert_eq!((f.slot.start(), woken()), (Start::Run, 1));
    assert_eq!(f.slot.receive(&mut events, 4, &waker).left, Left::Nothing);
    assert_eq!(numbers(std::mem::take(&mut events)), [1]);
    // While it runs.
    assert_eq!(f.slot.receive(&mut events, 4, &waker).left, Left::Nothing);
    assert!(matches!(f.send(2), Ok(Sent::In)));
    assert_eq!((f.slot.rest(Pause::Idle), woken()), (Rest::Awake, 2));
    assert_eq!(f.drain(4), (vec![2], Left::Nothing));
    // The task's own waker is not kept twice. (Miri gives a waker's functions other addresses each time
    // that one is made, and so would not know it again.)
    let task = f.wakes.clone().into();
    assert_eq!(f.slot.receive(&mut events, 4, &task).left, Left::Nothing);
    if !cfg!(miri) {
        assert_eq!(f.slot.doing.load(Ordering::Relaxed) & PART, 0);
    }
}

#[test]
fn cells_are_used_again() {
    let f = Fixture::new(1000, Overflow::Wait);
    for _ in 0..3 {
        for n in 0..1000 {
            assert!(matches!(f.send(n), Ok(Sent::In)));
        }
        assert_eq!(f.drain(1000), ((0..1000).collect(), Left::Nothing));
    }
}

#[test]
fn an_event_that_is_put_back_comes_first() {
    let mut events = Chain::new();
    events.push_front(completion(2));
    events.push_front(completion(1));
    events.push_node(Node::new(1, Some(completion(3))));
    assert_eq!((events.len(), events.iter().count()), (3, 3));
    assert_eq!(numbers(events), [1, 2, 3]);
}

#[test]
fn after_the_last_generation_there_is_none() {
    let word = Word::new();
    for last in [1, 2, u32::MAX - 1, u32::MAX] {
        word.skip_to(last);
        assert_eq!(word.open(false).get(), last);
        assert!(word.is_alive(last));
        word.complete();
        assert!(!word.is_alive(last) && word.look().is_none());
        assert_eq!(word.is_used_up(), last == u32::MAX);
    }
}

/// Comes back to the slot when it is dropped.
#[derive(Debug)]
struct Returning(std::sync::Arc<Slot>, std::sync::Arc<AtomicUsize>);

impl Drop for Returning {
    fn drop(&mut self) {
        let _ = self.0.killed_for();
        self.1.fetch_add(1, Ordering::Relaxed);
    }
}

impl std::fmt::Display for Returning {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Ok(())
    }
}

impl std::error::Error for Returning {}

#[test]
fn a_reason_that_is_not_needed_is_dropped_without_the_lock() {
    let (done, is_done) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let slot = std::sync::Arc::new(Slot::new());
        let generation = slot.open(Capacity::default(), false).get();
        let dropped = std::sync::Arc::new(AtomicUsize::new(0));
        let reason = || ExitReason::failed(Returning(slot.clone(), dropped.clone()));
        assert!(slot.kill(generation, ExitReason::Terminated));
        assert!(slot.kill(generation, reason()), "the first counts");
        assert!(!slot.kill(generation + 1, reason()), "nobody is there");
        assert_eq!(dropped.load(Ordering::Relaxed), 2);
        slot.complete().settle();
        done.send(()).unwrap();
    });
    let patience = std::time::Duration::from_secs(30);
    is_done.recv_timeout(patience).expect("it waits for itself");
    thread.join().unwrap();
}

/// Threads send to earlier processes of a slot, as fast as the slot is used again. No other thread knows the
/// process that follows, so its mailbox is empty.
#[test]
fn who_comes_late_has_no_place_of_the_next_process() {
    const OVER: u32 = u32::MAX;
    const ROUNDS: u32 = if cfg!(miri) { 50 } else { 100_000 };
    let slot = Slot::new();
    let capacity = Capacity::new(1, Overflow::Wait);
    let target = AtomicU32::new(0);
    let take = || {
        let mut events = Chain::new();
        let drained = slot.drain(&mut events, 8);
        (numbers(events), drained)
    };
    let round = || {
        let first = slot.open(capacity, false).get();
        slot.register(Waker::noop());
        target.store(first, Ordering::Relaxed);
        let _ = take();
        leftovers(slot.complete());
        let next = slot.open(capacity, false).get();
        slot.register(Waker::noop());
        let sent = slot.send(next, parcel(2), IfFull::Wait);
        let (got, drained) = take();
        leftovers(slot.complete());
        let before = drained.late.iter().all(|(of, _)| *of < next);
        let good = matches!(sent, Ok(Sent::In)) && got == [2] && before;
        if good { Ok(()) } else { Err((sent, got)) }
    };
    let wrong = std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let of = target.load(Ordering::Relaxed);
                    if of == OVER {
                        break;
                    }
                    // It may be full, or have ended.
                    drop(slot.send(of, parcel(1), IfFull::Refuse));
                }
            });
        }
        let caught = catch_unwind(AssertUnwindSafe(|| {
            (0..ROUNDS).find_map(|n| round().err().map(|wrong| (n, wrong)))
        }));
        // The threads end whatever came of it.
        target.store(OVER, Ordering::Relaxed);
        caught.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    assert!(wrong.is_none(), "{wrong:?}");
}
