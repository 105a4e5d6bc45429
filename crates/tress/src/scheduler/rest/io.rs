//! The driver of one worker, made when it is first needed and let go of when its runtime ends.
//!
//! More than the runtime may know the way to it, and for longer: timers do, and tasks that others have wakers of. If
//! one of them is never dropped, as what a coroutine has on a stack that cannot be unwound, the descriptors are
//! closed all the same.

#[cfg(feature = "pooled")]
use crate::buffers::{Pool, Sizes};
use crate::sys::atomic::Ordering;
use crate::sys::plain::AtomicBool;
use crate::sys::{Mutex, Parker, thread};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tress_driver::{Config, Driver, Gone};

pub(super) use tress_driver::Loan;

/// How long to wait for operations to end where no thread can be had to do so.
const WITHOUT_A_THREAD: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Io {
    /// The worker's, and its driver's.
    pub(super) parker: Arc<Parker>,
    /// None: the runtime was built without I/O.
    config: Option<Config>,
    /// There is a driver, or was one. Without it nobody takes the lock.
    was_made: AtomicBool,
    state: Mutex<State>,
    #[cfg(feature = "pooled")]
    sizes: Sizes,
}

/// Never held while foreign code runs, nor while somebody waits for I/O.
#[derive(Debug, Default)]
struct State {
    driver: Option<Arc<Driver>>,
    #[cfg(feature = "pooled")]
    pool: Option<Arc<Pool>>,
    /// None may be made any more.
    closed: bool,
    /// What a driver that was let go of has done.
    past: tress_driver::Metrics,
}

impl Io {
    pub(crate) fn new(config: Option<Config>, #[cfg(feature = "pooled")] sizes: Sizes) -> Io {
        Io {
            parker: Arc::new(Parker::new()),
            config,
            was_made: AtomicBool::new(false),
            state: Mutex::new(State::default()),
            #[cfg(feature = "pooled")]
            sizes,
        }
    }

    /// The driver, made now if need be.
    pub(crate) fn driver(&self) -> io::Result<Arc<Driver>> {
        self.driver_of(&mut self.state.lock())
    }

    fn driver_of(&self, state: &mut State) -> io::Result<Arc<Driver>> {
        if state.closed {
            return Err(Gone.into());
        }
        if let Some(driver) = &state.driver {
            return Ok(driver.clone());
        }
        let config = self.config.as_ref().ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::Unsupported,
                "I/O is disabled on this runtime: build it with `enable_io` or `enable_all`",
            )
        })?;
        let driver = Arc::new(Driver::with_parker(config, self.parker.clone())?);
        state.driver = Some(driver.clone());
        self.was_made.store(true, Ordering::Release);
        Ok(driver)
    }

    /// The pool that goes with the driver; both are made now if need be.
    #[cfg(feature = "pooled")]
    pub(crate) fn pool(&self) -> io::Result<Arc<Pool>> {
        let mut state = self.state.lock();
        let driver = self.driver_of(&mut state)?;
        if driver.is_closed() {
            return Err(Gone.into());
        }
        let make = || Arc::new(Pool::new(&driver, self.sizes));
        Ok(state.pool.get_or_insert_with(make).clone())
    }

    /// Was there ever a driver?
    #[inline]
    pub(super) fn was_made(&self) -> bool {
        self.was_made.load(Ordering::Acquire)
    }

    /// The driver, if there is one.
    #[inline]
    pub(crate) fn made(&self) -> Option<Arc<Driver>> {
        if !self.was_made() {
            return None;
        }
        self.state.lock().driver.clone()
    }

    /// What the driver has done and has in hand, or had.
    pub(crate) fn metrics(&self) -> tress_driver::Metrics {
        if !self.was_made() {
            return tress_driver::Metrics::default();
        }
        let state = self.state.lock();
        match &state.driver {
            Some(driver) => driver.metrics(),
            None => state.past,
        }
    }

    /// Returns a human-readable summary of what the driver has done and what is under way.
    pub(crate) fn describe(&self) -> Option<String> {
        let driver = self.made()?;
        let metrics = driver.metrics();
        Some(format!(
            "{:?}, {} sources, {} operations under way, {} events in {} looks, {} by others, looks after {} more",
            driver.backend(),
            metrics.registered,
            metrics.in_flight,
            metrics.events,
            metrics.turns,
            metrics.adoptions,
            metrics.kept
        ))
    }

    /// Events handled so far.
    pub(crate) fn events(&self) -> u64 {
        self.metrics().events
    }

    /// The driver, if it has anything to wait for.
    #[inline]
    pub(super) fn in_use(&self) -> Option<Arc<Driver>> {
        self.made().filter(|driver| driver.has_sources())
    }

    /// Operations of the ring so far.
    pub(crate) fn operations(&self) -> u64 {
        self.metrics().operations
    }

    /// Buffers of the pool that are neither free nor the kernel's.
    pub(crate) fn pool_taken(&self) -> usize {
        #[cfg(feature = "pooled")]
        if self.was_made() {
            if let Some(pool) = &self.state.lock().pool {
                return usize::from(self.sizes.buffers) - pool.available();
            }
        }
        0
    }

    /// Tells every waiter that the runtime is gone, waits up to `patience` for the kernel to finish the operations
    /// under way, and releases the driver. Returns how many operations the kernel still has.
    pub(crate) fn close(&self, patience: Duration) -> usize {
        self.state.lock().closed = true;
        let Some(driver) = self.made() else {
            return 0;
        };
        let remaining = driver.close(patience).remaining;
        let mut state = self.state.lock();
        state.past = driver.metrics();
        let let_go = std::mem::take(&mut *state);
        *state = State {
            closed: true,
            past: let_go.past,
            ..State::default()
        };
        drop(state);
        drop(let_go);
        if remaining > 0 {
            see_to_the_end(driver);
        }
        remaining
    }
}

/// For a driver without a runtime, with operations under way: whoever holds a future of one, outside of the
/// runtime, would wait for ever if nobody fetched the results; and what they hold, descriptors and buffers, can be
/// let go of only when the kernel has said that it is done with them.
fn see_to_the_end(driver: Arc<Driver>) {
    let fetched = driver.clone();
    let fetch = move || {
        // Nobody is there to hear of what remains, and nothing does.
        let _ = fetched.close(Duration::MAX);
    };
    let started = thread::Builder::new("tress-closing".into()).spawn(fetch);
    if let Err(error) = started {
        // Mostly it takes a moment only.
        let remaining = driver.close(WITHOUT_A_THREAD).remaining;
        if remaining > 0 {
            eprintln!(
                "tress: {remaining} operations of a runtime that has shut down are left as they are, with what \
                 they hold: {error}"
            );
        }
    }
}

pub(super) fn park(driver: &Driver, timeout: Option<Duration>) {
    expect(driver.park(timeout).map(|_| ()));
}

pub(super) fn depart(driver: &Driver) {
    driver.depart();
}

pub(super) fn turn(driver: &Driver) {
    expect(driver.turn().map(|_| ()));
}

/// None where selectors cannot watch each other, or have too many to watch.
pub(super) fn lend(driver: &Arc<Driver>, keeper: &Arc<Driver>) -> Option<Loan> {
    driver.lend(keeper).ok()
}

pub(super) fn adopt(driver: &Driver) {
    expect(driver.try_adopt().map(|_| ()));
}

/// A selector that cannot be asked any more would mean tasks that sleep for ever.
fn expect(result: io::Result<()>) {
    if let Err(error) = result {
        panic!("tress cannot wait for I/O any more: {error}");
    }
}
