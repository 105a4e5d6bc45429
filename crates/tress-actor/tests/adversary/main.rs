//! Programs that use processes as an adversary would.

#[path = "../support/mod.rs"]
mod support;

mod children;
mod ends;
mod foreign;
mod mail;

use std::future::Future;
use std::time::Duration;
use tress_actor::Cx;

/// Far longer than anything here takes: what is not there by then never comes.
const HANG: Duration = Duration::from_secs(30);

async fn soon<F: Future>(what: &str, future: F) -> F::Output {
    match tress::time::timeout(HANG, future).await {
        Ok(output) => output,
        Err(_) => panic!("{what} hangs"),
    }
}

/// Waits for messages until it is asked to stop.
async fn wait(mut cx: Cx<u64>) {
    while cx.recv().await.is_some() {}
}
