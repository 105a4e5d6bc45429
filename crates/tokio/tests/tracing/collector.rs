//! A subscriber that keeps all it is told.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use tracing_core::span::Current;

/// The values of the fields of a span or an event, as text.
pub type Fields = HashMap<String, String>;

/// What happened to spans, and events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    New(u64),
    Enter(u64),
    Exit(u64),
    Close(u64),
    Event {
        target: &'static str,
        fields: Fields,
        within: Vec<u64>,
    },
}

#[derive(Clone, Debug)]
pub struct Span {
    pub id: u64,
    pub name: &'static str,
    pub target: &'static str,
    metadata: &'static Metadata<'static>,
    pub parent: Option<u64>,
    pub fields: Fields,
    /// Handles to it.
    alive: usize,
}

impl Span {
    pub fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }

    pub fn is_open(&self) -> bool {
        self.alive > 0
    }
}

#[derive(Default)]
struct State {
    spans: Vec<Span>,
    told: Vec<Told>,
    /// The spans that each thread is in.
    within: HashMap<std::thread::ThreadId, Vec<u64>>,
}

/// The handle of a test to what its subscriber was told.
#[derive(Clone, Default)]
pub struct Collector {
    state: Arc<Mutex<State>>,
    next: Arc<AtomicU64>,
}

struct Visitor(Fields);

impl Visit for Visitor {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().into(), format!("{value:?}"));
    }
}

impl Collector {
    /// Runs `f` with this subscriber on this thread.
    pub fn here<R>(&self, f: impl FnOnce() -> R) -> R {
        tracing::subscriber::with_default(self.clone(), f)
    }

    pub fn spans(&self, name: &str) -> Vec<Span> {
        let state = self.state.lock().unwrap();
        let named = state.spans.iter().filter(|span| span.name == name);
        named.cloned().collect()
    }

    pub fn told(&self) -> Vec<Told> {
        self.state.lock().unwrap().told.clone()
    }

    /// Returns what was told of one span, events aside.
    pub fn life_of(&self, span: &Span) -> Vec<Told> {
        let of = |told: &Told| match *told {
            Told::New(id) | Told::Enter(id) | Told::Exit(id) | Told::Close(id) => id == span.id,
            Told::Event { .. } => false,
        };
        self.told().into_iter().filter(of).collect()
    }

    /// Returns the fields of all events with this target, and the spans that they came from.
    pub fn events(&self, target: &str) -> Vec<(Fields, Vec<u64>)> {
        let event = |told| match told {
            Told::Event {
                target: of,
                fields,
                within,
            } if of == target => Some((fields, within)),
            _ => None,
        };
        self.told().into_iter().filter_map(event).collect()
    }

    /// Returns what was done with the wakers of the task that has this span.
    pub fn waker_ops(&self, span: &Span) -> Vec<String> {
        let of = |(fields, _): &(Fields, _)| fields["task.id"] == span.id.to_string();
        let events = self.events("tokio::task::waker").into_iter().filter(of);
        events
            .map(|(mut fields, _)| fields.remove("op").unwrap())
            .collect()
    }

    /// Panics if a span is open, or a thread is in one.
    pub fn assert_nothing_is_left(&self) {
        let state = self.state.lock().unwrap();
        let open: Vec<_> = state.spans.iter().filter(|span| span.is_open()).collect();
        assert!(open.is_empty(), "open: {open:?}");
        assert!(
            state.within.values().all(Vec::is_empty),
            "{:?}",
            state.within
        );
    }
}

impl Subscriber for Collector {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let mut visitor = Visitor(Fields::new());
        attributes.record(&mut visitor);
        let metadata = attributes.metadata();
        let mut state = self.state.lock().unwrap();
        let parent = match attributes.parent() {
            Some(parent) => Some(parent.into_u64()),
            None if attributes.is_root() => None,
            None => state.here().last().copied(),
        };
        state.spans.push(Span {
            id,
            name: metadata.name(),
            target: metadata.target(),
            metadata,
            parent,
            fields: visitor.0,
            alive: 1,
        });
        state.told.push(Told::New(id));
        Id::from_u64(id)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut visitor = Visitor(Fields::new());
        event.record(&mut visitor);
        let mut state = self.state.lock().unwrap();
        let within = state.here().clone();
        state.told.push(Told::Event {
            target: event.metadata().target(),
            fields: visitor.0,
            within,
        });
    }

    fn enter(&self, span: &Id) {
        let mut state = self.state.lock().unwrap();
        assert!(state.span(span).is_open(), "a closed span is entered");
        state.here().push(span.into_u64());
        state.told.push(Told::Enter(span.into_u64()));
    }

    fn exit(&self, span: &Id) {
        let mut state = self.state.lock().unwrap();
        let id = span.into_u64();
        let here = state.here();
        let at = here.iter().rposition(|of| *of == id);
        here.remove(at.expect("a span is left that was not entered here"));
        state.told.push(Told::Exit(id));
    }

    fn current_span(&self) -> Current {
        let mut state = self.state.lock().unwrap();
        match state.here().last().copied().map(Id::from_u64) {
            Some(id) => Current::new(id.clone(), state.span(&id).metadata),
            None => Current::none(),
        }
    }

    fn clone_span(&self, id: &Id) -> Id {
        self.state.lock().unwrap().span(id).alive += 1;
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        let mut state = self.state.lock().unwrap();
        let span = state.span(&id);
        span.alive = span.alive.checked_sub(1).expect("a span is closed twice");
        let closed = span.alive == 0;
        if closed {
            state.told.push(Told::Close(id.into_u64()));
        }
        closed
    }
}

impl State {
    fn here(&mut self) -> &mut Vec<u64> {
        self.within.entry(std::thread::current().id()).or_default()
    }

    fn span(&mut self, id: &Id) -> &mut Span {
        let id = id.into_u64();
        let mut spans = self.spans.iter_mut();
        spans.find(|span| span.id == id).expect("an unknown span")
    }
}
