//! A client that writes to one host and reads from its replica, which may not have had the write yet: it does not see what it
//! has written.
//!
//! Mended: the client says which version it has seen, and a replica that is behind refuses it.

use crate::lines::{ask, ask_again, serve};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tokio::task::spawn_local;
use tokio::time::sleep;
use tress_sim::{Result, Sim};

/// A host with a version on its disk.
async fn store(version: Rc<Cell<u64>>, is_mended: bool) -> Result {
    serve(move |question| {
        let (what, number) = question.split_once(' ').expect("a verb and a version");
        let number = number.parse().expect("a version");
        match what {
            "put" => version.set(version.get().max(number)),
            _ if is_mended && version.get() < number => return "behind".to_string(),
            _ => {}
        }
        version.get().to_string()
    })
    .await
}

/// The host that is written to. It copies what it has ten times in a second.
async fn primary(version: Rc<Cell<u64>>, is_mended: bool) -> Result {
    let copied = version.clone();
    spawn_local(async move {
        loop {
            // What fails is done by the next copy.
            let _ = ask("replica", &format!("put {}", copied.get())).await;
            sleep(Duration::from_millis(100)).await;
        }
    });
    store(version, is_mended).await
}

/// Reads from the replica, or from the primary if that does not help. The version is at least that one.
async fn read(least: u64) -> String {
    let question = format!("get {least}");
    match ask("replica", &question).await {
        Ok(answer) if answer != "behind" => answer,
        _ => ask_again("primary", &question).await,
    }
}

pub fn service(sim: &mut Sim<'static>, is_mended: bool) {
    let versions = [Rc::new(Cell::new(0)), Rc::new(Cell::new(0))];
    let [on_primary, on_replica] = versions;
    sim.host("primary", move || primary(on_primary.clone(), is_mended));
    sim.host("replica", move || store(on_replica.clone(), is_mended));
    sim.client("client", async {
        for written in 1..=10 {
            ask_again("primary", &format!("put {written}")).await;
            sleep(Duration::from_millis(500)).await;
            let version = read(written).await;
            if version.parse::<u64>()? < written {
                Err(format!("{version} is read after {written} was written"))?;
            }
        }
        Ok(())
    });
}
