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

/// What [`Cx::next`] returns: a message, or an event of the system.
///
/// # Examples
/// ```
/// use tress_actor::{Cx, Done, Host, Mail, SystemEvent};
///
/// # #[tress::main]
/// # async fn main() {
/// let host = Host::builder("main").start().unwrap();
/// let child = host.spawn(|_: Cx<()>| async { Err::<(), _>("failed") }).unwrap();
/// let (_, exit) = host.future(move |mut cx: Cx<()>| async move {
///     cx.host().monitor(cx.pid(), child).unwrap();
///     match cx.next().await {
///         Mail::Event(SystemEvent::Down { pid, .. }) => Done(pid == child),
///         _ => Done(false),
///     }
/// }).exec().unwrap();
/// assert!(exit.await.into_result().unwrap().downcast::<bool>().unwrap());
/// # }
/// ```
#[derive(Debug)]
pub enum Mail<M> {
    /// A message.
    Message(M),
    /// An event of the system.
    Event(SystemEvent),
}

/// The context of a process that is a future or an [`Actor`](crate::Actor): its PID, its host and its mailbox.
///
/// It belongs to the process that it was given to: no other task can wait for messages with it. Messages that
/// were taken from the mailbox but not received when it is dropped are reported as
/// [undeliverable](crate::Lifecycle::on_undeliverable).
///
/// # Examples
/// ```
/// use tress_actor::{Cx, Host};
///
/// # #[tress::main]
/// # async fn main() {
/// let host = Host::builder("main").start().unwrap();
/// let (pid, exit) = host.future(|mut cx: Cx<u32>| async move {
///     while let Some(n) = cx.recv().await {
///         println!("{} received {n} from {:?}", cx.pid(), cx.sender());
///     }
/// }).exec().unwrap();
/// host.send(pid, 7_u32).unwrap();
/// host.cancel(pid, tress_actor::ExitReason::Shutdown).unwrap();
/// exit.await.into_result().unwrap();
/// # }
/// ```
pub struct Cx<M> {
    host: Host,
    pid: Pid,
    task: Option<task::Id>,
    /// Events that were taken from the mailbox and not yet received.
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

    /// Returns the PID of the process itself.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Returns the host of the process.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Returns the sender of the message or event that was received last, if it was a process.
    pub fn sender(&self) -> Option<Pid> {
        self.sender
    }

    /// Sends a value to another process without waiting, with this process as its sender.
    ///
    /// # Errors
    /// As for [`Host::send`].
    pub fn send<T: Send + 'static>(&self, to: Pid, value: T) -> Result<(), crate::SendError> {
        self.host
            .send_message(to, Message::new(value).from(self.pid))
    }

    /// Waits for the next message. Returns `None` when the process is asked to stop.
    ///
    /// Other events of the system are skipped; [`next`](Cx::next) returns them too. A message of another type
    /// is reported as [undeliverable](crate::Lifecycle::on_undeliverable) and skipped.
    ///
    /// # Cancel safety
    /// Cancel safe: a message is taken only by the poll that returns it. An event that was skipped stays
    /// skipped.
    ///
    /// # Panics
    /// If a task other than the process polls it.
    pub async fn recv(&mut self) -> Option<M> {
        loop {
            match self.next().await {
                Mail::Message(message) => return Some(message),
                Mail::Event(SystemEvent::Cancel { .. }) => return None,
                Mail::Event(_) => {}
            }
        }
    }

    /// Waits for the next message or event of the system.
    ///
    /// A message of another type is reported as [undeliverable](crate::Lifecycle::on_undeliverable) and
    /// skipped.
    ///
    /// # Cancel safety
    /// Cancel safe: a message or an event is taken only by the poll that returns it.
    ///
    /// # Panics
    /// If a task other than the process polls it.
    pub async fn next(&mut self) -> Mail<M> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Polls for the next message or event; see [`next`](Cx::next).
    ///
    /// # Panics
    /// If a task other than the process polls it.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Mail<M>> {
        self.poll_mail(cx).map(|mail| match mail {
            Ok(message) => Mail::Message(message),
            Err(event) => Mail::Event(*event),
        })
    }

    /// As `poll_next`. The event is boxed, so that a future that waits for messages needs no room for it.
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
            // In another task the process might have ended, and its slot belong to the next one.
            assert_eq!(
                self.task,
                task::try_id(),
                "only the process itself can wait for its messages"
            );
            let (host, mail) = (&self.host, &mut self.mail);
            host.drain_or_wait(self.pid, mail, BATCH, cx.waker());
            if mail.is_empty() {
                host.taken_slot(self.pid).is_waited_for();
                return Poll::Pending;
            }
        }
    }

    /// Returns an event of the system; reports anything else as undeliverable. There are no completions, since
    /// futures yield no commands.
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

/// What a process that is a future may return: nothing, a `Result`, or a value in [`Done`].
///
/// # Examples
/// ```
/// use tress_actor::{Done, Outcome};
///
/// assert!(().into_outcome().is_ok());
/// assert!(Err::<(), _>("no paper").into_outcome().is_err());
/// assert_eq!(Done(7).into_outcome().unwrap().downcast::<i32>().unwrap(), 7);
/// ```
pub trait Outcome: Send + 'static {
    /// Converts the value to the result of the process.
    ///
    /// # Errors
    /// The error that the process failed with.
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

/// The result of a process that is a future, if it is neither `()` nor a `Result`.
///
/// # Examples
/// ```
/// use tress_actor::{Cx, Done, Host};
///
/// # #[tress::main]
/// # async fn main() {
/// let host = Host::builder("main").start().unwrap();
/// let (_, exit) = host.future(|_: Cx<()>| async { Done(6 * 7) }).exec().unwrap();
/// assert_eq!(exit.await.into_result().unwrap().downcast::<i32>().unwrap(), 42);
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done<T>(pub T);

impl<T: Send + 'static> Outcome for Done<T> {
    fn into_outcome(self) -> Result<Payload, ProcessError> {
        Ok(Payload::new(self.0))
    }
}

/// The body of a process that is a future; the type parameter of the [`Spawn`] that [`Host::future`] returns.
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
    /// Prepares to start a process that is a future, with options.
    ///
    /// `make` is called on the scheduler, not here, and gets the [`Cx`] of the process. What the future returns
    /// is its [`Outcome`].
    ///
    /// # Examples
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

    /// Starts a process that is a future, with the default options. Short for `host.future(make).spawn()`.
    ///
    /// # Errors
    /// As for [`Spawn::spawn`].
    ///
    /// # Examples
    /// ```
    /// use tress_actor::{Cx, Host};
    ///
    /// # #[tress::main]
    /// # async fn main() {
    /// let host = Host::builder("main").start().unwrap();
    /// let pid = host.spawn(|mut cx: Cx<String>| async move {
    ///     while let Some(text) = cx.recv().await {
    ///         println!("{text}");
    ///     }
    /// }).unwrap();
    /// host.send(pid, "hello".to_string()).unwrap();
    /// # }
    /// ```
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

/// Set to `Ended` before the process ends, so that everything the future holds is dropped by then.
enum Stage<F, Fut> {
    Make(F),
    Run(Fut),
    Ended,
}

/// Maximum number of polls in one turn.
const TURN: usize = 4;

/// How a turn ends.
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
    /// Creates the future.
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
