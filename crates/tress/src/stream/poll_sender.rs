use super::reserve::Reserve;
use crate::sync::mpsc::error::SendError;
use crate::sync::mpsc::{Sender, UnboundedSender};
use crate::task::coop;
use futures_sink::Sink;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A sender for use in `poll` functions and as a [`Sink`].
///
/// It wraps the bounded sender of an [mpsc](crate::sync::mpsc) channel, or of a
/// [channel](crate::channel) with many receivers. Call [`poll_reserve`](PollSender::poll_reserve) until a
/// slot is reserved, then [`send_item`](PollSender::send_item).
///
/// While it waits for a slot it holds one allocation.
///
/// # Cancel safety
///
/// The place in the queue for a slot, and a slot that was reserved, are kept until they are used,
/// [given up](PollSender::abort_send), or the `PollSender` is dropped.
///
/// # Examples
///
/// ```
/// use std::future::poll_fn;
/// use tress::stream::PollSender;
/// use tress::sync::mpsc;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (sender, mut receiver) = mpsc::channel(1);
/// let mut sender = PollSender::new(sender);
/// poll_fn(|cx| sender.poll_reserve(cx)).await.unwrap();
/// sender.send_item("message").unwrap();
/// assert_eq!(receiver.recv().await, Some("message"));
/// # });
/// ```
pub struct PollSender<T, S: Reserve<T> = Sender<T>> {
    state: State<T, S>,
}

type Reserving<P> = Pin<Box<dyn Future<Output = Option<P>> + Send>>;

enum State<T, S: Reserve<T>> {
    Idle(S),
    /// Waits for a slot, and keeps a sender to continue with if that is given up.
    Waiting(S, Reserving<S::Permit>),
    Reserved(S::Permit, PhantomData<fn(T)>),
    Closed,
}

// Only the boxed future is pinned.
impl<T, S: Reserve<T>> Unpin for PollSender<T, S> {}

impl<T, S: Reserve<T>> PollSender<T, S> {
    /// Creates a `PollSender` that sends to the channel of `sender`.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::stream::PollSender;
    /// use tress::sync::mpsc;
    ///
    /// let (sender, _receiver) = mpsc::channel::<u32>(1);
    /// let sender = PollSender::new(sender);
    /// assert!(!sender.is_closed());
    /// ```
    pub fn new(sender: S) -> PollSender<T, S> {
        PollSender {
            state: State::Idle(sender),
        }
    }

    /// Polls for a slot for one message.
    ///
    /// Returns immediately if a slot is reserved already. When this returns `Poll::Pending`, the waker of the
    /// most recent call is woken when a slot is free or the channel is closed.
    ///
    /// # Errors
    ///
    /// The channel is closed, or this sender was [closed](PollSender::close).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::future::poll_fn;
    /// use tress::stream::PollSender;
    /// use tress::sync::mpsc;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (sender, receiver) = mpsc::channel::<u32>(1);
    /// let mut sender = PollSender::new(sender);
    /// assert!(poll_fn(|cx| sender.poll_reserve(cx)).await.is_ok());
    /// # sender.abort_send();
    /// drop(receiver);
    /// assert!(poll_fn(|cx| sender.poll_reserve(cx)).await.is_err());
    /// # });
    /// ```
    pub fn poll_reserve(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), PollSendError<T>>> {
        loop {
            match mem::replace(&mut self.state, State::Closed) {
                State::Idle(sender) => {
                    let Poll::Ready(proceed) = coop::poll_proceed(cx) else {
                        self.state = State::Idle(sender);
                        return Poll::Pending;
                    };
                    match sender.try_reserve() {
                        Ok(permit) => {
                            proceed.made_progress();
                            self.state = State::Reserved(permit, PhantomData);
                        }
                        Err(Some(sender)) => {
                            let reserving = Box::pin(sender.clone().reserve());
                            self.state = State::Waiting(sender, reserving);
                        }
                        Err(None) => {
                            return Poll::Ready(Err(PollSendError(None)));
                        }
                    }
                }
                State::Waiting(sender, mut reserving) => match reserving.as_mut().poll(cx) {
                    Poll::Ready(Some(permit)) => {
                        self.state = State::Reserved(permit, PhantomData);
                    }
                    Poll::Ready(None) => return Poll::Ready(Err(PollSendError(None))),
                    Poll::Pending => {
                        self.state = State::Waiting(sender, reserving);
                        return Poll::Pending;
                    }
                },
                State::Reserved(permit, _) => {
                    self.state = State::Reserved(permit, PhantomData);
                    return Poll::Ready(Ok(()));
                }
                State::Closed => return Poll::Ready(Err(PollSendError(None))),
            }
        }
    }

    /// Sends a message to the slot that was reserved.
    ///
    /// # Errors
    ///
    /// This sender was [closed](PollSender::close), or the channel has been closed in a way that the message
    /// will not be received. The error contains the message.
    ///
    /// # Panics
    ///
    /// If no slot is reserved.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::future::poll_fn;
    /// use tress::stream::PollSender;
    /// use tress::sync::mpsc;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (sender, mut receiver) = mpsc::channel(1);
    /// let mut sender = PollSender::new(sender);
    /// poll_fn(|cx| sender.poll_reserve(cx)).await.unwrap();
    /// sender.send_item(5).unwrap();
    /// assert_eq!(receiver.recv().await, Some(5));
    /// # });
    /// ```
    pub fn send_item(&mut self, message: T) -> Result<(), PollSendError<T>> {
        match mem::replace(&mut self.state, State::Closed) {
            State::Reserved(permit, _) => match S::send(permit, message) {
                Ok(sender) => {
                    self.state = State::Idle(sender);
                    Ok(())
                }
                Err(message) => Err(PollSendError(Some(message))),
            },
            State::Closed => Err(PollSendError(Some(message))),
            unreserved => {
                self.state = unreserved;
                panic!("no place is reserved; call `poll_reserve` until it is ready first");
            }
        }
    }

    /// Gives up the slot that was reserved, or the place in the queue for one.
    ///
    /// Returns whether there was one.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::future::poll_fn;
    /// use tress::stream::PollSender;
    /// use tress::sync::mpsc;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (sender, _receiver) = mpsc::channel::<u32>(1);
    /// let mut sender = PollSender::new(sender);
    /// assert!(!sender.abort_send());
    /// poll_fn(|cx| sender.poll_reserve(cx)).await.unwrap();
    /// assert!(sender.abort_send());
    /// # });
    /// ```
    pub fn abort_send(&mut self) -> bool {
        let (state, aborted) = match mem::replace(&mut self.state, State::Closed) {
            State::Waiting(sender, reserving) => {
                drop(reserving);
                (State::Idle(sender), true)
            }
            State::Reserved(permit, _) => (State::Idle(S::release(permit)), true),
            other => (other, false),
        };
        self.state = state;
        aborted
    }

    /// Drops the sender, and the slot that was reserved.
    ///
    /// Other senders of the channel are not affected.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::stream::PollSender;
    /// use tress::sync::mpsc;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (sender, mut receiver) = mpsc::channel::<u32>(1);
    /// let mut sender = PollSender::new(sender);
    /// sender.close();
    /// assert!(sender.is_closed());
    /// assert_eq!(receiver.recv().await, None);
    /// # });
    /// ```
    pub fn close(&mut self) {
        self.state = State::Closed;
    }

    /// Returns whether this sender or its channel is closed.
    ///
    /// While a slot is reserved this returns `false`: a message can still be sent to it.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::stream::PollSender;
    /// use tress::sync::mpsc;
    ///
    /// let (sender, receiver) = mpsc::channel::<u32>(1);
    /// let sender = PollSender::new(sender);
    /// assert!(!sender.is_closed());
    /// drop(receiver);
    /// assert!(sender.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        match &self.state {
            State::Idle(sender) | State::Waiting(sender, _) => sender.is_closed(),
            State::Reserved(..) => false,
            State::Closed => true,
        }
    }

    /// Returns a reference to the underlying sender, or `None` while a slot is reserved and after this sender
    /// was [closed](PollSender::close).
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::stream::PollSender;
    /// use tress::sync::mpsc;
    ///
    /// let (sender, _receiver) = mpsc::channel::<u32>(8);
    /// let sender = PollSender::new(sender);
    /// assert_eq!(sender.get_ref().unwrap().capacity(), 8);
    /// ```
    pub fn get_ref(&self) -> Option<&S> {
        match &self.state {
            State::Idle(sender) | State::Waiting(sender, _) => Some(sender),
            State::Reserved(..) | State::Closed => None,
        }
    }
}

impl<T, S: Reserve<T>> Sink<T> for PollSender<T, S> {
    type Error = PollSendError<T>;

    fn poll_ready(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.get_mut().poll_reserve(cx)
    }

    fn start_send(self: Pin<&mut Self>, message: T) -> Result<(), Self::Error> {
        self.get_mut().send_item(message)
    }

    /// Returns immediately: messages are in the channel as soon as they are sent.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.get_mut().close();
        Poll::Ready(Ok(()))
    }
}

impl<T, S: Reserve<T>> fmt::Debug for PollSender<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Idle(_) => "idle",
            State::Waiting(..) => "waiting for a place",
            State::Reserved(..) => "a place is reserved",
            State::Closed => "closed",
        };
        f.debug_tuple("PollSender").field(&state).finish()
    }
}

/// A sink that never waits for room. Closing it does nothing, as there may be other senders.
impl<T> Sink<T> for UnboundedSender<T> {
    type Error = PollSendError<T>;

    fn poll_ready(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        let proceed = ready!(coop::poll_proceed(cx));
        proceed.made_progress();
        Poll::Ready(if self.is_closed() {
            Err(PollSendError(None))
        } else {
            Ok(())
        })
    }

    fn start_send(self: Pin<&mut Self>, message: T) -> Result<(), Self::Error> {
        self.send(message)
            .map_err(|SendError(message)| PollSendError(Some(message)))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }
}

/// The error returned by [`PollSender`]: the channel is closed.
///
/// # Examples
///
/// ```
/// use std::future::poll_fn;
/// use tress::stream::PollSender;
/// use tress::sync::mpsc;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (sender, receiver) = mpsc::channel::<u32>(1);
/// let mut sender = PollSender::new(sender);
/// drop(receiver);
/// let error = poll_fn(|cx| sender.poll_reserve(cx)).await.unwrap_err();
/// assert_eq!(error.into_inner(), None);
/// # });
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PollSendError<T>(Option<T>);

impl<T> PollSendError<T> {
    /// Returns the message that was not sent, if the operation had one.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::future::poll_fn;
    /// use tress::stream::PollSender;
    /// use tress::sync::mpsc;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (sender, _receiver) = mpsc::channel(1);
    /// let mut sender = PollSender::new(sender);
    /// sender.close();
    /// let error = sender.send_item("message").unwrap_err();
    /// assert_eq!(error.into_inner(), Some("message"));
    /// # });
    /// ```
    pub fn into_inner(self) -> Option<T> {
        self.0
    }
}

impl<T> fmt::Debug for PollSendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PollSendError").finish_non_exhaustive()
    }
}

impl<T> fmt::Display for PollSendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the channel is closed; nobody will receive the message")
    }
}

impl<T> Error for PollSendError<T> {}
