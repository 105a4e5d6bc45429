use super::latch::Latch;
use std::cell::UnsafeCell;
use std::error::Error;
use std::fmt;
use std::mem::{self, MaybeUninit};

#[cfg(all(test, loom))]
mod model;

/// A value that is set once, and waited for by as many as like to.
///
/// ```
/// use tress::sync::SetOnce;
///
/// static CONFIG: SetOnce<String> = SetOnce::const_new();
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let reader = tress::spawn(async { CONFIG.wait().await.len() });
/// CONFIG.set("verbose".into()).unwrap();
/// assert_eq!(reader.await.unwrap(), 7);
/// # });
/// ```
///
/// [`OnceCell`](super::OnceCell) is for values that are made by the first who needs them.
pub struct SetOnce<T> {
    /// Set after the value was written.
    latch: Latch,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: moving it moves the value.
unsafe impl<T: Send> Send for SetOnce<T> {}
// SAFETY: shared it gives out `&T`, and takes in a `T` from another thread, which may be the one
// that drops it.
unsafe impl<T: Send + Sync> Sync for SetOnce<T> {}

impl<T> SetOnce<T> {
    /// Without a value.
    ///
    /// ```
    /// let once = tress::sync::SetOnce::<u32>::new();
    /// assert_eq!(once.get(), None);
    /// ```
    pub fn new() -> Self {
        Self::const_new()
    }

    const_fn! {
        /// As [`new`](SetOnce::new), for statics.
        ///
        /// ```
        /// use tress::sync::SetOnce;
        ///
        /// static ONCE: SetOnce<u32> = SetOnce::const_new();
        /// ONCE.set(5).unwrap();
        /// ```
        pub fn const_new() -> Self {
            SetOnce {
                latch: Latch::new(false),
                value: UnsafeCell::new(MaybeUninit::uninit()),
            }
        }
    }

    /// With this value, if it is one.
    ///
    /// ```
    /// use tress::sync::SetOnce;
    ///
    /// assert!(SetOnce::new_with(Some(5)).initialized());
    /// assert!(!SetOnce::<u32>::new_with(None).initialized());
    /// ```
    pub fn new_with(value: Option<T>) -> Self {
        match value {
            Some(value) => Self::const_new_with(value),
            None => Self::const_new(),
        }
    }

    const_fn! {
        /// With this value, for statics.
        ///
        /// ```
        /// use tress::sync::SetOnce;
        ///
        /// static ONCE: SetOnce<u32> = SetOnce::const_new_with(5);
        /// assert_eq!(ONCE.get(), Some(&5));
        /// ```
        pub fn const_new_with(value: T) -> Self {
            SetOnce {
                latch: Latch::new(true),
                value: UnsafeCell::new(MaybeUninit::new(value)),
            }
        }
    }

    /// Is the value there?
    ///
    /// ```
    /// let once = tress::sync::SetOnce::new();
    /// assert!(!once.initialized());
    /// once.set(5).unwrap();
    /// assert!(once.initialized());
    /// ```
    #[inline]
    pub fn initialized(&self) -> bool {
        self.latch.is_set()
    }

    /// The value, if it is there.
    ///
    /// ```
    /// let once = tress::sync::SetOnce::from("there");
    /// assert_eq!(once.get(), Some(&"there"));
    /// ```
    #[inline]
    pub fn get(&self) -> Option<&T> {
        if self.initialized() {
            // SAFETY: written before the latch was set, and not again while it is shared.
            Some(unsafe { (*self.value.get()).assume_init_ref() })
        } else {
            None
        }
    }

    /// Sets the value and wakes all who wait for it.
    ///
    /// ```
    /// use tress::sync::{SetOnce, SetOnceError};
    ///
    /// let once = SetOnce::new();
    /// assert_eq!(once.set(1), Ok(()));
    /// assert_eq!(once.set(2), Err(SetOnceError(2)));
    /// ```
    ///
    /// # Errors
    /// If there is a value already; the new one comes back.
    pub fn set(&self, value: T) -> Result<(), SetOnceError<T>> {
        if self.initialized() {
            return Err(SetOnceError(value));
        }
        let mut value = Some(value);
        self.latch.set_after(|| {
            if let Some(value) = value.take() {
                // SAFETY: not set, and only this closure writes, of which one at a time runs and
                // only before it is set: nobody else writes, nobody reads.
                unsafe { (*self.value.get()).write(value) };
            }
        });
        match value {
            None => Ok(()),
            Some(value) => Err(SetOnceError(value)),
        }
    }

    /// Waits for the value.
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let once = tress::sync::SetOnce::from(5);
    /// assert_eq!(once.wait().await, &5);
    /// # });
    /// ```
    ///
    /// # Cancel safety
    /// Dropping it loses nothing.
    pub async fn wait(&self) -> &T {
        self.latch.wait().await;
        match self.get() {
            Some(value) => value,
            None => unreachable!("set without a value"),
        }
    }

    /// The value, if it is there.
    ///
    /// ```
    /// let once = tress::sync::SetOnce::from(String::from("mine"));
    /// assert_eq!(once.into_inner().as_deref(), Some("mine"));
    /// ```
    pub fn into_inner(mut self) -> Option<T> {
        self.take()
    }

    fn take(&mut self) -> Option<T> {
        if !self.initialized() {
            return None;
        }
        self.latch.unset();
        // SAFETY: it was initialised, and does not count as such any more.
        Some(unsafe { self.value.get_mut().assume_init_read() })
    }
}

impl<T> Drop for SetOnce<T> {
    fn drop(&mut self) {
        if mem::needs_drop::<T>() {
            drop(self.take());
        }
    }
}

impl<T> Default for SetOnce<T> {
    fn default() -> Self {
        SetOnce::new()
    }
}

impl<T> From<T> for SetOnce<T> {
    fn from(value: T) -> Self {
        SetOnce::const_new_with(value)
    }
}

impl<T: Clone> Clone for SetOnce<T> {
    fn clone(&self) -> Self {
        SetOnce::new_with(self.get().cloned())
    }
}

impl<T: PartialEq> PartialEq for SetOnce<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for SetOnce<T> {}

impl<T: fmt::Debug> fmt::Debug for SetOnce<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SetOnce")
            .field("value", &self.get())
            .finish()
    }
}

/// There is a value already; the one that was to be [set](SetOnce::set) is in it.
#[derive(Debug, PartialEq, Eq)]
pub struct SetOnceError<T>(pub T);

impl<T> fmt::Display for SetOnceError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is a value already; read it with `get`")
    }
}

impl<T: fmt::Debug> Error for SetOnceError<T> {}
