//! Operations with many results, and the buffers that they share: none of which can be made.

use super::unsupported;
use crate::driver::Driver;
use std::convert::Infallible;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Buffers that the kernel takes as bytes arrive: there is none of them here.
#[derive(Clone, Debug)]
pub struct Pool(Infallible);

impl Pool {
    /// Creates no pool.
    ///
    /// # Errors
    /// [`Unsupported`](io::ErrorKind::Unsupported).
    pub fn new(_: &Arc<Driver>, _: u16, _: usize) -> io::Result<Pool> {
        Err(unsupported())
    }

    /// Returns the number of buffers that are free.
    pub fn available(&self) -> usize {
        match self.0 {}
    }
}

/// A buffer of a [`Pool`].
#[derive(Debug)]
pub struct PoolBuffer(Infallible);

impl PoolBuffer {
    /// Returns `true` if few of the pool's buffers are free.
    pub fn is_scarce(&self) -> bool {
        match self.0 {}
    }
}

impl Deref for PoolBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self.0 {}
    }
}

/// An operation with many results, for [`Driver::submit_multi`]. Implemented by [`RecvMulti`] only.
pub trait MultiOperation: sealed::Prepare {
    /// What one result is.
    type Item;
}

mod sealed {
    use std::convert::Infallible;

    pub trait Prepare: Send + Sync + Sized + 'static {
        /// Says that there is no such operation.
        fn never(&self) -> Infallible;
    }
}

/// Receives into the buffers of a [`Pool`].
#[derive(Debug)]
pub struct RecvMulti<F>(Infallible, PhantomData<F>);

impl<F> RecvMulti<F> {
    /// Creates an operation that receives from a socket into buffers of `pool`.
    pub fn new(_: F, pool: &Pool) -> Self {
        match pool.0 {}
    }
}

impl<F: Send + Sync + 'static> sealed::Prepare for RecvMulti<F> {
    fn never(&self) -> Infallible {
        self.0
    }
}

impl<F: Send + Sync + 'static> MultiOperation for RecvMulti<F> {
    type Item = PoolBuffer;
}

/// The results of a multishot operation; created by [`Driver::submit_multi`].
#[must_use = "dropping it cancels the operation"]
pub struct Multishot<M: MultiOperation>(Infallible, PhantomData<M>);

impl<M: MultiOperation> Multishot<M> {
    /// Polls for the next result.
    ///
    /// # Errors
    /// None: there is no such operation.
    pub fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<Option<io::Result<M::Item>>> {
        match self.0 {}
    }

    /// Polls for the next result, but starts nothing.
    ///
    /// # Errors
    /// As for [`poll_next`](Multishot::poll_next).
    pub fn poll_started(
        &mut self,
        _: &mut Context<'_>,
    ) -> Option<Poll<Option<io::Result<M::Item>>>> {
        match self.0 {}
    }

    /// Waits for the next result.
    ///
    /// # Errors
    /// As for [`poll_next`](Multishot::poll_next).
    pub async fn next(&mut self) -> Option<io::Result<M::Item>> {
        match self.0 {}
    }

    /// Asks the kernel to stop, and waits until it has.
    pub async fn stop(&mut self) {
        match self.0 {}
    }

    /// Polls for the end of the operation.
    pub fn poll_stop(&mut self, _: &mut Context<'_>) -> Poll<()> {
        match self.0 {}
    }

    /// Returns a result that has arrived, if there is one.
    ///
    /// # Errors
    /// As for [`poll_next`](Multishot::poll_next).
    pub fn try_next(&mut self) -> Option<io::Result<M::Item>> {
        match self.0 {}
    }

    /// Returns the driver that the operation was submitted to.
    pub fn driver(&self) -> &Arc<Driver> {
        match self.0 {}
    }

    /// Returns the number of results that have arrived and were not fetched.
    pub fn pending(&self) -> usize {
        match self.0 {}
    }
}

impl<M: MultiOperation> fmt::Debug for Multishot<M> {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {}
    }
}

impl Driver {
    /// Creates a multishot operation.
    pub fn submit_multi<M: MultiOperation>(self: &Arc<Self>, op: M) -> Multishot<M> {
        match op.never() {}
    }
}
