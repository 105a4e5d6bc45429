use super::*;
use crate::runtime::{Builder, Runtime};
use crate::time::{advance, sleep};
use std::future::pending;
use std::pin::pin;
use std::task::Waker;

const SECOND: Duration = Duration::from_secs(1);

fn paused() -> Runtime {
    Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
}

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Before the first poll, before the tick from which it counts, after it, and when it is up.
#[test]
fn remaining_counts_down() {
    paused().block_on(async {
        let mut timeout = pin!(timeout(10 * SECOND, pending::<()>()));
        advance(SECOND).await;
        assert_eq!(timeout.remaining(), 10 * SECOND, "not polled yet");
        assert!(poll(timeout.as_mut()).is_pending());
        assert_eq!(timeout.remaining(), 10 * SECOND);
        advance(4 * SECOND).await;
        let left = timeout.remaining();
        // It counts from the end of the tick, and to the millisecond above.
        assert!((6 * SECOND..=10 * SECOND).contains(&left), "{left:?}");
        advance(20 * SECOND).await;
        assert!(poll(timeout.as_mut()).is_ready());
        assert_eq!(timeout.remaining(), Duration::ZERO);
    });
}

#[test]
fn remaining_of_a_deadline() {
    paused().block_on(async {
        let timeout = timeout_at(Instant::now() + 3 * SECOND, pending::<()>());
        advance(SECOND).await;
        assert_eq!(timeout.remaining(), 2 * SECOND);
        advance(3 * SECOND).await;
        assert_eq!(timeout.remaining(), Duration::ZERO);
    });
}

#[test]
fn extended_before_and_after_the_first_poll() {
    paused().block_on(async {
        let started = Instant::now();
        let mut timeout = pin!(timeout(SECOND, pending::<()>()));
        timeout.as_mut().extend(SECOND);
        assert_eq!(timeout.remaining(), 2 * SECOND);
        assert!(poll(timeout.as_mut()).is_pending());
        timeout.as_mut().extend(SECOND);
        assert!(timeout.await.is_err());
        assert!(started.elapsed() >= 3 * SECOND);
        assert!(started.elapsed() < 4 * SECOND);
    });
}

#[test]
fn extended_for_ever() {
    paused().block_on(async {
        let mut timeout = pin!(timeout(SECOND, sleep(60 * SECOND)));
        assert!(poll(timeout.as_mut()).is_pending());
        timeout.as_mut().extend(Duration::MAX);
        assert_eq!(timeout.await, Ok(()));
    });
}

#[test]
fn reset_after_the_time_was_up() {
    paused().block_on(async {
        let mut timeout = pin!(timeout(SECOND, sleep(5 * SECOND)));
        assert!(timeout.as_mut().await.is_err());
        timeout.as_mut().reset(Instant::now() + SECOND);
        assert!(timeout.as_mut().await.is_err());
        timeout.as_mut().reset(Instant::now() + 10 * SECOND);
        assert_eq!(timeout.await, Ok(()));
    });
}

#[test]
fn reset_to_earlier() {
    paused().block_on(async {
        let started = Instant::now();
        let mut timeout = pin!(timeout(3600 * SECOND, pending::<()>()));
        assert!(poll(timeout.as_mut()).is_pending());
        timeout.as_mut().reset(started + SECOND);
        assert!(timeout.await.is_err());
        assert!(started.elapsed() < 2 * SECOND);
    });
}
