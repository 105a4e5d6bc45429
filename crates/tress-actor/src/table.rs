//! The slots of a host's processes, found by number.
//!
//! Slots come in blocks that are never freed while the host lives, so finding one takes three loads and no
//! store. A thread takes a slot from the free list of its shard, then from another shard's, and only then a new
//! one: the table grows no larger than it has to, up to a block of numbers per shard.

use crate::slot::Slot;
use crate::sys::atomic::Ordering;
use crate::sys::plain::{AtomicU32, AtomicUsize};
use crate::sys::{CachePadded, Mutex};
use std::fmt;
use std::sync::OnceLock;

/// Number of slots in a block, of blocks in a row, and of rows; a power of two.
const FAN: usize = 1024;
/// Number of shards.
const SHARDS: usize = 16;
/// Number of new slots that a shard takes at a time.
const GRANT: u32 = 64;

type Block = Box<[Slot]>;
type Row = Box<[OnceLock<Block>]>;

/// Maximum number of processes that a host can have at a time. It drops by one for each slot that has had 2³² −
/// 1 processes, which is not used again.
pub const MAX_PROCESSES: usize = FAN * FAN * FAN;

pub(crate) struct Table {
    rows: Box<[OnceLock<Row>]>,
    /// Numbers below this one have been granted to shards.
    granted: AtomicU32,
    shards: Box<[CachePadded<Mutex<Shard>>]>,
}

#[derive(Default)]
struct Shard {
    free: Vec<u32>,
    /// Numbers that have never been used.
    fresh: std::ops::Range<u32>,
    /// Slots taken minus slots given back by threads of this shard; the sum over all shards is the number of
    /// live processes.
    alive: isize,
}

fn blank<T>() -> Box<[OnceLock<T>]> {
    (0..FAN).map(|_| OnceLock::new()).collect()
}

/// The shard of this thread.
fn home() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static HOME: usize = NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS;
    }
    // A thread that exits may still drop a process.
    HOME.try_with(|home| *home).unwrap_or(0)
}

impl Table {
    pub(crate) fn new() -> Table {
        Table {
            rows: blank(),
            granted: AtomicU32::new(0),
            shards: (0..SHARDS).map(|_| CachePadded::default()).collect(),
        }
    }

    /// Returns the slot of a number, if there is one.
    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<&Slot> {
        let index = index as usize;
        let row = self.rows.get(index / (FAN * FAN))?.get()?;
        let block = row[index / FAN % FAN].get()?;
        Some(&block[index % FAN])
    }

    /// Returns the slot of a number that was taken.
    #[inline]
    pub(crate) fn slot(&self, index: u32) -> &Slot {
        self.get(index).expect("the place was taken")
    }

    /// Takes a slot; `None` if all that there can be are taken.
    pub(crate) fn take(&self) -> Option<u32> {
        let home = home();
        let mut shard = self.shards[home].lock();
        let index = match shard.free.pop() {
            Some(index) => index,
            None => match shard.fresh.next() {
                Some(index) => index,
                None => {
                    drop(shard);
                    let stolen = self.steal(home);
                    shard = self.shards[home].lock();
                    match stolen {
                        Some(index) => index,
                        None => self.grant(&mut shard)?,
                    }
                }
            },
        };
        shard.alive += 1;
        drop(shard);
        self.ensure(index);
        Some(index)
    }

    /// Takes half of what another shard has given back.
    fn steal(&self, home: usize) -> Option<u32> {
        for other in (1..SHARDS).map(|step| (home + step) % SHARDS) {
            let Some(mut victim) = self.shards[other].try_lock() else {
                continue;
            };
            let keep = victim.free.len() / 2;
            let mut stolen = victim.free.split_off(keep);
            drop(victim);
            if let Some(index) = stolen.pop() {
                self.shards[home].lock().free.append(&mut stolen);
                return Some(index);
            }
        }
        None
    }

    fn grant(&self, shard: &mut Shard) -> Option<u32> {
        let granted = |n: u32| ((n as usize) < MAX_PROCESSES).then_some(n + GRANT);
        let first = self
            .granted
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, granted)
            .ok()?;
        shard.fresh = first + 1..first + GRANT;
        Some(first)
    }

    fn ensure(&self, index: u32) {
        let index = index as usize;
        let row = self.rows[index / (FAN * FAN)].get_or_init(blank);
        row[index / FAN % FAN].get_or_init(|| (0..FAN).map(|_| Slot::new()).collect());
    }

    /// Gives a slot back. One that is used up is never taken again: the next process of its number would have
    /// the PID of the first.
    pub(crate) fn give_back(&self, index: u32) {
        let used_up = self.slot(index).is_used_up();
        let mut shard = self.shards[home()].lock();
        if !used_up {
            shard.free.push(index);
        }
        shard.alive -= 1;
    }

    /// Number of slots that are taken. Exact if no thread takes or gives back meanwhile.
    pub(crate) fn alive(&self) -> usize {
        let sum: isize = self.shards.iter().map(|shard| shard.lock().alive).sum();
        usize::try_from(sum).unwrap_or(0)
    }

    /// The slots that have ever been taken, with their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Slot)> {
        let granted = self.granted.load(Ordering::Relaxed);
        (0..granted).filter_map(|index| Some((index, self.get(index)?)))
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("alive", &self.alive())
            .field("granted", &self.granted)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::sync::Barrier;

    #[test]
    fn a_place_has_one_owner_at_a_time_and_is_used_again() {
        let table = Table::new();
        assert!(table.get(0).is_none() && table.get(u32::MAX).is_none());
        let first: HashSet<u32> = (0..2000).map(|_| table.take().unwrap()).collect();
        assert_eq!((first.len(), table.alive()), (2000, 2000));
        for &index in &first {
            table.give_back(index);
        }
        assert_eq!(table.alive(), 0);
        let again: HashSet<u32> = (0..2000).map(|_| table.take().unwrap()).collect();
        assert_eq!(first, again);
    }

    #[test]
    fn a_place_that_is_used_up_is_not_taken_again() {
        let table = Table::new();
        let first = table.take().unwrap();
        table.slot(first).skip_to(u32::MAX - 1);
        let capacity = crate::Capacity::default();
        for generation in [u32::MAX - 1, u32::MAX] {
            let slot = table.slot(first);
            assert_eq!(slot.open(capacity, false).get(), generation);
            slot.complete().settle();
            assert!(!slot.is_alive(generation) && !slot.is_alive(0) && !slot.is_alive(1));
            table.give_back(first);
            let next = table.take().unwrap();
            assert_eq!(next == first, generation != u32::MAX);
        }
        assert_eq!(table.alive(), 1);
    }

    #[test]
    fn what_one_thread_gives_back_another_takes() {
        let table = Table::new();
        let barrier = Barrier::new(2);
        std::thread::scope(|scope| {
            let (send, receive) = std::sync::mpsc::channel();
            let (table, barrier) = (&table, &barrier);
            scope.spawn(move || {
                for _ in 0..100 {
                    for _ in 0..GRANT {
                        send.send(table.take().unwrap()).unwrap();
                    }
                    barrier.wait();
                    barrier.wait();
                }
            });
            for _ in 0..100 {
                barrier.wait();
                for index in receive.try_iter() {
                    table.give_back(index);
                }
                barrier.wait();
            }
        });
        let granted = table.granted.load(Ordering::Relaxed);
        assert!(
            granted <= 8 * GRANT,
            "{granted} numbers for {GRANT} places at a time"
        );
        assert_eq!(table.alive(), 0);
    }
}
