//! Many tasks spawned at once.

use super::error::JoinError;
use super::join::JoinHandle;
use crate::context;
use crate::runtime::no_runtime;
use std::fmt;
use std::future::Future;
use std::iter::FusedIterator;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::vec;

/// Spawns a task for each future, on the current runtime.
///
/// It does what a loop of [`spawn`](super::spawn()) does, in less time: the tasks are made and queued 64
/// at a time, under one lock and with one wake-up. The first ones may run, elsewhere, before the last
/// ones are spawned. On a current-thread runtime there is nothing to be gained.
///
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let squares = tress::task::spawn_batch((0..1000u64).map(|n| async move { n * n })).await;
/// let sum: u64 = squares.into_iter().map(|square| square.unwrap()).sum();
/// assert_eq!(sum, 332_833_500);
/// # });
/// ```
///
/// # Panics
/// Outside of a runtime; [`Handle::spawn_batch`](crate::runtime::Handle::spawn_batch) works anywhere.
/// With the iterator's panic: what it gave before that has been spawned, and goes on detached.
#[track_caller]
pub fn spawn_batch<I>(futures: I) -> Batch<<I::Item as Future>::Output>
where
    I: IntoIterator,
    I::Item: Future<Output: Send + 'static> + Send + 'static,
{
    match context::runtime() {
        Some(shared) => shared.spawn_batch(futures, Location::caller()),
        None => no_runtime("spawn_batch"),
    }
}

/// How far ahead of its use a task's cell is prefetched: another worker has run the task.
const AHEAD: usize = 8;

/// The right to the results of tasks that were spawned together; made by [`spawn_batch`].
///
/// Awaiting it gives the result of each, in the order of the futures. It can be taken apart into one
/// [`JoinHandle`] for each. Dropping it detaches the tasks.
///
/// ```
/// use tress::task::spawn_batch;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let batch = spawn_batch((0..3).map(|n| async move { 10 / n }));
/// let results = batch.await;
/// assert!(results[0].as_ref().is_err_and(|error| error.is_panic()));
/// assert_eq!(*results[2].as_ref().unwrap(), 5);
///
/// for task in spawn_batch((0..3).map(|n| async move { n })) {
///     assert!(task.await.unwrap() < 3);
/// }
/// # });
/// ```
///
/// # Cancel safety
/// Awaiting `&mut batch` can be dropped and repeated: results that have come stay in the batch.
pub struct Batch<T> {
    tasks: vec::IntoIter<JoinHandle<T>>,
    /// Of those that are not in `tasks` any more.
    results: Vec<Result<T, JoinError>>,
}

// Nothing in it is ever pinned.
impl<T> Unpin for Batch<T> {}

impl<T> Batch<T> {
    pub(crate) fn new(handles: Vec<JoinHandle<T>>) -> Batch<T> {
        Batch {
            tasks: handles.into_iter(),
            results: Vec::new(),
        }
    }

    /// Tasks in the batch, finished or not.
    pub fn len(&self) -> usize {
        self.tasks.len() + self.results.len()
    }

    /// True if there were no futures to spawn.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True once all have finished, panicked, or been dropped after a cancellation.
    pub fn is_finished(&self) -> bool {
        self.tasks.as_slice().iter().all(JoinHandle::is_finished)
    }

    /// Cancels all that have not finished. See [`JoinHandle::abort`].
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let batch = tress::task::spawn_batch((0..3).map(|_| std::future::pending::<()>()));
    /// batch.abort_all();
    /// assert!(batch.await.iter().all(|result| result.as_ref().unwrap_err().is_cancelled()));
    /// # });
    /// ```
    pub fn abort_all(&self) {
        for task in self.tasks.as_slice() {
            task.abort();
        }
    }
}

impl<T> Future for Batch<T> {
    type Output = Vec<Result<T, JoinError>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Batch { tasks, results } = &mut *self;
        results.reserve_exact(tasks.len());
        while let [task, later @ ..] = tasks.as_mut_slice() {
            if let Some(later) = later.get(AHEAD) {
                later.prefetch();
            }
            results.push(ready!(Pin::new(task).poll(cx)));
            tasks.next();
        }
        Poll::Ready(std::mem::take(results))
    }
}

impl<T> IntoIterator for Batch<T> {
    type Item = JoinHandle<T>;
    type IntoIter = IntoIter<T>;

    /// The handles, in the order of the futures; without those whose results have come already.
    fn into_iter(self) -> IntoIter<T> {
        IntoIter(self.tasks)
    }
}

impl<T> fmt::Debug for Batch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

/// The handles of a [`Batch`].
pub struct IntoIter<T>(vec::IntoIter<JoinHandle<T>>);

impl<T> Iterator for IntoIter<T> {
    type Item = JoinHandle<T>;

    fn next(&mut self) -> Option<JoinHandle<T>> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<T> ExactSizeIterator for IntoIter<T> {}
impl<T> FusedIterator for IntoIter<T> {}

impl<T> fmt::Debug for IntoIter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntoIter")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
