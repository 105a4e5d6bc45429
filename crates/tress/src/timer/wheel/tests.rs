//! What the tests of the wheel have in common: timers, a loop such as an owner has, and a look into
//! every list.

mod deadlines;
mod naive;
mod nodes;

use super::{AHEAD, Due, LEVELS, LISTS, List, Node, Place, SLOTS, Wheel};

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::Mutex;

/// A timer as an owner would have it: the node inside of something larger,
/// found again from the node's address.
#[repr(C)]
struct Timer {
    node: Node,
    /// Order of insertion, the identity of a timer in these tests.
    seq: u64,
    /// Index in `Sim::live`.
    at: usize,
}

/// Allocates a timer; [`free`] gives it back.
fn timer(seq: u64) -> NonNull<Node> {
    let timer = Box::new(Timer {
        node: Node::new(),
        seq,
        at: 0,
    });
    NonNull::from(Box::leak(timer)).cast()
}

fn seq(node: NonNull<Node>) -> u64 {
    // SAFETY: all nodes in this file but those of `threads` come from `timer`,
    // and are freed last.
    unsafe { node.cast::<Timer>().as_ref() }.seq
}

fn deadline(node: NonNull<Node>) -> u64 {
    // SAFETY: as in `seq`.
    unsafe { node.as_ref() }.deadline()
}

fn is_linked(node: NonNull<Node>) -> bool {
    // SAFETY: as in `seq`.
    unsafe { node.as_ref() }.is_linked()
}

fn free(node: NonNull<Node>) {
    assert!(!is_linked(node));
    // SAFETY: `timer` got the node from a box, and nobody frees twice.
    drop(unsafe { Box::from_raw(node.cast::<Timer>().as_ptr()) });
}

fn insert(wheel: &mut Wheel, node: NonNull<Node>, deadline: u64) -> Result<(), Due> {
    // SAFETY: tests free a node only after it left the wheel, and are single
    // threaded.
    unsafe { wheel.insert(node, deadline) }
}

fn remove(wheel: &mut Wheel, node: NonNull<Node>) {
    // SAFETY: as in `insert`; no test mixes up wheels.
    unsafe { wheel.remove(node) }
}

/// Adds a new timer that has to be accepted.
fn add(wheel: &mut Wheel, seq: u64, deadline: u64) -> NonNull<Node> {
    let node = timer(seq);
    assert_eq!(insert(wheel, node, deadline), Ok(()));
    node
}

/// Pops and frees everything due at `now`: what was it, and when did the
/// wheel's clock say it fired?
fn fire(wheel: &mut Wheel, now: u64) -> Vec<(u64, u64)> {
    let mut fired = Vec::new();
    while let Some(node) = wheel.pop_due(now) {
        assert_eq!(deadline(node), wheel.now());
        fired.push((seq(node), wheel.now()));
        free(node);
    }
    assert_eq!(wheel.now(), now);
    check(wheel);
    fired
}

/// Walks through all the lists and makes sure that the wheel is what the module
/// documentation says.
fn check(wheel: &Wheel) {
    let mut count = 0;
    for index in 0..LISTS {
        let place = Place(index as u16);
        let bit = wheel.occupied[place.level()] & place.bit() != 0;
        if cfg!(miri) && !bit {
            // Miri is slow, and empty lists are many.
            continue;
        }
        let List {
            head,
            tail,
            unaware,
            behind,
        } = wheel.lists[index];
        assert_eq!(bit, head.is_some());
        assert_eq!(bit, tail.is_some());
        assert!(behind < AHEAD);
        let mut unaware_seen = unaware.is_none();
        let (mut prev, mut cursor) = (None, head);
        while let Some(node) = cursor {
            // SAFETY: as in `seq`.
            let fields = unsafe { node.as_ref() };
            assert_eq!(fields.place.get(), place);
            if place != Place::UNSETTLED {
                assert_eq!(Place::of(fields.deadline(), wheel.now), place);
            }
            assert_eq!(fields.prev.get(), prev);
            unaware_seen |= unaware == Some(node);
            if place == Place::OVERFLOW {
                assert!(wheel.overflow_turn > wheel.now);
                assert!(wheel.overflow_turn <= fields.deadline());
            }
            count += 1;
            (prev, cursor) = (cursor, fields.next.get());
        }
        assert_eq!(tail, prev);
        assert!(
            unaware_seen,
            "the node that gets the next hint is not in the list"
        );
    }
    assert_eq!(wheel.occupied[LEVELS] & !3, 0);
    assert_eq!(wheel.len(), count);
    assert_eq!(wheel.is_empty(), count == 0);
}

/// Inserts one timer at `now` and lets the owner's loop (sleep until
/// `next_tick`, pop) run until it fires, then does it again with a single jump,
/// and once more with a jump that ends one tick short.
#[track_caller]
fn fires_on_time(now: u64, deadline: u64) {
    let mut wheel = Wheel::new(now);
    add(&mut wheel, 0, deadline);
    check(&wheel);
    let mut stops = 0;
    let fired = loop {
        let tick = wheel.next_tick().expect("there is a timer");
        assert!(tick > wheel.now() && tick <= deadline);
        stops += 1;
        let fired = fire(&mut wheel, tick);
        if !fired.is_empty() {
            break fired;
        }
    };
    assert_eq!(fired, [(0, deadline)]);
    assert!(
        stops <= LEVELS + 1,
        "{stops} stops from {now} to {deadline}"
    );
    assert_eq!(wheel.next_tick(), None);

    let mut wheel = Wheel::new(now);
    add(&mut wheel, 0, deadline);
    let late = deadline.saturating_add(1 << 40);
    assert_eq!(fire(&mut wheel, late), [(0, deadline)]);

    let mut wheel = Wheel::new(now);
    add(&mut wheel, 0, deadline);
    assert_eq!(fire(&mut wheel, deadline - 1), []);
    assert_eq!(wheel.next_tick(), Some(deadline));
    assert_eq!(fire(&mut wheel, deadline), [(0, deadline)]);
}

/// The `k`-th power of 64.
const fn power(k: u32) -> u64 {
    1 << (6 * k)
}
