//! Sending and receiving as futures: one attempt, then whatever waits.
//!
//! Most messages pass at once. The future that waits is large, and to set it up costs as much as to
//! pass a message, so it is made only when the attempt has failed. The attempt itself is put in line
//! where the future is polled, for the ring, which is the usual kind; everything else is out of line.

use super::error::{RecvError, SendError};
use super::shared::{Channel, Held, Kind};
use crate::task::coop;
use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// Sends a message: at once, or by the future that `wait` makes.
    #[project = SendingProj]
    pub(super) enum Sending<'a, T, M, W> {
        First { held: Held<'a, T>, wait: M },
        Waits { #[pin] waiting: W },
    }
}

impl<'a, T, M, W> Future for Sending<'a, T, M, W>
where
    M: Fn(Held<'a, T>) -> W,
    W: Future<Output = Result<(), SendError<T>>>,
{
    type Output = Result<(), SendError<T>>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let SendingProj::First { held, .. } = self.as_mut().project() {
            let channel = held.channel();
            if let Kind::Ring(chan) = &channel.kind {
                let proceed = ready!(coop::poll_proceed(cx));
                if chan.send_quickly(held) {
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
    M: Fn(Held<'a, T>) -> W,
    W: Future<Output = Result<(), SendError<T>>>,
{
    // D-SYNC-03
    #[inline(never)]
    fn poll_slowly(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), SendError<T>>> {
        if let SendingProj::First { held, wait } = self.as_mut().project() {
            let channel = held.channel();
            if let Some(sent) = ready!(channel.poll_send(cx, held)) {
                return Poll::Ready(sent);
            }
            let waiting = wait(Held::new(channel, held.take()));
            self.set(Sending::Waits { waiting });
        }
        match self.project() {
            SendingProj::Waits { waiting } => waiting.poll(cx),
            SendingProj::First { .. } => unreachable!("waits from now on"),
        }
    }
}

pin_project! {
    /// Receives a message: at once, or by the future that `wait` makes.
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
            if let Kind::Ring(chan) = &channel.kind {
                let proceed = ready!(coop::poll_proceed(cx));
                if let Some(message) = chan.take_quickly() {
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
