//! What all handles of a channel share: the kind, the counts of both sides, the end and its cause,
//! and what is done with messages that no receiver gets.

use super::builder::Overflow;
use super::error::{Cause, RecvError, SendError, TryRecvError, TrySendError};
use super::rendezvous::{Meeting, Shut};
use crate::queue::{Count, List, Many, Queue, Refusal, Ring, Taken, UNBOUNDED};
use crate::sys::Mutex;
use crate::task::coop;
use std::task::{Context, Poll, ready};

/// A function that is called with each message that no receiver gets.
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
    Ring(Queue<Ring<T>>),
    List(Queue<List<T>>),
    Meeting(Meeting<T>),
}

/// Whether the channel is closed, and with which cause: that of the first call.
enum End {
    Open,
    Closed(Option<Cause>),
}

/// Evaluates one expression for both kinds that buffer, and another one for a rendezvous.
macro_rules! by_kind {
    ($channel:expr, $queue:ident => $buffered:expr, $meeting:ident => $met:expr $(,)?) => {
        match &$channel.kind {
            $crate::channel::shared::Kind::Ring($queue) => $buffered,
            $crate::channel::shared::Kind::List($queue) => $buffered,
            $crate::channel::shared::Kind::Meeting($meeting) => $met,
        }
    };
}
pub(super) use by_kind;

impl<T> Channel<T> {
    /// Creates a channel with one sender and one receiver. A `capacity` of `None` means unbounded.
    #[track_caller]
    pub(super) fn new(
        capacity: Option<usize>,
        overflow: Overflow,
        undelivered: Option<Undelivered<T>>,
    ) -> Channel<T> {
        let kind = match capacity {
            Some(0) => Kind::Meeting(Meeting::new()),
            Some(capacity) => match Queue::ring(capacity) {
                Some(ring) => Kind::Ring(ring),
                None => Kind::List(Queue::list(capacity.min(UNBOUNDED - 1))),
            },
            None => Kind::List(Queue::list(UNBOUNDED)),
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

    /// Disposes of a message that no receiver gets.
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
        by_kind!(self, queue => queue.is_closed(), meeting => meeting.is_closed())
    }

    /// Closes the channel; `gone` if there is no receiver any more. Returns false if it was closed before.
    pub(super) fn close(&self, cause: Option<Cause>, gone: bool) -> bool {
        let mut end = self.end.lock();
        let first = matches!(*end, End::Open);
        if first {
            *end = End::Closed(cause);
        }
        drop(end);
        by_kind!(self, queue => queue.shut(gone), meeting => meeting.shut(gone));
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
            queue => queue.is_bounded().then_some(queue.max_capacity()),
            _meeting => Some(0),
        )
    }

    pub(super) fn len(&self) -> usize {
        by_kind!(self, queue => queue.len(), meeting => meeting.len())
    }

    pub(super) fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        by_kind!(
            self,
            queue => self.try_send_buffered(queue, message),
            meeting => meeting.try_give(message).map_err(|(message, refusal)| match refusal {
                Refusal::Closed => TrySendError::Closed(self.send_error(message)),
                Refusal::Full => TrySendError::Full(message),
            }),
        )
    }

    #[inline]
    fn try_send_buffered<L: Many<Message = T>>(
        &self,
        queue: &Queue<L>,
        message: T,
    ) -> Result<(), TrySendError<T>> {
        match queue.try_claim() {
            Ok(spot) => {
                L::fill(queue, spot, message);
                Ok(())
            }
            Err(Refusal::Closed) => Err(TrySendError::Closed(self.send_error(message))),
            Err(Refusal::Full) if self.overflow == Overflow::Suspend => {
                Err(TrySendError::Full(message))
            }
            Err(Refusal::Full) => Ok(self.send_now(queue, message)?),
        }
    }

    /// Sends without waiting, in a channel whose overflow is not `Suspend`.
    pub(super) fn send_now<L: Many<Message = T>>(
        &self,
        queue: &Queue<L>,
        message: T,
    ) -> Result<(), SendError<T>> {
        // The callback gets the last one only when the message is in place: it may panic.
        let mut evicted = None;
        loop {
            match queue.try_claim() {
                Ok(spot) => {
                    L::fill(queue, spot, message);
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
                    if let Taken::Message(old) = L::take(queue) {
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
        fn taken<L: Many>(queue: &Queue<L>) -> Result<Option<L::Message>, Shut> {
            match L::take(queue) {
                Taken::Message(message) => Ok(Some(message)),
                Taken::Empty => Ok(None),
                Taken::Over => Err(Shut),
            }
        }
        match by_kind!(self, queue => taken(queue), meeting => meeting.try_take()) {
            Ok(Some(message)) => Ok(message),
            Ok(None) => Err(TryRecvError::Empty),
            Err(Shut) => Err(TryRecvError::Closed(self.recv_error())),
        }
    }

    /// Sends if that needs no waiting. Returns `None` if it does, or if the channel is a rendezvous. The message
    /// is taken from `outgoing` otherwise.
    #[inline]
    pub(super) fn poll_send(
        &self,
        cx: &mut Context<'_>,
        outgoing: &mut Outgoing<'_, T>,
    ) -> Poll<Option<Result<(), SendError<T>>>> {
        by_kind!(
            self,
            queue => self.poll_send_buffered(queue, cx, outgoing),
            _meeting => Poll::Ready(None),
        )
    }

    #[inline]
    fn poll_send_buffered<L: Many<Message = T>>(
        &self,
        queue: &Queue<L>,
        cx: &mut Context<'_>,
        outgoing: &mut Outgoing<'_, T>,
    ) -> Poll<Option<Result<(), SendError<T>>>> {
        let proceed = ready!(coop::poll_proceed(cx));
        let sent = match queue.try_claim() {
            Ok(spot) => {
                L::fill(queue, spot, outgoing.take());
                Ok(())
            }
            Err(Refusal::Closed) => Err(self.send_error(outgoing.take())),
            Err(Refusal::Full) => return Poll::Ready(None),
        };
        proceed.made_progress();
        Poll::Ready(Some(sent))
    }

    /// Receives if that needs no waiting. Returns `None` as `poll_send` does.
    #[inline]
    pub(super) fn poll_recv(&self, cx: &mut Context<'_>) -> Poll<Option<Result<T, RecvError>>> {
        by_kind!(
            self,
            queue => self.poll_recv_buffered(queue, cx),
            _meeting => Poll::Ready(None),
        )
    }

    #[inline]
    fn poll_recv_buffered<L: Many<Message = T>>(
        &self,
        queue: &Queue<L>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<T, RecvError>>> {
        let proceed = ready!(coop::poll_proceed(cx));
        let received = match L::take(queue) {
            Taken::Message(message) => Ok(message),
            Taken::Over => Err(self.recv_error()),
            Taken::Empty => return Poll::Ready(None),
        };
        proceed.made_progress();
        Poll::Ready(Some(received))
    }

    /// Sends into a reserved place, which uses the reservation up.
    pub(super) fn send_reserved(&self, message: T) -> Result<(), SendError<T>> {
        fn sent<L: Many>(queue: &Queue<L>, message: L::Message) -> Result<(), L::Message> {
            match queue.claim_reserved() {
                Some(spot) => {
                    L::fill(queue, spot, message);
                    Ok(())
                }
                None => Err(message),
            }
        }
        if self.overflow != Overflow::Suspend {
            return by_kind!(
                self,
                queue => self.send_now(queue, message),
                _meeting => unreachable!("a rendezvous has no place that could overflow"),
            );
        }
        by_kind!(
            self,
            queue => sent(queue, message),
            meeting => meeting.give_promised(message),
        )
        .map_err(|message| self.send_error(message))
    }

    /// Gives a reservation back.
    pub(super) fn release(&self) {
        if self.overflow == Overflow::Suspend {
            by_kind!(self, queue => queue.release(1), meeting => meeting.release());
        }
    }

    /// Reserves a place if one is free. Returns `None` if none is.
    pub(super) fn try_reserve(&self) -> Option<Result<(), SendError<()>>> {
        let reserved = if self.overflow == Overflow::Suspend {
            by_kind!(
                self,
                queue => queue.try_reserve(1),
                meeting => meeting.try_promise(),
            )
        } else if self.is_closed() {
            Err(Refusal::Closed)
        } else {
            Ok(())
        };
        match reserved {
            Ok(()) => Some(Ok(())),
            Err(Refusal::Closed) => Some(Err(self.send_error(()))),
            Err(Refusal::Full) => None,
        }
    }

    /// Removes a receiver. The last one closes the channel, and no receiver gets what is left in it.
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

/// Empties the channel when it is dropped, even if wakers or the callback panic.
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

/// A message on its way. Dropped with it, it counts as one that no receiver gets.
pub(super) struct Outgoing<'a, T> {
    channel: &'a Channel<T>,
    message: Option<T>,
}

impl<'a, T> Outgoing<'a, T> {
    #[inline(always)]
    pub(super) fn new(channel: &'a Channel<T>, message: T) -> Outgoing<'a, T> {
        Outgoing {
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

impl<T> Drop for Outgoing<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(message) = self.message.take() {
            self.channel.undelivered(message);
        }
    }
}
