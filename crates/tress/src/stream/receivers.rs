use super::unfold::unfold;
use crate::channel;
use crate::sync::broadcast::{self, error::RecvError};
use crate::sync::{mpsc, watch};
use crate::task::{JoinError, JoinSet};
use crate::time::{Instant, Interval};
use futures_core::Stream;
use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

impl<T> Stream for mpsc::Receiver<T> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.get_mut().poll_recv(cx)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len(), None)
    }
}

impl<T> Stream for mpsc::UnboundedReceiver<T> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.get_mut().poll_recv(cx)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len(), None)
    }
}

/// A stream of the instants at which ticks were due, which never ends.
impl Stream for Interval {
    type Item = Instant;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Instant>> {
        self.get_mut().poll_tick(cx).map(Some)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::MAX, None)
    }
}

/// A stream of the results of tasks, in the order in which they complete.
///
/// It ends when the set is empty, and continues if tasks are added.
impl<T: 'static> Stream for JoinSet<T> {
    type Item = Result<T, JoinError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_join_next(cx)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len(), Some(self.len()))
    }
}

type BoxStream<T> = Pin<Box<dyn Stream<Item = T> + Send>>;

/// A stream of the messages of a [channel](crate::channel), shared with its other receivers.
///
/// It makes one allocation, when it is created. While it waits it holds a place in the queue of
/// receivers: a stream that was woken and is not polled again delays the receivers behind it.
///
/// # Examples
///
/// ```
/// use futures_core::Stream;
/// use std::future::poll_fn;
/// use std::pin::Pin;
/// use tress::channel;
/// use tress::stream::ChannelStream;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (sender, receiver) = channel::bounded(8);
/// let mut stream = ChannelStream::new(receiver);
/// sender.send("message").await.unwrap();
/// drop(sender);
/// let mut next = async || poll_fn(|cx| Pin::new(&mut stream).poll_next(cx)).await;
/// assert_eq!(next().await, Some("message"));
/// assert_eq!(next().await, None);
/// # });
/// ```
pub struct ChannelStream<T> {
    inner: BoxStream<T>,
}

impl<T: Send + 'static> ChannelStream<T> {
    /// Creates a stream of the messages that `receiver` receives.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::channel;
    /// use tress::stream::ChannelStream;
    ///
    /// let (_sender, receiver) = channel::bounded::<u32>(8);
    /// let stream = ChannelStream::new(receiver);
    /// # drop(stream);
    /// ```
    pub fn new(receiver: channel::Receiver<T>) -> ChannelStream<T> {
        let inner = unfold(receiver, |receiver| async move {
            let message = receiver.recv().await.ok()?;
            Some((message, receiver))
        });
        ChannelStream {
            inner: Box::pin(inner),
        }
    }
}

impl<T: Send + 'static> From<channel::Receiver<T>> for ChannelStream<T> {
    fn from(receiver: channel::Receiver<T>) -> Self {
        ChannelStream::new(receiver)
    }
}

impl<T> Stream for ChannelStream<T> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.get_mut().inner.as_mut().poll_next(cx)
    }
}

impl<T> fmt::Debug for ChannelStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChannelStream").finish_non_exhaustive()
    }
}

/// A stream of the messages of a [broadcast](crate::sync::broadcast) channel.
///
/// If the receiver falls behind, the stream yields [`Lagged`] with the number of messages that were
/// missed, and continues with the oldest that is left. It makes one allocation, when it is created.
///
/// # Examples
///
/// ```
/// use futures_core::Stream;
/// use std::future::poll_fn;
/// use std::pin::Pin;
/// use tress::stream::BroadcastStream;
/// use tress::sync::broadcast;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (sender, receiver) = broadcast::channel(8);
/// let mut stream = BroadcastStream::new(receiver);
/// sender.send("news").unwrap();
/// drop(sender);
/// let mut next = async || poll_fn(|cx| Pin::new(&mut stream).poll_next(cx)).await;
/// assert_eq!(next().await, Some(Ok("news")));
/// assert_eq!(next().await, None);
/// # });
/// ```
pub struct BroadcastStream<T> {
    inner: BoxStream<Result<T, Lagged>>,
}

impl<T: Clone + Send + 'static> BroadcastStream<T> {
    /// Creates a stream of the messages that `receiver` has not received yet.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::stream::BroadcastStream;
    /// use tress::sync::broadcast;
    ///
    /// let (_sender, receiver) = broadcast::channel::<u32>(8);
    /// let stream = BroadcastStream::new(receiver);
    /// # drop(stream);
    /// ```
    pub fn new(receiver: broadcast::Receiver<T>) -> BroadcastStream<T> {
        let inner = unfold(receiver, |mut receiver| async move {
            let item = match receiver.recv().await {
                Ok(message) => Ok(message),
                Err(RecvError::Lagged(missed)) => Err(Lagged(missed)),
                Err(RecvError::Closed) => return None,
            };
            Some((item, receiver))
        });
        BroadcastStream {
            inner: Box::pin(inner),
        }
    }
}

impl<T: Clone + Send + 'static> From<broadcast::Receiver<T>> for BroadcastStream<T> {
    fn from(receiver: broadcast::Receiver<T>) -> Self {
        BroadcastStream::new(receiver)
    }
}

impl<T> Stream for BroadcastStream<T> {
    type Item = Result<T, Lagged>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().inner.as_mut().poll_next(cx)
    }
}

impl<T> fmt::Debug for BroadcastStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastStream").finish_non_exhaustive()
    }
}

/// The number of messages that were overwritten before a [`BroadcastStream`] yielded them.
///
/// The stream continues with the oldest message that is left.
///
/// # Examples
///
/// ```
/// use futures_core::Stream;
/// use std::future::poll_fn;
/// use std::pin::Pin;
/// use tress::stream::{BroadcastStream, Lagged};
/// use tress::sync::broadcast;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (sender, receiver) = broadcast::channel(2);
/// let mut stream = BroadcastStream::new(receiver);
/// for number in 0..5 {
///     sender.send(number).unwrap();
/// }
/// let mut next = async || poll_fn(|cx| Pin::new(&mut stream).poll_next(cx)).await;
/// assert_eq!(next().await, Some(Err(Lagged(3))));
/// assert_eq!(next().await, Some(Ok(3)));
/// # });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lagged(pub u64);

impl fmt::Display for Lagged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Lagged(missed) = self;
        write!(
            f,
            "{missed} messages were missed; receive faster, or make the channel larger"
        )
    }
}

impl Error for Lagged {}

/// A stream of the values of a [watch](crate::sync::watch) channel.
///
/// A value that is replaced before the stream is polled is skipped. The stream makes one allocation, when
/// it is created.
///
/// # Examples
///
/// ```
/// use futures_core::Stream;
/// use std::future::poll_fn;
/// use std::pin::Pin;
/// use tress::stream::WatchStream;
/// use tress::sync::watch;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (sender, receiver) = watch::channel(1);
/// let mut stream = WatchStream::new(receiver);
/// let mut next = async || poll_fn(|cx| Pin::new(&mut stream).poll_next(cx)).await;
/// assert_eq!(next().await, Some(1));
/// sender.send(2).unwrap();
/// sender.send(3).unwrap();
/// drop(sender);
/// assert_eq!(next().await, Some(3));
/// assert_eq!(next().await, None);
/// # });
/// ```
pub struct WatchStream<T> {
    inner: BoxStream<T>,
}

impl<T: Clone + Send + Sync + 'static> WatchStream<T> {
    /// Creates a stream that yields the current value and then every change.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::stream::WatchStream;
    /// use tress::sync::watch;
    ///
    /// let (_sender, receiver) = watch::channel(1);
    /// let stream = WatchStream::new(receiver);
    /// # drop(stream);
    /// ```
    pub fn new(receiver: watch::Receiver<T>) -> WatchStream<T> {
        WatchStream::starting(receiver, true)
    }

    /// Creates a stream that yields every change, starting with one that `receiver` has not seen, if any.
    ///
    /// # Examples
    ///
    /// ```
    /// use futures_core::Stream;
    /// use std::future::poll_fn;
    /// use std::pin::Pin;
    /// use tress::stream::WatchStream;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (sender, receiver) = tress::sync::watch::channel(1);
    /// let mut stream = WatchStream::from_changes(receiver);
    /// sender.send(2).unwrap();
    /// let next = poll_fn(|cx| Pin::new(&mut stream).poll_next(cx)).await;
    /// assert_eq!(next, Some(2));
    /// # });
    /// ```
    pub fn from_changes(receiver: watch::Receiver<T>) -> WatchStream<T> {
        WatchStream::starting(receiver, false)
    }

    fn starting(receiver: watch::Receiver<T>, at_once: bool) -> WatchStream<T> {
        let inner = unfold((receiver, at_once), |(mut receiver, at_once)| async move {
            if !at_once {
                receiver.changed().await.ok()?;
            }
            let value = receiver.borrow_and_update().clone();
            Some((value, (receiver, false)))
        });
        WatchStream {
            inner: Box::pin(inner),
        }
    }
}

impl<T: Clone + Send + Sync + 'static> From<watch::Receiver<T>> for WatchStream<T> {
    fn from(receiver: watch::Receiver<T>) -> Self {
        WatchStream::new(receiver)
    }
}

impl<T> Stream for WatchStream<T> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.get_mut().inner.as_mut().poll_next(cx)
    }
}

impl<T> fmt::Debug for WatchStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchStream").finish_non_exhaustive()
    }
}
