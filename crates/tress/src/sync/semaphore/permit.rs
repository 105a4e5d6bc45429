use super::Semaphore;
use std::sync::Arc;
use std::{mem, ptr};

/// One or more permits of a [`Semaphore`].
///
/// Returned by [`Semaphore::acquire`] and its variants that borrow the semaphore. Dropping it gives
/// the permits back.
///
/// # Examples
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
        if permits != 0 {
            semaphore.permits.held();
        }
        SemaphorePermit { semaphore, permits }
    }

    /// Forgets the permits: they are not given back, and the semaphore has fewer from now on.
    ///
    /// [`Semaphore::add_permits`] can replace them.
    ///
    /// # Examples
    /// ```
    /// let semaphore = tress::sync::Semaphore::new(2);
    /// semaphore.try_acquire().unwrap().forget();
    /// assert_eq!(semaphore.available_permits(), 1);
    /// ```
    pub fn forget(mut self) {
        if mem::take(&mut self.permits) != 0 {
            self.semaphore.permits.let_go();
        }
    }

    /// Adds the permits of `other` to this value.
    ///
    /// # Panics
    /// Panics if `other` belongs to another semaphore. Its permits are given back.
    ///
    /// # Examples
    /// ```
    /// let semaphore = tress::sync::Semaphore::new(5);
    /// let mut all = semaphore.try_acquire_many(2).unwrap();
    /// all.merge(semaphore.try_acquire_many(3).unwrap());
    /// assert_eq!(all.num_permits(), 5);
    /// ```
    #[track_caller]
    pub fn merge(&mut self, mut other: Self) {
        assert!(
            ptr::eq(self.semaphore, other.semaphore),
            "cannot merge permits of different semaphores"
        );
        if self.permits != 0 && other.permits != 0 {
            // Two that hold permits become one.
            self.semaphore.permits.let_go();
        }
        self.permits += mem::take(&mut other.permits);
    }

    /// Splits `n` permits off, and returns them as a value of their own.
    ///
    /// Returns `None`, and changes nothing, if there are fewer than `n`.
    ///
    /// # Examples
    /// ```
    /// let semaphore = tress::sync::Semaphore::new(5);
    /// let mut four = semaphore.try_acquire_many(4).unwrap();
    /// let one = four.split(1).unwrap();
    /// assert_eq!((four.num_permits(), one.num_permits()), (3, 1));
    /// assert!(four.split(4).is_none());
    /// ```
    pub fn split(&mut self, n: usize) -> Option<Self> {
        self.permits = self.permits.checked_sub(n)?;
        let other = SemaphorePermit::new(self.semaphore, n);
        if self.permits == 0 && n != 0 {
            // Nothing is left here: the new one takes the place.
            self.semaphore.permits.let_go();
        }
        Some(other)
    }

    /// Returns the number of permits.
    ///
    /// # Examples
    /// ```
    /// let semaphore = tress::sync::Semaphore::new(5);
    /// assert_eq!(semaphore.try_acquire_many(4).unwrap().num_permits(), 4);
    /// ```
    pub fn num_permits(&self) -> usize {
        self.permits
    }

    /// Returns a reference to the semaphore that the permits belong to.
    ///
    /// # Examples
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

/// One or more permits of a [`Semaphore`], with the `Arc` of the semaphore.
///
/// Returned by [`Semaphore::acquire_owned`] and its variants. It is like a [`SemaphorePermit`], but
/// borrows nothing. Dropping it gives the permits back.
///
/// # Examples
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
        if permits != 0 {
            semaphore.permits.held();
        }
        OwnedSemaphorePermit { semaphore, permits }
    }

    /// Forgets the permits: they are not given back, and the semaphore has fewer from now on.
    ///
    /// [`Semaphore::add_permits`] can replace them.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::Semaphore;
    ///
    /// let semaphore = Arc::new(Semaphore::new(2));
    /// semaphore.clone().try_acquire_owned().unwrap().forget();
    /// assert_eq!(semaphore.available_permits(), 1);
    /// ```
    pub fn forget(mut self) {
        if mem::take(&mut self.permits) != 0 {
            self.semaphore.permits.let_go();
        }
    }

    /// Adds the permits of `other` to this value.
    ///
    /// # Panics
    /// Panics if `other` belongs to another semaphore. Its permits are given back.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::Semaphore;
    ///
    /// let semaphore = Arc::new(Semaphore::new(5));
    /// let mut all = semaphore.clone().try_acquire_many_owned(2).unwrap();
    /// all.merge(semaphore.try_acquire_many_owned(3).unwrap());
    /// assert_eq!(all.num_permits(), 5);
    /// ```
    #[track_caller]
    pub fn merge(&mut self, mut other: Self) {
        assert!(
            Arc::ptr_eq(&self.semaphore, &other.semaphore),
            "cannot merge permits of different semaphores"
        );
        if self.permits != 0 && other.permits != 0 {
            // Two that hold permits become one.
            self.semaphore.permits.let_go();
        }
        self.permits += mem::take(&mut other.permits);
    }

    /// Splits `n` permits off, and returns them as a value of their own.
    ///
    /// Returns `None`, and changes nothing, if there are fewer than `n`.
    ///
    /// # Examples
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
        let other = OwnedSemaphorePermit::new(self.semaphore.clone(), n);
        if self.permits == 0 && n != 0 {
            // Nothing is left here: the new one takes the place.
            self.semaphore.permits.let_go();
        }
        Some(other)
    }

    /// Returns the number of permits.
    ///
    /// # Examples
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

    /// Returns a reference to the `Arc` of the semaphore that the permits belong to.
    ///
    /// # Examples
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
