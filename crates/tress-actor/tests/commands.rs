//! Commands: dispatch, handlers, and the ones that every host has.

mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::{host, once, result_of, run, scripted, value_of};
use tress::sync::oneshot;
use tress_actor::command::builtin::{
    Cancel, ChannelReceive, ChannelSend, Demonitor, Exec, Link, Monitor, Send, Sleep, Start,
    Started, TakeBack, Terminate, Tick, Unlink,
};
use tress_actor::{
    Answer, Capacity, Command, CommandError, CommandId, Completer, Completion, Cx, Done, Event,
    Exit, ExitReason, Host, Message, MonitorRef, NoProcess, Overflow, Payload, Pid, SendError,
    StartError, SystemEvent, Topic,
};

fn waits(host: &Host) -> (Pid, tress_actor::ExitFuture) {
    let wait = |mut cx: Cx<u64>| async move { while cx.recv().await.is_some() {} };
    host.future(wait).exec().unwrap()
}

struct Double(u64);
impl Command for Double {
    const ID: CommandId = CommandId::user(256);
}

struct Later(Arc<Mutex<Option<Completer>>>, oneshot::Sender<()>);
impl Command for Later {
    const ID: CommandId = CommandId::user(60_000);
}

struct Broken;
impl Command for Broken {
    const ID: CommandId = CommandId::user(257);
}

#[test]
fn handlers_answer_at_once_or_later_or_fail() {
    run(2, async {
        let host = Host::builder("test")
            .command(|_, Double(n)| match n {
                0 => Answer::failed("nothing to double"),
                n => Answer::now(2 * n),
            })
            .command_async(|_, Broken| async { Err::<(), _>(CommandError::failed("later, too")) })
            .start()
            .unwrap();
        assert_eq!(value_of::<u64>(&host, Double(4)).await, 8);
        let error = result_of(&host, once(Double(0))).await.unwrap_err();
        assert_eq!(error.to_string(), "nothing to double");
        let error = result_of(&host, once(Broken)).await.unwrap_err();
        assert_eq!(error.to_string(), "later, too");
    });
}

#[test]
fn who_nobody_handles_or_gives_the_wrong_thing_gets_an_error() {
    run(2, async {
        let host = host();
        let error = result_of(&host, once(Double(1))).await.unwrap_err();
        assert!(matches!(error, CommandError::Unknown(id) if id == Double::ID));
        let mut asked = false;
        let wrong = scripted(move |event, out| {
            if !std::mem::replace(&mut asked, true) {
                out.command_raw(Sleep::ID, Payload::new("soon"), 7);
            } else if let Some(Event::Completion(completion)) = event {
                out.done(completion.result);
            }
            Ok(())
        });
        let error = result_of(&host, wrong).await.unwrap_err();
        assert!(matches!(error, CommandError::Payload(wanted) if wanted.contains("Sleep")));
    });
}

#[test]
fn two_handlers_for_one_command_are_an_error() {
    run(2, async {
        let double = || |_: tress_actor::Call<'_>, Double(n)| Answer::now(n);
        let twice = Host::builder("test")
            .command(double())
            .command(double())
            .start();
        assert!(matches!(twice, Err(StartError::DuplicateCommand(two)) if two.id() == Double::ID));
    });
}

#[test]
fn a_completer_works_from_anywhere_and_after_the_end_does_nothing() {
    run(2, async {
        let host = Host::builder("test")
            .command(|call, Later(place, kept)| {
                *place.lock().unwrap() = Some(call.completer());
                kept.send(()).unwrap();
                Answer::Later
            })
            .start()
            .unwrap();
        let place = Arc::new(Mutex::new(None));
        for ending in 0..3 {
            let (kept, is_kept) = oneshot::channel();
            let (pid, exit) = host
                .process(once(Later(place.clone(), kept)))
                .exec()
                .unwrap();
            is_kept.await.unwrap();
            let completer = place.lock().unwrap().take().unwrap();
            if ending == 0 {
                std::thread::spawn(move || completer.complete(Ok(Payload::new(5_u8))))
                    .join()
                    .unwrap();
                let result = exit.await.into_result().unwrap();
                let result = result.downcast::<Result<Payload, CommandError>>().unwrap();
                assert_eq!(result.unwrap().downcast::<u8>().unwrap(), 5);
            } else if ending == 1 {
                drop(completer);
                let result = exit.await.into_result().unwrap();
                let result = result.downcast::<Result<Payload, CommandError>>().unwrap();
                assert!(matches!(result, Err(CommandError::Abandoned)));
            } else {
                host.terminate(pid).unwrap();
                exit.await;
                // The place has a new owner, who does not hear of it.
                let (_, next) = waits(&host);
                assert!(!completer.emit(Payload::empty()));
                completer.complete(Ok(Payload::empty()));
                host.terminate(next.pid()).unwrap();
                assert!(matches!(next.await.reason, ExitReason::Terminated));
            }
        }
    });
}

#[test]
fn a_panic_in_a_handler_is_an_exit_reason() {
    run(2, async {
        let host = Host::builder("test")
            .command(|_, Double(_)| panic!("at once"))
            .command_async(|_, Broken| async {
                tress::task::yield_now().await;
                if true {
                    panic!("later");
                }
                Ok(())
            })
            .start()
            .unwrap();
        let (_, exit) = host.process(once(Double(1))).exec().unwrap();
        assert_eq!(exit.await.reason.to_string(), "panicked: at once");
        let (_, exit) = host.process(once(Broken)).exec().unwrap();
        assert_eq!(exit.await.reason.to_string(), "panicked: later");
    });
}

#[test]
fn commands_are_dispatched_in_order_and_complete_one_by_one() {
    run(2, async {
        let host = Host::builder("test")
            .command(|_, Double(n)| Answer::now(2 * n))
            .start()
            .unwrap();
        let mut got = Vec::new();
        let process = scripted(move |event, out| {
            match event {
                None => (0..5).for_each(|n| out.command(Double(n), n)),
                Some(Event::Completion(completion)) => {
                    got.push((
                        completion.tag,
                        completion.result?.downcast::<u64>().unwrap(),
                    ));
                    if got.len() == 5 {
                        out.done(got.clone());
                    }
                }
                Some(_) => {}
            }
            Ok(())
        });
        let (_, exit) = host.process(process).exec().unwrap();
        let got = exit
            .await
            .into_result()
            .unwrap()
            .downcast::<Vec<(u64, u64)>>()
            .unwrap();
        assert_eq!(got, [(0, 0), (1, 2), (2, 4), (3, 6), (4, 8)]);
    });
}

#[test]
fn send_keeps_the_order_even_when_it_has_to_wait() {
    run(2, async {
        let host = host();
        let (go, gate) = oneshot::channel::<()>();
        let (to, exit) = host
            .future(|mut cx: Cx<u64>| async move {
                gate.await.unwrap();
                let mut got = Vec::new();
                while got.len() < 20 {
                    got.push((cx.recv().await.unwrap(), cx.sender()));
                }
                Done(got)
            })
            .mailbox(Capacity::new(2, Overflow::Wait))
            .exec()
            .unwrap();
        let mut complete = 0;
        let sends = scripted(move |event, out| {
            match event {
                None => {
                    for n in 0..20_u64 {
                        out.command(
                            Send {
                                to,
                                message: Message::new(n),
                            },
                            n,
                        );
                    }
                }
                Some(Event::Completion(completion)) => {
                    completion.result?;
                    complete += 1;
                    if complete == 20 {
                        out.done(());
                    }
                }
                Some(_) => {}
            }
            Ok(())
        });
        let (from, sent) = host.process(sends).exec().unwrap();
        go.send(()).unwrap();
        sent.await.into_result().unwrap();
        let got = exit
            .await
            .into_result()
            .unwrap()
            .downcast::<Vec<(u64, Option<Pid>)>>()
            .unwrap();
        assert_eq!(got, (0..20).map(|n| (n, Some(from))).collect::<Vec<_>>());
        let error = result_of(
            &host,
            once(Send {
                to,
                message: Message::new(()),
            }),
        )
        .await
        .unwrap_err();
        assert!(error.downcast_ref::<SendError>().is_some());
        let reserved = Message::new(()).on(Topic::EVENTS);
        assert!(
            result_of(
                &host,
                once(Send {
                    to,
                    message: reserved
                })
            )
            .await
            .is_err()
        );
    });
}

#[test]
fn processes_start_terminate_cancel_and_wait_for_others() {
    run(2, async {
        let host = host();
        let child = || once(Sleep(Duration::ZERO));
        let started: Started = value_of(&host, Start::new(child()).name("child")).await;
        assert_eq!(started.monitor, None);
        let exit: Exit = value_of(&host, Exec(Start::new(child()))).await;
        assert!(matches!(exit.reason, ExitReason::Normal));

        let (pid, exit) = waits(&host);
        value_of::<()>(&host, Terminate(pid)).await;
        assert!(matches!(exit.await.reason, ExitReason::Terminated));
        let error = result_of(&host, once(Terminate(pid))).await.unwrap_err();
        assert_eq!(error.downcast_ref::<NoProcess>(), Some(&NoProcess(pid)));

        let (pid, exit) = waits(&host);
        value_of::<()>(
            &host,
            Cancel {
                pid,
                reason: ExitReason::Shutdown,
            },
        )
        .await;
        assert!(matches!(exit.await.reason, ExitReason::Normal));
    });
}

#[test]
fn monitors_and_links_by_command() {
    run(2, async {
        let host = host();
        let (pid, _exit) = waits(&host);
        // It takes its monitor back twice, and is done with what came of that.
        let (mut kept, mut found) = (None, Vec::new());
        let watches = scripted(move |event, out| {
            match event {
                None => out.command(Monitor(pid), 1),
                Some(Event::Completion(Completion { result, .. })) => match kept {
                    None => kept = result?.downcast::<MonitorRef>().ok(),
                    Some(_) => found.extend(result?.downcast::<bool>().ok()),
                },
                Some(_) => {}
            }
            match kept {
                Some(monitor) if found.len() < 2 => out.command(Demonitor { pid, monitor }, 2),
                Some(_) => out.done(found.clone()),
                None => {}
            }
            Ok(())
        });
        let (_, exit) = host.process(watches).exec().unwrap();
        let found = exit.await.into_result().unwrap();
        assert_eq!(found.downcast::<Vec<bool>>().unwrap(), [true, false]);
        // One that ends takes its monitors with it.
        let monitor: MonitorRef = value_of(&host, Monitor(pid)).await;
        assert!(!value_of::<bool>(&host, Demonitor { pid, monitor }).await);
        value_of::<()>(&host, Unlink(pid)).await;

        // Links, then fails: the other end goes, too.
        let mut asked = false;
        let fails = scripted(move |event, out| {
            if !std::mem::replace(&mut asked, true) {
                out.command(Link(pid), 1);
            } else if matches!(event, Some(Event::Completion(_))) {
                return Err("down".into());
            }
            Ok(())
        });
        let ended = host.watch(pid);
        host.process(fails).spawn().unwrap();
        assert!(ended.await.to_string().ends_with("failed: down"));
    });
}

#[test]
fn a_monitored_child_tells_its_end() {
    run(2, async {
        let host = host();
        let mut started = None;
        let parent = scripted(move |event, out| {
            match event {
                None => out.command(Start::new(once(Sleep(Duration::ZERO))).monitored(), 1),
                Some(Event::Completion(completion)) => {
                    started = Some(completion.result?.downcast::<Started>().unwrap());
                }
                Some(Event::Message(message)) => {
                    match message.payload.downcast::<SystemEvent>().unwrap() {
                        SystemEvent::Down {
                            monitor,
                            pid,
                            reason,
                        } => {
                            let started = started.unwrap();
                            assert_eq!((Some(monitor), pid), (started.monitor, started.pid));
                            out.done(reason.to_string());
                        }
                        other => panic!("{other:?}"),
                    }
                }
                Some(_) => {}
            }
            Ok(())
        });
        let (_, exit) = host.process(parent).exec().unwrap();
        let reason = exit
            .await
            .into_result()
            .unwrap()
            .downcast::<String>()
            .unwrap();
        assert_eq!(reason, "done");
    });
}

#[test]
fn timers_wait_tick_and_are_taken_back() {
    run(2, async {
        let host = host();
        value_of::<()>(&host, Sleep(Duration::from_millis(1))).await;
        assert!(result_of(&host, once(Tick(Duration::ZERO))).await.is_err());
        let mut ticks = Vec::new();
        let process = scripted(move |event, out| {
            match event {
                None => out.command(Tick(Duration::from_millis(1)), 1),
                Some(Event::Completion(Completion {
                    tag: 1,
                    result,
                    more: true,
                })) => {
                    ticks.push(result?.downcast::<u64>().unwrap());
                    if ticks.len() == 3 {
                        out.command(TakeBack(1), 2);
                    }
                }
                Some(Event::Completion(Completion { tag: 1, result, .. })) => {
                    assert!(matches!(result, Err(CommandError::Abandoned)));
                    out.done(ticks.clone());
                }
                Some(Event::Completion(Completion { result, .. })) => {
                    assert!(result?.downcast::<bool>().unwrap());
                }
                Some(_) => {}
            }
            Ok(())
        });
        let (_, exit) = host.process(process).exec().unwrap();
        let ticks = exit
            .await
            .into_result()
            .unwrap()
            .downcast::<Vec<u64>>()
            .unwrap();
        assert_eq!(ticks[..3], [1, 2, 3]);
    });
}

/// While a process is busy in a step, more ticks come due than it has room for.
#[test]
fn a_tick_that_was_not_taken_is_not_told_again() {
    run(3, async {
        let host = host();
        // All with one tag, as if the process did not care.
        let (go, go_on) = std::sync::mpsc::channel::<()>();
        let busy = Arc::new(tress::sync::Notify::new());
        let is_busy = busy.clone();
        let mut ticks = 0_u64;
        let process = scripted(move |event, out| {
            match event {
                None => {
                    out.command(Tick(Duration::from_millis(1)), 1);
                    out.command(Sleep(Duration::ZERO), 1);
                }
                Some(Event::Completion(Completion {
                    result, more: true, ..
                })) => {
                    ticks += 1;
                    assert_eq!(result?.downcast::<u64>().unwrap(), ticks);
                    if ticks == 3 {
                        busy.notify_one();
                        go_on.recv()?;
                        // Is answered at once, behind what is in the mailbox.
                        out.command(TakeBack(99), 2);
                    }
                }
                Some(Event::Completion(Completion { tag: 2, .. })) => out.done(ticks),
                Some(_) => {}
            }
            Ok(())
        });
        let (_, exit) = host.process(process).exec().unwrap();
        is_busy.notified().await;
        let mut others = tress::time::interval(Duration::from_millis(1));
        for _ in 0..100 {
            others.tick().await;
        }
        go.send(()).unwrap();
        let ticks = exit.await.into_result().unwrap();
        let ticks = ticks.downcast::<u64>().unwrap();
        assert!(ticks <= 4, "{ticks} ticks");
    });
}

#[test]
fn channels_by_command() {
    run(2, async {
        let host = host();
        let (sender, receiver) = tress::channel::bounded(1);
        let value = Payload::new(5_u8);
        value_of::<()>(
            &host,
            ChannelSend {
                sender: sender.clone(),
                value,
            },
        )
        .await;
        assert_eq!(
            value_of::<u8>(&host, ChannelReceive(receiver.clone())).await,
            5
        );
        drop(sender);
        assert!(
            result_of(&host, once(ChannelReceive(receiver)))
                .await
                .is_err()
        );
    });
}

#[test]
fn what_a_process_has_under_way_ends_with_it() {
    run(2, async {
        let held = Arc::new(());
        struct Hold(Arc<()>, oneshot::Sender<()>);
        impl Command for Hold {
            const ID: CommandId = CommandId::user(300);
        }
        let host = Host::builder("test")
            .command_async(|_, Hold(held, begun)| async move {
                begun.send(()).unwrap();
                let _held = held;
                std::future::pending::<Result<(), _>>().await
            })
            .start()
            .unwrap();
        let (begun, has_begun) = oneshot::channel();
        let (pid, exit) = host
            .process(once(Hold(held.clone(), begun)))
            .exec()
            .unwrap();
        has_begun.await.unwrap();
        host.terminate(pid).unwrap();
        exit.await;
        while Arc::strong_count(&held) > 1 {
            tress::task::yield_now().await;
        }
    });
}
