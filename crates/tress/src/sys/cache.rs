use std::ops::Deref;

/// Keeps its content off the cache lines of its neighbours.
///
/// 128 bytes: the adjacent-line prefetcher of x86-64 and the line size of several
/// aarch64 parts both make pairs of 64-byte lines travel together.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct CachePadded<T>(T);

impl<T> CachePadded<T> {
    pub(crate) const fn new(value: T) -> Self {
        CachePadded(value)
    }
}

impl<T> Deref for CachePadded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
