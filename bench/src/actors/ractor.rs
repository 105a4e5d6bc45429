use super::{Actors, Task};
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};
use std::future::Future;

struct Sum;

pub enum Msg {
    Add(u64),
    Sum(RpcReplyPort<u64>),
}

impl Actor for Sum {
    type Msg = Msg;
    type State = u64;
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<Msg>, _: ()) -> Result<u64, ActorProcessingErr> {
        Ok(0)
    }

    async fn handle(
        &self,
        _: ActorRef<Msg>,
        msg: Msg,
        sum: &mut u64,
    ) -> Result<(), ActorProcessingErr> {
        match msg {
            Msg::Add(n) => *sum += n,
            Msg::Sum(reply) => reply.send(*sum)?,
        }
        Ok(())
    }
}

/// ractor on Tokio; its mailboxes are not bounded.
pub struct Ractor(super::tokio::Tokio);

impl Actors for Ractor {
    type Cx = ();
    type Addr = ActorRef<Msg>;

    fn start(workers: usize) -> Self {
        Ractor(super::tokio::Tokio::start(workers))
    }

    fn cx(&self) {}

    fn inside<F>(&self, future: F) -> F::Output
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.0.inside(future)
    }

    fn beside(_: &(), future: impl Future<Output = ()> + Send + 'static) -> Task {
        super::tokio::Tokio::beside(&(), future)
    }

    async fn spawn(_: &()) -> ActorRef<Msg> {
        let (actor, _) = Actor::spawn(None, Sum, ()).await.expect("it starts");
        actor
    }

    async fn tell(addr: &ActorRef<Msg>, n: u64) {
        addr.send_message(Msg::Add(n)).expect("it lives");
    }

    async fn ask(addr: &ActorRef<Msg>) -> u64 {
        ractor::call!(addr, Msg::Sum).expect("it answers")
    }

    async fn stop(addr: ActorRef<Msg>) {
        addr.stop_and_wait(None, None).await.expect("it stops");
    }
}
