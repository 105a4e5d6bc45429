use crate::config::{Backend, Choice, Config, Resolved};
use crate::gone::Gone;
use crate::handover::Attendance;
use crate::interest::Interest;
use crate::loan::{Happened, Kept, Loan};
use crate::ready::Ready;
use crate::registration::Registration;
use crate::slots::{Key, Place, Refused, Slots};
use crate::source::{self, Handle, Source};
use crate::sys::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use crate::sys::{Mutex, MutexGuard, clock};
use crate::token::{Begin, Token};
use crate::uring::Ring;
use crate::wakers::Wakers;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Who hands operations over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// Whoever looks after the ring, the owner most of the time.
    Keeper,
    /// Somebody who helps the owner out of a difficulty.
    // D-DRV-04
    Helper,
}

/// The selector's own tokens; keys of registrations never have the highest bit.
const BELL: mio::Token = mio::Token(usize::MAX);
// D-DRV-01
const RING: mio::Token = mio::Token(usize::MAX - 1);
/// How long to wait before operations are offered again to a kernel that would not take them.
pub(crate) const FULL: Duration = Duration::from_millis(1);

/// Waits for I/O and wakes who waits for it. See the [crate's documentation](crate).
///
/// A driver has one *owner* at a time, the thread that [parks](Driver::park) in it. Everything else
/// may be called by anybody.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use std::thread;
/// use tress_driver::{Config, Driver};
///
/// let driver = Arc::new(Driver::new(&Config::new())?);
/// let other = Arc::clone(&driver);
/// let thread = thread::spawn(move || other.unpark());
/// let turn = driver.park(None)?;
/// assert!(turn.unparked);
/// # thread.join().unwrap();
/// # std::io::Result::Ok(())
/// ```
pub struct Driver {
    pub(crate) token: Token,
    bell: mio::Waker,
    pub(crate) registry: mio::Registry,
    slots: Slots,
    /// Held by whoever waits for or takes events; the owner holds it while it is parked.
    selector: Mutex<Selector>,
    /// An empty collection, kept for its memory.
    spare: Mutex<Wakers>,
    pub(crate) ring: Option<Ring>,
    fallback: Option<io::Error>,
    /// Other drivers that this one looks after.
    pub(crate) kept: Kept,
    /// Another one looks after this.
    pub(crate) lent: AtomicBool,
    /// The owner is away and the kernel would not take what is queued: the keeper has to come again.
    owes: AtomicBool,
    /// Threads that drain the driver: while there are any, a park does not wait.
    draining: AtomicUsize,
    pub(crate) attendance: Attendance,
    counters: Counters,
}

struct Selector {
    poll: mio::Poll,
    events: mio::Events,
    /// What the last look has found in drivers that this one looks after.
    happened: Happened,
}

#[derive(Default)]
struct Counters {
    registered: AtomicUsize,
    /// Sources that were taken out, where the kernel may still have something of them.
    lingering: AtomicU64,
    events: AtomicU64,
    turns: AtomicU64,
    bells: AtomicU64,
    adoptions: AtomicU64,
}

/// What a look at the kernel brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Turn {
    /// How many readiness events and completions were handled.
    pub events: usize,
    /// Whether an unpark token was taken.
    pub unparked: bool,
}

/// What a driver has done and has in hand. Each number is exact; together they are not a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Metrics {
    /// Sources registered now.
    pub registered: usize,
    /// Operations that the kernel has, or is about to get.
    pub in_flight: usize,
    /// Of those, the ones whose future was dropped.
    pub orphaned: usize,
    /// Operations given to the ring so far, one that goes on counted each time it is started.
    pub operations: u64,
    /// Readiness events and completions handled so far.
    pub events: u64,
    /// Looks at the kernel so far, blocking or not.
    pub turns: u64,
    /// Unparks that had to ring the bell.
    pub bells: u64,
    /// Turns taken by others for a stuck owner.
    pub adoptions: u64,
    /// Other drivers that it looks after now.
    pub kept: usize,
}

impl std::iter::Sum for Metrics {
    /// What several drivers together have done and have in hand.
    fn sum<I: Iterator<Item = Metrics>>(all: I) -> Metrics {
        all.fold(Metrics::default(), |sum, one| Metrics {
            operations: sum.operations + one.operations,
            registered: sum.registered + one.registered,
            in_flight: sum.in_flight + one.in_flight,
            orphaned: sum.orphaned + one.orphaned,
            events: sum.events + one.events,
            turns: sum.turns + one.turns,
            bells: sum.bells + one.bells,
            adoptions: sum.adoptions + one.adoptions,
            kept: sum.kept + one.kept,
        })
    }
}

/// What closing a driver found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[must_use]
#[non_exhaustive]
pub struct Report {
    /// Sources that were still registered; all their waiters were told.
    pub registered: usize,
    /// Operations that were still under way and were cancelled.
    pub cancelled: usize,
    /// Of those, the ones that the kernel still had at the deadline. Their buffers stay until it is
    /// done with them.
    pub remaining: usize,
}

impl Driver {
    /// Makes a driver with the backend that the configuration and the system allow.
    ///
    /// # Errors
    /// `InvalidInput` for a configuration or a `TRESS_IO` that makes no sense; what the system says if
    /// the selector, or a ring that was insisted on, cannot be made.
    pub fn new(config: &Config) -> io::Result<Driver> {
        let config = config.resolve()?;
        let poll = mio::Poll::new().map_err(explain("the selector"))?;
        let registry = poll
            .registry()
            .try_clone()
            .map_err(explain("the selector"))?;
        let bell = mio::Waker::new(&registry, BELL).map_err(explain("the bell"))?;
        let (ring, fallback) = Driver::choose(&config, &registry)?;
        Ok(Driver {
            token: Token::new(),
            bell,
            registry,
            slots: Slots::new(),
            selector: Mutex::new(Selector {
                poll,
                events: mio::Events::with_capacity(config.events),
                happened: Happened::default(),
            }),
            spare: Mutex::new(Wakers::default()),
            ring,
            fallback,
            kept: Kept::default(),
            lent: AtomicBool::new(false),
            owes: AtomicBool::new(false),
            draining: AtomicUsize::new(0),
            attendance: Attendance::default(),
            counters: Counters::default(),
        })
    }

    fn choose(
        config: &Resolved,
        registry: &mio::Registry,
    ) -> io::Result<(Option<Ring>, Option<io::Error>)> {
        match config.choice {
            Choice::Readiness => Ok((None, None)),
            Choice::Uring => Ring::new(config, registry, RING)
                .map(|ring| (Some(ring), None))
                .map_err(explain("the ring")),
            Choice::Auto => Ok(match Ring::new(config, registry, RING) {
                Ok(ring) => (Some(ring), None),
                Err(reason) => (None, Some(reason)),
            }),
        }
    }

    /// The backend in use.
    pub fn backend(&self) -> Backend {
        match self.ring {
            Some(_) => Backend::Uring,
            None => Backend::Readiness,
        }
    }

    /// Why there is no ring although one would have been taken.
    pub fn fallback_reason(&self) -> Option<&io::Error> {
        self.fallback.as_ref()
    }

    /// The owner waits for I/O, an unpark or the timeout, and wakes who waited for what happened.
    /// It may also return for no reason. The timeout is rounded up to what the selector can do, a
    /// millisecond with epoll. Wakers are woken on this thread, after all locks are released; one that panics
    /// keeps neither the others from being woken nor this thread from going on.
    ///
    /// # Errors
    /// What the selector says. Interruptions by signals are not errors.
    pub fn park(&self, timeout: Option<Duration>) -> io::Result<Turn> {
        let mut selector = self.selector.lock();
        self.attendance.attend();
        let mut wakers = self.spare_wakers();
        let (result, unparked) = match self.token.begin() {
            Begin::Notified => (
                self.look(&mut selector, Some(Duration::ZERO), By::Keeper, &mut wakers),
                true,
            ),
            Begin::Wait => {
                // Who drains needs the lock, and has left a token since it began: so it is seen here.
                let is_drained = self.draining.load(Ordering::Acquire) != 0;
                let timeout = if is_drained {
                    Some(Duration::ZERO)
                } else {
                    timeout
                };
                let result = self.look(&mut selector, timeout, By::Keeper, &mut wakers);
                (result, self.token.end())
            }
        };
        let events = self.finish(selector, wakers, By::Keeper, result)?;
        Ok(Turn { events, unparked })
    }

    /// Hands pending operations to the kernel and handles what has happened, without waiting. Leaves
    /// the unpark token alone. Does nothing if somebody else is at it.
    ///
    /// # Errors
    /// As for [`park`](Driver::park).
    pub fn turn(&self) -> io::Result<Turn> {
        self.turn_by(By::Keeper)
    }

    /// A turn for an owner that is stuck outside; `None` if the owner (or another helper) is inside.
    ///
    /// # Errors
    /// As for [`park`](Driver::park).
    pub fn try_adopt(&self) -> io::Result<Option<Turn>> {
        let turn = self.try_turn(By::Helper)?;
        if turn.is_some() {
            self.counters.adoptions.fetch_add(1, Ordering::Relaxed);
        }
        Ok(turn)
    }

    pub(crate) fn turn_by(&self, by: By) -> io::Result<Turn> {
        Ok(self.try_turn(by)?.unwrap_or_default())
    }

    fn try_turn(&self, by: By) -> io::Result<Option<Turn>> {
        let Some(mut selector) = self.selector.try_lock() else {
            return Ok(None);
        };
        if by == By::Keeper {
            self.attendance.attend();
        }
        let mut wakers = self.spare_wakers();
        let result = self.look(&mut selector, Some(Duration::ZERO), by, &mut wakers);
        let events = self.finish(selector, wakers, by, result)?;
        Ok(Some(Turn {
            events,
            unparked: false,
        }))
    }

    /// After a look: lets go of the lock, wakes, and takes turns for the drivers that this one looks after.
    fn finish(
        &self,
        mut selector: MutexGuard<'_, Selector>,
        wakers: Wakers,
        by: By,
        looked: io::Result<usize>,
    ) -> io::Result<usize> {
        let mut happened = std::mem::take(&mut selector.happened);
        drop(selector);
        self.wake(wakers);
        Ok(looked? + happened.turn(&self.kept, by)?)
    }

    /// Submits, waits, and moves what happened into slots and operations. Returns how much it was.
    fn look(
        &self,
        selector: &mut Selector,
        timeout: Option<Duration>,
        by: By,
        wakers: &mut Wakers,
    ) -> io::Result<usize> {
        self.counters.turns.fetch_add(1, Ordering::Relaxed);
        let mut timeout = timeout;
        let mut is_refused = match &self.ring {
            Some(ring) => !ring.flush(by)?,
            None => false,
        };
        if selector.happened.note_debtors(&self.kept) || is_refused {
            // The kernel is short of memory, or of room for results: fetch those, and try again.
            timeout = Some(timeout.map_or(FULL, |timeout| timeout.min(FULL)));
        }
        match selector.poll.poll(&mut selector.events, timeout) {
            Ok(()) => {}
            // A signal, or the kernel's own work for the ring: look at what there is.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => selector.events.clear(),
            Err(error) => return Err(error),
        }
        let mut handled = 0;
        for event in &selector.events {
            match event.token() {
                BELL | RING => {}
                token if selector.happened.note(token) => {}
                mio::Token(key) => {
                    handled += 1;
                    if let Some((slot, is_for)) = self.slots.find(Key(key)) {
                        slot.set_ready(is_for, Ready::from_mio(event), wakers);
                    }
                }
            }
        }
        if let Some(ring) = &self.ring {
            let mut is_stranded = is_refused && self.token.is_away();
            handled += ring.reap(wakers, || is_stranded |= self.token.is_away());
            is_refused = match by {
                _ if !is_stranded => false,
                By::Keeper => !ring.flush(by)?,
                // The keeper's to hand over: operations that go on should be its own.
                By::Helper => {
                    self.ring_bell();
                    false
                }
            };
            self.owes.store(is_refused, Ordering::Relaxed);
        }
        self.counters
            .events
            .fetch_add(handled as u64, Ordering::Relaxed);
        Ok(handled)
    }

    /// Is there something left to hand over, which nobody but a keeper will? As of the last look.
    pub(crate) fn owes(&self) -> bool {
        self.owes.load(Ordering::Relaxed)
    }

    pub(crate) fn spare_wakers(&self) -> Wakers {
        std::mem::take(&mut *self.spare.lock())
    }

    /// Wakes all; no lock may be held.
    pub(crate) fn wake(&self, mut wakers: Wakers) {
        if let Some(ring) = &self.ring {
            ring.bury();
        }
        wakers.wake_all();
        *self.spare.lock() = wakers;
    }

    /// Leaves a token for the owner: the park it is in, or its next one, ends at once. Costs a system
    /// call only if the owner is in the kernel.
    pub fn unpark(&self) {
        if self.token.notify() {
            self.ring_bell();
        }
    }

    fn ring_bell(&self) {
        self.counters.bells.fetch_add(1, Ordering::Relaxed);
        // Cannot fail on a bell that exists, short of the kernel running out of memory; and then a
        // thread that sleeps on for ever is worse than a panic.
        self.bell.wake().expect("the driver's bell can be rung");
    }

    /// Is there anything that only the kernel can report: a source, or an operation under way? If not,
    /// the owner may as well sleep elsewhere. On Windows a driver that ever had a source has: operations
    /// of one that is gone may still be under way.
    pub fn has_sources(&self) -> bool {
        self.kept.any()
            || self.counters.registered.load(Ordering::Acquire) != 0
            || self.counters.lingering.load(Ordering::Acquire) != 0
            || self.ring.as_ref().is_some_and(|ring| ring.in_flight() != 0)
    }

    /// Lets the owner of another driver look after this one's sources and operations, until the loan is
    /// dropped: whenever it parks or takes a turn it wakes those who wait here too. The lender may go on
    /// taking turns, but does not park in its own driver meanwhile. For runtimes with one driver for each
    /// thread, so that a thread whose time has come to rest is not woken for what another one can do.
    ///
    /// # Errors
    /// `InvalidInput` if this driver is lent already or looks after another one itself (a keeper of a lent driver
    /// must not be lent either, which the caller sees to), `QuotaExceeded` if the keeper has 64 already, `Unsupported` where
    /// selectors cannot watch each other: everywhere but on Linux.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(target_os = "linux")] {
    /// use std::io::Write;
    /// use std::os::unix::net::UnixStream;
    /// use std::sync::Arc;
    /// use tress_driver::{Config, Driver, Interest};
    ///
    /// let (lender, keeper) = (Driver::new(&Config::new())?, Driver::new(&Config::new())?);
    /// let (lender, keeper) = (Arc::new(lender), Arc::new(keeper));
    /// let (mut near, mut far) = UnixStream::pair()?;
    /// near.set_nonblocking(true)?;
    /// let _registration = lender.register(&mut near, Interest::READABLE)?;
    ///
    /// let loan = lender.lend(&keeper)?;
    /// far.write_all(b"hello")?;
    /// while keeper.park(None)?.events == 0 {}
    /// drop(loan);
    /// # }
    /// # std::io::Result::Ok(())
    /// ```
    pub fn lend(self: &Arc<Self>, keeper: &Arc<Driver>) -> io::Result<Loan> {
        Loan::new(self, keeper)
    }

    /// Is it [lent](Driver::lend)?
    #[inline]
    pub fn is_lent(&self) -> bool {
        self.lent.load(Ordering::Relaxed)
    }

    /// The owner of a driver that is [lent](Driver::lend) sleeps, in `sleep` and not in the driver. Operations
    /// that others submit or cancel meanwhile are handed over by the keeper.
    pub fn sleep_elsewhere<T>(&self, sleep: impl FnOnce() -> T) -> T {
        self.token.leave();
        if let Some(ring) = &self.ring {
            if !matches!(ring.flush(By::Keeper), Ok(true)) {
                self.ring_bell();
            }
        }
        let slept = sleep();
        self.token.come_back();
        slept
    }

    /// As for [`Token`].
    #[allow(dead_code, reason = "used where there is a ring")]
    pub(crate) fn is_asleep(&self) -> bool {
        self.token.is_asleep()
    }

    /// Has somebody come to hand over what was queued: the owner, or who looks after the driver.
    #[allow(dead_code, reason = "used where there is a ring")]
    pub(crate) fn summon(&self) {
        if self.token.summon() {
            self.ring_bell();
        }
    }

    /// Does it look after drivers that were [lent](Driver::lend) to it?
    #[inline]
    pub fn keeps_others(&self) -> bool {
        self.kept.any()
    }

    /// Watches a source. Its readiness is empty until the kernel has reported something.
    ///
    /// # Errors
    /// [`Gone`] after [`close`](Driver::close); what the selector says, such as `PermissionDenied` for
    /// a file, which cannot be watched, or `AlreadyExists` for a descriptor that this driver watches
    /// already.
    pub fn register<S: Source + ?Sized>(
        self: &Arc<Self>,
        source: &mut S,
        interest: Interest,
    ) -> io::Result<Registration> {
        let (key, slot) = self.slots.take().map_err(|refused| match refused {
            Refused::Closed => Gone.into(),
            Refused::Full => io::Error::new(
                io::ErrorKind::QuotaExceeded,
                "too many sources in one I/O driver; spread them over more drivers",
            ),
        })?;
        // Asking the source for its descriptor is foreign code, which may panic.
        let place = Place(&self.slots, key);
        let token = mio::Token(key.0);
        let handle = source::register(&self.registry, source, token, interest.to_mio())?;
        std::mem::forget(place);
        self.counters.registered.fetch_add(1, Ordering::AcqRel);
        Ok(Registration::new(Arc::clone(self), key, slot, handle))
    }

    pub(crate) fn deregister(&self, key: Key, handle: &Handle) {
        // Fails only for a descriptor that was closed before its registration, against the rules;
        // then the selector has forgotten it already.
        let _ = handle.deregister(&self.registry);
        self.slots.give_back(key);
        if source::LINGERS {
            self.counters.lingering.fetch_add(1, Ordering::AcqRel);
        }
        self.counters.registered.fetch_sub(1, Ordering::AcqRel);
    }

    /// What the driver has done and has in hand.
    pub fn metrics(&self) -> Metrics {
        let counters = &self.counters;
        Metrics {
            registered: counters.registered.load(Ordering::Relaxed),
            in_flight: self.ring.as_ref().map_or(0, Ring::in_flight),
            orphaned: self.ring.as_ref().map_or(0, Ring::orphaned),
            operations: self.ring.as_ref().map_or(0, Ring::started),
            events: counters.events.load(Ordering::Relaxed),
            turns: counters.turns.load(Ordering::Relaxed),
            bells: counters.bells.load(Ordering::Relaxed),
            adoptions: counters.adoptions.load(Ordering::Relaxed),
            kept: self.kept.count(),
        }
    }

    /// Ends everything: nothing can be registered or submitted any more, every waiter is woken and
    /// finds [`Gone`], operations under way are cancelled, and the kernel gets `patience` to let go of
    /// their buffers. An owner that is parked is unparked; one that parks meanwhile waits for the same, as
    /// does another `close`. May be called again, to wait longer.
    pub fn close(&self, patience: Duration) -> Report {
        let deadline = clock::now().checked_add(patience);
        let registered = self.counters.registered.load(Ordering::Acquire);
        let mut wakers = self.spare_wakers();
        for slot in self.slots.close() {
            slot.shut_down(&mut wakers);
        }
        let mut report = Report {
            registered,
            ..Report::default()
        };
        if let Some(ring) = &self.ring {
            report.cancelled = ring.close(&mut wakers);
        }
        self.wake(wakers);
        if let Some(ring) = &self.ring {
            report.remaining = self.drain(ring, deadline);
        }
        self.unpark();
        report
    }

    /// Waits until the kernel has nothing of the ring any more; returns what is left at the deadline.
    fn drain(&self, ring: &Ring, deadline: Option<Instant>) -> usize {
        self.draining.fetch_add(1, Ordering::AcqRel);
        while ring.in_flight() != 0 {
            // The owner may be parked with the lock held.
            self.unpark();
            let mut selector = self.selector.lock();
            // Looked at again: whoever had the lock may have taken the last result along, and then nothing
            // would end the wait. From here on only we take results.
            if ring.in_flight() == 0 {
                break;
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(clock::now()));
            let mut wakers = self.spare_wakers();
            let looked = self.look(&mut selector, left, By::Keeper, &mut wakers);
            let looked = self.finish(selector, wakers, By::Keeper, looked);
            if looked.is_err() || left.is_some_and(|left| left.is_zero()) {
                break;
            }
        }
        self.draining.fetch_sub(1, Ordering::AcqRel);
        ring.in_flight()
    }

    /// Results were taken beside who drains: the last may have been among them, and then nothing would end its wait.
    pub(crate) fn tell_who_drains(&self) {
        // It is told if it has begun before this, else it finds what was done before this: an exchange has an order
        // with the one by which it begins.
        if self.draining.fetch_add(0, Ordering::AcqRel) != 0 {
            self.ring_bell();
        }
    }

    /// Was it closed?
    pub fn is_closed(&self) -> bool {
        self.slots.is_closed()
    }
}

fn explain(part: &'static str) -> impl Fn(io::Error) -> io::Error {
    move |error| {
        io::Error::new(
            error.kind(),
            format!("cannot make {part} of an I/O driver: {error}"),
        )
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver")
            .field("backend", &self.backend())
            .field("metrics", &self.metrics())
            .finish_non_exhaustive()
    }
}
