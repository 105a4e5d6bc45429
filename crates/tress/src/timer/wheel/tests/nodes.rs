//! Nodes that are removed, popped and inserted in the middle of things, and what their owners may do.

use super::*;

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
    assert!(size_of::<Wheel>() <= 128);
    assert!(size_of::<[List; LISTS]>() <= 10_400);
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
                    let mut wheel = wheel.lock().unwrap();
                    let Some(node) = wheel.pop_due(now) else {
                        break;
                    };
                    // Under the same lock: its owner may insert it again as soon
                    // as that is released.
                    // SAFETY: `nodes` is alive, and we have the lock.
                    let node = unsafe { node.as_ref() };
                    assert!(!node.is_linked() && node.deadline() <= wheel.now());
                }
            }
        });
    });
    let mut wheel = wheel.into_inner().unwrap();
    while wheel.pop_any().is_some() {}
    assert!(nodes.iter().all(|shared| !shared.0.is_linked()));
}
