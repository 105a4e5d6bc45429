//! Loom models of a pool: buffers that come back against receives that wait for one. The kernel's part, to
//! take the next buffer from the ring, is played by `fill`.

use super::*;
use loom::sync::atomic::{AtomicBool, AtomicUsize};
use loom::sync::{Arc as LoomArc, Mutex as LoomMutex};
use loom::thread;
use std::future::poll_fn;

/// `IORING_CQE_F_BUFFER`, and where the buffer's number begins.
const HAS_BUFFER: u32 = 1;
const NUMBER: u32 = 16;

fn pool(count: u16) -> Pool {
    let memory = Shared::allocate(count, 8).unwrap();
    Pool(Arc::new(Shared::new(Weak::new(), 0, count, 8, memory)))
}

/// The kernel: where it is in the ring.
struct Kernel(LoomMutex<u16>);

impl Kernel {
    fn new() -> Kernel {
        Kernel(LoomMutex::new(0))
    }

    /// Takes the next buffer, if there is one, and says so by a result.
    fn fill(&self, pool: &Pool) -> Option<PoolBuffer> {
        let mut head = self.0.lock().unwrap();
        let entries = pool.0.memory.as_ptr().cast::<BufRingEntry>();
        // SAFETY: as in `give_back`.
        let tail = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(entries).cast_mut()) };
        if *head == tail.load(Ordering::Acquire) {
            return None;
        }
        // SAFETY: within the ring, and before the tail, where nothing writes.
        let entry = unsafe { &*entries.add(usize::from(*head & (pool.0.count - 1))) };
        *head = head.wrapping_add(1);
        // SAFETY: a buffer in the ring is the kernel's to write to.
        unsafe { pool.0.buffer(entry.bid()).write_bytes(7, 8) };
        // SAFETY: the kernel is us, and the buffer was in the ring.
        unsafe { pool.take(8, HAS_BUFFER | u32::from(entry.bid()) << NUMBER) }
    }
}

fn id(buffer: &PoolBuffer) -> u16 {
    match &buffer.0 {
        Memory::Pool(taken) => taken.id,
        Memory::Own(_) => unreachable!("nobody copies here"),
    }
}

/// Two receives find the pool empty, and a thread has its only buffer: each gets it once, in whatever order. (A
/// lost wake-up would hang here.)
#[test]
fn model_a_buffer_that_comes_back_is_had_by_who_waits() {
    loom::model(|| {
        let shared = LoomArc::new((pool(1), Kernel::new(), AtomicUsize::new(0)));
        let buffer = shared.1.fill(&shared.0).unwrap();
        assert_eq!(shared.0.available(), 0);
        let waiters: Vec<_> = (1..=2)
            .map(|who| {
                let shared = shared.clone();
                thread::spawn(move || {
                    let (pool, kernel, had) = &*shared;
                    loop {
                        loom::future::block_on(poll_fn(|cx| pool.poll_available(who, cx)));
                        // The other one may have been faster: then the kernel says ENOBUFS, as at first.
                        if let Some(buffer) = kernel.fill(pool) {
                            had.fetch_add(1, Ordering::Relaxed);
                            drop(buffer);
                            return;
                        }
                        thread::yield_now();
                    }
                })
            })
            .collect();
        drop(buffer);
        for waiter in waiters {
            waiter.join().unwrap();
        }
        assert_eq!(shared.2.load(Ordering::Relaxed), 2);
        assert_eq!(shared.0.available(), 1);
        assert!(shared.0.0.state.lock().starving.is_empty());
    });
}

/// Buffers come back on two threads at once: all are in the ring again, each once.
#[test]
fn model_buffers_come_back_from_everywhere() {
    loom::model(|| {
        let (pool, kernel) = (pool(2), Kernel::new());
        let buffers: Vec<_> = (0..2).map(|_| kernel.fill(&pool).unwrap()).collect();
        assert!(kernel.fill(&pool).is_none());
        let threads: Vec<_> = buffers
            .into_iter()
            .map(|buffer| thread::spawn(move || drop(buffer)))
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(pool.available(), 2);
        let mut ids = [
            id(&kernel.fill(&pool).unwrap()),
            id(&kernel.fill(&pool).unwrap()),
        ];
        ids.sort_unstable();
        assert_eq!(ids, [0, 1]);
    });
}

/// A receive that leaves is not kept, whether the buffer comes back before, after or meanwhile.
#[test]
fn model_leaving_beside_a_buffer_that_comes_back() {
    loom::model(|| {
        let (pool, kernel) = (pool(1), Kernel::new());
        let buffer = kernel.fill(&pool).unwrap();
        let mut cx = Context::from_waker(Waker::noop());
        assert!(pool.poll_available(1, &mut cx).is_pending());
        let other = thread::spawn(move || drop(buffer));
        pool.leave(1);
        other.join().unwrap();
        assert!(pool.0.state.lock().starving.is_empty());
        assert_eq!(pool.available(), 1);
    });
}

/// The ring closes while a receive finds the pool dry: the receive sees that, or is woken and sees it then.
#[test]
fn model_closing_beside_one_who_starves() {
    loom::model(|| {
        let shared = LoomArc::new((pool(1), Kernel::new(), AtomicBool::new(false)));
        // Never given back.
        let buffer = shared.1.fill(&shared.0).unwrap();
        let closer = {
            let shared = shared.clone();
            thread::spawn(move || {
                shared.2.store(true, Ordering::Release);
                let mut wakers = Wakers::default();
                wakers.extend(shared.0.0.starving());
                wakers.wake_all();
            })
        };
        let (pool, _, closed) = &*shared;
        loom::future::block_on(poll_fn(|cx| {
            assert!(pool.poll_available(1, cx).is_pending());
            // Looked at after the waker is where closing finds it.
            match closed.load(Ordering::Acquire) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        }));
        closer.join().unwrap();
        drop(buffer);
    });
}

/// One that receives and does not read.
#[derive(Default)]
struct Stalled(crate::sys::Mutex<Option<PoolBuffer>>);

impl Stalled {
    /// A result, as it comes off the ring.
    fn receive(&self, pool: &Pool, kernel: &Kernel) {
        let mut unread = self.0.lock();
        *unread = kernel.fill(pool);
    }
}

impl Unread for Stalled {
    fn copy_out(&self) {
        let mut unread = self.0.lock();
        let old = unread.as_ref().and_then(PoolBuffer::copied);
        let old = old.and_then(|copy| unread.replace(copy));
        drop(unread);
        drop(old);
    }
}

/// A receive that is not read takes the only buffer, and two others need one: both get it, whenever it is taken
/// and whichever of them has it copied. (Else it would hang here.)
#[test]
fn model_a_buffer_that_nobody_fetches_is_had_by_who_waits() {
    loom::model(|| {
        let shared = LoomArc::new((pool(1), Kernel::new()));
        let stalled = Arc::new(Stalled::default());
        let member: Weak<dyn Unread> = {
            let weak: Weak<Stalled> = Arc::downgrade(&stalled);
            weak
        };
        shared.0.join(3, member);
        let waiters: Vec<_> = (1..=2)
            .map(|who| {
                let shared = shared.clone();
                thread::spawn(move || {
                    let (pool, kernel) = &*shared;
                    loop {
                        loom::future::block_on(poll_fn(|cx| pool.poll_available(who, cx)));
                        if let Some(buffer) = kernel.fill(pool) {
                            drop(buffer);
                            return;
                        }
                        thread::yield_now();
                    }
                })
            })
            .collect();
        stalled.receive(&shared.0, &shared.1);
        for waiter in waiters {
            waiter.join().unwrap();
        }
        shared.0.leave(3);
    });
}
