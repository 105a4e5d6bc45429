//! Streams and files whose other side does something rare.
#![cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "most of it is about Linux")
)]

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;
use tress::runtime::{Builder, IoBackend, Runtime};

#[cfg(all(target_os = "linux", feature = "fs"))]
mod files;
#[cfg(feature = "bytes")]
mod liars;
#[cfg(all(target_os = "linux", feature = "process"))]
mod marks;
#[cfg(target_os = "linux")]
mod pauses;
#[cfg(all(target_os = "linux", feature = "process", feature = "fs"))]
mod shortage;

/// A runtime with one thread for each backend that this machine has.
fn runtimes() -> Vec<Runtime> {
    let build = |backend| {
        let mut builder = Builder::new_current_thread();
        builder.enable_all().io_backend(backend).build()
    };
    let mut runtimes = vec![build(IoBackend::Readiness).unwrap()];
    match build(IoBackend::Uring) {
        Ok(runtime) => runtimes.push(runtime),
        Err(error) => eprintln!("without the uring backend: {error}"),
    }
    runtimes
}

/// Polls once and drops the future. What it returned, if it was ready.
async fn once<F: Future>(future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(|cx| {
        Poll::Ready(match future.as_mut().poll(cx) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        })
    })
    .await
}

/// What a future returns, which is not to hang.
async fn soon<F: Future>(future: F) -> F::Output {
    let limit = Duration::from_secs(30);
    tress::time::timeout(limit, future).await.expect("hangs")
}
