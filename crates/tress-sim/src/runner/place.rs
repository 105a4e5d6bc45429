//! Where the code of a run has panicked.
//!
//! The value of a panic has a message, but not the place. The panic's hook knows it, and panics on the way to the one that ends a
//! run are often caught: so the last few are remembered, without allocating anything.

use super::page::digest;
use super::server::panic_text;
use crate::chaos;
use std::io::Write;
use std::panic::{PanicHookInfo, set_hook, take_hook};
use std::sync::{Mutex, PoisonError};

/// Number of panics that are remembered.
const PANICS: usize = 16;
/// Maximum number of bytes of a place.
const LENGTH: usize = 256;

#[derive(Debug, Clone, Copy)]
struct Panic {
    /// A digest of its message.
    message: u64,
    place: [u8; LENGTH],
    length: usize,
}

#[derive(Debug)]
struct Panics {
    last: [Panic; PANICS],
    number: usize,
}

static PANICS_OF_RUN: Mutex<Panics> = Mutex::new(Panics {
    last: [Panic {
        message: 0,
        place: [0; LENGTH],
        length: 0,
    }; PANICS],
    number: 0,
});

/// Remembers panics of this process from now on, and hands them on to what has looked at them so far.
pub(super) fn watch() {
    let next = take_hook();
    set_hook(Box::new(move |info| {
        note(info);
        next(info);
    }));
}

fn note(info: &PanicHookInfo<'_>) {
    let Some(location) = info.location() else {
        return;
    };
    let mut panic = Panic {
        message: digest(panic_text(info.payload()).as_bytes()),
        place: [0; LENGTH],
        length: 0,
    };
    // All assertions of `tress_chaos` fail at one place; their messages have their own.
    if location.file() != chaos::FILE {
        let mut room = &mut panic.place[..];
        // A place that is too long is cut.
        let _ = write!(room, "{location}");
        panic.length = LENGTH - room.len();
    }
    // Nothing panics, waits or calls the system while it holds the lock.
    let mut panics = PANICS_OF_RUN.lock().unwrap_or_else(PoisonError::into_inner);
    let at = panics.number % PANICS;
    panics.last[at] = panic;
    panics.number += 1;
}

/// Returns the place of the last panic with that message, or nothing if it is not known.
pub(super) fn of_panic(message: &str) -> String {
    let panics = PANICS_OF_RUN.lock().unwrap_or_else(PoisonError::into_inner);
    let message = digest(message.as_bytes());
    let known = panics.number.min(PANICS);
    let mut latest = (0..known).map(|back| &panics.last[(panics.number - 1 - back) % PANICS]);
    let found = latest.find(|panic| panic.message == message);
    found.map_or(String::new(), |panic| {
        String::from_utf8_lossy(&panic.place[..panic.length]).into_owned()
    })
}
