//! Waiting for whichever of several channels can receive or send.

use super::chan::Pause;
use super::clause::{Clauses, Recv, Send, Source, Then};
use super::error::{RecvError, SendError};
use super::receiver::Receiver;
use super::sender::Sender;
use super::shared::Held;
use super::token::Token;
use crate::runtime::context;
use crate::sync::{blocking, cannot_block};
use crate::task::coop;
use crate::time;
use pin_project_lite::pin_project;
use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::pin::{Pin, pin};
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker, ready};

/// Waits for whichever of several channels can receive or send first, and does that: exactly one of
/// the clauses happens, and its closure makes the result.
///
/// Clauses that can happen at once are equally likely, unless the select is [`biased`](Select::biased).
/// One that waits is in line in each channel, as a single receiver or sender would be; nothing is
/// polled in between, and nothing is allocated.
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
///
/// A clause whose channel is closed can happen, with an error.
///
/// In [`tress::select!`](crate::select) the futures of the channels can be used as any others. The
/// difference is in a rendezvous: there, a `send` that is dropped because another branch was first may
/// have been received. In a `Select` it has not.
#[must_use = "a select does nothing unless waited for"]
pub struct Select<R, C = ()> {
    clauses: C,
    biased: bool,
    result: PhantomData<fn() -> R>,
}

impl<R> Select<R> {
    /// Without any clause, which would wait for ever.
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
    /// Clauses that come first are preferred.
    pub fn biased(mut self) -> Select<R, C> {
        self.biased = true;
        self
    }

    /// Receives a message.
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

    /// Sends a message.
    ///
    /// If another clause happens, or the select is dropped, the message goes to
    /// [`on_undelivered`](super::Builder::on_undelivered), as one of a dropped
    /// [`send`](Sender::send) does.
    pub fn send<'a, T, F>(
        self,
        sender: &'a Sender<T>,
        message: T,
        then: F,
    ) -> Select<R, Then<C, Send<'a, T, impl Source<T> + use<'a, T, R, C, F>, F>>>
    where
        F: FnOnce(Result<(), SendError<T>>) -> R,
    {
        let held = Held::new(sender.channel(), message);
        self.then(Send::new(sender, held, then))
    }

    /// Sends the message that is in `message`, if there is one; without one, the clause cannot happen.
    ///
    /// If another clause happens, or the select is dropped, the message stays where it was.
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

    /// Waits for a clause.
    ///
    /// When one has happened the others have left their lines, and the future does nothing any more.
    ///
    /// # Panics
    /// If it is polled after it was ready.
    ///
    /// # Cancel safety
    /// If it is dropped before it is ready nothing was received, and nothing sent; in a rendezvous, a
    /// receiver may have taken the message of a send clause while the future was not polled.
    pub fn wait(self) -> Wait<R, C> {
        Wait {
            clauses: Some(self.clauses),
            token: Token::busy(),
            biased: self.biased,
            result: PhantomData,
        }
    }

    /// A clause that can happen at once; `None` if there is none. What another language's select does
    /// with an `else`.
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

    /// Waits for a clause until a deadline; `None` if none happened by then.
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
    ///
    /// # Panics
    /// Outside of a runtime, or in one built without `enable_time`.
    ///
    /// # Cancel safety
    /// As [`wait`](Select::wait).
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

    /// As [`wait`](Select::wait), blocking this thread.
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
    ///
    /// # Panics
    /// If this thread drives asynchronous tasks: use [`wait`](Select::wait) there.
    #[track_caller]
    pub fn wait_blocking(self) -> R {
        blocking::block_on(cannot_block!("Select::wait_blocking"), self.wait())
    }

    /// As [`wait_blocking`](Select::wait_blocking), until a deadline; `None` if no clause happened by
    /// then.
    ///
    /// # Panics
    /// As [`wait_blocking`](Select::wait_blocking).
    #[track_caller]
    pub fn wait_blocking_until(self, deadline: std::time::Instant) -> Option<R> {
        let mut wait = pin!(self.wait());
        let what = cannot_block!("Select::wait_blocking_until");
        blocking::block_on_until(what, deadline, wait.as_mut())
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
    /// Waits for a clause of a [`Select`]; made by [`Select::wait`].
    #[must_use = "futures do nothing unless awaited"]
    pub struct Wait<R, C> {
        // First, so that it is dropped, and leaves all lines, before the token goes. `None` once a clause
        // has happened: the others must not stay in line when nobody polls for them any more.
        #[pin]
        clauses: Option<C>,
        token: Token,
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

    /// A clause has happened: the others leave their lines.
    fn happened(self: Pin<&mut Self>, result: R) -> R {
        self.project().clauses.set(None);
        result
    }

    /// Ready if a clause can happen at once. The token is ours, and stays so if one does.
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

    /// Somebody has got the token, and meets one of our clauses.
    fn met(mut self: Pin<&mut Self>) -> R {
        let mut pause = Pause::new();
        loop {
            if let Some(result) = self.as_mut().clauses().met() {
                return self.happened(result);
            }
            // It has the meeting's lock, and is about to tell.
            pause.wait();
        }
    }

    /// The time is up: what has happened counts, and what can happen at once, but nothing after that.
    fn give_up(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Option<R> {
        if !self.token.take_back() {
            return Some(self.met());
        }
        // There is no other time to do it.
        match coop::with_unconstrained(|| self.poll_clauses(cx)) {
            Poll::Ready(result) => Some(result),
            Poll::Pending => None,
        }
    }
}

impl<R, C: Clauses<R>> Future for Wait<R, C> {
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        // Once for all: without a budget no clause could happen, and each would be looked at again.
        ready!(coop::poll_budget_available(cx));
        loop {
            if !self.token.take_back() {
                return Poll::Ready(self.met());
            }
            if let Poll::Ready(result) = self.as_mut().poll_clauses(cx) {
                return Poll::Ready(result);
            }
            if !self.as_mut().clauses().meets() {
                return Poll::Pending;
            }
            self.token.let_go();
            let token = NonNull::from(&self.token);
            // SAFETY: pinned with the clauses, which are dropped first.
            if !unsafe { self.as_mut().clauses().stand_by(cx, token) } {
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
