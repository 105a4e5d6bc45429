use super::{Actors, MAILBOX, Task};
use actix::{Actor, ActorContext, Addr, Arbiter, ArbiterHandle, Context, Handler, Message, System};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use tokio::sync::oneshot;

#[derive(Default)]
pub struct Sum {
    sum: u64,
    /// Who waits for its end.
    stopper: Option<oneshot::Sender<()>>,
}

impl Actor for Sum {
    type Context = Context<Self>;

    fn started(&mut self, cx: &mut Context<Self>) {
        cx.set_mailbox_capacity(MAILBOX);
    }

    fn stopped(&mut self, _: &mut Context<Self>) {
        if let Some(stopper) = self.stopper.take() {
            stopper.send(()).expect("it is waited for");
        }
    }
}

#[derive(Message)]
#[rtype(result = "()")]
pub struct Add(u64);

impl Handler<Add> for Sum {
    type Result = ();

    fn handle(&mut self, Add(n): Add, _: &mut Context<Self>) {
        self.sum += n;
    }
}

#[derive(Message)]
#[rtype(result = "u64")]
pub struct Get;

impl Handler<Get> for Sum {
    type Result = u64;

    fn handle(&mut self, _: Get, _: &mut Context<Self>) -> u64 {
        self.sum
    }
}

#[derive(Message)]
#[rtype(result = "()")]
pub struct Stop(oneshot::Sender<()>);

impl Handler<Stop> for Sum {
    type Result = ();

    fn handle(&mut self, Stop(stopper): Stop, cx: &mut Context<Self>) {
        self.stopper = Some(stopper);
        cx.stop();
    }
}

/// actix: as many arbiters as workers, for the actors and for the tasks that tell them, each in
/// turn. Tells by `do_send`, which knows no bound.
pub struct Actix {
    system: System,
    thread: Option<JoinHandle<()>>,
    arbiters: Arc<Arbiters>,
}

pub struct Arbiters {
    handles: Vec<ArbiterHandle>,
    actors: AtomicUsize,
    tasks: AtomicUsize,
}

impl Arbiters {
    fn next(&self, turn: &AtomicUsize) -> &ArbiterHandle {
        &self.handles[turn.fetch_add(1, Ordering::Relaxed) % self.handles.len()]
    }

    /// Runs a future as a task; what comes of it.
    fn run<F>(&self, future: F) -> oneshot::Receiver<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        let task = async move {
            // Nobody asks any more after a wrong result.
            drop(sender.send(future.await));
        };
        assert!(self.next(&self.tasks).spawn(task), "the arbiter runs");
        receiver
    }
}

impl Drop for Actix {
    fn drop(&mut self) {
        self.system.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the system's thread does not panic");
        }
    }
}

impl Actors for Actix {
    type Cx = Arc<Arbiters>;
    type Addr = Addr<Sum>;

    fn start(workers: usize) -> Self {
        let (send, started) = std::sync::mpsc::channel();
        let thread = thread::spawn(move || {
            let runner = System::new();
            runner.block_on(async move {
                let handles: Vec<_> = (0..workers).map(|_| Arbiter::new().handle()).collect();
                let system = System::current();
                send.send((system, handles)).expect("it is waited for");
            });
            runner.run().expect("the system runs");
        });
        let (system, handles) = started.recv().expect("the system starts");
        Actix {
            system,
            thread: Some(thread),
            arbiters: Arc::new(Arbiters {
                handles,
                actors: AtomicUsize::new(0),
                tasks: AtomicUsize::new(1),
            }),
        }
    }

    fn cx(&self) -> Arc<Arbiters> {
        self.arbiters.clone()
    }

    fn inside<F>(&self, future: F) -> F::Output
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let done = self.arbiters.run(future).blocking_recv();
        done.expect("the task does not panic")
    }

    fn beside(arbiters: &Arc<Arbiters>, future: impl Future<Output = ()> + Send + 'static) -> Task {
        let done = arbiters.run(future);
        Box::pin(async { done.await.expect("the task does not panic") })
    }

    async fn spawn(arbiters: &Arc<Arbiters>) -> Addr<Sum> {
        Sum::start_in_arbiter(arbiters.next(&arbiters.actors), |_| Sum::default())
    }

    async fn tell(addr: &Addr<Sum>, n: u64) {
        addr.do_send(Add(n));
    }

    async fn ask(addr: &Addr<Sum>) -> u64 {
        addr.send(Get).await.expect("it answers")
    }

    async fn stop(addr: Addr<Sum>) {
        let (stopper, stopped) = oneshot::channel();
        addr.do_send(Stop(stopper));
        stopped.await.expect("it stops");
    }
}
