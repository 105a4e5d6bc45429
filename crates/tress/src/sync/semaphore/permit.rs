use super::Semaphore;
use std::sync::Arc;
use std::{mem, ptr};

/// Permits of a [`Semaphore`], which get them back when this is dropped.
///
/// ```
/// let semaphore = tress::sync::Semaphore::new(2);
/// {
///     let _permit = semaphore.try_acquire().unwrap();
///     assert_eq!(semaphore.available_permits(), 1);
/// }
/// assert_eq!(semaphore.available_permits(), 2);
/// ```
#[must_use = "the permits return when this is dropped"]
#[clippy::has_significant_drop]
#[derive(Debug)]
pub struct SemaphorePermit<'a> {
    semaphore: &'a Semaphore,
    permits: usize,
}

impl<'a> SemaphorePermit<'a> {
    #[inline]
    pub(super) fn new(semaphore: &'a Semaphore, permits: usize) -> Self {
        SemaphorePermit { semaphore, permits }
    }

    /// Keeps the permits from returning: the semaphore has fewer from now on.
    ///
    /// ```
    /// let semaphore = tress::sync::Semaphore::new(2);
    /// semaphore.try_acquire().unwrap().forget();
    /// assert_eq!(semaphore.available_permits(), 1);
    /// ```
    pub fn forget(mut self) {
        self.permits = 0;
    }

    /// Adds the permits of another one to these.
    ///
    /// ```
    /// let semaphore = tress::sync::Semaphore::new(5);
    /// let mut all = semaphore.try_acquire_many(2).unwrap();
    /// all.merge(semaphore.try_acquire_many(3).unwrap());
    /// assert_eq!(all.num_permits(), 5);
    /// ```
    ///
    /// # Panics
    /// If they are of different semaphores.
    #[track_caller]
    pub fn merge(&mut self, mut other: Self) {
        assert!(
            ptr::eq(self.semaphore, other.semaphore),
            "cannot merge permits of different semaphores"
        );
        self.permits += mem::take(&mut other.permits);
    }

    /// Takes `n` permits out into one of their own, or returns `None` if there are fewer.
    ///
    /// ```
    /// let semaphore = tress::sync::Semaphore::new(5);
    /// let mut four = semaphore.try_acquire_many(4).unwrap();
    /// let one = four.split(1).unwrap();
    /// assert_eq!((four.num_permits(), one.num_permits()), (3, 1));
    /// assert!(four.split(4).is_none());
    /// ```
    pub fn split(&mut self, n: usize) -> Option<Self> {
        self.permits = self.permits.checked_sub(n)?;
        Some(SemaphorePermit::new(self.semaphore, n))
    }

    /// How many permits these are.
    ///
    /// ```
    /// let semaphore = tress::sync::Semaphore::new(5);
    /// assert_eq!(semaphore.try_acquire_many(4).unwrap().num_permits(), 4);
    /// ```
    pub fn num_permits(&self) -> usize {
        self.permits
    }

    /// The semaphore they are of.
    ///
    /// ```
    /// let semaphore = tress::sync::Semaphore::new(5);
    /// let permit = semaphore.try_acquire().unwrap();
    /// assert_eq!(permit.semaphore().available_permits(), 4);
    /// ```
    pub fn semaphore(&self) -> &'a Semaphore {
        self.semaphore
    }
}

impl Drop for SemaphorePermit<'_> {
    #[inline]
    fn drop(&mut self) {
        self.semaphore.give_back(self.permits);
    }
}

/// As [`SemaphorePermit`], with a share of the semaphore instead of a borrow.
///
/// ```
/// use std::sync::Arc;
/// use tress::sync::Semaphore;
///
/// let semaphore = Arc::new(Semaphore::new(2));
/// let permit = semaphore.clone().try_acquire_owned().unwrap();
/// std::thread::spawn(move || drop(permit)).join().unwrap();
/// assert_eq!(semaphore.available_permits(), 2);
/// ```
#[must_use = "the permits return when this is dropped"]
#[clippy::has_significant_drop]
#[derive(Debug)]
pub struct OwnedSemaphorePermit {
    semaphore: Arc<Semaphore>,
    permits: usize,
}

impl OwnedSemaphorePermit {
    #[inline]
    pub(super) fn new(semaphore: Arc<Semaphore>, permits: usize) -> Self {
        OwnedSemaphorePermit { semaphore, permits }
    }

    /// Keeps the permits from returning: the semaphore has fewer from now on.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::Semaphore;
    ///
    /// let semaphore = Arc::new(Semaphore::new(2));
    /// semaphore.clone().try_acquire_owned().unwrap().forget();
    /// assert_eq!(semaphore.available_permits(), 1);
    /// ```
    pub fn forget(mut self) {
        self.permits = 0;
    }

    /// Adds the permits of another one to these.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::Semaphore;
    ///
    /// let semaphore = Arc::new(Semaphore::new(5));
    /// let mut all = semaphore.clone().try_acquire_many_owned(2).unwrap();
    /// all.merge(semaphore.try_acquire_many_owned(3).unwrap());
    /// assert_eq!(all.num_permits(), 5);
    /// ```
    ///
    /// # Panics
    /// If they are of different semaphores.
    #[track_caller]
    pub fn merge(&mut self, mut other: Self) {
        assert!(
            Arc::ptr_eq(&self.semaphore, &other.semaphore),
            "cannot merge permits of different semaphores"
        );
        self.permits += mem::take(&mut other.permits);
    }

    /// Takes `n` permits out into one of their own, or returns `None` if there are fewer.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::Semaphore;
    ///
    /// let semaphore = Arc::new(Semaphore::new(5));
    /// let mut four = semaphore.try_acquire_many_owned(4).unwrap();
    /// let one = four.split(1).unwrap();
    /// assert_eq!((four.num_permits(), one.num_permits()), (3, 1));
    /// ```
    pub fn split(&mut self, n: usize) -> Option<Self> {
        self.permits = self.permits.checked_sub(n)?;
        Some(OwnedSemaphorePermit::new(self.semaphore.clone(), n))
    }

    /// How many permits these are.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::Semaphore;
    ///
    /// let semaphore = Arc::new(Semaphore::new(5));
    /// assert_eq!(semaphore.try_acquire_owned().unwrap().num_permits(), 1);
    /// ```
    pub fn num_permits(&self) -> usize {
        self.permits
    }

    /// The semaphore they are of.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::Semaphore;
    ///
    /// let semaphore = Arc::new(Semaphore::new(5));
    /// let permit = semaphore.try_acquire_owned().unwrap();
    /// assert_eq!(permit.semaphore().available_permits(), 4);
    /// ```
    pub fn semaphore(&self) -> &Arc<Semaphore> {
        &self.semaphore
    }
}

impl Drop for OwnedSemaphorePermit {
    #[inline]
    fn drop(&mut self) {
        self.semaphore.give_back(self.permits);
    }
}
