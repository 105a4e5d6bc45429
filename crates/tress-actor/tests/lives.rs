//! The lives of processes: start, steps, messages, ends.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use support::{Seen, host, run};
use tress::sync::oneshot;
use tress_actor::{
    Capacity, Cx, Done, Event, Events, ExitReason, Host, Lifecycle, Mail, Message, Overflow,
    Payload, Pid, Process, ProcessContext, ProcessError, SendFailure, SpawnError, StepOutput,
    SystemEvent, Topic,
};

type Init = dyn FnMut(&str, Payload) -> Result<(), ProcessError> + Send;
type Step = dyn FnMut(&mut Events<'_>, &mut StepOutput) -> Result<(), ProcessError> + Send;

/// A process made of closures, that counts its calls.
struct Machine {
    init: Box<Init>,
    step: Box<Step>,
    calls: Arc<Calls>,
}

#[derive(Default)]
struct Calls {
    aborts: AtomicUsize,
    closes: AtomicUsize,
}

impl Machine {
    fn new(
        step: impl FnMut(&mut Events<'_>, &mut StepOutput) -> Result<(), ProcessError> + Send + 'static,
    ) -> Machine {
        Machine {
            init: Box::new(|_, _| Ok(())),
            step: Box::new(step),
            calls: Arc::default(),
        }
    }

    fn with_init(
        mut self,
        init: impl FnMut(&str, Payload) -> Result<(), ProcessError> + Send + 'static,
    ) -> Machine {
        self.init = Box::new(init);
        self
    }
}

impl Process for Machine {
    fn init(
        &mut self,
        _: &ProcessContext<'_>,
        method: &str,
        input: Payload,
    ) -> Result<(), ProcessError> {
        (self.init)(method, input)
    }

    fn step(&mut self, events: &mut Events<'_>, out: &mut StepOutput) -> Result<(), ProcessError> {
        (self.step)(events, out)
    }

    fn abort(&mut self) {
        self.calls.aborts.fetch_add(1, Ordering::Relaxed);
    }

    fn close(&mut self) {
        self.calls.closes.fetch_add(1, Ordering::Relaxed);
    }
}

fn numbers(events: &mut Events<'_>) -> Vec<u64> {
    events
        .filter_map(|event| match event {
            Event::Message(message) => message.payload.downcast().ok(),
            _ => None,
        })
        .collect()
}

#[test]
fn a_process_is_initialised_by_the_method_that_was_asked_for() {
    run(2, async {
        let host = host();
        let machine = || {
            let text = Arc::new(std::sync::Mutex::new(String::new()));
            let seen = text.clone();
            Machine::new(move |_, out| {
                out.done(text.lock().unwrap().clone());
                Ok(())
            })
            .with_init(move |method, input| {
                let input: u32 = input.downcast().map_err(|_| "a number, please")?;
                *seen.lock().unwrap() = format!("{method}({input})");
                Ok(())
            })
        };
        let (_, exit) = host
            .process(machine())
            .method("count")
            .input(3_u32)
            .exec()
            .unwrap();
        let text = exit
            .await
            .into_result()
            .unwrap()
            .downcast::<String>()
            .unwrap();
        assert_eq!(text, "count(3)");
        let (_, exit) = host.process(machine()).input("three").exec().unwrap();
        assert_eq!(exit.await.reason.to_string(), "failed: a number, please");
    });
}

#[test]
fn init_runs_on_the_scheduler() {
    run(2, async {
        let host = host();
        let (ready, main) = (
            Arc::new(AtomicBool::new(false)),
            std::thread::current().id(),
        );
        let flag = ready.clone();
        let machine = Machine::new(|_, out| {
            out.done(());
            Ok(())
        })
        .with_init(move |_, _| {
            // `spawn` has returned before this is through, so it did not run in it.
            while !flag.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            assert_ne!(std::thread::current().id(), main);
            Ok(())
        });
        let (_, exit) = host.process(machine).exec().unwrap();
        ready.store(true, Ordering::Release);
        exit.await.into_result().unwrap();
    });
}

#[test]
fn each_way_to_fail_is_an_exit_reason_and_hurts_nobody_else() {
    run(2, async {
        let host = host();
        let calls: Arc<Calls> = Arc::default();
        let end = async |machine: Machine| {
            let machine = Machine {
                calls: calls.clone(),
                ..machine
            };
            let (pid, exit) = host.process(machine).exec().unwrap();
            let exit = exit.await;
            assert_eq!(exit.pid, pid);
            assert!(!host.is_alive(pid));
            exit.reason.to_string()
        };
        let fine = || {
            Machine::new(|_, out| {
                out.done(());
                Ok(())
            })
        };
        assert_eq!(end(fine()).await, "done");
        assert_eq!(
            end(Machine::new(|_, _| Err("broke".into()))).await,
            "failed: broke"
        );
        assert_eq!(
            end(Machine::new(|_, _| panic!("in step"))).await,
            "panicked: in step"
        );
        assert_eq!(
            end(fine().with_init(|_, _| panic!("in {}", "init"))).await,
            "panicked: in init"
        );
        assert_eq!(
            end(fine().with_init(|_, _| Err("no".into()))).await,
            "failed: no"
        );
        assert_eq!(
            end(Machine::new(|_, out| {
                out.stopped();
                Ok(())
            }))
            .await,
            "told to stop"
        );
        assert_eq!(calls.closes.load(Ordering::Relaxed), 6);
        assert_eq!(calls.aborts.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn continue_goes_to_the_tail() {
    // On one worker, a process that always continues does not keep others from running.
    run(1, async {
        let host = host();
        let stop = Arc::new(AtomicBool::new(false));
        let seen = stop.clone();
        let (_, exit) = host
            .process(Machine::new(move |_, out| {
                if seen.load(Ordering::Relaxed) {
                    out.done(());
                }
                Ok(())
            }))
            .exec()
            .unwrap();
        let other = host
            .process(Machine::new(move |_, out| {
                stop.store(true, Ordering::Relaxed);
                out.done(());
                Ok(())
            }))
            .exec()
            .unwrap();
        other.1.await.into_result().unwrap();
        exit.await.into_result().unwrap();
    });
}

#[test]
fn events_that_are_left_come_first_in_the_next_step() {
    run(2, async {
        let host = host();
        let mut got = Vec::new();
        let (pid, exit) = host
            .process(Machine::new(move |events, out| {
                if let Some(Event::Message(message)) = events.next() {
                    got.push(message.payload.downcast::<u64>().unwrap());
                }
                if got.last() == Some(&9) {
                    out.done(std::mem::take(&mut got));
                } else if events.len() == 0 {
                    out.idle();
                }
                Ok(())
            }))
            .exec()
            .unwrap();
        for n in 0..10_u64 {
            host.send(pid, n).unwrap();
        }
        let got = exit
            .await
            .into_result()
            .unwrap()
            .downcast::<Vec<u64>>()
            .unwrap();
        assert_eq!(got, (0..10).collect::<Vec<_>>());
    });
}

#[test]
fn an_unknown_pid_is_a_clear_error_and_the_message_comes_back() {
    run(2, async {
        let host = host();
        let (pid, exit) = host.future(|_: Cx<u64>| async {}).exec().unwrap();
        exit.await.into_result().unwrap();
        let error = host.send(pid, 7_u64).unwrap_err();
        assert_eq!(error.why(), SendFailure::NoProcess(pid));
        assert!(error.to_string().contains(&pid.to_string()));
        assert_eq!(error.into_message().payload.downcast::<u64>().unwrap(), 7);
        let never: Pid = "{local@test|999.1}".parse().unwrap();
        assert_eq!(
            host.send(never, ()).unwrap_err().why(),
            SendFailure::NoProcess(never)
        );
        let elsewhere: Pid = "{local@elsewhere|0.1}".parse().unwrap();
        assert_eq!(
            host.send(elsewhere, ()).unwrap_err().why(),
            SendFailure::NoRoute(elsewhere)
        );
        assert!(host.terminate(pid).is_err() && host.cancel(pid, ExitReason::Shutdown).is_err());
    });
}

#[test]
fn topics_of_the_system_are_closed_but_the_inbox() {
    run(2, async {
        let host = host();
        let orders = Topic::new("orders").unwrap();
        let (pid, exit) = host
            .process(Machine::new(|events, out| {
                out.idle();
                for event in events {
                    if let Event::Message(message) = event {
                        out.done(message.topic);
                    }
                }
                Ok(())
            }))
            .exec()
            .unwrap();
        for name in ["@pid/events", "@else"] {
            let topic = Topic::new(name).unwrap();
            let error = host
                .send_message(pid, Message::new(()).on(topic))
                .unwrap_err();
            assert_eq!(error.why(), SendFailure::Reserved(topic));
        }
        host.send_message(pid, Message::new(()).on(orders)).unwrap();
        let topic = exit
            .await
            .into_result()
            .unwrap()
            .downcast::<Topic>()
            .unwrap();
        assert_eq!(topic, orders);
    });
}

#[test]
fn terminate_evicts_whatever_the_process_waits_for() {
    run(2, async {
        let host = host();
        for pause in [
            StepOutput::idle,
            StepOutput::wait_for_yields,
            StepOutput::go_on,
        ] {
            let calls: Arc<Calls> = Arc::default();
            let (stepped, mut first) = oneshot::channel();
            let mut stepped = Some(stepped);
            let machine = Machine::new(move |_, out| {
                pause(out);
                if let Some(stepped) = stepped.take() {
                    stepped.send(()).unwrap();
                }
                Ok(())
            });
            let (pid, exit) = host
                .process(Machine {
                    calls: calls.clone(),
                    ..machine
                })
                .exec()
                .unwrap();
            (&mut first).await.unwrap();
            host.terminate(pid).unwrap();
            assert!(matches!(exit.await.reason, ExitReason::Terminated));
            assert_eq!(calls.aborts.load(Ordering::Relaxed), 1);
            assert_eq!(calls.closes.load(Ordering::Relaxed), 1);
        }
        // A future is dropped where it waits.
        let held = Arc::new(());
        let holds = held.clone();
        let (pid, exit) = host
            .future(|_: Cx<()>| async move {
                let _holds = holds;
                std::future::pending::<()>().await;
            })
            .exec()
            .unwrap();
        host.terminate(pid).unwrap();
        assert!(matches!(exit.await.reason, ExitReason::Terminated));
        assert_eq!(Arc::strong_count(&held), 1);
    });
}

#[test]
fn a_cancel_is_an_event() {
    run(2, async {
        let host = host();
        let (pid, exit) = host
            .future(|mut cx: Cx<u64>| async move {
                match cx.next().await {
                    Mail::Event(SystemEvent::Cancel { from, reason }) => {
                        Done((from, reason.to_string()))
                    }
                    other => panic!("{other:?}"),
                }
            })
            .exec()
            .unwrap();
        host.cancel(pid, ExitReason::failed("enough")).unwrap();
        let got = exit.await.into_result().unwrap();
        let got = got.downcast::<(Option<Pid>, String)>().unwrap();
        assert_eq!(got, (None, "failed: enough".to_string()));
    });
}

#[test]
fn what_a_process_did_not_receive_is_reported() {
    run(2, async {
        let seen = Seen::default();
        let host = Host::builder("test")
            .lifecycle(seen.clone())
            .start()
            .unwrap();
        let (go, gate) = oneshot::channel::<()>();
        let (pid, exit) = host
            .future(|mut cx: Cx<u64>| async move {
                gate.await.unwrap();
                assert_eq!(cx.recv().await, Some(1));
            })
            .exec()
            .unwrap();
        host.send(pid, "of another type").unwrap();
        for n in 1..=3_u64 {
            host.send(pid, n).unwrap();
        }
        go.send(()).unwrap();
        exit.await.into_result().unwrap();
        let reported = [(pid, None), (pid, Some(2)), (pid, Some(3))];
        seen.log(|log| assert_eq!(log.undeliverable, reported));
    });
}

#[test]
fn a_sender_waits_for_room_and_gives_up_without_a_trace() {
    run(2, async {
        let host = host();
        let (go, gate) = oneshot::channel::<()>();
        let (pid, exit) = host
            .future(|mut cx: Cx<u64>| async move {
                gate.await.unwrap();
                let mut got = Vec::new();
                while let Some(n) = cx.recv().await {
                    got.push(n);
                }
                Done(got)
            })
            .mailbox(Capacity::new(1, Overflow::Wait))
            .exec()
            .unwrap();
        host.send(pid, 1_u64).unwrap();
        assert_eq!(
            host.send(pid, 0_u64).unwrap_err().why(),
            SendFailure::Full(pid)
        );
        let mut given_up = Box::pin(host.send_waiting(pid, Message::new(0_u64)));
        let mut waits = Box::pin(host.send_waiting(pid, Message::new(2_u64)));
        assert!(tress::future::poll_once(&mut given_up).await.is_none());
        assert!(tress::future::poll_once(&mut waits).await.is_none());
        drop(given_up);
        go.send(()).unwrap();
        waits.await.unwrap();
        host.send_waiting(pid, Message::new(3_u64)).await.unwrap();
        host.cancel(pid, ExitReason::Shutdown).unwrap();
        let got = exit
            .await
            .into_result()
            .unwrap()
            .downcast::<Vec<u64>>()
            .unwrap();
        assert_eq!(got, [1, 2, 3]);
    });
}

#[test]
fn a_waiting_sender_gets_its_message_back_when_the_process_ends() {
    run(2, async {
        let host = host();
        let (pid, exit) = host
            .future(|_: Cx<u64>| std::future::pending::<()>())
            .mailbox(Capacity::new(1, Overflow::Wait))
            .exec()
            .unwrap();
        host.send(pid, 1_u64).unwrap();
        let mut waits = Box::pin(host.send_waiting(pid, Message::new(2_u64)));
        assert!(tress::future::poll_once(&mut waits).await.is_none());
        host.terminate(pid).unwrap();
        let error = waits.await.unwrap_err();
        assert_eq!(error.why(), SendFailure::NoProcess(pid));
        assert_eq!(error.into_message().payload.downcast::<u64>().unwrap(), 2);
        exit.await;
    });
}

#[test]
fn receiving_can_be_given_up_without_loss() {
    run(2, async {
        let host = host();
        let (pid, exit) = host
            .future(|mut cx: Cx<u64>| async move {
                let mut got = Vec::new();
                while got.len() < 100 {
                    let soon = tress::time::timeout(Duration::from_micros(1), cx.recv());
                    if let Ok(Some(n)) = soon.await {
                        got.push(n);
                    }
                }
                Done(got)
            })
            .exec()
            .unwrap();
        for n in 0..100_u64 {
            host.send(pid, n).unwrap();
            tress::task::yield_now().await;
        }
        let got = exit
            .await
            .into_result()
            .unwrap()
            .downcast::<Vec<u64>>()
            .unwrap();
        assert_eq!(got, (0..100).collect::<Vec<_>>());
    });
}

#[test]
fn only_the_process_itself_can_wait_for_its_messages() {
    run(2, async {
        let host = host();
        let (_, exit) = host
            .future(|mut cx: Cx<u64>| async move {
                let stolen = tress::spawn(async move { cx.recv().await });
                Done(stolen.await.unwrap_err().is_panic())
            })
            .exec()
            .unwrap();
        assert!(
            exit.await
                .into_result()
                .unwrap()
                .downcast::<bool>()
                .unwrap()
        );
    });
}

#[test]
fn hooks_see_every_life_and_may_veto() {
    struct Veto;
    impl Lifecycle for Veto {
        fn on_start(&self, _: Pid, parent: Option<Pid>) -> Result<(), ProcessError> {
            match parent {
                None => Ok(()),
                Some(_) => Err("no children".into()),
            }
        }
    }
    run(2, async {
        let seen = Seen::default();
        let host = Host::builder("test")
            .lifecycle(seen.clone())
            .lifecycle(Veto)
            .start()
            .unwrap();
        let (pid, exit) = host.future(|_: Cx<()>| async {}).exec().unwrap();
        exit.await.into_result().unwrap();
        let refused = host.future(|_: Cx<()>| async {}).parent(pid).spawn();
        let error = refused.unwrap_err();
        assert!(
            matches!(error, SpawnError::Vetoed(_)) && error.to_string().contains("no children")
        );
        seen.log(|log| {
            // Who saw it start sees it end.
            assert_eq!(log.started.len(), 2);
            assert_eq!(log.ended.len(), 2);
            assert_eq!(log.ended[0], (pid, "done".to_string()));
        });
    });
}

#[test]
fn no_more_processes_than_the_host_may_have() {
    run(2, async {
        let host = Host::builder("test").max_processes(2).start().unwrap();
        let wait = |mut cx: Cx<()>| async move { cx.recv().await.ok_or("told to stop") };
        let first = host.future(wait).exec().unwrap();
        let _second = host.future(wait).exec().unwrap();
        assert!(matches!(host.spawn(wait), Err(SpawnError::TooMany(2))));
        host.terminate(first.0).unwrap();
        first.1.await;
        // The place is free before the end is told.
        host.spawn(wait).unwrap();
        assert!(matches!(host.spawn(wait), Err(SpawnError::TooMany(2))));
    });
}

#[test]
fn the_end_of_the_runtime_ends_its_processes() {
    let calls: Arc<Calls> = Arc::default();
    let seen = Seen::default();
    let runtime = tress::runtime::Runtime::new().unwrap();
    let host = Host::builder("test")
        .runtime(runtime.handle())
        .lifecycle(seen.clone())
        .start()
        .unwrap();
    let machine = Machine::new(|_, out| {
        out.idle();
        Ok(())
    });
    host.process(Machine {
        calls: calls.clone(),
        ..machine
    })
    .spawn()
    .unwrap();
    host.spawn(|mut cx: Cx<()>| async move { while cx.recv().await.is_some() {} })
        .unwrap();
    drop(runtime);
    assert_eq!(calls.closes.load(Ordering::Relaxed), 1);
    seen.log(|log| {
        assert_eq!(log.ended.len(), 2);
        assert!(
            log.ended
                .iter()
                .all(|(_, why)| why == "the runtime was shut down")
        );
    });
}

#[test]
fn many_messages_in_one_batch_and_in_many() {
    run(2, async {
        let host = host();
        let mut sum = 0;
        let (pid, exit) = host
            .process(Machine::new(move |events, out| {
                out.idle();
                for n in numbers(events) {
                    sum += n;
                    if n == 0 {
                        out.done(sum);
                    }
                }
                Ok(())
            }))
            .exec()
            .unwrap();
        for n in (0..=1000_u64).rev() {
            host.send_waiting(pid, Message::new(n)).await.unwrap();
        }
        assert_eq!(
            exit.await.into_result().unwrap().downcast::<u64>().unwrap(),
            500_500
        );
    });
}
