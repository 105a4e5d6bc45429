//! The receiver of a queue that has only one.

use super::{ReceiverWaker, Single};
use crate::queue::arrivals::Taken;
use crate::queue::block::{Block, Found, Slot};
use crate::queue::lane::Queue;
use crate::queue::tail::{after, distance};
use crate::sight::WaitKind;
use crate::sys::{Arc, thread};
use crate::wait::Backoff;
use std::mem;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};

/// The looks at a slot that was claimed and is not filled, before its receiver sleeps.
const CLAIMER_SPINS: u32 = 64;

/// The only receiver of a queue.
// D-SYNC-06
pub(crate) struct Consumer<T> {
    queue: Arc<Queue<Single<T>>>,
    /// The block in which `position` lies.
    block: NonNull<Block<T>>,
    /// The position of the next message to be received.
    position: u64,
    closed: bool,
}

// SAFETY: the receiver owns the messages in the blocks from `block` on, which move between threads;
// through a shared reference only atomics can be reached.
unsafe impl<T: Send> Send for Consumer<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Consumer<T> {}

impl<T> Consumer<T> {
    /// # Safety
    /// `block` is the first block of a queue that has no receiver yet.
    pub(super) unsafe fn new(
        queue: Arc<Queue<Single<T>>>,
        block: NonNull<Block<T>>,
    ) -> Consumer<T> {
        Consumer {
            queue,
            block,
            position: 0,
            closed: false,
        }
    }

    pub(crate) fn queue(&self) -> &Queue<Single<T>> {
        &self.queue
    }

    fn waker(&self) -> &ReceiverWaker {
        self.queue.waker()
    }

    #[inline(always)]
    fn slot(&self) -> Slot<'_, T> {
        // SAFETY: the receiver's block is linked and was not recycled.
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
        // SAFETY: all slots of the block were ready and have been taken: it belongs to the receiver. Its
        // last sender linked the next one before it filled its slot.
        unsafe {
            self.block =
                NonNull::new(drained.as_ref().next()).expect("linked before the slot was filled");
            self.queue.recycle(drained);
        }
    }

    /// Leaves the run, if the current block is of one: a receiver that has caught up keeps none. The current
    /// slot is empty and not waited for.
    #[inline(always)]
    fn settle(&mut self) {
        // SAFETY: linked and not recycled.
        if unsafe { self.block.as_ref() }.is_in_run() {
            self.leave_run();
        }
    }

    #[cold]
    #[inline(never)]
    fn leave_run(&mut self) {
        if let Some(next) = self.queue.leave_run(self.position) {
            self.position = after(self.position);
            let left = mem::replace(&mut self.block, next);
            // SAFETY: what was sent into it has been taken, and no sender comes to it any more.
            unsafe { Block::free(left) };
        }
    }

    /// Returns whether the queue is closed and no message can come.
    fn is_over(&self) -> bool {
        let tail = self.queue.tail();
        tail.is_closed() && tail.position() == self.position && tail.reserved() == 0
    }

    /// Becomes ready when the current slot is `Ready`, or at the `End`.
    #[inline]
    fn poll_slot(&mut self, cx: &mut Context<'_>) -> Poll<Found> {
        let mut begins = true;
        loop {
            match self.slot().look() {
                Found::Ready => return Poll::Ready(Found::Ready),
                Found::End => return Poll::Ready(Found::End),
                Found::Empty => self.settle(),
                Found::Waited => {
                    begins = false;
                    // SAFETY: a waker is lent when the receiver waits.
                    if unsafe { self.waker().is_for(cx.waker()) } {
                        self.waits(begins);
                        return Poll::Pending;
                    }
                    match self.stop_waiting() {
                        Some(old) => drop(old),
                        None => continue,
                    }
                }
            }
            if self.closed && self.is_over() {
                return Poll::Ready(Found::End);
            }
            if self.start_waiting(cx.waker()) {
                self.waits(begins);
                return Poll::Pending;
            }
        }
    }

    /// Notes that the running task waits for a message.
    #[inline(always)]
    fn waits(&self, begins: bool) {
        self.queue.waits(begins, WaitKind::ChannelReceive);
        self.queue.is_empty_now();
    }

    /// Makes sure that the waker is woken when the current slot, which is not waited for, is filled.
    /// Returns false if it has been filled.
    fn start_waiting(&mut self, waker: &Waker) -> bool {
        let cell = self.waker();
        if cell.is_lent() {
            // The sender of an earlier slot is about to take the last waker and to wake it. If it
            // wakes this task, that is enough.
            // SAFETY: a waker is lent.
            if unsafe { cell.is_for(waker) } {
                return true;
            }
            // There is no room for the new waker yet; the sender needs two instructions and a core.
            thread::yield_now();
            if cell.is_lent() {
                waker.wake_by_ref();
                return true;
            }
        }
        // SAFETY: nothing is lent; if the slot has been filled meanwhile, its sender did not see
        // that the receiver waits and has not touched the waker, which is the receiver's again.
        unsafe {
            cell.lend(waker.clone());
            if self.slot().wait() {
                return true;
            }
            drop(cell.take());
        }
        false
    }

    /// Takes the waker back from the current slot. Returns `None` if there is none, or its sender has it.
    pub(crate) fn stop_waiting(&mut self) -> Option<Waker> {
        if self.slot().look() == Found::Waited && self.slot().unwait() {
            // SAFETY: lent when the receiver announced that it waits, which it has taken back.
            return Some(unsafe { self.waker().take() });
        }
        None
    }

    /// Becomes ready when there is a message to take, or none will come.
    pub(crate) fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.poll_slot(cx).map(drop)
    }

    /// Takes the next message; `None` if none will come.
    #[inline]
    pub(crate) fn poll_take(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.poll_slot(cx).map(|found| self.take(found))
    }

    /// Takes up to `limit` messages, at least one, and adds them to `buffer`. Returns how many they were;
    /// 0 if none will come.
    pub(crate) fn poll_take_many(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut Vec<T>,
        limit: usize,
    ) -> Poll<usize> {
        self.poll_slot(cx)
            .map(|found| self.take_many(found, buffer, limit))
    }

    /// Takes the message of a slot that was found `Ready`; `None` if it was the end.
    #[inline(always)]
    fn take(&mut self, found: Found) -> Option<T> {
        if found != Found::Ready {
            return None;
        }
        // SAFETY: seen to be ready.
        let message = unsafe { self.advance() };
        self.queue.set_head(self.position);
        Some(message)
    }

    fn take_many(&mut self, mut found: Found, buffer: &mut Vec<T>, limit: usize) -> usize {
        let mut received = 0;
        while found == Found::Ready && received < limit {
            buffer.reserve(1);
            // SAFETY: seen to be ready.
            buffer.push(unsafe { self.advance() });
            received += 1;
            found = self.slot().look();
        }
        if received > 0 {
            self.queue.set_head(self.position);
        }
        received
    }

    /// Takes the next message if there is one. Returns `None` if its slot was claimed and its sender is slow
    /// to fill it: messages behind it may be in place, and to say that there is none would be wrong.
    pub(crate) fn try_take(&mut self) -> Option<Taken<T>> {
        let found = match self.slot().look() {
            found @ (Found::Empty | Found::Waited) => {
                if self.queue.tail().position() == self.position {
                    if found == Found::Empty {
                        self.settle();
                    }
                    self.queue.is_empty_now();
                    return Some(if self.closed && self.is_over() {
                        Taken::Over
                    } else {
                        Taken::Empty
                    });
                }
                self.wait_for_claimer()?
            }
            found => found,
        };
        Some(match self.take(found) {
            Some(message) => Taken::Message(message),
            None => Taken::Over,
        })
    }

    /// Waits for a moment until the slot, which has been claimed, is filled.
    #[cold]
    fn wait_for_claimer(&mut self) -> Option<Found> {
        let mut backoff = Backoff::with_spins(CLAIMER_SPINS);
        while backoff.spin() {
            match self.slot().look() {
                Found::Empty | Found::Waited => {}
                found => return Some(found),
            }
        }
        None
    }

    pub(crate) fn close(&mut self) {
        self.closed = true;
        self.queue.close(false);
    }

    /// Returns whether the receiver has closed the queue, or all senders are gone.
    pub(crate) fn is_closed(&self) -> bool {
        let tail = self.queue.tail();
        tail.is_closed() || tail.is_ended()
    }

    /// Returns the number of messages.
    pub(crate) fn len(&self) -> usize {
        self.queue.tail().messages(self.position) as usize
    }
}

impl<T> Drop for Consumer<T> {
    fn drop(&mut self) {
        self.queue.gives_up(WaitKind::ChannelReceive);
        self.queue.is_empty_now();
        // The waker may keep a task's memory alive, and is of no use any more.
        let waker = self.stop_waiting();
        // Subtle: the drain must happen even if a waker or the drop of a message panics.
        let drain = Drain {
            consumer: self,
            first: None,
        };
        drain.consumer.queue.close(true);
        drop(drain);
        drop(waker);
    }
}

/// Drops what is left in a queue whose receiver is dropped.
struct Drain<'a, T> {
    consumer: &'a mut Consumer<T>,
    /// The first block that has a slot which its sender has not filled yet.
    first: Option<NonNull<Block<T>>>,
}

impl<T> Drain<'_, T> {
    fn run(&mut self) {
        // Final: no position is claimed once the receiver is gone.
        let end = self.consumer.queue.tail().position();
        while distance(end, self.consumer.position) > 0 {
            match self.consumer.slot().look() {
                Found::End => break,
                Found::Ready if self.first.is_none() => {
                    // SAFETY: seen to be ready.
                    drop(unsafe { self.consumer.advance() });
                }
                Found::Ready => {
                    // SAFETY: seen to be ready, and passed by in the next line.
                    let message = unsafe { self.consumer.slot().take() };
                    self.step();
                    drop(message);
                }
                Found::Empty | Found::Waited => {
                    if self.consumer.slot().refuse() {
                        self.first.get_or_insert(self.consumer.block);
                        self.step();
                    }
                }
            }
        }
    }

    /// Moves on without recycling: senders may still access the blocks.
    fn step(&mut self) {
        let last = Block::<T>::is_last(self.consumer.position);
        self.consumer.position = after(self.consumer.position);
        if last {
            // SAFETY: linked and not freed. The next one is missing only if the last slot's claimer
            // has not linked it yet; then nothing was claimed behind it.
            if let Some(next) = NonNull::new(unsafe { self.consumer.block.as_ref() }.next()) {
                self.consumer.block = next;
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
                let first = self.0.first.unwrap_or(self.0.consumer.block);
                self.0.consumer.queue.leave_blocks(first);
            }
        }
        let rest = Rest(self);
        rest.0.run();
    }
}
