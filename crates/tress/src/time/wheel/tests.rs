use super::{Due, LEVELS, LISTS, List, Node, Place, SLOTS, Wheel};

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
        let List { head, tail } = wheel.lists[index];
        assert_eq!(bit, head.is_some());
        assert_eq!(bit, tail.is_some());
        let (mut prev, mut cursor) = (None, head);
        while let Some(node) = cursor {
            // SAFETY: as in `seq`.
            let fields = unsafe { node.as_ref() };
            assert_eq!(fields.place.get(), place);
            if place != Place::UNSETTLED {
                assert_eq!(Place::of(fields.deadline(), wheel.now), place);
            }
            assert_eq!(fields.prev.get(), prev);
            if place == Place::OVERFLOW {
                assert!(wheel.overflow_turn > wheel.now);
                assert!(wheel.overflow_turn <= fields.deadline());
            }
            count += 1;
            (prev, cursor) = (cursor, fields.next.get());
        }
        assert_eq!(tail, prev);
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

#[test]
fn removal_from_every_position() {
    for victim in 0..4_u64 {
        for deadline in [9, 900, 90_000, power(4), 4 * power(5)] {
            let mut wheel = Wheel::new(0);
            let nodes: Vec<_> = (0..4).map(|seq| add(&mut wheel, seq, deadline)).collect();
            remove(&mut wheel, nodes[victim as usize]);
            check(&wheel);
            let rest: Vec<_> = (0..4)
                .filter(|&seq| seq != victim)
                .map(|seq| (seq, deadline))
                .collect();
            assert_eq!(fire(&mut wheel, deadline), rest);
            free(nodes[victim as usize]);
        }
    }
}

#[test]
fn the_last_removal_clears_the_occupancy_bit() {
    for deadline in [9, 900, 90_000, power(4), 4 * power(5)] {
        let mut wheel = Wheel::new(0);
        let nodes = [add(&mut wheel, 0, deadline), add(&mut wheel, 1, deadline)];
        remove(&mut wheel, nodes[0]);
        assert!(wheel.next_tick().is_some());
        remove(&mut wheel, nodes[1]);
        assert_eq!(wheel.next_tick(), None);
        assert_eq!(wheel.occupied, [0; LEVELS + 1]);
        check(&wheel);
        nodes.into_iter().for_each(free);
    }
}

#[test]
fn due_nodes_can_be_removed_between_pops() {
    let mut wheel = Wheel::new(0);
    let nodes: Vec<_> = (0..5).map(|seq| add(&mut wheel, seq, 5000)).collect();
    assert_eq!(wheel.pop_due(9999), Some(nodes[0]));
    remove(&mut wheel, nodes[4]);
    remove(&mut wheel, nodes[2]);
    assert_eq!(wheel.len(), 2);
    assert_eq!(wheel.pop_due(9999), Some(nodes[1]));
    remove(&mut wheel, nodes[3]);
    assert!(wheel.is_empty());
    assert_eq!(wheel.pop_due(9999), None);
    assert_eq!(wheel.now(), 9999);
    nodes.into_iter().for_each(free);
}

#[test]
fn insertion_between_pops_joins_the_run() {
    let mut wheel = Wheel::new(0);
    add(&mut wheel, 0, 5000);
    add(&mut wheel, 1, 5000);
    add(&mut wheel, 2, 6000);
    free(wheel.pop_due(10_000).unwrap());
    // The clock stands at 5000 as long as there is something due.
    let node = timer(3);
    assert_eq!(insert(&mut wheel, node, 5000), Err(Due));
    assert_eq!(insert(&mut wheel, node, 5001), Ok(()));
    assert_eq!(fire(&mut wheel, 10_000), [(1, 5000), (3, 5001), (2, 6000)]);
}

#[test]
fn unsettled_nodes_wait_for_the_clock() {
    let mut wheel = Wheel::new(100);
    let nodes: Vec<_> = [0, 1, 5, 5, u64::MAX].into_iter().enumerate().collect();
    for &(seq, delay) in &nodes {
        let node = timer(seq as u64);
        // SAFETY: as in `insert`.
        unsafe { wheel.insert_unsettled(node, delay) };
    }
    check(&wheel);
    assert_eq!((wheel.len(), wheel.next_tick()), (5, None));
    assert_eq!(fire(&mut wheel, 5000), []);
    wheel.settle(6000);
    check(&wheel);
    assert!(wheel.next_tick() <= Some(6001));
    assert_eq!(fire(&mut wheel, 6004), [(0, 6001), (1, 6001)]);
    assert_eq!(fire(&mut wheel, 6005), [(2, 6005), (3, 6005)]);
    let never = wheel.pop_any().unwrap();
    assert_eq!(deadline(never), u64::MAX);
    free(never);
    assert!(wheel.is_empty());
}

#[test]
fn settling_does_not_go_back_in_time() {
    let mut wheel = Wheel::new(100);
    let node = timer(0);
    // SAFETY: as in `insert`.
    unsafe { wheel.insert_unsettled(node, 7) };
    wheel.settle(3);
    assert_eq!(fire(&mut wheel, 200), [(0, 107)]);
}

#[test]
fn unsettled_nodes_are_popped_at_the_end_too() {
    let mut wheel = Wheel::new(0);
    let (a, b) = (timer(0), timer(1));
    // SAFETY: as in `insert`.
    unsafe { wheel.insert_unsettled(a, 7) };
    assert_eq!(insert(&mut wheel, b, u64::MAX), Ok(()));
    for node in [a, b] {
        assert_eq!(wheel.pop_any(), Some(node));
        check(&wheel);
        free(node);
    }
    assert_eq!(wheel.pop_any(), None);
}

#[test]
fn pop_any_empties_the_wheel() {
    let mut wheel = Wheel::new(17);
    for (seq, deadline) in (0..).zip([18, 18, 81, 5000, 1 << 22, 1 << 29, 1 << 31, u64::MAX]) {
        add(&mut wheel, seq, deadline);
    }
    free(wheel.pop_due(18).unwrap());
    let mut left = Vec::new();
    while let Some(node) = wheel.pop_any() {
        left.push(seq(node));
        free(node);
        check(&wheel);
    }
    left.sort_unstable();
    assert_eq!(left, [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(wheel.now(), 18);
    assert_eq!(wheel.next_tick(), None);
    assert_eq!(wheel.pop_any(), None);
}

#[test]
#[should_panic(expected = "inserted twice")]
fn double_insertion_is_caught() {
    let node = Node::new();
    let mut wheel = Wheel::new(0);
    for deadline in [5, 6] {
        // SAFETY: the node is the older of the two locals, hence outlives the
        // wheel.
        let _ = unsafe { wheel.insert(NonNull::from(&node), deadline) };
    }
}

#[test]
#[should_panic(expected = "in no wheel")]
fn double_removal_is_caught() {
    let node = Node::new();
    let mut wheel = Wheel::new(0);
    // SAFETY: the node is alive, ours, and in no wheel.
    unsafe { wheel.remove(NonNull::from(&node)) };
}

#[test]
fn node_is_neither_send_nor_sync_nor_unpin() {
    // If the type had the trait, both impls would apply, and the `_` be
    // ambiguous.
    trait Lacks<Marker> {
        fn it() {}
    }
    struct Send_;
    struct Sync_;
    struct Unpin_;
    impl<T> Lacks<()> for T {}
    impl<T: Send> Lacks<Send_> for T {}
    impl<T: Sync> Lacks<Sync_> for T {}
    impl<T: Unpin> Lacks<Unpin_> for T {}
    <Node as Lacks<_>>::it();
}

#[test]
fn sizes() {
    assert!(size_of::<Node>() <= 4 * size_of::<u64>());
    assert!(size_of::<Wheel>() <= 5300);
}

/// The owner's side of the contract, on several threads: nodes inside of shared
/// structs, touched under the lock only, popped one at a time with the lock
/// released in between, while others cancel.
#[test]
fn threads() {
    struct Shared(Node);
    // SAFETY: the node is accessed under the lock of the wheel only.
    unsafe impl Sync for Shared {}
    // SAFETY: a node is plain data; it is linked only while it is borrowed by
    // the threads below.
    unsafe impl Send for Shared {}

    let rounds = if cfg!(miri) { 10 } else { 2000 };
    let wheel = Mutex::new(Wheel::new(0));
    let nodes: Vec<Shared> = (0..3 * 8).map(|_| Shared(Node::new())).collect();
    std::thread::scope(|scope| {
        for mine in nodes.chunks(8) {
            let wheel = &wheel;
            scope.spawn(move || {
                for round in 0..rounds {
                    for (i, shared) in mine.iter().enumerate() {
                        let mut wheel = wheel.lock().unwrap();
                        let deadline = wheel.now() + 1 + (round * 31 + i as u64 * 17) % 200;
                        if !shared.0.is_linked() {
                            // SAFETY: `nodes` is older than the wheel's last
                            // use.
                            unsafe { wheel.insert(NonNull::from(&shared.0), deadline) }.unwrap();
                        }
                    }
                    for shared in mine.iter().step_by(2) {
                        let mut wheel = wheel.lock().unwrap();
                        if shared.0.is_linked() {
                            // SAFETY: there is but one wheel.
                            unsafe { wheel.remove(NonNull::from(&shared.0)) };
                        }
                    }
                }
            });
        }
        scope.spawn(|| {
            for now in 0..10 * rounds {
                loop {
                    let popped = wheel.lock().unwrap().pop_due(now);
                    let Some(node) = popped else { break };
                    let wheel = wheel.lock().unwrap();
                    // SAFETY: `nodes` is alive, and we have the lock.
                    let node = unsafe { node.as_ref() };
                    // Its owner may have inserted it again already.
                    assert!(node.is_linked() || node.deadline() <= wheel.now());
                }
            }
        });
    });
    let mut wheel = wheel.into_inner().unwrap();
    while wheel.pop_any().is_some() {}
    assert!(nodes.iter().all(|shared| !shared.0.is_linked()));
}

/// Marsaglia's xorshift64*.
struct Rng(u64);

impl Rng {
    fn new(seed: u64) -> Rng {
        // Zero would stay zero; and seeds next to each other should not begin
        // alike.
        let mut rng = Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..8 {
            rng.next();
        }
        rng
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Less than `bound`, near enough to evenly.
    fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 16) % bound
    }

    /// A distance with all magnitudes up to `2^bits` equally likely.
    fn magnitude(&mut self, bits: u64) -> u64 {
        let bits = self.below(bits) + 1;
        self.next() >> (64 - bits)
    }
}

/// A wheel next to a sorted map that is obviously right.
struct Sim {
    rng: Rng,
    wheel: Wheel,
    model: BTreeMap<(u64, u64), NonNull<Node>>,
    live: Vec<NonNull<Node>>,
    spare: Vec<NonNull<Node>>,
    seq: u64,
    did: Did,
}

/// What has been tried so far.
#[derive(Default, Debug)]
struct Did {
    operations: u64,
    inserted: u64,
    refused: u64,
    removed: u64,
    popped: u64,
    /// Every occupancy bit ever set.
    occupied: [u64; LEVELS + 1],
}

impl Sim {
    fn new(seed: u64, start: u64) -> Sim {
        Sim {
            rng: Rng::new(seed),
            wheel: Wheel::new(start),
            model: BTreeMap::new(),
            live: Vec::new(),
            spare: Vec::new(),
            seq: 0,
            did: Did::default(),
        }
    }

    /// The start of a slot of a random level that is not far ahead.
    fn boundary(&mut self) -> u64 {
        let k = self.rng.below(6) as u32 + 1;
        let slot = (self.wheel.now() >> (6 * k)) + 1 + self.rng.below(3);
        slot.saturating_mul(power(k))
    }

    fn deadline(&mut self) -> u64 {
        let now = self.wheel.now();
        match self.rng.below(16) {
            0 => now - self.rng.magnitude(40).min(now),
            1..=4 => now.saturating_add(1 + self.rng.below(64)),
            5..=6 => now.saturating_add(self.rng.below(4096)),
            7..=9 => now.saturating_add(self.rng.magnitude(30)),
            10 => now.saturating_add(self.rng.magnitude(36)),
            11 => now.saturating_add(self.rng.magnitude(64)),
            12 => u64::MAX - self.rng.below(3),
            // Right at a boundary, one before, one after.
            13..=14 => (self.boundary() - 1).saturating_add(self.rng.below(3)),
            // One that is taken.
            _ => match self.live.len() as u64 {
                0 => now.saturating_add(1),
                live => deadline(self.live[self.rng.below(live) as usize]),
            },
        }
    }

    fn insert(&mut self) {
        let deadline = self.deadline();
        let node = self.spare.pop().unwrap_or_else(|| timer(0));
        // Half of those in the future take the way through the unsettled list.
        if deadline > self.wheel.now() && self.rng.below(2) == 0 {
            let delay = deadline - self.wheel.now();
            // SAFETY: as in the function `insert`.
            unsafe { self.wheel.insert_unsettled(node, delay) };
            assert!(self.wheel.has_unsettled());
            if self.rng.below(8) == 0 {
                remove(&mut self.wheel, node);
                self.spare.push(node);
                assert!(!self.wheel.has_unsettled());
                return;
            }
            self.wheel.settle(self.wheel.now());
            assert!(!self.wheel.has_unsettled());
            self.inserted(node, deadline);
            return;
        }
        let result = insert(&mut self.wheel, node, deadline);
        if deadline <= self.wheel.now() {
            assert_eq!(result, Err(Due));
            self.did.refused += 1;
            self.spare.push(node);
            return;
        }
        assert_eq!(result, Ok(()));
        self.inserted(node, deadline);
    }

    fn inserted(&mut self, node: NonNull<Node>, deadline: u64) {
        self.seq += 1;
        // SAFETY: `seq` and `at` belong to this test alone. There is no
        // reference to the timer, and none to its node but inside of the
        // wheel's functions.
        unsafe {
            let timer = node.cast::<Timer>().as_ptr();
            (*timer).seq = self.seq;
            (*timer).at = self.live.len();
        }
        self.live.push(node);
        self.model.insert((deadline, self.seq), node);
        self.did.inserted += 1;
    }

    /// Forgets a node that has left the wheel.
    fn gone(&mut self, node: NonNull<Node>) {
        assert!(!is_linked(node));
        assert_eq!(self.model.remove(&(deadline(node), seq(node))), Some(node));
        // SAFETY: as in `insert`.
        let at = unsafe { (*node.cast::<Timer>().as_ptr()).at };
        assert_eq!(self.live.swap_remove(at), node);
        if let Some(moved) = self.live.get(at) {
            // SAFETY: as in `insert`.
            unsafe { (*moved.cast::<Timer>().as_ptr()).at = at };
        }
        self.spare.push(node);
    }

    fn remove(&mut self) {
        if self.live.is_empty() {
            return;
        }
        let victim = match self.rng.below(4) {
            // The next to fire, which is often due already.
            0 => *self.model.values().next().unwrap(),
            _ => self.live[self.rng.below(self.live.len() as u64) as usize],
        };
        remove(&mut self.wheel, victim);
        self.gone(victim);
        self.did.removed += 1;
    }

    /// Pops at `now` until there is nothing left, or `limit` nodes.
    fn pop(&mut self, now: u64, limit: u64) {
        let target = now.max(self.wheel.now());
        for _ in 0..limit {
            let expected = self
                .model
                .first_key_value()
                .map(|(&key, &node)| (key, node));
            let popped = self.wheel.pop_due(now);
            match expected {
                Some(((deadline, _), node)) if deadline <= target => {
                    assert_eq!(popped, Some(node));
                    assert_eq!(self.wheel.now(), deadline);
                    self.gone(node);
                    self.did.popped += 1;
                    self.check();
                }
                _ => {
                    assert_eq!(popped, None);
                    assert_eq!(self.wheel.now(), target);
                    self.check();
                    break;
                }
            }
        }
    }

    fn advance(&mut self) {
        let now = self.wheel.now();
        let to = match self.rng.below(32) {
            0 => now - self.rng.magnitude(40).min(now),
            1..=3 => now,
            4..=12 => now.saturating_add(1),
            13..=18 => now.saturating_add(self.rng.below(100)),
            19..=22 => now.saturating_add(self.rng.magnitude(16)),
            23 => now.saturating_add(self.rng.magnitude(30)),
            24 if self.rng.below(16) == 0 => now.saturating_add(self.rng.magnitude(40)),
            25..=26 => (self.boundary() - 1).saturating_add(self.rng.below(3)),
            // Not to the stops at the end of time too soon.
            27..=29 => self
                .wheel
                .next_tick()
                .unwrap_or(0)
                .min(now.saturating_add(power(6))),
            _ => now.saturating_add(self.rng.below(10)),
        };
        let limit = match self.rng.below(2) {
            0 => u64::MAX,
            _ => self.rng.below(5),
        };
        self.pop(to, limit);
    }

    /// What can be checked at any time and cheaply.
    fn check(&self) {
        assert_eq!(self.wheel.len(), self.model.len());
        assert_eq!(self.wheel.is_empty(), self.model.is_empty());
        let earliest = self
            .model
            .first_key_value()
            .map(|(&(deadline, _), _)| deadline);
        match (self.wheel.next_tick(), earliest) {
            (None, None) => {}
            (Some(tick), Some(earliest)) => {
                assert!(tick <= earliest);
                if earliest <= self.wheel.now() {
                    assert_eq!(tick, self.wheel.now());
                } else {
                    assert!(tick > self.wheel.now());
                }
            }
            (tick, earliest) => panic!("next tick {tick:?}, but earliest deadline {earliest:?}"),
        }
    }

    fn run(&mut self, operations: u64) {
        // Some runs keep the wheel nearly empty, others let it fill up.
        let removals = 12 + self.rng.below(16);
        let mut at_the_end = 0;
        for operation in 0..operations {
            match self.rng.below(64) {
                0..32 => self.insert(),
                n if n < 32 + removals => self.remove(),
                _ => self.advance(),
            }
            self.check();
            if operation % 256 == 0 {
                check(&self.wheel);
            }
            self.did.operations += 1;
            for (did, now) in self.did.occupied.iter_mut().zip(self.wheel.occupied) {
                *did |= now;
            }
            // Where time ends, there is not much left to try.
            at_the_end += u64::from(self.wheel.now() == u64::MAX);
            if at_the_end > 50 {
                break;
            }
        }
        check(&self.wheel);
        if self.rng.below(2) == 0 {
            self.pop(u64::MAX, u64::MAX);
        } else {
            while let Some(node) = self.wheel.pop_any() {
                self.gone(node);
                self.check();
            }
        }
        assert!(self.model.is_empty());
        assert!(self.live.is_empty());
        check(&self.wheel);
        self.spare.drain(..).for_each(free);
    }
}

/// Says how to repeat a failure.
struct Blame(String);

impl Drop for Blame {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.0);
        }
    }
}

#[test]
fn agrees_with_a_sorted_map() {
    let seed: u64 = std::env::var("TRESS_SEED")
        .map(|seed| seed.parse().expect("TRESS_SEED is a decimal number"))
        .unwrap_or(0x7e55);
    let (goal, at_most) = if cfg!(miri) {
        (1200, 200)
    } else {
        (2_000_000, 10_000)
    };
    let _blame = Blame(format!("repeat with TRESS_SEED={seed}"));
    let mut did = Did::default();
    for run in 0_u64.. {
        if did.operations >= goal {
            break;
        }
        let _blame = Blame(format!("in run {run}, after {did:?}"));
        let start = match run % 7 {
            0 => 0,
            1 => 63,
            2 => power(5) - 1000,
            3 => 17 * power(5) + 12_345,
            4 => u64::MAX / 2,
            // Runs into the end of time.
            5 => u64::MAX - power(5),
            _ => u64::MAX - 100_000,
        };
        let mut sim = Sim::new(seed ^ (run << 32), start);
        sim.run(at_most);
        did.operations += sim.did.operations;
        did.inserted += sim.did.inserted;
        did.refused += sim.did.refused;
        did.removed += sim.did.removed;
        did.popped += sim.did.popped;
        for (all, one) in did.occupied.iter_mut().zip(sim.did.occupied) {
            *all |= one;
        }
    }
    println!("{did:?}");
    // A test that no longer tries anything agrees with everything.
    assert!(did.inserted > goal / 3 && did.refused > goal / 100);
    assert!(did.removed > goal / 10 && did.popped > goal / 20);
    if !cfg!(miri) {
        // Digits above 0 are greater than the clock's: only level 0 has a use for slot 0.
        let above = u64::MAX - 1;
        assert_eq!(did.occupied, [u64::MAX, above, above, above, above, 1]);
    }
}
