//! Supervisors whose children are not what they expect.

use crate::support::run;
use crate::{HANG, soon, wait};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use tress::sync::Notify;
use tress_actor::{
    Cx, ExitFuture, ExitReason, Host, Lifecycle, Mail, Pid, Restart, Router, SpawnError, Strategy,
    Supervisor, SystemEvent,
};

/// Some process that has ended.
async fn dead(host: &Host) -> Pid {
    let (pid, exit) = host.future(|_: Cx<u64>| async {}).exec().unwrap();
    soon("a short life", exit).await;
    pid
}

async fn named(host: &Host, name: &str) -> Pid {
    soon("the start", async {
        loop {
            match host.lookup(name) {
                Some(pid) => break pid,
                None => tress::task::yield_now().await,
            }
        }
    })
    .await
}

async fn stop(host: &Host, supervisor: Pid, exit: ExitFuture) {
    host.cancel(supervisor, ExitReason::Shutdown).unwrap();
    soon("the supervisor", exit).await.into_result().unwrap();
}

#[test]
fn a_child_that_had_ended_before_is_started_again() {
    run(2, async {
        let host = crate::support::host();
        let gone = dead(&host).await;
        for restart in [Restart::Always, Restart::OnFailure] {
            let starts = Arc::new(AtomicUsize::new(0));
            let count = starts.clone();
            let (supervisor, exit) = Supervisor::new(Strategy::OneForOne)
                .child_with("found", restart, move |start| {
                    match count.fetch_add(1, Ordering::Relaxed) {
                        0 => Ok(gone),
                        _ => start.host().future(wait).name("found").spawn(),
                    }
                })
                .exec(&host)
                .unwrap();
            named(&host, "found").await;
            stop(&host, supervisor, exit).await;
            assert_eq!(starts.load(Ordering::Relaxed), 2);
            assert_eq!(host.lookup("found"), None, "it was stopped");
        }
        // One that is not started again keeps nobody from stopping.
        let begun = Arc::new(Notify::new());
        let has_begun = begun.clone();
        let (supervisor, exit) = Supervisor::new(Strategy::OneForOne)
            .child_with("gone", Restart::Never, move |_| {
                begun.notify_one();
                Ok(gone)
            })
            .exec(&host)
            .unwrap();
        soon("the start", has_begun.notified()).await;
        stop(&host, supervisor, exit).await;
    });
}

/// Children that are monitored only once they run, and may have ended by then.
#[test]
fn no_child_ends_unseen_between_its_start_and_its_monitor() {
    run(2, async {
        let host = crate::support::host();
        let other = host.spawn(wait).unwrap();
        for by_hand in [true, false] {
            let starts = Arc::new(AtomicUsize::new(0));
            let (supervisor, exit) = Supervisor::new(Strategy::OneForOne)
                .intensity(usize::MAX, HANG)
                .child("short", move |start| {
                    let n = starts.fetch_add(1, Ordering::Relaxed);
                    let short = move |_: Cx<u64>| async move {
                        for _ in 0..n % 4 {
                            tress::task::yield_now().await;
                        }
                    };
                    let started = match (n, by_hand) {
                        (2000, _) => return start.future(wait).name("last").spawn(),
                        (_, true) => start.host().spawn(short),
                        (_, false) => start.future(short).monitored_by(other).spawn(),
                    };
                    // Lets the other worker come first, more or less.
                    for _ in 0..n % 7 * 50 {
                        std::hint::spin_loop();
                    }
                    started
                })
                .exec(&host)
                .unwrap();
            named(&host, "last").await;
            stop(&host, supervisor, exit).await;
        }
    });
}

/// Holds the end of the first process that it sees, after its PID is gone and before anybody is told.
#[derive(Clone)]
struct Hold(Arc<Mutex<Option<mpsc::Receiver<()>>>>);

impl Lifecycle for Hold {
    fn on_exit(&self, _: Pid, _: &ExitReason) {
        let held = self.0.lock().unwrap().take();
        if let Some(go_on) = held {
            // It fails if the test has.
            let _ = go_on.recv_timeout(HANG);
        }
    }
}

/// A child that is done is not taken for one that failed because it has ended so soon.
#[test]
fn the_reason_of_a_child_that_is_just_ending_is_waited_for() {
    run(3, async {
        let (go, go_on) = mpsc::channel();
        let hold = Hold(Arc::new(Mutex::new(Some(go_on))));
        let host = Host::builder("test").lifecycle(hold).start().unwrap();
        let starts = Arc::new(AtomicUsize::new(0));
        let count = starts.clone();
        let (supervisor, exit) = Supervisor::new(Strategy::OneForOne)
            .child_with("short", Restart::OnFailure, move |start| {
                count.fetch_add(1, Ordering::Relaxed);
                let pid = start.future(|_: Cx<u64>| async {}).spawn()?;
                let begun = std::time::Instant::now();
                while start.host().is_alive(pid) && begun.elapsed() < HANG {
                    std::thread::yield_now();
                }
                Ok(pid)
            })
            .child("next", |start| start.future(wait).name("next").spawn())
            .exec(&host)
            .unwrap();
        let first = named(&host, "next").await;
        // Whatever the supervisor has heard by now is handled before this end.
        host.terminate(first).unwrap();
        soon("the restart", async {
            while host.lookup("next").is_none_or(|pid| pid == first) {
                tress::task::yield_now().await;
            }
        })
        .await;
        go.send(()).unwrap();
        stop(&host, supervisor, exit).await;
        assert_eq!(starts.load(Ordering::Relaxed), 1, "it was done");
    });
}

#[test]
fn two_children_may_be_one_process() {
    run(2, async {
        let host = crate::support::host();
        let find = |start: tress_actor::ChildHost<'_>| match start.host().lookup("shared") {
            Some(pid) => Ok(pid),
            None => start.future(wait).name("shared").spawn(),
        };
        let starts = Arc::new(AtomicUsize::new(0));
        let count = starts.clone();
        let (supervisor, exit) = Supervisor::new(Strategy::OneForOne)
            .intensity(usize::MAX, HANG)
            .child("one", find)
            .child("other", move |start| {
                let found = find(start);
                count.fetch_add(1, Ordering::Relaxed);
                found
            })
            .exec(&host)
            .unwrap();
        for n in 1..20 {
            soon("both", async {
                while starts.load(Ordering::Relaxed) < n {
                    tress::task::yield_now().await;
                }
            })
            .await;
            let shared = named(&host, "shared").await;
            // It may have ended since, if it was the one before.
            let _ = host.terminate(shared);
        }
        stop(&host, supervisor, exit).await;
        assert_eq!(host.lookup("shared"), None);
    });
}

#[test]
fn a_process_that_cannot_be_stopped_from_here_is_no_child() {
    run(2, async {
        let router = Router::new();
        let build = |name: &str| Host::builder(name).router(&router).start().unwrap();
        let (here, there) = (build("here"), build("there"));
        let far = there.spawn(wait).unwrap();
        type Start = fn(Pid, Pid) -> Pid;
        let cases: [(Start, &str); 2] = [
            (|_, supervisor| supervisor, "the supervisor itself"),
            (|far, _| far, "of another host"),
        ];
        for (which, why) in cases {
            let (_, exit) = Supervisor::new(Strategy::OneForOne)
                .child("good", |start| start.future(wait).name("good").spawn())
                .child("bad", move |start| Ok(which(far, start.supervisor())))
                .exec(&here)
                .unwrap();
            let reason = soon("the supervisor", exit).await.reason;
            assert!(
                matches!(&reason, ExitReason::Failed(error) if error.to_string().contains(why))
            );
            assert_eq!(here.lookup("good"), None, "it was stopped");
        }
        assert!(there.is_alive(far));
    });
}

/// On one thread, where nothing else runs unless the supervisor lets it.
#[test]
fn children_that_never_start_leave_time_for_others() {
    type Start = fn(&tress_actor::ChildHost<'_>, Pid) -> Result<Pid, SpawnError>;
    let starts: [Start; 2] = [
        |_, gone| Ok(gone),
        |start, gone| start.host().future(wait).linked_to(gone).spawn(),
    ];
    for begin in starts {
        let (done, is_done) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let mut runtime = tress::runtime::Builder::new_current_thread();
            let runtime = runtime.enable_all().build().unwrap();
            runtime.block_on(async {
                let host = crate::support::host();
                let gone = dead(&host).await;
                let (supervisor, exit) = Supervisor::new(Strategy::OneForOne)
                    .intensity(usize::MAX, HANG)
                    .child("hopeless", move |start| begin(&start, gone))
                    .exec(&host)
                    .unwrap();
                for _ in 0..100 {
                    tress::task::yield_now().await;
                }
                stop(&host, supervisor, exit).await;
            });
            done.send(()).unwrap();
        });
        is_done
            .recv_timeout(HANG)
            .expect("the supervisor has the thread for itself");
        thread.join().unwrap();
    }
}

/// Whoever asks about a process that is ending is told, once, whichever comes first.
#[test]
fn who_monitors_watches_or_links_beside_an_end_hears_of_it() {
    run(2, async {
        let host = crate::support::host();
        for n in 0..1000_usize {
            let ends = host
                .spawn(move |_: Cx<u64>| async move {
                    for _ in 0..n % 5 {
                        tress::task::yield_now().await;
                    }
                    Err::<(), _>("it is over")
                })
                .unwrap();
            let asks = move |mut cx: Cx<u64>| async move {
                let (host, me) = (cx.host().clone(), cx.pid());
                let monitor = host.monitor(me, ends).unwrap();
                let linked = host.link(me, ends).is_ok();
                let watched = host.watch(ends).await;
                let expected = |reason: &ExitReason| {
                    matches!(reason, ExitReason::Failed(_) | ExitReason::NoProcess)
                };
                assert!(expected(&watched), "{watched}");
                let (mut downs, mut links) = (0, 0);
                while downs + links < 1 + usize::from(linked) {
                    match cx.next().await {
                        Mail::Event(SystemEvent::Down {
                            monitor: told,
                            pid,
                            reason,
                        }) => {
                            assert!(expected(&reason), "{reason}");
                            assert_eq!((told, pid), (monitor, ends));
                            downs += 1;
                        }
                        Mail::Event(SystemEvent::LinkDown { pid, reason }) => {
                            assert!(matches!(reason, ExitReason::Failed(_)), "{reason}");
                            assert_eq!(pid, ends);
                            links += 1;
                        }
                        other => panic!("{other:?}"),
                    }
                }
                assert_eq!((downs, links), (1, usize::from(linked)));
            };
            let (_, exit) = host.future(asks).trap_exits().exec().unwrap();
            soon("who asks", exit).await.into_result().unwrap();
        }
    });
}
