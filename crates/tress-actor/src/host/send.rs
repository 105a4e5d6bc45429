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
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

impl Host {
    /// Sends a value to a process's inbox, without waiting.
    ///
    /// Messages from one process, or one task, to another arrive in the order in which they were
    /// sent.
    ///
    /// # Errors
    /// If there is no such process, or its mailbox is full and keeps what it has.
    #[inline]
    pub fn send<T: Send + 'static>(&self, to: Pid, value: T) -> Result<(), SendError> {
        self.offer_now(to, Parcel::of(value))
    }

    /// Sends a message, without waiting.
    ///
    /// # Errors
    /// As [`send`](Host::send), and if the topic is the system's.
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

    /// Sends a message, and waits for room if the mailbox's [overflow](crate::Overflow) says so.
    ///
    /// The message is sent by the poll that makes the future ready. Its place in the line is taken when
    /// it is first polled. When its turn comes, a place in the mailbox is kept for it until it is polled
    /// again or dropped; one that is neither keeps others waiting.
    ///
    /// # Errors
    /// As [`send_message`](Host::send_message).
    ///
    /// # Cancel safety
    /// If the future is dropped before it is ready, the message is not sent, and what was kept for it
    /// goes to the next in line.
    ///
    /// ```
    /// # use tress_actor::{Capacity, Cx, Done, Host, Message, Overflow};
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

    /// Sends a message now, or puts it in line; what is left to wait for then. Unlike one that is sent
    /// by [`send_waiting`](Host::send_waiting) it is put in when there is room, whether somebody asks
    /// or not, so that none that is sent later overtakes it.
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

/// The sender gets its message back.
#[cold]
fn back(why: SendFailure, message: Parcel) -> SendError {
    SendError::new(why, message.into_message())
}

/// How a sender learns that it is its turn, and its message, if that is not in line itself.
type Waits = (Arc<Ticket>, Option<Parcel>);

/// The future of [`Host::send_waiting`].
#[derive(Debug)]
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

/// A sender, or a message, that waits for room. It leaves the line if this is dropped.
#[derive(Debug)]
pub(crate) struct InLine<H: Borrow<Host>> {
    host: H,
    to: Pid,
    /// Until its fate is known.
    ticket: Option<Arc<Ticket>>,
}

impl<H: Borrow<Host>> InLine<H> {
    fn poll_turn(&mut self, cx: &mut Context<'_>) -> Poll<Outcome> {
        let ticket = self
            .ticket
            .as_ref()
            .expect("a future that is ready is not polled again");
        let outcome = std::task::ready!(ticket.poll(cx.waker()));
        self.ticket = None;
        Poll::Ready(outcome)
    }
}

/// Of a message that is in line itself.
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
            slot.leave_line(self.to.id().generation(), ticket);
        }
    }
}
