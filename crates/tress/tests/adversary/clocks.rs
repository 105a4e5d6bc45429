//! Timers, shields and what differs from Tokio.

mod shields;

use crate::child;
use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};
use tress::runtime::{Builder, Runtime};
use tress::sync::Semaphore;
use tress::task;
use tress::time::{self, Duration, Instant};

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn multi_thread() -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().unwrap()
}

fn paused() -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().start_paused(true).build().unwrap()
}

/// Counts how often it is woken.
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn counting() -> (Arc<Count>, Waker) {
    let count = Arc::new(Count(AtomicUsize::new(0)));
    (count.clone(), Waker::from(count))
}

fn poll<F: Future + ?Sized>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}

#[test]
fn a_timeout_put_off_between_polls_ends_at_its_new_time() {
    child::passes("clocks::put_off_between_polls", "all");
}

#[test]
fn put_off_between_polls() {
    if child::case().is_none() {
        return;
    }
    for rt in [current_thread(), multi_thread()] {
        for at in [false, true] {
            for extend in [false, true] {
                for first in [10, 3_600_000] {
                    let handle = rt.spawn(async move {
                        let first = Duration::from_millis(first);
                        let timeout = match at {
                            true => time::timeout_at(Instant::now() + first, pending::<()>()),
                            false => time::timeout(first, pending::<()>()),
                        };
                        let mut timeout = pin!(timeout);
                        let mut polled = false;
                        poll_fn(|cx| {
                            let ready = timeout.as_mut().poll(cx);
                            if !std::mem::replace(&mut polled, true) {
                                let more = Duration::from_millis(20);
                                if extend && first < more {
                                    timeout.as_mut().extend(more);
                                } else {
                                    timeout.as_mut().reset(Instant::now() + more);
                                }
                            }
                            ready
                        })
                        .await
                        .unwrap_err();
                    });
                    rt.block_on(handle).unwrap();
                }
            }
        }
    }
}

/// The time of a timeout on a worker counts from its tick: moved into the past it must be up at once.
#[test]
fn a_timeout_reset_into_the_past_is_up() {
    for rt in [current_thread(), multi_thread()] {
        let handle = rt.spawn(async {
            let mut timeout = pin!(time::timeout(Duration::from_secs(3600), pending::<()>()));
            let (wakes, waker) = counting();
            assert!(poll(timeout.as_mut(), &waker).is_pending());
            timeout.as_mut().reset(Instant::now());
            assert_eq!(wakes.0.load(SeqCst), 1);
            assert!(poll(timeout.as_mut(), &waker).is_ready());
            // And put off again after it was up.
            timeout
                .as_mut()
                .reset(Instant::now() + Duration::from_millis(1));
            assert!(timeout.await.is_err());
        });
        rt.block_on(handle).unwrap();
    }
}

/// An armed timer that is reset into the past has ended, whether or not its wheel has been turned to there.
#[test]
fn a_sleep_reset_into_the_past_has_ended() {
    let ms = Duration::from_millis;
    for rt in [paused(), current_thread()] {
        rt.block_on(async {
            let start = Instant::now();
            let (wakes, waker) = counting();
            for past in [0, 1, 5, 20] {
                let mut sleep = pin!(time::sleep(Duration::from_secs(3600)));
                assert!(poll(sleep.as_mut(), &waker).is_pending());
                // The clock moves on with nothing to fire.
                time::sleep_until(start + ms(25)).await;
                let woken = wakes.0.load(SeqCst);
                let deadline = Instant::now() - ms(past);
                sleep.as_mut().reset(deadline);
                assert_eq!(wakes.0.load(SeqCst), woken + 1);
                assert!(sleep.is_elapsed());
                assert!(poll(sleep.as_mut(), &waker).is_ready());
                assert_eq!(sleep.deadline(), deadline);
            }
        });
    }
}

/// The time of a sleep that was reset counts, also if nobody has polled it since.
#[test]
fn a_sleep_that_is_reset_need_not_be_polled_to_elapse() {
    let ms = Duration::from_millis;
    paused().block_on(async {
        let (_, waker) = counting();
        let mut sleep = pin!(time::sleep(ms(5)));
        time::advance(ms(10)).await;
        assert!(!sleep.is_elapsed(), "not begun");
        sleep.as_mut().reset(Instant::now() + ms(5));
        assert!(!sleep.is_elapsed());
        time::advance(ms(5)).await;
        assert!(sleep.is_elapsed());
        assert!(poll(sleep.as_mut(), &waker).is_ready());
        sleep.as_mut().reset(Instant::now() + ms(5));
        assert!(!sleep.is_elapsed());
        assert!(poll(sleep.as_mut(), &waker).is_pending());
        time::advance(ms(5)).await;
        assert!(sleep.is_elapsed());
        sleep.as_mut().reset(Instant::now() - ms(1));
        assert!(sleep.is_elapsed());
    });
}

#[test]
fn an_interval_reset_into_the_past_ticks() {
    let ms = Duration::from_millis;
    type Reset = fn(&mut time::Interval);
    let resets: [Reset; 3] = [
        |interval| interval.reset_immediately(),
        |interval| interval.reset_at(Instant::now() - Duration::from_millis(3)),
        |interval| interval.reset_after(Duration::ZERO),
    ];
    for rt in [paused(), current_thread()] {
        rt.block_on(async {
            for reset in resets {
                let mut interval = time::interval(Duration::from_secs(3600));
                interval.tick().await;
                let (wakes, waker) = counting();
                let mut cx = Context::from_waker(&waker);
                assert!(interval.poll_tick(&mut cx).is_pending());
                time::sleep(ms(25)).await;
                reset(&mut interval);
                assert_eq!(wakes.0.load(SeqCst), 1);
                assert!(interval.poll_tick(&mut cx).is_ready());
                assert!(interval.poll_tick(&mut cx).is_pending());
            }
        });
    }
}

/// A timer goes by the clock of its runtime, also when it is reset from a thread without one.
#[test]
fn a_reset_from_outside_goes_by_the_runtimes_clock() {
    let rt = paused();
    let (_, waker) = counting();
    let mut sleep = Box::pin({
        let _entered = rt.enter();
        time::sleep(Duration::from_secs(3600))
    });
    assert!(poll(sleep.as_mut(), &waker).is_pending());
    let now = rt.block_on(async { Instant::now() });
    // The machine's clock goes past this while the runtime's stands still.
    let soon = now + Duration::from_millis(1);
    while std::time::Instant::now() <= soon.into_std() {
        std::hint::spin_loop();
    }
    let mut sleep = std::thread::spawn(move || {
        sleep.as_mut().reset(soon);
        assert!(!sleep.is_elapsed(), "early");
        sleep
    })
    .join()
    .unwrap();
    rt.block_on(async {
        assert_eq!(Instant::now(), now);
        sleep.as_mut().await;
        assert_eq!(Instant::now(), soon);
    });
}

#[test]
fn a_grant_is_worth_nothing_once_the_semaphore_is_closed() {
    let (_, waker) = counting();
    for n in [1, 3] {
        let semaphore = Arc::new(Semaphore::new(0));
        let mut borrowed = pin!(semaphore.acquire_many(n));
        let mut owned = pin!(semaphore.clone().acquire_many_owned(n));
        assert!(poll(borrowed.as_mut(), &waker).is_pending());
        assert!(poll(owned.as_mut(), &waker).is_pending());
        semaphore.add_permits(2 * n as usize);
        assert_eq!(semaphore.available_permits(), 0);
        semaphore.close();
        let Poll::Ready(Err(_)) = poll(borrowed.as_mut(), &waker) else {
            panic!("closed before it was polled");
        };
        assert_eq!(semaphore.available_permits(), n as usize, "given back");
        let Poll::Ready(Err(_)) = poll(owned.as_mut(), &waker) else {
            panic!("closed before it was polled");
        };
        assert_eq!(semaphore.available_permits(), 2 * n as usize);
    }
}

#[test]
fn times_without_end_end_nothing() {
    let rt = paused();
    rt.block_on(async {
        let (wakes, waker) = counting();
        let mut all: Vec<Pin<Box<dyn Future<Output = ()>>>> = vec![
            Box::pin(time::sleep(Duration::MAX)),
            Box::pin(async { drop(time::timeout(Duration::MAX, pending::<()>()).await) }),
            Box::pin(async {
                let start = Instant::now() + Duration::from_secs(1 << 40);
                time::interval_at(start, Duration::MAX).tick().await;
            }),
            Box::pin(async {
                let mut interval = time::interval(Duration::MAX);
                interval.tick().await;
                interval.tick().await;
            }),
            Box::pin(async {
                let mut interval = time::interval(Duration::MAX);
                interval.reset_after(Duration::MAX);
                interval.tick().await;
            }),
        ];
        for one in &mut all {
            assert!(poll(one.as_mut(), &waker).is_pending());
        }
        time::advance(Duration::from_secs(86_400 * 365)).await;
        for one in &mut all {
            assert!(poll(one.as_mut(), &waker).is_pending());
        }
        assert_eq!(wakes.0.load(SeqCst), 0);
    });
}

#[test]
fn the_clock_can_go_as_far_as_it_goes() {
    let rt = paused();
    rt.block_on(async {
        let mut far = pin!(time::sleep(Duration::from_secs(1 << 40)));
        let (wakes, waker) = counting();
        assert!(poll(far.as_mut(), &waker).is_pending());
        // Off the whole second: the tick past which none can be counted has a rest.
        time::advance(Duration::from_millis(7)).await;
        let mut to_the_end = Duration::from_secs(1 << 62);
        while to_the_end > Duration::from_secs(1_000_000) {
            match Instant::now().checked_add(to_the_end) {
                Some(_) => time::advance(to_the_end).await,
                None => to_the_end /= 2,
            }
        }
        assert_eq!(wakes.0.load(SeqCst), 1);
        assert!(poll(far.as_mut(), &waker).is_ready());
        time::sleep(Duration::from_millis(1)).await;
    });
    let too_far = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        rt.block_on(time::advance(Duration::MAX));
    }));
    assert!(too_far.is_err());
    // The clock is as it was.
    rt.block_on(time::advance(Duration::from_millis(1)));
}

/// A clock can be stopped that no timer goes by.
#[test]
fn a_runtime_without_timers_can_start_paused() {
    let mut builder = Builder::new_current_thread();
    let rt = builder.start_paused(true).build().unwrap();
    let start = rt.block_on(async { Instant::now() });
    rt.block_on(async {
        time::advance(Duration::from_secs(5)).await;
        assert_eq!(start.elapsed(), Duration::from_secs(5));
    });
}

/// Capacities as large as they come are just limits.
#[test]
fn a_channel_of_any_capacity_passes_messages_on() {
    let (_, waker) = counting();
    for capacity in [usize::MAX, usize::MAX >> 1, usize::MAX >> 3] {
        let (sender, mut receiver) = tress::sync::mpsc::channel(capacity);
        let before = sender.capacity();
        assert!(before <= capacity);
        for i in 0..100 {
            sender.try_send(i).unwrap();
        }
        assert_eq!(sender.capacity(), before - 100);
        assert!(poll(pin!(sender.reserve_many(7)), &waker).is_ready());
        for i in 0..100 {
            assert_eq!(receiver.try_recv(), Ok(i));
        }
        assert_eq!(sender.capacity(), before);
    }
}

/// A stopped clock does not jump while a closure runs that began before it was stopped.
#[test]
fn a_clock_that_is_stopped_while_a_closure_runs_waits_for_it() {
    let (parks, parked) = std::sync::mpsc::channel();
    let mut builder = Builder::new_current_thread();
    builder.enable_all().on_thread_park(move || {
        let _ = parks.send(());
    });
    let rt = builder.build().unwrap();
    rt.block_on(async move {
        // It ends when the runtime has nothing to do but to wait for it.
        let closure = task::spawn_blocking(move || {
            parked.recv().unwrap();
        });
        time::pause();
        let start = Instant::now();
        let sleeper = task::spawn(time::sleep(Duration::from_secs(3600)));
        closure.await.unwrap();
        assert_eq!(start.elapsed(), Duration::ZERO);
        sleeper.await.unwrap();
        assert!(start.elapsed() >= Duration::from_secs(3600));
    });
}

/// Nor does it when the closure ends just when the runtime looks.
#[test]
fn a_stopped_clock_does_not_overtake_a_closure_that_ends() {
    let rt = paused();
    rt.block_on(async {
        let _sleeper = task::spawn(time::sleep(Duration::from_secs(3600)));
        let start = Instant::now();
        for round in 0..5_000 {
            // Of different lengths, to end at every point of the way into the wait.
            let closure = task::spawn_blocking(move || {
                for _ in 0..round % 500 * 4 {
                    std::hint::spin_loop();
                }
            });
            closure.await.unwrap();
            assert_eq!(start.elapsed(), Duration::ZERO, "round {round}");
        }
    });
}

/// A waker that uses the timers itself whenever it is cloned or dropped.
struct Busybody;

impl Busybody {
    fn meddle() {
        let mut sleep = pin!(time::sleep(Duration::from_millis(3)));
        let _ = poll(sleep.as_mut(), Waker::noop());
        let soon = Instant::now() + Duration::from_millis(1);
        sleep.as_mut().reset(soon);
        let _ = poll(pin!(time::timeout_at(soon, pending::<()>())), Waker::noop());
    }

    fn waker() -> Waker {
        fn clone(_: *const ()) -> RawWaker {
            Busybody::meddle();
            RawWaker::new(std::ptr::null(), &VTABLE)
        }
        fn act(_: *const ()) {
            Busybody::meddle();
        }
        static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, act, act, act);
        // SAFETY: there is no data, and the functions may be called on any thread at any time.
        unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &VTABLE)) }
    }
}

#[test]
fn wakers_may_use_the_timers() {
    child::passes("clocks::meddling_wakers", "all");
}

#[test]
fn meddling_wakers() {
    if child::case().is_none() {
        return;
    }
    let ms = Duration::from_millis;
    for rt in [paused(), current_thread(), multi_thread()] {
        let handle = rt.spawn(async move {
            let busybody = Busybody::waker();
            let mut sleep = pin!(time::sleep(ms(5)));
            let mut timeout = pin!(time::timeout(ms(7), pending::<()>()));
            for waker in [&busybody, Waker::noop(), &busybody, &Busybody::waker()] {
                let _ = poll(sleep.as_mut(), waker);
                let _ = poll(timeout.as_mut(), waker);
                sleep.as_mut().reset(Instant::now() + ms(5));
                timeout.as_mut().reset(Instant::now() + ms(7));
            }
            // It fires with that waker, or is moved into the past with it.
            time::sleep(ms(10)).await;
            sleep.as_mut().reset(Instant::now() + ms(100));
            let _ = poll(sleep.as_mut(), &busybody);
            sleep.as_mut().reset(Instant::now());
            assert!(sleep.is_elapsed());
            // Dropped while they wait with it.
            let mut last = Box::pin(time::sleep(ms(100)));
            let _ = poll(last.as_mut(), &busybody);
            drop(last);
            // And one that the end of the runtime meets.
            let mut left = Box::pin(time::sleep(ms(1 << 30)));
            poll_fn(|_| {
                let _ = poll(left.as_mut(), &busybody);
                Poll::Ready(())
            })
            .await;
            Some(left)
        });
        let left = rt.block_on(handle).unwrap();
        // The meddler has no runtime to use from here on.
        let _entered = rt.enter();
        drop(left);
    }
}

/// A timer that was made in a runtime belongs to it where a thread that is in none polls it.
#[test]
fn timers_are_polled_outside_of_every_runtime() {
    const FAR: Duration = Duration::from_secs(3600);
    for rt in [current_thread(), multi_thread()] {
        let (sleep, limit, mut ticks) = rt.block_on(async {
            let made = task::spawn(async {
                let ticks = time::interval_at(Instant::now() + FAR, FAR);
                (time::sleep(FAR), time::timeout(FAR, pending::<()>()), ticks)
            });
            made.await.unwrap()
        });
        let (mut sleep, mut limit) = (pin!(sleep), pin!(limit));
        let (count, waker) = counting();
        assert!(poll(sleep.as_mut(), &waker).is_pending());
        assert!(poll(limit.as_mut(), &waker).is_pending());
        let mut cx = Context::from_waker(&waker);
        assert!(ticks.poll_tick(&mut cx).is_pending());
        // They are armed: their runtime wakes us, also if the deadline was changed in another one.
        let other = Builder::new_current_thread().build().unwrap();
        other.block_on(async {
            let soon = Instant::now() + Duration::from_millis(1);
            sleep.as_mut().reset(soon);
            limit.as_mut().reset(soon);
            ticks.reset_at(soon);
        });
        rt.block_on(poll_fn(|cx| {
            cx.waker().wake_by_ref();
            match count.0.load(SeqCst) {
                0..3 => Poll::Pending,
                _ => Poll::Ready(()),
            }
        }));
        assert!(poll(sleep.as_mut(), &waker).is_ready());
        assert!(poll(limit.as_mut(), &waker).is_ready());
        assert!(ticks.poll_tick(&mut cx).is_ready());
        // What is over stays so without its runtime. What was never polled says that its runtime is gone.
        let (mut never,) = rt.block_on(async { (Box::pin(time::sleep(FAR)),) });
        drop(rt);
        assert!(poll(sleep.as_mut(), &waker).is_ready());
        let polled = catch_unwind(AssertUnwindSafe(|| poll(never.as_mut(), &waker)));
        let payload = polled.unwrap_err();
        let message = payload.downcast_ref::<String>().unwrap();
        assert!(message.contains("outlive"), "{message}");
    }
}
