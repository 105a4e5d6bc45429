use super::*;
use crate::ready::Ready;
use crate::wakers::Wakers;
use std::sync::atomic::AtomicBool;

#[test]
fn a_slot_costs_little_memory() {
    // The whole heap of a registration: its slot, in a page shared with others.
    assert_eq!(size_of::<Slot>(), 64);
}

#[test]
fn places_are_distinct_and_dense() {
    let mut expected = (0, 0);
    for index in 0..10_000 {
        assert_eq!(Slots::place(index), expected, "{index}");
        expected.1 += 1;
        if expected.1 == Page::slots(expected.0) {
            expected = (expected.0 + 1, 0);
        }
    }
    assert_eq!(Slots::place(LIMIT - 1).0, PAGES - 1);
    assert_eq!(Slots::place(LIMIT).0, PAGES);
}

#[test]
fn keys_keep_index_and_generation_apart_and_leave_room_for_tokens() {
    let key = Key::new(LIMIT - 1, u32::MAX);
    assert_eq!(key.index(), LIMIT - 1);
    assert!(key.is_generation(u32::MAX));
    assert!(!key.is_generation(0));
    assert!(key.0 < usize::MAX / 2 + 1);
}

#[test]
fn a_panic_gives_a_slot_back() {
    let slots = Slots::new();
    let (first, _) = slots.take().unwrap();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _place = Place(&slots, first);
        panic!("a source's own trouble");
    }));
    assert!(panicked.is_err());
    let (second, _) = slots.take().unwrap();
    assert_eq!(first.index(), second.index());
}

#[test]
fn slots_are_used_again_in_another_generation() {
    let slots = Slots::new();
    let (first, _) = slots.take().unwrap();
    slots.give_back(first);
    let (second, slot) = slots.take().unwrap();
    assert_eq!(first.index(), second.index());
    assert_ne!(first, second);

    // A late event for the first is a no-op.
    let mut wakers = Wakers::default();
    let (found, is_for) = slots.find(first).unwrap();
    found.set_ready(is_for, Ready::READABLE, &mut wakers);
    // SAFETY: the slab is alive.
    let slot = unsafe { slot.as_ref() };
    assert!(slot.event(Ready::ALL).is_none());
    let (found, is_for) = slots.find(second).unwrap();
    found.set_ready(is_for, Ready::READABLE, &mut wakers);
    assert!(slot.event(Ready::ALL).is_some());
}

#[test]
fn unknown_keys_find_nothing() {
    let slots = Slots::new();
    assert!(slots.find(Key::new(0, 0)).is_none());
    assert!(slots.find(Key::new(LIMIT - 1, 7)).is_none());
}

#[test]
fn a_closed_slab_refuses_and_names_what_it_has() {
    let slots = Slots::new();
    let keys: Vec<_> = (0..200).map(|_| slots.take().unwrap().0).collect();
    assert_eq!(slots.close().count(), 200);
    assert!(slots.is_closed());
    assert!(matches!(slots.take(), Err(Refused::Closed)));
    for key in keys {
        slots.give_back(key);
    }
}

#[test]
fn threads_never_get_the_same_slot() {
    let slots = Slots::new();
    let taken: Vec<AtomicBool> = (0..4 * 64).map(|_| AtomicBool::new(false)).collect();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..500 {
                    let keys: Vec<_> = (0..64).map(|_| slots.take().unwrap().0).collect();
                    for key in &keys {
                        let was = taken[key.index() as usize].swap(true, Ordering::AcqRel);
                        assert!(!was, "{key:?} was taken twice");
                    }
                    for key in keys {
                        taken[key.index() as usize].store(false, Ordering::Release);
                        slots.give_back(key);
                    }
                }
            });
        }
    });
}
