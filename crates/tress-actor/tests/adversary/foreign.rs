//! Code of the users that panics, or comes back, wherever it is called: destructors, wakers, hooks,
//! relays.

use crate::support::{host, run, scripted};
use crate::{HANG, soon, wait};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use tress_actor::{
    Atom, Capacity, Command, CommandId, Cx, Done, Events, ExitReason, Host, Lifecycle, Message,
    Outcome, Overflow, Package, Payload, Pid, Process, ProcessContext, ProcessError, Relay, Router,
    StepOutput, Undelivered,
};

/// Panics when it is dropped, with another of its kind, a few levels deep.
struct Bomb(u8);

impl Drop for Bomb {
    fn drop(&mut self) {
        explode(self.0);
    }
}

/// Panics with something that panics when it is dropped.
fn explode(depth: u8) {
    if depth == 0 || std::thread::panicking() {
        return;
    }
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !info.payload().is::<Bomb>() {
                usual(info);
            }
        }));
    });
    std::panic::panic_any(Bomb(depth - 1));
}

impl std::fmt::Debug for Bomb {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        explode(1);
        Ok(())
    }
}

impl std::fmt::Display for Bomb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(self, f)
    }
}

impl std::error::Error for Bomb {}

/// The host works as ever, and nothing is left of anybody else.
async fn check(host: &Host) {
    let (pid, exit) = host
        .future(|mut cx: Cx<u64>| async move { Done(cx.recv().await) })
        .exec()
        .unwrap();
    host.send(pid, 7_u64).unwrap();
    let result = soon("a process", exit).await.into_result().unwrap();
    assert_eq!(result.downcast::<Option<u64>>().unwrap(), Some(7));
    let gone = async {
        while host.metrics().processes > 0 {
            tress::task::yield_now().await;
        }
    };
    soon("the end of all", gone).await;
}

/// Explodes at every call.
struct Exploding;

impl Lifecycle for Exploding {
    fn on_start(&self, _: Pid, parent: Option<Pid>) -> Result<(), ProcessError> {
        if parent.is_some() {
            explode(3);
        }
        Ok(())
    }

    fn on_exit(&self, _: Pid, _: &ExitReason) {
        explode(3);
    }

    fn on_undeliverable(&self, _: Pid, _: &Message) {
        explode(3);
    }
}

#[test]
fn messages_that_panic_when_they_are_dropped_hurt_nobody() {
    run(2, async {
        let capacity = Capacity::new(3, Overflow::DropOldest);
        let builder = Host::builder("test").mailbox(capacity).lifecycle(Exploding);
        let host = builder.start().unwrap();
        // Dropped for newer ones, of a type that the process does not take, and left at its end: in its
        // mailbox and out of it.
        let taken = Arc::new(tress::sync::Notify::new());
        let has_taken = taken.clone();
        let body = |mut cx: Cx<u64>| async move {
            cx.recv().await;
            taken.notify_one();
            std::future::pending::<()>().await;
        };
        let (pid, exit) = host.future(body).exec().unwrap();
        let ended = host.watch(pid);
        for _ in 0..10 {
            host.send(pid, Bomb(2)).unwrap();
        }
        host.send(pid, 1_u64).unwrap();
        for _ in 0..3 {
            host.send(pid, Bomb(2)).unwrap();
        }
        // The number may have been dropped for a bomb.
        host.send(pid, 1_u64).unwrap();
        soon("the number", has_taken.notified()).await;
        for _ in 0..3 {
            host.send(pid, Bomb(2)).unwrap();
        }
        host.terminate(pid).unwrap();
        assert!(matches!(
            soon("the end", ended).await,
            ExitReason::Terminated
        ));
        let reason = soon("the exit", exit).await.reason;
        assert!(matches!(reason, ExitReason::Terminated), "{reason:?}");
        // A veto that explodes.
        let refused = host.future(wait).parent(pid).spawn();
        assert!(refused.is_err());
        check(&host).await;
    });
}

struct Fragile {
    fails: bool,
}

impl Process for Fragile {
    fn init(&mut self, _: &ProcessContext<'_>, _: &str, _: Payload) -> Result<(), ProcessError> {
        Ok(())
    }

    fn step(&mut self, events: &mut Events<'_>, out: &mut StepOutput) -> Result<(), ProcessError> {
        out.idle();
        if let Some(event) = events.next() {
            events.put_back(event);
            if self.fails {
                return Err(Box::new(Bomb(2)));
            }
            explode(2);
        }
        Ok(())
    }

    fn close(&mut self) {
        explode(2);
    }
}

impl Drop for Fragile {
    fn drop(&mut self) {
        explode(2);
    }
}

#[test]
fn a_process_that_panics_everywhere_ends_once() {
    run(2, async {
        let host = host();
        for fails in [false, true] {
            let (pid, exit) = host.process(Fragile { fails }).exec().unwrap();
            for _ in 0..3 {
                // It may have ended by the first.
                host.send(pid, Bomb(2)).unwrap_or_else(std::mem::forget);
            }
            let reason = soon("the exit", exit).await.reason;
            assert!(reason.is_panic());
        }
        // Nobody wants the result.
        let (_, exit) = host
            .future(|_: Cx<u64>| async { Done(Bomb(2)) })
            .exec()
            .unwrap();
        drop(exit);
        check(&host).await;
    });
}

struct Unclear;

impl Outcome for Unclear {
    fn into_outcome(self) -> Result<Payload, ProcessError> {
        panic!("no outcome");
    }
}

#[test]
fn an_outcome_that_panics_is_the_process_s() {
    run(1, async {
        let host = host();
        let (_, exit) = host.future(|_: Cx<u64>| async { Unclear }).exec().unwrap();
        let reason = soon("the exit", exit).await.reason;
        assert_eq!(reason.to_string(), "panicked: no outcome");
        check(&host).await;
    });
}

struct Later;

impl Command for Later {
    const ID: CommandId = CommandId::user(300);
}

/// Panics when it is polled and when it is dropped.
struct Broken(#[expect(dead_code, reason = "it is there to be dropped")] Bomb);

impl Future for Broken {
    type Output = Result<(), tress_actor::CommandError>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        panic!("the command");
    }
}

#[test]
fn a_command_that_panics_once_more_when_it_is_dropped_ends_its_process() {
    run(2, async {
        let builder = Host::builder("test").command_async(|_, Later| Broken(Bomb(2)));
        let host = builder.start().unwrap();
        let process = scripted(|event, out| {
            if event.is_none() {
                out.command(Later, 1);
            }
            Ok(())
        });
        let (_, exit) = host.process(process).exec().unwrap();
        let reason = soon("the exit", exit).await.reason;
        assert_eq!(reason.to_string(), "panicked: the command");
        check(&host).await;
    });
}

/// A waker of which every function does something of the test's.
struct Wakes {
    on_clone: Box<dyn Fn() + Send + Sync>,
    on_wake: Box<dyn Fn() + Send + Sync>,
    on_drop: Box<dyn Fn() + Send + Sync>,
}

impl Wakes {
    fn waker(self) -> Waker {
        const VTABLE: RawWakerVTable = RawWakerVTable::new(
            |data| {
                // SAFETY: the data is a reference count that the waker holds.
                let this = unsafe { &*data.cast::<Wakes>() };
                (this.on_clone)();
                // SAFETY: as above.
                unsafe { Arc::increment_strong_count(data.cast::<Wakes>()) };
                RawWaker::new(data, &VTABLE)
            },
            |data| {
                // SAFETY: the waker gives its count up.
                let this = unsafe { Arc::from_raw(data.cast::<Wakes>()) };
                (this.on_wake)();
            },
            |data| {
                // SAFETY: as for the clone.
                let this = unsafe { &*data.cast::<Wakes>() };
                (this.on_wake)();
            },
            |data| {
                // SAFETY: the waker gives its count up.
                let this = unsafe { Arc::from_raw(data.cast::<Wakes>()) };
                (this.on_drop)();
            },
        );
        let data = Arc::into_raw(Arc::new(self));
        // SAFETY: the functions keep the count, and are for any thread.
        unsafe { Waker::from_raw(RawWaker::new(data.cast(), &VTABLE)) }
    }
}

#[test]
fn a_sender_s_waker_that_panics_hurts_nobody_else() {
    run(2, async {
        for ends in [false, true] {
            let capacity = Capacity::new(1, Overflow::Wait);
            let host = Host::builder("test").mailbox(capacity).start().unwrap();
            let (pid, exit) = host.future(wait).exec().unwrap();
            let gated = Arc::new(tress::sync::Notify::new());
            let gate = gated.clone();
            let body = |mut cx: Cx<u64>| async move {
                gate.notified().await;
                let mut got = 0;
                while let Some(n @ 1..) = cx.recv().await {
                    got += n;
                }
                Done(got)
            };
            let (busy, busy_exit) = host.future(body).exec().unwrap();
            host.send(busy, 1_u64).unwrap();
            // If it panicked when it is dropped, that would be the sender's, who polls with another.
            let bomb = || Wakes {
                on_clone: Box::new(|| {}),
                on_wake: Box::new(|| explode(2)),
                on_drop: Box::new(|| {}),
            };
            let mut first = Box::pin(host.send_waiting(busy, Message::new(10_u64)));
            let waker = bomb().waker();
            let mut cx = Context::from_waker(&waker);
            assert!(first.as_mut().poll(&mut cx).is_pending());
            let second = {
                let host = host.clone();
                tress::spawn(async move { host.send_waiting(busy, Message::new(100_u64)).await })
            };
            while host.process_info(busy).unwrap().waiting < 2 {
                tress::task::yield_now().await;
            }
            if ends {
                host.terminate(busy).unwrap();
                let reason = soon("the end", busy_exit).await.reason;
                assert!(matches!(reason, ExitReason::Terminated));
                assert!(soon("the second", second).await.unwrap().is_err());
                assert!(soon("the first", first).await.is_err());
            } else {
                gated.notify_one();
                soon("the first", first).await.unwrap();
                soon("the second", second).await.unwrap().unwrap();
                soon("the last", host.send_waiting(busy, Message::new(0_u64)))
                    .await
                    .unwrap();
                let got = soon("the end", busy_exit).await.into_result().unwrap();
                assert_eq!(got.downcast::<u64>().unwrap(), 111);
            }
            std::mem::forget(waker);
            host.cancel(pid, ExitReason::Shutdown).unwrap();
            soon("the other", exit).await.into_result().unwrap();
            check(&host).await;
        }
    });
}

/// A part of a process that has a waker of its own, as a set of futures would give it.
#[test]
fn the_waker_of_a_part_may_come_back_to_the_process_or_panic() {
    run(2, async {
        for panics in [false, true] {
            let host = host();
            let calls = Arc::new(AtomicUsize::new(0));
            let counted = calls.clone();
            let body = move |mut cx: Cx<u64>| async move {
                let (pid, me) = (cx.pid(), cx.host().clone());
                let busy = {
                    let calls = calls.clone();
                    move || {
                        calls.fetch_add(1, Ordering::Relaxed);
                        // Locks everything that the process has.
                        me.send(pid, 1_u64).unwrap();
                        me.trap_exits(pid, true).unwrap();
                        assert!(me.process_info(pid).is_some());
                    }
                };
                let task = Arc::new(Mutex::new(None::<Waker>));
                let waker = {
                    let (on_clone, on_drop, on_wake) = (busy.clone(), busy.clone(), busy);
                    let task = task.clone();
                    Wakes {
                        on_clone: Box::new(on_clone),
                        on_wake: Box::new(move || {
                            on_wake();
                            if panics {
                                panic!("the part");
                            }
                            if let Some(task) = &*task.lock().unwrap() {
                                task.wake_by_ref();
                            }
                        }),
                        on_drop: Box::new(on_drop),
                    }
                    .waker()
                };
                let mut got = 0;
                std::future::poll_fn(|task_cx| {
                    *task.lock().unwrap() = Some(task_cx.waker().clone());
                    let mut part = Context::from_waker(&waker);
                    while cx.poll_next(&mut part).is_ready() {
                        got += 1;
                        if got == 3 {
                            return Poll::Ready(());
                        }
                    }
                    Poll::Pending
                })
                .await;
                std::mem::forget(waker);
            };
            let (pid, exit) = host.future(body).exec().unwrap();
            while host.process_info(pid).is_some_and(|info| info.steps == 0) {
                tress::task::yield_now().await;
            }
            // It may have ended by what its waker sends.
            let _ = host.send(pid, 1_u64);
            let reason = soon("the process", exit).await.reason;
            match reason {
                ExitReason::Normal => {}
                ExitReason::Panicked(why) => assert!(panics && *why == *"the part", "{why}"),
                other => panic!("{other}"),
            }
            assert!(counted.load(Ordering::Relaxed) > 0);
            check(&host).await;
        }
    });
}

/// Panics whatever it is to carry, once it is armed.
#[derive(Default)]
struct Cut(AtomicBool);

impl Relay for Cut {
    fn relay(&self, _: Package) -> Result<(), Undelivered> {
        if self.0.load(Ordering::Relaxed) {
            explode(2);
        }
        Ok(())
    }
}

#[test]
fn a_relay_that_panics_keeps_no_process_from_ending() {
    run(2, async {
        let (router, cut) = (Router::new(), Arc::new(Cut::default()));
        router.add_node(Atom::new("far").unwrap(), cut.clone());
        let host = Host::builder("test").router(&router).start().unwrap();
        let far: Pid = "{far@away|1.1}".parse().unwrap();
        let (pid, exit) = host.future(wait).exec().unwrap();
        host.link(pid, far).unwrap();
        host.monitor(pid, far).unwrap();
        let (linked, linked_exit) = host.future(wait).linked_to(pid).exec().unwrap();
        let (watch, ended) = (host.watch(far), host.watch(pid));
        cut.0.store(true, Ordering::Relaxed);
        drop(watch);
        host.terminate(pid).unwrap();
        assert!(matches!(
            soon("the end", ended).await,
            ExitReason::Terminated
        ));
        assert!(matches!(
            soon("the exit", exit).await.reason,
            ExitReason::Terminated
        ));
        let reason = soon("who is linked", linked_exit).await.reason;
        assert!(
            matches!(reason, ExitReason::Linked(_)),
            "{linked}: {reason}"
        );
        // One that never started is nobody, though the panic is the caller's.
        let start = std::panic::AssertUnwindSafe(|| host.future(wait).linked_to(far).spawn());
        assert!(
            std::panic::catch_unwind(start)
                .map_err(std::mem::forget)
                .is_err()
        );
        check(&host).await;
    });
}

/// Comes back to its router when it is dropped.
struct Returning(Router);

impl Drop for Returning {
    fn drop(&mut self) {
        self.0.remove_node(Atom::new("elsewhere").unwrap());
    }
}

impl Relay for Returning {
    fn relay(&self, package: Package) -> Result<(), Undelivered> {
        drop(package);
        Ok(())
    }
}

#[test]
fn a_relay_may_come_back_to_its_router_when_it_is_dropped() {
    let (done, is_done) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let router = Router::new();
        let node = Atom::new("there").unwrap();
        for _ in 0..2 {
            router.set_fallback(Arc::new(Returning(router.clone())));
            router.add_node(node, Arc::new(Returning(router.clone())));
        }
        router.remove_node(node);
        done.send(()).unwrap();
    });
    is_done.recv_timeout(HANG).expect("it waits for itself");
    thread.join().unwrap();
}
