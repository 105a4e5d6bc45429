use super::{Actors, MAILBOX, Task};
use std::future::Future;
use std::marker::PhantomData;
use tress::runtime::Runtime;
use tress_actor::{
    Actor, ActorRef, Capacity, Cx, Event, Events, Flow, Host, Overflow, Payload, Process,
    ProcessContext, ProcessError, Reply, StepOutput,
};

/// Handles messages, or is stepped with events.
#[derive(Default)]
struct Sum(u64);

pub enum Msg {
    Add(u64),
    Sum(Reply<u64>),
    Stop,
}

impl Actor for Sum {
    type Msg = Msg;

    async fn handle(&mut self, msg: Msg, _: &mut Cx<Msg>) -> Result<Flow, ProcessError> {
        match msg {
            Msg::Add(n) => self.0 += n,
            Msg::Sum(reply) => reply.send(self.0),
            Msg::Stop => return Ok(Flow::Stop),
        }
        Ok(Flow::Continue)
    }
}

impl Process for Sum {
    fn init(&mut self, _: &ProcessContext<'_>, _: &str, _: Payload) -> Result<(), ProcessError> {
        Ok(())
    }

    fn step(&mut self, events: &mut Events<'_>, out: &mut StepOutput) -> Result<(), ProcessError> {
        out.idle();
        for event in events {
            let Event::Message(message) = event else {
                continue;
            };
            match message.payload.downcast() {
                Ok(Msg::Add(n)) => self.0 += n,
                Ok(Msg::Sum(reply)) => reply.send(self.0),
                Ok(Msg::Stop) => out.done(()),
                Err(other) => return Err(format!("cannot add {other:?}").into()),
            }
        }
        Ok(())
    }
}

/// How an actor is written.
pub trait Style: Send + Sync + 'static {
    fn spawn(host: &Host) -> ActorRef<Msg>;
}

/// As an [`Actor`].
pub struct Handler;

impl Style for Handler {
    fn spawn(host: &Host) -> ActorRef<Msg> {
        host.spawn_actor(Sum::default()).expect("there is room")
    }
}

/// As a [`Process`].
pub struct Machine;

impl Style for Machine {
    fn spawn(host: &Host) -> ActorRef<Msg> {
        let pid = host.process(Sum::default()).spawn();
        host.actor_ref(pid.expect("there is room"))
    }
}

/// Processes of tress.
pub struct Tress<S> {
    runtime: Runtime,
    host: Host,
    style: PhantomData<S>,
}

impl<S: Style> Actors for Tress<S> {
    type Cx = Host;
    type Addr = ActorRef<Msg>;

    fn start(workers: usize) -> Self {
        let mut builder = tress::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(workers).enable_all().build();
        let runtime = runtime.expect("a runtime can be built");
        let host = Host::builder("bench")
            .runtime(runtime.handle())
            .mailbox(Capacity::new(MAILBOX as u32, Overflow::Wait))
            .start()
            .expect("the name is fine");
        Tress {
            runtime,
            host,
            style: PhantomData,
        }
    }

    fn cx(&self) -> Host {
        self.host.clone()
    }

    fn inside<F>(&self, future: F) -> F::Output
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let task = self.runtime.spawn(future);
        self.runtime
            .block_on(task)
            .expect("the task does not panic")
    }

    fn beside(_: &Host, future: impl Future<Output = ()> + Send + 'static) -> Task {
        let task = tress::spawn(future);
        Box::pin(async { task.await.expect("the task does not panic") })
    }

    async fn spawn(host: &Host) -> ActorRef<Msg> {
        S::spawn(host)
    }

    async fn tell(addr: &ActorRef<Msg>, n: u64) {
        addr.send(Msg::Add(n)).await.expect("it lives");
    }

    async fn ask(addr: &ActorRef<Msg>) -> u64 {
        addr.ask(Msg::Sum).await.expect("it answers")
    }

    async fn stop(addr: ActorRef<Msg>) {
        let ended = addr.host().watch(addr.pid());
        addr.send(Msg::Stop).await.expect("it lives");
        ended.await;
    }
}
