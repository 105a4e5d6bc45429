//! Actors, supervisors, shutdown and inspection.

mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::{host, run};
use tress_actor::{
    Actor, ActorRef, AskError, Backoff, Capacity, Cx, ExitReason, Flow, Host, Mail, Overflow, Pid,
    ProcessError, ProcessState, Reply, Restart, SpawnError, Strategy, Supervisor, SystemEvent,
};

/// Answers, fails, stops, and says what became of it.
struct Member {
    name: &'static str,
    log: Arc<Mutex<Vec<String>>>,
}

enum Msg {
    Echo(u64, Reply<u64>),
    Forget(Reply<u64>),
    Hang(Reply<()>),
    Fail,
    Panic,
    Stop,
}

impl Actor for Member {
    type Msg = Msg;

    async fn started(&mut self, _: &mut Cx<Msg>) -> Result<(), ProcessError> {
        self.log.lock().unwrap().push(format!("+{}", self.name));
        Ok(())
    }

    async fn handle(&mut self, msg: Msg, _: &mut Cx<Msg>) -> Result<Flow, ProcessError> {
        match msg {
            Msg::Echo(n, reply) => reply.send(n),
            Msg::Forget(reply) => drop(reply),
            Msg::Hang(reply) => {
                reply.send(());
                std::future::pending().await
            }
            Msg::Fail => return Err("as told".into()),
            Msg::Panic => panic!("as told"),
            Msg::Stop => return Ok(Flow::Stop),
        }
        Ok(Flow::Continue)
    }

    async fn stopped(&mut self, _: &mut Cx<Msg>) {
        self.log.lock().unwrap().push(format!("-{}", self.name));
    }
}

type Log = Arc<Mutex<Vec<String>>>;

fn member(name: &'static str, log: &Log) -> Member {
    Member {
        name,
        log: log.clone(),
    }
}

fn take(log: &Log) -> String {
    std::mem::take(&mut *log.lock().unwrap()).join(" ")
}

#[test]
fn asking_is_answered_or_says_why_not() {
    run(2, async {
        let host = host();
        let actor = host.spawn_actor(member("a", &Log::default())).unwrap();
        assert_eq!(actor.ask(|reply| Msg::Echo(5, reply)).await, Ok(5));
        let pid = actor.pid();
        assert_eq!(actor.ask(Msg::Forget).await, Err(AskError::Unanswered(pid)));
        actor
            .send(Msg::Echo(1, {
                let (reply, _) = reply_of(&actor).await;
                reply
            }))
            .await
            .unwrap();
        let limit = Duration::from_millis(5);
        actor.ask(Msg::Hang).await.unwrap();
        let late = actor.ask_timeout(limit, |reply| Msg::Echo(1, reply)).await;
        assert_eq!(late, Err(AskError::TimedOut(pid, limit)));
        host.terminate(pid).unwrap();
        host.watch(pid).await;
        assert!(matches!(
            actor.ask(Msg::Forget).await,
            Err(AskError::Unsent(_))
        ));
        assert!(!actor.is_alive());
    });
}

/// A reply that somebody has given up on.
async fn reply_of(actor: &ActorRef<Msg>) -> (Reply<u64>, ()) {
    let (sender, receiver) = std::sync::mpsc::channel();
    let asked = actor.ask(move |reply| {
        sender.send(reply).unwrap();
        Msg::Forget(reply_to_nobody())
    });
    let _ = tress::time::timeout(Duration::from_millis(1), asked).await;
    let reply = receiver.recv().unwrap();
    assert!(reply.is_closed());
    (reply, ())
}

fn reply_to_nobody<T: Send + 'static>() -> Reply<T> {
    let (sender, receiver) = std::sync::mpsc::channel();
    let host = host();
    let nobody: Pid = "{local@test|1.1}".parse().unwrap();
    let asked = host.actor_ref::<()>(nobody);
    let mut asking = Box::pin(asked.ask(move |reply| sender.send(reply).unwrap()));
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(asking.as_mut().poll(&mut cx).is_ready());
    receiver.recv().unwrap()
}

#[test]
fn an_actor_stops_by_itself_when_asked_to_and_fails_otherwise() {
    run(2, async {
        let host = host();
        let log = Log::default();
        let (pid, exit) = host.actor(member("a", &log)).exec().unwrap();
        host.send(pid, Msg::Stop).unwrap();
        assert!(matches!(exit.await.reason, ExitReason::Normal));
        let (pid, exit) = host.actor(member("b", &log)).exec().unwrap();
        host.cancel(pid, ExitReason::Shutdown).unwrap();
        assert!(matches!(exit.await.reason, ExitReason::Normal));
        for msg in [Msg::Fail, Msg::Panic] {
            let (pid, exit) = host.actor(member("c", &log)).exec().unwrap();
            host.send(pid, msg).unwrap();
            assert!(exit.await.reason.to_string().ends_with("as told"));
        }
        assert_eq!(take(&log), "+a -a +b -b +c +c");
    });
}

/// Waits until a name is somebody else's than `old`.
async fn named(host: &Host, name: &str, old: Option<Pid>) -> Pid {
    loop {
        match host.lookup(name) {
            Some(pid) if Some(pid) != old && host.is_alive(pid) => return pid,
            _ => tress::task::yield_now().await,
        }
    }
}

fn three(strategy: Strategy, log: &Log) -> Supervisor {
    ["a", "b", "c"]
        .into_iter()
        .fold(Supervisor::new(strategy), |supervisor, name| {
            let log = log.clone();
            supervisor.child(name, move |start| {
                start.actor(member(name, &log)).name(name).spawn()
            })
        })
}

async fn ask_all(host: &Host) -> [Pid; 3] {
    let mut pids = Vec::new();
    for name in ["a", "b", "c"] {
        let pid = named(host, name, None).await;
        assert_eq!(
            host.actor_ref::<Msg>(pid)
                .ask(|reply| Msg::Echo(1, reply))
                .await,
            Ok(1)
        );
        pids.push(pid);
    }
    pids.try_into().unwrap()
}

#[test]
fn strategies_say_who_else_is_started_again() {
    let cases = [
        (Strategy::OneForOne, [false, true, false], "+b"),
        (Strategy::OneForAll, [true, true, true], "-c -a +a +b +c"),
        (Strategy::RestForOne, [false, true, true], "-c +b +c"),
    ];
    for (strategy, again, logged) in cases {
        run(2, async {
            let host = host();
            let log = Log::default();
            let (supervisor, exit) = three(strategy, &log).exec(&host).unwrap();
            let before = ask_all(&host).await;
            let mut started = take(&log).split(' ').map(String::from).collect::<Vec<_>>();
            started.sort();
            assert_eq!(started, ["+a", "+b", "+c"]);
            host.send(before[1], Msg::Panic).unwrap();
            for (at, name) in ["a", "b", "c"].into_iter().enumerate() {
                if again[at] {
                    named(&host, name, Some(before[at])).await;
                }
            }
            let after = ask_all(&host).await;
            for at in 0..3 {
                assert_eq!(before[at] != after[at], again[at], "{strategy:?}, {at}");
            }
            let got = take(&log);
            // Those that start run side by side; those that stop do so in turn.
            let mut got: Vec<_> = got.split(' ').collect();
            let stops = got.iter().filter(|entry| entry.starts_with('-')).count();
            got[stops..].sort_unstable();
            assert_eq!(got.join(" "), logged);
            host.cancel(supervisor, ExitReason::Shutdown).unwrap();
            exit.await.into_result().unwrap();
            assert_eq!(take(&log), "-c -b -a");
            assert_eq!(host.metrics().processes, 0);
        });
    }
}

#[test]
fn a_child_is_started_again_when_it_should_be() {
    run(2, async {
        let host = host();
        let log = Log::default();
        let child = |name: &'static str| {
            let log = log.clone();
            move |start: tress_actor::ChildHost<'_>| {
                start.actor(member(name, &log)).name(name).spawn()
            }
        };
        Supervisor::new(Strategy::OneForOne)
            .child_with("a", Restart::Never, child("a"))
            .child_with("b", Restart::OnFailure, child("b"))
            .child_with("c", Restart::Always, child("c"))
            .spawn(&host)
            .unwrap();
        let [a, b, c] = ask_all(&host).await;
        host.send(a, Msg::Fail).unwrap();
        host.watch(a).await;
        host.send(b, Msg::Fail).unwrap();
        let b = named(&host, "b", Some(b)).await;
        host.send(b, Msg::Stop).unwrap();
        host.watch(b).await;
        host.send(c, Msg::Stop).unwrap();
        named(&host, "c", Some(c)).await;
        // The supervisor saw the ends in that order, so it has decided about all of them.
        assert_eq!((host.lookup("a"), host.lookup("b")), (None, None));
    });
}

#[test]
fn a_supervisor_gives_up_when_children_keep_failing_and_takes_all_with_it() {
    run(2, async {
        let host = host();
        let log = Log::default();
        let bad = |start: tress_actor::ChildHost<'_>| {
            start
                .future(|_: Cx<()>| async { Err::<(), _>("always") })
                .spawn()
        };
        let good = {
            let log = log.clone();
            move |start: tress_actor::ChildHost<'_>| start.actor(member("good", &log)).spawn()
        };
        let (_, exit) = Supervisor::new(Strategy::OneForOne)
            .intensity(4, Duration::from_secs(60))
            .backoff(Backoff::new(
                Duration::from_micros(10),
                Duration::from_micros(50),
            ))
            .child("good", good)
            .child("bad", bad)
            .exec(&host)
            .unwrap();
        let reason = exit.await.reason.to_string();
        assert_eq!(
            reason,
            "failed: too many restarts; the last was of \"bad\": failed: always"
        );
        assert_eq!(take(&log), "+good -good");
        assert_eq!(host.metrics().processes, 0);
    });
}

#[test]
fn a_child_that_cannot_be_started_counts_as_failed() {
    run(2, async {
        let host = host();
        let tries = Arc::new(Mutex::new(0));
        let count = tries.clone();
        let (_, exit) = Supervisor::new(Strategy::OneForAll)
            .intensity(2, Duration::from_secs(60))
            .child("no", move |_| {
                *count.lock().unwrap() += 1;
                Err(SpawnError::TooMany(0))
            })
            .exec(&host)
            .unwrap();
        assert!(exit.await.reason.to_string().contains("too many restarts"));
        assert_eq!(*tries.lock().unwrap(), 3);
    });
}

#[test]
fn who_does_not_stop_when_asked_to_is_terminated_and_children_end_with_their_supervisor() {
    run(2, async {
        let host = host();
        let stubborn = |start: tress_actor::ChildHost<'_>| {
            start
                .future(|_: Cx<()>| std::future::pending::<()>())
                .name("stubborn")
                .spawn()
        };
        let supervisor = move || {
            Supervisor::new(Strategy::OneForOne)
                .grace(Duration::from_millis(1))
                .child("stubborn", stubborn)
        };
        let (pid, exit) = supervisor().exec(&host).unwrap();
        let child = named(&host, "stubborn", None).await;
        let ended = host.watch(child);
        host.cancel(pid, ExitReason::Shutdown).unwrap();
        exit.await.into_result().unwrap();
        assert!(matches!(ended.await, ExitReason::Terminated));

        // A tree: the end of the upper one takes the lower one and its child along.
        let (pid, exit) = Supervisor::new(Strategy::OneForOne)
            .child("lower", move |start| {
                start.supervisor_process(supervisor()).spawn()
            })
            .exec(&host)
            .unwrap();
        let child = named(&host, "stubborn", Some(child)).await;
        let ended = host.watch(child);
        host.terminate(pid).unwrap();
        exit.await;
        ended.await;
        while host.metrics().processes > 0 {
            tress::task::yield_now().await;
        }
    });
}

#[test]
fn shutdown_asks_then_terminates_and_reports() {
    run(2, async {
        let host = host();
        let log = Log::default();
        host.spawn_actor(member("a", &log)).unwrap();
        let stubborn = host
            .future(|mut cx: Cx<()>| async move { while let Mail::Event(_) = cx.next().await {} })
            .exec()
            .unwrap();
        let remained = host.shutdown(Duration::from_millis(5)).await.unwrap_err();
        assert_eq!(remained.terminated.len(), 1);
        assert_eq!(remained.terminated[0].pid, stubborn.0);
        assert!(remained.stuck.is_empty());
        assert!(remained.to_string().contains(&stubborn.0.to_string()));
        assert!(matches!(stubborn.1.await.reason, ExitReason::Terminated));
        assert_eq!(take(&log), "+a -a");
        let refused = host.spawn_actor(member("b", &log));
        assert!(matches!(refused, Err(SpawnError::Stopping)));
        host.shutdown(Duration::ZERO).await.unwrap();
    });
}

#[test]
fn shutdown_names_who_is_stuck_in_a_step() {
    let release = Arc::new(std::sync::Barrier::new(2));
    let stuck = release.clone();
    run(2, async {
        let host = host();
        let (begun, has_begun) = tress::sync::oneshot::channel();
        let (pid, exit) = host
            .future(|_: Cx<()>| async move {
                begun.send(()).unwrap();
                stuck.wait();
            })
            .exec()
            .unwrap();
        has_begun.await.unwrap();
        let remained = host.shutdown(Duration::ZERO).await.unwrap_err();
        assert_eq!(remained.stuck.len(), 1);
        assert_eq!(
            (remained.stuck[0].pid, remained.stuck[0].state),
            (pid, ProcessState::Running)
        );
        release.wait();
        exit.await;
    });
}

#[test]
fn a_process_can_be_looked_at() {
    run(2, async {
        let host = Host::builder("seen").start().unwrap();
        let parent = host
            .spawn_actor(member("p", &Log::default()))
            .unwrap()
            .pid();
        let actor = member("a", &Log::default());
        let spawn = host
            .actor(actor)
            .name("looked-at")
            .parent(parent)
            .linked_to(parent);
        let pid = spawn
            .mailbox(Capacity::new(2, Overflow::Reject))
            .spawn()
            .unwrap();
        let actor = host.actor_ref::<Msg>(pid);
        actor.ask(Msg::Hang).await.unwrap();
        while host.process_info(pid).unwrap().state != ProcessState::Idle {
            tress::task::yield_now().await;
        }
        for _ in 0..3 {
            let _ = actor.cast(Msg::Fail);
        }
        // It waits for something else, and rests on its messages.
        while host.process_info(pid).unwrap().state != ProcessState::Idle {
            tress::task::yield_now().await;
        }
        assert!(host.inspect().any(|info| info.pid == pid));
        let info = host.process_info(pid).unwrap();
        assert_eq!(
            (info.pid, info.parent, info.mailbox, info.waiting),
            (pid, Some(parent), 2, 0)
        );
        assert_eq!((info.counters.accepted, info.counters.rejected), (3, 1));
        assert_eq!(
            (info.names, info.links),
            (vec!["looked-at".into()], vec![parent])
        );
        assert!(info.steps >= 1);
        assert_eq!(host.processes(), [parent, pid]);
        let dump = host.debug_dump();
        for part in ["seen", "looked-at", "mailbox 2", &pid.to_string(), "Member"] {
            assert!(dump.contains(part), "{part} in {dump}");
        }
        host.terminate(pid).unwrap();
        host.watch(pid).await;
        assert!(host.process_info(pid).is_none());
        let cancelled = SystemEvent::Cancel {
            from: None,
            reason: ExitReason::Shutdown,
        };
        assert!(format!("{cancelled:?}").contains("told to stop"));
    });
}
