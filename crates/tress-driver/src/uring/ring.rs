//! The ring: what goes to the kernel and what comes back.
//!
//! One lock guards the operations under way and both queues, and within it another one guards the operations to
//! be dropped. The only system call that is made under them fetches results that have overflowed, and no
//! foreign code runs: descriptors and buffers are asked once, before an operation is handed over.

use super::finished::Finished;
#[cfg(feature = "multishot")]
use super::pool::Groups;
use super::table::{Key, Table};
use crate::config::Resolved;
use crate::driver::{By, FULL};
use crate::sys::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::sys::{Mutex, clock, thread};
use crate::wakers::Wakers;
use io_uring::squeue::Entry;
use io_uring::{IoUring, Probe, cqueue, opcode, types};
use mio::unix::SourceFd;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

/// The user data of entries whose results are ignored.
const UNHEARD: u64 = u64::MAX;
/// `IORING_ENTER_GETEVENTS`.
const GETEVENTS: u32 = 1;
/// Time for which creating a ring is tried again: the memory of a ring that was closed returns to the quota a
/// little later.
const SETUP_PATIENCE: Duration = Duration::from_millis(200);
/// Time for which dropping a ring waits for operations that do not stop. A ring that was closed before does not
/// wait: `close` has done so.
const DROP_PATIENCE: Duration = Duration::from_secs(1);

/// An operation as the ring sees it.
pub(crate) trait Completion: Send + Sync {
    /// Handles a result.
    fn complete(&self, arrived: Arrived, wakers: &mut Wakers) -> Next;

    /// Undoes results that were not fetched. Called when the ring has let go of the operation, without a lock.
    fn bury(&self);

    /// Whether it is a multishot operation. The keeper should hand those over, because the kernel interrupts
    /// the thread that did for everything that arrives. One that is cancelled without the driver's asking is
    /// handed over again.
    fn goes_on(&self) -> bool {
        false
    }
}

/// A result as it came off the ring.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(
    not(feature = "multishot"),
    allow(dead_code, reason = "for several results")
)]
pub(crate) struct Arrived {
    pub(crate) value: i32,
    pub(crate) flags: u32,
    /// Whether more results will come.
    pub(crate) more: bool,
    /// Whether the ring is closed: then nothing is handed over again.
    pub(crate) closed: bool,
}

/// What the ring has to do after a result.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
#[cfg_attr(
    not(feature = "multishot"),
    allow(dead_code, reason = "for several results")
)]
pub(crate) enum Next {
    /// Nothing: more results will come.
    Wait,
    /// Forget it: that was the last result.
    Finish,
    /// As `Finish`, for an operation whose future was dropped before.
    FinishOrphan,
    /// Hand it over again: it ended for a reason of its own.
    Again,
    /// As `Wait`, but ask the kernel to stop it.
    Stop,
}

pub(crate) struct Ring {
    uring: ManuallyDrop<IoUring>,
    supported: [bool; 256],
    /// The lock also guards the ring's submission and completion queues.
    state: ManuallyDrop<Mutex<State>>,
    #[cfg(feature = "multishot")]
    pub(super) groups: Mutex<Groups>,
    started: AtomicU64,
    in_flight: AtomicUsize,
    orphaned: AtomicUsize,
    finished: Finished,
}

/// An operation that is under way.
struct UnderWay {
    operation: Arc<dyn Completion>,
    /// The entry, for when it has to be handed over again. All that it points to stays in place, and an
    /// operation that the kernel has not done leaves it as it was.
    entry: Entry,
}

struct State {
    table: Table<UnderWay>,
    closed: bool,
    queue: Queue,
}

/// What is to be handed over and is not in the submission queue yet.
#[derive(Default)]
struct Queue {
    /// Entries that do not fit into the submission queue.
    overflow: VecDeque<Entry>,
    /// Multishot operations ([`Completion::goes_on`]) that are queued.
    going_on: Vec<Key>,
    /// Multishot operations that a helper has handed over: the keeper restarts them.
    fostered: Vec<Key>,
}

impl Ring {
    /// Creates a ring and checks that it works. Its results wake the selector.
    pub(crate) fn new(
        config: &Resolved,
        registry: &mio::Registry,
        token: mio::Token,
    ) -> io::Result<Ring> {
        let uring = Ring::set_up(config.entries)?;
        let mut probe = Probe::new();
        uring.submitter().register_probe(&mut probe)?;
        let mut supported = [false; 256];
        for (code, supported) in (0..=u8::MAX).zip(&mut supported) {
            *supported = probe.is_supported(code);
        }
        let params = uring.params();
        if !params.is_feature_nodrop()
            || !params.is_feature_fast_poll()
            || !supported[usize::from(opcode::AsyncCancel::CODE)]
        {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "the kernel's io_uring is too old: Linux 5.7 or later is needed",
            ));
        }
        let ring = Ring {
            uring: ManuallyDrop::new(uring),
            supported,
            state: ManuallyDrop::new(Mutex::new(State {
                table: Table::new(),
                closed: false,
                queue: Queue::default(),
            })),
            #[cfg(feature = "multishot")]
            groups: Mutex::new(Groups::default()),
            started: AtomicU64::new(0),
            in_flight: AtomicUsize::new(0),
            orphaned: AtomicUsize::new(0),
            finished: Finished::default(),
        };
        ring.try_out()?;
        registry.register(
            &mut SourceFd(&ring.uring.as_raw_fd()),
            token,
            mio::Interest::READABLE,
        )?;
        Ok(ring)
    }

    fn set_up(entries: u32) -> io::Result<IoUring> {
        let begin = clock::now();
        let mut modern = true;
        loop {
            let mut builder = IoUring::builder();
            builder.setup_clamp().dontfork();
            if modern {
                // Since Linux 5.18 and 5.19. Without them it works, with more interruptions.
                builder.setup_submit_all().setup_coop_taskrun();
            }
            match builder.build(entries) {
                Err(error) if modern && error.raw_os_error() == Some(libc::EINVAL) => {
                    modern = false;
                }
                Err(error)
                    if error.raw_os_error() == Some(libc::ENOMEM)
                        && clock::elapsed(begin) < SETUP_PATIENCE =>
                {
                    thread::sleep(Duration::from_millis(5));
                }
                result => return result,
            }
        }
    }

    /// Sends a no-operation through the ring: a seccomp filter may allow the set-up and forbid the use.
    fn try_out(&self) -> io::Result<()> {
        self.push(&[opcode::Nop::new().build().user_data(UNHEARD)], || {});
        while !self.flush(By::Keeper)? {}
        let _only = self.state.lock();
        // SAFETY: we have the lock that guards the completion queue.
        let results = unsafe { self.uring.completion_shared() }.count();
        if results == 1 {
            Ok(())
        } else {
            Err(io::Error::other("io_uring lost a no-operation"))
        }
    }

    pub(crate) fn supports(&self, opcode: u8) -> bool {
        self.supported[usize::from(opcode)]
    }

    #[cfg(feature = "multishot")]
    pub(super) fn uring(&self) -> &IoUring {
        &self.uring
    }

    /// Registers an operation and queues its entry. Returns `None` if the ring is closed.
    ///
    /// `queued` is called under the lock, after queueing: what it sees of the owner is from before the owner's
    /// next `flush`.
    pub(crate) fn start(
        &self,
        operation: Arc<dyn Completion>,
        entry: Entry,
        queued: &mut dyn FnMut(),
    ) -> Option<Key> {
        let mut state = self.state.lock();
        if state.closed {
            return None;
        }
        let key = state.table.reserve();
        let entry = entry.user_data(key.0);
        // Both are written under the lock only.
        let in_flight = self.in_flight.load(Ordering::Relaxed);
        self.in_flight.store(in_flight + 1, Ordering::Release);
        let started = self.started.load(Ordering::Relaxed);
        self.started.store(started + 1, Ordering::Relaxed);
        // Under the same lock: a cancellation, which finds the operation in the table, comes after it in the
        // queue.
        self.push_operation(&mut state.queue, operation.as_ref(), key, &entry);
        state.table.fill(key, UnderWay { operation, entry });
        queued();
        Some(key)
    }

    /// Queues an operation.
    fn push_operation(
        &self,
        queue: &mut Queue,
        operation: &dyn Completion,
        key: Key,
        entry: &Entry,
    ) {
        if operation.goes_on() {
            queue.going_on.push(key);
        }
        self.push_to(queue, std::slice::from_ref(entry));
    }

    /// Queues entries; `queued` is called under the lock.
    fn push(&self, entries: &[Entry], queued: impl FnOnce()) {
        let mut state = self.state.lock();
        self.push_to(&mut state.queue, entries);
        queued();
    }

    /// Queues entries. `queue` is the one under the lock, which the caller holds.
    fn push_to(&self, queue: &mut Queue, entries: &[Entry]) {
        // SAFETY: we have the lock that guards the submission queue.
        let mut submission = unsafe { self.uring.submission_shared() };
        for entry in entries {
            // SAFETY: what the entry points to lives in its operation's cell, which the table keeps until
            // the last result is in.
            if !queue.overflow.is_empty() || unsafe { submission.push(entry) }.is_err() {
                queue.overflow.push_back(entry.clone());
            }
        }
    }

    /// Hands over everything that is queued. Returns `false` if the kernel would not take all of it now.
    // D-DRV-02
    pub(crate) fn flush(&self, by: By) -> io::Result<bool> {
        loop {
            let (pending, more) = self.fill(by);
            if pending == 0 {
                return Ok(true);
            }
            // Not under the lock: entries may run to their end in here. If another thread hands over some
            // of the same entries, the kernel sees to it that each is taken once.
            // SAFETY: the arguments are those of a submission without a wait.
            match unsafe { self.uring.submitter().enter::<()>(pending, 0, 0, None) } {
                Ok(taken) if taken as u32 >= pending && !more => return Ok(true),
                Ok(0) => return Ok(self.fill(by).0 == 0),
                Ok(_) => {}
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR) => {}
                    // Out of memory, or too many results to be fetched first.
                    Some(libc::EAGAIN | libc::EBUSY) => return Ok(false),
                    _ => return Err(error),
                },
            }
        }
    }

    /// Moves what did not fit into the submission queue. Returns the number of entries there, and whether more
    /// are left.
    fn fill(&self, by: By) -> (u32, bool) {
        let mut state = self.state.lock();
        let queue = &mut state.queue;
        match by {
            By::Helper => queue.fostered.append(&mut queue.going_on),
            By::Keeper => {
                queue.going_on.clear();
                for key in std::mem::take(&mut queue.fostered) {
                    self.push_to(queue, &[Ring::cancellation(key)]);
                }
            }
        }
        // SAFETY: we have the lock that guards the submission queue.
        let mut submission = unsafe { self.uring.submission_shared() };
        while let Some(entry) = queue.overflow.front() {
            // SAFETY: as in `push_to`.
            if unsafe { submission.push(entry) }.is_err() {
                break;
            }
            queue.overflow.pop_front();
        }
        (submission.len() as u32, !queue.overflow.is_empty())
    }

    /// Takes the results off the ring and passes them to the operations. Returns the number of results. Some of
    /// them queue something more; then `queued` is called as by `start`.
    pub(crate) fn reap(&self, wakers: &mut Wakers, mut queued: impl FnMut()) -> usize {
        if self.in_flight() == 0 {
            // If something has started since, its results wake the selector.
            return 0;
        }
        let mut state = self.state.lock();
        let mut finished = self.finished.collect();
        let mut handled = 0;
        loop {
            // SAFETY: we have the lock that guards the completion queue.
            for result in unsafe { self.uring.completion_shared() } {
                handled += self.handle(&mut state, &mut finished, &result, wakers, &mut queued);
            }
            // SAFETY: we have the lock that guards the submission queue, where the kernel says so.
            if !unsafe { self.uring.submission_shared() }.cq_overflow() {
                return handled;
            }
            // Results that did not fit: there is room now.
            // SAFETY: the arguments are those of a fetch without a wait.
            let fetched = unsafe { self.uring.submitter().enter::<()>(0, 0, GETEVENTS, None) };
            if fetched.is_err() {
                // They stay with the kernel until the next look.
                return handled;
            }
        }
    }

    fn handle(
        &self,
        state: &mut State,
        finished: &mut Vec<Arc<dyn Completion>>,
        result: &cqueue::Entry,
        wakers: &mut Wakers,
        queued: &mut impl FnMut(),
    ) -> usize {
        let key = Key(result.user_data());
        let Some(UnderWay { operation, entry }) = state.table.get(key) else {
            // The result of a cancellation.
            return 0;
        };
        let arrived = Arrived {
            value: result.result(),
            flags: result.flags(),
            more: cqueue::more(result.flags()),
            closed: state.closed,
        };
        match operation.complete(arrived, wakers) {
            Next::Wait => return 1,
            Next::Again => {
                // The kernel has given the operation back undone.
                self.push_operation(&mut state.queue, operation.as_ref(), key, entry);
                // A cancellation that comes later is queued behind it, under the lock.
                queued();
                return 1;
            }
            Next::Stop => {
                self.push_to(&mut state.queue, &[Ring::cancellation(key)]);
                queued();
                return 1;
            }
            Next::Finish => {}
            Next::FinishOrphan => {
                self.orphaned.fetch_sub(1, Ordering::AcqRel);
            }
        }
        finished.extend(state.table.remove(key).map(|was| was.operation));
        // Under the lock, which `state` proves.
        let in_flight = self.in_flight.load(Ordering::Relaxed);
        self.in_flight.store(in_flight - 1, Ordering::Release);
        1
    }

    /// Drops what is finished. The caller must hold no lock.
    pub(crate) fn bury(&self) {
        self.finished.bury();
    }

    /// Counts an operation as orphaned; `not_orphan` takes that back.
    pub(crate) fn orphan(&self) {
        self.orphaned.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn not_orphan(&self) {
        self.orphaned.fetch_sub(1, Ordering::AcqRel);
    }

    /// Asks the kernel to stop operations; `queued` as in `start`.
    pub(super) fn cancel(&self, keys: impl Iterator<Item = Key>, queued: impl FnOnce()) {
        let mut state = self.state.lock();
        for key in keys {
            self.push_to(&mut state.queue, &[Ring::cancellation(key)]);
        }
        queued();
    }

    /// Makes the kernel stop an operation that was handed over, from any thread, without handing over what else
    /// is queued (Linux 6.0). Returns `false` if the kernel does not have it, or cannot stop it at once.
    pub(super) fn cancel_at_once(&self, key: Key) -> bool {
        let (now, which) = (
            types::Timespec::new(),
            types::CancelBuilder::user_data(key.0),
        );
        let submitter = self.uring.submitter();
        submitter.register_sync_cancel(Some(now), which).is_ok()
    }

    /// Whether one of them is still under way.
    pub(super) fn has_any(&self, mut keys: impl Iterator<Item = Key>) -> bool {
        let state = self.state.lock();
        keys.any(|key| state.table.get(key).is_some())
    }

    /// Waits until there is a result, for at most `patience`.
    pub(super) fn wait(&self, patience: Duration) {
        let mut poll = libc::pollfd {
            fd: self.uring.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let wait = i32::try_from(patience.as_millis().saturating_add(1)).unwrap_or(i32::MAX);
        // SAFETY: one entry, which is there.
        unsafe { libc::poll(&raw mut poll, 1, wait) };
    }

    fn cancellation(key: Key) -> Entry {
        opcode::AsyncCancel::new(key.0).build().user_data(UNHEARD)
    }

    /// Refuses new operations and asks the kernel to stop those under way. Returns the number of those.
    #[cfg_attr(
        not(feature = "multishot"),
        allow(unused_variables, reason = "for a pool's")
    )]
    pub(crate) fn close(&self, wakers: &mut Wakers) -> usize {
        let mut state = self.state.lock();
        state.closed = true;
        let entries: Vec<_> = state
            .table
            .iter()
            .map(|(key, _)| Ring::cancellation(key))
            .collect();
        self.push_to(&mut state.queue, &entries);
        drop(state);
        #[cfg(feature = "multishot")]
        self.wake_starving(wakers);
        entries.len()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state.lock().closed
    }

    /// Number of operations started so far.
    pub(crate) fn started(&self) -> u64 {
        self.started.load(Ordering::Relaxed)
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Acquire)
    }

    pub(crate) fn orphaned(&self) -> usize {
        self.orphaned.load(Ordering::Acquire)
    }

    /// Waits until nothing is under way. Returns `false` if that takes longer than `patience`.
    fn settle(&self, patience: Duration) -> bool {
        let begin = clock::now();
        let mut wakers = Wakers::default();
        self.close(&mut wakers);
        loop {
            let flushed = self.flush(By::Keeper);
            self.reap(&mut wakers, || {});
            if self.in_flight() == 0 {
                break;
            }
            let left = patience.saturating_sub(clock::elapsed(begin));
            let wait = match flushed {
                Ok(true) => left,
                Ok(false) => left.min(FULL),
                Err(_) => return false,
            };
            if left.is_zero() {
                return false;
            }
            // No other thread takes results any more, so one that has arrived is still there to be found.
            self.wait(wait);
        }
        true
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let patience = if self.is_closed() {
            Duration::ZERO
        } else {
            DROP_PATIENCE
        };
        let settled = self.in_flight() == 0 || self.settle(patience);
        // Even if the kernel keeps some, the others are done: descriptors that they have opened are closed.
        self.bury();
        if settled {
            // SAFETY: dropped once, here. The kernel has nothing of the operations any more.
            unsafe { ManuallyDrop::drop(&mut self.state) };
        }
        // Else the operations are leaked: the kernel may still write to their buffers.
        // SAFETY: dropped once, here.
        unsafe { ManuallyDrop::drop(&mut self.uring) };
    }
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring")
            .field("in_flight", &self.in_flight())
            .field("orphaned", &self.orphaned())
            .finish_non_exhaustive()
    }
}
