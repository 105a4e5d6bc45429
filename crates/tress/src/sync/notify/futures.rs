//! The futures of [`Notify`].

use super::Notify;
use crate::task::coop;
use crate::wait::Waiter;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

/// Future returned by [`Notify::notified`]: waits for a notification.
///
/// Once ready, it stays ready and can be polled again.
///
/// # Cancel safety
/// Cancel safe; see [`Notify::notified`].
///
/// # Examples
/// ```
/// use tress::sync::futures::Notified;
/// use tress::sync::Notify;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let notify = Notify::new();
/// let notified: Notified<'_> = notify.notified();
/// notify.notify_one();
/// notified.await;
/// # });
/// ```
#[must_use = "futures do nothing unless awaited"]
#[derive(Debug)]
pub struct Notified<'a> {
    notify: &'a Notify,
    seen: usize,
    waiter: Waiter<usize>,
}

impl<'a> Notified<'a> {
    #[inline(always)]
    pub(super) fn new(notify: &'a Notify, seen: usize) -> Self {
        Notified {
            notify,
            seen,
            waiter: Waiter::new(),
        }
    }

    /// Takes a place in the queue without waiting, as a first poll would.
    ///
    /// Returns `true` if there is a notification for this future, which then is ready.
    ///
    /// A task that waits for a condition along with others has to enable the future first, look at
    /// the condition then, and await the future last. A change after the look finds the task in the
    /// queue, so the notification about it is not missed.
    ///
    /// # Examples
    /// ```
    /// use std::pin::pin;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    /// use tress::sync::Notify;
    ///
    /// static OPEN: AtomicBool = AtomicBool::new(false);
    /// static OPENED: Notify = Notify::const_new();
    ///
    /// async fn wait_until_open() {
    ///     let mut opened = pin!(OPENED.notified());
    ///     loop {
    ///         opened.as_mut().enable();
    ///         if OPEN.load(Ordering::Acquire) {
    ///             return;
    ///         }
    ///         opened.as_mut().await;
    ///         opened.set(OPENED.notified());
    ///     }
    /// }
    ///
    /// fn open() {
    ///     OPEN.store(true, Ordering::Release);
    ///     OPENED.notify_one();
    /// }
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let task = tress::spawn(wait_until_open());
    /// # open();
    /// # task.await.unwrap();
    /// # });
    /// ```
    pub fn enable(self: Pin<&mut Self>) -> bool {
        self.as_ref().poll_with(None).is_ready()
    }

    #[inline(always)]
    fn poll_with(self: Pin<&Self>, waker: Option<&Waker>) -> Poll<()> {
        let this = self.get_ref();
        // SAFETY: the waiter is pinned with us, and we cancel when dropped.
        unsafe { this.notify.poll(&this.waiter, this.seen, waker) }
    }
}

impl Future for Notified<'_> {
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let progress = ready!(coop::poll_proceed(cx));
        ready!(self.as_ref().poll_with(Some(cx.waker())));
        progress.made_progress();
        Poll::Ready(())
    }
}

impl Drop for Notified<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: we are the waiter's future.
        unsafe { self.notify.cancel(&self.waiter, self.seen) };
    }
}

/// Future returned by [`Notify::notified_owned`]: waits for a notification, and keeps the
/// [`Notify`] alive by its `Arc`.
///
/// Once ready, it stays ready and can be polled again.
///
/// # Cancel safety
/// Cancel safe; see [`Notify::notified`].
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use tress::sync::futures::OwnedNotified;
/// use tress::sync::Notify;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let notify = Arc::new(Notify::new());
/// let notified: OwnedNotified = notify.clone().notified_owned();
/// notify.notify_one();
/// notified.await;
/// # });
/// ```
#[must_use = "futures do nothing unless awaited"]
#[derive(Debug)]
pub struct OwnedNotified {
    notify: Arc<Notify>,
    seen: usize,
    waiter: Waiter<usize>,
}

impl OwnedNotified {
    #[inline(always)]
    pub(super) fn new(notify: Arc<Notify>, seen: usize) -> Self {
        OwnedNotified {
            notify,
            seen,
            waiter: Waiter::new(),
        }
    }

    /// Takes a place in the queue without waiting, as a first poll would.
    ///
    /// Returns `true` if there is a notification for this future, which then is ready. See
    /// [`Notified::enable`].
    ///
    /// # Examples
    /// ```
    /// use std::pin::pin;
    /// use std::sync::Arc;
    /// use tress::sync::Notify;
    ///
    /// let notify = Arc::new(Notify::new());
    /// let mut notified = pin!(notify.clone().notified_owned());
    /// assert!(!notified.as_mut().enable());
    /// notify.notify_one();
    /// assert!(notified.as_mut().enable());
    /// ```
    pub fn enable(self: Pin<&mut Self>) -> bool {
        self.as_ref().poll_with(None).is_ready()
    }

    #[inline(always)]
    fn poll_with(self: Pin<&Self>, waker: Option<&Waker>) -> Poll<()> {
        let this = self.get_ref();
        // SAFETY: the waiter is pinned with us, and we cancel when dropped.
        unsafe { this.notify.poll(&this.waiter, this.seen, waker) }
    }
}

impl Future for OwnedNotified {
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let progress = ready!(coop::poll_proceed(cx));
        ready!(self.as_ref().poll_with(Some(cx.waker())));
        progress.made_progress();
        Poll::Ready(())
    }
}

impl Drop for OwnedNotified {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: we are the waiter's future.
        unsafe { self.notify.cancel(&self.waiter, self.seen) };
    }
}
