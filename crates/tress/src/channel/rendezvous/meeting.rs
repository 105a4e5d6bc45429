//! What all handles of a rendezvous share: the table, its lock, and the end.

use super::hands::Hands;
use super::table::{SHUT, Table, Woken};
use crate::queue::Refusal;
use crate::sight::{self, Site, WaitKind};
use crate::sys::{Arc, Mutex, MutexGuard};
use crate::wait::{Bell, Listener, WakeBatch};
use std::future::poll_fn;
use std::panic::Location;
use std::pin::pin;

/// The channel is at its end, or, for a sender, closed.
#[derive(Debug)]
pub(in crate::channel) struct Shut;

/// A channel that holds no message.
pub(in crate::channel) struct Meeting<T> {
    pub(super) table: Mutex<Table<T>>,
    pub(super) hands: Arc<Hands>,
    closing: Bell,
    /// Where the channel was created.
    site: Site,
}

impl<T> Meeting<T> {
    #[track_caller]
    pub(in crate::channel) fn new() -> Meeting<T> {
        let hands = Arc::new(Hands::new());
        Meeting {
            table: Mutex::new(Table::new(hands.clone())),
            hands,
            closing: Bell::new(WaitKind::ChannelClosed),
            site: Location::caller(),
        }
    }

    /// Notes that the running task waits here for what `kind` says, and whether it `begins` to wait.
    #[inline(always)]
    pub(super) fn waits(&self, begins: bool, kind: WaitKind) {
        sight::waits_if(begins, kind, sight::address(self), Some(self.site));
    }

    /// Notes that a wait, if the poll that is under way has noted one, is given up.
    #[inline(always)]
    pub(super) fn gives_up(&self, kind: WaitKind) {
        sight::gives_up(kind, sight::address(self));
    }

    /// Calls `f` with the table, and wakes those that it made ready when the lock is released.
    #[inline]
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut Table<T>, &mut Woken) -> R) -> R {
        let mut woken = Woken::default();
        let mut table = self.table.lock();
        let result = f(&mut table, &mut woken);
        self.conclude(table, woken);
        result
    }

    /// Releases the lock after a step that may have been the last one, and wakes those that it made ready.
    #[inline]
    pub(super) fn conclude<'a>(&'a self, table: MutexGuard<'a, Table<T>>, woken: Woken) {
        if table.is_at_end() {
            self.tell_end(table, woken);
        } else {
            drop(table);
            woken.finish();
        }
    }

    /// Tells all receivers in line that no message will come. No receiver gets in line again.
    #[cold]
    fn tell_end<'a>(&'a self, mut table: MutexGuard<'a, Table<T>>, woken: Woken) {
        let mut batch = WakeBatch::new();
        while let Some((waker, _)) = table.receivers.settle_front(SHUT) {
            table.waiting -= 1;
            batch.push(waker);
            if batch.is_full() {
                drop(table);
                batch.wake_all();
                table = self.table.lock();
            }
        }
        drop(table);
        woken.finish_with(batch);
    }

    pub(in crate::channel) fn is_closed(&self) -> bool {
        self.hands.are_closed()
    }

    /// Returns the number of messages that are kept for the next receiver.
    pub(in crate::channel) fn len(&self) -> usize {
        self.table.lock().kept.len()
    }

    /// Waits until the channel is closed.
    pub(in crate::channel) async fn closed(&self) {
        let mut listener = pin!(Listener::new(&self.closing));
        poll_fn(|cx| {
            listener
                .as_mut()
                .poll_until(cx, || self.is_closed().then_some(()))
        })
        .await
    }

    /// Hands the message to a receiver that waits. Returns it, and the reason, if that is not possible.
    pub(in crate::channel) fn try_give(&self, message: T) -> Result<(), (T, Refusal)> {
        self.with(|table, woken| {
            if table.closed {
                return Err((message, Refusal::Closed));
            }
            table
                .give_unpromised(message, woken)
                .map_err(|message| (message, Refusal::Full))
        })
    }

    /// Takes the message of a sender that waits, or one that is kept. Returns `None` if there is none.
    pub(in crate::channel) fn try_take(&self) -> Result<Option<T>, Shut> {
        self.with(|table, woken| match table.take(None, woken) {
            None if table.is_at_end() => Err(Shut),
            taken => Ok(taken),
        })
    }

    /// Closes the channel; `gone` if there is no receiver any more.
    pub(in crate::channel) fn shut(&self, gone: bool) {
        let mut batch = WakeBatch::new();
        let mut table = self.table.lock();
        table.closed = true;
        table.gone |= gone;
        self.hands.close();
        // Receivers may go on waiting, for what was promised or is in the hand of another one.
        let at_end = table.is_at_end();
        loop {
            let told = if let Some((waker, _)) = table.senders.settle_front(SHUT) {
                waker
            } else if let Some((waker, ())) = table.hopeful.settle_front(SHUT) {
                waker
            } else if let Some((waker, _)) =
                at_end.then(|| table.receivers.settle_front(SHUT)).flatten()
            {
                table.waiting -= 1;
                waker
            } else {
                break;
            };
            batch.push(told);
            if batch.is_full() {
                drop(table);
                batch.wake_all();
                table = self.table.lock();
            }
        }
        drop(table);
        self.closing.ring();
        batch.finish();
    }

    /// Uses a promise up. Returns the message as an error if there is no receiver any more.
    pub(in crate::channel) fn give_promised(&self, message: T) -> Result<(), T> {
        self.with(|table, woken| {
            table.promised -= 1;
            if table.gone {
                return Err(message);
            }
            if let Err(message) = table.give(message, woken) {
                table.kept.push_back(message);
            }
            Ok(())
        })
    }

    /// Gives a promise back.
    pub(in crate::channel) fn release(&self) {
        self.with(|table, woken| {
            table.promised -= 1;
            table.serve(woken);
        });
    }

    /// Gets a promise, if a receiver waits that has made none.
    pub(in crate::channel) fn try_promise(&self) -> Result<(), Refusal> {
        self.table.lock().promise()
    }
}
