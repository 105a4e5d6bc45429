//! What the channels allocate, and that they give it back.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use tress::sync::{broadcast, mpsc, oneshot, watch};

struct Counting;

thread_local! {
    /// Allocations that are alive, and their bytes; per thread, since tests run side by side.
    static ALIVE: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

fn count(blocks: isize, bytes: isize) {
    let _ = ALIVE.try_with(|alive| {
        let (b, s) = alive.get();
        alive.set((b + blocks, s + bytes));
    });
}

// SAFETY: the system allocator, with counters beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as isize);
        // SAFETY: as promised to us.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-1, -(layout.size() as isize));
        // SAFETY: as promised to us.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn alive() -> (isize, isize) {
    ALIVE.with(Cell::get)
}

/// Blocks and bytes that `f` leaves behind.
fn left_by(f: impl FnOnce()) -> (isize, isize) {
    let before = alive();
    f();
    let after = alive();
    (after.0 - before.0, after.1 - before.1)
}

/// Runs `f` on a thread that keeps nothing yet.
fn on_a_fresh_thread(f: fn()) {
    std::thread::spawn(f).join().unwrap();
}

#[test]
fn oneshot_is_one_allocation_and_leaves_nothing() {
    on_a_fresh_thread(|| {
        let before = alive();
        let (tx, rx) = oneshot::channel::<u64>();
        assert_eq!(alive().0 - before.0, 1);
        drop((tx, rx));
    });
    type End = fn(oneshot::Sender<Box<u8>>, oneshot::Receiver<Box<u8>>);
    let ends: [End; 5] = [
        |tx, rx| drop((tx, rx)),
        |tx, rx| drop((rx, tx)),
        |tx, rx| drop((tx.send(Box::new(1)), rx)),
        |tx, mut rx| drop((tx.send(Box::new(1)), rx.try_recv())),
        |tx, mut rx| {
            rx.close();
            drop((tx.send(Box::new(1)), rx));
        },
    ];
    // The piece that the thread keeps is there before the first look.
    drop(oneshot::channel::<u64>());
    for end in ends {
        let left = left_by(|| {
            let (tx, rx) = oneshot::channel();
            end(tx, rx);
        });
        assert_eq!(left, (0, 0));
    }
}

/// What a thread keeps for the next channels has a bound, and is used.
#[test]
fn a_thread_keeps_the_memory_of_few_oneshots() {
    on_a_fresh_thread(|| {
        let (kept, _) = left_by(|| {
            let many: Vec<_> = (0..1_000).map(|_| oneshot::channel::<u64>()).collect();
            drop(many);
        });
        assert!((0..=32).contains(&kept), "{kept} are kept");
        let mut few = Vec::with_capacity(32);
        let before = alive();
        few.extend((0..kept).map(|_| oneshot::channel::<u64>()));
        assert_eq!(alive(), before);
        drop(few);
        // Values that are too large for a kept piece come and go with the channel.
        let left = left_by(|| drop(oneshot::channel::<[u64; 100]>()));
        assert_eq!(left, (0, 0));
    });
}

#[test]
fn a_drained_channel_gives_its_memory_back() {
    let left = left_by(|| {
        let (tx, mut rx) = mpsc::unbounded_channel();
        let (_, empty) = alive();
        for number in 0..100_000u64 {
            tx.send(number).unwrap();
        }
        let (_, full) = alive();
        assert!(full - empty >= 100_000 * 8);
        while rx.try_recv().is_ok() {}
        let (_, drained) = alive();
        assert!(
            drained - empty < 2_000,
            "{} bytes are kept",
            drained - empty
        );
    });
    assert_eq!(left, (0, 0));
}

/// Long ones get their memory in large pieces, which idle ones do not keep; whoever finds out that it is
/// idle.
#[test]
fn an_idle_channel_is_small_however_long_it_was() {
    for length in [2_047, 2_048, 2_049, 10_000, 100_000] {
        let left = left_by(|| {
            let (tx, mut rx) = mpsc::channel(200_000);
            let (_, empty) = alive();
            for round in 0..3 {
                for number in 0..length {
                    tx.try_send(number).unwrap();
                }
                let permit = tx.try_reserve().unwrap();
                for number in 0..length {
                    assert_eq!(rx.try_recv(), Ok(number));
                }
                // As long as a place is promised it may be otherwise.
                assert!(rx.try_recv().is_err());
                drop(permit);
                if round == 1 {
                    let mut recv = std::pin::pin!(rx.recv());
                    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
                    assert!(recv.as_mut().poll(&mut cx).is_pending());
                } else {
                    assert!(rx.try_recv().is_err());
                }
                let (_, idle) = alive();
                assert!(idle - empty < 2_000, "{} bytes are kept", idle - empty);
                assert_eq!(tx.capacity(), 200_000);
            }
        });
        assert_eq!(left, (0, 0));
    }
}

/// A short channel takes no more than the blocks of its messages.
#[test]
fn a_channel_takes_little_more_than_its_messages() {
    let (tx, rx) = mpsc::unbounded_channel();
    let (_, empty) = alive();
    for number in 0..2_048u64 {
        tx.send(number).unwrap();
    }
    let (_, short) = alive();
    assert!(short - empty < 2_048 * 10);
    for number in 2_048..1_000_000u64 {
        tx.send(number).unwrap();
    }
    let (_, long) = alive();
    assert!(long - empty < 1_000_000 * 10 + (1 << 20));
    drop((tx, rx));
}

#[test]
fn a_busy_channel_does_not_allocate_for_ever() {
    let (tx, mut rx) = mpsc::channel(100);
    let mut peak = 0;
    for round in 0..10_000u64 {
        for number in 0..50 {
            tx.try_send(round + number).unwrap();
        }
        for _ in 0..50 {
            rx.try_recv().unwrap();
        }
        if round == 10 {
            peak = alive().1;
        }
    }
    assert!(alive().1 <= peak + 1_000);
}

#[test]
fn every_end_leaves_nothing() {
    for messages in [0, 1, 31, 32, 33, 100] {
        for receiver_first in [true, false] {
            let left = left_by(|| {
                let (tx, mut rx) = mpsc::channel(200);
                for number in 0..messages {
                    tx.try_send(Box::new(number)).unwrap();
                }
                for _ in 0..messages / 2 {
                    rx.try_recv().unwrap();
                }
                let weak = tx.downgrade();
                if receiver_first {
                    drop(rx);
                    drop(tx);
                } else {
                    drop(tx);
                    drop(rx);
                }
                drop(weak);
            });
            assert_eq!(left, (0, 0), "{messages} messages");
        }
        let left = left_by(|| {
            let (tx, mut rx) = broadcast::channel(16);
            let other = tx.subscribe();
            for number in 0..messages {
                tx.send(Box::new(number)).unwrap();
            }
            let _ = rx.try_recv();
            drop(tx);
            drop(other);
            drop(rx);
        });
        assert_eq!(left, (0, 0), "{messages} messages, broadcast");
    }
    let left = left_by(|| {
        let (tx, rx) = watch::channel(Box::new(0));
        tx.send(Box::new(1)).unwrap();
        drop((tx, rx));
    });
    assert_eq!(left, (0, 0));
}
