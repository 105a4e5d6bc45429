//! The senders' side of a channel, bounded or not: who counts as a sender, and for how long.

use super::chan::Chan;
use crate::sys::Arc;

/// A sender: while there is one, messages may come.
pub(super) struct Tx<T>(Arc<Chan<T>>);

impl<T> Tx<T> {
    /// The first sender of a channel.
    pub(super) fn new(chan: Arc<Chan<T>>) -> Tx<T> {
        Tx(chan)
    }

    #[inline(always)]
    pub(super) fn chan(&self) -> &Chan<T> {
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

/// May become a sender, but is none.
pub(super) struct WeakTx<T>(Arc<Chan<T>>);

impl<T> WeakTx<T> {
    pub(super) fn chan(&self) -> &Chan<T> {
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
