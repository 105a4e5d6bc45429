//! Two nodes and a wire between them: messages, monitors and links, and what happens when it is cut.

mod support;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use support::run;
use tress_actor::{
    Control, Cx, Done, ExitFuture, ExitReason, Host, Mail, Package, Pid, Receiver, Relay, Router,
    SendFailure, SystemEvent, Undelivered,
};

/// Takes packages to the host at its other end, until it is cut.
#[derive(Default)]
struct Wire {
    end: Mutex<Option<Host>>,
    cut: AtomicBool,
}

impl Relay for Wire {
    fn relay(&self, package: Package) -> Result<(), Undelivered> {
        let end = self.end.lock().unwrap().clone();
        match end {
            Some(host) if !self.cut.load(Ordering::Relaxed) => host.receive(package),
            _ => Err(Undelivered {
                why: SendFailure::NoRoute(package.target),
                package,
            }),
        }
    }
}

struct Nodes {
    here: Host,
    there: Host,
    routers: [Router; 2],
    wires: [Arc<Wire>; 2],
}

impl Nodes {
    fn new() -> Nodes {
        let routers = [Router::new(), Router::new()];
        let wires = [Arc::new(Wire::default()), Arc::new(Wire::default())];
        let start = |node: &str, router: &Router| {
            let builder = Host::builder("main").node(node).router(router);
            builder.start().unwrap()
        };
        let (here, there) = (start("here", &routers[0]), start("there", &routers[1]));
        routers[0].add_node(there.node(), wires[0].clone());
        routers[1].add_node(here.node(), wires[1].clone());
        *wires[0].end.lock().unwrap() = Some(there.clone());
        *wires[1].end.lock().unwrap() = Some(here.clone());
        Nodes {
            here,
            there,
            routers,
            wires,
        }
    }

    /// The wire breaks; both nodes notice.
    fn cut(&self) {
        for wire in &self.wires {
            wire.cut.store(true, Ordering::Relaxed);
        }
        self.routers[0].remove_node(self.there.node());
        self.routers[1].remove_node(self.here.node());
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for wire in &self.wires {
            wire.end.lock().unwrap().take();
        }
    }
}

/// Ends when it is asked to, and fails when it is sent a zero.
fn waits(host: &Host) -> (Pid, ExitFuture) {
    let wait = |mut cx: Cx<u64>| async move {
        while let Some(n) = cx.recv().await {
            if n == 0 {
                return Err("a zero");
            }
        }
        Ok(())
    };
    host.future(wait).exec().unwrap()
}

/// Is done with the first news from the system, as text.
fn listens(host: &Host) -> (Pid, ExitFuture) {
    let listen = |mut cx: Cx<u64>| async move {
        loop {
            match cx.next().await {
                Mail::Event(SystemEvent::Down { pid, reason, .. }) => {
                    return Done(format!("{pid} down: {reason}"));
                }
                Mail::Event(SystemEvent::LinkDown { pid, reason }) => {
                    return Done(format!("{pid} link down: {reason}"));
                }
                Mail::Event(other) => return Done(format!("{other:?}")),
                Mail::Message(_) => {}
            }
        }
    };
    host.future(listen).trap_exits().exec().unwrap()
}

async fn heard(exit: ExitFuture) -> String {
    exit.await.into_result().unwrap().downcast().unwrap()
}

fn monitors(host: &Host, pid: Pid) -> usize {
    host.process_info(pid).unwrap().monitors
}

#[test]
fn messages_go_both_ways_in_order_and_an_unknown_pid_is_an_error() {
    run(2, async {
        let nodes = Nodes::new();
        let answer = |mut cx: Cx<u64>| async move {
            for expected in 0..100 {
                assert_eq!(cx.recv().await, Some(expected));
                cx.send(cx.sender().unwrap(), expected + 1).unwrap();
            }
        };
        let (far, far_exit) = nodes.there.future(answer).exec().unwrap();
        let ask = move |mut cx: Cx<u64>| async move {
            for n in 0..100_u64 {
                cx.send(far, n).unwrap();
            }
            let mut got = Vec::new();
            while got.len() < 100 {
                got.push(cx.recv().await.unwrap());
            }
            Done(got)
        };
        let (_, exit) = nodes.here.future(ask).exec().unwrap();
        let got = exit.await.into_result().unwrap();
        let expected: Vec<u64> = (1..=100).collect();
        assert_eq!(got.downcast::<Vec<u64>>().unwrap(), expected);
        assert!(far_exit.await.into_result().is_ok());

        let gone = nodes.here.send(far, 1_u64).unwrap_err();
        assert_eq!(gone.why(), SendFailure::NoProcess(far));
        let elsewhere: Pid = "{nowhere@main|0.1}".parse().unwrap();
        let lost = nodes.here.send(elsewhere, 1_u64).unwrap_err();
        assert_eq!(lost.why(), SendFailure::NoRoute(elsewhere));
        nodes.cut();
        let cut = nodes.here.send(far, 1_u64).unwrap_err();
        assert_eq!(cut.why(), SendFailure::NoRoute(far));
    });
}

#[test]
fn a_monitor_tells_the_end_of_a_process_on_another_node() {
    run(2, async {
        let nodes = Nodes::new();
        let (far, far_exit) = waits(&nodes.there);
        let (watcher, news) = listens(&nodes.here);
        nodes.here.monitor(watcher, far).unwrap();
        let ended = nodes.here.watch(far);
        assert_eq!(monitors(&nodes.there, far), 2);
        nodes.here.send(far, 0_u64).unwrap();
        assert_eq!(heard(news).await, format!("{far} down: failed: a zero"));
        assert_eq!(ended.await.to_string(), "failed: a zero");
        assert!(far_exit.await.into_result().is_err());

        // Of one that has ended, at once.
        let (watcher, news) = listens(&nodes.here);
        nodes.here.monitor(watcher, far).unwrap();
        assert_eq!(heard(news).await, format!("{far} down: no such process"));
        assert!(matches!(nodes.here.watch(far).await, ExitReason::NoProcess));
        let nowhere: Pid = "{nowhere@main|0.1}".parse().unwrap();
        let ended = nodes.here.watch(nowhere).await;
        assert!(matches!(ended, ExitReason::Unreachable));
        assert!(nodes.here.monitor(far, far).is_err(), "it is not ours");
    });
}

#[test]
fn a_monitor_is_taken_back_by_hand_or_by_the_end_of_the_watcher() {
    run(2, async {
        let nodes = Nodes::new();
        let (far, _) = waits(&nodes.there);
        let (near, near_exit) = waits(&nodes.here);
        let first = nodes.here.monitor(near, far).unwrap();
        nodes.here.monitor(near, far).unwrap();
        assert_eq!(monitors(&nodes.there, far), 2);
        // A monitor of the other node's own, with the same number.
        let (local, _) = waits(&nodes.there);
        nodes.there.monitor(local, far).unwrap();
        assert!(nodes.here.demonitor(far, first));
        assert!(!nodes.here.demonitor(far, first));
        assert_eq!(monitors(&nodes.there, far), 2);
        nodes.here.terminate(near).unwrap();
        near_exit.await;
        assert_eq!(monitors(&nodes.there, far), 1);
    });
}

#[test]
fn a_cut_wire_is_the_end_of_everybody_behind_it_and_told_once() {
    run(2, async {
        let nodes = Nodes::new();
        let (far, _) = waits(&nodes.there);
        let (watcher, news) = listens(&nodes.here);
        let monitor = nodes.here.monitor(watcher, far).unwrap();
        let ended = nodes.here.watch(far);
        let (linked, linked_exit) = waits(&nodes.here);
        let (partner, _) = waits(&nodes.there);
        nodes.here.link(partner, linked).unwrap();
        let (trapping, trapped) = listens(&nodes.there);
        nodes.there.link(trapping, linked).unwrap();
        nodes.cut();
        assert_eq!(heard(news).await, format!("{far} down: cannot be reached"));
        assert!(matches!(ended.await, ExitReason::Unreachable));
        let reason = linked_exit.await.reason.to_string();
        assert!(reason.ends_with("cannot be reached"), "{reason}");
        let heard = heard(trapped).await;
        assert_eq!(heard, format!("{linked} link down: cannot be reached"));
        assert!(nodes.there.is_alive(far), "it does not mind");

        // What comes late is passed over.
        let (watcher, _) = listens(&nodes.here);
        let late = Control::Down(monitor, ExitReason::Normal);
        let package = Package {
            source: Some(far),
            target: watcher,
            messages: vec![(tress_actor::Topic::CONTROL, tress_actor::Payload::new(late))],
        };
        nodes.here.receive(package).unwrap();
        assert!(nodes.here.is_alive(watcher));
        let (watcher, news) = listens(&nodes.here);
        nodes.here.monitor(watcher, far).unwrap();
        let heard = self::heard(news).await;
        assert_eq!(heard, format!("{far} down: cannot be reached"));
    });
}

#[test]
fn links_carry_an_abnormal_end_to_the_other_node_and_a_normal_one_not() {
    run(2, async {
        let nodes = Nodes::new();
        // From there to here.
        let (far, _) = waits(&nodes.there);
        let (near, near_exit) = waits(&nodes.here);
        let (trapping, news) = listens(&nodes.here);
        nodes.here.link(near, far).unwrap();
        nodes.here.link(near, far).unwrap();
        nodes.here.link(trapping, far).unwrap();
        assert_eq!(nodes.there.process_info(far).unwrap().links.len(), 2);
        nodes.there.send(far, 0_u64).unwrap();
        let reason = near_exit.await.reason;
        assert!(matches!(&reason, ExitReason::Linked(linked) if linked.pid == far));
        let heard = heard(news).await;
        assert_eq!(heard, format!("{far} link down: failed: a zero"));

        // From here to there, though the link was made there.
        let (far, far_exit) = waits(&nodes.there);
        let (near, _) = waits(&nodes.here);
        nodes.there.link(far, near).unwrap();
        nodes.here.send(near, 0_u64).unwrap();
        assert!(matches!(far_exit.await.reason, ExitReason::Linked(_)));

        // A normal end only undoes the link; so does `unlink`.
        let (far, _) = waits(&nodes.there);
        let (near, near_exit) = waits(&nodes.here);
        let (other, other_exit) = waits(&nodes.here);
        nodes.here.link(near, far).unwrap();
        nodes.here.link(other, far).unwrap();
        nodes.here.unlink(far, other);
        nodes.here.cancel(near, ExitReason::Shutdown).unwrap();
        assert!(near_exit.await.into_result().is_ok());
        nodes.here.send(other, 0_u64).unwrap();
        assert!(other_exit.await.reason.is_abnormal());
        assert!(nodes.there.process_info(far).unwrap().links.is_empty());

        // To one that has ended.
        nodes.there.terminate(far).unwrap();
        nodes.there.watch(far).await;
        for _ in 0..200 {
            let (near, near_exit) = waits(&nodes.here);
            // It may be gone, by the link, before this returns; the link was made all the same.
            nodes.here.link(near, far).unwrap();
            let reason = near_exit.await.reason.to_string();
            assert!(reason.ends_with("no such process"), "{reason}");
        }
        assert!(nodes.here.link(far, far).is_err());
    });
}
