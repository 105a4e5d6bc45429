//! Waiting for whichever of several channels can receive or send.

use super::clause::{Clauses, Offer, Recv, Send, Then};
use super::error::{RecvError, SendError};
use super::receiver::Receiver;
use super::rendezvous::Availability;
use super::sender::Sender;
use super::shared::Outgoing;
use crate::context;
use crate::runtime::block_thread::{self, cannot_block};
use crate::task::coop;
use crate::time;
use crate::wait::Backoff;
use pin_project_lite::pin_project;
use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::pin::{Pin, pin};
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker, ready};

/// Waits for the first of several channels that can receive or send, and does that: exactly one of
/// the clauses happens, and its closure makes the result.
///
/// Clauses that can happen at once are equally likely, unless the select is [`biased`](Select::biased).
/// A select that waits is in line in each of its channels, as a single receiver or sender would be. It
/// neither polls in between nor allocates.
///
/// A clause whose channel is closed can happen: its closure gets the error.
///
/// The futures of the channels can also be used in [`tress::select!`](crate::select), as any others. The
/// difference is in a rendezvous: there, the message of a `send` that is dropped because another branch was
/// first may have been received. The message of a clause that did not happen has not.
///
/// # Examples
///
/// ```
/// use tress::channel::{self, Select};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (jobs, inbox) = channel::bounded::<u32>(1);
/// let (results, outbox) = channel::bounded::<u32>(1);
/// jobs.send(1).await.unwrap();
///
/// let mut result = None; // nothing to send yet
/// for _ in 0..2 {
///     Select::new()
///         .recv(&inbox, |job| Some(job.unwrap() + 41))
///         .send_from(&results, &mut result, |sent| {
///             sent.unwrap();
///             None
///         })
///         .wait()
///         .await
///         .map(|done| result = Some(done));
/// }
/// assert_eq!(outbox.recv().await.unwrap(), 42);
/// # });
/// ```
#[must_use = "a select does nothing unless waited for"]
pub struct Select<R, C = ()> {
    clauses: C,
    biased: bool,
    result: PhantomData<fn() -> R>,
}

impl<R> Select<R> {
    /// Creates a select without any clause, which would wait forever.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::channel::{self, Select};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = channel::bounded(1);
    /// tx.send(1).await.unwrap();
    /// let received = Select::new().recv(&rx, |n| n.unwrap()).wait().await;
    /// assert_eq!(received, 1);
    /// # });
    /// ```
    #[allow(
        clippy::new_without_default,
        reason = "a select without clauses is of no use as a default"
    )]
    pub fn new() -> Select<R> {
        Select {
            clauses: (),
            biased: false,
            result: PhantomData,
        }
    }
}

impl<R, C: Clauses<R>> Select<R, C> {
    /// Prefers the clauses that were added first, if several can happen at once.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::channel::{self, Select};
    ///
    /// let (urgent, urgent_rx) = channel::unbounded();
    /// let (normal, normal_rx) = channel::unbounded();
    /// normal.try_send("later").unwrap();
    /// urgent.try_send("now").unwrap();
    /// let first = Select::new()
    ///     .recv(&urgent_rx, |job| job.unwrap())
    ///     .recv(&normal_rx, |job| job.unwrap())
    ///     .biased()
    ///     .try_now();
    /// assert_eq!(first, Some("now"));
    /// ```
    pub fn biased(mut self) -> Select<R, C> {
        self.biased = true;
        self
    }

    /// Adds a clause that receives a message.
    ///
    /// `then` gets the message, or the error if the channel is closed and empty.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::channel::{self, Select};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (numbers, numbers_rx) = channel::bounded(1);
    /// let (_words, words_rx) = channel::bounded::<&str>(1);
    /// numbers.send(7).await.unwrap();
    /// let text = Select::new()
    ///     .recv(&numbers_rx, |n| n.unwrap().to_string())
    ///     .recv(&words_rx, |word| word.unwrap().to_owned())
    ///     .wait()
    ///     .await;
    /// assert_eq!(text, "7");
    /// # });
    /// ```
    pub fn recv<'a, T, F>(
        self,
        receiver: &'a Receiver<T>,
        then: F,
    ) -> Select<R, Then<C, Recv<'a, T, F>>>
    where
        F: FnOnce(Result<T, RecvError>) -> R,
    {
        self.then(Recv::new(receiver, then))
    }

    /// Adds a clause that sends a message.
    ///
    /// If another clause happens, or the select is dropped, the message goes to
    /// [`on_undelivered`](super::Builder::on_undelivered), as one of a dropped
    /// [`send`](Sender::send) does.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::channel::{self, Select};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (full, _full_rx) = channel::bounded(1);
    /// full.send(0).await.unwrap();
    /// let (free, free_rx) = channel::bounded(1);
    /// let taken_by = Select::new()
    ///     .send(&full, 1, |_| "the full one")
    ///     .send(&free, 1, |_| "the free one")
    ///     .wait()
    ///     .await;
    /// assert_eq!(taken_by, "the free one");
    /// assert_eq!(free_rx.recv().await.unwrap(), 1);
    /// # });
    /// ```
    pub fn send<'a, T, F>(
        self,
        sender: &'a Sender<T>,
        message: T,
        then: F,
    ) -> Select<R, Then<C, Send<'a, T, impl Offer<T> + use<'a, T, R, C, F>, F>>>
    where
        F: FnOnce(Result<(), SendError<T>>) -> R,
    {
        let outgoing = Outgoing::new(sender.channel(), message);
        self.then(Send::new(sender, outgoing, then))
    }

    /// Adds a clause that sends the message in `message`, and cannot happen if there is none.
    ///
    /// If another clause happens, or the select is dropped, the message stays where it was.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::channel::{self, Select};
    ///
    /// let (tx, _rx) = channel::bounded(1);
    /// let mut message = Some("one");
    /// Select::new().send_from(&tx, &mut message, |sent| sent.unwrap()).try_now();
    /// assert_eq!(message, None); // sent
    ///
    /// message = Some("two");
    /// Select::new().send_from(&tx, &mut message, |sent| sent.unwrap()).try_now();
    /// assert_eq!(message, Some("two")); // the channel is full
    /// ```
    #[allow(clippy::type_complexity, reason = "nobody writes it out")]
    pub fn send_from<'a, T, F>(
        self,
        sender: &'a Sender<T>,
        message: &'a mut Option<T>,
        then: F,
    ) -> Select<R, Then<C, Send<'a, T, &'a mut Option<T>, F>>>
    where
        F: FnOnce(Result<(), SendError<T>>) -> R,
    {
        self.then(Send::new(sender, message, then))
    }

    fn then<L>(self, last: L) -> Select<R, Then<C, L>> {
        Select {
            clauses: Then::new(self.clauses, last),
            biased: self.biased,
            result: PhantomData,
        }
    }

    /// Waits until a clause has happened, and returns its result.
    ///
    /// The other clauses have left their lines then.
    ///
    /// # Panics
    /// Panics if the future is polled after it was ready.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if the future is dropped before it is ready, nothing was received and
    /// nothing was sent. The exception is a rendezvous, where a receiver may have taken the message of a send
    /// clause while the future was not polled.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::channel::{self, Select};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = channel::bounded(0);
    /// tress::spawn(async move { tx.send("hello").await });
    /// let (_stop, stopped) = channel::bounded::<()>(1);
    /// let received = Select::new()
    ///     .recv(&rx, |word| word.ok())
    ///     .recv(&stopped, |_| None)
    ///     .wait()
    ///     .await;
    /// assert_eq!(received, Some("hello"));
    /// # });
    /// ```
    pub fn wait(self) -> Wait<R, C> {
        Wait {
            clauses: Some(self.clauses),
            availability: Availability::busy(),
            biased: self.biased,
            result: PhantomData,
        }
    }

    /// Lets a clause happen that can happen at once, and returns its result.
    ///
    /// Returns `None` if there is no such clause.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::channel::{self, Select};
    ///
    /// let (tx, rx) = channel::bounded(1);
    /// let nothing = Select::new().recv(&rx, |n| n.unwrap()).try_now();
    /// assert_eq!(nothing, None);
    /// tx.try_send(1).unwrap();
    /// let something = Select::new().recv(&rx, |n| n.unwrap()).try_now();
    /// assert_eq!(something, Some(1));
    /// ```
    pub fn try_now(self) -> Option<R> {
        pin!(self.wait()).give_up(&mut Context::from_waker(Waker::noop()))
    }

    /// Waits until a clause has happened, or until a deadline.
    ///
    /// Returns `None` if none happened by then.
    ///
    /// # Panics
    /// Panics if it is polled outside of a runtime, or in one built without `enable_time`.
    ///
    /// # Cancel safety
    /// This method is cancel safe, as [`wait`](Select::wait) is.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::channel::{self, Select};
    /// use tress::time::Instant;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (_tx, rx) = channel::bounded::<u32>(1);
    /// let late = Select::new().recv(&rx, |n| n.unwrap()).wait_until(Instant::now()).await;
    /// assert_eq!(late, None);
    /// # });
    /// ```
    pub async fn wait_until(self, deadline: time::Instant) -> Option<R> {
        let mut wait = pin!(self.wait());
        let mut sleep = pin!(time::sleep_until(deadline));
        poll_fn(|cx| {
            if let Poll::Ready(result) = wait.as_mut().poll(cx) {
                return Poll::Ready(Some(result));
            }
            sleep.as_mut().poll(cx).map(|()| wait.as_mut().give_up(cx))
        })
        .await
    }

    /// Waits until a clause has happened, blocking the thread, and returns its result.
    ///
    /// # Panics
    /// Panics if the thread drives asynchronous tasks: use [`wait`](Select::wait) there.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::channel::{self, Select};
    ///
    /// let (tx, rx) = channel::bounded(0);
    /// let sender = std::thread::spawn(move || tx.send_blocking(7));
    /// let got = Select::new().recv(&rx, |n| n.unwrap()).wait_blocking();
    /// assert_eq!(got, 7);
    /// sender.join().unwrap().unwrap();
    /// ```
    #[track_caller]
    pub fn wait_blocking(self) -> R {
        block_thread::block_on(cannot_block!("Select::wait_blocking"), self.wait())
    }

    /// Waits until a clause has happened, or until a deadline, blocking the thread.
    ///
    /// Returns `None` if none happened by then.
    ///
    /// # Panics
    /// Panics if the thread drives asynchronous tasks: use [`wait_until`](Select::wait_until) there.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Instant;
    /// use tress::channel::{self, Select};
    ///
    /// let (_tx, rx) = channel::bounded::<u32>(1);
    /// let late = Select::new().recv(&rx, |n| n.unwrap()).wait_blocking_until(Instant::now());
    /// assert_eq!(late, None);
    /// ```
    #[track_caller]
    pub fn wait_blocking_until(self, deadline: std::time::Instant) -> Option<R> {
        let mut wait = pin!(self.wait());
        let what = cannot_block!("Select::wait_blocking_until");
        block_thread::block_on_until(what, deadline, wait.as_mut())
            .or_else(|| wait.give_up(&mut Context::from_waker(Waker::noop())))
    }
}

impl<R, C> fmt::Debug for Select<R, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Select")
            .field("biased", &self.biased)
            .finish_non_exhaustive()
    }
}

pin_project! {
    /// A future that is ready when a clause of a [`Select`] has happened; returned by [`Select::wait`].
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::channel::{self, Select, Wait};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = channel::unbounded();
    /// tx.send(1).await.unwrap();
    /// let wait: Wait<_, _> = Select::new().recv(&rx, |n| n.unwrap()).wait();
    /// assert_eq!(wait.await, 1);
    /// # });
    /// ```
    #[must_use = "futures do nothing unless awaited"]
    pub struct Wait<R, C> {
        // First, so that it is dropped, and leaves all lines, before the availability is. `None` once a
        // clause has happened: the others must not stay in line when the future is not polled any more.
        #[pin]
        clauses: Option<C>,
        availability: Availability,
        biased: bool,
        result: PhantomData<fn() -> R>,
    }
}

impl<R, C: Clauses<R>> Wait<R, C> {
    fn clauses(self: Pin<&mut Self>) -> Pin<&mut C> {
        self.project()
            .clauses
            .as_pin_mut()
            .expect("a `Select` of which a clause has happened cannot be polled")
    }

    /// Called when a clause has happened: takes the others out of their lines.
    fn happened(self: Pin<&mut Self>, result: R) -> R {
        self.project().clauses.set(None);
        result
    }

    /// Lets a clause happen if one can happen at once. The select is busy, and stays so if one does.
    fn poll_clauses(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        let start = if self.biased || C::COUNT < 2 {
            0
        } else {
            context::random_below(C::COUNT)
        };
        for nth in (start..C::COUNT).chain(0..start) {
            if let Poll::Ready(result) = self.as_mut().clauses().poll_nth(nth, cx) {
                return Poll::Ready(self.happened(result));
            }
        }
        Poll::Pending
    }

    /// Returns the result of the clause that another thread, which has picked the select, lets happen.
    fn met(mut self: Pin<&mut Self>) -> R {
        let mut backoff = Backoff::new();
        loop {
            if let Some(result) = self.as_mut().clauses().met() {
                return self.happened(result);
            }
            // That thread has the meeting's lock, and is about to settle the clause.
            backoff.wait();
        }
    }

    /// Called at the deadline: lets a clause happen that has happened or can happen at once, but none after
    /// that.
    fn give_up(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Option<R> {
        if !self.availability.become_busy() {
            return Some(self.met());
        }
        // There is no later time to do it.
        match coop::with_unconstrained(|| self.poll_clauses(cx)) {
            Poll::Ready(result) => Some(result),
            Poll::Pending => None,
        }
    }
}

impl<R, C: Clauses<R>> Future for Wait<R, C> {
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        // Checked once for all clauses: without a budget none could happen, and each would be polled again.
        ready!(coop::poll_budget_available(cx));
        loop {
            if !self.availability.become_busy() {
                return Poll::Ready(self.met());
            }
            if let Poll::Ready(result) = self.as_mut().poll_clauses(cx) {
                return Poll::Ready(result);
            }
            if !self.as_mut().clauses().meets() {
                return Poll::Pending;
            }
            self.availability.become_free();
            let availability = NonNull::from(&self.availability);
            // SAFETY: pinned with the clauses, which are dropped first.
            if !unsafe { self.as_mut().clauses().stand_by(cx, availability) } {
                return Poll::Pending;
            }
        }
    }
}

impl<R, C> fmt::Debug for Wait<R, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wait").finish_non_exhaustive()
    }
}
