//! The cells of events, and where they are kept for reuse.
//!
//! A thread keeps some cells for itself and exchanges them with other threads in bulk, so that in a steady
//! state nothing is allocated, whichever way the messages go.

use crate::event::{Event, Message};
use crate::topic::Topic;

/// A message in its cell, on its way to a mailbox: moved as a pointer, and written once.
#[derive(Debug)]
pub(crate) struct Parcel(pub(super) Box<Node>);

// SAFETY: it owns its cell, and events can be sent.
unsafe impl Send for Parcel {}
// SAFETY: a shared parcel shows nothing but the topic.
unsafe impl Sync for Parcel {}

impl Parcel {
    #[inline]
    pub(crate) fn new(message: Message) -> Parcel {
        Parcel(Node::new(0, Some(Event::Message(message))))
    }

    /// Creates a message to the inbox in place.
    #[inline(always)]
    pub(crate) fn of<T: Send + 'static>(value: T) -> Parcel {
        let mut parcel = Parcel::new(Message::empty());
        if let Some(Event::Message(message)) = &mut parcel.0.event {
            message.payload.fill(value);
        }
        parcel
    }

    #[inline]
    pub(crate) fn topic(&self) -> Topic {
        match &self.0.event {
            Some(Event::Message(message)) => message.topic,
            _ => unreachable!("a parcel holds a message"),
        }
    }

    pub(crate) fn into_message(self) -> Message {
        match self.0.into_event() {
            Some(Event::Message(message)) => message,
            _ => unreachable!("a parcel holds a message"),
        }
    }
}

/// An event on its way to a process.
#[derive(Debug)]
pub(super) struct Node {
    /// The previous node in the inbox; the next node in a chain.
    pub(super) next: *mut Node,
    /// Generation of the process that it is for.
    pub(super) generation: u32,
    /// The event; `None` if the process is only to look.
    pub(super) event: Option<Event>,
}

impl Node {
    #[inline(always)]
    pub(super) fn new(generation: u32, event: Option<Event>) -> Box<Node> {
        let mut node = pool::take();
        node.generation = generation;
        node.event = event;
        node
    }

    /// Whether it has a place in the mailbox of that process.
    #[inline]
    pub(super) fn counts_for(&self, generation: u32) -> bool {
        self.generation == generation && self.event.as_ref().is_some_and(Event::counts)
    }

    /// Keeps the cell of a message whose payload was taken out in place.
    #[inline(always)]
    pub(super) fn discard_empty(mut self: Box<Node>) {
        // Nothing in it needs to be dropped.
        std::mem::forget(self.event.take());
        pool::keep(self);
    }

    /// Takes the event out, and keeps the cell.
    #[inline(always)]
    pub(super) fn into_event(mut self: Box<Node>) -> Option<Event> {
        let event = self.event.take();
        pool::keep(self);
        event
    }

    fn blank() -> Box<Node> {
        Box::new(Node {
            next: std::ptr::null_mut(),
            generation: 0,
            event: None,
        })
    }
}

#[cfg(not(any(loom, tress_no_slab)))]
mod pool {
    use super::Node;
    use crate::sys::Mutex;
    use std::cell::RefCell;

    /// Maximum number of cells that a thread keeps.
    const MINE: usize = 128;
    /// Number of cells that a thread exchanges at a time.
    const BULK: usize = MINE / 2;
    /// Maximum number of cells that are kept for all threads, beyond their own.
    const OURS: usize = 16 * 1024;

    #[derive(Default)]
    struct Cells(#[allow(clippy::vec_box, reason = "they stay where they are")] Vec<Box<Node>>);

    // SAFETY: a cell that is kept holds no event, and its pointer means nothing.
    unsafe impl Send for Cells {}

    static SHARED: Mutex<Cells> = Mutex::new(Cells(Vec::new()));

    thread_local! {
        static OWN: RefCell<Cells> = const { RefCell::new(Cells(Vec::new())) };
    }

    #[inline]
    pub(super) fn take() -> Box<Node> {
        // A thread that exits has none.
        let cell = OWN.try_with(|own| {
            let cells = &mut own.borrow_mut().0;
            cells.pop().or_else(|| refill(cells))
        });
        cell.ok().flatten().unwrap_or_else(Node::blank)
    }

    #[cold]
    #[allow(clippy::vec_box, reason = "they stay where they are")]
    fn refill(cells: &mut Vec<Box<Node>>) -> Option<Box<Node>> {
        let mut shared = SHARED.lock();
        let from = shared.0.len().saturating_sub(BULK);
        cells.extend(shared.0.drain(from..));
        cells.pop()
    }

    #[inline]
    pub(super) fn keep(cell: Box<Node>) {
        // Dropped if the thread exits.
        let _ = OWN.try_with(|own| {
            let cells = &mut own.borrow_mut().0;
            if cells.len() == MINE {
                share(cells);
            }
            cells.push(cell);
        });
    }

    #[cold]
    #[allow(clippy::vec_box, reason = "they stay where they are")]
    fn share(cells: &mut Vec<Box<Node>>) {
        let surplus = cells.drain(MINE - BULK..);
        let mut shared = SHARED.lock();
        if shared.0.len() < OURS {
            shared.0.extend(surplus);
        }
    }
}

/// Takes every cell from the allocator, so that the models and the sanitizers see each of them.
#[cfg(any(loom, tress_no_slab))]
mod pool {
    use super::Node;

    pub(super) fn take() -> Box<Node> {
        Node::blank()
    }

    pub(super) fn keep(_: Box<Node>) {}
}
