//! The task of a process: steps it, and ends it.

use crate::command::{Answer, Call, Operations};
use crate::contain::{contain, discard};
use crate::event::{Completion, Event};
use crate::exit::{Exit, ExitReason};
use crate::host::Host;
use crate::payload::Payload;
use crate::pid::Pid;
use crate::process::{Events, Process, ProcessContext, Status, StepOutput, Yield};
use crate::slot::{Chain, Left, Pause, Rest, Slot, Start};
use std::any::Any;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use tress::sync::oneshot;

/// Maximum number of events that one step takes from the mailbox.
pub(crate) const BATCH: usize = 64;

/// Maximum number of steps in one turn; a process that has more to do goes to the tail of the queue.
const TURN: usize = 8;

/// The life of a process, from its start to its end, which comes at the latest when this is dropped.
pub(crate) struct Life {
    host: Host,
    pid: Pid,
    waiter: Option<oneshot::Sender<Exit>>,
    ended: bool,
}

impl Life {
    pub(crate) fn new(host: Host, pid: Pid, waiter: Option<oneshot::Sender<Exit>>) -> Life {
        Life {
            host,
            pid,
            waiter,
            ended: false,
        }
    }

    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    #[inline]
    pub(crate) fn slot(&self) -> &Slot {
        self.host.taken_slot(self.pid)
    }

    pub(crate) fn end(&mut self, reason: ExitReason, result: Payload) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        self.host.complete(self.pid, &reason);
        let exit = Exit {
            pid: self.pid,
            reason,
            result,
        };
        let waiter = self.waiter.take();
        // It fails if nothing waits for the exit any more.
        contain(|| waiter.map(|waiter| drop(waiter.send(exit))));
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.end(ExitReason::RuntimeGone, Payload::empty());
    }
}

/// The task of a [`Process`].
pub(crate) struct Stepper {
    life: Life,
    process: Box<dyn Process>,
    /// Method and input, until it is initialised.
    begin: Option<Box<(Box<str>, Payload)>>,
    /// Events taken from the mailbox; a step may leave some.
    events: Chain,
    operations: Operations,
}

/// What comes after a step.
enum Next {
    Tail,
    Pause(Pause),
    End(ExitReason, Payload),
}

/// What comes after a turn.
enum Turn {
    Rest,
    Tail,
    End(ExitReason, Payload),
}

impl Turn {
    #[cold]
    fn panicked(panic: Box<dyn Any + Send>) -> Turn {
        Turn::End(ExitReason::panicked(panic), Payload::empty())
    }
}

impl Stepper {
    pub(crate) fn new(
        life: Life,
        process: Box<dyn Process>,
        method: Box<str>,
        input: Payload,
    ) -> Stepper {
        Stepper {
            life,
            process,
            begin: Some(Box::new((method, input))),
            events: Chain::new(),
            operations: Operations::default(),
        }
    }

    fn init(&mut self, method: &str, input: Payload) -> Result<(), ExitReason> {
        let cx = ProcessContext {
            host: &self.life.host,
            pid: self.life.pid,
            parent: self.life.host.parent(self.life.pid),
        };
        let process = &mut self.process;
        match catch_unwind(AssertUnwindSafe(|| process.init(&cx, method, input))) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(ExitReason::failed(error)),
            Err(panic) => Err(ExitReason::panicked(panic)),
        }
    }

    fn turn(&mut self, cx: &Context<'_>) -> Turn {
        if self.life.slot().start() == Start::Killed {
            return Turn::End(self.life.slot().killed_for(), Payload::empty());
        }
        if let Some(begin) = self.begin.take() {
            self.life.slot().register(cx.waker());
            let (method, input) = *begin;
            if let Err(reason) = self.init(&method, input) {
                return Turn::End(reason, Payload::empty());
            }
        }
        let mut out = StepOutput::default();
        for _ in 0..TURN {
            if self.life.slot().is_killed() {
                return Turn::End(self.life.slot().killed_for(), Payload::empty());
            }
            let known = self.events.len();
            let (host, pid) = (&self.life.host, self.life.pid);
            let left = host.drain(pid, &mut self.events, BATCH);
            if !self.operations.is_empty() {
                for event in self.events.iter().skip(known) {
                    if let Event::Completion(Completion { tag, more, .. }) = event {
                        self.operations.take(*tag, *more);
                    }
                }
            }
            let next = self.step(&mut out);
            let pause = match next {
                Next::Pause(pause) => pause,
                Next::Tail => return Turn::Tail,
                Next::End(reason, result) => return Turn::End(reason, result),
            };
            if left == Left::More {
                continue;
            }
            match self.life.slot().rest(pause) {
                Rest::Resting => return Turn::Rest,
                Rest::Awake => {}
                Rest::Killed => {
                    return Turn::End(self.life.slot().killed_for(), Payload::empty());
                }
            }
        }
        Turn::Tail
    }

    fn step(&mut self, out: &mut StepOutput) -> Next {
        self.life.slot().count_step();
        let (process, events) = (&mut self.process, &mut self.events);
        let stepped = catch_unwind(AssertUnwindSafe(|| process.step(&mut Events(events), out)));
        match stepped {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Next::End(ExitReason::failed(error), Payload::empty()),
            Err(panic) => return Next::End(ExitReason::panicked(panic), Payload::empty()),
        }
        for wanted in out.take_yields() {
            if let Err(panic) = self.dispatch(wanted) {
                return Next::End(ExitReason::panicked(panic), Payload::empty());
            }
        }
        match out.take_status() {
            Status::Continue => Next::Tail,
            Status::Idle => Next::Pause(Pause::Idle),
            Status::WaitForYields => Next::Pause(Pause::Blocked),
            Status::Done(result) => Next::End(ExitReason::Normal, result),
            Status::Stopped => Next::End(ExitReason::Shutdown, Payload::empty()),
            Status::Upgrade(upgrade) => {
                let mut old = std::mem::replace(&mut self.process, upgrade.process);
                if let Err(panic) = catch_unwind(AssertUnwindSafe(|| old.close())) {
                    return Next::End(ExitReason::panicked(panic), Payload::empty());
                }
                match self.init(&upgrade.method, upgrade.input) {
                    Ok(()) => Next::Tail,
                    Err(reason) => Next::End(reason, Payload::empty()),
                }
            }
        }
    }

    fn dispatch(&mut self, wanted: Yield) -> Result<(), Box<dyn Any + Send>> {
        let Yield { id, tag, payload } = wanted;
        let (host, pid) = (&self.life.host, self.life.pid);
        let call = Call {
            host,
            pid,
            tag,
            operations: &mut self.operations,
        };
        let answer = catch_unwind(AssertUnwindSafe(|| {
            host.commands().dispatch(id, call, payload)
        }))?;
        if let Answer::Now(result) = answer {
            let more = false;
            let event = Event::Completion(Completion { tag, result, more });
            // The process itself is running, so it has not ended.
            let _ = host.tell(pid, event);
        }
        Ok(())
    }

    /// Ends the process: its own functions come first, then links and monitors are told.
    fn end(&mut self, reason: ExitReason, result: Payload) {
        self.operations = Operations::default();
        let evicted = matches!(
            reason,
            ExitReason::Terminated | ExitReason::Linked(_) | ExitReason::RuntimeGone
        );
        let process = &mut self.process;
        let closed = catch_unwind(AssertUnwindSafe(|| {
            if evicted {
                process.abort();
            }
            process.close();
        }));
        let reason = reason.unless_panicked(closed);
        // Events that the process has left, or panicked over.
        while let Some(event) = self.events.pop() {
            self.life.host.undelivered(self.life.pid, event);
        }
        self.life.end(reason, result);
    }
}

impl Future for Stepper {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let turn = catch_unwind(AssertUnwindSafe(|| this.turn(cx)));
        match turn.unwrap_or_else(Turn::panicked) {
            Turn::Rest => {
                this.life.slot().is_waited_for();
                Poll::Pending
            }
            Turn::Tail => {
                this.life.slot().requeue();
                to_the_tail(cx)
            }
            Turn::End(reason, result) => {
                this.end(reason, result);
                Poll::Ready(())
            }
        }
    }
}

impl Drop for Stepper {
    fn drop(&mut self) {
        if !self.life.ended {
            self.end(ExitReason::RuntimeGone, Payload::empty());
        }
    }
}

impl fmt::Debug for Stepper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stepper")
            .field("pid", &self.life.pid)
            .finish_non_exhaustive()
    }
}

/// Ends a poll so that the task runs again after other tasks that are ready.
pub(crate) fn to_the_tail(cx: &mut Context<'_>) -> Poll<()> {
    pin!(tress::task::yield_now()).poll(cx)
}

/// Runs a future and drops it. Returns its panic instead of passing it on.
pub(crate) async fn caught<F: Future>(future: F) -> Result<F::Output, Box<dyn Any + Send>> {
    let mut future = pin!(Some(future));
    std::future::poll_fn(|cx| {
        let poll = || match future.as_mut().as_pin_mut() {
            Some(future) => future.poll(cx),
            None => panic!("a future that is ready is not polled again"),
        };
        let output = match catch_unwind(AssertUnwindSafe(poll)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(output)) => Ok(output),
            Err(panic) => Err(panic),
        };
        match (catch_unwind(AssertUnwindSafe(|| future.set(None))), output) {
            (Ok(()), output) => Poll::Ready(output),
            (Err(second), Err(first)) => {
                discard(second);
                Poll::Ready(Err(first))
            }
            (Err(panic), Ok(output)) => {
                contain(|| drop(output));
                Poll::Ready(Err(panic))
            }
        }
    })
    .await
}
