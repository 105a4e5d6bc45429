use super::*;

#[test]
fn as_many_drains_as_the_limit_allows() {
    let queue = Queue::new(2);
    assert_eq!(queue.push('a'), Queued::SendDrain);
    assert_eq!(queue.push('b'), Queued::SendDrain);
    assert_eq!(queue.push('c'), Queued::Nothing);
    for expected in ['a', 'b', 'c'] {
        assert_eq!(queue.next(), Some(expected));
    }
    // The first drain ends; the other one still counts.
    assert_eq!(queue.next(), None);
    assert_eq!(queue.push('d'), Queued::SendDrain);
    assert_eq!(queue.push('e'), Queued::Nothing);
}

#[test]
fn what_yields_goes_behind_the_others() {
    let queue = Queue::new(1);
    let _ = queue.push('a');
    let _ = queue.push('b');
    let first = queue.next().unwrap();
    assert_eq!(queue.requeue(first), Ok(()));
    assert_eq!(queue.next(), Some('b'));
    assert_eq!(queue.next(), Some('a'));
}

#[test]
fn a_closed_queue_refuses_and_gives_back() {
    let queue = Queue::new(1);
    let _ = queue.push('a');
    let _ = queue.push('b');
    let running = queue.next().unwrap();
    assert_eq!(queue.close(), ['b']);
    assert_eq!(queue.requeue(running), Err('a'));
    assert_eq!(queue.push('c'), Queued::Refused('c'));
    assert_eq!(queue.next(), None);
    // A drain that was lost leaves room for another.
    let queue = Queue::new(1);
    let _ = queue.push('a');
    queue.lose_drain();
    assert_eq!(queue.push('b'), Queued::SendDrain);
}
