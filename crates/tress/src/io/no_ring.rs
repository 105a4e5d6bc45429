//! A system without io_uring, where readiness does everything. The twin of `ring`.

use super::owned::Refused;
use super::source::Source;
use std::future::Ready;
use std::io;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::task::{Context, Poll};

/// A value that no operation shares.
#[derive(Debug)]
pub(crate) struct Held<T>(T);

/// Any type, because nothing is asked of it here.
pub(crate) trait Descriptor {}

impl<T> Descriptor for T {}

impl<T> Held<T> {
    pub(crate) fn new(inner: T) -> Held<T> {
        Held(inner)
    }

    pub(crate) fn into_inner(self) -> T {
        self.0
    }

    pub(crate) fn leftover(&self) -> Option<&Leftover> {
        None
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

/// Bytes that dropped reads have received: here they receive none.
#[derive(Debug)]
pub(crate) enum Leftover {}

impl Leftover {
    pub(crate) fn poll(&self, _: &mut Context<'_>) -> Poll<bool> {
        match *self {}
    }

    pub(crate) fn read(&self, _: &mut [MaybeUninit<u8>]) -> Option<io::Result<usize>> {
        match *self {}
    }

    pub(crate) fn peek(&self, _: &mut [MaybeUninit<u8>]) -> Option<io::Result<usize>> {
        match *self {}
    }

    #[cfg(feature = "net")]
    pub(crate) fn take(&self) -> Option<io::Result<Box<[u8]>>> {
        match *self {}
    }
}

/// An operation under way, of which there is never one.
type Submission<B> = Ready<(io::Result<usize>, B)>;

pub(crate) fn refuse<T: tress_driver::Source, B>(
    _: &Source<T>,
    buffer: B,
) -> Result<Submission<B>, Refused<B>> {
    Err(Refused {
        buffer,
        error: None,
    })
}

#[cfg(feature = "net")]
pub(crate) use self::{refuse as recv, refuse as send};
#[cfg(unix)]
pub(crate) use self::{refuse as read, refuse as write};

#[cfg(feature = "net")]
pub(crate) use pooled::{Next, PoolBuffer, Receive};

#[cfg(feature = "net")]
mod pooled {
    use crate::buffers::RingPool;
    use crate::io::source::Source;
    use std::io;
    use std::ops::Deref;
    use std::task::{Context, Poll};

    impl RingPool {
        pub(crate) fn begin<T: tress_driver::Source>(
            &self,
            _: &Source<T>,
            _: &mut Context<'_>,
        ) -> (Receive, Next) {
            match *self {}
        }

        pub(crate) fn resume(&self, _: &mut Receive, _: &mut Context<'_>) -> Option<Next> {
            match *self {}
        }
    }

    pub(crate) type Next = Poll<Option<io::Result<PoolBuffer>>>;

    #[derive(Debug)]
    pub(crate) enum Receive {}

    impl Receive {
        pub(crate) fn poll_next(&mut self, _: &mut Context<'_>) -> Option<Next> {
            match *self {}
        }

        pub(crate) async fn stop(&mut self) -> Vec<io::Result<PoolBuffer>> {
            match *self {}
        }
    }

    #[derive(Debug)]
    pub(crate) enum PoolBuffer {}

    impl PoolBuffer {
        pub(crate) fn is_scarce(&self) -> bool {
            match *self {}
        }
    }

    impl Deref for PoolBuffer {
        type Target = [u8];

        fn deref(&self) -> &[u8] {
            match *self {}
        }
    }
}
