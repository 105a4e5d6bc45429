//! Spans of tasks, and events of their wakers.

use crate::collector::{Collector, Span, Told};
use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use tokio::runtime::{Builder, Runtime};
use tokio::task::{self, JoinSet, LocalSet};

fn current() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// The span of the one task with this name.
fn named(collector: &Collector, name: &str) -> Span {
    let spans = collector.spans("runtime.spawn");
    let mut found = spans
        .into_iter()
        .filter(|span| span.field("task.name") == name);
    let span = found.next().expect("a span with that name");
    assert!(found.next().is_none(), "two spans with that name");
    span
}

#[test]
fn a_task_has_a_span_that_says_where_it_comes_from() {
    let collector = Collector::default();
    let rt = current();
    let future = async { 1 };
    let size = size_of_val(&future);
    let (task, line) = collector.here(|| (rt.spawn(future), line!()));
    let id = task.id();
    collector.here(|| rt.block_on(task)).unwrap();

    let spans = collector.spans("runtime.spawn");
    let span = spans
        .iter()
        .find(|span| span.field("kind") == "task")
        .unwrap();
    assert_eq!(span.target, "tokio::task");
    assert_eq!(span.parent, None);
    assert_eq!(span.field("task.name"), "");
    assert_eq!(span.field("task.id"), id.to_string());
    assert_eq!(span.field("size.bytes"), size.to_string());
    assert!(!span.fields.contains_key("original_size.bytes"));
    assert_eq!(span.field("loc.file"), file!());
    assert_eq!(span.field("loc.line"), line.to_string());
    assert!(span.fields.contains_key("loc.col"));
    collector.assert_nothing_is_left();
}

#[test]
fn a_span_is_entered_for_each_poll_and_to_drop_the_future() {
    let collector = Collector::default();
    let rt = current();
    collector.here(|| {
        rt.block_on(async {
            let builder = task::Builder::new().name("twice");
            let task = builder.spawn(task::yield_now()).unwrap();
            task.await.unwrap();
        });
    });
    let span = named(&collector, "twice");
    let once = [Told::Enter(span.id), Told::Exit(span.id)];
    let polls_and_drop = [&once[..], &once, &once].concat();
    let all = [
        &[Told::New(span.id)],
        &polls_and_drop[..],
        &[Told::Close(span.id)],
    ]
    .concat();
    assert_eq!(collector.life_of(&span), all);
}

#[test]
fn each_kind_of_task_says_so() {
    let collector = Collector::default();
    let rt = current();
    collector.here(|| {
        rt.block_on(async {
            let builder = task::Builder::new();
            builder
                .name("plain")
                .spawn(async {})
                .unwrap()
                .await
                .unwrap();
            let local = LocalSet::new();
            let here = local.run_until(async { builder.name("here").spawn_local(async {}) });
            local.run_until(here.await.unwrap()).await.unwrap();
            let blocking = builder.name("blocking").spawn_blocking(|| 7).unwrap();
            assert_eq!(blocking.await.unwrap(), 7);
            let mut set = JoinSet::new();
            set.build_task().name("of a set").spawn(async {}).unwrap();
            set.join_all().await;
        });
    });
    let kinds = [("plain", "task"), ("here", "local"), ("of a set", "task")];
    for (name, kind) in kinds {
        let span = named(&collector, name);
        assert_eq!((span.field("kind"), span.target), (kind, "tokio::task"));
        assert_eq!(span.field("loc.file"), file!());
    }
    let blocking = named(&collector, "blocking");
    assert_eq!(blocking.field("kind"), "blocking");
    assert_eq!(blocking.target, "tokio::task::blocking");
    assert!(blocking.field("fn").contains("each_kind_of_task_says_so"));
    assert_eq!(blocking.field("loc.file"), file!());
    assert_eq!(
        blocking.field("size.bytes"),
        "0",
        "the closure captures nothing"
    );

    let block_on = named(&collector, "");
    assert_eq!(
        (block_on.field("kind"), block_on.target),
        ("block_on", "tokio::task")
    );
    assert_eq!(block_on.field("loc.file"), file!());
    assert_eq!(blocking.parent, Some(block_on.id));
}

#[test]
fn block_on_has_a_span_on_every_runtime() {
    let multi = Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap();
    let run = [
        Box::new(|| current().block_on(async {})) as Box<dyn Fn()>,
        Box::new(|| multi.block_on(async {})),
        Box::new(|| multi.handle().block_on(async {})),
        Box::new(|| LocalSet::new().block_on(&current(), async {})),
    ];
    for run in run {
        let collector = Collector::default();
        collector.here(run);
        let spans = collector.spans("runtime.spawn");
        assert_eq!(spans.len(), 1);
        assert_eq!(spans[0].field("kind"), "block_on");
        assert_eq!(spans[0].field("loc.file"), file!());
        collector.assert_nothing_is_left();
    }
}

#[test]
fn wakers_tell_what_is_done_with_them() {
    let collector = Collector::default();
    let rt = current();
    let kept: Arc<Mutex<Option<Waker>>> = Arc::default();
    collector.here(|| {
        let mut polls = 0;
        let keep = kept.clone();
        let future = poll_fn(move |cx| {
            polls += 1;
            *keep.lock().unwrap() = Some(cx.waker().clone());
            if polls == 3 {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        });
        let _rt = rt.enter();
        let task = task::Builder::new().name("woken").spawn(future).unwrap();
        let drive = || rt.block_on(task::yield_now());
        let take = || kept.lock().unwrap().take().unwrap();
        drive();
        let waker = take();
        waker.wake_by_ref();
        drop(waker);
        drive();
        take().wake();
        drive();
        rt.block_on(task).unwrap();
        // The task has ended, and the waker is there.
        drop(take());
    });
    let span = named(&collector, "woken");
    let ops = collector.waker_ops(&span);
    let expected = [
        "clone",
        "wake_by_ref",
        "drop",
        "clone",
        "wake",
        "clone",
        "drop",
    ];
    assert_eq!(ops, expected.map(|op| format!("waker.{op}")));
    collector.assert_nothing_is_left();
}

#[test]
fn a_task_that_yields_wakes_itself() {
    let collector = Collector::default();
    let of_worker = collector.clone();
    let rt = Builder::new_multi_thread()
        .worker_threads(1)
        // For the life of the thread.
        .on_thread_start(move || {
            std::mem::forget(tracing::subscriber::set_default(of_worker.clone()));
        })
        .build()
        .unwrap();
    collector.here(|| {
        let builder = task::Builder::new().name("yields");
        let task = builder.spawn_on(task::yield_now(), rt.handle()).unwrap();
        rt.block_on(task).unwrap();
    });
    let ops = collector.waker_ops(&named(&collector, "yields"));
    assert_eq!(ops, ["waker.wake_by_ref"]);
}

#[test]
fn a_task_that_panics_or_is_aborted_closes_its_span() {
    let collector = Collector::default();
    let rt = current();
    collector.here(|| {
        rt.block_on(async {
            let builder = task::Builder::new();
            let panics = builder.name("panics").spawn(async { panic!("on purpose") });
            let error = panics.unwrap().await.unwrap_err();
            assert!(error.is_panic());
            let aborted = builder.name("aborted").spawn(pending::<()>()).unwrap();
            task::yield_now().await;
            aborted.abort();
            assert!(aborted.await.unwrap_err().is_cancelled());
            drop(builder.name("at shutdown").spawn(pending::<()>()).unwrap());
        });
        drop(rt);
    });
    for name in ["panics", "aborted", "at shutdown"] {
        let life = collector.life_of(&named(&collector, name));
        assert!(
            matches!(life.last(), Some(Told::Close(_))),
            "{name}: {life:?}"
        );
    }
    collector.assert_nothing_is_left();
}

/// A future whose destructor tells whether the task's span is entered.
struct Drops(Arc<Mutex<Vec<Option<u64>>>>);

impl Future for Drops {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}

impl Drop for Drops {
    fn drop(&mut self) {
        let id = tracing::Span::current().id();
        self.0.lock().unwrap().push(id.map(|id| id.into_u64()));
    }
}

#[test]
fn nothing_is_told_to_a_subscriber_that_wants_nothing() {
    let rt = current();
    let dropped: Arc<Mutex<Vec<_>>> = Arc::default();
    let quiet = tracing::subscriber::NoSubscriber::default();
    tracing::subscriber::with_default(quiet, || {
        rt.block_on(rt.spawn(Drops(dropped.clone()))).unwrap();
    });
    assert_eq!(*dropped.lock().unwrap(), [None]);
}

#[test]
fn a_future_is_dropped_in_its_span() {
    let collector = Collector::default();
    let rt = current();
    let dropped: Arc<Mutex<Vec<_>>> = Arc::default();
    collector.here(|| {
        let finished = Drops(dropped.clone());
        rt.block_on(rt.spawn(finished)).unwrap();
        let unpolled = rt.spawn(Drops(dropped.clone()));
        unpolled.abort();
        assert!(rt.block_on(unpolled).unwrap_err().is_cancelled());
    });
    let spans = collector.spans("runtime.spawn");
    let tasks = spans.iter().filter(|span| span.field("kind") == "task");
    let tasks: Vec<_> = tasks.map(|span| Some(span.id)).collect();
    assert_eq!(*dropped.lock().unwrap(), tasks);
}
