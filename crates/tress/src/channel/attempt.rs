//! Sending and receiving as futures: one attempt, then a future that waits.
//!
//! Most messages pass at once. The future that waits is large, and creating it costs as much as
//! passing a message, so it is created only when the attempt has failed. The attempt itself is inlined
//! where the future is polled, for the ring, which is the usual kind; everything else is not.

use super::error::{RecvError, SendError};
use super::shared::{Channel, Kind, Outgoing};
use crate::queue::{Many, Queue, Ring};
use crate::task::coop;
use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Sends a message if nothing is in the way. Returns whether it did.
#[inline(always)]
fn send_quickly<T>(queue: &Queue<Ring<T>>, outgoing: &mut Outgoing<'_, T>) -> bool {
    // Taken before a place is claimed, which has to be filled then.
    let message = outgoing.take();
    match queue.claim_quickly() {
        Some(spot) => {
            Ring::fill(queue, spot, message);
            true
        }
        None => {
            outgoing.put_back(message);
            false
        }
    }
}

pin_project! {
    /// Sends a message: at once, or by the future that `wait` creates.
    #[project = SendingProj]
    pub(super) enum Sending<'a, T, M, W> {
        First { outgoing: Outgoing<'a, T>, wait: M },
        Waits { #[pin] waiting: W },
    }
}

impl<'a, T, M, W> Future for Sending<'a, T, M, W>
where
    M: Fn(Outgoing<'a, T>) -> W,
    W: Future<Output = Result<(), SendError<T>>>,
{
    type Output = Result<(), SendError<T>>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let SendingProj::First { outgoing, .. } = self.as_mut().project() {
            let channel = outgoing.channel();
            if let Kind::Ring(queue) = &channel.kind {
                let proceed = ready!(coop::poll_proceed(cx));
                if send_quickly(queue, outgoing) {
                    proceed.made_progress();
                    return Poll::Ready(Ok(()));
                }
            }
        }
        self.poll_slowly(cx)
    }
}

impl<'a, T, M, W> Sending<'a, T, M, W>
where
    M: Fn(Outgoing<'a, T>) -> W,
    W: Future<Output = Result<(), SendError<T>>>,
{
    // D-SYNC-03
    #[inline(never)]
    fn poll_slowly(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), SendError<T>>> {
        if let SendingProj::First { outgoing, wait } = self.as_mut().project() {
            let channel = outgoing.channel();
            if let Some(sent) = ready!(channel.poll_send(cx, outgoing)) {
                return Poll::Ready(sent);
            }
            let waiting = wait(Outgoing::new(channel, outgoing.take()));
            self.set(Sending::Waits { waiting });
        }
        match self.project() {
            SendingProj::Waits { waiting } => waiting.poll(cx),
            SendingProj::First { .. } => unreachable!("waits from now on"),
        }
    }
}

pin_project! {
    /// Receives a message: at once, or by the future that `wait` creates.
    #[project = ReceivingProj]
    pub(super) enum Receiving<'a, T, M, W> {
        First { channel: &'a Channel<T>, wait: M },
        Waits { #[pin] waiting: W },
    }
}

impl<'a, T, M, W> Future for Receiving<'a, T, M, W>
where
    M: Fn(&'a Channel<T>) -> W,
    W: Future<Output = Result<T, RecvError>>,
{
    type Output = Result<T, RecvError>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let ReceivingProj::First { channel, .. } = self.as_mut().project() {
            if let Kind::Ring(queue) = &channel.kind {
                let proceed = ready!(coop::poll_proceed(cx));
                if let Some(message) = queue.take_quickly() {
                    proceed.made_progress();
                    return Poll::Ready(Ok(message));
                }
            }
        }
        self.poll_slowly(cx)
    }
}

impl<'a, T, M, W> Receiving<'a, T, M, W>
where
    M: Fn(&'a Channel<T>) -> W,
    W: Future<Output = Result<T, RecvError>>,
{
    #[inline(never)]
    fn poll_slowly(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T, RecvError>> {
        if let ReceivingProj::First { channel, wait } = self.as_mut().project() {
            if let Some(received) = ready!(channel.poll_recv(cx)) {
                return Poll::Ready(received);
            }
            let waiting = wait(channel);
            self.set(Receiving::Waits { waiting });
        }
        match self.project() {
            ReceivingProj::Waits { waiting } => waiting.poll(cx),
            ReceivingProj::First { .. } => unreachable!("waits from now on"),
        }
    }
}
