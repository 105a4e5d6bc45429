//! Faults and assertions that code has for its simulation.
//!
//! Code that is tested in a simulation can help to find what is wrong with it: it can do something rare more often
//! ([`buggify!`]), say what must always be so ([`assert_always!`], [`unreached!`]), and what a good test reaches at least
//! once ([`assert_sometimes!`], [`reachable!`]). FoundationDB's simulation is where this comes from.
//!
//! This crate has no dependencies. Without a simulation each of the macros is a load and a branch, and its arguments are not
//! evaluated; without the feature `enabled` it is nothing. The package `tress-sim` is the simulation.
//!
//! # Examples
//! ```
//! use tress_chaos::{assert_always, assert_sometimes, buggify};
//!
//! struct Cache {
//!     entries: Vec<u32>,
//!     limit: usize,
//! }
//!
//! impl Cache {
//!     fn add(&mut self, entry: u32) {
//!         // A simulation finds out what a cache that is always full does to its users.
//!         let limit = if buggify!() { 1 } else { self.limit };
//!         while self.entries.len() >= limit {
//!             self.entries.remove(0);
//!         }
//!         assert_sometimes!(self.entries.is_empty(), "an entry is added to an empty cache");
//!         self.entries.push(entry);
//!         assert_always!(self.entries.len() <= self.limit, "the limit is kept", self.entries, self.limit);
//!     }
//! }
//!
//! let mut cache = Cache { entries: Vec::new(), limit: 2 };
//! (0..5).for_each(|entry| cache.add(entry));
//! assert_eq!(cache.entries, [3, 4]);
//! ```
#![no_std]
#![warn(missing_docs, missing_debug_implementations)]

#[cfg(feature = "enabled")]
mod macros;
#[cfg(not(feature = "enabled"))]
mod nothing;
mod table;

pub use table::sites;

use core::fmt;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// What a place in the code says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// [`buggify!`]: something rare may happen here.
    Buggify,
    /// [`assert_always!`]: a condition holds.
    Always,
    /// [`assert_sometimes!`]: a condition holds at least once.
    Sometimes,
    /// [`reachable!`]: a run gets here at least once.
    Reachable,
    /// [`unreached!`]: no run gets here.
    Unreached,
}

/// A place in the code with one of the macros.
#[derive(Debug)]
pub struct Site {
    kind: Kind,
    message: &'static str,
    file: &'static str,
    line: u32,
    column: u32,
    number: AtomicU32,
}

impl Site {
    /// Creates a site. The macros do.
    #[doc(hidden)]
    pub const fn new(
        kind: Kind,
        message: &'static str,
        file: &'static str,
        line: u32,
        column: u32,
    ) -> Site {
        Site {
            kind,
            message,
            file,
            line,
            column,
            number: AtomicU32::new(u32::MAX),
        }
    }

    /// Returns what the site says.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns its message; that of [`buggify!`] is empty.
    pub fn message(&self) -> &'static str {
        self.message
    }

    /// Returns the source file.
    pub fn file(&self) -> &'static str {
        self.file
    }

    /// Returns the line in the source file.
    pub fn line(&self) -> u32 {
        self.line
    }

    /// Returns the column in the line.
    pub fn column(&self) -> u32 {
        self.column
    }

    /// Returns the position of the site in [`sites`], once [`install`] was called.
    pub fn number(&self) -> Option<usize> {
        let number = self.number.load(Ordering::Relaxed);
        (number != u32::MAX).then_some(number as usize)
    }
}

/// Shows where the site is: `src/lib.rs:7:5`.
impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// What a simulation does when code gets to a site.
#[derive(Debug, Clone, Copy)]
pub struct Hook {
    /// Returns whether this site fires this time, which is to have that probability.
    pub buggify: fn(&'static Site, f64) -> bool,
    /// Takes whether the condition of the site holds. That of [`reachable!`] does, that of [`unreached!`] does not.
    pub met: fn(&'static Site, bool),
    /// Ends the run, because the condition of the site has to hold and does not. The text has the details.
    pub violated: fn(&'static Site, fmt::Arguments<'_>),
}

static HOOK: AtomicPtr<Hook> = AtomicPtr::new(ptr::null_mut());

/// Sets what happens at all sites of the program, and numbers them.
///
/// A second call replaces the hook of the first.
///
/// # Examples
/// ```
/// use tress_chaos::{Hook, buggify};
///
/// assert!(!buggify!(1.0));
/// tress_chaos::install(&Hook {
///     buggify: |_site, probability| probability > 0.5,
///     met: |_site, _holds| {},
///     violated: |site, details| panic!("{site}: {} ({details})", site.message()),
/// });
/// # if cfg!(feature = "enabled") {
/// assert!(buggify!(0.9) && !buggify!(0.1));
/// # }
/// ```
pub fn install(hook: &'static Hook) {
    for (number, site) in sites().iter().enumerate() {
        site.number
            .store(u32::try_from(number).unwrap_or(u32::MAX), Ordering::Relaxed);
    }
    HOOK.store(ptr::from_ref(hook).cast_mut(), Ordering::Release);
}

/// Returns what [`install`] has set.
#[doc(hidden)]
#[inline]
pub fn hook() -> Option<&'static Hook> {
    let hook = HOOK.load(Ordering::Acquire);
    // SAFETY: null, or what `install` was given, which lives for ever.
    unsafe { hook.as_ref() }
}
