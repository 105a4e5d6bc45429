use super::{Actors, MAILBOX, Task};
use kameo::Actor;
use kameo::actor::{ActorRef, Spawn};
use kameo::message::{Context, Message};
use std::future::Future;

#[derive(Actor, Default)]
pub struct Sum(u64);

pub struct Add(u64);

impl Message<Add> for Sum {
    type Reply = ();

    async fn handle(&mut self, Add(n): Add, _: &mut Context<Self, ()>) {
        self.0 += n;
    }
}

pub struct Get;

impl Message<Get> for Sum {
    type Reply = u64;

    async fn handle(&mut self, _: Get, _: &mut Context<Self, u64>) -> u64 {
        self.0
    }
}

/// kameo on Tokio.
pub struct Kameo(super::tokio::Tokio);

impl Actors for Kameo {
    type Cx = ();
    type Addr = ActorRef<Sum>;

    fn start(workers: usize) -> Self {
        Kameo(super::tokio::Tokio::start(workers))
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

    async fn spawn(_: &()) -> ActorRef<Sum> {
        Sum::spawn_with_mailbox(Sum::default(), kameo::mailbox::bounded(MAILBOX))
    }

    async fn tell(addr: &ActorRef<Sum>, n: u64) {
        addr.tell(Add(n)).await.expect("it lives");
    }

    async fn ask(addr: &ActorRef<Sum>) -> u64 {
        addr.ask(Get).await.expect("it answers")
    }

    async fn stop(addr: ActorRef<Sum>) {
        addr.stop_gracefully().await.expect("it lives");
        addr.wait_for_shutdown().await;
    }
}
