//! A runtime without I/O: there is never a driver.

use crate::sys::Parker;
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Io {
    /// The worker's.
    pub(super) parker: Parker,
}

/// There is none.
#[derive(Debug)]
pub(crate) enum Driver {}

impl Driver {
    pub(crate) fn ring_bell(&self) {
        match *self {}
    }

    pub(crate) fn park_away(&self, _: Option<Duration>) -> bool {
        match *self {}
    }

    pub(crate) fn keeps_others(&self) -> bool {
        match *self {}
    }
}

/// Nor is one lent.
#[derive(Debug)]
pub(super) enum Loan {}

impl Io {
    pub(crate) fn none() -> Io {
        Io {
            parker: Parker::new(),
        }
    }

    pub(super) fn was_made(&self) -> bool {
        false
    }

    pub(crate) fn made(&self) -> Option<Driver> {
        None
    }

    pub(crate) fn describe(&self) -> Option<String> {
        None
    }

    pub(crate) fn events(&self) -> u64 {
        0
    }

    pub(super) fn in_use(&self) -> Option<Driver> {
        None
    }

    pub(crate) fn operations(&self) -> u64 {
        0
    }

    pub(crate) fn pool_taken(&self) -> usize {
        0
    }

    pub(crate) fn close(&self, _: Duration) -> usize {
        0
    }
}

pub(super) fn park(driver: &Driver, _: Option<Duration>) {
    match *driver {}
}

pub(super) fn depart(driver: &Driver) {
    match *driver {}
}

pub(super) fn turn(driver: &Driver) {
    match *driver {}
}

pub(super) fn lend(driver: &Driver, _: &Driver) -> Option<Loan> {
    match *driver {}
}

pub(super) fn adopt(driver: &Driver) {
    match *driver {}
}
