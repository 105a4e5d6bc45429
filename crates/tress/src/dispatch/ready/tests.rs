use super::*;

#[test]
fn as_many_drains_as_the_limit_allows() {
    let ready = Ready::new(2);
    assert_eq!(ready.push('a'), Queued::SendDrain);
    assert_eq!(ready.push('b'), Queued::SendDrain);
    assert_eq!(ready.push('c'), Queued::Nothing);
    for expected in ['a', 'b', 'c'] {
        assert_eq!(ready.next(), Some(expected));
    }
    // The first drain ends; the other one still counts.
    assert_eq!(ready.next(), None);
    assert_eq!(ready.push('d'), Queued::SendDrain);
    assert_eq!(ready.push('e'), Queued::Nothing);
}

#[test]
fn what_yields_goes_behind_the_others() {
    let ready = Ready::new(1);
    let _ = ready.push('a');
    let _ = ready.push('b');
    let first = ready.next().unwrap();
    assert_eq!(ready.requeue(first), Ok(()));
    assert_eq!(ready.next(), Some('b'));
    assert_eq!(ready.next(), Some('a'));
}

#[test]
fn a_closed_queue_refuses_and_gives_back() {
    let ready = Ready::new(1);
    let _ = ready.push('a');
    let _ = ready.push('b');
    let running = ready.next().unwrap();
    assert_eq!(ready.close(), ['b']);
    assert_eq!(ready.requeue(running), Err('a'));
    assert_eq!(ready.push('c'), Queued::Refused('c'));
    assert_eq!(ready.next(), None);
    // A drain that was lost leaves room for another.
    let ready = Ready::new(1);
    let _ = ready.push('a');
    ready.lose_drain();
    assert_eq!(ready.push('b'), Queued::SendDrain);
}
