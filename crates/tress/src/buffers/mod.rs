//! The buffers of a worker that pooled streams are read into.

mod ring;
mod shelf;

pub(crate) use ring::RingPool;
pub(crate) use shelf::{Shelf, ShelfBuffer};

use std::sync::Arc;
use tress_driver::Driver;

/// Number and size of the buffers in the pool of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub(crate) buffers: u16,
    pub(crate) bytes: usize,
}

impl Default for Sizes {
    // D-DRV-10
    fn default() -> Sizes {
        Sizes {
            // With fewer buffers than connections that receive at the same time, the kernel keeps running
            // out of them and has to be asked again for each: 500 connections cost twice as much with 256
            // buffers.
            buffers: 1024,
            bytes: 2048,
        }
    }
}

impl Sizes {
    /// Checks the sizes when the runtime is built.
    pub(crate) fn check(self) -> Result<(), String> {
        let Sizes { buffers, bytes } = self;
        if buffers.is_power_of_two() && buffers <= 1 << 15 && (1..=1 << 20).contains(&bytes) {
            return Ok(());
        }
        Err(format!(
            "a pool of {buffers} buffers of {bytes} bytes cannot be made: choose a power of two up to \
             32768, and 1 byte to 1 MiB"
        ))
    }
}

/// The pool of one worker, created when the first stream needs it.
#[derive(Debug)]
pub(crate) enum Pool {
    Ring(RingPool),
    Shelf(Shelf),
}

impl Pool {
    pub(crate) fn new(driver: &Arc<Driver>, sizes: Sizes) -> Pool {
        match RingPool::new(driver, sizes.buffers, sizes.bytes) {
            Some(pool) => Pool::Ring(pool),
            None => Pool::Shelf(Shelf::new(usize::from(sizes.buffers), sizes.bytes)),
        }
    }

    pub(crate) fn available(&self) -> usize {
        match self {
            Pool::Ring(pool) => pool.available(),
            Pool::Shelf(shelf) => shelf.available(),
        }
    }
}
