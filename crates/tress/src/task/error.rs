use crate::identity::Id;
use crate::sys::plain::Mutex;
use std::any::Any;
use std::fmt;
use std::io;

/// Why a task has no output: it was cancelled, or it panicked.
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

    /// True if the task was aborted, or its runtime shut down before it finished.
    ///
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

    /// True if the task panicked.
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let error = tress::spawn(async { panic!("oh") }).await.unwrap_err();
    /// assert!(error.is_panic());
    /// # });
    /// ```
    pub fn is_panic(&self) -> bool {
        self.panic.is_some()
    }

    /// What the task panicked with, for `std::panic::resume_unwind`.
    ///
    /// # Panics
    /// If the task was cancelled.
    #[track_caller]
    pub fn into_panic(self) -> Box<dyn Any + Send + 'static> {
        self.try_into_panic()
            .expect("the task did not panic: it was cancelled")
    }

    /// What the task panicked with, or the error itself if it was cancelled.
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send + 'static>, JoinError> {
        match self.panic {
            Some(payload) => Ok(payload.into_inner()),
            None => Err(self),
        }
    }

    /// The id of the task.
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
