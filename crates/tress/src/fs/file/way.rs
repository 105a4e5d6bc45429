//! The two ways on which an operation that has to wait is done.

use crate::io::offload::{Job, lost};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

/// An operation in progress whose result is a `T`: `R` is what the ring does.
#[derive(Debug)]
pub(super) enum Way<R, T> {
    Ring(R),
    Pool(OnPool<T>),
}

impl<R, T> Future for Way<R, T>
where
    R: Future<Output = io::Result<T>> + Unpin,
    T: 'static,
{
    type Output = io::Result<T>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        match self.get_mut() {
            Way::Ring(operation) => Pin::new(operation).poll(cx),
            Way::Pool(job) => Pin::new(job).poll(cx),
        }
    }
}

/// An operation that the blocking pool does.
#[derive(Debug)]
pub(super) struct OnPool<T>(pub(super) Job<io::Result<T>>);

impl<T: 'static> Future for OnPool<T> {
    type Output = io::Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        let joined = Pin::new(&mut self.0).poll(cx);
        joined.map(|joined| joined.map_err(lost).and_then(|done| done))
    }
}
