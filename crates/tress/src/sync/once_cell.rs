use super::kept::{Kept, Mark, kept_traits};
use super::permits::{Permits, Refusal};
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::mem;

#[cfg(all(test, loom))]
mod model;

/// A value that is made once, by an asynchronous function if need be, when it is first asked for.
///
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
/// // However many ask at the same time, one connects and the others wait.
/// let connection = CONNECTION.get_or_init(connect).await;
/// assert_eq!(connection, "a connection");
/// # });
/// ```
///
/// If the one who makes it fails, panics or is dropped, the next one in line makes it.
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
        *self = Permits::new(1);
    }
}

kept_traits!(OnceCell);

impl<T> OnceCell<T> {
    /// An empty cell.
    ///
    /// ```
    /// let cell = tress::sync::OnceCell::<u32>::new();
    /// assert_eq!(cell.get(), None);
    /// ```
    pub fn new() -> Self {
        Self::new_with(None)
    }

    const_fn! {
        /// As [`new`](OnceCell::new), for statics.
        ///
        /// ```
        /// use tress::sync::OnceCell;
        ///
        /// static CELL: OnceCell<u32> = OnceCell::const_new();
        /// assert!(CELL.set(5).is_ok());
        /// ```
        pub fn const_new() -> Self {
            OnceCell {
                kept: Kept::empty(Permits::new(1)),
            }
        }
    }

    /// A cell with this value, if it is one.
    ///
    /// ```
    /// use tress::sync::OnceCell;
    ///
    /// assert!(OnceCell::new_with(Some(5)).initialized());
    /// assert!(!OnceCell::<u32>::new_with(None).initialized());
    /// ```
    pub fn new_with(value: Option<T>) -> Self {
        match value {
            Some(value) => Self::const_new_with(value),
            None => Self::const_new(),
        }
    }

    const_fn! {
        /// A cell with this value, for statics.
        ///
        /// ```
        /// use tress::sync::OnceCell;
        ///
        /// static CELL: OnceCell<u32> = OnceCell::const_new_with(5);
        /// assert_eq!(CELL.get(), Some(&5));
        /// ```
        pub fn const_new_with(value: T) -> Self {
            OnceCell {
                kept: Kept::full(Permits::new_closed(), value),
            }
        }
    }

    /// Is the value there?
    ///
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

    /// The value, if it is there.
    ///
    /// ```
    /// let cell = tress::sync::OnceCell::from("there");
    /// assert_eq!(cell.get(), Some(&"there"));
    /// ```
    #[inline]
    pub fn get(&self) -> Option<&T> {
        self.kept.get()
    }

    /// The value, if it is there, to be changed: the borrow proves that nobody else has it.
    ///
    /// ```
    /// let mut cell = tress::sync::OnceCell::from(1);
    /// *cell.get_mut().unwrap() += 1;
    /// assert_eq!(cell.get(), Some(&2));
    /// ```
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.kept.get_mut()
    }

    /// Puts a value in, if there is none and nobody is making one.
    ///
    /// ```
    /// use tress::sync::OnceCell;
    ///
    /// let cell = OnceCell::new();
    /// assert!(cell.set(1).is_ok());
    /// assert!(cell.set(2).unwrap_err().is_already_init_err());
    /// ```
    ///
    /// # Errors
    /// The value comes back in an error that says which of the two it was.
    // D-SYNC-01
    #[inline]
    pub fn set(&self, value: T) -> Result<(), SetError<T>> {
        match self.permits().take_last_only() {
            Ok(()) => {
                // SAFETY: the one permit is ours, so the cell is empty, and nobody else writes it.
                unsafe { self.kept.put(value) };
                self.permits().close_last();
                Ok(())
            }
            Err(Refusal::TooFew) => Err(SetError::InitializingError(value)),
            Err(Refusal::Closed) => Err(SetError::AlreadyInitializedError(value)),
        }
    }

    /// The value; if there is none, the one that `f` makes.
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let cell = tress::sync::OnceCell::new();
    /// assert_eq!(cell.get_or_init(|| async { 1 }).await, &1);
    /// assert_eq!(cell.get_or_init(|| async { 2 }).await, &1);
    /// # });
    /// ```
    ///
    /// If `f` asks for the value of the same cell it waits for ever.
    ///
    /// # Cancel safety
    /// Dropping the future drops that of `f`, if it was the one that ran; the next one in line then
    /// runs its own.
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

    /// As [`get_or_init`](OnceCell::get_or_init), with an `f` that may fail. The cell stays empty
    /// then, and the next one in line tries.
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let cell = tress::sync::OnceCell::new();
    /// assert_eq!(cell.get_or_try_init(|| async { Err("no luck") }).await, Err("no luck"));
    /// assert_eq!(cell.get_or_try_init(|| async { Ok::<_, ()>(2) }).await, Ok(&2));
    /// # });
    /// ```
    ///
    /// # Errors
    /// What `f` returned.
    ///
    /// # Cancel safety
    /// As [`get_or_init`](OnceCell::get_or_init).
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
            Ok(()) => Ok(Making(self.permits())),
            Err(_) => match self.get() {
                Some(value) => Err(value),
                None => unreachable!("closed without a value"),
            },
        }
    }

    fn fill(&self, making: Making<'_>, value: T) -> &T {
        // SAFETY: the one permit is ours and the cell is not closed, so it is empty, and nobody else
        // writes it.
        let value = unsafe { self.kept.put(value) };
        mem::forget(making);
        self.permits().close();
        value
    }

    #[inline(always)]
    fn permits(&self) -> &Permits {
        &self.kept.mark
    }

    /// The value, if it is there.
    ///
    /// ```
    /// let cell = tress::sync::OnceCell::from(String::from("mine"));
    /// assert_eq!(cell.into_inner().as_deref(), Some("mine"));
    /// ```
    pub fn into_inner(mut self) -> Option<T> {
        self.take()
    }

    /// The value, if it is there; the cell is empty then.
    ///
    /// ```
    /// let mut cell = tress::sync::OnceCell::from(5);
    /// assert_eq!(cell.take(), Some(5));
    /// assert_eq!(cell.take(), None);
    /// ```
    pub fn take(&mut self) -> Option<T> {
        self.kept.take()
    }
}

/// The right to make the value. Passed on when dropped.
struct Making<'a>(&'a Permits);

impl Drop for Making<'_> {
    fn drop(&mut self) {
        self.0.give_back_only();
    }
}

/// Why [`OnceCell::set`] did not take the value, which is in it.
#[derive(Debug, PartialEq, Eq)]
pub enum SetError<T> {
    /// There is a value already.
    AlreadyInitializedError(T),
    /// Somebody is making one.
    InitializingError(T),
}

impl<T> SetError<T> {
    /// Is there a value already?
    ///
    /// ```
    /// let cell = tress::sync::OnceCell::from(1);
    /// assert!(cell.set(2).unwrap_err().is_already_init_err());
    /// ```
    pub fn is_already_init_err(&self) -> bool {
        matches!(self, SetError::AlreadyInitializedError(_))
    }

    /// Is somebody making one?
    ///
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
            SetError::AlreadyInitializedError(_) => {
                "the cell has a value already; read it with `get`"
            }
            SetError::InitializingError(_) => {
                "somebody is making the cell's value; wait for it with `get_or_init`"
            }
        })
    }
}

impl<T: fmt::Debug> Error for SetError<T> {}
