//! The receiver's side of a channel, bounded or not: the queue's consumer, with the task's budget.

use super::error::TryRecvError;
use crate::queue::{Consumer, Queue, Single, Taken};
use crate::runtime::park_thread;
use crate::sight::{self, WaitKind};
use crate::task::coop;
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

pub(super) struct Rx<T>(Consumer<T>);

impl<T> Rx<T> {
    /// Wraps the only receiver of a channel.
    pub(super) fn new(consumer: Consumer<T>) -> Rx<T> {
        Rx(consumer)
    }

    pub(super) fn queue(&self) -> &Queue<Single<T>> {
        self.0.queue()
    }

    #[inline]
    pub(super) fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let proceed = ready!(coop::poll_proceed(cx));
        let received = ready!(self.0.poll_take(cx));
        proceed.made_progress();
        Poll::Ready(received)
    }

    pub(super) fn poll_recv_many(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut Vec<T>,
        limit: usize,
    ) -> Poll<usize> {
        if limit == 0 {
            return Poll::Ready(0);
        }
        let proceed = ready!(coop::poll_proceed(cx));
        let received = ready!(self.0.poll_take_many(cx, buffer, limit));
        proceed.made_progress();
        Poll::Ready(received)
    }

    pub(super) fn try_recv(&mut self) -> Result<T, TryRecvError> {
        loop {
            match self.0.try_take() {
                Some(Taken::Message(message)) => return Ok(message),
                Some(Taken::Empty) => return Err(TryRecvError::Empty),
                Some(Taken::Over) => return Err(TryRecvError::Disconnected),
                None => self.wait_for_claimer(),
            }
        }
    }

    /// Blocks the thread until the next slot, which has been claimed, is filled.
    #[cold]
    fn wait_for_claimer(&mut self) {
        let replaced = self.0.stop_waiting();
        park_thread::block_on(pin!(poll_fn(|cx| self.0.poll_ready(cx))), Duration::ZERO, 1);
        // The caller has not waited as a task does.
        sight::gives_up(WaitKind::ChannelReceive, sight::address(self.0.queue()));
        if let Some(waker) = replaced {
            // Its task waits for the message that the caller takes away.
            waker.wake();
        }
    }

    pub(super) fn close(&mut self) {
        self.0.close();
    }

    /// Returns whether the receiver has closed the channel, or all senders are gone.
    pub(super) fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
