use super::kept::{Kept, Mark, kept_traits};
use super::latch::Latch;
use crate::sight::WaitKind;
use crate::words;
use std::error::Error;
use std::fmt;

#[cfg(all(test, loom))]
mod model;

/// A value that is set once, and that any number of tasks can wait for.
///
/// Unlike with [`OnceCell`](super::OnceCell), where the first task that needs the value makes it,
/// readers [wait](SetOnce::wait) until another task [sets](SetOnce::set) it.
///
/// # Examples
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
pub struct SetOnce<T> {
    /// Set after the value was written.
    kept: Kept<Latch, T>,
}

impl Mark for Latch {
    #[inline]
    fn is_there(&self) -> bool {
        self.is_set()
    }

    fn forget(&mut self) {
        self.unset();
    }
}

kept_traits!(SetOnce);

impl<T> SetOnce<T> {
    /// Creates a `SetOnce` without a value.
    ///
    /// # Examples
    /// ```
    /// let once = tress::sync::SetOnce::<u32>::new();
    /// assert_eq!(once.get(), None);
    /// ```
    #[track_caller]
    pub fn new() -> Self {
        Self::const_new()
    }

    const_fn! {
        /// Creates a `SetOnce` without a value, in a constant context.
        ///
        /// Does the same as [`new`](SetOnce::new), and can initialize a `static`.
        ///
        /// # Examples
        /// ```
        /// use tress::sync::SetOnce;
        ///
        /// static ONCE: SetOnce<u32> = SetOnce::const_new();
        /// ONCE.set(5).unwrap();
        /// ```
        #[track_caller]
        pub fn const_new() -> Self {
            SetOnce {
                kept: Kept::empty(Latch::new(false, WaitKind::OnceCell)),
            }
        }
    }

    /// Creates a `SetOnce` with the value if there is one, or without a value for `None`.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::SetOnce;
    ///
    /// assert!(SetOnce::new_with(Some(5)).initialized());
    /// assert!(!SetOnce::<u32>::new_with(None).initialized());
    /// ```
    #[track_caller]
    pub fn new_with(value: Option<T>) -> Self {
        match value {
            Some(value) => Self::const_new_with(value),
            None => Self::const_new(),
        }
    }

    const_fn! {
        /// Creates a `SetOnce` with a value, in a constant context.
        ///
        /// It can initialize a `static`.
        ///
        /// # Examples
        /// ```
        /// use tress::sync::SetOnce;
        ///
        /// static ONCE: SetOnce<u32> = SetOnce::const_new_with(5);
        /// assert_eq!(ONCE.get(), Some(&5));
        /// ```
        #[track_caller]
        pub fn const_new_with(value: T) -> Self {
            SetOnce {
                kept: Kept::full(Latch::new(true, WaitKind::OnceCell), value),
            }
        }
    }

    /// Returns `true` if the value has been set.
    ///
    /// # Examples
    /// ```
    /// let once = tress::sync::SetOnce::new();
    /// assert!(!once.initialized());
    /// once.set(5).unwrap();
    /// assert!(once.initialized());
    /// ```
    #[inline]
    pub fn initialized(&self) -> bool {
        self.kept.mark.is_there()
    }

    /// Returns a reference to the value, or `None` if it has not been set.
    ///
    /// # Examples
    /// ```
    /// let once = tress::sync::SetOnce::from("there");
    /// assert_eq!(once.get(), Some(&"there"));
    /// ```
    #[inline]
    pub fn get(&self) -> Option<&T> {
        self.kept.get()
    }

    /// Sets the value, and wakes all tasks that wait for it.
    ///
    /// # Errors
    /// Returns the given value in [`SetOnceError`] if another one has been set already.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::{SetOnce, SetOnceError};
    ///
    /// let once = SetOnce::new();
    /// assert_eq!(once.set(1), Ok(()));
    /// assert_eq!(once.set(2), Err(SetOnceError(2)));
    /// ```
    pub fn set(&self, value: T) -> Result<(), SetOnceError<T>> {
        if self.initialized() {
            return Err(SetOnceError(value));
        }
        let mut value = Some(value);
        self.kept.mark.set_after(|| {
            if let Some(value) = value.take() {
                // SAFETY: not set, and only this closure writes, of which one at a time runs and
                // only before it is set.
                unsafe { self.kept.put(value) };
            }
        });
        match value {
            None => Ok(()),
            Some(value) => Err(SetOnceError(value)),
        }
    }

    /// Waits until the value has been set, and returns a reference to it.
    ///
    /// # Cancel safety
    /// This method is cancel safe: dropping the future has no effect on the value or on other
    /// waiters.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let once = tress::sync::SetOnce::from(5);
    /// assert_eq!(once.wait().await, &5);
    /// # });
    /// ```
    pub async fn wait(&self) -> &T {
        self.kept.mark.wait().await;
        match self.get() {
            Some(value) => value,
            None => unreachable!("set without a value"),
        }
    }

    /// Consumes the `SetOnce` and returns the value, or `None` if it has not been set.
    ///
    /// # Examples
    /// ```
    /// let once = tress::sync::SetOnce::from(String::from("mine"));
    /// assert_eq!(once.into_inner().as_deref(), Some("mine"));
    /// ```
    pub fn into_inner(mut self) -> Option<T> {
        self.kept.take()
    }
}

/// The error of [`SetOnce::set`], with the value that was not set: there is another one already.
///
/// # Examples
/// ```
/// let once = tress::sync::SetOnce::from(1);
/// assert_eq!(once.set(2).unwrap_err().0, 2);
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct SetOnceError<T>(pub T);

impl<T> fmt::Display for SetOnceError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(words::SET_ONCE)
    }
}

impl<T: fmt::Debug> Error for SetOnceError<T> {}
