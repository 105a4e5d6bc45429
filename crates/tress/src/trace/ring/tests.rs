use super::*;
use std::sync::atomic::AtomicBool;

fn words(number: u64) -> Words {
    [number, !number, number ^ 0x5555, number << 1]
}

#[test]
fn the_newest_overwrite_the_oldest() {
    for (asked, size) in [(0, 1), (1, 1), (3, 4), (4, 4)] {
        let ring = Ring::new(asked);
        assert_eq!(ring.snapshot().count(), 0);
        for number in 0..10 {
            ring.push(words(number));
            let there: Vec<Words> = ring.snapshot().collect();
            let first = (number + 1).saturating_sub(size);
            let expected: Vec<Words> = (first..=number).map(words).collect();
            assert_eq!(there, expected, "of a ring of {asked}");
        }
        assert_eq!(ring.get(9 - size), None, "overwritten");
        assert_eq!(ring.get(10), None, "not there yet");
    }
}

/// One thread writes as fast as it can, two read: whatever they get is whole and in order.
#[test]
fn stress_no_reader_sees_a_mixed_event() {
    const EVENTS: u64 = if cfg!(miri) { 300 } else { 300_000 };
    let ring = Ring::new(8);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut seen = 0;
                while !done.load(Ordering::Acquire) {
                    let mut last = None;
                    for event in ring.snapshot() {
                        assert_eq!(event, words(event[0]));
                        assert!(last < Some(event[0]), "in order");
                        last = Some(event[0]);
                        seen += 1;
                    }
                    std::thread::yield_now();
                }
                seen
            });
        }
        for number in 0..EVENTS {
            ring.push(words(number));
        }
        done.store(true, Ordering::Release);
    });
    assert_eq!(ring.written(), EVENTS);
    assert_eq!(ring.snapshot().count(), 8);
}
