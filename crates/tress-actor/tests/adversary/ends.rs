//! Ends: who is told of them, and when.

use crate::support::run;
use crate::{HANG, soon, wait};
use std::sync::Arc;
use std::time::Duration;
use tress::sync::Notify;
use tress_actor::command::builtin::{Sleep, Tick};
use tress_actor::{
    Backoff, Cx, Done, ExitReason, Host, Lifecycle, Mail, Package, Pid, Receiver, Relay, Router,
    Strategy, Supervisor, SystemEvent, Undelivered,
};

fn monitors(host: &Host, pid: Pid) -> usize {
    host.process_info(pid).unwrap().monitors
}

#[test]
fn monitors_go_with_whoever_wanted_them() {
    run(2, async {
        let host = crate::support::host();
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
        let host = crate::support::host();
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
        let host = crate::support::host();
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
        let host = crate::support::host();
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
        let host = crate::support::host();
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
        let ticks = crate::support::scripted(move |event, out| {
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

/// The end of a child that its supervisor did not start itself, and of one that is monitored by
/// somebody else, is seen all the same.
#[test]
fn a_supervisor_sees_the_end_of_every_child() {
    run(2, async {
        let host = crate::support::host();
        let other = host.spawn(wait).unwrap();
        let (supervisor, exit) = Supervisor::new(Strategy::OneForOne)
            .child("by hand", |start| {
                start.host().future(wait).name("by hand").spawn()
            })
            .child("watched", move |start| {
                start
                    .future(wait)
                    .name("watched")
                    .monitored_by(other)
                    .spawn()
            })
            .exec(&host)
            .unwrap();
        for name in ["by hand", "watched"] {
            let lookup = || async {
                loop {
                    match host.lookup(name) {
                        Some(pid) => break pid,
                        None => tress::task::yield_now().await,
                    }
                }
            };
            let first = soon("the start", lookup()).await;
            let ended = host.watch(first);
            host.terminate(first).unwrap();
            soon("the end", ended).await;
            assert_ne!(soon("the restart", lookup()).await, first);
        }
        host.cancel(supervisor, ExitReason::Shutdown).unwrap();
        soon("the supervisor", exit).await.into_result().unwrap();
        assert!(!host.is_alive(supervisor) && host.lookup("by hand").is_none());
    });
}

/// Children end before their supervisor is asked to, which cannot start them again.
#[test]
fn a_supervisor_of_a_host_that_is_stopping_stops() {
    run(2, async {
        for _ in 0..100 {
            let host = crate::support::host();
            let started = Arc::new(Notify::new());
            let has_started = started.clone();
            let exit = Supervisor::new(Strategy::OneForOne)
                .child("short", move |start| {
                    let started = started.clone();
                    let body = |mut cx: Cx<u64>| async move {
                        started.notify_one();
                        cx.recv().await;
                    };
                    start.future(body).spawn()
                })
                .exec(&host);
            let (_, exit) = exit.unwrap();
            soon("the start", has_started.notified()).await;
            host.shutdown(Duration::MAX).await.unwrap();
            let exit = soon("the supervisor", exit).await;
            exit.into_result().unwrap();
        }
    });
}

/// The way from one host to another, on which a process ends before what it asked for arrives.
struct Late {
    to: Host,
    ends: std::sync::Mutex<Option<(Host, Pid)>>,
}

impl Relay for Late {
    fn relay(&self, package: Package) -> Result<(), Undelivered> {
        let ends = self.ends.lock().unwrap().take();
        if let Some((host, pid)) = ends {
            host.terminate(pid).unwrap();
            let begun = std::time::Instant::now();
            while host.metrics().processes > 0 && begun.elapsed() < HANG {
                std::thread::yield_now();
            }
        }
        self.to.receive(package)
    }
}

/// What it tells at its end overtakes what it has asked for.
#[test]
fn a_process_that_ends_while_it_asks_another_host_leaves_nothing_there() {
    run(2, async {
        let (here_ways, there_ways) = (Router::new(), Router::new());
        let build = |name: &str, ways| Host::builder(name).node(name).router(ways).start();
        let here = build("here", &here_ways).unwrap();
        let there = build("there", &there_ways).unwrap();
        let late = Arc::new(Late {
            to: there.clone(),
            ends: std::sync::Mutex::default(),
        });
        here_ways.add_node(there.node(), late.clone());
        let ends = std::sync::Mutex::default();
        there_ways.add_node(
            here.node(),
            Arc::new(Late {
                to: here.clone(),
                ends,
            }),
        );
        let (server, exit) = there.future(wait).exec().unwrap();
        let asks = here.spawn(wait).unwrap();
        *late.ends.lock().unwrap() = Some((here.clone(), asks));
        // It has ended, but did so while it asked.
        let _ = here.monitor(asks, server);
        assert_eq!(monitors(&there, server), 0);
        let asks = here.spawn(wait).unwrap();
        *late.ends.lock().unwrap() = Some((here.clone(), asks));
        // It lived when the link was made here: that it has ended is told to the other end.
        here.link(asks, server).unwrap();
        let reason = soon("the other end", exit).await.reason;
        assert!(matches!(reason, ExitReason::Linked(_)), "{reason}");
    });
}
