use super::permits::{Closed, Permits, Refusal};
use crate::runtime::block_thread::{self, cannot_block};
use crate::spans::Lock;
use crate::words;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

mod permit;

pub use permit::{OwnedSemaphorePermit, SemaphorePermit};

/// An asynchronous counting semaphore.
///
/// A semaphore limits how many tasks do something at the same time. It has a number of permits:
/// [`acquire`](Semaphore::acquire) takes one, waiting for it if there is none, and dropping the
/// returned [`SemaphorePermit`] gives it back.
///
/// # Fairness
/// Permits are given out in the order in which tasks began to wait for them. A request for many
/// permits ([`acquire_many`](Semaphore::acquire_many)) collects them as they are given back, and
/// the requests behind it wait, even if there are enough permits for them.
///
/// # Closing
/// [`close`](Semaphore::close) makes all current and later requests fail, for instance to stop
/// accepting work during shutdown.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use tress::sync::Semaphore;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// // No more than three downloads at once.
/// let limit = Arc::new(Semaphore::new(3));
/// let downloads: Vec<_> = (0..10)
///     .map(|i| {
///         let limit = limit.clone();
///         tress::spawn(async move {
///             let _permit = limit.acquire().await.unwrap();
///             format!("page {i}")
///         })
///     })
///     .collect();
/// for download in downloads {
///     download.await.unwrap();
/// }
/// assert_eq!(limit.available_permits(), 3);
/// # });
/// ```
///
/// A [forgotten](SemaphorePermit::forget) permit is not given back, and new permits can be
/// [added](Semaphore::add_permits). Together that makes a token bucket:
///
/// ```
/// use tress::sync::Semaphore;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let bucket = Semaphore::new(2);
/// for _ in 0..2 {
///     bucket.acquire().await.unwrap().forget();
/// }
/// assert!(bucket.try_acquire().is_err());
/// bucket.add_permits(1); // by a timer, say
/// assert!(bucket.try_acquire().is_ok());
/// # });
/// ```
#[derive(Debug)]
pub struct Semaphore {
    permits: Permits,
}

impl Semaphore {
    /// The maximum number of permits of a semaphore: `usize::MAX >> 3`.
    pub const MAX_PERMITS: usize = Permits::MAX;

    /// Creates a semaphore with the given number of permits.
    ///
    /// # Panics
    /// Panics if `permits` exceeds [`MAX_PERMITS`](Semaphore::MAX_PERMITS).
    ///
    /// # Examples
    /// ```
    /// let semaphore = tress::sync::Semaphore::new(4);
    /// assert_eq!(semaphore.available_permits(), 4);
    /// ```
    #[track_caller]
    pub fn new(permits: usize) -> Self {
        Semaphore {
            permits: Permits::new(permits).seen_as(Lock::semaphore(permits)),
        }
    }

    const_fn! {
        /// Creates a semaphore with the given number of permits, in a constant context.
        ///
        /// Does the same as [`new`](Semaphore::new), and can initialize a `static`.
        ///
        /// # Panics
        /// Panics if `permits` exceeds [`MAX_PERMITS`](Semaphore::MAX_PERMITS).
        ///
        /// # Examples
        /// ```
        /// use tress::sync::Semaphore;
        ///
        /// static LIMIT: Semaphore = Semaphore::const_new(100);
        /// assert!(LIMIT.try_acquire().is_ok());
        /// ```
        #[track_caller]
        pub fn const_new(permits: usize) -> Self {
            Semaphore {
                permits: Permits::new(permits),
            }
        }
    }

    /// Returns the number of permits that can be acquired right now.
    ///
    /// While requests wait, permits go to them directly, and this returns 0.
    ///
    /// # Examples
    /// ```
    /// let semaphore = tress::sync::Semaphore::new(4);
    /// let _permit = semaphore.try_acquire_many(3).unwrap();
    /// assert_eq!(semaphore.available_permits(), 1);
    /// ```
    pub fn available_permits(&self) -> usize {
        self.permits.available()
    }

    /// Adds `n` new permits to the semaphore.
    ///
    /// Waiting requests are served first; what remains can be acquired by others.
    ///
    /// # Panics
    /// Panics if there would be more than [`MAX_PERMITS`](Semaphore::MAX_PERMITS) permits.
    ///
    /// # Examples
    /// ```
    /// let semaphore = tress::sync::Semaphore::new(0);
    /// semaphore.add_permits(2);
    /// assert!(semaphore.try_acquire_many(2).is_ok());
    /// ```
    #[track_caller]
    pub fn add_permits(&self, n: usize) {
        self.permits.add(n);
    }

    /// Removes up to `n` permits from the semaphore for good, and returns how many were removed.
    ///
    /// Only available permits are removed: none while requests wait, and none of those that are
    /// held. See [`SemaphorePermit::forget`] for the latter.
    ///
    /// # Examples
    /// ```
    /// let semaphore = tress::sync::Semaphore::new(3);
    /// assert_eq!(semaphore.forget_permits(2), 2);
    /// assert_eq!(semaphore.forget_permits(2), 1);
    /// ```
    pub fn forget_permits(&self, n: usize) -> usize {
        self.permits.remove(n)
    }

    /// Acquires one permit, waiting until there is one.
    ///
    /// Requests are served in the order in which their futures were first polled. The permit is
    /// given back when the returned [`SemaphorePermit`] is dropped.
    ///
    /// # Errors
    /// Returns [`AcquireError`] if the semaphore is [closed](Semaphore::close), also if that
    /// happens while the request waits.
    ///
    /// # Cancel safety
    /// This method is cancel safe. If the future is dropped before it is ready, it loses its place
    /// in the queue, and a permit that it had already been given goes to the next request.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let semaphore = tress::sync::Semaphore::new(2);
    /// let permit = semaphore.acquire().await.unwrap();
    /// assert_eq!(semaphore.available_permits(), 1);
    /// drop(permit);
    /// assert_eq!(semaphore.available_permits(), 2);
    /// # });
    /// ```
    #[inline]
    pub fn acquire(&self) -> impl Future<Output = Result<SemaphorePermit<'_>, AcquireError>> {
        self.acquire_n(1, "Semaphore::acquire")
    }

    /// Acquires `n` permits at once, waiting until there are enough.
    ///
    /// Requests are served in the order in which their futures were first polled; one that waits
    /// for many permits is not overtaken by smaller ones. A request for no permits waits for
    /// nothing.
    ///
    /// # Errors
    /// Returns [`AcquireError`] if the semaphore is [closed](Semaphore::close), also if that
    /// happens while the request waits.
    ///
    /// # Panics
    /// Panics if `n` exceeds [`MAX_PERMITS`](Semaphore::MAX_PERMITS), which is possible on 32-bit
    /// targets only.
    ///
    /// # Cancel safety
    /// This method is cancel safe. If the future is dropped before it is ready, it loses its place
    /// in the queue, and the permits that it had already been given go to the next request.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let semaphore = tress::sync::Semaphore::new(5);
    /// let permit = semaphore.acquire_many(3).await.unwrap();
    /// assert_eq!(permit.num_permits(), 3);
    /// # });
    /// ```
    #[inline]
    pub fn acquire_many(
        &self,
        n: u32,
    ) -> impl Future<Output = Result<SemaphorePermit<'_>, AcquireError>> {
        self.acquire_n(n as usize, "Semaphore::acquire_many")
    }

    #[inline]
    fn acquire_n(
        &self,
        n: usize,
        source: &'static str,
    ) -> impl Future<Output = Result<SemaphorePermit<'_>, AcquireError>> {
        self.permits.seen.run(source, true, move || {
            self.permits.take(n).then(move |taken| {
                taken?;
                Ok(SemaphorePermit::new(self, n))
            })
        })
    }

    /// Acquires one permit if that is possible without waiting.
    ///
    /// # Errors
    /// - [`TryAcquireError::NoPermits`] if there is no permit, or requests wait for one.
    /// - [`TryAcquireError::Closed`] if the semaphore is [closed](Semaphore::close).
    ///
    /// # Examples
    /// ```
    /// use tress::sync::{Semaphore, TryAcquireError};
    ///
    /// let semaphore = Semaphore::new(1);
    /// let _permit = semaphore.try_acquire().unwrap();
    /// assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::NoPermits);
    /// ```
    pub fn try_acquire(&self) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.permits.try_take(1)?;
        Ok(SemaphorePermit::new(self, 1))
    }

    /// Acquires `n` permits at once if that is possible without waiting.
    ///
    /// # Errors
    /// - [`TryAcquireError::NoPermits`] if there are fewer than `n` permits, or requests wait for
    ///   some.
    /// - [`TryAcquireError::Closed`] if the semaphore is [closed](Semaphore::close).
    ///
    /// # Examples
    /// ```
    /// let semaphore = tress::sync::Semaphore::new(4);
    /// assert!(semaphore.try_acquire_many(5).is_err());
    /// assert!(semaphore.try_acquire_many(4).is_ok());
    /// ```
    pub fn try_acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.permits.try_take(n as usize)?;
        Ok(SemaphorePermit::new(self, n as usize))
    }

    /// Acquires one permit, blocking the current thread until there is one.
    ///
    /// The thread waits in the same queue as the tasks that call [`acquire`](Semaphore::acquire).
    ///
    /// # Errors
    /// Returns [`AcquireError`] if the semaphore is [closed](Semaphore::close), also if that
    /// happens while the thread waits.
    ///
    /// # Panics
    /// Panics if called on a thread that is driving tasks; use [`acquire`](Semaphore::acquire)
    /// there.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::Semaphore;
    ///
    /// let semaphore = Arc::new(Semaphore::new(0));
    /// let thread = {
    ///     let semaphore = semaphore.clone();
    ///     std::thread::spawn(move || semaphore.blocking_acquire().is_ok())
    /// };
    /// semaphore.add_permits(1);
    /// assert!(thread.join().unwrap());
    /// ```
    #[track_caller]
    pub fn blocking_acquire(&self) -> Result<SemaphorePermit<'_>, AcquireError> {
        block_thread::block_on(cannot_block!("Semaphore::blocking_acquire"), self.acquire())
    }

    /// Acquires `n` permits at once, blocking the current thread until there are enough.
    ///
    /// # Errors
    /// Returns [`AcquireError`] if the semaphore is [closed](Semaphore::close), also if that
    /// happens while the thread waits.
    ///
    /// # Panics
    /// Panics if called on a thread that is driving tasks, where
    /// [`acquire_many`](Semaphore::acquire_many) is to be used, and if `n` exceeds
    /// [`MAX_PERMITS`](Semaphore::MAX_PERMITS).
    ///
    /// # Examples
    /// ```
    /// let semaphore = tress::sync::Semaphore::new(5);
    /// let permit = semaphore.blocking_acquire_many(2).unwrap();
    /// assert_eq!(permit.num_permits(), 2);
    /// ```
    #[track_caller]
    pub fn blocking_acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, AcquireError> {
        block_thread::block_on(
            cannot_block!("Semaphore::blocking_acquire_many"),
            self.acquire_many(n),
        )
    }

    /// Acquires one permit, and returns it with the `Arc` of the semaphore.
    ///
    /// Does the same as [`acquire`](Semaphore::acquire), but the permit borrows nothing: it can be
    /// moved into a spawned task or stored.
    ///
    /// # Errors
    /// Returns [`AcquireError`] if the semaphore is [closed](Semaphore::close), also if that
    /// happens while the request waits.
    ///
    /// # Cancel safety
    /// This method is cancel safe, as [`acquire`](Semaphore::acquire) is.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::Semaphore;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let semaphore = Arc::new(Semaphore::new(1));
    /// let permit = semaphore.clone().acquire_owned().await.unwrap();
    /// tress::spawn(async move {
    ///     let _held_until_here = permit;
    /// });
    /// // Waits for the task to be done with it.
    /// semaphore.acquire().await.unwrap();
    /// # });
    /// ```
    pub async fn acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, AcquireError> {
        let source = "Semaphore::acquire_owned";
        self.acquire_n_owned(1, source).await
    }

    /// Acquires `n` permits at once, and returns them with the `Arc` of the semaphore.
    ///
    /// Does the same as [`acquire_many`](Semaphore::acquire_many), but the permit borrows nothing.
    ///
    /// # Errors
    /// Returns [`AcquireError`] if the semaphore is [closed](Semaphore::close), also if that
    /// happens while the request waits.
    ///
    /// # Panics
    /// Panics if `n` exceeds [`MAX_PERMITS`](Semaphore::MAX_PERMITS), which is possible on 32-bit
    /// targets only.
    ///
    /// # Cancel safety
    /// This method is cancel safe, as [`acquire_many`](Semaphore::acquire_many) is.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::Semaphore;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let semaphore = Arc::new(Semaphore::new(5));
    /// let permit = semaphore.clone().acquire_many_owned(5).await.unwrap();
    /// assert_eq!(semaphore.available_permits(), 0);
    /// # drop(permit);
    /// # });
    /// ```
    pub async fn acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> Result<OwnedSemaphorePermit, AcquireError> {
        let source = "Semaphore::acquire_many_owned";
        self.acquire_n_owned(n as usize, source).await
    }

    async fn acquire_n_owned(
        self: Arc<Self>,
        n: usize,
        source: &'static str,
    ) -> Result<OwnedSemaphorePermit, AcquireError> {
        let seen = &self.permits.seen;
        seen.run(source, true, || self.permits.take(n)).await?;
        Ok(OwnedSemaphorePermit::new(self, n))
    }

    /// Acquires one permit if that is possible without waiting, and returns it with the `Arc` of
    /// the semaphore.
    ///
    /// # Errors
    /// - [`TryAcquireError::NoPermits`] if there is no permit, or requests wait for one.
    /// - [`TryAcquireError::Closed`] if the semaphore is [closed](Semaphore::close).
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::Semaphore;
    ///
    /// let semaphore = Arc::new(Semaphore::new(1));
    /// let permit = semaphore.clone().try_acquire_owned().unwrap();
    /// assert!(semaphore.try_acquire_owned().is_err());
    /// # drop(permit);
    /// ```
    pub fn try_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.permits.try_take(1)?;
        Ok(OwnedSemaphorePermit::new(self, 1))
    }

    /// Acquires `n` permits at once if that is possible without waiting, and returns them with the
    /// `Arc` of the semaphore.
    ///
    /// # Errors
    /// - [`TryAcquireError::NoPermits`] if there are fewer than `n` permits, or requests wait for
    ///   some.
    /// - [`TryAcquireError::Closed`] if the semaphore is [closed](Semaphore::close).
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::Semaphore;
    ///
    /// let semaphore = Arc::new(Semaphore::new(3));
    /// assert!(semaphore.try_acquire_many_owned(3).is_ok());
    /// ```
    pub fn try_acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.permits.try_take(n as usize)?;
        Ok(OwnedSemaphorePermit::new(self, n as usize))
    }

    /// Acquires one permit, blocking the current thread until there is one, and returns it with the
    /// `Arc` of the semaphore.
    ///
    /// # Errors
    /// Returns [`AcquireError`] if the semaphore is [closed](Semaphore::close), also if that
    /// happens while the thread waits.
    ///
    /// # Panics
    /// Panics if called on a thread that is driving tasks; use
    /// [`acquire_owned`](Semaphore::acquire_owned) there.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::Semaphore;
    ///
    /// let semaphore = Arc::new(Semaphore::new(1));
    /// assert!(semaphore.blocking_acquire_owned().is_ok());
    /// ```
    #[track_caller]
    pub fn blocking_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, AcquireError> {
        block_thread::block_on(
            cannot_block!("Semaphore::blocking_acquire_owned"),
            self.acquire_owned(),
        )
    }

    /// Acquires `n` permits at once, blocking the current thread until there are enough, and
    /// returns them with the `Arc` of the semaphore.
    ///
    /// # Errors
    /// Returns [`AcquireError`] if the semaphore is [closed](Semaphore::close), also if that
    /// happens while the thread waits.
    ///
    /// # Panics
    /// Panics if called on a thread that is driving tasks, where
    /// [`acquire_many_owned`](Semaphore::acquire_many_owned) is to be used, and if `n` exceeds
    /// [`MAX_PERMITS`](Semaphore::MAX_PERMITS).
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::Semaphore;
    ///
    /// let semaphore = Arc::new(Semaphore::new(2));
    /// assert!(semaphore.blocking_acquire_many_owned(2).is_ok());
    /// ```
    #[track_caller]
    pub fn blocking_acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> Result<OwnedSemaphorePermit, AcquireError> {
        block_thread::block_on(
            cannot_block!("Semaphore::blocking_acquire_many_owned"),
            self.acquire_many_owned(n),
        )
    }

    /// Closes the semaphore: no permits are given out any more.
    ///
    /// All waiting requests, and all later ones, fail with an error. That includes a request that
    /// has been given its permits but whose future has not been polled since. Permits that are held
    /// stay valid.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let semaphore = tress::sync::Semaphore::new(1);
    /// semaphore.close();
    /// assert!(semaphore.acquire().await.is_err());
    /// assert!(semaphore.is_closed());
    /// # });
    /// ```
    pub fn close(&self) {
        self.permits.close();
    }

    /// Returns `true` if the semaphore has been [closed](Semaphore::close).
    ///
    /// # Examples
    /// ```
    /// let semaphore = tress::sync::Semaphore::new(1);
    /// assert!(!semaphore.is_closed());
    /// semaphore.close();
    /// assert!(semaphore.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        self.permits.is_closed()
    }

    #[inline]
    fn give_back(&self, n: usize) {
        if n != 0 {
            self.permits.let_go();
            self.permits.give_back(n);
        }
    }
}

/// The error of [`Semaphore::acquire`] and its variants: the semaphore is
/// [closed](Semaphore::close).
///
/// # Examples
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let semaphore = tress::sync::Semaphore::new(1);
/// semaphore.close();
/// let error = semaphore.acquire().await.unwrap_err();
/// assert!(error.to_string().contains("closed"));
/// # });
/// ```
#[derive(Debug)]
pub struct AcquireError(());

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(words::SEMAPHORE_CLOSED)
    }
}

impl Error for AcquireError {}

impl From<Closed> for AcquireError {
    fn from(Closed: Closed) -> Self {
        AcquireError(())
    }
}

/// The error of [`Semaphore::try_acquire`] and its variants.
///
/// # Examples
/// ```
/// use tress::sync::{Semaphore, TryAcquireError};
///
/// let semaphore = Semaphore::new(0);
/// assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::NoPermits);
/// semaphore.close();
/// assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::Closed);
/// ```
#[derive(Debug, PartialEq, Eq)]
pub enum TryAcquireError {
    /// The semaphore is [closed](Semaphore::close).
    Closed,
    /// There are too few permits at the moment, or requests wait for them.
    NoPermits,
}

impl fmt::Display for TryAcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TryAcquireError::Closed => words::SEMAPHORE_CLOSED,
            TryAcquireError::NoPermits => words::NO_PERMITS,
        })
    }
}

impl Error for TryAcquireError {}

impl From<Refusal> for TryAcquireError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Closed => TryAcquireError::Closed,
            Refusal::TooFew => TryAcquireError::NoPermits,
        }
    }
}
