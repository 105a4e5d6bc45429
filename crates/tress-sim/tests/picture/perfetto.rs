//! What a trace for Perfetto holds. The numbers of fields are those of Perfetto's `trace_packet.proto`, `track_event.proto` and
//! `track_descriptor.proto`.

use crate::echo;
use crate::protobuf::Message;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::net::UdpSocket;
use tress_sim::{Builder, Fault, Faults, Recording};

/// A track event, with its time.
#[derive(Debug)]
struct Event {
    time: u64,
    kind: u64,
    track: u64,
    name: Option<String>,
    category: Option<String>,
    flow: Option<u64>,
    last_flow: Option<u64>,
    counter: Option<u64>,
}

const BEGIN: u64 = 1;
const END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;

/// A trace.
#[derive(Debug, Default)]
struct Trace {
    /// Names of processes by the uuid of their track.
    processes: BTreeMap<u64, String>,
    /// Names and parents of other tracks.
    tracks: BTreeMap<u64, (String, u64)>,
    events: Vec<Event>,
}

fn read(recording: &Recording) -> Trace {
    let mut bytes = Vec::new();
    recording.write_perfetto(&mut bytes).unwrap();
    let mut trace = Trace::default();
    for packet in Message::read(&bytes).messages(1) {
        assert_eq!(packet.number(10), Some(1), "one sequence");
        if let Some(track) = packet.message(60) {
            let uuid = track.number(1).expect("a track has a uuid");
            match track.message(3) {
                Some(process) => {
                    assert!(process.number(1).is_some_and(|pid| pid > 0));
                    let name = process.text(6).expect("a process has a name");
                    assert_eq!(trace.processes.insert(uuid, name), None);
                }
                None => {
                    let name = track.text(2).expect("a track has a name");
                    let parent = track.number(5).expect("a track has a parent");
                    assert_eq!(trace.tracks.insert(uuid, (name, parent)), None);
                }
            }
            continue;
        }
        let event = packet.message(11).expect("a track event");
        trace.events.push(Event {
            time: packet.number(8).expect("an event has a time"),
            kind: event.number(9).expect("an event has a type"),
            track: event.number(11).expect("an event has a track"),
            name: event.text(23),
            category: event.text(22),
            flow: event.number(47),
            last_flow: event.number(48),
            counter: event.number(30),
        });
    }
    trace
}

impl Trace {
    /// The name of the process that a track is of.
    fn process(&self, track: u64) -> &str {
        let process = self.tracks.get(&track).map_or(track, |(_, parent)| *parent);
        &self.processes[&process]
    }

    fn events(&self, category: &str) -> impl Iterator<Item = &Event> {
        let is_it = move |event: &&Event| event.category.as_deref() == Some(category);
        self.events.iter().filter(is_it)
    }

    /// Checks what must hold for every trace.
    fn check(&self) {
        let mut open: BTreeMap<u64, u32> = BTreeMap::new();
        let mut last = 0;
        for event in &self.events {
            assert!(event.time >= last, "{event:?} is before {last}");
            last = event.time;
            // Its track is described.
            self.process(event.track);
            let open = open.entry(event.track).or_default();
            match event.kind {
                BEGIN => *open += 1,
                END => *open = open.checked_sub(1).expect("what ends has begun"),
                INSTANT => {}
                COUNTER => assert!(event.counter.is_some()),
                other => panic!("there is no type {other}"),
            }
        }
        assert!(open.values().all(|open| *open == 0), "{open:?}");
        for (_, parent) in self.tracks.values() {
            assert!(self.processes.contains_key(parent));
        }
    }
}

#[test]
fn packets_are_flows_from_host_to_host() {
    let mut sim = echo(Builder::new().rng_seed(1));
    sim.run().unwrap();
    let trace = read(&sim.recording());
    trace.check();
    let names: Vec<_> = trace.processes.values().collect();
    assert_eq!(names, ["simulation", "server", "client"]);

    let mut starts = BTreeMap::new();
    for event in trace.events("send").filter(|event| event.flow.is_some()) {
        assert!(starts.insert(event.flow.unwrap(), event).is_none());
    }
    let mut data = Vec::new();
    for end in trace.events("receive") {
        let start = starts.remove(&end.last_flow.unwrap()).expect("it was sent");
        assert!(start.time < end.time);
        assert_eq!(start.name, end.name);
        assert_ne!(start.track, end.track);
        if start.name.as_deref() == Some("data 3 B") {
            data.push((trace.process(start.track), trace.process(end.track)));
        }
    }
    assert!(starts.is_empty(), "all that have a flow arrive");
    let once = [("client", "server"), ("server", "client")];
    assert_eq!(data, once.repeat(3));

    let counts: Vec<_> = trace
        .events
        .iter()
        .filter_map(|event| event.counter)
        .collect();
    assert!(counts.iter().all(|count| *count < 10), "{counts:?}");
    assert!(counts.contains(&1));
}

#[test]
fn what_is_lost_has_no_flow() {
    let mut sim = Builder::new().loss(1.0).build();
    sim.record();
    sim.client("client", async {
        let socket = UdpSocket::bind("0.0.0.0:1").await?;
        socket.send_to(b"x", "server:1").await?;
        Ok(())
    });
    sim.host("server", std::future::pending);
    sim.run().unwrap();
    let trace = read(&sim.recording());
    trace.check();
    let sent: Vec<_> = trace.events("send").collect();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].name.as_deref(), Some("UDP 1 B, lost by chance"));
    assert_eq!(sent[0].flow, None);
    assert_eq!(trace.events("receive").count(), 0);
}

#[test]
fn faults_states_and_failures_are_shown() {
    let faults = Faults::of([Fault::Pause, Fault::Crash, Fault::Loss])
        .every(Duration::from_millis(50))
        .lasting(Duration::from_millis(200));
    let mut sim = Builder::new().rng_seed(2).faults(faults).build();
    sim.record();
    sim.host("server", std::future::pending);
    sim.client("client", async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        Err("the end".into())
    });
    sim.run().unwrap_err();
    let trace = read(&sim.recording());
    trace.check();
    let happened = sim.fault_log().len();
    let instants = |event: &&Event| event.kind == INSTANT;
    assert_eq!(trace.events("fault").filter(instants).count(), happened);
    let slices = |event: &&Event| event.kind == BEGIN;
    assert_eq!(trace.events("fault").filter(slices).count(), happened);
    let states: Vec<_> = trace
        .events("state")
        .map(|event| event.name.clone().unwrap())
        .collect();
    for state in ["up", "paused", "loses power"] {
        assert!(states.iter().any(|name| name == state), "{states:?}");
    }
    let failures: Vec<_> = trace.events("failure").collect();
    assert_eq!(failures.len(), 1);
    assert_eq!(failures[0].name.as_deref(), Some("client failed: the end"));
    assert_eq!(trace.process(failures[0].track), "client");
}
