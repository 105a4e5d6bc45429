//! Messages between hosts and nodes, and upgrades.

mod support;

use std::sync::{Arc, Mutex};
use support::{host, run};
use tress_actor::{
    Atom, Cx, Done, Event, Events, Host, Message, Package, Payload, Pid, Process, ProcessContext,
    ProcessError, Receiver, Relay, Router, SendFailure, StartError, StepOutput, Topic, Undelivered,
};

/// A way that keeps what it is given.
#[derive(Default)]
struct Kept(Mutex<Vec<Package>>);

impl Relay for Kept {
    fn relay(&self, package: Package) -> Result<(), Undelivered> {
        self.0.lock().unwrap().push(package);
        Ok(())
    }
}

#[test]
fn a_router_knows_hosts_nodes_and_a_way_for_the_rest() {
    run(2, async {
        let router = Router::new();
        let a = Host::builder("a").router(&router).start().unwrap();
        let b = Host::builder("b").router(&router).start().unwrap();
        let again = Host::builder("a").router(&router).start();
        assert!(matches!(again, Err(StartError::HostTaken(name)) if name == a.name()));
        let (pid, exit) = b
            .future(|mut cx: Cx<u8>| async move { Done((cx.recv().await, cx.sender())) })
            .exec()
            .unwrap();
        let from: Pid = "{local@a|0.1}".parse().unwrap();
        a.send_message(pid, Message::new(5_u8).from(from)).unwrap();
        let got = exit.await.into_result().unwrap();
        assert_eq!(
            got.downcast::<(Option<u8>, Option<Pid>)>().unwrap(),
            (Some(5), Some(from))
        );
        // The other host's answer comes back with the message.
        let error = a.send(pid, 6_u8).unwrap_err();
        assert_eq!(error.why(), SendFailure::NoProcess(pid));
        assert_eq!(error.into_message().payload.downcast::<u8>().unwrap(), 6);

        let far: Pid = "{far@c|1.1}".parse().unwrap();
        assert_eq!(
            a.send(far, ()).unwrap_err().why(),
            SendFailure::NoRoute(far)
        );
        let (near, rest) = (Arc::new(Kept::default()), Arc::new(Kept::default()));
        router.set_fallback(rest.clone());
        a.send(far, 1_u8).unwrap();
        router.add_node(Atom::new("far").unwrap(), near.clone());
        a.send(far, 2_u8).unwrap();
        router.remove_node(far.node());
        a.send(far, 3_u8).unwrap();
        let numbers = |kept: &Kept| {
            let mut packages = std::mem::take(&mut *kept.0.lock().unwrap());
            let taken = packages.drain(..).flat_map(|package| package.messages);
            taken
                .map(|(_, payload)| payload.downcast::<u8>().unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!((numbers(&near), numbers(&rest)), (vec![2], vec![1, 3]));
    });
}

#[test]
fn a_package_is_delivered_in_order_as_far_as_it_can_be() {
    run(2, async {
        let host = host();
        let (pid, exit) = host
            .future(|mut cx: Cx<u8>| async move { Done([cx.recv().await, cx.recv().await]) })
            .exec()
            .unwrap();
        let message = |n: u8| (Topic::INBOX, Payload::new(n));
        let messages = vec![
            message(1),
            message(2),
            (Topic::EVENTS, Payload::empty()),
            message(3),
        ];
        let package = Package {
            source: None,
            target: pid,
            messages,
        };
        let left = host.receive(package).unwrap_err();
        assert_eq!(left.why, SendFailure::Reserved(Topic::EVENTS));
        assert_eq!(left.package.messages.len(), 2);
        let got = exit
            .await
            .into_result()
            .unwrap()
            .downcast::<[Option<u8>; 2]>()
            .unwrap();
        assert_eq!(got, [Some(1), Some(2)]);
    });
}

/// Becomes its own next version when it is sent a `()`, and says which it is when sent a number.
struct Version(u32);

impl Process for Version {
    fn init(
        &mut self,
        _: &ProcessContext<'_>,
        method: &str,
        input: Payload,
    ) -> Result<(), ProcessError> {
        match method {
            "main" => Ok(()),
            "take over" => {
                self.0 = input.downcast::<u32>().map_err(|_| "a version")?;
                Ok(())
            }
            _ => Err("there is no such method".into()),
        }
    }

    fn step(&mut self, events: &mut Events<'_>, out: &mut StepOutput) -> Result<(), ProcessError> {
        out.idle();
        while let Some(Event::Message(message)) = events.next() {
            match message.payload.downcast::<u32>() {
                Ok(0) => {
                    out.upgrade(Version(0), "forget", ());
                    return Ok(());
                }
                Ok(n) => out.done((n, self.0)),
                Err(_) => {
                    out.upgrade(Version(0), "take over", self.0 + 1);
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

#[test]
fn an_upgrade_keeps_pid_mailbox_links_and_name() {
    run(2, async {
        let host = host();
        let (other, other_exit) = host
            .future(|mut cx: Cx<()>| async move { while cx.recv().await.is_some() {} })
            .exec()
            .unwrap();
        let spawn = host.process(Version(1)).name("version").linked_to(other);
        let (pid, exit) = spawn.exec().unwrap();
        // All of it is in the mailbox before the first step, or comes later: it is the same.
        host.send(pid, ()).unwrap();
        host.send(pid, ()).unwrap();
        host.send(pid, 7_u32).unwrap();
        let got = exit
            .await
            .into_result()
            .unwrap()
            .downcast::<(u32, u32)>()
            .unwrap();
        assert_eq!(got, (7, 3));
        assert!(host.is_alive(other));

        let (pid, exit) = host
            .process(Version(1))
            .linked_to(other)
            .name("version")
            .exec()
            .unwrap();
        assert_eq!(host.lookup("version"), Some(pid));
        host.send(pid, ()).unwrap();
        host.send(pid, 0_u32).unwrap();
        assert_eq!(
            exit.await.reason.to_string(),
            "failed: there is no such method"
        );
        assert!(
            other_exit
                .await
                .reason
                .to_string()
                .contains("no such method")
        );
    });
}
