//! A recording as a trace for Perfetto: a `Trace` of track events.
//!
//! Hosts are processes. Each has a track for the packets that it sends and receives, with a flow from one end to the other, a track for what
//! it prints, and one for whether it is up. A process of its own shows faults and what the test does.

use super::event::{Event, Fate, Message, State, What};
use super::proto;
use super::recording::{Recording, fate_name, plain, shown, state_name};
use crate::time::Time;
use std::io::{self, Write};

/// Numbers of fields, by message.
mod field {
    pub(super) const TRACE_PACKET: u32 = 1;

    pub(super) const TIMESTAMP: u32 = 8;
    pub(super) const SEQUENCE: u32 = 10;
    pub(super) const TRACK_EVENT: u32 = 11;
    pub(super) const SEQUENCE_FLAGS: u32 = 13;
    pub(super) const TRACK_DESCRIPTOR: u32 = 60;

    pub(super) const UUID: u32 = 1;
    pub(super) const TRACK_NAME: u32 = 2;
    pub(super) const PROCESS: u32 = 3;
    pub(super) const PARENT: u32 = 5;
    pub(super) const COUNTER: u32 = 8;
    pub(super) const PID: u32 = 1;
    pub(super) const PROCESS_NAME: u32 = 6;

    pub(super) const ANNOTATION: u32 = 4;
    pub(super) const TYPE: u32 = 9;
    pub(super) const TRACK: u32 = 11;
    pub(super) const CATEGORY: u32 = 22;
    pub(super) const NAME: u32 = 23;
    pub(super) const COUNTER_VALUE: u32 = 30;
    pub(super) const FLOW: u32 = 47;
    pub(super) const LAST_FLOW: u32 = 48;

    pub(super) const ANNOTATION_NUMBER: u32 = 3;
    pub(super) const ANNOTATION_TEXT: u32 = 6;
    pub(super) const ANNOTATION_NAME: u32 = 10;
}

/// Types of track events.
const BEGIN: u64 = 1;
const END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;

/// All events are of one sequence, whose state is new.
const SEQUENCE: u64 = 1;
const STATE_IS_CLEARED: u64 = 1;

/// Tracks: those of the simulation, and from `HOSTS` on `TRACKS` for each host.
const SIMULATION: u64 = 1;
const ON_THEIR_WAY: u64 = 2;
const TEST: u64 = 3;
const HOSTS: u64 = 1_000;
const TRACKS: u64 = 10;
/// From here on, one for each fault that is under way at the same time.
const FAULTS: u64 = 1 << 40;

/// Virtual time that sending or receiving is shown as, in nanoseconds: that of a system call.
const SHOWN: u64 = 200;

/// A track of a host.
#[derive(Debug, Clone, Copy)]
enum Of {
    Host = 0,
    State = 1,
    Network = 2,
    Output = 3,
}

fn track(host: usize, of: Of) -> u64 {
    HOSTS + host as u64 * TRACKS + of as u64
}

/// Writes the trace.
///
/// # Errors
/// Any error of the writer.
pub(super) fn write(recording: &Recording, mut writer: impl Write) -> io::Result<()> {
    for packet in tracks(recording) {
        writer.write_all(&in_trace(packet))?;
    }
    let mut events = Events::default();
    events.packets(recording);
    events.states(recording);
    events.faults(recording);
    for event in &recording.events {
        events.instant(recording, event);
    }
    if let Some(verdict) = &recording.verdict {
        let at = Time(recording.end().as_nanos() as u64);
        events.add(at, named(INSTANT, SIMULATION, "failure", verdict));
    }
    for (time, event) in events.sorted() {
        let packet = proto::Message::new()
            .number(field::TIMESTAMP, time.0)
            .number(field::SEQUENCE, SEQUENCE)
            .message(field::TRACK_EVENT, event);
        writer.write_all(&in_trace(packet))?;
    }
    writer.flush()
}

fn in_trace(packet: proto::Message) -> Vec<u8> {
    proto::Message::new()
        .message(field::TRACE_PACKET, packet)
        .into_bytes()
}

/// The packets that describe the tracks.
fn tracks(recording: &Recording) -> Vec<proto::Message> {
    let mut tracks = vec![
        process(SIMULATION, 1, "simulation"),
        child(TEST, SIMULATION, "test"),
        child(ON_THEIR_WAY, SIMULATION, "packets on their way")
            .message(field::COUNTER, proto::Message::new()),
    ];
    for (lane, _) in lanes(recording).iter().enumerate() {
        tracks.push(child(FAULTS + lane as u64, SIMULATION, "faults"));
    }
    for host in 0..recording.number_of_hosts() {
        let (name, of_host) = (recording.host(host), track(host, Of::Host));
        tracks.push(process(of_host, host as u64 + 2, &name));
        for (of, name) in [
            (Of::State, "state"),
            (Of::Network, "network"),
            (Of::Output, "output"),
        ] {
            tracks.push(child(track(host, of), of_host, name));
        }
    }
    let packets = tracks.into_iter().enumerate().map(|(at, track)| {
        let packet = proto::Message::new().number(field::SEQUENCE, SEQUENCE);
        let packet = match at {
            0 => packet.number(field::SEQUENCE_FLAGS, STATE_IS_CLEARED),
            _ => packet,
        };
        packet.message(field::TRACK_DESCRIPTOR, track)
    });
    packets.collect()
}

fn process(uuid: u64, pid: u64, name: &str) -> proto::Message {
    let process = proto::Message::new()
        .number(field::PID, pid)
        .text(field::PROCESS_NAME, name);
    proto::Message::new()
        .number(field::UUID, uuid)
        .message(field::PROCESS, process)
}

fn child(uuid: u64, parent: u64, name: &str) -> proto::Message {
    proto::Message::new()
        .number(field::UUID, uuid)
        .number(field::PARENT, parent)
        .text(field::TRACK_NAME, name)
}

/// Returns when the last fault of each lane ends: faults that overlap are in different ones.
fn lanes(recording: &Recording) -> Vec<Time> {
    let mut lanes = Vec::new();
    for (start, end, ..) in faults(recording) {
        let lane = lane(&lanes, start);
        match lanes.get_mut(lane) {
            Some(busy) => *busy = end,
            None => lanes.push(end),
        }
    }
    lanes
}

/// The first lane that is free at that time.
fn lane(lanes: &[Time], start: Time) -> usize {
    let free = lanes.iter().position(|busy| *busy <= start);
    free.unwrap_or(lanes.len())
}

/// The faults: start, end, and what they are.
fn faults(recording: &Recording) -> impl Iterator<Item = (Time, Time, String, &str)> {
    let last = Time(recording.end().as_nanos() as u64);
    recording.events.iter().filter_map(move |event| {
        let What::Fault {
            number,
            kind,
            lasting,
            what,
        } = &event.what
        else {
            return None;
        };
        let end = (event.time + *lasting).min(last).max(event.time);
        Some((event.time, end, format!("#{number} {kind}"), &what[..]))
    })
}

/// Track events, with their times.
#[derive(Debug, Default)]
struct Events(Vec<(Time, proto::Message)>);

fn named(kind: u64, track: u64, category: &str, name: &str) -> proto::Message {
    proto::Message::new()
        .number(field::TYPE, kind)
        .number(field::TRACK, track)
        .text(field::CATEGORY, category)
        .text(field::NAME, name)
}

fn end_on(track: u64) -> proto::Message {
    proto::Message::new()
        .number(field::TYPE, END)
        .number(field::TRACK, track)
}

fn with_text(event: proto::Message, name: &str, text: &str) -> proto::Message {
    let annotation = proto::Message::new()
        .text(field::ANNOTATION_NAME, name)
        .text(field::ANNOTATION_TEXT, text);
    event.message(field::ANNOTATION, annotation)
}

fn with_number(event: proto::Message, name: &str, number: u64) -> proto::Message {
    let annotation = proto::Message::new()
        .text(field::ANNOTATION_NAME, name)
        .number(field::ANNOTATION_NUMBER, number);
    event.message(field::ANNOTATION, annotation)
}

/// One end of the way of a packet.
struct Point {
    time: Time,
    track: u64,
    event: proto::Message,
}

impl Events {
    fn add(&mut self, time: Time, event: proto::Message) {
        self.0.push((time, event));
    }

    /// Events of one time stay in the order in which they were added.
    fn sorted(mut self) -> Vec<(Time, proto::Message)> {
        self.0.sort_by_key(|(time, _)| *time);
        self.0
    }

    /// Adds packets as short slices at both ends, with a flow between them, and how many are on their way.
    fn packets(&mut self, recording: &Recording) {
        let mut points = Vec::new();
        let mut changes: Vec<(Time, i64)> = Vec::new();
        let packets = recording
            .events
            .iter()
            .filter_map(|event| match &event.what {
                What::Packet(message) => Some((event.time, message)),
                _ => None,
            });
        for (flow, (time, message)) in (1..).zip(packets) {
            let of_sender = track(message.from, Of::Network);
            let sent = described(named(BEGIN, of_sender, "send", &message.title()), message);
            changes.extend([(message.sent, 1), (time, -1)]);
            let receiver = message.to.filter(|_| message.fate == Fate::Delivered);
            let Some(receiver) = receiver else {
                let (time, track, event) = (message.sent, of_sender, sent);
                points.push(Point { time, track, event });
                continue;
            };
            points.push(Point {
                time: message.sent,
                track: of_sender,
                event: sent.fixed(field::FLOW, flow),
            });
            let track = track(receiver, Of::Network);
            // What it is stands at the other end of the flow.
            let received = named(BEGIN, track, "receive", &message.title());
            points.push(Point {
                time,
                track,
                event: received.fixed(field::LAST_FLOW, flow),
            });
        }
        self.slices(points);
        self.on_their_way(changes);
    }

    /// Adds slices that end before the next one of their track begins.
    fn slices(&mut self, mut points: Vec<Point>) {
        points.sort_by_key(|point| (point.track, point.time));
        let mut points = points.into_iter().peekable();
        while let Some(Point { time, track, event }) = points.next() {
            let next = points.peek().filter(|next| next.track == track);
            let longest = Time(time.0.saturating_add(SHOWN));
            let end = next.map_or(longest, |next| next.time.min(longest));
            self.add(time, event);
            self.add(end, end_on(track));
        }
    }

    fn on_their_way(&mut self, mut changes: Vec<(Time, i64)>) {
        // What arrives at a time goes before what is sent then, but not before it was sent.
        changes.sort_by_key(|(time, _)| *time);
        let mut number = 0;
        let mut changes = changes.into_iter().peekable();
        while let Some((time, change)) = changes.next() {
            number += change;
            if changes.peek().is_some_and(|(next, _)| *next == time) {
                continue;
            }
            let event = proto::Message::new()
                .number(field::TYPE, COUNTER)
                .number(field::TRACK, ON_THEIR_WAY)
                .number(field::COUNTER_VALUE, number.max(0) as u64);
            self.add(time, event);
        }
    }

    /// Adds when hosts are up, and when they are paused.
    fn states(&mut self, recording: &Recording) {
        let last = Time(recording.end().as_nanos() as u64);
        for host in 0..recording.number_of_hosts() {
            let track = track(host, Of::State);
            let (mut is_up, mut is_paused) = (false, false);
            let states = recording
                .events
                .iter()
                .filter_map(|event| match event.what {
                    What::State { host: of, state } if of == host => Some((event.time, state)),
                    _ => None,
                });
            for (time, state) in states {
                let goes_on = matches!(state, State::Paused);
                if is_paused && !goes_on {
                    self.add(time, end_on(track));
                    is_paused = false;
                }
                match state {
                    State::Started if !is_up => {
                        self.add(time, named(BEGIN, track, "state", "up"));
                        is_up = true;
                    }
                    State::Paused if !is_paused => {
                        self.add(time, named(BEGIN, track, "state", "paused"));
                        is_paused = true;
                    }
                    State::PowerLost | State::Killed | State::Ended => {
                        if is_up {
                            self.add(time, end_on(track));
                        }
                        is_up = false;
                        self.add(time, named(INSTANT, track, "state", state_name(state)));
                    }
                    _ => {}
                }
            }
            for _ in 0..usize::from(is_up) + usize::from(is_paused) {
                self.add(last, end_on(track));
            }
        }
    }

    fn faults(&mut self, recording: &Recording) {
        let mut busy = Vec::new();
        for (start, end, name, what) in faults(recording) {
            let lane = lane(&busy, start);
            match busy.get_mut(lane) {
                Some(busy) => *busy = end,
                None => busy.push(end),
            }
            let track = FAULTS + lane as u64;
            let event = named(BEGIN, track, "fault", &name);
            self.add(start, with_text(event, "what", what));
            self.add(end, end_on(track));
            let event = named(INSTANT, SIMULATION, "fault", &name);
            self.add(start, with_text(event, "what", what));
        }
    }

    /// Adds what has no duration.
    fn instant(&mut self, recording: &Recording, event: &Event) {
        let time = event.time;
        match &event.what {
            What::Output {
                host,
                is_error,
                bytes,
            } => {
                let track = host.map_or(TEST, |host| track(host, Of::Output));
                let category = if *is_error { "stderr" } else { "stdout" };
                let text = plain(bytes);
                self.add(time, named(INSTANT, track, category, &text));
            }
            What::Act(text) => self.add(time, named(INSTANT, TEST, "test", text)),
            What::Heal => self.add(time, named(INSTANT, SIMULATION, "fault", "all faults end")),
            What::Failure { host, text } => {
                let track = host.map_or(SIMULATION, |host| track(host, Of::Host));
                let name = match host {
                    Some(host) => format!("{} {text}", recording.host(*host)),
                    None => text.clone(),
                };
                self.add(time, named(INSTANT, track, "failure", &name));
            }
            What::Packet(_) | What::State { .. } | What::Fault { .. } => {}
        }
    }
}

fn described(event: proto::Message, message: &Message) -> proto::Message {
    let event = with_text(event, "from", &message.source.to_string());
    let event = with_text(event, "to", &message.destination.to_string());
    let event = with_text(event, "fate", fate_name(message.fate));
    let event = with_number(event, "bytes", message.length.into());
    match message.bytes.is_empty() {
        true => event,
        false => with_text(event, "data", &shown(&message.bytes)),
    }
}
