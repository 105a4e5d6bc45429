//! Processes that are futures.

use crate::event::{Event, Message, SystemEvent};
use crate::exit::{ExitReason, ProcessError};
use crate::host::spawn::{Body, Options, sealed};
use crate::host::{Host, Spawn};
use crate::payload::Payload;
use crate::pid::Pid;
use crate::run::{BATCH, Life, to_the_tail};
use crate::slot::{Pause, Rest, Start};
use crate::topic::Topic;
use std::collections::VecDeque;
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
    mail: VecDeque<Event>,
    sender: Option<Pid>,
    message: PhantomData<fn() -> M>,
}

impl<M: Send + 'static> Cx<M> {
    fn new(host: Host, pid: Pid) -> Cx<M> {
        Cx {
            host,
            pid,
            task: task::try_id(),
            mail: VecDeque::new(),
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
        let budget = ready!(coop::poll_proceed(cx));
        loop {
            let Some(event) = self.mail.pop_front() else {
                // Elsewhere the process might have ended, and its place be another's.
                assert_eq!(
                    self.task,
                    task::try_id(),
                    "only the process itself can wait for its messages"
                );
                let slot = self.host.taken_slot(self.pid);
                let _ = slot.drain(&mut self.mail, BATCH);
                if self.mail.is_empty() && slot.await_events(cx.waker()) {
                    return Poll::Pending;
                }
                continue;
            };
            let Event::Message(message) = event else {
                // Nobody yields commands here.
                continue;
            };
            let Message {
                source,
                payload,
                topic,
            } = message;
            let mail = if topic == Topic::EVENTS {
                payload.downcast().map(Mail::Event)
            } else {
                payload.downcast().map(Mail::Message)
            };
            match mail {
                Ok(mail) => {
                    self.sender = source;
                    budget.made_progress();
                    return Poll::Ready(mail);
                }
                Err(payload) => {
                    let message = Message {
                        source,
                        payload,
                        topic,
                    };
                    self.host.undelivered(self.pid, Event::Message(message));
                }
            }
        }
    }
}

impl<M> Drop for Cx<M> {
    fn drop(&mut self) {
        for event in self.mail.drain(..) {
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
        let cx_host = life.host().clone();
        let pid = life.pid();
        let make = self.make;
        let future = async move {
            let cx = Cx::new(cx_host, pid);
            make(cx).await
        };
        runtime.spawn(Poller {
            future: Some(future),
            life,
            registered: false,
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
struct Poller<Fut> {
    /// Dropped before the process ends, so that what it holds is given back by then.
    future: Option<Fut>,
    life: Life,
    registered: bool,
}

/// Most polls of one turn.
const TURN: usize = 4;

impl<Fut: Future<Output: Outcome>> Poller<Fut> {
    fn end(self: Pin<&mut Self>, reason: ExitReason, result: Payload) -> Poll<()> {
        // SAFETY: the future is dropped in place and never moved.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: likewise.
        let mut future = unsafe { Pin::new_unchecked(&mut this.future) };
        let dropped = catch_unwind(AssertUnwindSafe(|| future.set(None)));
        let reason = match dropped {
            Ok(()) => reason,
            Err(panic) => ExitReason::panicked(panic),
        };
        this.life.end(reason, result);
        Poll::Ready(())
    }
}

impl<Fut: Future<Output: Outcome>> Future for Poller<Fut> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: the future is not moved; the other fields need not be pinned.
        let this = unsafe { self.as_mut().get_unchecked_mut() };
        // SAFETY: as above.
        let mut future = unsafe { Pin::new_unchecked(&mut this.future) };
        let slot = this.life.slot();
        if slot.start() == Start::Killed {
            let reason = slot.killed_for();
            return self.end(reason, Payload::empty());
        }
        if !std::mem::replace(&mut this.registered, true) {
            slot.register(cx.waker());
        }
        for _ in 0..TURN {
            slot.count_step();
            let Some(running) = future.as_mut().as_pin_mut() else {
                return Poll::Ready(());
            };
            match catch_unwind(AssertUnwindSafe(|| running.poll(cx))) {
                Ok(Poll::Pending) => {}
                Ok(Poll::Ready(outcome)) => {
                    return match outcome.into_outcome() {
                        Ok(result) => self.end(ExitReason::Normal, result),
                        Err(error) => self.end(ExitReason::failed(error), Payload::empty()),
                    };
                }
                Err(panic) => return self.end(ExitReason::panicked(panic), Payload::empty()),
            }
            match slot.rest(Pause::Idle) {
                Rest::Resting => return Poll::Pending,
                Rest::Awake => {}
                Rest::Killed => {
                    let reason = slot.killed_for();
                    return self.end(reason, Payload::empty());
                }
            }
        }
        slot.requeue();
        to_the_tail(cx)
    }
}
