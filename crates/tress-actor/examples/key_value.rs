//! A key-value store under a supervisor that survives a crashing child.
//!
//! The table itself is kept by one process, and what may go wrong is done by another. When that one
//! crashes it is started again, and the values are still there.

use std::collections::HashMap;
use std::time::Duration;
use tress_actor::{
    Actor, ActorRef, AskError, Cx, Flow, Host, ProcessError, Reply, Strategy, Supervisor,
};

#[derive(Default)]
struct Store(HashMap<String, i64>);

enum StoreMsg {
    Put(String, i64),
    Get(String, Reply<Option<i64>>),
}

impl Actor for Store {
    type Msg = StoreMsg;

    async fn handle(&mut self, msg: StoreMsg, _: &mut Cx<StoreMsg>) -> Result<Flow, ProcessError> {
        match msg {
            StoreMsg::Put(key, value) => drop(self.0.insert(key, value)),
            StoreMsg::Get(key, reply) => reply.send(self.0.get(&key).copied()),
        }
        Ok(Flow::Continue)
    }
}

/// Divides values of the store, and crashes if it is told to divide by zero.
struct Divider;

struct Divide {
    key: String,
    by: i64,
    reply: Reply<i64>,
}

impl Actor for Divider {
    type Msg = Divide;

    async fn handle(&mut self, msg: Divide, cx: &mut Cx<Divide>) -> Result<Flow, ProcessError> {
        let store = cx.host().lookup("store").ok_or("there is no store")?;
        let store: ActorRef<StoreMsg> = cx.host().actor_ref(store);
        let value = store
            .ask(|reply| StoreMsg::Get(msg.key.clone(), reply))
            .await?;
        let result = value.ok_or("there is no such key")? / msg.by;
        store.cast(StoreMsg::Put(msg.key, result))?;
        msg.reply.send(result);
        Ok(Flow::Continue)
    }
}

/// The process of this name, as soon as it runs.
async fn named<M: Send + 'static>(host: &Host, name: &str) -> ActorRef<M> {
    loop {
        if let Some(pid) = host.lookup(name) {
            return host.actor_ref(pid);
        }
        tress::task::yield_now().await;
    }
}

/// Divides by zero between two other times; what came of it.
async fn divide() -> Vec<String> {
    let host = Host::builder("key-value")
        .start()
        .expect("the names are fine");
    Supervisor::new(Strategy::OneForOne)
        .child("store", |start| {
            start.actor(Store::default()).name("store").spawn()
        })
        .child("divider", |start| {
            start.actor(Divider).name("divider").spawn()
        })
        .spawn(&host)
        .expect("nothing is in the way");

    let store = named::<StoreMsg>(&host, "store").await;
    store
        .cast(StoreMsg::Put("answer".into(), 84))
        .expect("there is room");

    let mut said = Vec::new();
    for by in [2, 0, 2] {
        let divider = named::<Divide>(&host, "divider").await;
        let ended = host.watch(divider.pid());
        let key = "answer".to_string();
        match divider.ask(|reply| Divide { key, by, reply }).await {
            Ok(result) => said.push(format!("divided by {by}: {result}")),
            Err(error) => {
                assert!(matches!(error, AskError::Unanswered(_)));
                said.push(format!("by {by} the divider {}", ended.await));
            }
        }
    }
    let value = store
        .ask(|reply| StoreMsg::Get("answer".into(), reply))
        .await;
    said.push(format!("the store still has {value:?}"));

    host.shutdown(Duration::from_secs(1))
        .await
        .expect("all stop when asked to");
    said
}

#[tress::main]
async fn main() {
    for line in divide().await {
        println!("{line}");
    }
}

#[test]
fn the_store_survives_the_divider_and_the_divider_comes_back() {
    let said = tress::runtime::Runtime::new().unwrap().block_on(divide());
    assert_eq!(said.len(), 4);
    assert_eq!(
        (&*said[0], &*said[2]),
        ("divided by 2: 42", "divided by 2: 21")
    );
    assert!(said[1].contains("panicked"), "{}", said[1]);
    assert_eq!(said[3], "the store still has Ok(Some(21))");
}
