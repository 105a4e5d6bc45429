//! A reader of Perfetto's traces that shares nothing with the writer: any message of protocol buffers, then packets.
#![allow(dead_code, reason = "each test uses what it needs")]

use std::collections::{BTreeMap, HashMap};

#[derive(Debug, Clone)]
pub enum Field {
    Number(u64),
    Fixed(u64),
    Bytes(Vec<u8>),
}

/// The fields of a message, by number, each in order.
#[derive(Debug, Clone, Default)]
pub struct Fields(BTreeMap<u64, Vec<Field>>);

impl Fields {
    pub fn parse(mut bytes: &[u8]) -> Fields {
        let mut fields = Fields::default();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let field = match key & 7 {
                0 => Field::Number(varint(&mut bytes)),
                1 => Field::Fixed(u64::from_le_bytes(take(&mut bytes, 8).try_into().unwrap())),
                2 => {
                    let length = varint(&mut bytes) as usize;
                    Field::Bytes(take(&mut bytes, length).to_vec())
                }
                other => panic!("{other} is no wire type of ours"),
            };
            assert_ne!(key >> 3, 0, "field 0");
            fields.0.entry(key >> 3).or_default().push(field);
        }
        fields
    }

    pub fn all(&self, number: u64) -> &[Field] {
        self.0.get(&number).map_or(&[], Vec::as_slice)
    }

    pub fn number(&self, number: u64) -> Option<u64> {
        match self.all(number) {
            [] => None,
            [Field::Number(value)] => Some(*value),
            other => panic!("field {number} is {other:?}"),
        }
    }

    pub fn fixed(&self, number: u64) -> Vec<u64> {
        let value = |field: &Field| match field {
            Field::Fixed(value) => *value,
            other => panic!("field {number} is {other:?}"),
        };
        self.all(number).iter().map(value).collect()
    }

    pub fn messages(&self, number: u64) -> Vec<Fields> {
        let parse = |field: &Field| match field {
            Field::Bytes(bytes) => Fields::parse(bytes),
            other => panic!("field {number} is {other:?}"),
        };
        self.all(number).iter().map(parse).collect()
    }

    pub fn message(&self, number: u64) -> Option<Fields> {
        let mut all = self.messages(number);
        assert!(all.len() <= 1);
        all.pop()
    }

    pub fn text(&self, number: u64) -> Option<String> {
        match self.all(number) {
            [] => None,
            [Field::Bytes(bytes)] => Some(String::from_utf8(bytes.clone()).unwrap()),
            other => panic!("field {number} is {other:?}"),
        }
    }
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (taken, rest) = bytes.split_at(length);
    *bytes = rest;
    taken
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        assert!(shift < 64, "a number of more than ten bytes");
        let byte = take(bytes, 1)[0];
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    value
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Begin,
    End,
    Instant,
    Value(i64),
}

#[derive(Debug, Clone)]
pub struct Happened {
    pub at: u64,
    pub track: u64,
    pub kind: Kind,
    pub category: String,
    pub name: String,
    pub source: Option<(String, u64)>,
    pub flows: Vec<u64>,
    pub ends: Vec<u64>,
    pub notes: HashMap<String, u64>,
}

/// A slice: when it began, how long it took, how many it is in.
#[derive(Debug, Clone)]
pub struct Slice {
    pub begun: Happened,
    pub until: u64,
    pub depth: usize,
}

#[derive(Debug, Default)]
pub struct Trace {
    pub process: Option<String>,
    /// Names of threads and of counters.
    pub threads: BTreeMap<u64, String>,
    pub counters: BTreeMap<u64, String>,
    pub events: Vec<Happened>,
}

impl Trace {
    pub fn parse(bytes: &[u8]) -> Trace {
        let mut trace = Trace::default();
        // What was interned: by kind and number.
        let mut interned: HashMap<(u64, u64), Fields> = HashMap::new();
        let file = Fields::parse(bytes);
        for (index, packet) in file.messages(1).into_iter().enumerate() {
            assert_eq!(packet.number(10), Some(1), "one sequence");
            let flags = packet.number(13).unwrap();
            assert_eq!(
                flags & 1,
                u64::from(index == 0),
                "the state begins with the trace"
            );
            if let Some(data) = packet.message(12) {
                for kind in 1..=4 {
                    for entry in data.messages(kind) {
                        let before = interned.insert((kind, entry.number(1).unwrap()), entry);
                        assert!(before.is_none(), "a number is given twice");
                    }
                }
            }
            if let Some(track) = packet.message(60) {
                trace.add_track(&track);
            }
            if let Some(event) = packet.message(11) {
                let at = packet.number(8).expect("a time");
                trace.add_event(at, &event, &interned);
            }
        }
        trace
    }

    fn add_track(&mut self, track: &Fields) {
        let uuid = track.number(1).unwrap();
        if let Some(process) = track.message(3) {
            assert!(process.number(1).is_some());
            self.process = process.text(6);
        }
        if let Some(thread) = track.message(4) {
            self.threads.insert(uuid, thread.text(5).unwrap());
        }
        if track.message(8).is_some() {
            self.counters.insert(uuid, track.text(2).unwrap());
        }
    }

    fn add_event(&mut self, at: u64, event: &Fields, interned: &HashMap<(u64, u64), Fields>) {
        let look = |kind: u64, number: u64| {
            let entry = interned.get(&(kind, number));
            entry.unwrap_or_else(|| panic!("{kind}/{number} was not interned before its use"))
        };
        let text = |kind, field| {
            let number = event.number(field);
            number.map_or(String::new(), |n| look(kind, n).text(2).unwrap())
        };
        let kind = match event.number(9).unwrap() {
            1 => Kind::Begin,
            2 => Kind::End,
            3 => Kind::Instant,
            4 => Kind::Value(event.number(30).unwrap() as i64),
            other => panic!("{other} is no type"),
        };
        let source = event.number(34).map(|n| {
            let entry = look(4, n);
            (entry.text(2).unwrap(), entry.number(4).unwrap())
        });
        let notes = event.messages(4).into_iter().map(|note| {
            let name = look(3, note.number(1).unwrap()).text(2).unwrap();
            (name, note.number(3).unwrap())
        });
        let track = event.number(11).unwrap();
        assert!(self.threads.contains_key(&track) || self.counters.contains_key(&track));
        self.events.push(Happened {
            at,
            track,
            kind,
            category: text(1, 3),
            name: text(2, 10),
            source,
            flows: event.fixed(47),
            ends: event.fixed(48),
            notes: notes.collect(),
        });
    }

    /// Returns the track of a thread.
    pub fn thread(&self, name: &str) -> u64 {
        let found = self.threads.iter().find(|(_, other)| *other == name);
        *found.expect(name).0
    }

    /// Returns the values of a counter.
    pub fn values(&self, name: &str) -> Vec<i64> {
        let (track, _) = self
            .counters
            .iter()
            .find(|(_, other)| *other == name)
            .expect(name);
        let value = |event: &Happened| match event.kind {
            Kind::Value(value) if event.track == *track => Some(value),
            _ => None,
        };
        self.events.iter().filter_map(value).collect()
    }

    /// Returns all slices, and checks that they nest, as a reader would see them that sorts each track by time.
    pub fn slices(&self) -> Vec<Slice> {
        let mut slices = Vec::new();
        for track in self.threads.keys() {
            let mut events: Vec<&Happened> =
                self.events.iter().filter(|e| e.track == *track).collect();
            events.sort_by_key(|event| event.at);
            let mut open: Vec<Slice> = Vec::new();
            for event in events {
                match event.kind {
                    Kind::Begin => open.push(Slice {
                        begun: event.clone(),
                        until: event.at,
                        depth: open.len(),
                    }),
                    Kind::End => {
                        let mut slice = open.pop().expect("an end has its beginning");
                        slice.until = event.at;
                        slices.push(slice);
                    }
                    Kind::Instant => {}
                    Kind::Value(_) => panic!("a value on a thread's track"),
                }
            }
            assert!(open.is_empty(), "a beginning has its end");
        }
        slices
    }

    /// Checks what must be true of every trace. Returns the number of arrows from wake-ups to polls.
    pub fn check(&self) -> usize {
        let slices = self.slices();
        for slice in &slices {
            // A worker does one thing at a time.
            assert_eq!(slice.depth, 0, "{slice:?}");
        }
        let mut wakes: HashMap<u64, &Happened> = HashMap::new();
        for event in self.events.iter().filter(|event| event.category == "ready") {
            assert_eq!(event.flows.len(), 1);
            wakes.insert(event.flows[0], event);
        }
        let mut arrows = 0;
        for slice in &slices {
            let poll = &slice.begun;
            for flow in &poll.ends {
                assert_eq!(poll.category, "poll");
                // What woke it may be older than what the trace has.
                if let Some(wake) = wakes.get(flow) {
                    assert_eq!(wake.notes["task"], poll.notes["task"]);
                    assert!(wake.at <= poll.at);
                    assert!(wake.at.abs_diff(poll.at - poll.notes["wait_ns"]) <= 2);
                    arrows += 1;
                }
            }
        }
        arrows
    }
}
