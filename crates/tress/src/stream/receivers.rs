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

/// Never ends.
impl Stream for Interval {
    type Item = Instant;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Instant>> {
        self.get_mut().poll_tick(cx).map(Some)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::MAX, None)
    }
}

/// Ends when the set is empty; goes on if tasks are added.
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

/// The messages of a [channel](crate::channel) as a stream, shared with its other receivers.
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
///
/// It is one allocation, made at the beginning. While it waits it is in line: a stream that was woken
/// and is not asked again holds up the receivers behind it.
pub struct ChannelStream<T> {
    inner: BoxStream<T>,
}

impl<T: Send + 'static> ChannelStream<T> {
    /// What `receiver` gets of the messages.
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

/// The messages of a [broadcast](crate::sync::broadcast) channel as a stream.
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
///
/// It is one allocation, made at the beginning.
pub struct BroadcastStream<T> {
    inner: BoxStream<Result<T, Lagged>>,
}

impl<T: Clone + Send + 'static> BroadcastStream<T> {
    /// All that `receiver` has not received.
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

/// The receiver was too slow: so many messages were overwritten before it saw them. The stream goes on
/// with the oldest that is left.
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

/// The values of a [watch](crate::sync::watch) channel as a stream. Values that are replaced before
/// somebody asks are not in it.
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
///
/// It is one allocation, made at the beginning.
pub struct WatchStream<T> {
    inner: BoxStream<T>,
}

impl<T: Clone + Send + Sync + 'static> WatchStream<T> {
    /// The current value, and then every change.
    pub fn new(receiver: watch::Receiver<T>) -> WatchStream<T> {
        WatchStream::starting(receiver, true)
    }

    /// Every change, beginning with one that `receiver` has not seen, if there is one.
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
