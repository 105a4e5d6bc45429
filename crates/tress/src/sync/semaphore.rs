use super::permits::{Closed, Permits, Refusal};
use crate::runtime::block_thread::{self, cannot_block};
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

mod permit;

pub use permit::{OwnedSemaphorePermit, SemaphorePermit};

/// Limits how many may do something at the same time.
///
/// A semaphore holds a number of permits. [`acquire`](Semaphore::acquire) takes one, waiting for it
/// if there is none; it returns when the [`SemaphorePermit`] is dropped.
///
/// It is fair: permits are given out in the order in which they were asked for. Someone who asks for
/// many ([`acquire_many`](Semaphore::acquire_many)) is served before those who came later, also if
/// these want less and there would be enough for them.
///
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
/// A permit that was [forgotten](SemaphorePermit::forget) does not return, and new ones can be
/// [added](Semaphore::add_permits): that makes a token bucket.
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
    /// The most permits a semaphore can have.
    pub const MAX_PERMITS: usize = Permits::MAX;

    /// A semaphore with this many permits.
    ///
    /// ```
    /// let semaphore = tress::sync::Semaphore::new(4);
    /// assert_eq!(semaphore.available_permits(), 4);
    /// ```
    ///
    /// # Panics
    /// If `permits` exceeds [`MAX_PERMITS`](Semaphore::MAX_PERMITS).
    #[track_caller]
    pub fn new(permits: usize) -> Self {
        Semaphore {
            permits: Permits::new(permits),
        }
    }

    const_fn! {
        /// As [`new`](Semaphore::new), for statics.
        ///
        /// ```
        /// use tress::sync::Semaphore;
        ///
        /// static LIMIT: Semaphore = Semaphore::const_new(100);
        /// assert!(LIMIT.try_acquire().is_ok());
        /// ```
        ///
        /// # Panics
        /// If `permits` exceeds [`MAX_PERMITS`](Semaphore::MAX_PERMITS).
        #[track_caller]
        pub fn const_new(permits: usize) -> Self {
            Semaphore {
                permits: Permits::new(permits),
            }
        }
    }

    /// How many permits can be had right now. None while somebody waits.
    ///
    /// ```
    /// let semaphore = tress::sync::Semaphore::new(4);
    /// let _permit = semaphore.try_acquire_many(3).unwrap();
    /// assert_eq!(semaphore.available_permits(), 1);
    /// ```
    pub fn available_permits(&self) -> usize {
        self.permits.available()
    }

    /// Adds permits; those who wait get them first.
    ///
    /// ```
    /// let semaphore = tress::sync::Semaphore::new(0);
    /// semaphore.add_permits(2);
    /// assert!(semaphore.try_acquire_many(2).is_ok());
    /// ```
    ///
    /// # Panics
    /// If there would be more than [`MAX_PERMITS`](Semaphore::MAX_PERMITS).
    #[track_caller]
    pub fn add_permits(&self, n: usize) {
        self.permits.add(n);
    }

    /// Takes up to `n` permits away for good, as far as they can be had right now. Returns how many
    /// were taken.
    ///
    /// ```
    /// let semaphore = tress::sync::Semaphore::new(3);
    /// assert_eq!(semaphore.forget_permits(2), 2);
    /// assert_eq!(semaphore.forget_permits(2), 1);
    /// ```
    pub fn forget_permits(&self, n: usize) -> usize {
        self.permits.remove(n)
    }

    /// Takes one permit, waiting for it in turn.
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let semaphore = tress::sync::Semaphore::new(2);
    /// let permit = semaphore.acquire().await.unwrap();
    /// assert_eq!(semaphore.available_permits(), 1);
    /// drop(permit);
    /// assert_eq!(semaphore.available_permits(), 2);
    /// # });
    /// ```
    ///
    /// # Errors
    /// If the semaphore is [closed](Semaphore::close), before or while it waits.
    ///
    /// # Cancel safety
    /// Dropping the future gives up the place in line, and a permit that it was already given goes
    /// to the next.
    #[inline]
    pub fn acquire(&self) -> impl Future<Output = Result<SemaphorePermit<'_>, AcquireError>> {
        self.acquire_n(1)
    }

    /// Takes `n` permits at once, waiting for them in turn.
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let semaphore = tress::sync::Semaphore::new(5);
    /// let permit = semaphore.acquire_many(3).await.unwrap();
    /// assert_eq!(permit.num_permits(), 3);
    /// # });
    /// ```
    ///
    /// # Errors
    /// If the semaphore is [closed](Semaphore::close), before or while it waits.
    ///
    /// # Panics
    /// If `n` exceeds [`MAX_PERMITS`](Semaphore::MAX_PERMITS), which on 64-bit machines it cannot.
    ///
    /// # Cancel safety
    /// Dropping the future gives up the place in line; permits that it had gathered go to the next.
    #[inline]
    pub fn acquire_many(
        &self,
        n: u32,
    ) -> impl Future<Output = Result<SemaphorePermit<'_>, AcquireError>> {
        self.acquire_n(n as usize)
    }

    #[inline]
    fn acquire_n(
        &self,
        n: usize,
    ) -> impl Future<Output = Result<SemaphorePermit<'_>, AcquireError>> {
        self.permits.take(n).then(move |taken| {
            taken?;
            Ok(SemaphorePermit::new(self, n))
        })
    }

    /// Takes one permit if that is possible without waiting.
    ///
    /// ```
    /// use tress::sync::{Semaphore, TryAcquireError};
    ///
    /// let semaphore = Semaphore::new(1);
    /// let _permit = semaphore.try_acquire().unwrap();
    /// assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::NoPermits);
    /// ```
    ///
    /// # Errors
    /// [`NoPermits`](TryAcquireError::NoPermits) if none is left or others are in line,
    /// [`Closed`](TryAcquireError::Closed) if the semaphore is closed.
    pub fn try_acquire(&self) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.permits.try_take(1)?;
        Ok(SemaphorePermit::new(self, 1))
    }

    /// Takes `n` permits if that is possible without waiting.
    ///
    /// ```
    /// let semaphore = tress::sync::Semaphore::new(4);
    /// assert!(semaphore.try_acquire_many(5).is_err());
    /// assert!(semaphore.try_acquire_many(4).is_ok());
    /// ```
    ///
    /// # Errors
    /// As for [`try_acquire`](Semaphore::try_acquire).
    pub fn try_acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.permits.try_take(n as usize)?;
        Ok(SemaphorePermit::new(self, n as usize))
    }

    /// Takes one permit by blocking the thread, in turn with the tasks that wait.
    ///
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
    ///
    /// # Errors
    /// If the semaphore is [closed](Semaphore::close), before or while it waits.
    ///
    /// # Panics
    /// On a thread that drives tasks: use [`acquire`](Semaphore::acquire) there.
    #[track_caller]
    pub fn blocking_acquire(&self) -> Result<SemaphorePermit<'_>, AcquireError> {
        block_thread::block_on(
            cannot_block!("Semaphore::blocking_acquire"),
            self.acquire_n(1),
        )
    }

    /// Takes `n` permits by blocking the thread.
    ///
    /// ```
    /// let semaphore = tress::sync::Semaphore::new(5);
    /// let permit = semaphore.blocking_acquire_many(2).unwrap();
    /// assert_eq!(permit.num_permits(), 2);
    /// ```
    ///
    /// # Errors
    /// If the semaphore is [closed](Semaphore::close), before or while it waits.
    ///
    /// # Panics
    /// On a thread that drives tasks: use [`acquire_many`](Semaphore::acquire_many) there.
    #[track_caller]
    pub fn blocking_acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, AcquireError> {
        block_thread::block_on(
            cannot_block!("Semaphore::blocking_acquire_many"),
            self.acquire_n(n as usize),
        )
    }

    /// As [`acquire`](Semaphore::acquire), with a permit that can outlive the borrow.
    ///
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
    ///
    /// # Errors
    /// If the semaphore is [closed](Semaphore::close), before or while it waits.
    ///
    /// # Cancel safety
    /// As [`acquire`](Semaphore::acquire).
    pub async fn acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, AcquireError> {
        self.acquire_n_owned(1).await
    }

    /// As [`acquire_many`](Semaphore::acquire_many), with a permit that can outlive the borrow.
    ///
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
    ///
    /// # Errors
    /// If the semaphore is [closed](Semaphore::close), before or while it waits.
    ///
    /// # Panics
    /// As [`acquire_many`](Semaphore::acquire_many).
    ///
    /// # Cancel safety
    /// As [`acquire_many`](Semaphore::acquire_many).
    pub async fn acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> Result<OwnedSemaphorePermit, AcquireError> {
        self.acquire_n_owned(n as usize).await
    }

    async fn acquire_n_owned(
        self: Arc<Self>,
        n: usize,
    ) -> Result<OwnedSemaphorePermit, AcquireError> {
        self.permits.take(n).await?;
        Ok(OwnedSemaphorePermit::new(self, n))
    }

    /// As [`try_acquire`](Semaphore::try_acquire), with a permit that can outlive the borrow.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::Semaphore;
    ///
    /// let semaphore = Arc::new(Semaphore::new(1));
    /// let permit = semaphore.clone().try_acquire_owned().unwrap();
    /// assert!(semaphore.try_acquire_owned().is_err());
    /// # drop(permit);
    /// ```
    ///
    /// # Errors
    /// As for [`try_acquire`](Semaphore::try_acquire).
    pub fn try_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.permits.try_take(1)?;
        Ok(OwnedSemaphorePermit::new(self, 1))
    }

    /// As [`try_acquire_many`](Semaphore::try_acquire_many), with a permit that can outlive the
    /// borrow.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::Semaphore;
    ///
    /// let semaphore = Arc::new(Semaphore::new(3));
    /// assert!(semaphore.try_acquire_many_owned(3).is_ok());
    /// ```
    ///
    /// # Errors
    /// As for [`try_acquire`](Semaphore::try_acquire).
    pub fn try_acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.permits.try_take(n as usize)?;
        Ok(OwnedSemaphorePermit::new(self, n as usize))
    }

    /// As [`blocking_acquire`](Semaphore::blocking_acquire), with a permit that can outlive the
    /// borrow.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::Semaphore;
    ///
    /// let semaphore = Arc::new(Semaphore::new(1));
    /// assert!(semaphore.blocking_acquire_owned().is_ok());
    /// ```
    ///
    /// # Errors
    /// If the semaphore is [closed](Semaphore::close), before or while it waits.
    ///
    /// # Panics
    /// On a thread that drives tasks: use [`acquire_owned`](Semaphore::acquire_owned) there.
    #[track_caller]
    pub fn blocking_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, AcquireError> {
        block_thread::block_on(
            cannot_block!("Semaphore::blocking_acquire_owned"),
            self.acquire_n_owned(1),
        )
    }

    /// As [`blocking_acquire_many`](Semaphore::blocking_acquire_many), with a permit that can
    /// outlive the borrow.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::Semaphore;
    ///
    /// let semaphore = Arc::new(Semaphore::new(2));
    /// assert!(semaphore.blocking_acquire_many_owned(2).is_ok());
    /// ```
    ///
    /// # Errors
    /// If the semaphore is [closed](Semaphore::close), before or while it waits.
    ///
    /// # Panics
    /// On a thread that drives tasks: use [`acquire_many_owned`](Semaphore::acquire_many_owned)
    /// there.
    #[track_caller]
    pub fn blocking_acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> Result<OwnedSemaphorePermit, AcquireError> {
        block_thread::block_on(
            cannot_block!("Semaphore::blocking_acquire_many_owned"),
            self.acquire_n_owned(n as usize),
        )
    }

    /// Gives out no permits any more: those who wait, and those who come, get an error; also one whose
    /// turn had come and who was not polled since. Permits that are out stay valid.
    ///
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

    /// True after [`close`](Semaphore::close).
    ///
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
            self.permits.give_back(n);
        }
    }
}

/// The semaphore was closed: it will not give out permits any more.
#[derive(Debug)]
pub struct AcquireError(());

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the semaphore is closed and gives out no permits any more")
    }
}

impl Error for AcquireError {}

impl From<Closed> for AcquireError {
    fn from(Closed: Closed) -> Self {
        AcquireError(())
    }
}

/// Why [`try_acquire`](Semaphore::try_acquire) and its siblings got no permit.
#[derive(Debug, PartialEq, Eq)]
pub enum TryAcquireError {
    /// The semaphore was closed.
    Closed,
    /// There are too few permits right now, or others are in line for them.
    NoPermits,
}

impl fmt::Display for TryAcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TryAcquireError::Closed => "the semaphore is closed and gives out no permits any more",
            TryAcquireError::NoPermits => {
                "too few permits are available right now; wait for them with `acquire`"
            }
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
