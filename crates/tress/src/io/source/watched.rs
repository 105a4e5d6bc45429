//! What is the same for every source, whatever its object: when it is registered, and how attempts take turns
//! with waiting.
//!
//! It is compiled once. An attempt comes as a `dyn FnMut`, which costs an indirect call beside its system call,
//! and keeps the result for its caller.

use crate::io::ring::{Loan, Name};
use crate::runtime::driver::IoHandle;
use crate::sight::{self, WaitKind};
use crate::sys::atomic::Ordering;
use crate::sys::plain::AtomicBool;
#[cfg(unix)]
use crate::sys::plain::Mutex;
use crate::task::coop;
use pin_project_lite::pin_project;
use std::future::{Future, poll_fn};
use std::io;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::{Pin, pin};
use std::sync::OnceLock;
use std::task::{Context, Poll, ready};
use tress_driver::{Direction, Interest, Readiness, Ready, ReadyEvent, Registration};

pub(crate) struct Watched {
    pub(super) registration: OnceLock<Registration>,
    #[cfg(unix)]
    registering: Mutex<()>,
    pub(super) interest: Interest,
    pub(super) assumed: Ready,
    /// For reading and writing, before the source is registered: whether the last transfer has left nothing
    /// to try.
    used_up: [AtomicBool; 2],
    /// Whether a task takes care of urgent bytes: once it takes one, it may be unknown that there was one.
    urgent: AtomicBool,
    /// What tasks wait for that wait for the source to be readable.
    pub(super) readable_is: WaitKind,
    pub(super) runtime: IoHandle,
}

// A panic leaves no inconsistent state: the parts change in single steps, under locks of their own.
impl UnwindSafe for Watched {}
impl RefUnwindSafe for Watched {}

impl Drop for Watched {
    #[inline]
    fn drop(&mut self) {
        if let Some(registration) = self.registration.get() {
            let resource = sight::address(registration);
            sight::gives_up(self.readable_is, resource);
            sight::gives_up(WaitKind::Write, resource);
        }
    }
}

/// How an attempt ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    WouldBlock,
    /// Its result was kept.
    Done {
        /// The transfer has left nothing to try.
        used_up: bool,
    },
}

impl Attempt {
    /// What the error of an attempt means, if there was one.
    pub(super) fn of(error: Option<&io::Error>) -> Attempt {
        match error {
            Some(error) if error.kind() == io::ErrorKind::WouldBlock => Attempt::WouldBlock,
            _ => Attempt::Done { used_up: false },
        }
    }

    /// What a transfer of up to `wanted` bytes means. One that is shorter, but not empty, has left nothing to
    /// try, if that `tells`.
    pub(super) fn of_transfer(result: &io::Result<usize>, wanted: usize, tells: bool) -> Attempt {
        match result {
            Ok(n) => Attempt::Done {
                used_up: tells && 0 < *n && *n < wanted,
            },
            Err(error) => Attempt::of(Some(error)),
        }
    }
}

/// What an attempt has to keep before it is made.
pub(super) fn nothing<R>() -> io::Result<R> {
    Err(io::ErrorKind::WouldBlock.into())
}

#[cfg_attr(not(feature = "net"), allow(dead_code, reason = "mostly for sockets"))]
impl Watched {
    pub(super) fn new(runtime: IoHandle, interest: Interest) -> Watched {
        Watched {
            registration: OnceLock::new(),
            #[cfg(unix)]
            registering: Mutex::new(()),
            interest,
            assumed: Ready::EMPTY,
            used_up: [const { AtomicBool::new(false) }; 2],
            urgent: AtomicBool::new(false),
            readable_is: WaitKind::Read,
            runtime,
        }
    }

    /// Returns the registration with a driver, after making it if need be.
    #[cfg(unix)]
    pub(super) fn registration(&self, mut name: Name) -> io::Result<&Registration> {
        if let Some(registration) = self.registration.get() {
            return Ok(registration);
        }
        // One thread at a time: registered with two drivers, the source would have two states of readiness.
        let _one = self.registering.lock();
        if let Some(registration) = self.registration.get() {
            return Ok(registration);
        }
        let registration = self
            .runtime
            .with_driver(|driver| driver.register(&mut name, self.interest))?;
        Ok(self.registration.get_or_init(|| registration))
    }

    #[cfg(not(unix))]
    pub(super) fn registration(&self, _: Name) -> io::Result<&Registration> {
        Ok(self
            .registration
            .get()
            .expect("registered when it was made"))
    }

    /// Returns the registration like `registration`, before any attempt was made.
    ///
    /// A new registration is told at once what is assumed and not used up, or else what the source is ready
    /// for at this moment, in either case without `unless`. Otherwise that would be known only after the
    /// driver's next turn.
    pub(super) fn registration_assuming(
        &self,
        name: Name,
        unless: Ready,
    ) -> io::Result<&Registration> {
        let is_new = self.registration.get().is_none();
        let registration = self.registration(name)?;
        if is_new {
            let ready = match self.assumed {
                #[cfg(unix)]
                Ready::EMPTY => ready_now(name, self.interest),
                assumed => assumed - self.used_up_sides(),
            };
            let ready = ready - unless;
            if !ready.is_empty() {
                registration.assume_ready(ready);
            }
        }
        Ok(registration)
    }

    fn used_up_sides(&self) -> Ready {
        let mut ready = Ready::EMPTY;
        for (side, used_up) in [Ready::READABLE, Ready::WRITABLE]
            .into_iter()
            .zip(&self.used_up)
        {
            if used_up.load(Ordering::Relaxed) {
                ready |= side;
            }
        }
        ready
    }

    /// Makes an attempt in one direction while the source is not registered. Returns whether it is done. After
    /// one that has used up what there was, the next one waits without trying.
    // D-NET-01 D-NET-08
    #[inline]
    fn try_side(&self, direction: Direction, attempt: &mut dyn FnMut() -> Attempt) -> bool {
        // Once the source is registered, the registration knows. Until then this is only a hint: a task
        // that waits is told what there is.
        let used_up = &self.used_up[direction as usize];
        if self.registration.get().is_some() || used_up.load(Ordering::Relaxed) {
            return false;
        }
        match attempt() {
            Attempt::WouldBlock => false,
            Attempt::Done { used_up: true } => {
                used_up.store(true, Ordering::Relaxed);
                true
            }
            Attempt::Done { used_up: false } => true,
        }
    }

    /// Makes attempts in one direction until one is done.
    ///
    /// # Errors
    /// There are bytes that must be read first, or the runtime has shut down.
    pub(super) fn poll_attempts(
        &self,
        (name, loan): (Name, &Loan),
        cx: &mut Context<'_>,
        direction: Direction,
        attempt: &mut dyn FnMut() -> Attempt,
    ) -> Poll<io::Result<()>> {
        if direction == Direction::Read {
            ready!(loan.poll_settled(cx))?;
        }
        loop {
            // In every iteration, because a source may be reported ready again and again, and never be.
            let progress = ready!(coop::poll_proceed(cx));
            if self.try_side(direction, attempt) {
                progress.made_progress();
                return Poll::Ready(Ok(()));
            }
            let registration = self.registration(name)?;
            let event = ready!(self.poll_ready(registration, cx, direction))?;
            progress.made_progress();
            match attempt() {
                Attempt::WouldBlock => registration.would_block(event),
                Attempt::Done { used_up } => {
                    if used_up && !self.may_end_early(registration, direction) {
                        registration.clear(event);
                    }
                    return Poll::Ready(Ok(()));
                }
            }
        }
    }

    /// Polls a registration of the source, and notes that the running task waits for it.
    #[inline]
    pub(super) fn poll_ready(
        &self,
        registration: &Registration,
        cx: &mut Context<'_>,
        direction: Direction,
    ) -> Poll<io::Result<ReadyEvent>> {
        poll_ready(registration, cx, direction, self.readable_is)
    }

    /// Returns what a task waits for that waits for `interest`.
    pub(super) fn kind_of(&self, interest: Interest) -> WaitKind {
        match kind_of(interest) {
            WaitKind::Read => self.readable_is,
            kind => kind,
        }
    }

    /// Whether there was ever an error, or for reads an urgent mark, before which a transfer ends although
    /// there is more to come.
    ///
    /// Bytes that have arrived since the event of the attempt was seen bring another event, and then a
    /// `clear` of that one does nothing. Bytes that had arrived before were there when the selector was
    /// asked, and if one was urgent the selector has said so, unless it was taken before.
    #[inline]
    fn may_end_early(&self, registration: &Registration, direction: Direction) -> bool {
        let rare = match direction {
            #[cfg(any(target_os = "linux", target_os = "android"))]
            Direction::Read => Interest::PRIORITY | Interest::ERROR,
            _ => Interest::ERROR,
        };
        registration.ready_now(rare).is_some() || self.urgent.load(Ordering::Acquire)
    }

    /// Notes that an urgent byte may be taken. To be called before anything that may take one.
    #[inline]
    pub(super) fn note_urgency(&self, interest: Interest) {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if interest.is_priority() {
            self.urgent.store(true, Ordering::Release);
        }
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        let _ = interest;
    }

    /// Makes one attempt, unless it is known that it would block.
    ///
    /// # Errors
    /// `WouldBlock` if the source is not ready for `interest`, or there are bytes that must be read first.
    pub(super) fn try_attempt(
        &self,
        (name, loan): (Name, &Loan),
        interest: Interest,
        attempt: &mut dyn FnMut() -> Attempt,
    ) -> io::Result<()> {
        if interest.is_readable() {
            loan.try_settled()?;
        }
        self.note_urgency(interest);
        if let Some(registration) = self.registration.get() {
            return try_with(registration, interest, attempt);
        }
        match attempt() {
            Attempt::Done { .. } => Ok(()),
            Attempt::WouldBlock => {
                if !self.assumed.is_empty() {
                    self.registration_assuming(name, used_up(interest))?;
                }
                // As a registration says it: one error whether the system was asked or not.
                Err(io::ErrorKind::WouldBlock.into())
            }
        }
    }
}

/// Makes an attempt if a registered source is known to be ready.
fn try_with(
    registration: &Registration,
    interest: Interest,
    attempt: &mut dyn FnMut() -> Attempt,
) -> io::Result<()> {
    registration.try_io(interest, || match attempt() {
        Attempt::WouldBlock => Err(io::ErrorKind::WouldBlock.into()),
        Attempt::Done { .. } => Ok(()),
    })
}

/// Returns what must not be assumed any more after an attempt that would have blocked.
fn used_up(interest: Interest) -> Ready {
    let mut ready = Ready::EMPTY;
    if interest.is_readable() {
        ready |= Ready::READABLE;
    }
    if interest.is_writable() {
        ready |= Ready::WRITABLE;
    }
    ready
}

pin_project! {
    /// Attempts that take turns with waiting for `interest`, until one is done. Any number of tasks may wait.
    ///
    /// Each poll is given the attempt, so that its type and its auto traits stay out of here.
    pub(super) struct Attempts<'a> {
        interest: Interest,
        kind: WaitKind,
        #[pin]
        next: Next<'a>,
    }

    impl PinnedDrop for Attempts<'_> {
        fn drop(this: Pin<&mut Self>) {
            if let Next::Wait { registration, .. } = &this.next {
                sight::gives_up(this.kind, sight::address(*registration));
            }
        }
    }
}

/// Returns what a task waits for that waits for `interest` in a source of bytes or connections.
pub(super) fn kind_of(interest: Interest) -> WaitKind {
    match interest.is_writable() && !interest.is_readable() {
        true => WaitKind::Write,
        false => WaitKind::Read,
    }
}

/// Polls a registration, and notes that the running task waits for it: for `readable_is`, if it is to become readable.
#[inline]
pub(super) fn poll_ready(
    registration: &Registration,
    cx: &mut Context<'_>,
    direction: Direction,
    readable_is: WaitKind,
) -> Poll<io::Result<ReadyEvent>> {
    let polled = registration.poll_ready(cx, direction);
    let resource = sight::address(registration);
    match (&polled, direction) {
        (Poll::Ready(_), _) => sight::served(resource),
        (Poll::Pending, Direction::Read) => sight::waits_longer(readable_is, resource, None),
        (Poll::Pending, Direction::Write) => {
            sight::waits_longer(WaitKind::Write, resource, None);
        }
    }
    polled
}

/// Polls for readiness, and notes that the running task waits for it.
pub(super) fn poll_readiness(
    readiness: Pin<&mut Readiness<'_>>,
    cx: &mut Context<'_>,
    kind: WaitKind,
    registration: &Registration,
) -> Poll<io::Result<ReadyEvent>> {
    let polled = readiness.poll(cx);
    let resource = sight::address(registration);
    match polled {
        Poll::Pending => sight::waits_longer(kind, resource, None),
        Poll::Ready(_) => sight::served(resource),
    }
    polled
}

/// Waits for readiness, and notes that the running task does.
pub(super) async fn readiness(
    registration: &Registration,
    interest: Interest,
    kind: WaitKind,
) -> io::Result<ReadyEvent> {
    let mut readiness = pin!(registration.readiness(interest));
    poll_fn(|cx| poll_readiness(readiness.as_mut(), cx, kind, registration)).await
}

pin_project! {
    #[project = Step]
    enum Next<'a> {
        /// Nothing has been done yet.
        First {
            watched: &'a Watched,
            name: Name,
            loan: &'a Loan,
        },
        Wait {
            registration: &'a Registration,
            #[pin]
            readiness: Readiness<'a>,
        },
        /// An attempt would have blocked, or another task has used up the readiness.
        Again {
            registration: &'a Registration,
        },
    }
}

impl<'a> Attempts<'a> {
    /// Begins with an attempt, if the source is not registered.
    pub(super) fn of(
        watched: &'a Watched,
        (name, loan): (Name, &'a Loan),
        interest: Interest,
    ) -> Attempts<'a> {
        let next = Next::First {
            watched,
            name,
            loan,
        };
        let kind = watched.kind_of(interest);
        Attempts {
            interest,
            kind,
            next,
        }
    }

    /// Begins with waiting. The budget of the first attempt has been taken.
    #[cfg(unix)]
    pub(super) fn of_registered(
        registration: &'a Registration,
        interest: Interest,
    ) -> Attempts<'a> {
        Attempts {
            interest,
            kind: kind_of(interest),
            next: Next::wait(registration, interest),
        }
    }

    /// Makes attempts until one is done, and yields when the budget is used up.
    pub(super) fn poll(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        attempt: &mut dyn FnMut() -> Attempt,
    ) -> Poll<io::Result<()>> {
        let mut this = self.project();
        let interest = *this.interest;
        loop {
            let next = match this.next.as_mut().project() {
                Step::First {
                    watched,
                    name,
                    loan,
                } => {
                    if interest.is_readable() {
                        ready!(loan.poll_settled(cx))?;
                    }
                    ready!(coop::poll_proceed(cx)).made_progress();
                    watched.note_urgency(interest);
                    if watched.registration.get().is_none() && attempt() != Attempt::WouldBlock {
                        return Poll::Ready(Ok(()));
                    }
                    Next::wait(watched.registration(*name)?, interest)
                }
                Step::Wait {
                    registration,
                    readiness,
                } => {
                    ready!(poll_readiness(readiness, cx, *this.kind, registration))?;
                    match try_with(registration, interest, attempt) {
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                        result => return Poll::Ready(result),
                    }
                    Next::Again { registration }
                }
                Step::Again { registration } => {
                    ready!(coop::poll_proceed(cx)).made_progress();
                    Next::wait(registration, interest)
                }
            };
            this.next.set(next);
        }
    }
}

impl<'a> Next<'a> {
    fn wait(registration: &'a Registration, interest: Interest) -> Next<'a> {
        Next::Wait {
            registration,
            readiness: registration.readiness(interest),
        }
    }
}

pin_project! {
    /// The result of the first call that does not block.
    ///
    /// # Cancel safety
    /// `f` is called only in a poll that returns its result at once, or would block.
    #[must_use = "futures do nothing unless awaited"]
    pub(crate) struct Tried<'a, F> {
        #[pin]
        pub(super) attempts: Attempts<'a>,
        pub(super) f: F,
    }
}

impl<R, F: FnMut() -> io::Result<R>> Future for Tried<'_, F> {
    type Output = io::Result<R>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<R>> {
        let this = self.project();
        let mut kept = nothing();
        let mut attempt = || {
            kept = (this.f)();
            Attempt::of(kept.as_ref().err())
        };
        ready!(this.attempts.poll(cx, &mut attempt))?;
        Poll::Ready(kept)
    }
}

/// Returns what a descriptor is ready for, without waiting.
#[cfg(unix)]
#[cfg_attr(not(feature = "net"), allow(dead_code, reason = "mostly for sockets"))]
fn ready_now(name: Name, interest: Interest) -> Ready {
    let mut asked = libc::pollfd {
        fd: name,
        events: 0,
        revents: 0,
    };
    if interest.is_readable() {
        asked.events |= libc::POLLIN;
    }
    if interest.is_writable() {
        asked.events |= libc::POLLOUT;
    }
    // SAFETY: there is one entry, which is ours. If the call fails, nothing is reported ready.
    unsafe { libc::poll(&mut asked, 1, 0) };
    let mut ready = Ready::EMPTY;
    if asked.revents & libc::POLLIN != 0 {
        ready |= Ready::READABLE;
    }
    if asked.revents & libc::POLLOUT != 0 {
        ready |= Ready::WRITABLE;
    }
    ready
}
