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
/// Its life: [`started`](Actor::started) once, then [`handle`](Actor::handle) for each message and
/// [`event`](Actor::event) for each event of the system, then [`stopped`](Actor::stopped) if it stops by
/// [`Flow::Stop`]. An error or a panic ends it at once, without `stopped`.
///
/// Start it with [`Host::spawn_actor`], or with [`Host::actor`] to set options.
///
/// # Examples
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
    /// The type of its messages. Messages of other types are reported as
    /// [undeliverable](crate::Lifecycle::on_undeliverable).
    type Msg: Send + 'static;

    /// Prepares the actor before its first message. Does nothing by default.
    ///
    /// # Errors
    /// An error ends the actor with [`ExitReason::Failed`](crate::ExitReason::Failed).
    fn started(
        &mut self,
        cx: &mut Cx<Self::Msg>,
    ) -> impl Future<Output = Result<(), ProcessError>> + Send {
        let _ = cx;
        async { Ok(()) }
    }

    /// Handles a message. Further messages wait in the mailbox until it returns.
    ///
    /// # Errors
    /// An error ends the actor with [`ExitReason::Failed`](crate::ExitReason::Failed).
    fn handle(
        &mut self,
        msg: Self::Msg,
        cx: &mut Cx<Self::Msg>,
    ) -> impl Future<Output = Result<Flow, ProcessError>> + Send;

    /// Handles an event of the system: a process that it monitors or is linked to has ended, a group that it
    /// watches has changed, or it is asked to stop.
    ///
    /// By default it stops when it is asked to, and ignores everything else.
    ///
    /// # Errors
    /// An error ends the actor with [`ExitReason::Failed`](crate::ExitReason::Failed).
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

    /// Cleans up after [`Flow::Stop`]. Does nothing by default.
    ///
    /// Not called if the actor fails, panics or is terminated: put what must always happen into `Drop`.
    fn stopped(&mut self, cx: &mut Cx<Self::Msg>) -> impl Future<Output = ()> + Send {
        let _ = cx;
        async {}
    }
}

/// Whether an [`Actor`] goes on after a message or an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// It goes on.
    Continue,
    /// It stops: [`Actor::stopped`] runs, and the process ends normally.
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
                // Boxed, because events are rare and larger than most messages.
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
    /// Prepares to start an [`Actor`], with options. [`actor_ref`](Host::actor_ref) makes its address.
    ///
    /// # Examples
    /// ```
    /// use tress_actor::{Actor, Capacity, Cx, Flow, Host, Overflow, ProcessError};
    ///
    /// struct Printer;
    ///
    /// impl Actor for Printer {
    ///     type Msg = String;
    ///
    ///     async fn handle(&mut self, text: String, _: &mut Cx<String>) -> Result<Flow, ProcessError> {
    ///         println!("{text}");
    ///         Ok(Flow::Continue)
    ///     }
    /// }
    ///
    /// # #[tress::main]
    /// # async fn main() {
    /// let host = Host::builder("main").start().unwrap();
    /// let printer = host.actor(Printer).name("printer").mailbox(Capacity::new(8, Overflow::Reject));
    /// let printer = host.actor_ref::<String>(printer.spawn().unwrap());
    /// printer.cast("hello".to_string()).unwrap();
    /// # }
    /// ```
    pub fn actor<A: Actor>(&self, actor: A) -> Spawn<'_, impl Body + use<A>> {
        self.future(move |cx| live(actor, cx))
    }

    /// Starts an [`Actor`] with the default options and returns its address.
    ///
    /// # Errors
    /// As for [`Spawn::spawn`].
    ///
    /// # Examples
    /// ```
    /// use tress_actor::{Actor, Cx, Flow, Host, ProcessError};
    ///
    /// struct Stopper;
    ///
    /// impl Actor for Stopper {
    ///     type Msg = ();
    ///
    ///     async fn handle(&mut self, (): (), _: &mut Cx<()>) -> Result<Flow, ProcessError> {
    ///         Ok(Flow::Stop)
    ///     }
    /// }
    ///
    /// # #[tress::main]
    /// # async fn main() {
    /// let host = Host::builder("main").start().unwrap();
    /// let stopper = host.spawn_actor(Stopper).unwrap();
    /// let ended = host.watch(stopper.pid());
    /// stopper.cast(()).unwrap();
    /// assert!(!ended.await.is_abnormal());
    /// # }
    /// ```
    pub fn spawn_actor<A: Actor>(&self, actor: A) -> Result<ActorRef<A::Msg>, SpawnError> {
        let pid = self.actor(actor).spawn()?;
        Ok(self.actor_ref(pid))
    }

    /// Returns an address that sends messages of type `M` to a process.
    ///
    /// The type is not checked here. Messages that the process does not take are reported as
    /// [undeliverable](crate::Lifecycle::on_undeliverable).
    pub fn actor_ref<M: Send + 'static>(&self, pid: Pid) -> ActorRef<M> {
        ActorRef {
            host: self.clone(),
            pid,
            message: PhantomData,
        }
    }
}

/// The address of a process that takes messages of type `M`.
///
/// Returned by [`Host::spawn_actor`] and [`Host::actor_ref`]. Cloning it is cheap; it does not keep the process
/// alive.
///
/// # Examples
/// ```
/// use tress_actor::{Cx, Host, Reply};
///
/// # #[tress::main]
/// # async fn main() {
/// let host = Host::builder("main").start().unwrap();
/// let echo = host.spawn(|mut cx: Cx<(u8, Reply<u8>)>| async move {
///     while let Some((n, reply)) = cx.recv().await {
///         reply.send(n);
///     }
/// });
/// let echo = host.actor_ref::<(u8, Reply<u8>)>(echo.unwrap());
/// assert_eq!(echo.ask(|reply| (7, reply)).await.unwrap(), 7);
/// # }
/// ```
pub struct ActorRef<M> {
    host: Host,
    pid: Pid,
    message: PhantomData<fn(M)>,
}

impl<M: Send + 'static> ActorRef<M> {
    /// Returns the PID of the process.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Returns the host that the address sends through.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Returns `true` if the process is alive; see [`Host::is_alive`].
    pub fn is_alive(&self) -> bool {
        self.host.is_alive(self.pid)
    }

    /// Sends a message without waiting for room or for an answer.
    ///
    /// # Errors
    /// As for [`Host::send`].
    #[inline]
    pub fn cast(&self, msg: M) -> Result<(), SendError> {
        self.host.send(self.pid, msg)
    }

    /// Sends a message, and waits for room in the mailbox.
    ///
    /// # Errors
    /// As for [`Host::send_waiting`].
    ///
    /// # Cancel safety
    /// As for [`Host::send_waiting`]: if the future is dropped before it is ready, the message is not sent.
    #[inline]
    pub fn send(&self, msg: M) -> Sending<'_> {
        self.host.send_parcel(self.pid, Parcel::of(msg))
    }

    /// Sends a message with a [`Reply`] in it, and waits for the answer.
    ///
    /// `make` puts the reply into a message. There is no limit of time; see
    /// [`ask_timeout`](ActorRef::ask_timeout).
    ///
    /// # Errors
    /// - [`AskError::Unsent`] if the message could not be sent.
    /// - [`AskError::Unanswered`] if the process has ended, or has dropped the reply.
    ///
    /// # Cancel safety
    /// If the future is dropped while it waits for room, nothing is sent. Afterwards the message stays sent,
    /// and the answer is dropped.
    pub async fn ask<T: Send + 'static>(
        &self,
        make: impl FnOnce(Reply<T>) -> M,
    ) -> Result<T, AskError> {
        let (sender, receiver) = oneshot::channel();
        let sent = self.send(make(Reply(sender))).await;
        sent.map_err(|error| AskError::Unsent(error.why()))?;
        receiver.await.map_err(|_| AskError::Unanswered(self.pid))
    }

    /// Sends a message like [`ask`](ActorRef::ask), and waits for at most `limit`.
    ///
    /// # Errors
    /// As for [`ask`](ActorRef::ask), and [`AskError::TimedOut`] after `limit`. The message may have been
    /// handled all the same.
    ///
    /// # Cancel safety
    /// As for [`ask`](ActorRef::ask).
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use tress_actor::{AskError, Cx, Host, Reply};
    ///
    /// # #[tress::main]
    /// # async fn main() {
    /// let host = Host::builder("main").start().unwrap();
    /// // Keeps every reply, and answers none.
    /// let pid = host.spawn(|mut cx: Cx<Reply<u8>>| async move {
    ///     let mut kept = Vec::new();
    ///     while let Some(reply) = cx.recv().await {
    ///         kept.push(reply);
    ///     }
    /// }).unwrap();
    /// let silent = host.actor_ref::<Reply<u8>>(pid);
    /// let answer = silent.ask_timeout(Duration::from_millis(5), |reply| reply).await;
    /// assert!(matches!(answer, Err(AskError::TimedOut(..))));
    /// # }
    /// ```
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

/// The way back to a task or process that [asks](ActorRef::ask).
///
/// Dropping it without an answer ends the wait with [`AskError::Unanswered`].
///
/// # Examples
/// ```
/// use tress_actor::{AskError, Cx, Host, Reply};
///
/// # #[tress::main]
/// # async fn main() {
/// let host = Host::builder("main").start().unwrap();
/// let pid = host.spawn(|mut cx: Cx<Reply<u8>>| async move {
///     cx.recv().await.unwrap().send(7);
///     drop(cx.recv().await);
/// }).unwrap();
/// let process = host.actor_ref::<Reply<u8>>(pid);
/// assert_eq!(process.ask(|reply| reply).await, Ok(7));
/// assert_eq!(process.ask(|reply| reply).await, Err(AskError::Unanswered(pid)));
/// # }
/// ```
#[derive(Debug)]
pub struct Reply<T>(oneshot::Sender<T>);

impl<T> Reply<T> {
    /// Sends the answer. It is dropped if the other side does not wait any more.
    pub fn send(self, answer: T) {
        let _ = self.0.send(answer);
    }

    /// Returns `true` if the other side does not wait any more, so that an answer need not be computed.
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

/// Why [`ActorRef::ask`] has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AskError {
    /// The message was not sent.
    Unsent(SendFailure),
    /// The process has ended, or has dropped the [`Reply`].
    Unanswered(Pid),
    /// The answer did not come within this time.
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
