use super::kept::{Kept, Mark, kept_traits};
use super::permits::{Permits, Refusal};
use crate::sight::WaitKind;
use crate::words;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::mem;

#[cfg(all(test, loom))]
mod model;

/// A cell whose value is made once, when it is first needed, by an asynchronous function.
///
/// [`get_or_init`](OnceCell::get_or_init) returns the value and makes it if necessary. However many
/// tasks call it at the same time, one of them runs its function and the others wait. If that
/// function fails or panics, or its task is cancelled, the cell stays empty, and the next waiting
/// task runs its own.
///
/// Use [`SetOnce`](super::SetOnce) if the value is set in one place and awaited in others, and
/// [`std::sync::OnceLock`] if making it takes no `.await`.
///
/// # Examples
/// ```
/// use tress::sync::OnceCell;
///
/// async fn connect() -> String {
///     tress::task::yield_now().await;
///     "a connection".into()
/// }
///
/// static CONNECTION: OnceCell<String> = OnceCell::const_new();
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// // However many tasks call this at the same time, one connects and the others wait.
/// let connection = CONNECTION.get_or_init(connect).await;
/// assert_eq!(connection, "a connection");
/// # });
/// ```
pub struct OnceCell<T> {
    /// One permit, to make the value. Closed once it is there.
    kept: Kept<Permits, T>,
}

impl Mark for Permits {
    #[inline]
    fn is_there(&self) -> bool {
        self.is_closed()
    }

    fn forget(&mut self) {
        self.renew(1);
    }
}

kept_traits!(OnceCell);

impl<T> OnceCell<T> {
    /// Creates an empty cell.
    ///
    /// # Examples
    /// ```
    /// let cell = tress::sync::OnceCell::<u32>::new();
    /// assert_eq!(cell.get(), None);
    /// ```
    #[track_caller]
    pub fn new() -> Self {
        Self::new_with(None)
    }

    const_fn! {
        /// Creates an empty cell, in a constant context.
        ///
        /// Does the same as [`new`](OnceCell::new), and can initialize a `static`.
        ///
        /// # Examples
        /// ```
        /// use tress::sync::OnceCell;
        ///
        /// static CELL: OnceCell<u32> = OnceCell::const_new();
        /// assert!(CELL.set(5).is_ok());
        /// ```
        #[track_caller]
        pub fn const_new() -> Self {
            OnceCell {
                kept: Kept::empty(Permits::new(1).known_as(WaitKind::OnceCell)),
            }
        }
    }

    /// Creates a cell with the value if there is one, or an empty cell for `None`.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::OnceCell;
    ///
    /// assert!(OnceCell::new_with(Some(5)).initialized());
    /// assert!(!OnceCell::<u32>::new_with(None).initialized());
    /// ```
    #[track_caller]
    pub fn new_with(value: Option<T>) -> Self {
        match value {
            Some(value) => Self::const_new_with(value),
            None => Self::const_new(),
        }
    }

    const_fn! {
        /// Creates a cell with a value, in a constant context.
        ///
        /// It can initialize a `static`.
        ///
        /// # Examples
        /// ```
        /// use tress::sync::OnceCell;
        ///
        /// static CELL: OnceCell<u32> = OnceCell::const_new_with(5);
        /// assert_eq!(CELL.get(), Some(&5));
        /// ```
        #[track_caller]
        pub fn const_new_with(value: T) -> Self {
            OnceCell {
                kept: Kept::full(
                    Permits::new_closed().known_as(WaitKind::OnceCell),
                    value,
                ),
            }
        }
    }

    /// Returns `true` if the cell has a value.
    ///
    /// # Examples
    /// ```
    /// let cell = tress::sync::OnceCell::new();
    /// assert!(!cell.initialized());
    /// cell.set(5).unwrap();
    /// assert!(cell.initialized());
    /// ```
    #[inline]
    pub fn initialized(&self) -> bool {
        self.kept.mark.is_there()
    }

    /// Returns a reference to the value, or `None` if the cell is empty.
    ///
    /// This never waits, also while a task is making the value.
    ///
    /// # Examples
    /// ```
    /// let cell = tress::sync::OnceCell::from("there");
    /// assert_eq!(cell.get(), Some(&"there"));
    /// ```
    #[inline]
    pub fn get(&self) -> Option<&T> {
        self.kept.get()
    }

    /// Returns a mutable reference to the value, or `None` if the cell is empty.
    ///
    /// The exclusive borrow proves that no task is making the value.
    ///
    /// # Examples
    /// ```
    /// let mut cell = tress::sync::OnceCell::from(1);
    /// *cell.get_mut().unwrap() += 1;
    /// assert_eq!(cell.get(), Some(&2));
    /// ```
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.kept.get_mut()
    }

    /// Sets the value of an empty cell.
    ///
    /// # Errors
    /// Returns the value:
    ///
    /// - in [`SetError::AlreadyInitializedError`] if the cell has a value;
    /// - in [`SetError::InitializingError`] if a task is making one.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::OnceCell;
    ///
    /// let cell = OnceCell::new();
    /// assert!(cell.set(1).is_ok());
    /// assert!(cell.set(2).unwrap_err().is_already_init_err());
    /// ```
    // D-SYNC-01
    #[inline]
    pub fn set(&self, value: T) -> Result<(), SetError<T>> {
        match self.permits().take_last_only() {
            Ok(()) => {
                // SAFETY: the one permit is ours, so the cell is empty, and no other thread writes it.
                unsafe { self.kept.put(value) };
                self.permits().close_last();
                Ok(())
            }
            Err(Refusal::TooFew) => Err(SetError::InitializingError(value)),
            Err(Refusal::Closed) => Err(SetError::AlreadyInitializedError(value)),
        }
    }

    /// Returns a reference to the value, and makes it with `f` if the cell is empty.
    ///
    /// If another task is making the value, waits for it. If that task fails, panics or is
    /// cancelled, the waiting tasks try in the order in which they began to wait.
    ///
    /// If `f` itself waits for the value of the same cell, it waits for ever.
    ///
    /// # Panics
    /// Panics if `f` panics. The cell stays empty.
    ///
    /// # Cancel safety
    /// This method is cancel safe as far as `f` is. If the future is dropped while it runs `f`, the
    /// future of `f` is dropped, and the next waiting task runs its own. If it is dropped while it
    /// waits for another task, it loses its place in the queue.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let cell = tress::sync::OnceCell::new();
    /// assert_eq!(cell.get_or_init(|| async { 1 }).await, &1);
    /// assert_eq!(cell.get_or_init(|| async { 2 }).await, &1);
    /// # });
    /// ```
    pub async fn get_or_init<F, Fut>(&self, f: F) -> &T
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = T>,
    {
        if let Some(value) = self.get() {
            return value;
        }
        match self.begin().await {
            Ok(making) => {
                let value = f().await;
                self.fill(making, value)
            }
            Err(value) => value,
        }
    }

    /// Returns a reference to the value, and makes it with the fallible `f` if the cell is empty.
    ///
    /// Does the same as [`get_or_init`](OnceCell::get_or_init), but leaves the cell empty if `f`
    /// fails. The next waiting task then runs its own function.
    ///
    /// # Errors
    /// Any error of `f`. Errors of the functions of other tasks are not returned here.
    ///
    /// # Panics
    /// Panics if `f` panics. The cell stays empty.
    ///
    /// # Cancel safety
    /// This method is cancel safe as far as `f` is; see [`get_or_init`](OnceCell::get_or_init).
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let cell = tress::sync::OnceCell::new();
    /// assert_eq!(cell.get_or_try_init(|| async { Err("no luck") }).await, Err("no luck"));
    /// assert_eq!(cell.get_or_try_init(|| async { Ok::<_, ()>(2) }).await, Ok(&2));
    /// # });
    /// ```
    pub async fn get_or_try_init<E, F, Fut>(&self, f: F) -> Result<&T, E>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        if let Some(value) = self.get() {
            return Ok(value);
        }
        match self.begin().await {
            Ok(making) => {
                let value = f().await?;
                Ok(self.fill(making, value))
            }
            Err(value) => Ok(value),
        }
    }

    /// Waits for the right to make the value, or for the value.
    async fn begin(&self) -> Result<Making<'_>, &T> {
        match self.permits().take(1).await {
            Ok(()) => {
                self.permits().held_alone();
                Ok(Making(self.permits()))
            }
            Err(_) => match self.get() {
                Some(value) => Err(value),
                None => unreachable!("closed without a value"),
            },
        }
    }

    fn fill(&self, making: Making<'_>, value: T) -> &T {
        // SAFETY: the one permit is ours and the cell is not closed, so it is empty, and no other
        // thread writes it.
        let value = unsafe { self.kept.put(value) };
        mem::forget(making);
        self.permits().let_go();
        self.permits().close();
        value
    }

    #[inline(always)]
    fn permits(&self) -> &Permits {
        &self.kept.mark
    }

    /// Consumes the cell and returns the value, or `None` if the cell is empty.
    ///
    /// # Examples
    /// ```
    /// let cell = tress::sync::OnceCell::from(String::from("mine"));
    /// assert_eq!(cell.into_inner().as_deref(), Some("mine"));
    /// ```
    pub fn into_inner(mut self) -> Option<T> {
        self.take()
    }

    /// Takes the value out of the cell, which is empty and can be used again afterwards.
    ///
    /// Returns `None` if the cell is empty.
    ///
    /// # Examples
    /// ```
    /// let mut cell = tress::sync::OnceCell::from(5);
    /// assert_eq!(cell.take(), Some(5));
    /// assert_eq!(cell.take(), None);
    /// ```
    pub fn take(&mut self) -> Option<T> {
        self.kept.take()
    }
}

/// The right to make the value. Dropping it passes the right on.
struct Making<'a>(&'a Permits);

impl Drop for Making<'_> {
    fn drop(&mut self) {
        self.0.let_go();
        self.0.give_back_only();
    }
}

/// The error of [`OnceCell::set`], with the value that was not set.
///
/// # Examples
/// ```
/// use tress::sync::{OnceCell, SetError};
///
/// let cell = OnceCell::from(1);
/// assert_eq!(cell.set(2), Err(SetError::AlreadyInitializedError(2)));
/// ```
#[derive(Debug, PartialEq, Eq)]
pub enum SetError<T> {
    /// The cell has a value already.
    AlreadyInitializedError(T),
    /// A task is making the value at the moment.
    InitializingError(T),
}

impl<T> SetError<T> {
    /// Returns `true` if the cell had a value already.
    ///
    /// # Examples
    /// ```
    /// let cell = tress::sync::OnceCell::from(1);
    /// assert!(cell.set(2).unwrap_err().is_already_init_err());
    /// ```
    pub fn is_already_init_err(&self) -> bool {
        matches!(self, SetError::AlreadyInitializedError(_))
    }

    /// Returns `true` if a task was making the value.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let cell = tress::sync::OnceCell::new();
    /// cell.get_or_init(|| async {
    ///     assert!(cell.set(2).unwrap_err().is_initializing_err());
    ///     1
    /// })
    /// .await;
    /// # });
    /// ```
    pub fn is_initializing_err(&self) -> bool {
        matches!(self, SetError::InitializingError(_))
    }
}

impl<T> fmt::Display for SetError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SetError::AlreadyInitializedError(_) => words::CELL_SET,
            SetError::InitializingError(_) => words::CELL_BUSY,
        })
    }
}

impl<T: fmt::Debug> Error for SetError<T> {}
