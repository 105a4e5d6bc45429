//! Links, monitors, names, groups.

mod support;

use support::{host, run};
use tress::sync::oneshot;
use tress_actor::{
    Cx, Done, ExitFuture, ExitReason, GroupChange, Host, Mail, NameError, NoProcess, Pid,
    SpawnError, SystemEvent,
};

/// A process that does what it is sent.
enum Do {
    Fail,
    Stop,
}

fn obeys(host: &Host) -> (Pid, ExitFuture) {
    let obey = |mut cx: Cx<Do>| async move {
        match cx.recv().await {
            Some(Do::Fail) => Err("as told"),
            _ => Ok(()),
        }
    };
    host.future(obey).exec().unwrap()
}

/// A process that hands over each event of the system, and traps exits if asked to.
fn listens(
    host: &Host,
    trap: bool,
) -> (
    Pid,
    ExitFuture,
    tress::sync::mpsc::UnboundedReceiver<SystemEvent>,
) {
    let (sender, receiver) = tress::sync::mpsc::unbounded_channel();
    let listen = move |mut cx: Cx<Do>| async move {
        while let Mail::Event(event) = cx.next().await {
            sender.send(event).unwrap();
        }
    };
    let spawn = host.future(listen);
    let spawn = if trap { spawn.trap_exits() } else { spawn };
    let (pid, exit) = spawn.exec().unwrap();
    (pid, exit, receiver)
}

#[test]
fn an_abnormal_end_is_carried_over_links_and_a_normal_one_is_not() {
    run(2, async {
        let host = host();
        let (a, a_exit) = obeys(&host);
        let (b, b_exit) = obeys(&host);
        let (c, c_exit) = obeys(&host);
        host.link(a, b).unwrap();
        host.link(b, c).unwrap();
        host.link(b, c).unwrap();
        let (d, d_exit) = obeys(&host);
        host.link(c, d).unwrap();
        host.send(d, Do::Stop).unwrap();
        d_exit.await.into_result().unwrap();
        assert!(host.is_alive(c));
        host.send(a, Do::Fail).unwrap();
        assert_eq!(a_exit.await.reason.to_string(), "failed: as told");
        let b_reason = b_exit.await.reason;
        assert!(matches!(&b_reason, ExitReason::Linked(linked) if linked.pid == a));
        assert!(matches!(c_exit.await.reason, ExitReason::Linked(linked) if linked.pid == b));
        assert_eq!(host.link(a, b), Err(NoProcess(a)));
    });
}

#[test]
fn who_traps_exits_is_told_instead() {
    run(2, async {
        let host = host();
        let (watcher, _exit, mut events) = listens(&host, true);
        let (pid, exit) = obeys(&host);
        host.link(watcher, pid).unwrap();
        host.send(pid, Do::Fail).unwrap();
        exit.await;
        let event = events.recv().await.unwrap();
        assert!(matches!(event, SystemEvent::LinkDown { pid: from, .. } if from == pid));
        // Not any more.
        host.trap_exits(watcher, false).unwrap();
        let (pid, _) = obeys(&host);
        host.link(watcher, pid).unwrap();
        let ended = host.watch(watcher);
        host.terminate(pid).unwrap();
        assert!(matches!(ended.await, ExitReason::Linked(_)));
    });
}

#[test]
fn unlinked_processes_do_not_care() {
    run(2, async {
        let host = host();
        let (a, a_exit) = obeys(&host);
        let (b, b_exit) = obeys(&host);
        host.link(a, b).unwrap();
        host.unlink(b, a);
        host.send(a, Do::Fail).unwrap();
        a_exit.await;
        host.send(b, Do::Stop).unwrap();
        assert!(matches!(b_exit.await.reason, ExitReason::Normal));
    });
}

#[test]
fn a_monitor_tells_every_end_once_and_of_the_dead_at_once() {
    run(2, async {
        let host = host();
        let (watcher, _exit, mut events) = listens(&host, false);
        for how in [Do::Stop, Do::Fail] {
            let (pid, exit) = obeys(&host);
            let monitor = host.monitor(watcher, pid).unwrap();
            host.send(pid, how).unwrap();
            exit.await;
            let Some(SystemEvent::Down {
                monitor: same,
                pid: from,
                ..
            }) = events.recv().await
            else {
                panic!("it ended");
            };
            assert_eq!((same, from), (monitor, pid));
            let monitor = host.monitor(watcher, pid).unwrap();
            let Some(SystemEvent::Down {
                monitor: same,
                reason,
                ..
            }) = events.recv().await
            else {
                panic!("it has ended");
            };
            assert!(same == monitor && matches!(reason, ExitReason::NoProcess));
            assert!(matches!(host.watch(pid).await, ExitReason::NoProcess));
        }
        let (pid, exit) = obeys(&host);
        let monitor = host.monitor(watcher, pid).unwrap();
        assert!(host.demonitor(pid, monitor) && !host.demonitor(pid, monitor));
        host.send(pid, Do::Stop).unwrap();
        exit.await;
        assert!(events.try_recv().is_err());
        assert_eq!(host.monitor(pid, watcher), Err(NoProcess(pid)));
    });
}

#[test]
fn names_have_one_owner_and_end_with_it() {
    run(2, async {
        let host = host();
        let (a, a_exit) = obeys(&host);
        let (b, _b_exit) = obeys(&host);
        host.register("first", a).unwrap();
        host.register("first", a).unwrap();
        host.register("second", a).unwrap();
        assert_eq!(host.register("first", b), Err(NameError::Taken(a)));
        assert_eq!(host.lookup("first"), Some(a));
        assert_eq!(host.unregister("first"), Some(a));
        assert_eq!(
            (host.lookup("first"), host.unregister("first")),
            (None, None)
        );
        let wait = |mut cx: Cx<Do>| async move { while cx.recv().await.is_some() {} };
        let taken = host.future(wait).name("second").spawn();
        assert!(matches!(taken, Err(SpawnError::NameTaken(_, pid)) if pid == a));
        host.send(a, Do::Stop).unwrap();
        a_exit.await;
        assert_eq!(host.lookup("second"), None);
        assert_eq!(host.register("first", a), Err(NameError::NoProcess(a)));
        let named = host.future(wait).name("second").spawn().unwrap();
        assert_eq!(host.lookup("second"), Some(named));
    });
}

#[test]
fn a_watched_group_tells_every_change_after_the_snapshot() {
    run(2, async {
        let host = host();
        let (watcher, _exit, mut events) = listens(&host, false);
        let (a, a_exit) = obeys(&host);
        let (b, _b_exit) = obeys(&host);
        host.join_group("g", a).unwrap();
        assert_eq!(host.watch_group("g", watcher).unwrap(), [a]);
        host.join_group("g", b).unwrap();
        host.join_group("g", a).unwrap();
        assert_eq!(host.group_members("g"), [a, b, a]);
        assert_eq!(host.groups(), ["g".into()]);
        assert!(host.leave_group("g", b) && !host.leave_group("g", b));
        host.send(a, Do::Stop).unwrap();
        a_exit.await;
        assert!(host.group_members("g").is_empty() && host.groups().is_empty());
        let g = || "g".into();
        let changes = [
            GroupChange::Joined(g(), b),
            GroupChange::Joined(g(), a),
            GroupChange::Left(g(), b),
            GroupChange::Left(g(), a),
            GroupChange::Left(g(), a),
        ];
        for change in changes {
            let Some(SystemEvent::Group(got)) = events.recv().await else {
                panic!()
            };
            assert_eq!(got, change);
        }
        host.unwatch_group("g", watcher);
        host.join_group("g", b).unwrap();
        assert!(events.try_recv().is_err());
        assert_eq!(host.join_group("g", a), Err(NoProcess(a)));
        assert_eq!(host.watch_group("g", a), Err(NoProcess(a)));
    });
}

#[test]
fn a_broadcast_reaches_every_member() {
    run(2, async {
        let host = host();
        let exits: Vec<_> = (0..3)
            .map(|_| {
                let (pid, exit) = host
                    .future(|mut cx: Cx<u8>| async move { Done(cx.recv().await) })
                    .exec()
                    .unwrap();
                host.join_group("all", pid).unwrap();
                exit
            })
            .collect();
        assert_eq!(host.broadcast("all", 9_u8), 3);
        for exit in exits {
            let got = exit
                .await
                .into_result()
                .unwrap()
                .downcast::<Option<u8>>()
                .unwrap();
            assert_eq!(got, Some(9));
        }
        assert_eq!(host.broadcast("nobody", 9_u8), 0);
    });
}

#[test]
fn linking_races_with_the_end() {
    // Whoever links or monitors a process that ends meanwhile hears of it, one way or the other.
    run(2, async {
        let host = host();
        for _ in 0..200 {
            let (pid, exit) = obeys(&host);
            let (ready, go) = oneshot::channel::<()>();
            let other = host.clone();
            let linker = tress::spawn(async move {
                go.await.unwrap();
                let (own, own_exit) = obeys(&other);
                match other.link(own, pid) {
                    Ok(()) => drop(own_exit.await),
                    Err(NoProcess(gone)) => {
                        assert_eq!(gone, pid);
                        other.terminate(own).unwrap();
                    }
                }
                other.watch(pid).await
            });
            ready.send(()).unwrap();
            host.send(pid, Do::Fail).unwrap();
            exit.await;
            linker.await.unwrap();
        }
    });
}
