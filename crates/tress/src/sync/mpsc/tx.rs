//! The senders' side of a channel, bounded or not: what counts as a sender, and for how long.

use crate::queue::{Queue, Single};
use crate::sys::Arc;

/// A sender: while there is one, messages may come.
pub(super) struct Tx<T>(Arc<Queue<Single<T>>>);

impl<T> Tx<T> {
    /// Creates the first sender of a channel.
    pub(super) fn new(queue: Arc<Queue<Single<T>>>) -> Tx<T> {
        Tx(queue)
    }

    #[inline(always)]
    pub(super) fn queue(&self) -> &Queue<Single<T>> {
        &self.0
    }

    pub(super) fn same_channel(&self, other: &Tx<T>) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(super) fn downgrade(&self) -> WeakTx<T> {
        self.0.senders().weak.add();
        WeakTx(self.0.clone())
    }
}

impl<T> Clone for Tx<T> {
    fn clone(&self) -> Tx<T> {
        self.0.senders().strong.add();
        Tx(self.0.clone())
    }
}

impl<T> Drop for Tx<T> {
    fn drop(&mut self) {
        self.0.remove_sender();
    }
}

/// A handle that may become a sender, and does not count as one.
pub(super) struct WeakTx<T>(Arc<Queue<Single<T>>>);

impl<T> WeakTx<T> {
    pub(super) fn queue(&self) -> &Queue<Single<T>> {
        &self.0
    }

    pub(super) fn upgrade(&self) -> Option<Tx<T>> {
        self.0
            .senders()
            .strong
            .try_add()
            .then(|| Tx(self.0.clone()))
    }
}

impl<T> Clone for WeakTx<T> {
    fn clone(&self) -> WeakTx<T> {
        self.0.senders().weak.add();
        WeakTx(self.0.clone())
    }
}

impl<T> Drop for WeakTx<T> {
    fn drop(&mut self) {
        self.0.senders().weak.remove();
    }
}
