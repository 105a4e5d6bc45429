use super::notify::Notify;
use crate::sight::WaitKind;
use crate::spans::Resource;
use crate::sys::atomic::{AtomicU64, Ordering};
use crate::task::consume_budget;
use std::fmt;

#[cfg(all(test, loom))]
mod model;

/// Lets a number of tasks wait for each other.
///
/// No task gets past [`wait`](Barrier::wait) before all have arrived there. One of them is told
/// that it is the leader. After it has opened, the barrier can be used again by the next group.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use tress::sync::Barrier;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let barrier = Arc::new(Barrier::new(3));
/// let tasks: Vec<_> = (0..3)
///     .map(|_| {
///         let barrier = barrier.clone();
///         tress::spawn(async move {
///             // The first half of the work.
///             let result = barrier.wait().await;
///             // All tasks have arrived: the second half.
///             result.is_leader()
///         })
///     })
///     .collect();
/// let mut leaders = 0;
/// for task in tasks {
///     leaders += usize::from(task.await.unwrap());
/// }
/// assert_eq!(leaders, 1);
/// # });
/// ```
pub struct Barrier {
    /// What subscribers see of it.
    seen: Resource,
    /// The round in the upper half, and the number of tasks that have arrived in the lower.
    word: AtomicU64,
    opened: Notify,
    n: u32,
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier")
            .field("word", &self.word)
            .field("opened", &self.opened)
            .field("n", &self.n)
            .finish()
    }
}

const ROUND: u64 = 1 << 32;

fn round(word: u64) -> u64 {
    word & !(ROUND - 1)
}

fn arrived(word: u64) -> u32 {
    (word % ROUND) as u32
}

impl Barrier {
    /// Creates a barrier that opens when `n` tasks have arrived.
    ///
    /// A barrier for 0 tasks behaves like one for 1: it never blocks.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let barrier = tress::sync::Barrier::new(1);
    /// assert!(barrier.wait().await.is_leader());
    /// # });
    /// ```
    #[track_caller]
    pub fn new(n: usize) -> Barrier {
        Barrier {
            seen: Resource::barrier(n.max(1)),
            word: AtomicU64::new(0),
            opened: Notify::known_as(WaitKind::Barrier),
            // More waiters than that do not fit into memory.
            n: u32::try_from(n.max(1)).unwrap_or(u32::MAX),
        }
    }

    /// Waits until all `n` tasks have arrived, this one included.
    ///
    /// The task that arrives last is the leader, for which
    /// [`is_leader`](BarrierWaitResult::is_leader) returns `true`. Everything that the tasks wrote
    /// before they arrived is visible to all of them afterwards.
    ///
    /// # Cancel safety
    /// This method is cancel safe. If the future is dropped before the barrier has opened, its
    /// arrival does not count, and another task has to arrive in its place. If it is dropped after
    /// that, only the result is lost.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let barrier = std::sync::Arc::new(tress::sync::Barrier::new(2));
    /// let other = {
    ///     let barrier = barrier.clone();
    ///     tress::spawn(async move { barrier.wait().await.is_leader() })
    /// };
    /// let one = barrier.wait().await.is_leader();
    /// assert_ne!(one, other.await.unwrap());
    /// # });
    /// ```
    pub async fn wait(&self) -> BarrierWaitResult {
        let pass = || self.pass();
        self.seen.run("Barrier::wait", "poll", pass).await
    }

    async fn pass(&self) -> BarrierWaitResult {
        consume_budget().await;
        if self.n == 1 {
            // There is no other task to wait for or to wake.
            self.seen.arrived(true);
            return BarrierWaitResult(true);
        }
        let Some(arrival) = self.arrive() else {
            self.opened.notify_waiters();
            self.seen.arrived(true);
            return BarrierWaitResult(true);
        };
        self.seen.arrived(false);
        loop {
            // Created before the look: an opening after the look finds the future.
            let opened = self.opened.notified();
            if arrival.is_over() {
                return BarrierWaitResult(false);
            }
            opened.await;
        }
    }

    /// Counts an arrival. Returns `None` if it was the last of its round; the next round has begun then.
    fn arrive(&self) -> Option<Arrival<'_>> {
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let last = arrived(word) + 1 == self.n;
            let next = if last {
                round(word).wrapping_add(ROUND)
            } else {
                word + 1
            };
            // Acquire and release: every task sees what the others did before.
            match self
                .word
                .compare_exchange_weak(word, next, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) if last => return None,
                Ok(_) => {
                    return Some(Arrival {
                        barrier: self,
                        round: round(word),
                    });
                }
                Err(actual) => word = actual,
            }
        }
    }
}

/// A task that has arrived. Dropping it takes the arrival back, if the barrier has not opened.
struct Arrival<'a> {
    barrier: &'a Barrier,
    round: u64,
}

impl Arrival<'_> {
    fn is_over(&self) -> bool {
        round(self.barrier.word.load(Ordering::Acquire)) != self.round
    }
}

impl Drop for Arrival<'_> {
    fn drop(&mut self) {
        let word = &self.barrier.word;
        let mut current = word.load(Ordering::Relaxed);
        while round(current) == self.round {
            match word.compare_exchange_weak(
                current,
                current - 1,
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(actual) => current = actual,
            }
        }
    }
}

/// The result of [`Barrier::wait`], which says whether the task is the leader.
///
/// # Examples
/// ```
/// use tress::sync::{Barrier, BarrierWaitResult};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let result: BarrierWaitResult = Barrier::new(1).wait().await;
/// assert!(result.is_leader());
/// # });
/// ```
#[derive(Debug, Clone)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Returns `true` for the leader: the task of each group that arrived last.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let barrier = tress::sync::Barrier::new(1);
    /// if barrier.wait().await.is_leader() {
    ///     println!("all tasks have arrived");
    /// }
    /// # });
    /// ```
    pub fn is_leader(&self) -> bool {
        self.0
    }
}
