//! The clauses of a select: each is a place in line at one channel, and what is done when its turn comes.

use super::builder::Overflow;
use super::error::{RecvError, SendError};
use super::receiver::Receiver;
use super::rendezvous::{Availability, Meet};
use super::sender::Sender;
use super::shared::{Channel, Kind, Outgoing};
use crate::queue::{Acquire, Arrive, Closed, List, Many, Queue, Ring};
use crate::task::coop;
use pin_project_lite::pin_project;
use std::fmt;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, ready};

/// The clauses of a [`Select`](super::Select), one of which makes an `R`.
///
/// This trait is sealed.
pub trait Clauses<R>: sealed::Sealed {
    #[doc(hidden)]
    const COUNT: u32;

    /// Lets a clause happen if it can; otherwise it gets in line, unless its channel is a rendezvous. The
    /// select is busy.
    #[doc(hidden)]
    fn poll_nth(self: Pin<&mut Self>, nth: u32, cx: &mut Context<'_>) -> Poll<R>;

    /// Returns the result of the clause that another thread let happen.
    #[doc(hidden)]
    fn met(self: Pin<&mut Self>) -> Option<R>;

    /// Returns whether any of the channels is a rendezvous.
    #[doc(hidden)]
    fn meets(&self) -> bool;

    /// Gets in line in each rendezvous. Returns true if there is a party to be met. The select has become
    /// free.
    ///
    /// # Safety
    /// The availability is the select's, and stays in place until the clauses are dropped.
    #[doc(hidden)]
    unsafe fn stand_by(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        availability: NonNull<Availability>,
    ) -> bool;
}

/// The message that a send clause offers. This trait is sealed.
pub trait Offer<T>: sealed::Sealed {
    #[doc(hidden)]
    fn is_there(&self) -> bool;
    #[doc(hidden)]
    fn take(&mut self) -> T;
    #[doc(hidden)]
    fn put_back(&mut self, message: T);
}

mod sealed {
    #[allow(unnameable_types, reason = "that is how it seals other traits")]
    pub trait Sealed {}

    impl Sealed for () {}
    impl<C, L> Sealed for super::Then<C, L> {}
    impl<T, F> Sealed for super::Recv<'_, T, F> {}
    impl<T, S: super::Offer<T>, F> Sealed for super::Send<'_, T, S, F> {}
    impl<T> Sealed for super::Outgoing<'_, T> {}
    impl<T> Sealed for &mut Option<T> {}
}

impl<T> Offer<T> for Outgoing<'_, T> {
    fn is_there(&self) -> bool {
        true
    }

    fn take(&mut self) -> T {
        Outgoing::take(self)
    }

    fn put_back(&mut self, message: T) {
        Outgoing::put_back(self, message);
    }
}

impl<T> Offer<T> for &mut Option<T> {
    fn is_there(&self) -> bool {
        self.is_some()
    }

    fn take(&mut self) -> T {
        Option::take(self).expect("looked at before")
    }

    fn put_back(&mut self, message: T) {
        **self = Some(message);
    }
}

impl<R> Clauses<R> for () {
    const COUNT: u32 = 0;

    fn poll_nth(self: Pin<&mut Self>, _: u32, _: &mut Context<'_>) -> Poll<R> {
        Poll::Pending
    }

    fn met(self: Pin<&mut Self>) -> Option<R> {
        None
    }

    fn meets(&self) -> bool {
        false
    }

    unsafe fn stand_by(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        _: NonNull<Availability>,
    ) -> bool {
        false
    }
}

pin_project! {
    /// The clauses `first`, and one more.
    #[derive(Debug)]
    pub struct Then<C, L> {
        #[pin]
        first: C,
        #[pin]
        last: L,
    }
}

impl<C, L> Then<C, L> {
    pub(super) fn new(first: C, last: L) -> Then<C, L> {
        Then { first, last }
    }
}

impl<R, C: Clauses<R>, L: Clauses<R>> Clauses<R> for Then<C, L> {
    const COUNT: u32 = C::COUNT + L::COUNT;

    fn poll_nth(self: Pin<&mut Self>, nth: u32, cx: &mut Context<'_>) -> Poll<R> {
        let this = self.project();
        if nth < C::COUNT {
            this.first.poll_nth(nth, cx)
        } else {
            this.last.poll_nth(nth - C::COUNT, cx)
        }
    }

    fn met(self: Pin<&mut Self>) -> Option<R> {
        let this = self.project();
        this.first.met().or_else(|| this.last.met())
    }

    fn meets(&self) -> bool {
        self.first.meets() || self.last.meets()
    }

    unsafe fn stand_by(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        availability: NonNull<Availability>,
    ) -> bool {
        let this = self.project();
        // SAFETY: by the caller's promise.
        unsafe { this.first.stand_by(cx, availability) || this.last.stand_by(cx, availability) }
    }
}

pin_project! {
    #[project = TakingNow]
    enum Taking<'a, T> {
        Ring { #[pin] arrive: Arrive<'a, Ring<T>> },
        List { #[pin] arrive: Arrive<'a, List<T>> },
        Meeting { #[pin] meet: Meet<'a, T> },
    }
}

pin_project! {
    /// A clause that receives.
    pub struct Recv<'a, T, F> {
        channel: &'a Channel<T>,
        then: Option<F>,
        #[pin]
        taking: Taking<'a, T>,
    }
}

impl<'a, T, F> Recv<'a, T, F> {
    pub(super) fn new(receiver: &'a Receiver<T>, then: F) -> Recv<'a, T, F> {
        let channel = receiver.channel();
        Recv {
            channel,
            then: Some(then),
            taking: match &channel.kind {
                Kind::Ring(queue) => Taking::Ring {
                    arrive: Arrive::new(queue),
                },
                Kind::List(queue) => Taking::List {
                    arrive: Arrive::new(queue),
                },
                Kind::Meeting(meeting) => Taking::Meeting {
                    meet: Meet::take(meeting),
                },
            },
        }
    }
}

impl<R, T, F: FnOnce(Result<T, RecvError>) -> R> Recv<'_, T, F> {
    fn happened(self: Pin<&mut Self>, message: Option<T>) -> R {
        let this = self.project();
        let then = this.then.take().expect("polled after it was ready");
        then(message.ok_or_else(|| this.channel.recv_error()))
    }
}

impl<R, T, F: FnOnce(Result<T, RecvError>) -> R> Clauses<R> for Recv<'_, T, F> {
    const COUNT: u32 = 1;

    fn poll_nth(mut self: Pin<&mut Self>, _: u32, cx: &mut Context<'_>) -> Poll<R> {
        let proceed = ready!(coop::poll_proceed(cx));
        let taken = match self.as_mut().project().taking.project() {
            TakingNow::Ring { arrive } => ready!(arrive.poll_take(cx)).ok(),
            TakingNow::List { arrive } => ready!(arrive.poll_take(cx)).ok(),
            TakingNow::Meeting { meet } => {
                let _met = ready!(meet.poll_now());
                meet.into_hand()
            }
        };
        proceed.made_progress();
        Poll::Ready(self.happened(taken))
    }

    fn met(mut self: Pin<&mut Self>) -> Option<R> {
        match self.as_mut().project().taking.project() {
            TakingNow::Meeting { meet } if meet.is_met() => {
                let message = meet.into_hand();
                Some(self.happened(message))
            }
            _ => None,
        }
    }

    fn meets(&self) -> bool {
        matches!(self.taking, Taking::Meeting { .. })
    }

    unsafe fn stand_by(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        availability: NonNull<Availability>,
    ) -> bool {
        match self.project().taking.project() {
            // SAFETY: by the caller's promise.
            TakingNow::Meeting { meet } => unsafe { meet.stand_by(cx, availability) },
            _ => false,
        }
    }
}

pin_project! {
    #[project = GivingNow]
    enum Giving<'a, T> {
        Ring { #[pin] acquire: Acquire<'a, Ring<T>> },
        List { #[pin] acquire: Acquire<'a, List<T>> },
        Meeting { #[pin] meet: Meet<'a, T> },
        // The channel drops messages instead of letting senders wait.
        AtOnce,
        // There is nothing to send.
        Never,
    }
}

pin_project! {
    /// A clause that sends.
    pub struct Send<'a, T, S, F>
    where
        S: Offer<T>,
    {
        channel: &'a Channel<T>,
        offer: S,
        then: Option<F>,
        #[pin]
        giving: Giving<'a, T>,
    }

    impl<T, S, F> PinnedDrop for Send<'_, T, S, F>
    where
        S: Offer<T>,
    {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            if let GivingNow::Meeting { meet } = this.giving.project() {
                if let Some(message) = meet.withdraw() {
                    this.offer.put_back(message);
                }
            }
        }
    }
}

impl<'a, T, S: Offer<T>, F> Send<'a, T, S, F> {
    pub(super) fn new(sender: &'a Sender<T>, mut offer: S, then: F) -> Send<'a, T, S, F> {
        let channel = sender.channel();
        let giving = if !offer.is_there() {
            Giving::Never
        } else if channel.overflow != Overflow::Suspend {
            Giving::AtOnce
        } else {
            match &channel.kind {
                Kind::Ring(queue) => Giving::Ring {
                    acquire: Acquire::new(queue, 1),
                },
                Kind::List(queue) => Giving::List {
                    acquire: Acquire::new(queue, 1),
                },
                Kind::Meeting(meeting) => Giving::Meeting {
                    meet: Meet::give(meeting, offer.take()),
                },
            }
        };
        Send {
            channel,
            offer,
            then: Some(then),
            giving,
        }
    }
}

/// Sends into a place that was waited for. Returns the message if the channel is closed.
fn fill<L: Many>(
    queue: &Queue<L>,
    spot: Result<L::Spot, Closed>,
    offer: &mut impl Offer<L::Message>,
) -> Option<L::Message> {
    let message = offer.take();
    match spot {
        Ok(spot) => {
            L::fill(queue, spot, message);
            None
        }
        Err(Closed) => Some(message),
    }
}

impl<R, T, S: Offer<T>, F: FnOnce(Result<(), SendError<T>>) -> R> Send<'_, T, S, F> {
    /// Calls the closure. `message` is the message if it was not sent.
    fn happened(self: Pin<&mut Self>, message: Option<T>) -> R {
        let this = self.project();
        let then = this.then.take().expect("polled after it was ready");
        then(match message {
            None => Ok(()),
            Some(message) => Err(this.channel.send_error(message)),
        })
    }
}

impl<R, T, S, F> Clauses<R> for Send<'_, T, S, F>
where
    S: Offer<T>,
    F: FnOnce(Result<(), SendError<T>>) -> R,
{
    const COUNT: u32 = 1;

    fn poll_nth(mut self: Pin<&mut Self>, _: u32, cx: &mut Context<'_>) -> Poll<R> {
        let this = self.as_mut().project();
        let returned = match (this.giving.project(), &this.channel.kind) {
            (GivingNow::Ring { acquire }, Kind::Ring(queue)) => {
                let proceed = ready!(coop::poll_proceed(cx));
                let spot = ready!(acquire.poll_spot(cx));
                proceed.made_progress();
                fill(queue, spot, this.offer)
            }
            (GivingNow::List { acquire }, Kind::List(queue)) => {
                let proceed = ready!(coop::poll_proceed(cx));
                let spot = ready!(acquire.poll_spot(cx));
                proceed.made_progress();
                fill(queue, spot, this.offer)
            }
            (GivingNow::Meeting { meet }, _) => {
                let proceed = ready!(coop::poll_proceed(cx));
                let _met = ready!(meet.poll_now());
                proceed.made_progress();
                meet.into_hand()
            }
            (GivingNow::AtOnce, _) => {
                ready!(coop::poll_proceed(cx)).made_progress();
                let sent = this.channel.try_send(this.offer.take());
                sent.err().map(|error| error.into_inner())
            }
            _ => return Poll::Pending,
        };
        Poll::Ready(self.happened(returned))
    }

    fn met(mut self: Pin<&mut Self>) -> Option<R> {
        match self.as_mut().project().giving.project() {
            GivingNow::Meeting { meet } if meet.is_met() => Some(self.happened(None)),
            _ => None,
        }
    }

    fn meets(&self) -> bool {
        matches!(self.giving, Giving::Meeting { .. })
    }

    unsafe fn stand_by(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        availability: NonNull<Availability>,
    ) -> bool {
        match self.project().giving.project() {
            // SAFETY: by the caller's promise.
            GivingNow::Meeting { meet } => unsafe { meet.stand_by(cx, availability) },
            _ => false,
        }
    }
}

impl<T, F> fmt::Debug for Recv<'_, T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recv").finish_non_exhaustive()
    }
}

impl<T, S: Offer<T>, F> fmt::Debug for Send<'_, T, S, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Send").finish_non_exhaustive()
    }
}
