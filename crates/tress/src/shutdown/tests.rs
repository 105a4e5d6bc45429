use super::*;
use crate::runtime::{Builder, Runtime};
use crate::sync::{Notify, oneshot};
use crate::time::Instant;
use std::pin::pin;
use std::task::{Context, Waker};

fn paused() -> Runtime {
    Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
}

fn is_ready<F: Future>(future: std::pin::Pin<&mut F>) -> bool {
    future
        .poll(&mut Context::from_waker(Waker::noop()))
        .is_ready()
}

#[test]
fn everybody_who_waits_is_told() {
    paused().block_on(async {
        let shutdown = Shutdown::new();
        let waiting: Vec<_> = (0..100)
            .map(|_| crate::spawn(shutdown.wait_owned()))
            .collect();
        crate::task::yield_now().await;
        shutdown.trigger();
        shutdown.trigger();
        for waiting in waiting {
            waiting.await.unwrap();
        }
        shutdown.wait().await;
    });
}

#[test]
fn a_drain_waits_for_the_last_guard() {
    let shutdown = Shutdown::new();
    let guards: Vec<_> = (0..3).map(|_| shutdown.start_work().unwrap()).collect();
    let mut drained = pin!(shutdown.drained());
    assert!(!is_ready(drained.as_mut()), "not triggered");
    shutdown.trigger();
    for guard in guards {
        assert!(!is_ready(drained.as_mut()));
        drop(guard);
    }
    assert!(is_ready(drained.as_mut()));
    assert!(shutdown.start_work().is_none());
}

#[test]
fn work_may_come_and_go_before_the_trigger() {
    let shutdown = Shutdown::new();
    let mut drained = pin!(shutdown.drained());
    for _ in 0..3 {
        drop(shutdown.start_work().unwrap());
        assert!(!is_ready(drained.as_mut()));
    }
    shutdown.trigger();
    assert!(is_ready(drained.as_mut()));
}

#[test]
fn nothing_pending_drains_without_a_clock() {
    let rt = Builder::new_current_thread().build().unwrap();
    rt.block_on(async {
        let shutdown = Shutdown::new();
        shutdown.trigger();
        shutdown.drained().await;
    });
}

#[test]
fn the_deadline_names_what_is_pending() {
    paused().block_on(async {
        let shutdown = Shutdown::new();
        let started = Instant::now();
        let first = shutdown.start_named_work("first").unwrap();
        let second = shutdown.start_work().unwrap();
        drop(first);
        let unfinished = shutdown.drain().await.unwrap_err();
        assert!(started.elapsed() >= DEFAULT_DRAIN);
        assert_eq!(unfinished.after(), DEFAULT_DRAIN);
        let [pending] = unfinished.pending() else {
            panic!("{unfinished:?}");
        };
        assert_eq!(pending.name(), None);
        assert!(pending.location().file().ends_with("tests.rs"));
        // Work that ends late ends, and a second drain has nothing to wait for.
        drop(second);
        shutdown.drain().await.unwrap();
    });
}

#[test]
fn long_lists_are_cut() {
    let shutdown = Shutdown::new();
    let _guards: Vec<_> = (0..20).map(|_| shutdown.start_work()).collect();
    let text = Unfinished::new(DEFAULT_DRAIN, shutdown.pending()).to_string();
    assert!(text.starts_with("20 pending after 30s; "), "{text}");
    assert!(text.ends_with(" and 12 more"), "{text}");
}

#[test]
fn numbers_of_ended_work_are_used_again() {
    let shutdown = Shutdown::new();
    let kept = shutdown.start_named_work("kept").unwrap();
    for _ in 0..if cfg!(miri) { 20 } else { 1_000 } {
        drop(shutdown.start_work().unwrap());
    }
    assert_eq!(shutdown.scope.pending_count(), 1);
    assert_eq!(shutdown.pending()[0].name(), Some("kept"));
    assert!(format!("{kept:?}").contains("kept"));
}

#[test]
fn a_child_counts_as_one_for_its_parent() {
    let parent = Shutdown::new();
    let child = parent.child("child");
    let grandchild = child.child("grandchild");
    let guards = [
        grandchild.start_work().unwrap(),
        grandchild.start_work().unwrap(),
    ];
    let counts = || [&parent, &child, &grandchild].map(Shutdown::pending_count);
    assert_eq!(counts(), [1, 1, 2]);
    assert_eq!(parent.pending()[0].name(), Some("child"));
    parent.trigger();
    assert!(grandchild.is_shutdown() && grandchild.start_work().is_none());
    let mut drained = pin!(parent.drained());
    for guard in guards {
        assert!(!is_ready(drained.as_mut()));
        drop(guard);
    }
    assert!(is_ready(drained.as_mut()));
    assert_eq!(counts(), [0, 0, 0]);
}

#[test]
fn a_child_ends_alone() {
    paused().block_on(async {
        let parent = Shutdown::new();
        let (one, other) = (parent.child("one"), parent.child("other"));
        one.drain().await.unwrap();
        assert!(one.start_work().is_none());
        assert!(other.start_work().is_some() && parent.start_work().is_some());
        assert!(!parent.is_shutdown());
    });
}

#[test]
fn a_cancelled_token_triggers() {
    paused().block_on(async {
        let token = CancellationToken::new();
        let shutdown = Shutdown::with_token(token.clone());
        let guard = shutdown.start_work().unwrap();
        token.cancel();
        shutdown.wait().await;
        assert!(shutdown.start_work().is_none());
        let mut drained = pin!(shutdown.drained());
        assert!(!is_ready(drained.as_mut()));
        drop(guard);
        drained.await;
    });
}

#[test]
fn triggered_by_a_signal_or_by_somebody_else() {
    paused().block_on(async {
        let shutdown = Shutdown::new();
        let (signal, signalled) = oneshot::channel::<()>();
        let mut first = pin!(shutdown.trigger_when(signalled));
        assert!(!is_ready(first.as_mut()));
        signal.send(()).unwrap();
        first.await;
        assert!(shutdown.is_shutdown());
        // The signal never comes: the shutdown was triggered otherwise.
        shutdown.trigger_when(std::future::pending::<()>()).await;
    });
}

/// Drops at each await point: a wait triggers nothing, and a dropped drain delays no other.
#[test]
fn dropped_futures_lose_nothing() {
    paused().block_on(async {
        let shutdown = Shutdown::new();
        let notify = Notify::new();
        {
            let mut trigger = pin!(shutdown.trigger_when(notify.notified()));
            assert!(!is_ready(trigger.as_mut()));
            let mut wait = pin!(shutdown.wait());
            assert!(!is_ready(wait.as_mut()));
            let mut drained = pin!(shutdown.drained());
            assert!(!is_ready(drained.as_mut()));
        }
        notify.notify_one();
        assert!(!shutdown.is_shutdown());
        let guard = shutdown.start_work().unwrap();
        {
            let mut drain = pin!(shutdown.drain());
            assert!(!is_ready(drain.as_mut()));
        }
        assert!(shutdown.is_shutdown(), "the first poll triggers");
        drop(guard);
        shutdown.drain().await.unwrap();
    });
}

#[test]
fn guards_end_from_any_thread() {
    let rt = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    rt.block_on(async {
        for _ in 0..if cfg!(miri) { 5 } else { 200 } {
            let shutdown = Shutdown::new();
            let part = shutdown.child("part");
            for n in 0..8 {
                let scope = if n % 2 == 0 { &shutdown } else { &part };
                let guard = scope.start_work().unwrap();
                crate::spawn(async move {
                    crate::task::yield_now().await;
                    drop(guard);
                });
            }
            shutdown.drain().await.unwrap();
            assert_eq!((shutdown.pending_count(), part.pending_count()), (0, 0));
        }
    });
}
