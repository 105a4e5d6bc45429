//! Errors of sending and receiving.
//!
//! A message that could not be sent is in the error, and so is the cause with which the channel was closed.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

type AnyError = Box<dyn Error + Send + Sync>;

/// The cause with which a channel was closed: see [`Sender::close_with`](super::Sender::close_with).
// A thin pointer, so that results stay small.
#[derive(Clone)]
pub(super) struct Cause(Arc<AnyError>);

impl Cause {
    pub(super) fn new(cause: impl Into<AnyError>) -> Cause {
        Cause(Arc::new(cause.into()))
    }

    fn get(&self) -> &(dyn Error + Send + Sync + 'static) {
        &**self.0
    }
}

/// An error of [`send`](super::Sender::send), which contains the message: the channel is closed.
///
/// # Examples
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (tx, rx) = tress::channel::bounded(1);
/// drop(rx);
/// let error = tx.send("hello").await.unwrap_err();
/// assert_eq!(error.into_inner(), "hello");
/// # });
/// ```
pub struct SendError<T> {
    pub(super) message: T,
    pub(super) cause: Option<Cause>,
}

/// An error of [`try_send`](super::Sender::try_send), which contains the message.
///
/// # Examples
/// ```
/// use tress::channel::error::TrySendError;
///
/// let (tx, _rx) = tress::channel::bounded(1);
/// tx.try_send(1).unwrap();
/// match tx.try_send(2) {
///     Err(TrySendError::Full(message)) => assert_eq!(message, 2),
///     Err(TrySendError::Closed(error)) => panic!("{error}"),
///     Ok(()) => unreachable!(),
/// }
/// ```
pub enum TrySendError<T> {
    /// There is no free place, or other senders are in line for it.
    Full(T),
    /// The channel is closed.
    Closed(SendError<T>),
}

/// An error of [`send_blocking_until`](super::Sender::send_blocking_until), which contains the message.
///
/// # Examples
/// ```
/// use std::time::Instant;
/// use tress::channel::error::SendTimeoutError;
///
/// let (tx, _rx) = tress::channel::bounded(1);
/// tx.try_send(1).unwrap();
/// let error = tx.send_blocking_until(2, Instant::now()).unwrap_err();
/// assert!(matches!(error, SendTimeoutError::Timeout(2)));
/// ```
pub enum SendTimeoutError<T> {
    /// No place became free before the deadline.
    Timeout(T),
    /// The channel is closed.
    Closed(SendError<T>),
}

/// An error of [`recv`](super::Receiver::recv): the channel is closed, and all its messages have been
/// received.
///
/// # Examples
/// ```
/// use tress::channel::error::RecvError;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (tx, rx) = tress::channel::bounded::<u32>(1);
/// drop(tx);
/// let error: RecvError = rx.recv().await.unwrap_err();
/// assert!(error.cause().is_none());
/// # });
/// ```
#[derive(Clone)]
pub struct RecvError {
    pub(super) cause: Option<Cause>,
}

/// An error of [`try_recv`](super::Receiver::try_recv).
///
/// # Examples
/// ```
/// use tress::channel::error::TryRecvError;
///
/// let (tx, rx) = tress::channel::bounded::<u32>(1);
/// assert!(matches!(rx.try_recv(), Err(TryRecvError::Empty)));
/// drop(tx);
/// assert!(matches!(rx.try_recv(), Err(TryRecvError::Closed(_))));
/// ```
#[derive(Clone)]
pub enum TryRecvError {
    /// There is no message at the moment.
    Empty,
    /// The channel is closed, and all its messages have been received.
    Closed(RecvError),
}

/// An error of [`recv_blocking_until`](super::Receiver::recv_blocking_until).
///
/// # Examples
/// ```
/// use std::time::Instant;
/// use tress::channel::error::RecvTimeoutError;
///
/// let (_tx, rx) = tress::channel::bounded::<u32>(1);
/// let error = rx.recv_blocking_until(Instant::now()).unwrap_err();
/// assert!(matches!(error, RecvTimeoutError::Timeout));
/// ```
#[derive(Clone)]
pub enum RecvTimeoutError {
    /// No message came before the deadline.
    Timeout,
    /// The channel is closed, and all its messages have been received.
    Closed(RecvError),
}

impl<T> SendError<T> {
    /// Returns the message.
    ///
    /// # Examples
    /// ```
    /// let (tx, rx) = tress::channel::unbounded();
    /// drop(rx);
    /// assert_eq!(tx.send_blocking(1).unwrap_err().into_inner(), 1);
    /// ```
    pub fn into_inner(self) -> T {
        self.message
    }

    /// Returns the cause with which the channel was [closed](super::Sender::close_with), if there is one.
    ///
    /// # Examples
    /// ```
    /// let (tx, rx) = tress::channel::unbounded();
    /// rx.close_with("the disk is full");
    /// let error = tx.send_blocking(1).unwrap_err();
    /// assert_eq!(error.cause().unwrap().to_string(), "the disk is full");
    /// ```
    pub fn cause(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        self.cause.as_ref().map(Cause::get)
    }
}

impl RecvError {
    /// Returns the cause with which the channel was [closed](super::Sender::close_with), if there is one.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::channel;
    ///
    /// let (tx, rx) = channel::unbounded::<u32>();
    /// tx.close_with("the disk is full");
    /// let error = rx.try_recv().unwrap_err();
    /// assert_eq!(error.cause().unwrap().to_string(), "the disk is full");
    /// ```
    pub fn cause(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        self.cause.as_ref().map(Cause::get)
    }
}

impl<T> TrySendError<T> {
    /// Returns the message.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, _rx) = tress::channel::bounded(1);
    /// tx.try_send(1).unwrap();
    /// assert_eq!(tx.try_send(2).unwrap_err().into_inner(), 2);
    /// ```
    pub fn into_inner(self) -> T {
        match self {
            TrySendError::Full(message) | TrySendError::Closed(SendError { message, .. }) => {
                message
            }
        }
    }

    /// Returns `true` if the channel is full, and the message may be sent later.
    ///
    /// # Examples
    /// ```
    /// let (tx, _rx) = tress::channel::bounded(1);
    /// tx.try_send(1).unwrap();
    /// assert!(tx.try_send(2).unwrap_err().is_full());
    /// ```
    pub fn is_full(&self) -> bool {
        matches!(self, TrySendError::Full(_))
    }

    /// Returns `true` if the channel is closed.
    ///
    /// # Examples
    /// ```
    /// let (tx, rx) = tress::channel::bounded(1);
    /// drop(rx);
    /// assert!(tx.try_send(1).unwrap_err().is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        !self.is_full()
    }
}

impl<T> SendTimeoutError<T> {
    /// Returns the message.
    ///
    /// # Examples
    /// ```
    /// use std::time::Instant;
    ///
    /// let (tx, _rx) = tress::channel::bounded(1);
    /// tx.try_send(1).unwrap();
    /// let error = tx.send_blocking_until(2, Instant::now()).unwrap_err();
    /// assert_eq!(error.into_inner(), 2);
    /// ```
    pub fn into_inner(self) -> T {
        match self {
            SendTimeoutError::Timeout(message)
            | SendTimeoutError::Closed(SendError { message, .. }) => message,
        }
    }

    /// Returns `true` if the deadline has passed.
    ///
    /// # Examples
    /// ```
    /// use std::time::Instant;
    ///
    /// let (tx, rx) = tress::channel::bounded(1);
    /// tx.try_send(1).unwrap();
    /// assert!(tx.send_blocking_until(2, Instant::now()).unwrap_err().is_timeout());
    /// drop(rx);
    /// assert!(!tx.send_blocking_until(2, Instant::now()).unwrap_err().is_timeout());
    /// ```
    pub fn is_timeout(&self) -> bool {
        matches!(self, SendTimeoutError::Timeout(_))
    }
}

impl TryRecvError {
    /// Returns `true` if there is no message at the moment, and one may come later.
    ///
    /// # Examples
    /// ```
    /// let (_tx, rx) = tress::channel::bounded::<u32>(1);
    /// assert!(rx.try_recv().unwrap_err().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        matches!(self, TryRecvError::Empty)
    }

    /// Returns `true` if the channel is closed, and no message will come.
    ///
    /// # Examples
    /// ```
    /// let (tx, rx) = tress::channel::bounded::<u32>(1);
    /// drop(tx);
    /// assert!(rx.try_recv().unwrap_err().is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        !self.is_empty()
    }

    /// Returns the cause with which the channel was closed, if there is one.
    ///
    /// # Examples
    /// ```
    /// let (tx, rx) = tress::channel::unbounded::<u32>();
    /// tx.close_with("the disk is full");
    /// let error = rx.try_recv().unwrap_err();
    /// assert_eq!(error.cause().unwrap().to_string(), "the disk is full");
    /// ```
    pub fn cause(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        match self {
            TryRecvError::Empty => None,
            TryRecvError::Closed(error) => error.cause(),
        }
    }
}

impl RecvTimeoutError {
    /// Returns `true` if the deadline has passed.
    ///
    /// # Examples
    /// ```
    /// use std::time::Instant;
    ///
    /// let (tx, rx) = tress::channel::bounded::<u32>(1);
    /// assert!(rx.recv_blocking_until(Instant::now()).unwrap_err().is_timeout());
    /// drop(tx);
    /// assert!(!rx.recv_blocking_until(Instant::now()).unwrap_err().is_timeout());
    /// ```
    pub fn is_timeout(&self) -> bool {
        matches!(self, RecvTimeoutError::Timeout)
    }
}

impl<T> From<SendError<T>> for TrySendError<T> {
    fn from(error: SendError<T>) -> TrySendError<T> {
        TrySendError::Closed(error)
    }
}

impl<T> From<SendError<T>> for SendTimeoutError<T> {
    fn from(error: SendError<T>) -> SendTimeoutError<T> {
        SendTimeoutError::Closed(error)
    }
}

impl From<RecvError> for TryRecvError {
    fn from(error: RecvError) -> TryRecvError {
        TryRecvError::Closed(error)
    }
}

impl From<RecvError> for RecvTimeoutError {
    fn from(error: RecvError) -> RecvTimeoutError {
        RecvTimeoutError::Closed(error)
    }
}

fn say_closed(f: &mut fmt::Formatter<'_>, what: &str, cause: &Option<Cause>) -> fmt::Result {
    write!(f, "the channel is closed: {what}")?;
    match cause {
        Some(cause) => write!(f, " ({})", cause.get()),
        None => Ok(()),
    }
}

const NOT_SENT: &str = "nobody will get the message";
const NOT_RECEIVED: &str = "no message will come any more";
const FULL: &str = "the channel is full: wait for a place with `send`, or try again later";

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        say_closed(f, NOT_SENT, &self.cause)
    }
}

impl<T> fmt::Display for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrySendError::Full(_) => f.write_str(FULL),
            TrySendError::Closed(error) => error.fmt(f),
        }
    }
}

impl<T> fmt::Display for SendTimeoutError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SendTimeoutError::Timeout(_) => {
                f.write_str("no place in the channel became free in time")
            }
            SendTimeoutError::Closed(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        say_closed(f, NOT_RECEIVED, &self.cause)
    }
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TryRecvError::Empty => f.write_str(
                "the channel is empty: wait for a message with `recv`, or try again later",
            ),
            TryRecvError::Closed(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for RecvTimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecvTimeoutError::Timeout => f.write_str("no message came in time"),
            RecvTimeoutError::Closed(error) => error.fmt(f),
        }
    }
}

/// Implements `Debug` without requiring it of the message, and `Error` with the cause as its source.
macro_rules! error_impls {
    ($([$($generic:ident)?] $name:ident $error:ident => $cause:expr;)*) => {$(
        impl<$($generic)?> fmt::Debug for $name<$($generic)?> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl<$($generic)?> Error for $name<$($generic)?> {
            fn source(&self) -> Option<&(dyn Error + 'static)> {
                let $error = self;
                $cause.map(|cause| cause as &(dyn Error + 'static))
            }
        }
    )*};
}

error_impls! {
    [T] SendError error => error.cause();
    [T] TrySendError error => match error {
        TrySendError::Full(_) => None,
        TrySendError::Closed(error) => error.cause(),
    };
    [T] SendTimeoutError error => match error {
        SendTimeoutError::Timeout(_) => None,
        SendTimeoutError::Closed(error) => error.cause(),
    };
    [] RecvError error => error.cause();
    [] TryRecvError error => error.cause();
    [] RecvTimeoutError error => match error {
        RecvTimeoutError::Timeout => None,
        RecvTimeoutError::Closed(error) => error.cause(),
    };
}
