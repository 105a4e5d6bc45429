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

/// The sender of an [mpsc](crate::sync::mpsc) channel, or of a [channel](crate::channel) with many
/// receivers, for use in `poll` functions and as a [`Sink`].
///
/// First a place is reserved, then a message is put there:
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
///
/// While it has to wait for a place the future for that is kept in an allocation.
///
/// # Cancel safety
/// The place in line, and a place that was reserved, are kept until they are used,
/// [given up](PollSender::abort_send) or the sender is dropped.
pub struct PollSender<T, S: Reserve<T> = Sender<T>> {
    state: State<T, S>,
}

type Reserving<P> = Pin<Box<dyn Future<Output = Option<P>> + Send>>;

enum State<T, S: Reserve<T>> {
    Idle(S),
    /// In line, with a sender to go on with if that is given up.
    Waiting(S, Reserving<S::Permit>),
    Reserved(S::Permit, PhantomData<fn(T)>),
    Closed,
}

// Nothing in it is pinned but what is boxed.
impl<T, S: Reserve<T>> Unpin for PollSender<T, S> {}

impl<T, S: Reserve<T>> PollSender<T, S> {
    /// Sends to where `sender` does.
    pub fn new(sender: S) -> PollSender<T, S> {
        PollSender {
            state: State::Idle(sender),
        }
    }

    /// Reserves a place for a message. If there is one already, ready at once.
    ///
    /// # Errors
    /// The receiver is gone or has closed the channel, or this sender was closed.
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

    /// Sends a message to the place that was reserved.
    ///
    /// # Errors
    /// This sender was closed, or nobody will receive the message, which comes back.
    ///
    /// # Panics
    /// If no place is reserved.
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

    /// Gives up the place in line or the place that was reserved. True if there was one.
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

    /// Lets go of the channel, and of a place that is reserved.
    pub fn close(&mut self) {
        self.state = State::Closed;
    }

    /// True if this sender was closed, or the channel.
    pub fn is_closed(&self) -> bool {
        match &self.state {
            State::Idle(sender) | State::Waiting(sender, _) => sender.is_closed(),
            State::Reserved(..) => false,
            State::Closed => true,
        }
    }

    /// Where it sends to; `None` once it was closed, and while a place is reserved.
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

    /// What was sent is in the channel already.
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

/// Never has to wait; closing it does nothing, as others may send.
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

/// The channel is closed. With the message, if there was one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PollSendError<T>(Option<T>);

impl<T> PollSendError<T> {
    /// The message that was not sent.
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
