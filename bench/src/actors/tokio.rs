use super::{Actors, MAILBOX, Task};
use std::future::Future;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot};

pub enum Msg {
    Add(u64),
    Sum(oneshot::Sender<u64>),
    Stop,
}

async fn add(mut inbox: mpsc::Receiver<Msg>) {
    let mut sum = 0;
    while let Some(msg) = inbox.recv().await {
        match msg {
            Msg::Add(n) => sum += n,
            // Who asked may be gone.
            Msg::Sum(reply) => drop(reply.send(sum)),
            Msg::Stop => break,
        }
    }
}

/// Actors as they are written by hand on Tokio: a task with a channel.
pub struct Tokio(Runtime);

impl Actors for Tokio {
    type Cx = ();
    type Addr = mpsc::Sender<Msg>;

    fn start(workers: usize) -> Self {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(workers).enable_all().build();
        Tokio(runtime.expect("a runtime can be built"))
    }

    fn cx(&self) {}

    fn inside<F>(&self, future: F) -> F::Output
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let task = self.0.spawn(future);
        self.0.block_on(task).expect("the task does not panic")
    }

    fn beside(_: &(), future: impl Future<Output = ()> + Send + 'static) -> Task {
        let task = tokio::spawn(future);
        Box::pin(async { task.await.expect("the task does not panic") })
    }

    async fn spawn(_: &()) -> mpsc::Sender<Msg> {
        let (sender, inbox) = mpsc::channel(MAILBOX);
        tokio::spawn(add(inbox));
        sender
    }

    async fn tell(addr: &mpsc::Sender<Msg>, n: u64) {
        addr.send(Msg::Add(n)).await.expect("it lives");
    }

    async fn ask(addr: &mpsc::Sender<Msg>) -> u64 {
        let (sender, receiver) = oneshot::channel();
        addr.send(Msg::Sum(sender)).await.expect("it lives");
        receiver.await.expect("it answers")
    }

    async fn stop(addr: mpsc::Sender<Msg>) {
        addr.send(Msg::Stop).await.expect("it lives");
        addr.closed().await;
    }
}
