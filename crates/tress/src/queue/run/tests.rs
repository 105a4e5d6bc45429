use super::{LONG, RUN_BYTES, allocate, blocks_for, give_back, join, split};
use crate::queue::block::{Block, SLOTS};

/// Returns the number of messages in `count` full blocks.
fn blocks(count: u64) -> u64 {
    count * SLOTS as u64
}

#[test]
fn short_channels_get_blocks_one_by_one() {
    assert_eq!(blocks_for::<u64>(0), 1);
    assert_eq!(blocks_for::<u64>(blocks(LONG) - 1), 1);
    let twice = 2 * LONG as usize;
    assert_eq!(blocks_for::<u64>(blocks(LONG)), twice);
    assert_eq!(blocks_for::<u64>(blocks(LONG + 1) - 1), twice);
    assert_eq!(blocks_for::<u64>(blocks(LONG + 1)), twice + 2);
}

#[test]
fn runs_have_a_bound() {
    fn most<T>() -> usize {
        blocks_for::<T>(u64::MAX >> 29)
    }
    assert_eq!(most::<u64>(), RUN_BYTES / size_of::<Block<u64>>());
    assert_eq!(most::<()>(), RUN_BYTES / size_of::<Block<()>>());
    // The largest messages of which two blocks fit, and the next larger ones.
    assert_eq!(most::<[u64; 2046]>(), 2);
    assert_eq!(most::<[u64; 2048]>(), 1);
    assert_eq!(most::<[u8; 1 << 20]>(), 1);
}

#[repr(align(128))]
struct Aligned;

/// Takes a run apart, and gives the blocks back in the order of `order`. Blocks that it leaves out are given
/// back unused, with the last one before them.
fn apart<T>(length: usize, order: &[usize]) {
    let mut run = vec![allocate::<T>(length)];
    while run.len() < order.len() {
        // SAFETY: ours, and not in use.
        let rest = unsafe { split(run[run.len() - 1]) };
        run.push(rest.expect("some are left"));
    }
    for (index, block) in run.iter().enumerate() {
        assert!(block.is_aligned());
        assert_eq!(block.as_ptr(), run[0].as_ptr().wrapping_add(index));
        // SAFETY: ours.
        let block = unsafe { block.as_ref() };
        assert_eq!(usize::from(block.place()), index + 1);
        assert!(block.is_in_run() && block.next().is_null());
    }
    for &index in order {
        // SAFETY: ours, and given back once.
        unsafe { Block::free(run[index]) };
    }
}

#[test]
fn a_run_is_freed_with_its_last_block() {
    // Miri checks that it is, and not before.
    for order in [&[0][..], &[0, 1], &[1, 0], &[2, 0, 3, 1], &[3, 2, 1, 0]] {
        apart::<()>(4, order);
        apart::<u8>(4, order);
        apart::<u64>(4, order);
        apart::<[u8; 1000]>(4, order);
        apart::<Aligned>(4, order);
    }
}

#[test]
fn the_last_block_has_none_behind_it() {
    let first = allocate::<u64>(2);
    // SAFETY: both are ours, and given back once.
    unsafe {
        let last = split(first).unwrap();
        assert!(split(first).is_none());
        assert!(split(last).is_none());
        give_back(first, 1, 0);
        give_back(last, 2, 0);
    }
}

#[test]
fn only_what_was_behind_a_block_is_joined_to_it() {
    let (one, other) = (allocate::<u64>(3), allocate::<u64>(3));
    let alone = Block::<u64>::allocate();
    // SAFETY: all are ours, not in use, and given back once.
    unsafe {
        let rest = split(one).unwrap();
        assert_eq!(join(one, alone), Err(alone));
        assert_eq!(join(one, other), Err(other));
        assert_eq!(join(one, rest), Ok(()));
        let second = split(one).unwrap();
        let third = split(second).unwrap();
        assert_eq!(join(one, third), Err(third));
        assert_eq!(join(second, third), Ok(()));
        for block in [one, second, other, alone] {
            Block::free(block);
        }
    }
}
