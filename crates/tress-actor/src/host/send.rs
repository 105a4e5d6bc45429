//! Sending messages.

use super::Host;
use crate::error::{SendError, SendFailure};
use crate::event::Message;
use crate::payload::Payload;
use crate::pid::Pid;
use crate::relay::{Package, Relay};
use crate::slot::{IfFull, Outcome, Parcel, Refused, Sent, Ticket};
use crate::sys::Arc;
use crate::topic::Topic;
use std::borrow::Borrow;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use tress::trace::{WaitKind, note};

impl Host {
    /// Sends a value to the inbox of a process, without waiting.
    ///
    /// Messages from one process or task to another arrive in the order in which they were sent. The process
    /// may be another host's, if the [router](crate::Builder::router) knows a route.
    ///
    /// # Errors
    /// The [`SendError`] returns the message. Its [reason](SendError::why) is
    /// - [`SendFailure::NoProcess`] if the process has ended,
    /// - [`SendFailure::Full`] if its mailbox is full and does not drop the oldest message,
    /// - [`SendFailure::NoRoute`] if it is another host's and no route is known.
    ///
    /// # Examples
    /// ```
    /// use tress_actor::{Cx, Done, Host};
    ///
    /// # #[tress::main]
    /// # async fn main() {
    /// let host = Host::builder("main").start().unwrap();
    /// let (pid, exit) = host.future(|mut cx: Cx<u8>| async move { Done(cx.recv().await) }).exec().unwrap();
    /// host.send(pid, 7_u8).unwrap();
    /// assert_eq!(exit.await.into_result().unwrap().downcast::<Option<u8>>().unwrap(), Some(7));
    /// # }
    /// ```
    #[inline]
    pub fn send<T: Send + 'static>(&self, to: Pid, value: T) -> Result<(), SendError> {
        self.offer_now(to, Parcel::of(value))
    }

    /// Sends a message with a topic or a sender of its own, without waiting.
    ///
    /// # Errors
    /// As for [`send`](Host::send), and [`SendFailure::Reserved`] if the topic is reserved for the system.
    #[inline]
    pub fn send_message(&self, to: Pid, message: Message) -> Result<(), SendError> {
        self.offer_now(to, Parcel::new(message))
    }

    #[inline]
    fn offer_now(&self, to: Pid, message: Parcel) -> Result<(), SendError> {
        self.offer(to, message, IfFull::Refuse).map(|waits| {
            debug_assert!(waits.is_none(), "it may not wait");
        })
    }

    /// Sends a message, and waits for room if the mailbox's [`Overflow`](crate::Overflow) is `Wait`.
    ///
    /// The message is sent by the poll that makes the future ready. The future takes its place in line when it
    /// is first polled. When its turn comes, room in the mailbox is reserved until it is polled again or
    /// dropped; a future that is neither keeps others waiting.
    ///
    /// For a process of another host it does not wait: it behaves like [`send_message`](Host::send_message).
    ///
    /// # Errors
    /// As for [`send_message`](Host::send_message); [`SendFailure::Full`] only if the overflow is not `Wait`,
    /// or the process is another host's.
    ///
    /// # Cancel safety
    /// If the future is dropped before it is ready, the message is not sent, and room that was reserved for it
    /// goes to the next in line.
    ///
    /// # Panics
    /// Polling the future after it has completed panics.
    ///
    /// # Examples
    /// ```
    /// use tress_actor::{Capacity, Cx, Done, Host, Message, Overflow};
    ///
    /// # #[tress::main]
    /// # async fn main() {
    /// let host = Host::builder("main").mailbox(Capacity::new(1, Overflow::Wait)).start().unwrap();
    /// let sum = |mut cx: Cx<u64>| async move {
    ///     let mut sum = 0;
    ///     while let Some(n) = cx.recv().await {
    ///         sum += n;
    ///         if n == 0 { break }
    ///     }
    ///     Done(sum)
    /// };
    /// let (pid, exit) = host.future(sum).exec().unwrap();
    /// for n in [1_u64, 2, 3, 0] {
    ///     host.send_waiting(pid, Message::new(n)).await.unwrap();
    /// }
    /// assert_eq!(exit.await.into_result().unwrap().downcast::<u64>().unwrap(), 6);
    /// # }
    /// ```
    #[inline]
    pub fn send_waiting(&self, to: Pid, message: Message) -> Sending<'_> {
        self.send_parcel(to, Parcel::new(message))
    }

    #[inline]
    pub(crate) fn send_parcel(&self, to: Pid, message: Parcel) -> Sending<'_> {
        Sending {
            unsent: Some(message),
            line: InLine {
                host: self,
                to,
                ticket: None,
            },
        }
    }

    /// Sends a message now, or puts it in line and returns what is left to wait for. Unlike a message of
    /// [`send_waiting`](Host::send_waiting) it is put in as soon as there is room, whether or not the future is
    /// polled, so that no later message overtakes it.
    pub(crate) fn send_or_queue(
        &self,
        to: Pid,
        message: Message,
    ) -> Result<Option<InLine<Host>>, SendError> {
        let waits = self.offer(to, Parcel::new(message), IfFull::Queue)?;
        Ok(waits.map(|(ticket, _)| InLine {
            host: self.clone(),
            to,
            ticket: Some(ticket),
        }))
    }

    #[inline]
    fn offer(&self, to: Pid, message: Parcel, if_full: IfFull) -> Result<Option<Waits>, SendError> {
        let topic = message.topic();
        if topic != Topic::INBOX && !topic.is_open() {
            return Err(back(SendFailure::Reserved(topic), message));
        }
        let refused = match self.slot(to) {
            Ok(slot) => match slot.send(to.id().generation(), message, if_full) {
                Ok(Sent::In) => return Ok(None),
                Ok(Sent::InFor(oldest)) => {
                    self.undelivered(to, oldest);
                    return Ok(None);
                }
                Ok(Sent::Waits(ticket, message)) => return Ok(Some((ticket, message))),
                Err(refused) => refused,
            },
            Err(_) => return self.relay(to, message.into_message()),
        };
        Err(match refused {
            Refused::Gone(message) => back(SendFailure::NoProcess(to), message),
            Refused::Full(message) => back(SendFailure::Full(to), message),
        })
    }

    /// Sends a message to a process that is not here: it has ended, or is another host's.
    #[cold]
    fn relay(&self, to: Pid, message: Message) -> Result<Option<Waits>, SendError> {
        if self.is_ours(to) {
            return Err(SendError::new(SendFailure::NoProcess(to), message));
        }
        let Some(router) = &self.inner.router else {
            return Err(SendError::new(SendFailure::NoRoute(to), message));
        };
        let (source, topic) = (message.source, message.topic);
        let relayed = router.relay(Package {
            source,
            target: to,
            messages: vec![(topic, message.payload)],
        });
        relayed.map(|()| None).map_err(|undelivered| {
            let mut messages = undelivered.package.messages;
            let payload = messages
                .pop()
                .map_or_else(Payload::empty, |(_, payload)| payload);
            let message = Message {
                source,
                topic,
                payload,
            };
            SendError::new(undelivered.why, message)
        })
    }
}

/// Returns a message to its sender.
#[cold]
fn back(why: SendFailure, message: Parcel) -> SendError {
    SendError::new(why, message.into_message())
}

/// How a sender learns that it is its turn; and its message, if that is not in line itself.
type Waits = (Arc<Ticket>, Option<Parcel>);

/// Future returned by [`Host::send_waiting`] and [`ActorRef::send`](crate::ActorRef::send).
#[must_use = "futures do nothing unless awaited"]
pub struct Sending<'a> {
    unsent: Option<Parcel>,
    line: InLine<&'a Host>,
}

impl Future for Sending<'_> {
    type Output = Result<(), SendError>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if this.line.ticket.is_none() {
            let message = this.unsent.take();
            let message = message.expect("a future that is ready is not polled again");
            match this.line.host.offer(this.line.to, message, IfFull::Wait) {
                Ok(None) => return Poll::Ready(Ok(())),
                Ok(Some((ticket, message))) => {
                    this.line.ticket = Some(ticket);
                    this.unsent = message;
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        let turn = std::task::ready!(this.line.poll_turn(cx));
        let message = this.unsent.take().expect("it waits for its sender");
        let to = this.line.to;
        let sent = match turn {
            Outcome::Place => {
                let slot = this.line.host.taken_slot(to);
                slot.redeem(to.id().generation(), message)
            }
            Outcome::In | Outcome::Gone(_) => Err(message),
        };
        Poll::Ready(sent.map_err(|message| back(SendFailure::NoProcess(to), message)))
    }
}

impl fmt::Debug for Sending<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sending")
            .field("to", &self.line.to)
            .finish_non_exhaustive()
    }
}

/// A sender, or a message, that waits for room. It leaves the line when this is dropped.
#[derive(Debug)]
pub(crate) struct InLine<H: Borrow<Host>> {
    host: H,
    to: Pid,
    /// `None` once its outcome is known.
    ticket: Option<Arc<Ticket>>,
}

impl<H: Borrow<Host>> InLine<H> {
    fn poll_turn(&mut self, cx: &mut Context<'_>) -> Poll<Outcome> {
        let ticket = self
            .ticket
            .as_ref()
            .expect("a future that is ready is not polled again");
        let polled = ticket.poll(cx.waker());
        let slot = self.host.borrow().taken_slot(self.to);
        match polled.is_pending() {
            true => note::waits(false, WaitKind::ChannelSend, slot),
            false => {
                note::served(slot);
                self.ticket = None;
            }
        }
        polled
    }
}

/// For a message that is in line itself.
impl<H: Borrow<Host> + Unpin> Future for InLine<H> {
    type Output = Result<(), SendError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let outcome = std::task::ready!(self.poll_turn(cx));
        Poll::Ready(match outcome {
            Outcome::Gone(Some(message)) => Err(back(SendFailure::NoProcess(self.to), message)),
            _ => Ok(()),
        })
    }
}

impl<H: Borrow<Host>> Drop for InLine<H> {
    fn drop(&mut self) {
        if let Some(ticket) = &self.ticket {
            let slot = self.host.borrow().taken_slot(self.to);
            note::gives_up(WaitKind::ChannelSend, slot);
            slot.leave_line(self.to.id().generation(), ticket);
        }
    }
}
