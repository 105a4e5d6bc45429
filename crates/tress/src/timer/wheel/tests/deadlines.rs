//! Every timer fires at its deadline, wherever that is.

use super::*;

// The sleeps of ruling 24, which went wrong with slots relative to now: late,
// early, or lost.

#[test]
fn sleep_5_at_10() {
    fires_on_time(10, 15);
}

#[test]
fn sleep_20_at_3() {
    fires_on_time(3, 23);
}

#[test]
fn sleep_30_at_100() {
    fires_on_time(100, 130);
}

#[test]
fn sleep_100_at_1000() {
    fires_on_time(1000, 1100);
}

#[test]
fn sleep_1000_at_5000() {
    fires_on_time(5000, 6000);
}

#[test]
fn deadlines_around_every_level_boundary() {
    let starts = [65, 0, 1, 62, 63, 64, 4095, power(5) - 1, power(5)];
    // Miri takes half a second for each pair.
    let starts = &starts[..if cfg!(miri) { 1 } else { starts.len() }];
    for &start in starts {
        for k in 1..=10 {
            for deadline in [power(k) - 1, power(k), power(k) + 1] {
                if deadline > start {
                    fires_on_time(start, deadline);
                }
                // The same distance instead of the same tick.
                fires_on_time(start, start + deadline);
            }
        }
    }
}

#[test]
fn slots_wrap_around() {
    // From the last slot of a level, or of several, to the first.
    for k in if cfg!(miri) { 4..=5 } else { 1..=7 } {
        for before in [1, 63] {
            for after in [0, 1] {
                fires_on_time(power(k) - before, power(k) + after);
                fires_on_time(3 * power(k) - before, 3 * power(k) + after);
            }
        }
    }
}

#[test]
fn places() {
    assert_eq!(Place::of(63, 0), Place::slot(0, 63));
    assert_eq!(Place::of(64, 0), Place::slot(1, 1));
    assert_eq!(Place::of(64, 63), Place::slot(1, 1));
    assert_eq!(Place::of(65, 64), Place::slot(0, 1));
    assert_eq!(Place::of(4095, 0), Place::slot(1, 63));
    assert_eq!(Place::of(4096, 0), Place::slot(2, 1));
    assert_eq!(
        Place::of(power(5) - 1, 0),
        Place::slot(LEVELS - 1, SLOTS - 1)
    );
    assert_eq!(Place::of(power(5) - 1, power(5) - 1), Place::slot(0, 63));
    assert_eq!(Place::of(power(5), 0), Place::OVERFLOW);
    assert_eq!(Place::of(power(5), power(5) - 1), Place::OVERFLOW);
    assert_eq!(Place::of(power(5) + 1, power(5)), Place::slot(0, 1));
    assert_eq!(Place::of(u64::MAX, 0), Place::OVERFLOW);
    assert_eq!(Place::of(u64::MAX, u64::MAX), Place::slot(0, 63));
}

#[test]
fn past_deadlines_are_refused() {
    let node = timer(0);
    let mut wheel = Wheel::new(1000);
    for deadline in [0, 1, 64, 936, 999, 1000] {
        assert_eq!(insert(&mut wheel, node, deadline), Err(Due));
        assert!(!is_linked(node));
        assert_eq!(wheel.next_tick(), None);
        check(&wheel);
    }
    assert_eq!(insert(&mut wheel, node, 1001), Ok(()));
    assert_eq!(deadline(node), 1001);
    assert_eq!(wheel.pop_due(1001), Some(node));
    assert_eq!(insert(&mut wheel, node, 1001), Err(Due));
    free(node);
}

#[test]
fn the_clock_does_not_move_back() {
    let mut wheel = Wheel::new(0);
    for seq in 0..3 {
        add(&mut wheel, seq, 100);
    }
    add(&mut wheel, 3, 200);
    free(wheel.pop_due(150).unwrap());
    assert_eq!(wheel.now(), 100);
    assert_eq!(wheel.next_tick(), Some(100));
    // Due already, though not by the clock we now call with.
    free(wheel.pop_due(7).unwrap());
    free(wheel.pop_due(0).unwrap());
    assert_eq!(wheel.pop_due(99), None);
    assert_eq!(wheel.now(), 100);
    assert_eq!(fire(&mut wheel, 200), [(3, 200)]);
    assert_eq!(wheel.pop_due(150), None);
    assert_eq!(wheel.now(), 200);
}

#[test]
fn equal_deadlines_fire_in_order_of_insertion() {
    // On level 0 all along; through a cascade; through all of them; through the
    // overflow list.
    for deadline in [40, 1000, power(5) - 3, power(5) + 77, 5 * power(5)] {
        let mut wheel = Wheel::new(0);
        for seq in 0..10 {
            add(&mut wheel, seq, deadline);
        }
        // Come closer, and let some more join after the first have cascaded.
        assert_eq!(fire(&mut wheel, deadline - 20), []);
        for seq in 10..20 {
            add(&mut wheel, seq, deadline);
        }
        let expected: Vec<_> = (0..20).map(|seq| (seq, deadline)).collect();
        assert_eq!(fire(&mut wheel, deadline), expected);
    }
}

#[test]
fn a_long_gap_fires_everything_by_deadline() {
    let mut wheel = Wheel::new(5);
    let deadlines = [
        power(6) + 1,
        6,
        power(5) - 1,
        70,
        power(4),
        4096,
        69,
        power(5),
        4097,
        power(3) * 7 + 11,
        u64::MAX - 1,
        63,
    ];
    for (seq, deadline) in deadlines.into_iter().enumerate() {
        add(&mut wheel, seq as u64, deadline);
    }
    let mut expected: Vec<_> = (0..).zip(deadlines).collect();
    expected.sort_by_key(|&(_, deadline)| deadline);
    assert_eq!(fire(&mut wheel, u64::MAX), expected);
}

#[test]
fn never() {
    let mut wheel = Wheel::new(0);
    let node = add(&mut wheel, 0, u64::MAX);
    for now in [
        1,
        power(5),
        power(6) + 5,
        1 << 50,
        u64::MAX - power(5),
        u64::MAX - 1,
    ] {
        assert_eq!(fire(&mut wheel, now), []);
        assert!(wheel.next_tick().unwrap() > now);
    }
    assert_eq!(wheel.next_tick(), Some(u64::MAX));
    remove(&mut wheel, node);
    assert_eq!(wheel.next_tick(), None);
    // The end of time is a tick like any other.
    assert_eq!(insert(&mut wheel, node, u64::MAX), Ok(()));
    assert_eq!(wheel.pop_due(u64::MAX), Some(node));
    assert_eq!(insert(&mut wheel, node, u64::MAX), Err(Due));
    assert_eq!(wheel.pop_due(u64::MAX), None);
    free(node);
}

#[test]
fn overflow_can_overflow_again() {
    let turn = power(5);
    let mut wheel = Wheel::new(turn - 10);
    let far = add(&mut wheel, 0, 7 * turn + 1);
    add(&mut wheel, 1, turn + 1);
    add(&mut wheel, 2, 3 * turn + 1);
    add(&mut wheel, 3, 3 * turn);
    assert_eq!(wheel.next_tick(), Some(turn));
    assert_eq!(fire(&mut wheel, turn), []);
    assert_eq!(wheel.next_tick(), Some(turn + 1));
    assert_eq!(fire(&mut wheel, turn + 1), [(1, turn + 1)]);
    // Turn 2 has nothing for us, and is skipped.
    assert_eq!(wheel.next_tick(), Some(3 * turn));
    assert_eq!(fire(&mut wheel, 2 * turn + 5), []);
    assert_eq!(wheel.next_tick(), Some(3 * turn));
    assert_eq!(
        fire(&mut wheel, 5 * turn),
        [(3, 3 * turn), (2, 3 * turn + 1)]
    );
    assert_eq!(wheel.next_tick(), Some(7 * turn));
    remove(&mut wheel, far);
    assert_eq!(wheel.next_tick(), None);
    free(far);
}

#[test]
fn removing_the_earliest_of_the_overflow_list() {
    let turn = power(5);
    let mut wheel = Wheel::new(0);
    let early = add(&mut wheel, 0, 2 * turn);
    add(&mut wheel, 1, 9 * turn);
    remove(&mut wheel, early);
    free(early);
    // The wheel may have forgotten that nothing happens in turn 2, but it has
    // to get over it.
    assert_eq!(fire(&mut wheel, 2 * turn + 1), []);
    assert_eq!(wheel.next_tick(), Some(9 * turn));
    assert_eq!(fire(&mut wheel, 9 * turn), [(1, 9 * turn)]);
    // An emptied list does not bring up old stops.
    add(&mut wheel, 2, 12 * turn);
    assert_eq!(wheel.next_tick(), Some(12 * turn));
    assert_eq!(fire(&mut wheel, 12 * turn), [(2, 12 * turn)]);
}
