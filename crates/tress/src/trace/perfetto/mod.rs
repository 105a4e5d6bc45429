//! A writer of Perfetto's trace format: `TrackEvent`s in a sequence of `TracePacket`s.
//!
//! Times are nanoseconds of any clock that is the same for a whole trace. Names, categories and source locations are
//! written once, and referred to by number from then on: the writer remembers all it has seen.
//!
//! ```
//! use tress::trace::perfetto::{Details, Track, Value, Writer};
//!
//! let mut file = Vec::new();
//! let mut writer = Writer::new(&mut file);
//! let process = Track(1);
//! writer.process(process, 4711, "server")?;
//! let worker = Track(2);
//! writer.thread(worker, process, 4711, 1, "worker 0")?;
//! let mut poll = Details::new("poll", "accept loop");
//! poll.notes = &[("task", Value::Number(12))];
//! writer.begin(worker, 1_000, &poll)?;
//! writer.end(worker, 3_000)?;
//! assert!(!file.is_empty());
//! # Ok::<(), std::io::Error>(())
//! ```

mod proto;

pub use proto::Message;

pub(crate) use proto::put_varint;

use std::collections::HashMap;
use std::fmt::Write;
use std::io;

/// Numbers of fields, by message.
mod field {
    /// Of `Trace`.
    pub(super) const PACKET: u32 = 1;
    /// Of `TracePacket`.
    pub(super) mod packet {
        pub(in super::super) const TIMESTAMP: u32 = 8;
        pub(in super::super) const SEQUENCE: u32 = 10;
        pub(in super::super) const EVENT: u32 = 11;
        pub(in super::super) const INTERNED: u32 = 12;
        pub(in super::super) const FLAGS: u32 = 13;
        pub(in super::super) const TRACK: u32 = 60;
    }
    /// Of `TrackDescriptor`.
    pub(super) mod track {
        pub(in super::super) const UUID: u32 = 1;
        pub(in super::super) const NAME: u32 = 2;
        pub(in super::super) const PROCESS: u32 = 3;
        pub(in super::super) const THREAD: u32 = 4;
        pub(in super::super) const PARENT: u32 = 5;
        pub(in super::super) const COUNTER: u32 = 8;
    }
    /// Of `ProcessDescriptor`.
    pub(super) mod process {
        pub(in super::super) const PID: u32 = 1;
        pub(in super::super) const NAME: u32 = 6;
    }
    /// Of `ThreadDescriptor`.
    pub(super) mod thread {
        pub(in super::super) const PID: u32 = 1;
        pub(in super::super) const TID: u32 = 2;
        pub(in super::super) const NAME: u32 = 5;
    }
    /// Of `CounterDescriptor`.
    pub(super) mod counter {
        pub(in super::super) const UNIT: u32 = 3;
    }
    /// Of `TrackEvent`.
    pub(super) mod event {
        pub(in super::super) const CATEGORY: u32 = 3;
        pub(in super::super) const NOTE: u32 = 4;
        pub(in super::super) const KIND: u32 = 9;
        pub(in super::super) const NAME: u32 = 10;
        pub(in super::super) const TRACK: u32 = 11;
        pub(in super::super) const COUNTER_VALUE: u32 = 30;
        pub(in super::super) const SOURCE: u32 = 34;
        pub(in super::super) const FLOW: u32 = 47;
        pub(in super::super) const END_OF_FLOW: u32 = 48;
    }
    /// Of `DebugAnnotation`.
    pub(super) mod note {
        pub(in super::super) const NAME: u32 = 1;
        pub(in super::super) const NUMBER: u32 = 3;
        pub(in super::super) const TEXT: u32 = 6;
    }
    /// Of `InternedData`.
    pub(super) mod interned {
        pub(in super::super) const CATEGORY: u32 = 1;
        pub(in super::super) const NAME: u32 = 2;
        pub(in super::super) const NOTE: u32 = 3;
        pub(in super::super) const SOURCE: u32 = 4;
    }
    /// Of the messages in `InternedData`.
    pub(super) const IID: u32 = 1;
    pub(super) const TEXT: u32 = 2;
    pub(super) const LINE: u32 = 4;
}

/// Types of events.
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;

/// All packets of a writer are one sequence.
const SEQUENCE: u64 = 1;
const STATE_CLEARED: u64 = 1;
const NEEDS_STATE: u64 = 2;

/// The number of a track, unique in its trace and not 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Track(pub u64);

/// What the values of a counter are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    /// Nanoseconds.
    Nanoseconds,
    /// A number of things.
    Count,
    /// Bytes.
    Bytes,
}

/// The value of a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// A number.
    Number(u64),
    /// A text.
    Text(&'a str),
}

/// What is said of an event beside where and when it happened.
#[derive(Debug, Clone, Copy)]
pub struct Details<'a> {
    /// The event's category.
    pub category: &'a str,
    /// The event's name.
    pub name: &'a str,
    /// A file and line that it belongs to.
    pub source: Option<(&'a str, u32)>,
    /// The flows that it begins or continues.
    pub flows: &'a [u64],
    /// The flows that end at it.
    pub ends: &'a [u64],
    /// Anything else.
    pub notes: &'a [(&'a str, Value<'a>)],
}

impl<'a> Details<'a> {
    /// Creates the details of an event that has a category and a name only.
    pub fn new(category: &'a str, name: &'a str) -> Details<'a> {
        Details {
            category,
            name,
            source: None,
            flows: &[],
            ends: &[],
            notes: &[],
        }
    }
}

/// Texts that were written, with their numbers.
#[derive(Debug, Default)]
struct Known(HashMap<Box<str>, u64>);

impl Known {
    /// Returns the text's number, and whether it is new.
    fn number(&mut self, text: &str) -> (u64, bool) {
        if let Some(number) = self.0.get(text) {
            return (*number, false);
        }
        let number = self.0.len() as u64 + 1;
        self.0.insert(text.into(), number);
        (number, true)
    }
}

/// Writes a trace, one packet after the other.
///
/// Each packet is a separate write.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    categories: Known,
    names: Known,
    notes: Known,
    sources: Known,
    /// Nothing has been written yet.
    is_new: bool,
    /// Room for what is being written.
    place: String,
    event: Message,
    interned: Message,
    packet: Message,
}

impl<W: io::Write> Writer<W> {
    /// Creates a writer of a new trace.
    pub fn new(out: W) -> Writer<W> {
        Writer {
            out,
            categories: Known::default(),
            names: Known::default(),
            notes: Known::default(),
            sources: Known::default(),
            place: String::new(),
            is_new: true,
            event: Message::new(),
            interned: Message::new(),
            packet: Message::new(),
        }
    }

    /// Describes the track of a process.
    ///
    /// # Errors
    /// Any error of the output.
    pub fn process(&mut self, track: Track, pid: u32, name: &str) -> io::Result<()> {
        let mut process = Message::new();
        process.number(field::process::PID, pid.into());
        process.string(field::process::NAME, name);
        let mut descriptor = Message::new();
        descriptor.number(field::track::UUID, track.0);
        descriptor.message(field::track::PROCESS, &process);
        self.descriptor(&descriptor)
    }

    /// Describes the track of a thread, below that of its process.
    ///
    /// # Errors
    /// Any error of the output.
    pub fn thread(
        &mut self,
        track: Track,
        process: Track,
        pid: u32,
        tid: u32,
        name: &str,
    ) -> io::Result<()> {
        let mut thread = Message::new();
        thread.number(field::thread::PID, pid.into());
        thread.number(field::thread::TID, tid.into());
        thread.string(field::thread::NAME, name);
        let mut descriptor = Message::new();
        descriptor.number(field::track::UUID, track.0);
        descriptor.number(field::track::PARENT, process.0);
        descriptor.message(field::track::THREAD, &thread);
        self.descriptor(&descriptor)
    }

    /// Describes a counter, below another track.
    ///
    /// # Errors
    /// Any error of the output.
    pub fn counter(
        &mut self,
        track: Track,
        parent: Track,
        name: &str,
        unit: Unit,
    ) -> io::Result<()> {
        let unit = match unit {
            Unit::Nanoseconds => 1,
            Unit::Count => 2,
            Unit::Bytes => 3,
        };
        let mut counter = Message::new();
        counter.number(field::counter::UNIT, unit);
        let mut descriptor = Message::new();
        descriptor.number(field::track::UUID, track.0);
        descriptor.number(field::track::PARENT, parent.0);
        descriptor.string(field::track::NAME, name);
        descriptor.message(field::track::COUNTER, &counter);
        self.descriptor(&descriptor)
    }

    /// Begins a slice, inside of those of its track that have not ended.
    ///
    /// # Errors
    /// Any error of the output.
    pub fn begin(&mut self, track: Track, at: u64, details: &Details<'_>) -> io::Result<()> {
        self.event(SLICE_BEGIN, track);
        self.describe(details);
        self.write_event(at)
    }

    /// Ends the slice of the track that began last.
    ///
    /// # Errors
    /// Any error of the output.
    pub fn end(&mut self, track: Track, at: u64) -> io::Result<()> {
        self.event(SLICE_END, track);
        self.write_event(at)
    }

    /// Writes something that takes no time.
    ///
    /// # Errors
    /// Any error of the output.
    pub fn instant(&mut self, track: Track, at: u64, details: &Details<'_>) -> io::Result<()> {
        self.event(INSTANT, track);
        self.describe(details);
        self.write_event(at)
    }

    /// Writes the value that a counter has from now on.
    ///
    /// # Errors
    /// Any error of the output.
    pub fn value(&mut self, counter: Track, at: u64, value: i64) -> io::Result<()> {
        self.event(COUNTER, counter);
        self.event.signed(field::event::COUNTER_VALUE, value);
        self.write_event(at)
    }

    fn event(&mut self, kind: u64, track: Track) {
        self.event.clear();
        self.interned.clear();
        self.event.number(field::event::KIND, kind);
        self.event.number(field::event::TRACK, track.0);
    }

    fn describe(&mut self, details: &Details<'_>) {
        let category = self.category(details.category);
        self.event.number(field::event::CATEGORY, category);
        let name = self.name(details.name);
        self.event.number(field::event::NAME, name);
        if let Some((file, line)) = details.source {
            let source = self.source(file, line);
            self.event.number(field::event::SOURCE, source);
        }
        for flow in details.flows {
            self.event.fixed(field::event::FLOW, *flow);
        }
        for flow in details.ends {
            self.event.fixed(field::event::END_OF_FLOW, *flow);
        }
        for (name, value) in details.notes {
            let mut note = Message::new();
            note.number(field::note::NAME, self.note(name));
            match value {
                Value::Number(number) => note.number(field::note::NUMBER, *number),
                Value::Text(text) => note.string(field::note::TEXT, text),
            }
            self.event.message(field::event::NOTE, &note);
        }
    }

    fn category(&mut self, text: &str) -> u64 {
        let (number, new) = self.categories.number(text);
        if new {
            self.intern(field::interned::CATEGORY, number, text, None);
        }
        number
    }

    fn name(&mut self, text: &str) -> u64 {
        let (number, new) = self.names.number(text);
        if new {
            self.intern(field::interned::NAME, number, text, None);
        }
        number
    }

    fn note(&mut self, text: &str) -> u64 {
        let (number, new) = self.notes.number(text);
        if new {
            self.intern(field::interned::NOTE, number, text, None);
        }
        number
    }

    fn source(&mut self, file: &str, line: u32) -> u64 {
        self.place.clear();
        // Writing to a string does not fail.
        let _ = write!(self.place, "{file}:{line}");
        let (number, new) = self.sources.number(&self.place);
        if new {
            self.intern(field::interned::SOURCE, number, file, Some(line));
        }
        number
    }

    fn intern(&mut self, kind: u32, number: u64, text: &str, line: Option<u32>) {
        let mut entry = Message::new();
        entry.number(field::IID, number);
        entry.string(field::TEXT, text);
        if let Some(line) = line {
            entry.number(field::LINE, line.into());
        }
        self.interned.message(kind, &entry);
    }

    fn descriptor(&mut self, descriptor: &Message) -> io::Result<()> {
        self.packet.clear();
        self.packet.message(field::packet::TRACK, descriptor);
        self.write_packet()
    }

    fn write_event(&mut self, at: u64) -> io::Result<()> {
        self.packet.clear();
        self.packet.number(field::packet::TIMESTAMP, at);
        if !self.interned.is_empty() {
            self.packet.message(field::packet::INTERNED, &self.interned);
        }
        self.packet.message(field::packet::EVENT, &self.event);
        self.write_packet()
    }

    fn write_packet(&mut self) -> io::Result<()> {
        let flags = match std::mem::take(&mut self.is_new) {
            true => STATE_CLEARED | NEEDS_STATE,
            false => NEEDS_STATE,
        };
        self.packet.number(field::packet::SEQUENCE, SEQUENCE);
        self.packet.number(field::packet::FLAGS, flags);
        // A trace is a message whose only field is repeated: packets follow each other.
        self.event.clear();
        self.event.message(field::PACKET, &self.packet);
        self.out.write_all(self.event.as_bytes())
    }
}
