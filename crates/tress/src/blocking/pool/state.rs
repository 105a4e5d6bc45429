//! What the pool's decisions are based on, and the decisions: plain data behind the pool's lock.

use crate::sys::{Arc, Parker, clock, thread};
use std::collections::VecDeque;
use std::time::Instant;

type JoinHandle = thread::JoinHandle<()>;

/// Everything that decisions are based on.
pub(super) struct State<J> {
    pub(super) queue: VecDeque<J>,
    pub(super) closed: bool,
    /// Threads that serve or are being started. One that decided to end is not among them.
    pub(super) threads: usize,
    /// A stack, so that the warmest thread is called first and surplus ones time out.
    pub(super) parked: Vec<Arc<Seat>>,
    pub(super) spinning: bool,
    pub(super) coming: Coming,
    /// When the latest parked thread was called.
    called_at: Option<Instant>,
    /// Callers of `spawn` that wait to know whether the only thread starts.
    pub(super) undecided: Vec<Arc<Parker>>,
    next_id: u64,
    pub(super) slots: Slots,
    /// The handle of the thread that ended last; it has joined the one before.
    pub(super) ended: Option<JoinHandle>,
    /// Callers of `shutdown` that wait for threads to end.
    pub(super) closers: Vec<Arc<Parker>>,
    pub(super) peak_threads: usize,
    pub(super) start_failures: usize,
}

/// Where a thread parks.
pub(super) struct Seat {
    pub(super) id: u64,
    pub(super) parker: Parker,
}

/// The thread on its way to the queue, by the number of its slot.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Coming {
    Nobody,
    /// Its start may still fail: no job may rely on it alone.
    Starting(u64),
    /// It has been woken, or its start has succeeded.
    Certain(u64),
}

/// What is kept for a thread until its end.
pub(super) struct Slot {
    handle: Handle,
    /// The thread called `shutdown` itself: no thread inside the pool waits for it any more.
    pub(super) excused: bool,
}

enum Handle {
    /// The starter has yet to put it here.
    Awaited,
    Here(JoinHandle),
    /// The thread has ended already; its starter disposes of the handle.
    TooLate,
}

/// The thread to fetch once the lock is released.
#[must_use]
pub(super) enum Summons {
    Nobody,
    Wake(Arc<Seat>),
    Start(u64),
}

/// The slots of the threads, by id. Few, and each new one has the largest id.
pub(super) struct Slots(Vec<(u64, Slot)>);

impl Slots {
    fn add(&mut self, id: u64, slot: Slot) {
        self.0.push((id, slot));
    }

    fn find(&self, id: u64) -> Option<usize> {
        self.0.binary_search_by_key(&id, |(id, _)| *id).ok()
    }

    pub(super) fn get_mut(&mut self, id: u64) -> Option<&mut Slot> {
        let at = self.find(id)?;
        Some(&mut self.0[at].1)
    }

    fn remove(&mut self, id: u64) {
        if let Some(at) = self.find(id) {
            self.0.remove(at);
        }
    }

    fn values(&self) -> impl Iterator<Item = &Slot> {
        self.0.iter().map(|(_, slot)| slot)
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<J> State<J> {
    pub(super) fn new() -> State<J> {
        State {
            queue: VecDeque::new(),
            closed: false,
            threads: 0,
            parked: Vec::new(),
            spinning: false,
            coming: Coming::Nobody,
            called_at: None,
            undecided: Vec::new(),
            next_id: 1,
            slots: Slots(Vec::new()),
            ended: None,
            closers: Vec::new(),
            peak_threads: 0,
            start_failures: 0,
        }
    }

    /// Threads that certainly exist.
    pub(super) fn alive(&self) -> usize {
        self.threads - usize::from(matches!(self.coming, Coming::Starting(_)))
    }

    pub(super) fn idle(&self) -> usize {
        self.parked.len() + usize::from(self.spinning)
    }

    /// Returns for how many jobs a thread is free or may be started. The others wait for a job to end.
    pub(super) fn places(&self, max_threads: usize) -> usize {
        let free = self.idle() + usize::from(self.coming != Coming::Nobody);
        max_threads.saturating_sub(self.threads) + free
    }

    pub(super) fn is_full(&self, max_threads: usize, bound: usize) -> bool {
        self.queue.len() >= bound.saturating_add(self.places(max_threads))
    }

    /// Picks the thread that has to be fetched for the queue as it is now: rule 1 of the protocol.
    pub(super) fn summon(&mut self, max_threads: usize) -> Summons {
        if self.queue.is_empty() || self.coming != Coming::Nobody || self.spinning {
            return Summons::Nobody;
        }
        if let Some(seat) = self.parked.pop() {
            self.coming = Coming::Certain(seat.id);
            self.called_at = Some(clock::now());
            return Summons::Wake(seat);
        }
        if self.threads >= max_threads {
            return Summons::Nobody;
        }
        let id = self.next_id;
        self.next_id += 1;
        self.threads += 1;
        self.coming = Coming::Starting(id);
        self.slots.add(
            id,
            Slot {
                handle: Handle::Awaited,
                excused: false,
            },
        );
        Summons::Start(id)
    }

    /// Notes that the thread has come to the queue. Returns when it was called, if it was for a job.
    pub(super) fn arrive(&mut self, id: u64) -> Option<Instant> {
        self.make_certain(id);
        if self.coming != Coming::Certain(id) {
            return None; // shutdown woke it
        }
        self.coming = Coming::Nobody;
        self.called_at.take()
    }

    pub(super) fn make_certain(&mut self, id: u64) {
        if self.coming == Coming::Starting(id) {
            self.coming = Coming::Certain(id);
            self.peak_threads = self.peak_threads.max(self.threads);
            self.decided();
        }
    }

    /// Notes that a start failed. Returns the job that is left without any thread, and which thread to fetch for the
    /// others.
    pub(super) fn start_failed(&mut self, id: u64) -> (Option<J>, Summons) {
        debug_assert!(self.coming == Coming::Starting(id));
        self.coming = Coming::Nobody;
        self.threads -= 1;
        self.start_failures += 1;
        self.vacate(id);
        self.decided();
        if self.threads > 0 {
            // The jobs stay. A thread that parked meanwhile comes for them; another start is left to the next push
            // and the next thread that takes a job.
            return (None, self.summon(self.threads));
        }
        // The queue holds at most the job that the start was for: every later push had to wait
        // (`Inner::lock_decided`), and no thread left while jobs were queued.
        let orphan = self.queue.pop_front();
        debug_assert!(self.queue.is_empty());
        (orphan, Summons::Nobody)
    }

    /// Wakes the pushes that waited for the start to succeed or fail. Under the lock, but there hardly ever are any.
    fn decided(&mut self) {
        for parker in self.undecided.drain(..) {
            parker.unpark();
        }
    }

    /// Stores the handle, or disposes of it if the thread is gone. Returns the handle to join.
    pub(super) fn store_handle(&mut self, id: u64, handle: JoinHandle) -> Option<JoinHandle> {
        let slot = self
            .slots
            .get_mut(id)
            .expect("a slot outlives the start of its thread");
        if matches!(slot.handle, Handle::TooLate) {
            return self.end(id, handle);
        }
        slot.handle = Handle::Here(handle);
        None
    }

    /// Ends the slot of a thread that has nothing left to do. Returns the handle to join.
    pub(super) fn retire(&mut self, id: u64) -> Option<JoinHandle> {
        let slot = self.slots.get_mut(id).expect("a thread retires once");
        match std::mem::replace(&mut slot.handle, Handle::TooLate) {
            Handle::Here(handle) => self.end(id, handle),
            _ => None,
        }
    }

    fn end(&mut self, id: u64, handle: JoinHandle) -> Option<JoinHandle> {
        self.vacate(id);
        self.ended.replace(handle)
    }

    pub(super) fn vacate(&mut self, id: u64) {
        self.slots.remove(id);
        for parker in &self.closers {
            parker.unpark();
        }
    }

    /// Returns how many threads a caller of `shutdown` has to wait for.
    pub(super) fn remaining(&self, inside: bool) -> usize {
        self.slots
            .values()
            .filter(|slot| !(inside && slot.excused))
            .count()
    }
}
