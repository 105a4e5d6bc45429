use super::*;
use crate::sys::FastRand;
use crate::wait::tests::Wakes;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Wake, Waker};

type Boxed<'a> = Pin<Box<Take<'a>>>;

fn poll(take: &mut Boxed<'_>, waker: &Waker) -> Poll<Result<(), Closed>> {
    take.as_mut().poll(&mut Context::from_waker(waker))
}

#[test]
fn the_word_says_whether_somebody_waits() {
    let permits = Permits::new(1);
    let (wakes, waker) = Wakes::new();
    let mut first = Box::pin(permits.take(1));
    assert!(poll(&mut first, &waker).is_ready());
    assert_eq!(permits.word.load(Ordering::Relaxed), 0);
    let mut second = Box::pin(permits.take(1));
    assert!(poll(&mut second, &waker).is_pending());
    assert_eq!(permits.word.load(Ordering::Relaxed), WAITERS);
    permits.give_back_only();
    // Handed over: nothing to be had in between.
    assert_eq!(permits.word.load(Ordering::Relaxed), 0);
    assert_eq!(wakes.take(), 1);
    assert!(poll(&mut second, &waker).is_ready());
    permits.give_back_only();
    assert_eq!(permits.word.load(Ordering::Relaxed), ONE);
}

#[test]
fn a_large_request_gathers_and_is_not_overtaken() {
    let permits = Permits::new(2);
    let (large_wakes, large_waker) = Wakes::new();
    let (small_wakes, small_waker) = Wakes::new();
    let mut large = Box::pin(permits.take(3));
    let mut small = Box::pin(permits.take(1));
    assert!(poll(&mut large, &large_waker).is_pending());
    assert!(poll(&mut small, &small_waker).is_pending());
    assert_eq!(permits.try_take(1), Err(Refusal::TooFew));
    assert_eq!(permits.available(), 0);
    permits.add(1);
    assert_eq!((large_wakes.take(), small_wakes.take()), (1, 0));
    assert!(poll(&mut large, &large_waker).is_ready());
    assert!(poll(&mut small, &small_waker).is_pending());
    permits.give_back(3);
    assert_eq!(small_wakes.take(), 1);
    assert_eq!(permits.available(), 2);
}

#[test]
fn what_a_dropped_waiter_had_gathered_goes_to_the_next() {
    let permits = Permits::new(2);
    let (wakes, waker) = Wakes::new();
    let mut large = Box::pin(permits.take(5));
    let mut small: Vec<_> = (0..3).map(|_| Box::pin(permits.take(1))).collect();
    assert!(poll(&mut large, &waker).is_pending());
    for take in &mut small {
        assert!(poll(take, &waker).is_pending());
    }
    drop(large);
    assert_eq!(wakes.take(), 2);
    assert!(poll(&mut small[0], &waker).is_ready());
    // Granted, never polled.
    drop(small.remove(1));
    assert_eq!(wakes.take(), 1);
    assert!(poll(&mut small[1], &waker).is_ready());
    permits.give_back(2);
    assert_eq!(permits.word.load(Ordering::Relaxed), 2 * ONE);
}

#[test]
fn the_last_waker_is_the_one_that_is_woken() {
    let permits = Permits::new(0);
    let (old_wakes, old) = Wakes::new();
    let (new_wakes, new) = Wakes::new();
    let mut take = Box::pin(permits.take(1));
    assert!(poll(&mut take, &old).is_pending());
    assert!(poll(&mut take, &new).is_pending());
    drop(old);
    assert_eq!(Arc::strong_count(&old_wakes), 1);
    permits.add(1);
    assert_eq!((old_wakes.take(), new_wakes.take()), (0, 1));
    drop((take, new));
    assert_eq!(Arc::strong_count(&new_wakes), 1);
    assert_eq!(permits.available(), 1);
}

#[test]
fn nothing_at_all_can_be_had_past_a_queue() {
    let permits = Permits::new(0);
    let (_, waker) = Wakes::new();
    let mut take = Box::pin(permits.take(1));
    assert!(poll(&mut take, &waker).is_pending());
    assert_eq!(permits.try_take(0), Ok(()));
    assert_eq!(
        poll(&mut Box::pin(permits.take(0)), &waker),
        Poll::Ready(Ok(()))
    );
    permits.close();
    assert_eq!(permits.try_take(0), Err(Refusal::Closed));
}

#[test]
fn closing_returns_what_was_gathered() {
    let permits = Permits::new(2);
    let (wakes, waker) = Wakes::new();
    let mut takes: Vec<_> = (0..100).map(|_| Box::pin(permits.take(3))).collect();
    for take in &mut takes {
        assert!(poll(take, &waker).is_pending());
    }
    // One leaves by itself.
    drop(takes.swap_remove(50));
    permits.close();
    assert_eq!(wakes.take(), 99);
    assert_eq!(permits.word.load(Ordering::Relaxed), (2 * ONE) | CLOSED);
    for mut take in takes {
        assert_eq!(poll(&mut take, &waker), Poll::Ready(Err(Closed)));
    }
    permits.give_back(1);
    assert_eq!(permits.available(), 3);
    assert_eq!(permits.remove(5), 3);
}

#[test]
fn more_waiters_than_a_batch_are_all_served() {
    let permits = Permits::new(0);
    let (wakes, waker) = Wakes::new();
    let mut takes: Vec<_> = (0..100).map(|_| Box::pin(permits.take(1))).collect();
    for take in &mut takes {
        assert!(poll(take, &waker).is_pending());
    }
    permits.add(70);
    assert_eq!(wakes.take(), 70);
    permits.add(40);
    assert_eq!(wakes.take(), 30);
    assert_eq!(permits.word.load(Ordering::Relaxed), 10 * ONE);
    for take in &mut takes {
        assert_eq!(poll(take, &waker), Poll::Ready(Ok(())));
    }
}

struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("a waker that panics");
    }
}

#[test]
fn permits_survive_a_panicking_waker() {
    let permits = Permits::new(0);
    let (wakes, waker) = Wakes::new();
    let bad = Waker::from(Arc::new(Panics));
    let mut takes: Vec<_> = (0..80).map(|_| Box::pin(permits.take(1))).collect();
    for (i, take) in takes.iter_mut().enumerate() {
        let waker = if i == 3 { &bad } else { &waker };
        assert!(poll(take, waker).is_pending());
    }
    let added = catch_unwind(AssertUnwindSafe(|| permits.add(81)));
    assert!(added.is_err());
    assert_eq!(wakes.take(), 79);
    drop(takes);
    assert_eq!(permits.word.load(Ordering::Relaxed), 81 * ONE);
}

/// What the permits must do, written down without any concurrency.
struct Reference {
    free: usize,
    queue: VecDeque<(u64, usize, usize)>,
    granted: Vec<u64>,
    closed: bool,
}

impl Reference {
    fn add(&mut self, n: usize) {
        self.free += n;
        while let Some((id, total, gathered)) = self.queue.front_mut() {
            let given = self.free.min(*total - *gathered);
            self.free -= given;
            *gathered += given;
            if gathered < total {
                return;
            }
            self.granted.push(*id);
            self.queue.pop_front();
        }
    }
}

#[test]
fn random_operations_agree_with_the_reference() {
    let rounds = if cfg!(miri) { 3 } else { 300 };
    for seed in 0..rounds {
        let rng = FastRand::new(seed * 7 + 1);
        let below = |n: u32| rng.below(n) as usize;
        let start = below(6);
        let permits = Permits::new(start);
        let mut reference = Reference {
            free: start,
            queue: VecDeque::new(),
            granted: Vec::new(),
            closed: false,
        };
        let (_, waker) = Wakes::new();
        let mut takes: Vec<(u64, usize, Boxed<'_>)> = Vec::new();
        let mut held = 0;
        let mut next_id = 0;
        for _ in 0..200 {
            match below(100) {
                0..40 => {
                    let n = below(5);
                    let mut take = Box::pin(permits.take(n));
                    let polled = poll(&mut take, &waker);
                    if reference.closed {
                        assert_eq!(polled, Poll::Ready(Err(Closed)));
                    } else if n == 0 || (reference.queue.is_empty() && reference.free >= n) {
                        assert_eq!(polled, Poll::Ready(Ok(())));
                        reference.free -= n;
                        held += n;
                    } else {
                        assert_eq!(polled, Poll::Pending);
                        reference.queue.push_back((next_id, n, 0));
                        reference.add(0);
                        takes.push((next_id, n, take));
                        next_id += 1;
                    }
                }
                40..60 if !takes.is_empty() => {
                    let at = below(takes.len() as u32);
                    let (id, n, take) = &mut takes[at];
                    let granted = reference.granted.iter().position(|g| g == id);
                    match poll(take, &waker) {
                        Poll::Ready(Ok(())) => {
                            assert!(!reference.closed);
                            reference.granted.remove(granted.expect("not its turn"));
                            held += *n;
                            drop(takes.remove(at));
                        }
                        Poll::Ready(Err(Closed)) => {
                            assert!(reference.closed);
                            if let Some(granted) = granted {
                                reference.granted.remove(granted);
                                reference.add(*n);
                            }
                            drop(takes.remove(at));
                        }
                        Poll::Pending => assert!(!reference.closed && granted.is_none()),
                    }
                }
                60..75 if !takes.is_empty() => {
                    let (id, n, take) = takes.remove(below(takes.len() as u32));
                    drop(take);
                    let queued = reference.queue.iter().position(|(q, ..)| *q == id);
                    let granted = reference.granted.iter().position(|g| *g == id);
                    if let Some(at) = queued {
                        let (_, _, gathered) = reference.queue.remove(at).unwrap();
                        reference.add(gathered);
                    } else if let Some(at) = granted {
                        reference.granted.remove(at);
                        reference.add(n);
                    }
                }
                75..92 => {
                    let n = below(held as u32 + 1);
                    held -= n;
                    permits.give_back(n);
                    reference.add(n);
                }
                92..96 => {
                    let n = below(3);
                    permits.add(n);
                    reference.add(n);
                }
                96..98 => {
                    let n = below(3);
                    let want = n.min(reference.free);
                    assert_eq!(permits.remove(n), want);
                    reference.free -= want;
                }
                98 if seed % 3 == 0 => {
                    permits.close();
                    reference.closed = true;
                    for (_, _, gathered) in std::mem::take(&mut reference.queue) {
                        reference.free += gathered;
                    }
                }
                _ => {}
            }
            assert_eq!(permits.available(), reference.free);
            assert_eq!(
                permits.word.load(Ordering::Relaxed) & WAITERS != 0,
                !reference.queue.is_empty()
            );
        }
    }
}
