//! Processes that are futures.

use crate::event::{Event, Message, SystemEvent};
use crate::exit::{ExitReason, ProcessError};
use crate::host::spawn::{Body, Options, sealed};
use crate::host::{Host, Spawn};
use crate::payload::Payload;
use crate::pid::Pid;
use crate::run::{BATCH, Life, to_the_tail};
use crate::slot::{Chain, Pause, Rest, Start};
use crate::topic::Topic;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tress::task::{self, coop};

/// What came for a process.
#[derive(Debug)]
pub enum Mail<M> {
    /// A message.
    Message(M),
    /// News from the system.
    Event(SystemEvent),
}

/// What a process that is a future knows of itself, and how it receives.
///
/// It belongs to the process that it was given to: only that can wait for messages with it.
pub struct Cx<M> {
    host: Host,
    pid: Pid,
    task: Option<task::Id>,
    /// Taken from the mailbox and not yet received.
    mail: Chain,
    sender: Option<Pid>,
    message: PhantomData<fn() -> M>,
}

impl<M: Send + 'static> Cx<M> {
    fn new(host: Host, pid: Pid) -> Cx<M> {
        Cx {
            host,
            pid,
            task: task::try_id(),
            mail: Chain::new(),
            sender: None,
            message: PhantomData,
        }
    }

    /// The process itself.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Its host.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The process that sent the message received last, if a process did.
    pub fn sender(&self) -> Option<Pid> {
        self.sender
    }

    /// Sends a value to a process, in this one's name.
    ///
    /// # Errors
    /// As [`Host::send`].
    pub fn send<T: Send + 'static>(&self, to: Pid, value: T) -> Result<(), crate::SendError> {
        self.host
            .send_message(to, Message::new(value).from(self.pid))
    }

    /// The next message. `None` when the process is asked to stop; other news is passed over, for
    /// which there is [`next`](Cx::next).
    ///
    /// # Cancel safety
    /// Nothing is lost if the future is dropped: it takes a message only when it is ready.
    pub async fn recv(&mut self) -> Option<M> {
        loop {
            match self.next().await {
                Mail::Message(message) => return Some(message),
                Mail::Event(SystemEvent::Cancel { .. }) => return None,
                Mail::Event(_) => {}
            }
        }
    }

    /// Whatever comes next. A message of another type is reported as
    /// [undeliverable](crate::Lifecycle::on_undeliverable) and passed over.
    ///
    /// # Cancel safety
    /// As [`recv`](Cx::recv).
    pub async fn next(&mut self) -> Mail<M> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    /// See [`next`](Cx::next).
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Mail<M>> {
        self.poll_mail(cx).map(|mail| match mail {
            Ok(message) => Mail::Message(message),
            Err(event) => Mail::Event(*event),
        })
    }

    /// The same; in a box, so that who waits for messages has no need of room for events.
    pub(crate) fn poll_mail(&mut self, cx: &mut Context<'_>) -> Poll<Result<M, Box<SystemEvent>>> {
        let budget = ready!(coop::poll_proceed(cx));
        loop {
            if let Some((source, message)) = self.mail.pop_value() {
                self.sender = source;
                budget.made_progress();
                return Poll::Ready(Ok(message));
            }
            if let Some(event) = self.mail.pop() {
                if let Some(event) = self.other(event) {
                    budget.made_progress();
                    return Poll::Ready(Err(Box::new(event)));
                }
                continue;
            }
            // Elsewhere the process might have ended, and its place be another's.
            assert_eq!(
                self.task,
                task::try_id(),
                "only the process itself can wait for its messages"
            );
            let (host, mail) = (&self.host, &mut self.mail);
            host.drain_or_wait(self.pid, mail, BATCH, cx.waker());
            if mail.is_empty() {
                return Poll::Pending;
            }
        }
    }

    /// News from the system, if that is what it is; anything else is not for this process. Nobody
    /// yields commands here.
    #[cold]
    fn other(&mut self, event: Event) -> Option<SystemEvent> {
        let Event::Message(mut message) = event else {
            return None;
        };
        if message.topic == Topic::EVENTS {
            if let Some(event) = message.payload.take() {
                self.sender = message.source;
                return Some(event);
            }
        }
        self.host.undelivered(self.pid, Event::Message(message));
        None
    }
}

impl<M> Drop for Cx<M> {
    fn drop(&mut self) {
        while let Some(event) = self.mail.pop() {
            self.host.undelivered(self.pid, event);
        }
    }
}

impl<M> fmt::Debug for Cx<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cx")
            .field("pid", &self.pid)
            .finish_non_exhaustive()
    }
}

/// What came of a process that is a future: nothing, a result or an error, or a value that is
/// [`Done`].
pub trait Outcome: Send + 'static {
    /// The result of the process.
    ///
    /// # Errors
    /// What it failed with.
    fn into_outcome(self) -> Result<Payload, ProcessError>;
}

impl Outcome for () {
    fn into_outcome(self) -> Result<Payload, ProcessError> {
        Ok(Payload::empty())
    }
}

impl<T: Send + 'static, E: Into<ProcessError> + Send + 'static> Outcome for Result<T, E> {
    fn into_outcome(self) -> Result<Payload, ProcessError> {
        self.map(Payload::new).map_err(Into::into)
    }
}

/// The result of a process that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done<T>(pub T);

impl<T: Send + 'static> Outcome for Done<T> {
    fn into_outcome(self) -> Result<Payload, ProcessError> {
        Ok(Payload::new(self.0))
    }
}

/// The body of a process that is a future.
pub struct Polls<M, F, Fut> {
    make: F,
    types: PhantomData<fn(M) -> Fut>,
}

impl<M, F, Fut> fmt::Debug for Polls<M, F, Fut> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Polls").finish_non_exhaustive()
    }
}

impl<M, F, Fut> Body for Polls<M, F, Fut>
where
    M: Send + 'static,
    F: FnOnce(Cx<M>) -> Fut + Send + 'static,
    Fut: Future<Output: Outcome> + Send + 'static,
{
}

impl<M, F, Fut> sealed::Sealed for Polls<M, F, Fut>
where
    M: Send + 'static,
    F: FnOnce(Cx<M>) -> Fut + Send + 'static,
    Fut: Future<Output: Outcome> + Send + 'static,
{
    fn kind(&self) -> &'static str {
        std::any::type_name::<F>()
    }

    #[allow(private_interfaces, reason = "as in the trait")]
    fn run(self, life: Life) {
        let runtime = life.host().runtime().clone();
        runtime.spawn(Poller {
            stage: Stage::Make(self.make),
            life,
            message: PhantomData,
        });
    }
}

impl Host {
    /// A process that is a future, made of a closure on the scheduler.
    ///
    /// ```
    /// use tress_actor::{Cx, Host};
    ///
    /// # #[tress::main]
    /// # async fn main() {
    /// let host = Host::builder("main").start().unwrap();
    /// let (pid, exit) = host
    ///     .future(|mut cx: Cx<u32>| async move {
    ///         match cx.recv().await {
    ///             Some(n) => n.checked_mul(2).ok_or("too large"),
    ///             None => Ok(0),
    ///         }
    ///     })
    ///     .exec()
    ///     .unwrap();
    /// host.send(pid, 21_u32).unwrap();
    /// assert_eq!(exit.await.into_result().unwrap().downcast::<u32>().unwrap(), 42);
    /// # }
    /// ```
    pub fn future<M, F, Fut>(&self, make: F) -> Spawn<'_, Polls<M, F, Fut>>
    where
        M: Send + 'static,
        F: FnOnce(Cx<M>) -> Fut + Send + 'static,
        Fut: Future<Output: Outcome> + Send + 'static,
    {
        Spawn {
            host: self,
            body: Polls {
                make,
                types: PhantomData,
            },
            options: Options::default(),
        }
    }

    /// Starts a process that is a future. Short for `host.future(make).spawn()`.
    ///
    /// # Errors
    /// As [`Spawn::spawn`].
    pub fn spawn<M, F, Fut>(&self, make: F) -> Result<Pid, crate::SpawnError>
    where
        M: Send + 'static,
        F: FnOnce(Cx<M>) -> Fut + Send + 'static,
        Fut: Future<Output: Outcome> + Send + 'static,
    {
        self.future(make).spawn()
    }
}

/// The task of a process that is a future.
struct Poller<M, F, Fut> {
    stage: Stage<F, Fut>,
    life: Life,
    message: PhantomData<fn() -> M>,
}

/// Ended before the process does, so that what the future holds is given back by then.
enum Stage<F, Fut> {
    Make(F),
    Run(Fut),
    Ended,
}

/// Most polls of one turn.
const TURN: usize = 4;

/// Why a turn is over.
enum Turn {
    Rest,
    Tail,
    End(ExitReason, Payload),
}

impl<M, F, Fut> Poller<M, F, Fut>
where
    M: Send + 'static,
    F: FnOnce(Cx<M>) -> Fut,
    Fut: Future<Output: Outcome>,
{
    /// The future begins to exist.
    fn make(stage: Pin<&mut Stage<F, Fut>>, life: &Life) -> Result<(), ExitReason> {
        // SAFETY: what is moved out is the function, which is not pinned; a future moves in before
        // it is.
        let stage = unsafe { stage.get_unchecked_mut() };
        if let Stage::Make(make) = std::mem::replace(stage, Stage::Ended) {
            let cx = Cx::new(life.host().clone(), life.pid());
            let made = catch_unwind(AssertUnwindSafe(|| make(cx)));
            *stage = Stage::Run(made.map_err(ExitReason::panicked)?);
        }
        Ok(())
    }

    fn turn(mut stage: Pin<&mut Stage<F, Fut>>, life: &Life, cx: &mut Context<'_>) -> Turn {
        let slot = life.slot();
        let killed = || Turn::End(slot.killed_for(), Payload::empty());
        if slot.start() == Start::Killed {
            return killed();
        }
        if matches!(*stage, Stage::Make(_)) {
            slot.register(cx.waker());
            if let Err(reason) = Self::make(stage.as_mut(), life) {
                return Turn::End(reason, Payload::empty());
            }
        }
        // SAFETY: the future is not moved.
        let Stage::Run(future) = (unsafe { stage.get_unchecked_mut() }) else {
            panic!("a process that has ended is not polled again");
        };
        // SAFETY: it stays where it is until it is dropped in place.
        let mut future = unsafe { Pin::new_unchecked(future) };
        for _ in 0..TURN {
            slot.count_step();
            let poll = || future.as_mut().poll(cx).map(Outcome::into_outcome);
            match catch_unwind(AssertUnwindSafe(poll)) {
                Ok(Poll::Pending) => {}
                Ok(Poll::Ready(Ok(result))) => return Turn::End(ExitReason::Normal, result),
                Ok(Poll::Ready(Err(error))) => {
                    return Turn::End(ExitReason::failed(error), Payload::empty());
                }
                Err(panic) => return Turn::End(ExitReason::panicked(panic), Payload::empty()),
            }
            match slot.rest(Pause::Idle) {
                Rest::Resting => return Turn::Rest,
                Rest::Awake => {}
                Rest::Killed => return killed(),
            }
        }
        Turn::Tail
    }
}

impl<M, F, Fut> Future for Poller<M, F, Fut>
where
    M: Send + 'static,
    F: FnOnce(Cx<M>) -> Fut,
    Fut: Future<Output: Outcome>,
{
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: the stage is not moved; the life need not be pinned.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: as above.
        let mut stage = unsafe { Pin::new_unchecked(&mut this.stage) };
        match Self::turn(stage.as_mut(), &this.life, cx) {
            Turn::Rest => Poll::Pending,
            Turn::Tail => {
                this.life.slot().requeue();
                to_the_tail(cx)
            }
            Turn::End(reason, result) => {
                let dropped = catch_unwind(AssertUnwindSafe(|| stage.set(Stage::Ended)));
                this.life.end(reason.unless_panicked(dropped), result);
                Poll::Ready(())
            }
        }
    }
}
