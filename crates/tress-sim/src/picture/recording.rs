//! What was recorded of a run.

use super::event::{Event, Fate, Message, State, What};
use super::tape::Tape;
use super::{html, perfetto};
use crate::net::{Loss, Packet, PacketId, PacketKind};
use crate::time::Time;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::mem;
use std::time::Duration;

/// Maximum number of packets and lines that a recording keeps: the last ones.
pub(super) const EVENTS: usize = 50_000;

/// What was recorded of a simulation: packets, what hosts have printed, faults, crashes, and how it has failed.
///
/// Returned by [`Sim::recording`](crate::Sim::recording). It keeps the last 50,000 packets and lines, and says how many earlier ones
/// it has left out.
///
/// # Examples
/// ```
/// use tokio::net::UdpSocket;
/// use tress_sim::Builder;
///
/// let mut sim = Builder::new().build();
/// sim.record();
/// sim.client("client", async {
///     let socket = UdpSocket::bind("0.0.0.0:0").await?;
///     socket.send_to(b"hello", "client:7").await?;
///     Ok(())
/// });
/// sim.run()?;
/// let recording = sim.recording().titled("A datagram");
/// let mut page = Vec::new();
/// recording.write_html(&mut page)?;
/// assert!(page.starts_with(b"<!doctype html>"));
/// # Ok::<(), tress_sim::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Recording {
    pub(super) title: String,
    pub(super) seed: u64,
    pub(super) hosts: Vec<String>,
    /// In the order in which they were recorded.
    pub(super) events: Vec<Event>,
    pub(super) left_out: u64,
    /// How the whole has failed, if that is known and no event says so.
    pub(super) verdict: Option<String>,
}

impl Recording {
    /// Reads a tape.
    pub(crate) fn read(tape: &Tape) -> Recording {
        let contents = tape.contents();
        let mut events = Vec::with_capacity(contents.entries.len());
        for entry in contents.entries {
            let time = entry.time;
            events.extend(What::read(&entry.bytes).map(|what| Event { time, what }));
        }
        let mut recording = Recording {
            title: format!("Simulation with seed {}", contents.seed),
            seed: contents.seed,
            hosts: contents.names,
            events: lines(events),
            left_out: contents.overwritten,
            verdict: None,
        };
        recording.cut(EVENTS);
        recording.end_healed();
        recording
    }

    /// Adds packets that have not arrived.
    pub(crate) fn with_packets<'a>(
        mut self,
        now: Time,
        packets: impl Iterator<Item = (PacketId, &'a Packet)>,
    ) -> Recording {
        let events = packets.map(|(_, packet)| Event {
            time: now,
            what: What::Packet(Message::under_way(packet)),
        });
        self.events.extend(events);
        self.cut(EVENTS);
        self
    }

    /// Keeps that many packets and lines, and everything else.
    fn cut(&mut self, limit: usize) {
        let is_frequent =
            |event: &Event| matches!(event.what, What::Packet(_) | What::Output { .. });
        let frequent = self
            .events
            .iter()
            .filter(|event| is_frequent(event))
            .count();
        let mut surplus = frequent.saturating_sub(limit);
        self.left_out += surplus as u64;
        self.events.retain(|event| {
            let goes = surplus > 0 && is_frequent(event);
            surplus -= usize::from(goes);
            !goes
        });
    }

    /// Lets faults end where all were ended.
    fn end_healed(&mut self) {
        let mut healed = None;
        for event in self.events.iter_mut().rev() {
            match &mut event.what {
                What::Heal => healed = Some(event.time),
                What::Fault { lasting, .. } => {
                    if let Some(healed) = healed {
                        *lasting = (*lasting).min(healed.since(event.time));
                    }
                }
                _ => {}
            }
        }
    }

    /// Sets the title, which is that of the page.
    pub fn titled(mut self, title: impl Into<String>) -> Recording {
        self.title = title.into();
        self
    }

    /// Says how the whole has failed. If the last failure is the same, it is enough; its text may have been cut.
    pub(crate) fn failed(mut self, how: String) -> Recording {
        let last = self
            .events
            .iter_mut()
            .rev()
            .find_map(|event| match &mut event.what {
                What::Failure { text, .. } => Some(text),
                _ => None,
            });
        match last.and_then(|text| Some((how.find(&*text)?, text))) {
            Some((at, text)) => *text = how[at..].to_string(),
            None => self.verdict = Some(how),
        }
        self
    }

    /// Returns how many events were recorded but are left out, since there are later ones.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Returns the virtual time of the last event.
    pub fn end(&self) -> Duration {
        let last = self.events.iter().map(|event| event.time).max();
        last.unwrap_or(Time::START).elapsed()
    }

    /// Writes a page for a browser: hosts as columns, time downwards, packets as arrows.
    ///
    /// It is one file, which loads nothing from elsewhere.
    ///
    /// # Errors
    /// Any error of the writer.
    pub fn write_html(&self, writer: impl Write) -> io::Result<()> {
        html::write(self, writer)
    }

    /// Writes a trace for [Perfetto](https://ui.perfetto.dev): hosts as processes, packets as flows between them.
    ///
    /// # Errors
    /// Any error of the writer.
    pub fn write_perfetto(&self, writer: impl Write) -> io::Result<()> {
        perfetto::write(self, writer)
    }

    /// The name of a host.
    pub(super) fn host(&self, host: usize) -> String {
        let name = self.hosts.get(host).cloned();
        name.unwrap_or_else(|| format!("host {host}"))
    }

    /// The number of hosts that are named, or that an event is of.
    pub(super) fn number_of_hosts(&self) -> usize {
        let of_event = |event: &Event| match &event.what {
            What::Packet(message) => Some(message.from.max(message.to.unwrap_or(0))),
            What::Output { host, .. } | What::Failure { host, .. } => *host,
            What::State { host, .. } => Some(*host),
            _ => None,
        };
        let last = self.events.iter().filter_map(of_event).max();
        self.hosts.len().max(last.map_or(0, |last| last + 1))
    }

    /// The hosts that a text names.
    pub(super) fn hosts_in(&self, text: &str) -> Vec<usize> {
        let words: Vec<_> = text.split([' ', ',']).collect();
        let hosts = self.hosts.iter().enumerate();
        hosts
            .filter(|(_, name)| words.contains(&name.as_str()))
            .map(|(host, _)| host)
            .collect()
    }
}

/// Makes lines of what programs have written piece by piece. A line is where its first piece was.
fn lines(events: Vec<Event>) -> Vec<Event> {
    let mut joined: Vec<Event> = Vec::with_capacity(events.len());
    // The places of lines that have not ended, by where they are written to.
    let mut open: BTreeMap<(Option<usize>, bool), usize> = BTreeMap::new();
    for mut event in events {
        let What::Output {
            host,
            is_error,
            bytes,
        } = &mut event.what
        else {
            joined.push(event);
            continue;
        };
        let (time, key) = (event.time, (*host, *is_error));
        for piece in mem::take(bytes).split_inclusive(|byte| *byte == b'\n') {
            let (text, ends) = match piece.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (piece, false),
            };
            match open.get(&key) {
                Some(&at) => {
                    if let What::Output { bytes, .. } = &mut joined[at].what {
                        bytes.extend_from_slice(text);
                    }
                }
                None => {
                    open.insert(key, joined.len());
                    let (host, is_error) = key;
                    let bytes = text.to_vec();
                    let what = What::Output {
                        host,
                        is_error,
                        bytes,
                    };
                    joined.push(Event { time, what });
                }
            }
            if ends {
                open.remove(&key);
            }
        }
    }
    joined
}

/// The name of a kind of packets, as network tools have it.
pub(super) fn kind_name(kind: PacketKind) -> &'static str {
    match kind {
        PacketKind::Connect => "SYN",
        PacketKind::Accept => "SYN ACK",
        PacketKind::Data => "data",
        PacketKind::Acknowledge => "ACK",
        PacketKind::Finish => "FIN",
        PacketKind::Reset => "RST",
        PacketKind::Datagram => "UDP",
        PacketKind::Unreachable => "port unreachable",
    }
}

/// What became of a packet, in words.
pub(super) fn fate_name(fate: Fate) -> &'static str {
    match fate {
        Fate::Delivered => "delivered",
        Fate::UnderWay => "on its way",
        Fate::Lost(Loss::Chance) => "lost by chance",
        Fate::Lost(Loss::Partition) => "lost by a partition",
        Fate::Lost(Loss::Broken) => "lost on a broken link",
        Fate::Lost(Loss::Queue) => "lost in a full queue",
        Fate::Lost(Loss::Off) => "lost: the host was off",
        Fate::Lost(Loss::NoHost) => "lost: no host has that address",
        Fate::Lost(Loss::Taken) => "lost by the test",
    }
}

/// What a host does in words.
pub(super) fn state_name(state: State) -> &'static str {
    match state {
        State::Started => "starts",
        State::PowerLost => "loses power",
        State::Killed => "is killed",
        State::Paused => "is paused",
        State::Resumed => "goes on",
        State::Ended => "ends",
    }
}

/// A line that a program has printed, without what sets colours on a terminal.
pub(super) fn plain(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_string();
    for part in parts {
        // A sequence is numbers and marks, up to its last character.
        let end = part.find(|c: char| ('@'..='~').contains(&c));
        plain += end.map_or("", |end| &part[end + 1..]);
    }
    plain
}

/// Bytes as something to read: text if they are, numbers otherwise.
pub(super) fn shown(bytes: &[u8]) -> String {
    // A character may have been cut at the end.
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).ok()
        }
        Err(_) => None,
    };
    let is_text = |text: &&str| !text.contains(|c: char| c.is_control() && !c.is_whitespace());
    match text.filter(is_text) {
        Some(text) => text.escape_debug().to_string(),
        None => {
            let numbers: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            numbers.join(" ")
        }
    }
}

impl Message {
    /// The packet in a few words.
    pub(super) fn title(&self) -> String {
        let mut title = kind_name(self.kind).to_string();
        if self.length > 0 {
            title += &format!(" {} B", self.length);
        }
        if self.is_repeated {
            title += ", again";
        }
        if self.is_copy {
            title += ", duplicate";
        }
        if self.was_held {
            title += ", held";
        }
        if self.fate != Fate::Delivered {
            title += &format!(", {}", fate_name(self.fate));
        }
        title
    }
}

#[cfg(test)]
mod tests {
    use super::super::Recorder;
    use super::*;
    use crate::faults::{Fault, Happened};
    use crate::kernel::HostId;

    fn recorder() -> Recorder {
        let recorder = Recorder::default();
        recorder.begin(5);
        recorder.host("a");
        recorder.host("b");
        recorder
    }

    fn output(time: u64, host: usize, text: &str) -> Event {
        let what = What::Output {
            host: Some(host),
            is_error: true,
            bytes: text.as_bytes().to_vec(),
        };
        let time = Time(time);
        Event { time, what }
    }

    #[test]
    fn lines_are_put_together_for_each_host() {
        let recorder = recorder();
        let (a, b) = (Some(HostId(0)), Some(HostId(1)));
        for (at, host, text) in [
            (1, a, "one"),
            (2, b, "other\nand"),
            (3, a, " line\n"),
            (4, b, " more"),
        ] {
            recorder.output(Time(at), host, true, text.as_bytes());
        }
        let recording = recorder.recording().unwrap();
        let expected = [
            output(1, 0, "one line"),
            output(2, 1, "other"),
            output(2, 1, "and more"),
        ];
        assert_eq!(recording.events, expected);
        assert_eq!((recording.seed, recording.left_out), (5, 0));
    }

    #[test]
    fn a_long_line_is_whole() {
        let recorder = recorder();
        let text = "x".repeat(10_000);
        recorder.output(Time(1), None, false, text.as_bytes());
        let recording = recorder.recording().unwrap();
        assert_eq!(recording.events.len(), 1);
        let What::Output { bytes, .. } = &recording.events[0].what else {
            panic!("{recording:?}")
        };
        assert_eq!(bytes, text.as_bytes());
    }

    #[test]
    fn faults_end_when_all_do() {
        let recorder = recorder();
        let happened = |number, lasting| Happened {
            number,
            at: Duration::ZERO,
            kind: Fault::Pause,
            lasting: Duration::from_nanos(lasting),
            what: "a".to_string(),
        };
        recorder.fault(Time(10), &happened(0, 1000));
        recorder.fault(Time(20), &happened(1, 5));
        recorder.heal(Time(110));
        recorder.fault(Time(120), &happened(2, 1000));
        let recording = recorder.recording().unwrap();
        let lasting = recording
            .events
            .iter()
            .filter_map(|event| match &event.what {
                What::Fault { lasting, .. } => Some(lasting.as_nanos()),
                _ => None,
            });
        assert_eq!(lasting.collect::<Vec<_>>(), [100, 5, 1000]);
        assert_eq!(recording.hosts_in("from b to a, slow"), [0, 1]);
    }

    #[test]
    fn old_lines_are_left_out_and_counted_and_the_rest_stays() {
        let recorder = recorder();
        recorder.state(Time(0), HostId(0), State::Started);
        let extra = 10;
        for at in 0..(EVENTS + extra) as u64 {
            recorder.output(Time(at), Some(HostId(0)), false, b"x\n");
        }
        let recording = recorder.recording().unwrap();
        assert_eq!(recording.left_out(), extra as u64);
        assert_eq!(recording.events.len(), EVENTS + 1);
        assert!(matches!(recording.events[0].what, What::State { .. }));
        assert_eq!(recording.events[1].time, Time(extra as u64));
    }

    #[test]
    fn lines_have_no_colours() {
        assert_eq!(
            plain(b"\x1b[2m12:00\x1b[0m \x1b[38;5;9mno\x1b[m!"),
            "12:00 no!"
        );
        assert_eq!(plain(b"cut \x1b[3"), "cut ");
        assert_eq!(plain("[a] ä".as_bytes()), "[a] ä");
    }

    #[test]
    fn a_verdict_completes_what_failed() {
        let text = "é".repeat(2000);
        let recorder = recorder();
        recorder.failure(Time(1), Some(HostId(1)), &text);
        let recording = recorder.recording().unwrap();
        let failed = recording.clone().failed(format!("failed: {text}"));
        assert_eq!(failed.verdict, None);
        let What::Failure { text: kept, host } = &failed.events[0].what else {
            panic!("{failed:?}")
        };
        assert_eq!((kept, *host), (&text, Some(1)));
        let other = recording.failed("took more than its time".to_string());
        assert_eq!(other.verdict.as_deref(), Some("took more than its time"));
    }

    #[test]
    fn bytes_are_shown_as_text_if_they_are() {
        assert_eq!(shown(b"GET /\r\n"), r"GET /\r\n");
        assert_eq!(shown(&[0, 255, 16]), "00 ff 10");
        assert_eq!(shown("ä".repeat(2).as_bytes()), "ää");
        assert_eq!(shown(&"aä".as_bytes()[..2]), "a");
    }
}
