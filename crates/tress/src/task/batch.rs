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
/// Does what a loop of [`spawn`](super::spawn()) does, in less time: the tasks are made and queued 64
/// at a time, under one lock and with one wake-up. The first ones may run, on other threads, before the
/// last ones are spawned. On a current-thread runtime it takes as long as the loop.
///
/// # Panics
/// Panics if called outside of a runtime; [`Handle::spawn_batch`](crate::runtime::Handle::spawn_batch)
/// works anywhere. A panic of the iterator goes on: the futures that it returned before have been spawned,
/// and their tasks are detached.
///
/// # Examples
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let squares = tress::task::spawn_batch((0..1000u64).map(|n| async move { n * n })).await;
/// let sum: u64 = squares.into_iter().map(|square| square.unwrap()).sum();
/// assert_eq!(sum, 332_833_500);
/// # });
/// ```
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

/// Handles of tasks that were spawned together; returned by [`spawn_batch`].
///
/// Awaiting it returns the result of each, in the order of the futures. It can also be iterated over, for
/// one [`JoinHandle`] each. Dropping it detaches the tasks.
///
/// # Cancel safety
/// Awaiting `&mut batch` is cancel safe: the results that have come stay in the batch, and awaiting it
/// again goes on from there.
///
/// # Examples
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

    /// Returns the number of tasks in the batch, finished or not.
    ///
    /// A batch whose results have been returned is empty.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let batch = tress::task::spawn_batch((0..3).map(|n| async move { n }));
    /// assert_eq!(batch.len(), 3);
    /// # });
    /// ```
    pub fn len(&self) -> usize {
        self.tasks.len() + self.results.len()
    }

    /// Returns true if there is no task in the batch.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut batch = tress::task::spawn_batch((0..3).map(|n| async move { n }));
    /// assert!(!batch.is_empty());
    /// (&mut batch).await;
    /// assert!(batch.is_empty());
    /// # });
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true if each task has finished, has panicked, or has been dropped after a cancellation.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let batch = tress::task::spawn_batch((0..3).map(|n| async move { n }));
    /// while !batch.is_finished() {
    ///     tress::task::yield_now().await;
    /// }
    /// # });
    /// ```
    pub fn is_finished(&self) -> bool {
        self.tasks.as_slice().iter().all(JoinHandle::is_finished)
    }

    /// Cancels all tasks that have not finished.
    ///
    /// Does to each what [`JoinHandle::abort`] does.
    ///
    /// # Examples
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

    /// Returns an iterator over the handles, in the order of the futures.
    ///
    /// Tasks whose results have come while the batch was awaited by reference are left out.
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

/// An iterator over the handles of a [`Batch`].
///
/// # Examples
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let handles = tress::task::spawn_batch((0..3).map(|n| async move { n })).into_iter();
/// assert_eq!(handles.len(), 3);
/// for handle in handles {
///     handle.await.unwrap();
/// }
/// # });
/// ```
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
