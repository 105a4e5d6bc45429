//! ractor: actors, supervision, timers, calls with a deadline, and the four ways in which an actor ends.

use harness::{BOUND, crowd, run, within};
use ractor::concurrency::JoinHandle;
use ractor::rpc::CallResult;
use ractor::{
    Actor, ActorProcessingErr, ActorRef, ActorStatus, MessagingErr, RpcReplyPort, SupervisionEvent,
};
use std::future::pending;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

const _: () = tokio::__tress;

/// Longer than any test.
const NEVER: Duration = Duration::from_secs(3600);

/// What an actor tells the test of itself.
#[derive(Debug, PartialEq)]
enum News {
    Started(u64),
    Stopped(u64),
    /// The supervisor was told that a child has failed, and why.
    Failed(String),
    /// The supervisor was told that a child has ended, and why.
    Ended(Option<String>),
}

enum Work {
    Add(u64),
    Total(RpcReplyPort<u64>),
    /// Is never answered, but the port is kept.
    Keep(RpcReplyPort<u64>),
    /// How many ports are kept.
    Kept(RpcReplyPort<u64>),
    /// Is never answered, and the port is dropped.
    Drop(RpcReplyPort<u64>),
    Panic(RpcReplyPort<u64>),
    Error(RpcReplyPort<u64>),
    /// Is at work for ever.
    Hang(RpcReplyPort<u64>),
}

/// Adds numbers.
struct Adder {
    number: u64,
    news: UnboundedSender<News>,
}

#[derive(Default)]
struct Sum {
    total: u64,
    kept: Vec<RpcReplyPort<u64>>,
}

impl Actor for Adder {
    type Msg = Work;
    type State = Sum;
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<Work>, (): ()) -> Result<Sum, ActorProcessingErr> {
        self.news.send(News::Started(self.number))?;
        Ok(Sum::default())
    }

    async fn post_stop(&self, _: ActorRef<Work>, _: &mut Sum) -> Result<(), ActorProcessingErr> {
        self.news.send(News::Stopped(self.number))?;
        Ok(())
    }

    async fn handle(
        &self,
        _: ActorRef<Work>,
        work: Work,
        sum: &mut Sum,
    ) -> Result<(), ActorProcessingErr> {
        match work {
            Work::Add(n) => sum.total += n,
            Work::Total(port) => port.send(sum.total)?,
            Work::Keep(port) => sum.kept.push(port),
            Work::Kept(port) => port.send(sum.kept.len() as u64)?,
            Work::Drop(port) => drop(port),
            Work::Panic(_port) => panic!("asked to"),
            Work::Error(_port) => return Err("an error".into()),
            Work::Hang(_port) => pending().await,
        }
        Ok(())
    }
}

enum Ask {
    Child(RpcReplyPort<ActorRef<Work>>),
}

/// Has one child, and starts it anew when it fails.
struct Supervisor {
    news: UnboundedSender<News>,
}

struct Family {
    child: ActorRef<Work>,
    born: u64,
}

impl Supervisor {
    async fn bear(
        &self,
        myself: &ActorRef<Ask>,
        number: u64,
    ) -> Result<ActorRef<Work>, ActorProcessingErr> {
        let news = self.news.clone();
        let adder = Adder { number, news };
        let (child, _) = Actor::spawn_linked(None, adder, (), myself.get_cell()).await?;
        Ok(child)
    }
}

impl Actor for Supervisor {
    type Msg = Ask;
    type State = Family;
    type Arguments = ();

    async fn pre_start(&self, myself: ActorRef<Ask>, (): ()) -> Result<Family, ActorProcessingErr> {
        let child = self.bear(&myself, 0).await?;
        Ok(Family { child, born: 1 })
    }

    async fn handle(
        &self,
        _: ActorRef<Ask>,
        Ask::Child(port): Ask,
        family: &mut Family,
    ) -> Result<(), ActorProcessingErr> {
        port.send(family.child.clone())?;
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Ask>,
        event: SupervisionEvent,
        family: &mut Family,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorFailed(_, error) => {
                self.news.send(News::Failed(error.to_string()))?;
                family.child = self.bear(&myself, family.born).await?;
                family.born += 1;
            }
            SupervisionEvent::ActorTerminated(_, _, reason) => {
                self.news.send(News::Ended(reason))?;
            }
            _ => {}
        }
        Ok(())
    }
}

async fn adder() -> (ActorRef<Work>, JoinHandle<()>, UnboundedReceiver<News>) {
    let (news, mut heard) = unbounded_channel();
    let (actor, ended) = Actor::spawn(None, Adder { number: 0, news }, ())
        .await
        .unwrap();
    assert_eq!(next(&mut heard).await, News::Started(0));
    (actor, ended, heard)
}

async fn next(news: &mut UnboundedReceiver<News>) -> News {
    within("news of an actor", news.recv()).await.unwrap()
}

async fn total(actor: &ActorRef<Work>) -> u64 {
    let answer = within("a total", actor.call(Work::Total, Some(BOUND))).await;
    answer.unwrap().unwrap()
}

#[test]
fn calls_and_casts_under_load() {
    run(|| async {
        let (actor, ended, _heard) = adder().await;
        let totals = crowd(50, |_| {
            let actor = actor.clone();
            async move {
                let mut seen = 0;
                for _ in 0..50 {
                    actor.cast(Work::Add(1)).unwrap();
                    let now = total(&actor).await;
                    assert!(now > seen, "a message was overtaken");
                    seen = now;
                }
                seen
            }
        });
        let last = totals.await.into_iter().max();
        assert_eq!((last, total(&actor).await), (Some(2500), 2500));
        actor.stop(None);
        within("the actor's end", ended).await.unwrap();
    });
}

#[test]
fn a_child_that_fails_is_started_anew() {
    run(|| async {
        let (news, mut heard) = unbounded_channel();
        let (supervisor, ended) = Actor::spawn(None, Supervisor { news }, ()).await.unwrap();
        assert_eq!(next(&mut heard).await, News::Started(0));
        for n in 1..=20 {
            let asked = supervisor.call(Ask::Child, Some(BOUND));
            let child = within("the child", asked).await.unwrap().unwrap();
            child.cast(Work::Add(n)).unwrap();
            // A new child knows nothing of the old one's numbers.
            assert_eq!(total(&child).await, n);
            let (message, why) = match n % 2 {
                0 => (Work::Panic as fn(_) -> _, "asked to"),
                _ => (Work::Error as fn(_) -> _, "an error"),
            };
            // Nobody answers, and the caller hears of it before the deadline.
            let failed = within("a call that fails", child.call(message, Some(NEVER))).await;
            assert!(matches!(failed.unwrap(), CallResult::SenderError));
            match next(&mut heard).await {
                News::Failed(error) => assert!(error.contains(why), "{error}"),
                other => panic!("{other:?} instead of a failure"),
            }
            assert_eq!(next(&mut heard).await, News::Started(n));
            within("the child's end", child.wait(None)).await.unwrap();
        }
        let asked = supervisor.call(Ask::Child, Some(BOUND));
        let child = within("the child", asked).await.unwrap().unwrap();
        // The child goes with its supervisor.
        supervisor.stop(Some("enough".to_owned()));
        within("the supervisor's end", ended).await.unwrap();
        within("the child's end", child.wait(None)).await.unwrap();
        assert_eq!(child.get_status(), ActorStatus::Stopped);
        assert!(child.cast(Work::Add(1)).is_err());
    });
}

#[test]
fn a_child_that_is_stopped_tells_why() {
    run(|| async {
        let (news, mut heard) = unbounded_channel();
        let (supervisor, ended) = Actor::spawn(None, Supervisor { news }, ()).await.unwrap();
        assert_eq!(next(&mut heard).await, News::Started(0));
        let asked = supervisor.call(Ask::Child, Some(BOUND));
        let child = within("the child", asked).await.unwrap().unwrap();
        let stopped = child.stop_and_wait(Some("done".to_owned()), Some(BOUND));
        stopped.await.unwrap();
        assert_eq!(next(&mut heard).await, News::Stopped(0));
        assert_eq!(next(&mut heard).await, News::Ended(Some("done".to_owned())));
        supervisor.stop(None);
        within("the supervisor's end", ended).await.unwrap();
    });
}

#[test]
fn calls_end_at_their_deadline_or_with_the_actor() {
    run(|| async {
        let (actor, ended, mut heard) = adder().await;
        let soon = Some(Duration::from_millis(20));
        // All at once, each with a timer of its own.
        let results = crowd(200, |_| {
            let actor = actor.clone();
            async move { actor.call(Work::Keep, soon).await.unwrap() }
        });
        let results = within("calls that are not answered", results).await;
        assert!(results.iter().all(CallResult::is_timeout));
        let dropped = within("a call", actor.call(Work::Drop, Some(NEVER))).await;
        assert!(matches!(dropped.unwrap(), CallResult::SenderError));
        // These are kept until the actor ends.
        let waiting: Vec<_> = (0..20)
            .map(|_| {
                let actor = actor.clone();
                tokio::spawn(async move { actor.call(Work::Keep, Some(NEVER)).await.unwrap() })
            })
            .collect();
        let kept = async {
            while actor.call(Work::Kept, None).await.unwrap().unwrap() < 220 {
                tokio::task::yield_now().await;
            }
        };
        within("all calls", kept).await;
        actor.stop(None);
        for call in waiting {
            match within("a call to an actor that ends", call).await.unwrap() {
                CallResult::SenderError => {}
                other => panic!("{other:?} from an actor that has ended"),
            }
        }
        within("the actor's end", ended).await.unwrap();
        assert_eq!(next(&mut heard).await, News::Stopped(0));
        let late = actor.call(Work::Total, soon).await;
        assert!(matches!(late, Err(MessagingErr::SendErr(Work::Total(_)))));
    });
}

#[test]
fn timers_send_stop_and_kill() {
    run(|| async {
        let ms = Duration::from_millis;
        // An interval goes on until its actor has ended, and no longer.
        let (actor, ended, _heard) = adder().await;
        let interval = actor.send_interval(ms(1), || Work::Add(1));
        let later = actor.send_after(ms(5), || Work::Add(1000));
        within("a message that comes later", later)
            .await
            .unwrap()
            .unwrap();
        let ticks = async {
            while total(&actor).await < 1020 {
                tokio::task::yield_now().await;
            }
        };
        within("20 ticks", ticks).await;
        let exit = actor.exit_after(ms(5));
        within("the actor's end", ended).await.unwrap();
        within("the interval's end", interval).await.unwrap();
        within("the timer's end", exit).await.unwrap();

        // A message to an actor that has ended comes back; a timer that is aborted sends nothing.
        let returned = within("a late message", actor.send_after(ms(1), || Work::Add(7))).await;
        assert!(matches!(
            returned.unwrap(),
            Err(MessagingErr::SendErr(Work::Add(7)))
        ));
        let (actor, ended, mut heard) = adder().await;
        let aborted = actor.send_after(NEVER, || Work::Add(1));
        aborted.abort();
        assert!(
            within("the aborted timer", aborted)
                .await
                .unwrap_err()
                .is_cancelled()
        );

        // A kill does not wait for the message at hand, nor call `post_stop`.
        let hangs = tokio::spawn({
            let actor = actor.clone();
            async move { actor.call(Work::Hang, Some(NEVER)).await.unwrap() }
        });
        let kill = actor.kill_after(ms(5));
        within("the actor's end", ended).await.unwrap();
        within("the timer's end", kill).await.unwrap();
        let hung = within("a call that hangs", hangs).await.unwrap();
        assert!(matches!(hung, CallResult::SenderError));
        drop(actor);
        assert_eq!(within("the end of news", heard.recv()).await, None);
    });
}

#[test]
fn shutdown_drains_what_was_sent() {
    run(|| async {
        // Each knows the sum of what it was sent, at the very end.
        let ends = crowd(20, |n| async move {
            let (actor, ended, mut heard) = adder().await;
            for _ in 0..500 {
                actor.cast(Work::Add(n as u64)).unwrap();
            }
            let (last, answer) = tokio::sync::oneshot::channel();
            actor.cast(Work::Total(last.into())).unwrap();
            actor.drain_and_wait(Some(BOUND)).await.unwrap();
            assert!(
                actor.cast(Work::Add(1)).is_err(),
                "it accepts after the end"
            );
            within("the actor's end", ended).await.unwrap();
            assert_eq!(next(&mut heard).await, News::Stopped(0));
            (n as u64, answer.await.unwrap())
        });
        for (n, total) in ends.await {
            assert_eq!(total, 500 * n);
        }
    });
}
