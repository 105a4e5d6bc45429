use super::*;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::task::Wake;

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Count {
    fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

fn counting() -> (Arc<Count>, Waker) {
    let count = Arc::new(Count::default());
    (count.clone(), count.into())
}

fn event(slot: &Slot, ready: Ready) {
    let mut wakers = Wakers::default();
    slot.set_ready(|_| true, ready, &mut wakers);
    wakers.wake_all();
}

fn poll(slot: &Slot, waker: &Waker, direction: Direction) -> Poll<ReadyEvent> {
    slot.poll(&mut Context::from_waker(waker), direction)
}

fn seen(poll: Poll<ReadyEvent>) -> ReadyEvent {
    match poll {
        Poll::Ready(event) => event,
        Poll::Pending => panic!("not ready"),
    }
}

/// A node with its obligations kept.
struct Waiting<'a>(&'a Slot, Node);

impl<'a> Waiting<'a> {
    fn poll(self: Pin<&mut Self>, mask: Ready, waker: &Waker) -> Poll<ReadyEvent> {
        let this = self.as_ref().get_ref();
        // SAFETY: pinned, left in `drop`, one slot.
        unsafe {
            this.0
                .poll_node(&this.1, mask, &mut Context::from_waker(waker))
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        // SAFETY: used with this slot only.
        unsafe { self.0.leave(&self.1) };
    }
}

#[test]
fn each_side_is_woken_by_its_own_readiness() {
    let slot = Slot::new();
    let (reads, reader) = counting();
    let (writes, writer) = counting();
    assert!(poll(&slot, &reader, Direction::Read).is_pending());
    assert!(poll(&slot, &writer, Direction::Write).is_pending());
    event(&slot, Ready::WRITABLE);
    assert_eq!((reads.get(), writes.get()), (0, 1));
    event(&slot, Ready::READ_CLOSED);
    assert_eq!((reads.get(), writes.get()), (1, 1));
    assert!(
        seen(poll(&slot, &reader, Direction::Read))
            .ready()
            .is_read_closed()
    );
    // Taken wakers are not woken again.
    event(&slot, Ready::ALL);
    assert_eq!((reads.get(), writes.get()), (1, 1));
}

#[test]
fn the_last_waker_of_a_side_counts() {
    let slot = Slot::new();
    let (first, one) = counting();
    let (second, two) = counting();
    assert!(poll(&slot, &one, Direction::Read).is_pending());
    assert!(poll(&slot, &two, Direction::Read).is_pending());
    event(&slot, Ready::READABLE);
    assert_eq!((first.get(), second.get()), (0, 1));
}

#[test]
fn clear_takes_what_was_seen() {
    let slot = Slot::new();
    let (_, waker) = counting();
    event(&slot, Ready::READABLE | Ready::WRITABLE);
    let read = seen(poll(&slot, &waker, Direction::Read));
    slot.clear(read);
    assert!(poll(&slot, &waker, Direction::Read).is_pending());
    assert!(poll(&slot, &waker, Direction::Write).is_ready());
}

#[test]
fn clear_does_not_take_an_event_that_came_meanwhile() {
    let slot = Slot::new();
    let (_, waker) = counting();
    event(&slot, Ready::READABLE);
    let old = seen(poll(&slot, &waker, Direction::Read));
    event(&slot, Ready::READABLE);
    slot.clear(old);
    assert!(poll(&slot, &waker, Direction::Read).is_ready());
}

#[test]
fn closed_states_cannot_be_cleared() {
    let slot = Slot::new();
    let (_, waker) = counting();
    event(&slot, Ready::READABLE | Ready::READ_CLOSED);
    let all = seen(poll(&slot, &waker, Direction::Read));
    slot.clear(all);
    assert_eq!(
        seen(poll(&slot, &waker, Direction::Read)).ready(),
        Ready::READ_CLOSED
    );
}

#[test]
fn a_source_that_would_block_is_not_closed() {
    let slot = Slot::new();
    let (_, waker) = counting();
    event(&slot, Ready::ALL);
    let old = seen(poll(&slot, &waker, Direction::Read));
    event(&slot, Ready::READ_CLOSED);
    slot.would_block(old);
    let all = seen(poll(&slot, &waker, Direction::Read));
    assert!(all.ready().is_read_closed(), "another event came since");
    slot.would_block(all);
    assert!(poll(&slot, &waker, Direction::Read).is_pending());
    let other = seen(poll(&slot, &waker, Direction::Write)).ready();
    assert_eq!(other, Ready::WRITABLE | Ready::WRITE_CLOSED);
}

#[test]
fn the_tick_wraps() {
    let slot = Slot::new();
    let (_, waker) = counting();
    for _ in 0..=u16::MAX {
        event(&slot, Ready::READABLE);
    }
    let last = seen(poll(&slot, &waker, Direction::Read));
    assert_eq!(slot.generation(), 0);
    slot.clear(last);
    assert!(poll(&slot, &waker, Direction::Read).is_pending());
}

#[test]
fn nodes_are_woken_by_their_mask_and_leave_from_anywhere() {
    let slot = Slot::new();
    let counts: Vec<_> = (0..4).map(|_| counting()).collect();
    let masks = [
        Ready::READABLE,
        Ready::WRITABLE,
        Ready::READABLE,
        Ready::ERROR,
    ];
    let mut nodes: Vec<_> = (0..4)
        .map(|_| Some(Box::pin(Waiting(&slot, Node::new()))))
        .collect();
    for ((node, mask), (_, waker)) in nodes.iter_mut().zip(masks).zip(&counts) {
        assert!(
            node.as_mut()
                .unwrap()
                .as_mut()
                .poll(mask, waker)
                .is_pending()
        );
    }
    let woken = || counts.iter().map(|(c, _)| c.get()).collect::<Vec<_>>();
    nodes[0] = None; // the head leaves
    event(&slot, Ready::READABLE);
    assert_eq!(woken(), [0, 0, 1, 0]);
    nodes[3] = None; // the tail leaves
    event(&slot, Ready::ERROR | Ready::WRITABLE);
    assert_eq!(woken(), [0, 1, 1, 0]);
    // Woken ones are in no list: dropping them is fine, and nothing is woken twice.
    nodes.clear();
    event(&slot, Ready::ALL);
    assert_eq!(woken(), [0, 1, 1, 0]);
}

#[test]
fn a_node_that_is_polled_again_has_its_new_waker_woken() {
    let slot = Slot::new();
    let (first, one) = counting();
    let (second, two) = counting();
    let mut node = pin!(Waiting(&slot, Node::new()));
    assert!(node.as_mut().poll(Ready::READABLE, &one).is_pending());
    assert!(node.as_mut().poll(Ready::READABLE, &two).is_pending());
    event(&slot, Ready::READABLE);
    assert_eq!((first.get(), second.get()), (0, 1));
    assert!(node.as_mut().poll(Ready::READABLE, &two).is_ready());
    slot.clear(slot.event(Ready::READABLE).unwrap());
    assert!(node.as_mut().poll(Ready::READABLE, &one).is_pending());
    event(&slot, Ready::READABLE);
    assert_eq!((first.get(), second.get()), (1, 1));
}

#[test]
fn shutdown_ends_every_wait() {
    let slot = Slot::new();
    let (reads, reader) = counting();
    let (errors, waiter) = counting();
    let mut node = pin!(Waiting(&slot, Node::new()));
    assert!(poll(&slot, &reader, Direction::Read).is_pending());
    assert!(node.as_mut().poll(Ready::ERROR, &waiter).is_pending());
    let mut wakers = Wakers::default();
    slot.shut_down(&mut wakers);
    wakers.wake_all();
    assert_eq!((reads.get(), errors.get()), (1, 1));
    assert!(seen(poll(&slot, &reader, Direction::Read)).is_shut_down());
    assert!(seen(node.as_mut().poll(Ready::ERROR, &waiter)).is_shut_down());
    // Clearing does not undo it.
    slot.clear(seen(poll(&slot, &reader, Direction::Read)));
    assert!(seen(poll(&slot, &reader, Direction::Write)).is_shut_down());
}

#[test]
fn a_retired_slot_forgets_and_releases_its_wakers() {
    let slot = Slot::new();
    let (reads, reader) = counting();
    assert!(poll(&slot, &reader, Direction::Read).is_pending());
    drop(reader);
    assert_eq!(Arc::strong_count(&reads), 2);
    slot.retire();
    assert_eq!(Arc::strong_count(&reads), 1);
    assert_eq!(slot.generation(), 1);
    assert!(slot.event(Ready::ALL).is_none());
}
