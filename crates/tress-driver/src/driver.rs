//! The driver: one wait for readiness, completions, timeouts and unparks, and what may be done to it from other
//! threads.

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
use crate::sys::{Asleep, Begin, Mutex, MutexGuard, Parker, clock};
use crate::token::Token;
use crate::uring::Ring;
use crate::wakers::Wakers;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The role in which a thread hands operations to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// The thread that drives the ring: the owner, most of the time.
    Keeper,
    /// Another thread, which takes a turn in the owner's place.
    // D-DRV-04
    Helper,
}

/// The selector's token of the bell. Keys of registrations never have the highest bit set.
const BELL: mio::Token = mio::Token(usize::MAX);
/// The selector's token of the ring.
// D-DRV-01
const RING: mio::Token = mio::Token(usize::MAX - 1);
/// Time to wait before operations are offered again to a kernel that refused them.
pub(crate) const FULL: Duration = Duration::from_millis(1);

/// Waits for I/O and wakes the tasks that wait for it.
///
/// A driver has one *owner* at a time, the thread that [parks](Driver::park) in it; every other method may be
/// called from any thread. Two threads may not park at once: the second one blocks until the first returns.
///
/// Readiness and completions are delivered only while a thread drives: in [`park`](Driver::park),
/// [`turn`](Driver::turn) or [`try_adopt`](Driver::try_adopt).
///
/// Dropping a driver with operations under way cancels them and blocks until the kernel is done with their
/// buffers. What does not stop within a second is leaked, because the kernel may still write to it. A driver
/// that was [closed](Driver::close) does not wait again.
///
/// See the [crate's documentation](crate) for an overview.
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
    /// Held by the thread that waits for or takes events; the owner holds it while it is parked.
    selector: Mutex<Selector>,
    /// An empty collection, kept for its memory.
    spare: Mutex<Wakers>,
    pub(crate) ring: Option<Ring>,
    fallback: Option<io::Error>,
    /// The drivers that were lent to this one.
    pub(crate) kept: Kept,
    /// Whether this driver is lent to another one.
    pub(crate) lent: AtomicBool,
    /// Set when the owner is away and the kernel refused what is queued: the keeper has to try again.
    owes: AtomicBool,
    /// Number of threads that drain the driver; while there are any, a park does not wait.
    draining: AtomicUsize,
    pub(crate) attendance: Attendance,
    counters: Counters,
}

struct Selector {
    poll: mio::Poll,
    events: mio::Events,
    /// What the last look has found in drivers that were lent to this one.
    happened: Happened,
}

#[derive(Default)]
struct Counters {
    registered: AtomicUsize,
    deregistered: AtomicU64,
    /// Sources that were deregistered on a system where the kernel may still have operations of theirs.
    lingering: AtomicU64,
    events: AtomicU64,
    turns: AtomicU64,
    bells: AtomicU64,
    adoptions: AtomicU64,
}

/// What one look at the kernel has brought.
///
/// # Examples
/// ```
/// use tress_driver::{Config, Driver, Turn};
///
/// let driver = Driver::new(&Config::new())?;
/// driver.unpark();
/// let turn = driver.park(None)?;
/// assert_eq!((turn.events, turn.unparked), (0, true));
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Turn {
    /// Number of readiness events and completions that were handled.
    pub events: usize,
    /// Whether an [unpark](Driver::unpark) token was taken. Always `false` for turns other than parks.
    pub unparked: bool,
}

/// Counters of a driver, as [`Driver::metrics`] returns them.
///
/// Each number is exact, but they are read one after the other and are no snapshot of one moment. The metrics
/// of several drivers can be [summed](Iterator::sum).
///
/// # Examples
/// ```
/// use tress_driver::{Config, Driver, Metrics};
///
/// let drivers = [Driver::new(&Config::new())?, Driver::new(&Config::new())?];
/// drivers[0].turn()?;
/// let together: Metrics = drivers.iter().map(Driver::metrics).sum();
/// assert_eq!(together.turns, 1);
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Metrics {
    /// Number of sources that are registered.
    pub registered: usize,
    /// Number of sources that were registered and are not any more.
    pub deregistered: u64,
    /// Number of operations that the kernel has or is about to get.
    pub in_flight: usize,
    /// Number of operations in flight whose future was dropped.
    pub orphaned: usize,
    /// Number of operations given to the ring so far; a multishot operation counts each time it is started.
    pub operations: u64,
    /// Number of readiness events and completions handled so far.
    pub events: u64,
    /// Number of looks at the kernel so far, blocking or not.
    pub turns: u64,
    /// Number of times that the owner, or the keeper of a lent driver, had to be woken by a system call.
    pub bells: u64,
    /// Number of turns taken by [`try_adopt`](Driver::try_adopt).
    pub adoptions: u64,
    /// Number of other drivers that are [lent](Driver::lend) to this one.
    pub kept: usize,
}

impl std::iter::Sum for Metrics {
    /// Adds up the metrics of several drivers, field by field.
    fn sum<I: Iterator<Item = Metrics>>(all: I) -> Metrics {
        all.fold(Metrics::default(), |sum, one| Metrics {
            operations: sum.operations + one.operations,
            registered: sum.registered + one.registered,
            deregistered: sum.deregistered + one.deregistered,
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

/// What [`Driver::close`] found.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use tress_driver::{Config, Driver};
///
/// let driver = Driver::new(&Config::new())?;
/// let report = driver.close(Duration::from_secs(1));
/// assert_eq!((report.registered, report.cancelled, report.remaining), (0, 0, 0));
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[must_use]
#[non_exhaustive]
pub struct Report {
    /// Number of sources that were still registered; every task that waited for them was woken.
    pub registered: usize,
    /// Number of operations that were under way and were cancelled.
    pub cancelled: usize,
    /// Number of operations that the kernel still had at the deadline. Their buffers stay in memory until it is
    /// done with them.
    pub remaining: usize,
}

impl Driver {
    /// Creates a driver with the backend that the configuration and the system allow.
    ///
    /// # Errors
    /// - [`InvalidInput`](io::ErrorKind::InvalidInput) if a value of the configuration is out of its range, or
    ///   if the environment variable `TRESS_IO` names no backend.
    /// - Any error of `epoll_create1(2)`, `eventfd(2)` or their counterparts on other systems, such as too many
    ///   open descriptors.
    /// - With [`Choice::Uring`], any error of `io_uring_setup(2)`, and
    ///   [`Unsupported`](io::ErrorKind::Unsupported) on a system without io_uring or with one older than Linux
    ///   5.7.
    ///
    /// # Examples
    /// ```
    /// use tress_driver::{Config, Driver};
    ///
    /// let driver = Driver::new(&Config::new())?;
    /// println!("{}", driver.backend());
    /// assert!(Driver::new(Config::new().events(0)).is_err());
    /// # std::io::Result::Ok(())
    /// ```
    pub fn new(config: &Config) -> io::Result<Driver> {
        Driver::with_parker(config, Arc::new(Parker::new()))
    }

    /// Creates a driver whose owner parks by `parker`, also elsewhere: in the driver, or on the parker while the
    /// driver has nothing to wait for. A [`Parker::notify`] that says so has to be followed by
    /// [`ring_bell`](Driver::ring_bell).
    ///
    /// For tress, whose workers sleep before they have a driver. A parker has no stable interface.
    ///
    /// # Errors
    /// As for [`new`](Driver::new).
    #[doc(hidden)]
    pub fn with_parker(config: &Config, parker: Arc<Parker>) -> io::Result<Driver> {
        let config = config.resolve()?;
        let poll = mio::Poll::new().map_err(explain("the selector"))?;
        let registry = poll
            .registry()
            .try_clone()
            .map_err(explain("the selector"))?;
        let bell = mio::Waker::new(&registry, BELL).map_err(explain("the bell"))?;
        let (ring, fallback) = Driver::choose(&config, &registry)?;
        Ok(Driver {
            token: Token::new(parker),
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

    /// Returns the backend in use.
    pub fn backend(&self) -> Backend {
        match self.ring {
            Some(_) => Backend::Uring,
            None => Backend::Readiness,
        }
    }

    /// Returns why the driver has no ring although [`Choice::Auto`] would have taken one.
    ///
    /// `None` if the driver has a ring, or if none was asked for.
    pub fn fallback_reason(&self) -> Option<&io::Error> {
        self.fallback.as_ref()
    }

    /// Waits for I/O, an unpark or the timeout, and wakes the tasks that wait for what has happened.
    ///
    /// With no timeout it waits without limit. It may also return early without a reason. The timeout is
    /// rounded up to the resolution of the selector, which is a millisecond with epoll. Operations that are
    /// queued are handed to the kernel first.
    ///
    /// If another thread has called [`unpark`](Driver::unpark) since the last park, this one takes the token
    /// and returns without waiting, after one look at the kernel.
    ///
    /// Wakers are woken on the calling thread after all locks are released. If one panics, the panic is caught,
    /// the others are woken all the same and the call returns normally.
    ///
    /// # Errors
    /// Any error of `epoll_wait(2)`, `kevent(2)`, `GetQueuedCompletionStatusEx` or `io_uring_enter(2)`.
    /// Interruption by a signal is not an error.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use tress_driver::{Config, Driver};
    ///
    /// let driver = Driver::new(&Config::new())?;
    /// let turn = driver.park(Some(Duration::from_millis(1)))?;
    /// assert!(!turn.unparked);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn park(&self, timeout: Option<Duration>) -> io::Result<Turn> {
        let mut selector = self.selector.lock();
        self.attendance.attend();
        let mut wakers = self.spare_wakers();
        let (result, unparked) = match self.token.begin(Asleep::Selector) {
            Begin::Notified => (
                self.look(&mut selector, Some(Duration::ZERO), By::Keeper, &mut wakers),
                true,
            ),
            Begin::Wait => {
                // A thread that drains needs the lock, and left a token after it had begun to drain: so the
                // count is seen here.
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

    /// Hands queued operations to the kernel and handles what has happened, without waiting.
    ///
    /// Leaves the unpark token alone. Returns an empty [`Turn`] if another thread is driving at the moment.
    ///
    /// # Errors
    /// As for [`park`](Driver::park).
    ///
    /// # Examples
    /// ```
    /// use tress_driver::{Config, Driver};
    ///
    /// let driver = Driver::new(&Config::new())?;
    /// driver.unpark();
    /// assert!(!driver.turn()?.unparked); // the token is still there
    /// assert!(driver.park(None)?.unparked);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn turn(&self) -> io::Result<Turn> {
        self.turn_by(By::Keeper)
    }

    /// Takes a [turn](Driver::turn) in place of an owner that is busy elsewhere. Returns `None` if the owner or
    /// another thread is driving at the moment.
    ///
    /// Meant for a thread that watches over the owner, for instance while the owner runs a task that does not
    /// yield. Multishot operations that are handed over here are handed over again by the owner later.
    ///
    /// # Errors
    /// As for [`park`](Driver::park).
    ///
    /// # Examples
    /// ```
    /// use tress_driver::{Config, Driver};
    ///
    /// let driver = Driver::new(&Config::new())?;
    /// // No thread is parked, so there is a turn to take.
    /// assert!(driver.try_adopt()?.is_some());
    /// assert_eq!(driver.metrics().adoptions, 1);
    /// # std::io::Result::Ok(())
    /// ```
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

    /// Finishes a look: releases the lock, wakes, and takes turns for the drivers that are lent to this one.
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

    /// Submits, waits, and moves what has happened into slots and operations. Returns the number of events.
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
        let mut handled = self.note_events(selector, wakers);
        if let Some(ring) = &self.ring {
            let mut is_stranded = is_refused && self.token.is_away();
            handled += ring.reap(wakers, || is_stranded |= self.token.is_away());
            is_refused = match by {
                _ if !is_stranded => false,
                By::Keeper => !ring.flush(by)?,
                // Left to the keeper: multishot operations should be handed over by its thread.
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

    /// Moves the readiness that a wait has found into slots. Returns the number of sources.
    #[inline]
    fn note_events(&self, selector: &mut Selector, wakers: &mut Wakers) -> usize {
        let mut sources = 0;
        for event in &selector.events {
            match event.token() {
                BELL | RING => {}
                token if selector.happened.note(token) => {}
                mio::Token(key) => {
                    sources += 1;
                    if let Some((slot, is_for)) = self.slots.find(Key(key)) {
                        slot.set_ready(is_for, Ready::from_mio(event), wakers);
                    }
                }
            }
        }
        sources
    }

    /// Whether something is left to hand over that only a keeper will, as of the last look.
    pub(crate) fn owes(&self) -> bool {
        self.owes.load(Ordering::Relaxed)
    }

    pub(crate) fn spare_wakers(&self) -> Wakers {
        std::mem::take(&mut *self.spare.lock())
    }

    /// Wakes all of them. The caller must hold no lock.
    pub(crate) fn wake(&self, mut wakers: Wakers) {
        if let Some(ring) = &self.ring {
            ring.bury();
        }
        wakers.wake_all();
        *self.spare.lock() = wakers;
    }

    /// Leaves a token for the owner: the park it is in, or else its next one, returns at once.
    ///
    /// Several tokens count as one. Costs a system call only if the owner is waiting in the kernel. Everything
    /// that was done before the call is visible to the owner when the park returns.
    ///
    /// # Panics
    /// If the system cannot wake the owner because it is out of memory.
    ///
    /// # Examples
    /// ```
    /// use tress_driver::{Config, Driver};
    ///
    /// let driver = Driver::new(&Config::new())?;
    /// driver.unpark();
    /// driver.unpark();
    /// assert!(driver.park(None)?.unparked);
    /// assert!(!driver.park(Some(std::time::Duration::ZERO))?.unparked);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn unpark(&self) {
        if self.token.notify() {
            self.ring_bell();
        }
    }

    /// Ends the wait of a thread in the driver, the owner or the keeper. Leaves no token.
    #[doc(hidden)]
    pub fn ring_bell(&self) {
        self.counters.bells.fetch_add(1, Ordering::Relaxed);
        // Cannot fail on a bell that exists unless the kernel is out of memory; then a panic is better than a
        // thread that sleeps for ever.
        self.bell.wake().expect("the driver's bell can be rung");
    }

    /// Returns `true` if there is anything that only the kernel can report: a source, an operation under way,
    /// or a driver that is lent to this one.
    ///
    /// If not, the owner may as well sleep elsewhere. On Windows it stays `true` once a source was registered,
    /// because operations of a source that is gone may still be under way.
    ///
    /// # Examples
    /// ```
    /// use tress_driver::{Config, Driver};
    ///
    /// let driver = Driver::new(&Config::new())?;
    /// assert!(!driver.has_sources());
    /// # std::io::Result::Ok(())
    /// ```
    pub fn has_sources(&self) -> bool {
        self.kept.any()
            || self.counters.registered.load(Ordering::Acquire) != 0
            || self.counters.lingering.load(Ordering::Acquire) != 0
            || self.ring.as_ref().is_some_and(|ring| ring.in_flight() != 0)
    }

    /// Lets the owner of `keeper` drive this driver too, until the [`Loan`] is dropped.
    ///
    /// Whenever the keeper's owner parks or takes a turn, it also handles the events and operations of this
    /// driver and wakes the tasks that wait for them. The owner of the lent driver may go on taking
    /// [turns](Driver::turn), but must not park in it; it sleeps in
    /// [`park_away`](Driver::park_away) instead.
    ///
    /// This is for runtimes with one driver per thread: an idle thread need not be woken for I/O that a busy
    /// one can handle. Linux only.
    ///
    /// # Errors
    /// - [`InvalidInput`](io::ErrorKind::InvalidInput) if this driver is lent already, or has drivers lent to
    ///   it, or is the keeper itself. The reverse is not checked: do not make a lent driver the keeper of
    ///   another one.
    /// - [`QuotaExceeded`](io::ErrorKind::QuotaExceeded) if 64 drivers are lent to the keeper already.
    /// - [`Unsupported`](io::ErrorKind::Unsupported) on systems other than Linux.
    /// - Any error of `epoll_ctl(2)`.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(target_os = "linux")] {
    /// use std::io::Write;
    /// use std::os::unix::net::UnixStream;
    /// use std::sync::Arc;
    /// use tress_driver::{Config, Driver, Interest};
    ///
    /// let lender = Arc::new(Driver::new(&Config::new())?);
    /// let keeper = Arc::new(Driver::new(&Config::new())?);
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

    /// Returns `true` if the driver is [lent](Driver::lend) to another one.
    #[inline]
    pub fn is_lent(&self) -> bool {
        self.lent.load(Ordering::Relaxed)
    }

    /// Parks the owner of a [lent](Driver::lend) driver outside the driver, until there is an
    /// [unpark](Driver::unpark) token or the timeout. Returns `true` if it has taken a token.
    ///
    /// With no timeout it waits without limit. It may also return early without a reason. I/O does not end it: the
    /// keeper handles that.
    ///
    /// Queued operations are handed over first. Operations that other threads submit or cancel meanwhile are
    /// handed over by the keeper.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(target_os = "linux")] {
    /// use std::sync::Arc;
    /// use std::thread;
    /// use tress_driver::{Config, Driver};
    ///
    /// let lender = Arc::new(Driver::new(&Config::new())?);
    /// let keeper = Arc::new(Driver::new(&Config::new())?);
    /// let loan = lender.lend(&keeper)?;
    /// let other = Arc::clone(&lender);
    /// let thread = thread::spawn(move || other.unpark());
    /// while !lender.park_away(None) {}
    /// drop(loan);
    /// # thread.join().unwrap();
    /// # }
    /// # std::io::Result::Ok(())
    /// ```
    pub fn park_away(&self, timeout: Option<Duration>) -> bool {
        let began = self.token.begin(Asleep::Away);
        if let Some(ring) = &self.ring {
            if !matches!(ring.flush(By::Keeper), Ok(true)) {
                self.ring_bell();
            }
        }
        match began {
            Begin::Notified => true,
            Begin::Wait => {
                self.token.sleep(Asleep::Away, timeout);
                self.token.end()
            }
        }
    }

    /// See [`Token::is_asleep`].
    #[allow(dead_code, reason = "used where there is a ring")]
    pub(crate) fn is_asleep(&self) -> bool {
        self.token.is_asleep()
    }

    /// Wakes the owner, or the keeper of a lent driver, to hand over what was queued.
    #[allow(dead_code, reason = "used where there is a ring")]
    pub(crate) fn summon(&self) {
        if self.token.summon() {
            self.ring_bell();
        }
    }

    /// Returns `true` if other drivers are [lent](Driver::lend) to this one.
    #[inline]
    pub fn keeps_others(&self) -> bool {
        self.kept.any()
    }

    /// Starts to watch a source for `interest`.
    ///
    /// The readiness is empty until the kernel has reported something; a source that is ready already is
    /// reported by the next park or turn. Put the source into non-blocking mode first. Events stop when the
    /// [`Registration`] is dropped, which must happen before the source is closed.
    ///
    /// # Errors
    /// - [`Gone`] after [`close`](Driver::close).
    /// - [`QuotaExceeded`](io::ErrorKind::QuotaExceeded) if the driver has no room for another source
    ///   (2,147,483,584 on 64-bit systems).
    /// - Any error of `epoll_ctl(2)` or its counterparts, such as
    ///   [`PermissionDenied`](io::ErrorKind::PermissionDenied) for a regular file, which cannot be watched, or
    ///   [`AlreadyExists`](io::ErrorKind::AlreadyExists) for a descriptor that the driver watches already.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(unix)] {
    /// use std::os::unix::net::UnixStream;
    /// use std::sync::Arc;
    /// use tress_driver::{Config, Driver, Interest};
    ///
    /// let driver = Arc::new(Driver::new(&Config::new())?);
    /// let (mut near, _far) = UnixStream::pair()?;
    /// near.set_nonblocking(true)?;
    /// let registration = driver.register(&mut near, Interest::WRITABLE)?;
    /// while driver.park(None)?.events == 0 {}
    /// assert!(registration.ready_now(Interest::WRITABLE).is_some());
    /// # }
    /// # std::io::Result::Ok(())
    /// ```
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
        // The source is asked for its descriptor, which is foreign code and may panic.
        let place = Place(&self.slots, key);
        let token = mio::Token(key.0);
        let handle = source::register(&self.registry, source, token, interest.to_mio())?;
        std::mem::forget(place);
        self.counters.registered.fetch_add(1, Ordering::AcqRel);
        Ok(Registration::new(Arc::clone(self), key, slot, handle))
    }

    pub(crate) fn deregister(&self, key: Key, handle: &Handle) {
        // Fails only for a descriptor that was closed before its registration was dropped, against the
        // contract; then the selector has forgotten it already.
        let _ = handle.deregister(&self.registry);
        self.slots.give_back(key);
        if source::LINGERS {
            self.counters.lingering.fetch_add(1, Ordering::AcqRel);
        }
        self.counters.registered.fetch_sub(1, Ordering::AcqRel);
        self.counters.deregistered.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the driver's counters. Takes no lock.
    pub fn metrics(&self) -> Metrics {
        let counters = &self.counters;
        Metrics {
            registered: counters.registered.load(Ordering::Relaxed),
            deregistered: counters.deregistered.load(Ordering::Relaxed),
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

    /// Closes the driver: cancels all operations, wakes every task that waits, and refuses everything new.
    ///
    /// From now on [`register`](Driver::register) and submissions fail with [`Gone`], and waits for readiness
    /// return it. The call then blocks until the kernel has let go of all operations, but not for longer than
    /// `patience`; `Duration::MAX` means without limit. A parked owner is unparked. A thread that parks or
    /// closes at the same time waits for the same.
    ///
    /// May be called from any thread, and again, to wait longer.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(unix)] {
    /// use std::os::unix::net::UnixStream;
    /// use std::sync::Arc;
    /// use std::time::Duration;
    /// use tress_driver::{Config, Driver, Gone, Interest};
    ///
    /// let driver = Arc::new(Driver::new(&Config::new())?);
    /// let (mut near, _far) = UnixStream::pair()?;
    /// let registration = driver.register(&mut near, Interest::READABLE)?;
    /// let report = driver.close(Duration::from_secs(1));
    /// assert_eq!(report.registered, 1);
    /// let error = registration.try_io(Interest::READABLE, || Ok(())).unwrap_err();
    /// assert!(Gone::is_in(&error));
    /// # }
    /// # std::io::Result::Ok(())
    /// ```
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

    /// Waits until the kernel has no operation of the ring any more. Returns the number that is left at the
    /// deadline.
    fn drain(&self, ring: &Ring, deadline: Option<Instant>) -> usize {
        self.draining.fetch_add(1, Ordering::AcqRel);
        while ring.in_flight() != 0 {
            // The owner may be parked with the lock held.
            self.unpark();
            let mut selector = self.selector.lock();
            // Looked at again under the lock: the thread that had it may have taken the last result along, and
            // then nothing would end the wait.
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

    /// Wakes a thread that drains, after results were taken without the selector's lock: the last one may have
    /// been among them, and then nothing would end its wait.
    pub(crate) fn tell_who_drains(&self) {
        // Either the thread had begun to drain before, and the bell is rung, or it begins later and finds the
        // results taken: the two read-modify-writes of the count are ordered.
        if self.draining.fetch_add(0, Ordering::AcqRel) != 0 {
            self.ring_bell();
        }
    }

    /// Returns `true` after [`close`](Driver::close) was called.
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
