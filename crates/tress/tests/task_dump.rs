//! Dumps of tasks: what they list, what they show, and that tasks do not notice.
#![cfg(feature = "taskdump")]

use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tress::runtime::task_dump::{Dump, Trace, trace_with};
use tress::runtime::{Builder, Handle, Runtime};
use tress::sync::{Mutex, mpsc, oneshot};
use tress::task::{JoinSet, LocalSet, coop, yield_now};
use tress::time::sleep;

fn both() -> [Runtime; 2] {
    let mut multi = Builder::new_multi_thread();
    multi.worker_threads(2);
    [multi, Builder::new_current_thread()].map(|mut b| b.enable_all().build().unwrap())
}

/// A waker that remembers.
#[derive(Default)]
struct Noted(AtomicBool);

impl Wake for Noted {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

fn text_of(dump: &Dump, id: tress::task::Id) -> String {
    let task = dump.tasks().iter().find(|task| task.id() == id);
    task.expect("it is listed").trace().to_string()
}

#[inline(never)]
async fn waits_for_a_message(mut messages: mpsc::Receiver<u32>) -> u32 {
    let mut sum = 0;
    while let Some(message) = messages.recv().await {
        sum += message;
    }
    sum
}

#[test]
fn a_dump_shows_where_each_task_waits_and_tasks_go_on() {
    for rt in both() {
        rt.block_on(async {
            let (send, messages) = mpsc::channel(4);
            let receiver = tress::spawn(waits_for_a_message(messages));
            let timer = tress::spawn(sleep(Duration::from_secs(3600)));
            send.send(1).await.unwrap();
            let dump = Handle::current().dump().await;
            assert_eq!(dump.tasks().iter().count(), 2);
            let text = text_of(&dump, receiver.id());
            assert!(text.contains("task_dump::waits_for_a_message"), "{text}");
            assert!(text.contains("tests/task_dump.rs:"), "{text}");
            assert!(!text.contains("catch_unwind"), "{text}");
            let text = text_of(&dump, timer.id());
            assert!(text.contains("sleep"), "{text}");
            send.send(2).await.unwrap();
            drop(send);
            assert_eq!(receiver.await.unwrap(), 3);
        });
    }
}

#[test]
fn no_message_is_lost_while_dumps_are_taken() {
    const MESSAGES: u32 = if cfg!(miri) { 20 } else { 2_000 };
    for rt in both() {
        rt.block_on(async {
            let (send, messages) = mpsc::channel(1);
            let receiver = tress::spawn(waits_for_a_message(messages));
            let over = Arc::new(AtomicBool::new(false));
            let dumps = tress::spawn({
                let over = over.clone();
                async move {
                    let mut dumps = 0;
                    while !over.load(Ordering::Acquire) || dumps == 0 {
                        Handle::current().dump().await;
                        dumps += 1;
                    }
                }
            });
            let sender = tress::spawn(async move {
                for _ in 0..MESSAGES {
                    send.send(1).await.unwrap();
                }
            });
            sender.await.unwrap();
            assert_eq!(receiver.await.unwrap(), MESSAGES);
            over.store(true, Ordering::Release);
            dumps.await.unwrap();
        });
    }
}

#[test]
fn a_task_that_waits_for_two_things_has_two_backtraces() {
    for rt in both() {
        rt.block_on(async {
            let task = tress::spawn(async {
                tress::select! {
                    () = sleep(Duration::from_secs(3600)) => {}
                    _ = pending::<()>() => {}
                    _ = tress::signal::ctrl_c() => {}
                }
                tress::join!(sleep(Duration::from_secs(1)), sleep(Duration::from_secs(1)));
            });
            let joins = tress::spawn(async {
                tress::join!(
                    sleep(Duration::from_secs(3600)),
                    coop::unconstrained(sleep(Duration::from_secs(3600)))
                );
            });
            let dump = Handle::current().dump().await;
            let of = |id| dump.tasks().iter().find(|task| task.id() == id).unwrap();
            assert_eq!(of(joins.id()).trace().resolve_backtraces().len(), 2);
            // `pending` is no operation of tress.
            assert_eq!(of(task.id()).trace().resolve_backtraces().len(), 2);
            let first = &of(joins.id()).trace().resolve_backtraces()[0];
            let symbols: Vec<_> = first.frames().flat_map(|frame| frame.symbols()).collect();
            assert!(symbols.iter().any(|symbol| {
                symbol
                    .name_demangled()
                    .is_some_and(|name| name.contains("task_dump"))
                    && symbol
                        .filename()
                        .is_some_and(|file| file.ends_with("tests/task_dump.rs"))
                    && symbol.lineno().is_some()
            }));
            task.abort();
            joins.abort();
        });
    }
}

#[test]
fn the_task_that_dumps_is_listed_too() {
    for rt in both() {
        let (own, dump) = rt
            .block_on(rt.spawn(async { (tress::task::id(), Handle::current().dump().await) }))
            .unwrap();
        assert_eq!(
            dump.tasks()
                .iter()
                .map(|task| task.id())
                .collect::<Vec<_>>(),
            [own]
        );
    }
}

#[test]
fn a_task_that_ends_or_blocks_keeps_no_dump_waiting() {
    let rt = Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap();
    let (entered, has_entered) = std::sync::mpsc::channel();
    let (go_on, may_go_on) = std::sync::mpsc::channel::<()>();
    let blocks = rt.spawn(async move {
        tress::task::block_in_place(|| {
            entered.send(()).unwrap();
            may_go_on.recv().unwrap();
        });
    });
    has_entered.recv().unwrap();
    // One that ends when it is traced.
    let ends = rt.spawn(poll_fn(|_| match Handle::is_tracing() {
        true => Poll::Ready(()),
        false => Poll::Pending,
    }));
    let dump = rt.block_on(rt.handle().dump());
    assert_eq!(
        dump.tasks()
            .iter()
            .map(|task| task.id())
            .collect::<Vec<_>>(),
        [ends.id()]
    );
    rt.block_on(ends).unwrap();
    go_on.send(()).unwrap();
    rt.block_on(blocks).unwrap();
}

#[test]
fn a_dump_ends_with_its_runtime() {
    let rt = Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap();
    let (entered, has_entered) = std::sync::mpsc::channel();
    let (go_on, may_go_on) = std::sync::mpsc::channel::<()>();
    // Keeps its only worker.
    rt.spawn(async move {
        entered.send(()).unwrap();
        let _ = may_go_on.recv();
    });
    has_entered.recv().unwrap();
    rt.spawn(pending::<()>());
    let handle = rt.handle().clone();
    let mut dump = pin!(handle.dump());
    let noted = Arc::new(Noted::default());
    let waker = Waker::from(noted.clone());
    let mut cx = Context::from_waker(&waker);
    assert!(dump.as_mut().poll(&mut cx).is_pending());
    drop(go_on);
    drop(rt);
    assert!(noted.0.load(Ordering::Acquire));
    assert!(dump.as_mut().poll(&mut cx).is_ready());
}

#[test]
fn a_dump_that_is_dropped_leaves_nothing() {
    for rt in both() {
        rt.block_on(async {
            let (tell, told) = oneshot::channel::<u32>();
            let task = tress::spawn(told);
            {
                let handle = Handle::current();
                let mut dump = pin!(handle.dump());
                poll_fn(|cx| {
                    let _ = dump.as_mut().poll(cx);
                    Poll::Ready(())
                })
                .await;
            }
            tell.send(7).unwrap();
            assert_eq!(task.await.unwrap(), Ok(7));
        });
    }
}

#[test]
fn a_runtime_that_nobody_drives_has_an_empty_dump() {
    let rt = Builder::new_current_thread().build().unwrap();
    rt.spawn(pending::<()>());
    let handle = rt.handle().clone();
    let other = Builder::new_current_thread().build().unwrap();
    let dump = other.block_on(async move { handle.dump().await });
    assert_eq!(dump.tasks().iter().count(), 0);
}

#[test]
fn tasks_of_dispatchers_are_listed_and_those_of_local_sets_are_not() {
    let rt = Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap();
    LocalSet::new().block_on(&rt, async {
        let view = tress::dispatch::default().limited_parallelism(1);
        let (_keep, told) = oneshot::channel::<()>();
        let task = tress::dispatch::spawn_on(&view, async { told.await.is_ok() });
        let local = tress::task::spawn_local(pending::<()>());
        let dump = Handle::current().dump().await;
        let ids: Vec<_> = dump.tasks().iter().map(|task| task.id()).collect();
        assert!(ids.contains(&task.id()));
        assert!(!ids.contains(&local.id()));
        assert!(text_of(&dump, task.id()).contains("oneshot"));
    });
}

#[test]
fn a_traced_operation_does_nothing_and_is_woken_afterwards() {
    for rt in both() {
        rt.block_on(rt.spawn(async {
            let mutex = Mutex::new(());
            let mut lock = pin!(mutex.lock());
            let noted = Arc::new(Noted::default());
            let waker = Waker::from(noted.clone());
            let mut leaves = 0;
            let polled = trace_with(
                || {
                    lock.as_mut()
                        .poll(&mut Context::from_waker(&waker))
                        .is_pending()
                },
                |meta| {
                    // What it does by itself is not traced.
                    assert!(!Handle::is_tracing());
                    assert!(meta.root_addr.is_some());
                    leaves += 1;
                },
            );
            assert!(polled && leaves == 1);
            assert!(mutex.try_lock().is_ok());
            assert!(!noted.0.load(Ordering::Acquire));
            yield_now().await;
            assert!(noted.0.load(Ordering::Acquire));
            drop(lock.await);
        }))
        .unwrap();
    }
}

#[test]
fn a_set_of_tasks_that_is_traced_misses_none() {
    for rt in both() {
        rt.block_on(async {
            let mut set = JoinSet::new();
            for n in 0..3 {
                set.spawn(async move { n });
            }
            while !set.is_empty() {
                let mut next = pin!(set.join_next());
                let (polled, trace) =
                    poll_fn(|cx| Poll::Ready(Trace::capture(|| next.as_mut().poll(cx).is_ready())))
                        .await;
                assert!(!polled);
                assert_eq!(trace.resolve_backtraces().len(), 1);
                next.await.unwrap().unwrap();
            }
        });
    }
}

#[test]
fn blocking_in_place_is_not_traced() {
    let rt = Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap();
    let answer = rt.block_on(rt.spawn(async {
        let (answer, _) = Trace::capture(|| {
            tress::task::block_in_place(|| {
                Handle::current().block_on(async {
                    yield_now().await;
                    tress::task::consume_budget().await;
                    7
                })
            })
        });
        answer
    }));
    assert_eq!(answer.unwrap(), 7);
}

/// A trace that stayed with its thread while a coroutine is suspended would trace others, and outlive its stack.
#[cfg(all(feature = "coroutine", unix))]
#[test]
fn a_coroutine_cannot_suspend_in_a_trace() {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    let rt = tress::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    rt.block_on(async {
        let refused = tress::coroutine::spawn(|| {
            let traced = catch_unwind(AssertUnwindSafe(|| {
                tress::runtime::task_dump::Trace::capture(tress::coroutine::yield_now)
            }));
            *traced.unwrap_err().downcast::<String>().unwrap()
        });
        let message = refused.await.unwrap();
        assert!(message.contains("cannot suspend"), "{message}");
        // The thread does not trace any more.
        tress::task::yield_now().await;
        assert!(!tress::runtime::Handle::is_tracing());
    });
}
