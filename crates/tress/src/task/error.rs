use crate::identity::Id;
use crate::sys::plain::Mutex;
use std::any::Any;
use std::fmt;
use std::io;

/// An error of a task that has no output, because it was cancelled or panicked.
///
/// It is returned by awaiting a [`JoinHandle`](super::JoinHandle).
///
/// # Examples
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let error = tress::spawn(async { panic!("no such user") }).await.unwrap_err();
/// assert!(error.to_string().contains("no such user"));
/// # });
/// ```
pub struct JoinError {
    id: Id,
    /// Behind a lock, which is never contended, because a payload need not be `Sync`.
    panic: Option<Box<Mutex<Box<dyn Any + Send>>>>,
}

impl JoinError {
    pub(crate) fn cancelled(id: Id) -> JoinError {
        JoinError { id, panic: None }
    }

    pub(crate) fn panic(id: Id, payload: Box<dyn Any + Send>) -> JoinError {
        JoinError {
            id,
            panic: Some(Box::new(Mutex::new(payload))),
        }
    }

    /// Returns true if the task was aborted, or if its runtime shut down before it finished.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let handle = tress::spawn(std::future::pending::<()>());
    /// handle.abort();
    /// assert!(handle.await.unwrap_err().is_cancelled());
    /// # });
    /// ```
    pub fn is_cancelled(&self) -> bool {
        self.panic.is_none()
    }

    /// Returns true if the task panicked.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let error = tress::spawn(async { panic!("oh") }).await.unwrap_err();
    /// assert!(error.is_panic());
    /// # });
    /// ```
    pub fn is_panic(&self) -> bool {
        self.panic.is_some()
    }

    /// Returns the payload of the task's panic, for [`resume_unwind`](std::panic::resume_unwind).
    ///
    /// # Panics
    /// Panics if the task did not panic, but was cancelled.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let error = tress::spawn(async { panic!("oh") }).await.unwrap_err();
    /// let payload = error.into_panic();
    /// assert_eq!(payload.downcast_ref(), Some(&"oh"));
    /// # });
    /// ```
    #[track_caller]
    pub fn into_panic(self) -> Box<dyn Any + Send + 'static> {
        self.try_into_panic()
            .expect("the task did not panic: it was cancelled")
    }

    /// Returns the payload of the task's panic, if it panicked.
    ///
    /// # Errors
    /// Returns the error itself if the task was cancelled.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let task = tress::spawn(std::future::pending::<()>());
    /// task.abort();
    /// match task.await.unwrap_err().try_into_panic() {
    ///     Ok(payload) => std::panic::resume_unwind(payload),
    ///     Err(error) => assert!(error.is_cancelled()),
    /// }
    /// # });
    /// ```
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send + 'static>, JoinError> {
        match self.panic {
            Some(payload) => Ok(payload.into_inner()),
            None => Err(self),
        }
    }

    /// Returns the id of the task that failed.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let task = tress::spawn(async { panic!("oh") });
    /// let id = task.id();
    /// assert_eq!(task.await.unwrap_err().id(), id);
    /// # });
    /// ```
    pub fn id(&self) -> Id {
        self.id
    }

    /// The panic's text, if it is one.
    fn text(&self) -> Option<String> {
        let payload = self.panic.as_ref()?.lock();
        if let Some(s) = payload.downcast_ref::<&'static str>() {
            return Some((*s).to_owned());
        }
        payload.downcast_ref::<String>().cloned()
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.is_panic(), self.text()) {
            (false, _) => write!(f, "task {} was cancelled", self.id),
            (true, Some(text)) => write!(f, "task {} panicked with message {text:?}", self.id),
            (true, None) => write!(f, "task {} panicked", self.id),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.is_panic(), self.text()) {
            (false, _) => write!(f, "JoinError::Cancelled({:?})", self.id),
            (true, Some(text)) => write!(f, "JoinError::Panic({:?}, {text:?}, ...)", self.id),
            (true, None) => write!(f, "JoinError::Panic({:?}, ...)", self.id),
        }
    }
}

impl std::error::Error for JoinError {}

impl From<JoinError> for io::Error {
    fn from(error: JoinError) -> io::Error {
        io::Error::other(match error.is_panic() {
            true => "task panicked",
            false => "task was cancelled",
        })
    }
}
