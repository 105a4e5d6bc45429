//! The twin of `held` for objects that are no descriptors, which no ring takes.

use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use tress_driver::Leftover;

/// An object that no operation shares.
#[derive(Debug)]
pub(crate) struct Held<T>(T);

/// What a driver would need to know an object by. Each is registered when it is made.
#[derive(Clone, Copy)]
pub(crate) struct Name;

/// What operations would have received.
pub(crate) struct Loan;

impl Loan {
    pub(crate) fn leftover(&self) -> Option<&Leftover> {
        None
    }
}

/// What operations would share.
#[derive(Debug)]
pub(crate) struct Lent(Leftover);

impl Lent {
    pub(crate) fn leftover(&self) -> &Leftover {
        &self.0
    }
}

/// Any source, because nothing is asked of it here.
pub(crate) trait Descriptor: tress_driver::Source {}

impl<T: tress_driver::Source> Descriptor for T {}

impl<T> Held<T> {
    pub(crate) fn new(inner: T) -> Held<T> {
        Held(inner)
    }

    pub(crate) fn into_inner(self) -> T {
        self.0
    }

    pub(crate) fn name(&self) -> Name {
        Name
    }

    pub(crate) fn loan(&self) -> &Loan {
        &Loan
    }

    /// Returns what an operation would keep, if one was supported.
    pub(crate) fn lend(&self) -> Arc<Lent> {
        Arc::new(Lent(Leftover::new()))
    }

    pub(crate) fn reclaim(self) -> io::Result<T> {
        Ok(self.0)
    }
}

impl<T> Deref for Held<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Held<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
