//! Programs that use processes as an adversary would.

mod support;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;
use support::run;
use tress::sync::Notify;
use tress_actor::command::builtin::{Sleep, Tick};
use tress_actor::{
    Backoff, Capacity, Cx, Done, ExitReason, Host, Lifecycle, Mail, Message, Overflow, Pid, Router,
    Strategy, Supervisor, SystemEvent,
};

/// Far longer than anything here takes: what is not there by then never comes.
const HANG: Duration = Duration::from_secs(30);

async fn soon<F: Future>(what: &str, future: F) -> F::Output {
    match tress::time::timeout(HANG, future).await {
        Ok(output) => output,
        Err(_) => panic!("{what} hangs"),
    }
}

fn narrow() -> Host {
    let capacity = Capacity::new(1, Overflow::Wait);
    Host::builder("test").mailbox(capacity).start().unwrap()
}

/// Receives numbers once it is let, until it is sent a zero.
fn gated(host: &Host) -> (Pid, Arc<Notify>, tress_actor::ExitFuture) {
    let gate = Arc::new(Notify::new());
    let opened = gate.clone();
    let collect = |mut cx: Cx<u64>| async move {
        let mut got = Vec::new();
        opened.notified().await;
        while let Some(n @ 1..) = cx.recv().await {
            got.push(n);
        }
        Done(got)
    };
    let (pid, exit) = host.future(collect).exec().unwrap();
    (pid, gate, exit)
}

async fn received(exit: tress_actor::ExitFuture) -> Vec<u64> {
    let exit = soon("the process", exit).await;
    exit.into_result().unwrap().downcast().unwrap()
}

#[test]
fn a_send_that_is_dropped_before_it_is_ready_was_not_sent() {
    run(2, async {
        for polled_again in [false, true] {
            let host = narrow();
            let (pid, gate, exit) = gated(&host);
            host.send(pid, 1_u64).unwrap();
            let mut dropped = Box::pin(host.send_waiting(pid, Message::new(2_u64)));
            let mut cx = Context::from_waker(Waker::noop());
            assert!(dropped.as_mut().poll(&mut cx).is_pending());
            // The next in line is woken when there is room, or the one before it gives up.
            let behind = {
                let host = host.clone();
                tress::spawn(async move { host.send_waiting(pid, Message::new(3_u64)).await })
            };
            while host.process_info(pid).unwrap().waiting < 2 {
                tress::task::yield_now().await;
            }
            gate.notify_one();
            let taken = || host.process_info(pid).unwrap().counters.accepted == 1;
            while !taken() || host.process_info(pid).unwrap().mailbox > 0 {
                tress::task::yield_now().await;
            }
            if polled_again {
                // By now a place is kept for it, or will be soon.
                soon(
                    "the send",
                    std::future::poll_fn(|cx| dropped.as_mut().poll(cx)),
                )
                .await
                .unwrap();
            }
            drop(dropped);
            soon("the one behind", behind).await.unwrap().unwrap();
            soon("the last", host.send_waiting(pid, Message::new(0_u64)))
                .await
                .unwrap();
            let expected: &[u64] = if polled_again { &[1, 2, 3] } else { &[1, 3] };
            assert_eq!(received(exit).await, expected);
        }
    });
}

/// Many senders wait, each gives up at some poll or is let in: whatever is reported as sent is received,
/// and nothing else, and nobody waits for a mailbox that is empty.
#[test]
fn of_sends_that_are_dropped_at_any_poll_those_are_received_that_were_ready() {
    run(2, async {
        let host = narrow();
        let (pid, gate, exit) = gated(&host);
        gate.notify_one();
        let senders: Vec<_> = (0..8_u64)
            .map(|sender| {
                let host = host.clone();
                tress::spawn(async move {
                    let mut sent = Vec::new();
                    for n in 0..500_u64 {
                        let number = 1 + sender * 1000 + n;
                        let mut sending = pin!(host.send_waiting(pid, Message::new(number)));
                        let mut polls = (sender + n) % 4;
                        let ready = std::future::poll_fn(|cx| {
                            if let std::task::Poll::Ready(result) = sending.as_mut().poll(cx) {
                                return std::task::Poll::Ready(Some(result));
                            }
                            if polls == 0 {
                                return std::task::Poll::Ready(None);
                            }
                            polls -= 1;
                            cx.waker().wake_by_ref();
                            std::task::Poll::Pending
                        });
                        if let Some(result) = ready.await {
                            result.unwrap();
                            sent.push(number);
                        }
                    }
                    sent
                })
            })
            .collect();
        let mut sent = Vec::new();
        for sender in senders {
            sent.extend(soon("a sender", sender).await.unwrap());
        }
        soon("the last", host.send_waiting(pid, Message::new(0_u64)))
            .await
            .unwrap();
        let got = received(exit).await;
        for sender in 0..8 {
            let of_one = |all: &[u64]| -> Vec<u64> {
                let of_one = all.iter().filter(|n| (*n - 1) / 1000 == sender);
                of_one.copied().collect()
            };
            assert_eq!(of_one(&got), of_one(&sent), "in order");
        }
    });
}

/// Threads send to processes that end meanwhile and whose places are used again; somebody else waits
/// for room at the next one.
#[test]
fn a_place_that_is_used_again_keeps_nobody_waiting() {
    let target = Arc::new(std::sync::Mutex::new(None::<Pid>));
    run(2, async {
        let host = narrow();
        let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let late: Vec<_> = (0..4)
            .map(|_| {
                let (host, target, stop) = (host.clone(), target.clone(), stop.clone());
                std::thread::spawn(move || {
                    while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                        let pid = *target.lock().unwrap();
                        for _ in 0..64 {
                            if let Some(pid) = pid {
                                // It may be full, or have ended.
                                let _ = host.send(pid, 1_u64);
                            }
                        }
                    }
                })
            })
            .collect();
        let one = |mut cx: Cx<u64>| async move { Done(cx.recv().await) };
        for _ in 0..2000 {
            let (pid, exit) = host.future(one).exec().unwrap();
            *target.lock().unwrap() = Some(pid);
            soon("who everybody sends to", exit).await;
            let (pid, exit) = host.future(one).exec().unwrap();
            let sent = host.send_waiting(pid, Message::new(2_u64));
            soon("a send to an empty mailbox", sent).await.unwrap();
            let got = soon("who was sent something", exit).await;
            let got = got.into_result().unwrap().downcast::<Option<u64>>();
            assert_eq!(got.unwrap(), Some(2));
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        for thread in late {
            thread.join().unwrap();
        }
    });
}

/// Waits for messages until it is asked to stop.
async fn wait(mut cx: Cx<u64>) {
    while cx.recv().await.is_some() {}
}

fn monitors(host: &Host, pid: Pid) -> usize {
    host.process_info(pid).unwrap().monitors
}

#[test]
fn monitors_go_with_whoever_wanted_them() {
    run(2, async {
        let host = support::host();
        let server = host.spawn(wait).unwrap();
        for _ in 0..1000 {
            let watch = move |cx: Cx<u64>| async move {
                cx.host().monitor(cx.pid(), server).unwrap();
                cx.host().monitor(cx.pid(), server).unwrap();
            };
            let (_, exit) = host.future(watch).exec().unwrap();
            soon("a watcher", exit).await;
        }
        assert_eq!(monitors(&host, server), 0, "the watchers have ended");
        let watching: Vec<_> = (0..1000).map(|_| host.watch(server)).collect();
        assert_eq!(monitors(&host, server), 1000);
        drop(watching);
        assert_eq!(monitors(&host, server), 0, "the futures were dropped");
        // Those that are taken back, and those that have told, are not kept by the watcher either.
        let watcher = host.spawn(wait).unwrap();
        let monitor = host.monitor(watcher, server).unwrap();
        let kept = host.watch(server);
        assert!(host.demonitor(server, monitor) && !host.demonitor(server, monitor));
        host.monitor(watcher, server).unwrap();
        host.terminate(server).unwrap();
        assert!(matches!(
            soon("the end", kept).await,
            ExitReason::Terminated
        ));
    });
}

#[test]
fn monitors_of_other_hosts_go_with_whoever_wanted_them() {
    run(2, async {
        let router = Router::new();
        let build = |name: &str| {
            let builder = Host::builder(name).node(name).router(&router);
            builder.start().unwrap()
        };
        let (here, there) = (build("here"), build("there"));
        let server = there.spawn(wait).unwrap();
        for _ in 0..100 {
            let watch = move |cx: Cx<u64>| async move {
                cx.host().monitor(cx.pid(), server).unwrap();
                cx.host().link(cx.pid(), server).unwrap();
            };
            let (_, exit) = here.future(watch).exec().unwrap();
            soon("a watcher", exit).await;
            drop(here.watch(server));
        }
        let info = there.process_info(server).unwrap();
        assert_eq!((info.monitors, info.links.len()), (0, 0));
        // A node that is lost watches nobody any more.
        let watcher = here.spawn(wait).unwrap();
        here.monitor(watcher, server).unwrap();
        let _kept = here.watch(server);
        assert_eq!(monitors(&there, server), 2);
        router.remove_node(here.node());
        assert_eq!(monitors(&there, server), 0);
    });
}

/// Holds whoever ends until it is let go.
#[derive(Clone, Default)]
struct Slow(Arc<Held>);

#[derive(Default)]
struct Held {
    ending: Notify,
    go_on: std::sync::Mutex<Option<std::sync::mpsc::Receiver<()>>>,
}

impl Lifecycle for Slow {
    fn on_exit(&self, _: Pid, _: &ExitReason) {
        if let Some(go_on) = self.0.go_on.lock().unwrap().take() {
            self.0.ending.notify_one();
            // It fails if the test has.
            let _ = go_on.recv_timeout(HANG);
        }
    }
}

/// A process that has given up its PID has not told everybody yet.
#[test]
fn who_unlinks_or_demonitors_a_process_that_is_ending_is_not_told() {
    run(2, async {
        let slow = Slow::default();
        let host = Host::builder("test")
            .lifecycle(slow.clone())
            .start()
            .unwrap();
        let news = |mut cx: Cx<u64>| async move {
            match cx.next().await {
                Mail::Message(n) => Done(Ok(n)),
                Mail::Event(event) => Done(Err(format!("{event:?}"))),
            }
        };
        let ends = host.spawn(wait).unwrap();
        let (linked, exit) = host.future(news).exec().unwrap();
        let (traps, traps_exit) = host.future(news).trap_exits().exec().unwrap();
        let (stays, stays_exit) = host.future(wait).exec().unwrap();
        for pid in [linked, traps, stays] {
            host.link(pid, ends).unwrap();
        }
        let monitor = host.monitor(traps, ends).unwrap();
        let (go, go_on) = std::sync::mpsc::channel();
        *slow.0.go_on.lock().unwrap() = Some(go_on);
        host.terminate(ends).unwrap();
        soon("the end", slow.0.ending.notified()).await;
        assert!(!host.is_alive(ends));
        host.unlink(linked, ends);
        host.unlink(ends, traps);
        assert!(host.demonitor(ends, monitor), "it has not told");
        go.send(()).unwrap();
        // Who stays linked is told last or first, but told: the others have been passed over by then.
        let reason = soon("who stays linked", stays_exit).await.reason;
        assert!(matches!(reason, ExitReason::Linked(_)), "{reason}");
        for (pid, exit) in [(linked, exit), (traps, traps_exit)] {
            host.send(pid, 7_u64).unwrap();
            let exit = soon("who unlinked", exit).await;
            let news = exit.into_result().unwrap();
            assert_eq!(news.downcast::<Result<u64, String>>().unwrap(), Ok(7));
        }
        assert!(!host.demonitor(ends, monitor));
    });
}

/// Ends and unlinks at the same time, again and again: who lives on was not told after it had
/// unlinked.
#[test]
fn unlinking_beside_an_end_is_before_it_or_after_it() {
    run(2, async {
        let host = support::host();
        for _ in 0..500 {
            let ends = host.spawn(wait).unwrap();
            let (other, exit) = host.future(wait).trap_exits().exec().unwrap();
            host.link(other, ends).unwrap();
            let unlinks = {
                let host = host.clone();
                tress::spawn(async move {
                    host.unlink(other, ends);
                    // From now on it does not trap, and would end.
                    host.trap_exits(other, false).unwrap();
                })
            };
            let ended = host.watch(ends);
            host.terminate(ends).unwrap();
            soon("the end", ended).await;
            unlinks.await.unwrap();
            host.cancel(other, ExitReason::Shutdown).unwrap();
            let reason = soon("the other", exit).await.reason;
            assert!(matches!(reason, ExitReason::Normal), "{reason}");
        }
    });
}

#[test]
fn many_links_and_monitors_are_undone_one_by_one() {
    run(2, async {
        let host = support::host();
        let middle = host.spawn(wait).unwrap();
        let all: Vec<_> = (0..20_000)
            .map(|_| {
                host.future(wait)
                    .linked_to(middle)
                    .monitored_by(middle)
                    .exec()
                    .unwrap()
            })
            .collect();
        assert_eq!(host.process_info(middle).unwrap().links.len(), all.len());
        for (pid, exit) in all {
            host.cancel(pid, ExitReason::Shutdown).unwrap();
            soon("one of many", exit).await;
        }
        let info = host.process_info(middle).unwrap();
        assert_eq!(info.links.len(), 0);
        let down = move |mut cx: Cx<u64>| async move {
            let monitor = cx.host().monitor(cx.pid(), middle).unwrap();
            cx.host().terminate(middle).unwrap();
            match cx.next().await {
                Mail::Event(SystemEvent::Down { monitor: told, .. }) => Done(told == monitor),
                other => panic!("{other:?}"),
            }
        };
        let (_, exit) = host.future(down).exec().unwrap();
        let told = soon("the last", exit).await.into_result().unwrap();
        assert!(told.downcast::<bool>().unwrap());
    });
}

/// Each is linked to the one before it, so that all end when the first does, each because of the one
/// before it.
#[test]
fn a_long_row_of_links_ends_without_a_deep_reason() {
    run(2, async {
        let host = support::host();
        let (first, _exit) = host.future(wait).exec().unwrap();
        let mut last = None;
        let mut before = first;
        for _ in 0..50_000 {
            let (pid, exit) = host.future(wait).linked_to(before).exec().unwrap();
            (before, last) = (pid, Some(exit));
        }
        host.terminate(first).unwrap();
        let reason = soon("the last", last.unwrap()).await.reason;
        assert!(reason.to_string().len() < 2000, "{reason}");
        // What it began with is told.
        let mut inner = reason.clone();
        while let ExitReason::Linked(linked) = &inner {
            if matches!(linked.reason, ExitReason::Terminated) {
                assert_eq!(linked.pid, first);
            }
            inner = linked.reason.clone();
        }
        assert!(matches!(inner, ExitReason::Terminated));
    });
}

#[test]
fn a_time_that_the_clock_cannot_reach_is_for_ever() {
    run(2, async {
        let ever = Duration::MAX;
        let host = support::host();
        // A child that does not stop before it is let; its supervisor waits, and so does the host.
        let gate = Arc::new(Notify::new());
        let let_go = gate.clone();
        let started = Arc::new(Notify::new());
        let has_started = started.clone();
        let supervisor = Supervisor::new(Strategy::OneForOne)
            .intensity(usize::MAX, ever)
            .grace(ever)
            .child("stubborn", move |start| {
                let (gate, started) = (gate.clone(), started.clone());
                let body = |mut cx: Cx<u64>| async move {
                    started.notify_one();
                    while cx.recv().await.is_some() {}
                    gate.notified().await;
                };
                start.future(body).spawn()
            });
        supervisor.spawn(&host).unwrap();
        soon("the child", has_started.notified()).await;
        // One that would be started again when the clock ends.
        let (hopeless, hopeless_exit) = Supervisor::new(Strategy::OneForOne)
            .backoff(Backoff::new(ever, ever))
            .child("hopeless", |start| {
                start.future(|_: Cx<u64>| async {}).spawn()
            })
            .exec(&host)
            .unwrap();
        let ticks = support::scripted(move |event, out| {
            if event.is_none() {
                out.command(Tick(ever), 1);
                out.command(Sleep(ever), 2);
            } else {
                out.done(());
            }
            Ok(())
        });
        let (_, ticks_exit) = host.process(ticks).exec().unwrap();
        let shutdown = {
            let host = host.clone();
            tress::spawn(async move { host.shutdown(ever).await.is_ok() })
        };
        // Nobody is in its way but the stubborn one.
        let exit = soon("the hopeless", hopeless_exit).await;
        assert!(
            matches!(exit.reason, ExitReason::Normal),
            "{hopeless}: {}",
            exit.reason
        );
        soon("the ticks", ticks_exit).await.into_result().unwrap();
        let_go.notify_one();
        assert!(soon("the shutdown", shutdown).await.unwrap());
        assert_eq!(host.metrics().processes, 0);
    });
}
