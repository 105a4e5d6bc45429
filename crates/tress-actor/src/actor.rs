//! Processes with one type of message: a trait to write them by, and addresses that know the type.

use crate::cx::Cx;
use crate::error::{SendError, SendFailure, SpawnError};
use crate::event::SystemEvent;
use crate::exit::ProcessError;
use crate::host::spawn::Body;
use crate::host::{Host, Sending, Spawn};
use crate::pid::Pid;
use crate::slot::Parcel;
use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::time::Duration;
use tress::sync::oneshot;

/// A process that handles messages of one type, one after the other.
///
/// ```
/// use tress_actor::{Actor, Cx, Flow, Host, ProcessError, Reply};
///
/// #[derive(Default)]
/// struct Counter(u64);
///
/// enum Msg {
///     Add(u64),
///     Get(Reply<u64>),
/// }
///
/// impl Actor for Counter {
///     type Msg = Msg;
///
///     async fn handle(&mut self, msg: Msg, _: &mut Cx<Msg>) -> Result<Flow, ProcessError> {
///         match msg {
///             Msg::Add(n) => self.0 += n,
///             Msg::Get(reply) => reply.send(self.0),
///         }
///         Ok(Flow::Continue)
///     }
/// }
///
/// #[tress::main]
/// async fn main() {
///     let host = Host::builder("main").start().unwrap();
///     let counter = host.spawn_actor(Counter::default()).unwrap();
///     counter.cast(Msg::Add(40)).unwrap();
///     counter.cast(Msg::Add(2)).unwrap();
///     assert_eq!(counter.ask(Msg::Get).await.unwrap(), 42);
/// }
/// ```
pub trait Actor: Send + Sized + 'static {
    /// What it is sent.
    type Msg: Send + 'static;

    /// It has started, and handles its first message next.
    ///
    /// # Errors
    /// Ends it.
    fn started(
        &mut self,
        cx: &mut Cx<Self::Msg>,
    ) -> impl Future<Output = Result<(), ProcessError>> + Send {
        let _ = cx;
        async { Ok(()) }
    }

    /// Handles a message. Others wait meanwhile.
    ///
    /// # Errors
    /// Ends it.
    fn handle(
        &mut self,
        msg: Self::Msg,
        cx: &mut Cx<Self::Msg>,
    ) -> impl Future<Output = Result<Flow, ProcessError>> + Send;

    /// Something happened to a process that it is linked to or monitors, or somebody asks it to
    /// stop, which it does if this is not written otherwise.
    ///
    /// # Errors
    /// Ends it.
    fn event(
        &mut self,
        event: SystemEvent,
        cx: &mut Cx<Self::Msg>,
    ) -> impl Future<Output = Result<Flow, ProcessError>> + Send {
        let _ = cx;
        async move {
            Ok(match event {
                SystemEvent::Cancel { .. } => Flow::Stop,
                _ => Flow::Continue,
            })
        }
    }

    /// It stops in good order.
    fn stopped(&mut self, cx: &mut Cx<Self::Msg>) -> impl Future<Output = ()> + Send {
        let _ = cx;
        async {}
    }
}

/// Whether an [`Actor`] goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// Yes.
    Continue,
    /// No: it ends, with a normal exit.
    Stop,
}

/// The life of an actor, as a future.
#[allow(
    clippy::manual_async_fn,
    reason = "the parameters of an async function lie in its future twice"
)]
fn live<A: Actor>(
    mut actor: A,
    mut cx: Cx<A::Msg>,
) -> impl Future<Output = Result<(), ProcessError>> + Send {
    async move {
        actor.started(&mut cx).await?;
        loop {
            let flow = match poll_fn(|task| cx.poll_mail(task)).await {
                Ok(msg) => actor.handle(msg, &mut cx).await?,
                // Rare, and larger than most messages.
                Err(event) => Box::pin(actor.event(*event, &mut cx)).await?,
            };
            if flow == Flow::Stop {
                actor.stopped(&mut cx).await;
                return Ok(());
            }
        }
    }
}

impl Host {
    /// A process that is an [`Actor`]. Its address is made by [`actor_ref`](Host::actor_ref).
    pub fn actor<A: Actor>(&self, actor: A) -> Spawn<'_, impl Body + use<A>> {
        self.future(move |cx| live(actor, cx))
    }

    /// Starts an actor.
    ///
    /// # Errors
    /// As [`Spawn::spawn`].
    pub fn spawn_actor<A: Actor>(&self, actor: A) -> Result<ActorRef<A::Msg>, SpawnError> {
        let pid = self.actor(actor).spawn()?;
        Ok(self.actor_ref(pid))
    }

    /// An address that sends messages of one type. What the process does not take is reported as
    /// undeliverable.
    pub fn actor_ref<M: Send + 'static>(&self, pid: Pid) -> ActorRef<M> {
        ActorRef {
            host: self.clone(),
            pid,
            message: PhantomData,
        }
    }
}

/// The address of a process that takes messages of one type.
pub struct ActorRef<M> {
    host: Host,
    pid: Pid,
    message: PhantomData<fn(M)>,
}

impl<M: Send + 'static> ActorRef<M> {
    /// The process.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Its host.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Does it live?
    pub fn is_alive(&self) -> bool {
        self.host.is_alive(self.pid)
    }

    /// Sends a message, without waiting for room or for an answer.
    ///
    /// # Errors
    /// As [`Host::send`].
    #[inline]
    pub fn cast(&self, msg: M) -> Result<(), SendError> {
        self.host.send(self.pid, msg)
    }

    /// Sends a message, and waits for room.
    ///
    /// # Cancel safety
    /// As [`Host::send_waiting`].
    #[inline]
    pub fn send(&self, msg: M) -> Sending<'_> {
        self.host.send_parcel(self.pid, Parcel::of(msg))
    }

    /// Sends a message with a [`Reply`] in it, and waits for the answer.
    ///
    /// # Errors
    /// If the message could not be sent, or the process ended or dropped the reply.
    ///
    /// # Cancel safety
    /// Once the message is sent it stays so; the answer goes nowhere.
    pub async fn ask<T: Send + 'static>(
        &self,
        make: impl FnOnce(Reply<T>) -> M,
    ) -> Result<T, AskError> {
        let (sender, receiver) = oneshot::channel();
        let sent = self.send(make(Reply(sender))).await;
        sent.map_err(|error| AskError::Unsent(error.why()))?;
        receiver.await.map_err(|_| AskError::Unanswered(self.pid))
    }

    /// As [`ask`](ActorRef::ask), but not for longer than `limit`.
    ///
    /// # Errors
    /// As [`ask`](ActorRef::ask), and if the time is up.
    ///
    /// # Cancel safety
    /// As [`ask`](ActorRef::ask).
    pub async fn ask_timeout<T: Send + 'static>(
        &self,
        limit: Duration,
        make: impl FnOnce(Reply<T>) -> M,
    ) -> Result<T, AskError> {
        match tress::time::timeout(limit, self.ask(make)).await {
            Ok(answer) => answer,
            Err(_) => Err(AskError::TimedOut(self.pid, limit)),
        }
    }
}

impl<M> Clone for ActorRef<M> {
    fn clone(&self) -> Self {
        ActorRef {
            host: self.host.clone(),
            pid: self.pid,
            message: PhantomData,
        }
    }
}

impl<M> fmt::Debug for ActorRef<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ActorRef").field(&self.pid).finish()
    }
}

/// The way back to who asked.
#[derive(Debug)]
pub struct Reply<T>(oneshot::Sender<T>);

impl<T> Reply<T> {
    /// Answers. Nothing happens if nobody waits any more.
    pub fn send(self, answer: T) {
        let _ = self.0.send(answer);
    }

    /// Has who asked given up?
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AskError {
    /// The question was not sent.
    Unsent(SendFailure),
    /// The process ended, or dropped the reply.
    Unanswered(Pid),
    /// The answer did not come in time.
    TimedOut(Pid, Duration),
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AskError::Unsent(why) => why.fmt(f),
            AskError::Unanswered(pid) => {
                write!(f, "{pid} ended, or dropped the reply, before it answered")
            }
            AskError::TimedOut(pid, limit) => write!(
                f,
                "{pid} did not answer within {limit:?}: it is busy or waits for something itself"
            ),
        }
    }
}

impl Error for AskError {}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    struct Sum(u64);

    impl Actor for Sum {
        type Msg = (u64, u64);

        async fn handle(
            &mut self,
            (a, b): (u64, u64),
            _: &mut Cx<(u64, u64)>,
        ) -> Result<Flow, ProcessError> {
            self.0 += a + b;
            Ok(Flow::Continue)
        }
    }

    /// What waits for messages has no room for the system's events in it: 512 bytes for an idle process depend
    /// on that (bench's `process/memory`).
    #[test]
    fn the_life_of_a_small_actor_is_small() {
        fn size<A: Actor, F>(_: impl Fn(A, Cx<A::Msg>) -> F) -> usize {
            size_of::<F>()
        }
        let size = size::<Sum, _>(live);
        assert!(size <= 160, "{size} bytes");
    }
}
