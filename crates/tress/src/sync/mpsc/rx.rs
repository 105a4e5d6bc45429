//! The receiver's side of a channel, bounded or not.

use super::chan::Chan;
use super::error::TryRecvError;
use crate::channel::block::{Block, Found, Slot};
use crate::channel::tail::{after, distance};
use crate::runtime::park_thread;
use crate::sys::{Arc, thread};
use crate::task::coop;
use std::future::poll_fn;
use std::mem;
use std::pin::pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

pub(super) struct Rx<T> {
    chan: Arc<Chan<T>>,
    /// The block that `position` lies in.
    block: NonNull<Block<T>>,
    /// The next message to be received.
    position: u64,
    closed: bool,
}

// SAFETY: the receiver owns the messages in the blocks from `block` on, which move between threads;
// through a shared reference only atomics can be reached.
unsafe impl<T: Send> Send for Rx<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Rx<T> {}

impl<T> Rx<T> {
    /// # Safety
    /// `block` is the first block of a channel that has no receiver yet.
    pub(super) unsafe fn new(chan: Arc<Chan<T>>, block: NonNull<Block<T>>) -> Rx<T> {
        Rx {
            chan,
            block,
            position: 0,
            closed: false,
        }
    }

    pub(super) fn chan(&self) -> &Chan<T> {
        &self.chan
    }

    #[inline(always)]
    fn slot(&self) -> Slot<'_, T> {
        // SAFETY: the receiver's block is hung in and was not recycled.
        unsafe { self.block.as_ref() }.slot(self.position)
    }

    /// Takes the message of the current slot and moves on, without telling the senders.
    ///
    /// # Safety
    /// The slot was seen to be ready.
    #[inline(always)]
    unsafe fn advance(&mut self) -> T {
        // SAFETY: ready; moving on makes sure that it is taken only once.
        let message = unsafe { self.slot().take() };
        let last = Block::<T>::is_last(self.position);
        self.position = after(self.position);
        if last {
            self.next_block();
        }
        message
    }

    #[cold]
    fn next_block(&mut self) {
        let drained = self.block;
        // SAFETY: all slots of the block were ready and have been taken: it is ours. Its last
        // sender hung the next one in before it filled its slot.
        unsafe {
            self.block =
                NonNull::new(drained.as_ref().next()).expect("hung in before it was filled");
            self.chan.recycle(drained);
        }
    }

    /// The current slot is empty and not waited for. A receiver that has caught up keeps no run.
    #[inline(always)]
    fn settle(&mut self) {
        // SAFETY: hung in and not recycled.
        if unsafe { self.block.as_ref() }.is_in_run() {
            self.leave_run();
        }
    }

    #[cold]
    #[inline(never)]
    fn leave_run(&mut self) {
        if let Some(next) = self.chan.leave_run(self.position) {
            self.position = after(self.position);
            let left = mem::replace(&mut self.block, next);
            // SAFETY: what was sent into it has been taken, and nobody comes to it any more.
            unsafe { Block::free(left) };
        }
    }

    /// Closed, and nothing can come any more?
    fn is_idle(&self) -> bool {
        let tail = self.chan.tail();
        tail.is_closed() && tail.position() == self.position && tail.reserved() == 0
    }

    /// Is the current slot ready, or the end?
    #[inline]
    fn poll_slot(&mut self, cx: &mut Context<'_>) -> Poll<Found> {
        loop {
            match self.slot().look() {
                Found::Ready => return Poll::Ready(Found::Ready),
                Found::End => return Poll::Ready(Found::End),
                Found::Empty => self.settle(),
                Found::Waited => {
                    // SAFETY: a waker is lent when the receiver waits.
                    if unsafe { self.chan.waker().is_for(cx.waker()) } {
                        return Poll::Pending;
                    }
                    match self.stop_waiting() {
                        Some(old) => drop(old),
                        None => continue,
                    }
                }
            }
            if self.closed && self.is_idle() {
                return Poll::Ready(Found::End);
            }
            if self.start_waiting(cx.waker()) {
                return Poll::Pending;
            }
        }
    }

    /// Makes sure that the waker is woken when the current slot, which is not waited for, is filled.
    /// False if it has been filled.
    fn start_waiting(&mut self, waker: &Waker) -> bool {
        let cell = self.chan.waker();
        if cell.is_lent() {
            // The sender of an earlier slot is about to take the last waker and to wake it. If it
            // is ours, that will bring us back.
            // SAFETY: a waker is lent.
            if unsafe { cell.is_for(waker) } {
                return true;
            }
            // There is nowhere to put ours yet; the sender needs two instructions and a core.
            thread::yield_now();
            if cell.is_lent() {
                waker.wake_by_ref();
                return true;
            }
        }
        // SAFETY: nothing is lent; if the slot has been filled meanwhile, its sender did not see
        // that we wait and has not touched the waker, which is ours again.
        unsafe {
            cell.lend(waker.clone());
            if self.slot().wait() {
                return true;
            }
            drop(cell.take());
        }
        false
    }

    /// Takes the waker back from the current slot. `None` if there is none, or its sender has it.
    fn stop_waiting(&mut self) -> Option<Waker> {
        if self.slot().look() == Found::Waited && self.slot().unwait() {
            // SAFETY: lent when we said that we wait, and we have taken that back.
            return Some(unsafe { self.chan.waker().take() });
        }
        None
    }

    #[inline]
    pub(super) fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let proceed = ready!(coop::poll_proceed(cx));
        let found = ready!(self.poll_slot(cx));
        proceed.made_progress();
        if found == Found::End {
            return Poll::Ready(None);
        }
        // SAFETY: seen to be ready.
        let message = unsafe { self.advance() };
        self.chan.set_head(self.position);
        Poll::Ready(Some(message))
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
        let mut found = ready!(self.poll_slot(cx));
        proceed.made_progress();
        let mut received = 0;
        while found == Found::Ready && received < limit {
            buffer.reserve(1);
            // SAFETY: seen to be ready.
            buffer.push(unsafe { self.advance() });
            received += 1;
            found = self.slot().look();
        }
        if received > 0 {
            self.chan.set_head(self.position);
        }
        Poll::Ready(received)
    }

    pub(super) fn try_recv(&mut self) -> Result<T, TryRecvError> {
        let found = match self.slot().look() {
            found @ (Found::Empty | Found::Waited) => {
                if self.chan.tail().position() == self.position {
                    if found == Found::Empty {
                        self.settle();
                    }
                    let idle = self.closed && self.is_idle();
                    return Err(if idle {
                        TryRecvError::Disconnected
                    } else {
                        TryRecvError::Empty
                    });
                }
                self.wait_for_claimer()
            }
            found => found,
        };
        if found == Found::End {
            return Err(TryRecvError::Disconnected);
        }
        // SAFETY: seen to be ready.
        let message = unsafe { self.advance() };
        self.chan.set_head(self.position);
        Ok(message)
    }

    /// The slot has been claimed and not been filled yet, though messages behind it may have been:
    /// to say that there is none would be wrong.
    #[cold]
    fn wait_for_claimer(&mut self) -> Found {
        for _ in 0..if cfg!(loom) { 0 } else { 64 } {
            match self.slot().look() {
                Found::Empty | Found::Waited => std::hint::spin_loop(),
                found => return found,
            }
        }
        let replaced = self.stop_waiting();
        let found =
            park_thread::block_on(pin!(poll_fn(|cx| self.poll_slot(cx))), Duration::ZERO, 1);
        if let Some(waker) = replaced {
            // It waits for the message that this call takes away.
            waker.wake();
        }
        found
    }

    pub(super) fn close(&mut self) {
        self.closed = true;
        self.chan.close(false);
    }

    /// Closed by the receiver, or left by all senders.
    pub(super) fn is_closed(&self) -> bool {
        let tail = self.chan.tail();
        tail.is_closed() || tail.is_ended()
    }

    pub(super) fn len(&self) -> usize {
        self.chan.tail().messages(self.position) as usize
    }
}

impl<T> Drop for Rx<T> {
    fn drop(&mut self) {
        // The waker may keep a task's memory alive, and nobody needs it any more.
        let waker = self.stop_waiting();
        // Subtle: the drain must happen even if a waker or the drop of a message panics.
        let drain = Drain {
            rx: self,
            first: None,
        };
        drain.rx.chan.close(true);
        drop(drain);
        drop(waker);
    }
}

/// Drops what is left in a channel whose receiver goes.
struct Drain<'a, T> {
    rx: &'a mut Rx<T>,
    /// The first block that has a slot which its sender has not filled yet.
    first: Option<NonNull<Block<T>>>,
}

impl<T> Drain<'_, T> {
    fn run(&mut self) {
        // Final: no position is claimed once the receiver is gone.
        let end = self.rx.chan.tail().position();
        while distance(end, self.rx.position) > 0 {
            match self.rx.slot().look() {
                Found::End => break,
                Found::Ready if self.first.is_none() => {
                    // SAFETY: seen to be ready.
                    drop(unsafe { self.rx.advance() });
                }
                Found::Ready => {
                    // SAFETY: seen to be ready, and we move on.
                    let message = unsafe { self.rx.slot().take() };
                    self.step();
                    drop(message);
                }
                Found::Empty | Found::Waited => {
                    if self.rx.slot().refuse() {
                        self.first.get_or_insert(self.rx.block);
                        self.step();
                    }
                }
            }
        }
    }

    /// Moves on without recycling: senders may still be in the blocks.
    fn step(&mut self) {
        let last = Block::<T>::is_last(self.rx.position);
        self.rx.position = after(self.rx.position);
        if last {
            // SAFETY: hung in and not freed. The next one is missing only if the last slot's claimer
            // has not come to hang it in; then nothing was claimed behind it.
            if let Some(next) = NonNull::new(unsafe { self.rx.block.as_ref() }.next()) {
                self.rx.block = next;
            }
        }
    }
}

impl<T> Drop for Drain<'_, T> {
    fn drop(&mut self) {
        struct Rest<'a, 'b, T>(&'a mut Drain<'b, T>);
        impl<T> Drop for Rest<'_, '_, T> {
            fn drop(&mut self) {
                // A second panic while the first one unwinds would abort; that is the standard
                // library's rule for collections as well.
                self.0.run();
                let first = self.0.first.unwrap_or(self.0.rx.block);
                self.0.rx.chan.leave_blocks(first);
            }
        }
        let rest = Rest(self);
        rest.0.run();
    }
}
