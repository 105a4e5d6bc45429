//! What all handles of a channel share: the kind, the counts of both sides, the end and its cause,
//! and what becomes of messages that nobody receives.

use super::arrivals::{Many, Taken};
use super::builder::Overflow;
use super::chan::{Chan, Count, Refusal, UNBOUNDED};
use super::error::{Cause, RecvError, SendError, TryRecvError, TrySendError};
use super::list::List;
use super::meeting::{Meeting, Shut};
use super::ring::Ring;
use super::tail::distance;
use crate::sys::Mutex;
use crate::sys::atomic::Ordering;
use crate::task::coop;
use std::task::{Context, Poll, ready};

/// Is called with each message that nobody receives.
pub(super) type Undelivered<T> = Box<dyn Fn(T) + Send + Sync>;

pub(super) struct Channel<T> {
    pub(super) kind: Kind<T>,
    pub(super) overflow: Overflow,
    undelivered: Option<Undelivered<T>>,
    pub(super) senders: Count,
    pub(super) receivers: Count,
    end: Mutex<End>,
}

pub(super) enum Kind<T> {
    Ring(Chan<Ring<T>>),
    List(Chan<List<T>>),
    Meeting(Meeting<T>),
}

/// Decided by whoever closes first.
enum End {
    Open,
    Closed(Option<Cause>),
}

/// Does the same for both buffering kinds, and something else for a rendezvous.
macro_rules! by_kind {
    ($channel:expr, $chan:ident => $buffered:expr, $meeting:ident => $met:expr $(,)?) => {
        match &$channel.kind {
            $crate::channel::shared::Kind::Ring($chan) => $buffered,
            $crate::channel::shared::Kind::List($chan) => $buffered,
            $crate::channel::shared::Kind::Meeting($meeting) => $met,
        }
    };
}
pub(super) use by_kind;

impl<T> Channel<T> {
    /// With one sender and one receiver. `capacity` of `None` is unbounded.
    pub(super) fn new(
        capacity: Option<usize>,
        overflow: Overflow,
        undelivered: Option<Undelivered<T>>,
    ) -> Channel<T> {
        let kind = match capacity {
            Some(0) => Kind::Meeting(Meeting::new()),
            Some(capacity) => match Chan::ring(capacity) {
                Some(ring) => Kind::Ring(ring),
                None => Kind::List(Chan::list(capacity.min(UNBOUNDED - 1))),
            },
            None => Kind::List(Chan::list(UNBOUNDED)),
        };
        Channel {
            kind,
            overflow,
            undelivered,
            senders: Count::new(1),
            receivers: Count::new(1),
            end: Mutex::new(End::Open),
        }
    }

    /// Nobody will receive the message.
    pub(super) fn undelivered(&self, message: T) {
        if let Some(undelivered) = &self.undelivered {
            undelivered(message);
        }
    }

    fn undelivered_last(&self, message: Option<T>) {
        if let Some(message) = message {
            self.undelivered(message);
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        by_kind!(self, chan => chan.is_closed(), meeting => meeting.is_closed())
    }

    /// Closes the channel. False if it was closed before.
    pub(super) fn close(&self, cause: Option<Cause>, gone: bool) -> bool {
        let mut end = self.end.lock();
        let first = matches!(*end, End::Open);
        if first {
            *end = End::Closed(cause);
        }
        drop(end);
        by_kind!(self, chan => chan.shut(gone), meeting => meeting.shut(gone));
        first
    }

    fn cause(&self) -> Option<Cause> {
        match &*self.end.lock() {
            End::Open => None,
            End::Closed(cause) => cause.clone(),
        }
    }

    #[cold]
    pub(super) fn send_error<M>(&self, message: M) -> SendError<M> {
        SendError {
            message,
            cause: self.cause(),
        }
    }

    #[cold]
    pub(super) fn recv_error(&self) -> RecvError {
        RecvError {
            cause: self.cause(),
        }
    }

    pub(super) fn capacity(&self) -> Option<usize> {
        by_kind!(
            self,
            chan => chan.is_bounded().then_some(chan.max_capacity()),
            _meeting => Some(0),
        )
    }

    pub(super) fn len(&self) -> usize {
        fn messages<L: Many>(chan: &Chan<L>) -> usize {
            // The head first: the tail is not before it then.
            let head = chan.head.position.load(Ordering::Acquire);
            let messages = distance(chan.tail().position(), head) as usize;
            messages.min(chan.max_capacity())
        }
        by_kind!(self, chan => messages(chan), meeting => meeting.len())
    }

    pub(super) fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        by_kind!(
            self,
            chan => self.try_send_buffered(chan, message),
            meeting => meeting.try_give(message).map_err(|(message, closed)| {
                if closed {
                    TrySendError::Closed(self.send_error(message))
                } else {
                    TrySendError::Full(message)
                }
            }),
        )
    }

    #[inline]
    fn try_send_buffered<L: Many<Message = T>>(
        &self,
        chan: &Chan<L>,
        message: T,
    ) -> Result<(), TrySendError<T>> {
        match chan.try_claim() {
            Ok(spot) => {
                L::fill(chan, spot, message);
                Ok(())
            }
            Err(Refusal::Closed) => Err(TrySendError::Closed(self.send_error(message))),
            Err(Refusal::Full) if self.overflow == Overflow::Suspend => {
                Err(TrySendError::Full(message))
            }
            Err(Refusal::Full) => Ok(self.send_now(chan, message)?),
        }
    }

    /// Sends without waiting, by the rule for a full channel that is not `Suspend`.
    pub(super) fn send_now<L: Many<Message = T>>(
        &self,
        chan: &Chan<L>,
        message: T,
    ) -> Result<(), SendError<T>> {
        // The last one is told of when ours is in place, whatever the callback does.
        let mut evicted = None;
        loop {
            match chan.try_claim() {
                Ok(spot) => {
                    L::fill(chan, spot, message);
                    break;
                }
                Err(Refusal::Closed) => {
                    self.undelivered_last(evicted);
                    return Err(self.send_error(message));
                }
                Err(Refusal::Full) if self.overflow == Overflow::DropLatest => {
                    self.undelivered(message);
                    break;
                }
                Err(Refusal::Full) => {
                    if let Taken::Message(old) = L::take(chan) {
                        if let Some(older) = evicted.replace(old) {
                            self.undelivered(older);
                        }
                    }
                }
            }
        }
        self.undelivered_last(evicted);
        Ok(())
    }

    #[inline]
    pub(super) fn try_recv(&self) -> Result<T, TryRecvError> {
        fn taken<L: Many>(chan: &Chan<L>) -> Result<Option<L::Message>, Shut> {
            match L::take(chan) {
                Taken::Message(message) => Ok(Some(message)),
                Taken::Empty => Ok(None),
                Taken::Over => Err(Shut),
            }
        }
        match by_kind!(self, chan => taken(chan), meeting => meeting.try_take()) {
            Ok(Some(message)) => Ok(message),
            Ok(None) => Err(TryRecvError::Empty),
            Err(Shut) => Err(TryRecvError::Closed(self.recv_error())),
        }
    }

    /// Sends if that needs no waiting; `None` if it does, or if it takes two to meet. The message is
    /// taken from `held` if there is an answer.
    #[inline]
    pub(super) fn poll_send(
        &self,
        cx: &mut Context<'_>,
        held: &mut Held<'_, T>,
    ) -> Poll<Option<Result<(), SendError<T>>>> {
        by_kind!(
            self,
            chan => self.poll_send_buffered(chan, cx, held),
            _meeting => Poll::Ready(None),
        )
    }

    #[inline]
    fn poll_send_buffered<L: Many<Message = T>>(
        &self,
        chan: &Chan<L>,
        cx: &mut Context<'_>,
        held: &mut Held<'_, T>,
    ) -> Poll<Option<Result<(), SendError<T>>>> {
        let proceed = ready!(coop::poll_proceed(cx));
        let sent = match chan.try_claim() {
            Ok(spot) => {
                L::fill(chan, spot, held.take());
                Ok(())
            }
            Err(Refusal::Closed) => Err(self.send_error(held.take())),
            Err(Refusal::Full) => return Poll::Ready(None),
        };
        proceed.made_progress();
        Poll::Ready(Some(sent))
    }

    /// Receives if that needs no waiting; `None` as for `poll_send`.
    #[inline]
    pub(super) fn poll_recv(&self, cx: &mut Context<'_>) -> Poll<Option<Result<T, RecvError>>> {
        by_kind!(
            self,
            chan => self.poll_recv_buffered(chan, cx),
            _meeting => Poll::Ready(None),
        )
    }

    #[inline]
    fn poll_recv_buffered<L: Many<Message = T>>(
        &self,
        chan: &Chan<L>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<T, RecvError>>> {
        let proceed = ready!(coop::poll_proceed(cx));
        let received = match L::take(chan) {
            Taken::Message(message) => Ok(message),
            Taken::Over => Err(self.recv_error()),
            Taken::Empty => return Poll::Ready(None),
        };
        proceed.made_progress();
        Poll::Ready(Some(received))
    }

    /// Uses a reservation up.
    pub(super) fn send_reserved(&self, message: T) -> Result<(), SendError<T>> {
        fn sent<L: Many>(chan: &Chan<L>, message: L::Message) -> Result<(), L::Message> {
            match chan.claim_reserved() {
                Some(spot) => {
                    L::fill(chan, spot, message);
                    Ok(())
                }
                None => Err(message),
            }
        }
        if self.overflow != Overflow::Suspend {
            return by_kind!(
                self,
                chan => self.send_now(chan, message),
                _meeting => unreachable!("a rendezvous has no place that could overflow"),
            );
        }
        by_kind!(
            self,
            chan => sent(chan, message),
            meeting => meeting.give_promised(message),
        )
        .map_err(|message| self.send_error(message))
    }

    /// Gives a reservation back.
    pub(super) fn release(&self) {
        if self.overflow == Overflow::Suspend {
            by_kind!(self, chan => chan.release(1), meeting => meeting.release());
        }
    }

    /// Reserves a place at once. `None` if there is none.
    pub(super) fn try_reserve(&self) -> Option<Result<(), SendError<()>>> {
        let refused = if self.overflow == Overflow::Suspend {
            by_kind!(
                self,
                chan => chan.try_reserve(1).map_err(|refusal| refusal == Refusal::Closed),
                meeting => meeting.try_promise(),
            )
        } else if self.is_closed() {
            Err(true)
        } else {
            Ok(())
        };
        match refused {
            Ok(()) => Some(Ok(())),
            Err(true) => Some(Err(self.send_error(()))),
            Err(false) => None,
        }
    }

    /// The last receiver closes the channel, and what is left in it is not delivered.
    pub(super) fn remove_receiver(&self) {
        if self.receivers.remove() {
            let rest = Rest(self);
            self.close(None, true);
            drop(rest);
        }
    }

    pub(super) fn remove_sender(&self) {
        if self.senders.remove() {
            self.close(None, false);
        }
    }
}

/// Empties the channel when dropped, even if wakers or the callback panic.
struct Rest<'a, T>(&'a Channel<T>);

impl<T> Drop for Rest<'_, T> {
    fn drop(&mut self) {
        struct Again<'a, T>(&'a Channel<T>);
        impl<T> Drop for Again<'_, T> {
            fn drop(&mut self) {
                // A second panic while the first one unwinds would abort; that is the standard
                // library's rule for collections as well.
                while let Ok(message) = self.0.try_recv() {
                    self.0.undelivered(message);
                }
            }
        }
        let again = Again(self.0);
        while let Ok(message) = self.0.try_recv() {
            self.0.undelivered(message);
        }
        drop(again);
    }
}

/// A message on its way; not delivered if it is dropped.
pub(super) struct Held<'a, T> {
    channel: &'a Channel<T>,
    message: Option<T>,
}

impl<'a, T> Held<'a, T> {
    #[inline(always)]
    pub(super) fn new(channel: &'a Channel<T>, message: T) -> Held<'a, T> {
        Held {
            channel,
            message: Some(message),
        }
    }

    #[inline(always)]
    pub(super) fn channel(&self) -> &'a Channel<T> {
        self.channel
    }

    #[inline(always)]
    pub(super) fn take(&mut self) -> T {
        self.message.take().expect("taken once")
    }

    #[inline(always)]
    pub(super) fn put_back(&mut self, message: T) {
        self.message = Some(message);
    }
}

impl<T> Drop for Held<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(message) = self.message.take() {
            self.channel.undelivered(message);
        }
    }
}
