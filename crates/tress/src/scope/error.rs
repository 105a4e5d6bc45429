use std::fmt;

/// An error of a scope that has no value.
///
/// # Examples
/// ```
/// use tress::task::scope::{self, scope};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let failed = scope(|_| async { Err::<(), _>("no") }).await;
/// assert_eq!(failed, Err(scope::Error::Failed("no")));
/// # });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error<E> {
    /// The body or a child returned this error; it was the first.
    Failed(E),
    /// The scope was cancelled, by [`Scope::cancel`](super::Scope::cancel) or by its token.
    Cancelled,
    /// Its deadline passed.
    TimedOut,
}

impl<E> Error<E> {
    /// Returns the error of the body or child that failed, if the scope failed because of one.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let failed = tress::task::scope(|_| async { Err::<(), _>("no") }).await;
    /// assert_eq!(failed.unwrap_err().into_failed(), Some("no"));
    /// # });
    /// ```
    pub fn into_failed(self) -> Option<E> {
        match self {
            Error::Failed(error) => Some(error),
            Error::Cancelled | Error::TimedOut => None,
        }
    }
}

impl<E: fmt::Display> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Failed(error) => write!(f, "a task of the scope failed: {error}"),
            Error::Cancelled => f.write_str("the scope was cancelled"),
            Error::TimedOut => f.write_str("the scope's deadline passed before it was done"),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for Error<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Failed(error) => Some(error),
            Error::Cancelled | Error::TimedOut => None,
        }
    }
}
