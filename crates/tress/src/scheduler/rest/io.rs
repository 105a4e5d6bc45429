//! The driver of one worker, made when it is first needed.

use crate::sys::Mutex;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tress_driver::{Config, Driver, Gone};

#[derive(Debug)]
pub(crate) struct Io {
    /// None: the runtime was built without I/O.
    config: Option<Config>,
    driver: OnceLock<Arc<Driver>>,
    /// Held while a driver is made; true once none may be made any more.
    closed: Mutex<bool>,
}

impl Io {
    pub(crate) fn new(config: Option<Config>) -> Io {
        Io {
            config,
            driver: OnceLock::new(),
            closed: Mutex::new(false),
        }
    }

    /// The driver, made now if need be.
    pub(crate) fn driver(&self) -> io::Result<&Arc<Driver>> {
        if let Some(driver) = self.driver.get() {
            return Ok(driver);
        }
        let closed = self.closed.lock();
        if *closed {
            return Err(Gone.into());
        }
        if let Some(driver) = self.driver.get() {
            return Ok(driver);
        }
        let config = self.config.as_ref().ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::Unsupported,
                "I/O is disabled on this runtime: build it with `enable_io` or `enable_all`",
            )
        })?;
        let driver = Arc::new(Driver::new(config)?);
        Ok(self.driver.get_or_init(|| driver))
    }

    /// The driver, if there is one.
    #[inline]
    pub(crate) fn made(&self) -> Option<&Arc<Driver>> {
        self.driver.get()
    }

    /// The driver, if it has anything to wait for.
    #[inline]
    pub(super) fn in_use(&self) -> Option<&Arc<Driver>> {
        self.driver.get().filter(|driver| driver.has_sources())
    }

    /// Tells all who wait that the runtime has gone, and waits for the kernel to let go of
    /// operations under way. Returns how many it still has.
    pub(crate) fn close(&self, patience: Duration) -> usize {
        *self.closed.lock() = true;
        self.made()
            .map_or(0, |driver| driver.close(patience).remaining)
    }
}

pub(super) fn park(driver: &Driver, timeout: Option<Duration>) {
    expect(driver.park(timeout).map(|_| ()));
}

pub(super) fn turn(driver: &Driver) {
    expect(driver.turn().map(|_| ()));
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
